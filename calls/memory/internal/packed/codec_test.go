package packed

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls/memory/rank"
)

// FuzzPostings: postings of a chunk belong to the chunk, and all are kept.
func FuzzPostings(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5}, uint32(7))
	f.Fuzz(func(t *testing.T, b []byte, chunk uint32) {
		chunk %= rank.MaxEntries / PostingChunk
		list := ReadPostings(b, chunk, nil)
		if len(list) != len(b)/2 {
			t.Fatalf("%d postings of %d bytes", len(list), len(b))
		}
		var again []byte
		for _, p := range list {
			if p.Seq()>>PostingBits != chunk {
				t.Fatalf("the posting %d is not of the chunk %d", p.Seq(), chunk)
			}
			again = AppendPosting(again, p)
		}
		if diff := cmp.Diff(append([]byte{}, b[:len(again)]...), append([]byte{}, again...)); diff != "" {
			t.Fatal(diff)
		}
	})
}

package sqlite

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls/memory/rank"
)

// FuzzDocument: what is read from a blob is what would be written, and damaged blobs
// are refused.
func FuzzDocument(f *testing.F) {
	d := document{entry: rank.Entry{Time: 1, Session: 2, Speaker: rank.None, Len: 3, Timed: true}, terms: []rank.Frequency{{Term: "tea", N: 2}, {Term: "茶", N: 300}}}
	f.Add(d.append(nil))
	f.Add(d.append(nil)[:25])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := readDocument(b)
		if err != nil {
			return
		}
		again, err := readDocument(d.append(nil))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(d, again, cmp.AllowUnexported(document{})); diff != "" {
			t.Fatal(diff)
		}
	})
}

// FuzzPostings: postings of a chunk belong to the chunk, and none is lost.
func FuzzPostings(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5}, uint32(7))
	f.Fuzz(func(t *testing.T, b []byte, chunk uint32) {
		chunk %= rank.MaxEntries / postingChunk
		list := readPostings(b, chunk, nil)
		if len(list) != len(b)/2 {
			t.Fatalf("%d postings of %d bytes", len(list), len(b))
		}
		var again []byte
		for _, p := range list {
			if p.Seq()>>postingBits != chunk {
				t.Fatalf("the posting %d is not of the chunk %d", p.Seq(), chunk)
			}
			again = appendPosting(again, p)
		}
		if diff := cmp.Diff(append([]byte{}, b[:len(again)]...), append([]byte{}, again...)); diff != "" {
			t.Fatal(diff)
		}
	})
}

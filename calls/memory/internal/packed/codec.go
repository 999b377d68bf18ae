package packed

import (
	"encoding/binary"

	"github.com/callnode/scheduler/calls/memory/rank"
)

// How the index lies in blobs.
const (
	// EntryChunk memories share a row of table entry.
	EntryBits  = 10
	EntryChunk = 1 << EntryBits
	EntrySize  = 8 + 4 + 4 + 4 + 1
	// PostingChunk memories share a row of table posting: 12 bits of the number and 4
	// of the frequency make two bytes.
	PostingBits  = 12
	PostingChunk = 1 << PostingBits
)

// Flags of an entry.
const (
	flagTimed = 1 << iota
	flagQuestion
	flagUtterance
	flagDeleted
)

// AppendEntry appends the [EntrySize] bytes of an entry.
func AppendEntry(b []byte, e rank.Entry) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(e.Time))
	b = binary.LittleEndian.AppendUint32(b, uint32(e.Session))
	b = binary.LittleEndian.AppendUint32(b, uint32(e.Speaker))
	b = binary.LittleEndian.AppendUint32(b, uint32(e.Len))
	flags := byte(0)
	for i, set := range []bool{e.Timed, e.Question, e.Utterance, e.Deleted} {
		if set {
			flags |= 1 << i
		}
	}
	return append(b, flags)
}

// ReadEntry reads the first entry of b, which must be long enough.
func ReadEntry(b []byte) rank.Entry {
	flags := b[20]
	return rank.Entry{
		Time:    int64(binary.LittleEndian.Uint64(b)),
		Session: int32(binary.LittleEndian.Uint32(b[8:])), Speaker: int32(binary.LittleEndian.Uint32(b[12:])),
		Len:   int32(binary.LittleEndian.Uint32(b[16:])),
		Timed: flags&flagTimed != 0, Question: flags&flagQuestion != 0, Utterance: flags&flagUtterance != 0, Deleted: flags&flagDeleted != 0,
	}
}

// AppendPosting appends the two bytes of a posting; its chunk has the rest.
func AppendPosting(b []byte, p rank.Posting) []byte {
	return binary.LittleEndian.AppendUint16(b, uint16(p))
}

// ReadPostings appends the postings of a chunk.
func ReadPostings(b []byte, chunk uint32, to []rank.Posting) []rank.Posting {
	high := rank.Posting(chunk << (PostingBits + 4))
	for i := 0; i+1 < len(b); i += 2 {
		to = append(to, high|rank.Posting(binary.LittleEndian.Uint16(b[i:])))
	}
	return to
}

// RemovePostings returns a chunk without the postings of some memories. It overwrites data.
func RemovePostings(data []byte, gone map[uint16]bool) []byte {
	left := data[:0]
	for i := 0; i+1 < len(data); i += 2 {
		if p := binary.LittleEndian.Uint16(data[i:]); !gone[p>>4] {
			left = append(left, data[i], data[i+1])
		}
	}
	return left
}

// SetEntry overwrites the entry of a memory in its chunk; ok is false if the chunk is too
// short.
func SetEntry(chunk []byte, seq int64, e rank.Entry) (ok bool) {
	at := int(seq&(EntryChunk-1)) * EntrySize
	if at+EntrySize > len(chunk) {
		return false
	}
	copy(chunk[at:], AppendEntry(nil, e))
	return true
}

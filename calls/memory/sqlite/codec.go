package sqlite

import (
	"encoding/binary"

	"github.com/callnode/scheduler/calls/memory/rank"
)

// How the index lies in blobs.
const (
	// entryChunk memories share a row of table entry.
	entryBits  = 10
	entryChunk = 1 << entryBits
	entrySize  = 8 + 4 + 4 + 4 + 1
	// postingChunk memories share a row of table posting: 12 bits of the number and 4
	// of the frequency make two bytes.
	postingBits  = 12
	postingChunk = 1 << postingBits
)

// Flags of an entry.
const (
	flagTimed = 1 << iota
	flagQuestion
	flagUtterance
	flagDeleted
)

func appendEntry(b []byte, e rank.Entry) []byte {
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

// readEntry reads the first entry of b, which must be long enough.
func readEntry(b []byte) rank.Entry {
	flags := b[20]
	return rank.Entry{
		Time:    int64(binary.LittleEndian.Uint64(b)),
		Session: int32(binary.LittleEndian.Uint32(b[8:])), Speaker: int32(binary.LittleEndian.Uint32(b[12:])),
		Len:   int32(binary.LittleEndian.Uint32(b[16:])),
		Timed: flags&flagTimed != 0, Question: flags&flagQuestion != 0, Utterance: flags&flagUtterance != 0, Deleted: flags&flagDeleted != 0,
	}
}

// appendPosting appends the two bytes of a posting; its chunk has the rest.
func appendPosting(b []byte, p rank.Posting) []byte {
	return binary.LittleEndian.AppendUint16(b, uint16(p))
}

// readPostings appends the postings of a chunk.
func readPostings(b []byte, chunk uint32, to []rank.Posting) []rank.Posting {
	high := rank.Posting(chunk << (postingBits + 4))
	for i := 0; i+1 < len(b); i += 2 {
		to = append(to, high|rank.Posting(binary.LittleEndian.Uint16(b[i:])))
	}
	return to
}

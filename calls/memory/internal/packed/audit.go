package packed

import (
	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Audit looks for memories of a user without an entry or without words in the index. A store
// makes one with [NewAudit] for each user.
type Audit struct {
	wrong    error
	user     string
	entries  []rank.Entry
	hasWords []bool
	room     []rank.Posting
}

// NewAudit checks the entries of a user. wrong is the error for an index that contradicts itself
// or the memories.
func NewAudit(wrong error, user string, seen State, entries []rank.Entry) (*Audit, error) {
	if tail := seen.N - seen.Folded; tail > 2*MaxTail {
		return nil, wording.Errorf("%w: the user %q has %d memories that are not in it", wrong, user, tail)
	}
	if int64(len(entries)) != seen.Folded {
		return nil, wording.Errorf("%w: the user %q has %d entries, want %d", wrong, user, len(entries), seen.Folded)
	}
	return &Audit{wrong: wrong, user: user, entries: entries, hasWords: make([]bool, len(entries))}, nil
}

// AddPostings adds a chunk of postings of memories.
func (a *Audit) AddPostings(b []byte, chunk uint32) {
	a.room = ReadPostings(b, chunk, a.room[:0])
	for _, p := range a.room {
		if int(p.Seq()) < len(a.hasWords) {
			a.hasWords[p.Seq()] = true
		}
	}
}

// CheckWords looks for memories without words, when all postings have been added.
func (a *Audit) CheckWords() error {
	for seq, e := range a.entries {
		if !e.Deleted && e.Len > 0 && !a.hasWords[seq] {
			return wording.Errorf("%w: the memory %d of the user %q has no words", a.wrong, seq, a.user)
		}
	}
	return nil
}

// CheckMemory refuses a stored memory whose entry is deleted. Memories beyond the entries are found by their
// texts.
func (a *Audit) CheckMemory(seq int64) error {
	if a.entries[seq].Deleted {
		return wording.Errorf("%w: the memory %d of the user %q is not in it", a.wrong, seq, a.user)
	}
	return nil
}

package packed

import (
	"hash/fnv"
	"time"

	"github.com/google/uuid"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/facts"
	"github.com/callnode/scheduler/llm/value"
)

// Row is a memory to be saved, with everything that can be computed before the transaction. [Row.Prepare] fills it
// in.
type Row struct {
	memory.BaseMemory
	// Given and Dated report whether it came with its id and its time.
	Given, Dated bool
	UUID         uuid.UUID
	// Other and Extra are the JSON of columns, or nil.
	Other, Extra any
	// Hash is [HashOf].
	Hash int64
	// Reading holds the facts of the memory, and Unread reports whether facts are off. The store sets them.
	Reading facts.Reading
	Unread  bool
}

// Prepare normalizes a memory, or refuses it.
func (r *Row) Prepare(m memory.BaseMemory, now time.Time) error {
	r.Given, r.Dated = m.ID != "", !m.Timestamp.IsZero()
	if err := m.Normalize(now); err != nil {
		return err
	}
	var err error
	r.UUID, err = memory.UUIDOf(memory.MemoryID, m.ID)
	if err != nil {
		return err
	}
	r.BaseMemory = m
	if !m.Context.Other.IsNull() {
		r.Other = m.Context.Other.JSON()
	}
	if m.Extra != nil || m.Context.Extra != nil {
		r.Extra = value.OfList(value.OfMap(m.Extra), value.OfMap(m.Context.Extra)).JSON()
	}
	r.Hash = HashOf(&m)
	return nil
}

// HashOf returns the same for memories that [memory.IsDuplicate] reports as equal.
func HashOf(m *memory.BaseMemory) int64 {
	h := fnv.New64a()
	for _, part := range []string{m.Context.UserID, m.Context.SessionID, memory.ContentKey(m.Content)} {
		_, _ = h.Write([]byte(part + "\x00")) // it is documented never to fail
	}
	return int64(h.Sum64())
}

// Columns returns the targets of the columns id, user, session, time, content, other and
// extra.
func Columns(m *memory.BaseMemory) []any {
	return []any{ScanID{memory.MemoryID, &m.ID}, &m.Context.UserID, &m.Context.SessionID, ScanTime{&m.Timestamp}, &m.Content,
		ScanJSON{func(v value.Value) { m.Context.Other = v }},
		ScanJSON{func(v value.Value) {
			if l := v.List(); len(l) == 2 {
				m.Extra, m.Context.Extra = l[0].Map(), l[1].Map()
			}
		}}}
}

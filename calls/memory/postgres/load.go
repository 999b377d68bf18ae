package postgres

import (
	"context"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/internal/packed"
	"github.com/callnode/scheduler/calls/pgdb"
	"github.com/callnode/scheduler/llm/value"
)

// columnsOf returns the targets of selectMemory without the rid.
func columnsOf(m *memory.BaseMemory) []any { return memoryColumns(new(int64), m) }

// bodyOf returns the target of the body of a snapshot.
func bodyOf(s *memory.MemorySnapshot) []any { return []any{scanJSON(s.DecodeValue)} }

// textColumn returns the target of the only column of a row.
func textColumn(text *string) []any { return []any{scanText{text}} }

const selectMemory = `SELECT m.rid, m.id, u.name, s.name, m.time, m.content, m.other, m.extra FROM memory m
	JOIN memory_user u ON u.id = m.rid >> 32 JOIN memory_session s ON s.owner = m.rid >> 32 AND s.number = m.session`

// memoryColumns returns the targets for the columns of selectMemory.
func memoryColumns(rid *int64, m *memory.BaseMemory) []any {
	return []any{rid, packed.ScanID{Kind: memory.MemoryID, To: &m.ID}, scanText{&m.Context.UserID}, scanText{&m.Context.SessionID},
		packed.ScanTime{To: &m.Timestamp}, scanText{&m.Content},
		scanJSON(func(v value.Value) error { m.Context.Other = v; return nil }),
		scanJSON(func(v value.Value) error {
			if l := v.List(); len(l) == 2 {
				m.Extra, m.Context.Extra = l[0].Map(), l[1].Map()
			}
			return nil
		})}
}

// loadMemories returns the memories that exist, by their rids. last are statements that are
// sent after.
func loadMemories(ctx context.Context, c *pgdb.Conn, rids []int64, last ...pgdb.Statement) (map[int64]*memory.BaseMemory, error) {
	found := make(map[int64]*memory.BaseMemory, len(rids))
	load := pgdb.Statement{Query: selectMemory + " WHERE m.rid = ANY($1)", Args: []any{rids}, Each: func(scan func(...any) error) error {
		m := &memory.BaseMemory{}
		var rid int64
		err := scan(memoryColumns(&rid, m)...)
		found[rid] = m
		return err
	}}
	return found, c.Pipeline(ctx, append([]pgdb.Statement{load}, last...)...)
}

// encodeVersion returns an old version of a memory as it is stored.
func encodeVersion(m *memory.BaseMemory) string { return encodeText(value.Must(*m).JSON()) }

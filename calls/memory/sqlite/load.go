package sqlite

import (
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/internal/packed"
	"github.com/callnode/scheduler/calls/sqlitefile"
)

const selectMemory = `SELECT m.id, u.name, s.name, m.time, m.content, m.other, m.extra FROM memory m
	JOIN user u ON u.id = m.rid >> 32 JOIN session s ON s.user = m.rid >> 32 AND s.number = m.session`

// loadMemory returns a memory by its rowid, or nil.
func loadMemory(c *sqlitefile.Conn, rid int64) (*memory.BaseMemory, error) {
	var m memory.BaseMemory
	found, err := c.QueryRow(selectMemory+" WHERE rid = ?", []any{rid}, packed.Columns(&m)...)
	if !found {
		return nil, err
	}
	return &m, nil
}

package sqlmemory

import (
	"database/sql"

	"github.com/callnode/scheduler/calls/database"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/internal/packed"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

const selectMemory = `SELECT m.rid, m.id, u.name, s.name, m.time, m.content, m.other, m.extra FROM memory m
	JOIN memory_user u ON u.id = m.rid >> 32 JOIN memory_session s ON s.owner = m.rid >> 32 AND s.number = m.session`

// memoryColumns returns the targets for the columns of selectMemory.
func (c conn) memoryColumns(rid *int64, m *memory.BaseMemory) []any {
	return []any{rid, packed.ScanID{Kind: memory.MemoryID, To: &m.ID}, c.scanText(&m.Context.UserID), c.scanText(&m.Context.SessionID),
		packed.ScanTime{To: &m.Timestamp}, c.scanText(&m.Content),
		c.scanJSON(func(v value.Value) error { m.Context.Other = v; return nil }),
		c.scanJSON(func(v value.Value) error {
			if l := v.List(); len(l) == 2 {
				m.Extra, m.Context.Extra = l[0].Map(), l[1].Map()
			}
			return nil
		})}
}

// columnsOf returns the targets of selectMemory without the rid.
func (c conn) columnsOf(m *memory.BaseMemory) []any { return c.memoryColumns(new(int64), m) }

// bodyOf returns the target of the body of a snapshot.
func (c conn) bodyOf(s *memory.MemorySnapshot) []any { return []any{c.scanJSON(s.DecodeValue)} }

// textColumn returns the target of the only column of a row.
func (c conn) textColumn(text *string) []any { return []any{c.scanText(text)} }

// loadMemories returns the memories that exist, by their rids. last are statements that are sent
// after.
func loadMemories(c conn, rids []int64, last ...database.Statement) (map[int64]*memory.BaseMemory, error) {
	found := make(map[int64]*memory.BaseMemory, len(rids))
	load := database.Statement{Query: selectMemory + " WHERE m.rid = ANY($1)", Any: rids, Each: func(scan func(...any) error) error {
		m := &memory.BaseMemory{}
		var rid int64
		err := scan(c.memoryColumns(&rid, m)...)
		found[rid] = m
		return err
	}}
	return found, c.Pipeline(append([]database.Statement{load}, last...)...)
}

// scannedText scans a stored text.
type scannedText struct {
	codec
	to *string
}

var _ sql.Scanner = scannedText{}

// scanText returns the target of a stored text.
func (c conn) scanText(to *string) scannedText { return scannedText{c.d, to} }

// Scan is part of [sql.Scanner].
func (s scannedText) Scan(src any) (err error) {
	switch src := src.(type) {
	case string:
		*s.to, err = s.decode(src)
	case []byte:
		*s.to, err = s.decode(string(src))
	default:
		err = wording.Errorf("a text is %T", src)
	}
	return err
}

// scannedJSON scans stored JSON; it ignores NULL.
type scannedJSON struct {
	codec
	use func(value.Value) error
}

// scanJSON returns the target of stored JSON.
func (c conn) scanJSON(use func(value.Value) error) scannedJSON { return scannedJSON{c.d, use} }

// scanInto returns the target of stored JSON that decode reads.
func scanInto[T any](c conn, to *T, decode func(value.Value) (T, error)) scannedJSON {
	return c.scanJSON(func(v value.Value) (err error) {
		*to, err = decode(v)
		return err
	})
}

// Scan is part of [sql.Scanner].
func (s scannedJSON) Scan(src any) error {
	if src == nil {
		return nil
	}
	var text string
	if err := (scannedText{s.codec, &text}).Scan(src); err != nil {
		return err
	}
	v, err := value.ParseJSON([]byte(text))
	if err != nil {
		return err
	}
	return s.use(v)
}

// encodeJSON returns the stored form of a column of JSON, nil for none.
func (c conn) encodeJSON(text any) *string {
	s, ok := text.(string)
	if !ok {
		return nil
	}
	s = c.d.encode(s)
	return &s
}

// borrowed is bytes of a row, which are valid until the next row.
type borrowed []byte

// Scan is part of [sql.Scanner].
func (b *borrowed) Scan(src any) error {
	data, ok := src.([]byte)
	if !ok && src != nil {
		return wording.Errorf("bytes are %T", src)
	}
	*b = data
	return nil
}

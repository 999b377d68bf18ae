package sqlite

import (
	"context"
	"errors"
	"math"
	"unicode/utf8"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/llm/value"
)

// memoryOf makes a memory of the values of its row; ok is false for those of other
// tables.
func memoryOf(row []any) (m memory.BaseMemory, session, hash int64, ok bool) {
	if len(row) < 9 || row[0] != nil {
		return m, 0, 0, false
	}
	id, isID := row[1].([]byte)
	session, isSession := row[2].(int64)
	_, isTime := row[3].(int64)
	content, isText := row[5].(string)
	hash, isHash := row[8].(int64)
	if !isID || len(id) != 16 || !isSession || session < -1 || session > math.MaxInt32 || !isTime || !isText || !isHash {
		return m, 0, 0, false
	}
	dest := memoryColumns(&m)
	for column, at := range map[int]int{1: 0, 3: 3, 6: 5, 7: 6} {
		if err := dest[at].(interface{ Scan(any) error }).Scan(row[column]); err != nil {
			return m, 0, 0, false
		}
	}
	m.Content = content
	return m, session, hash, true
}

// rescue calls each with the memories that lie in the pages of the file, and were not
// given yet. What is not as it was saved is left out, as far as that can be told.
func (d *Damaged) rescue(ctx context.Context, each func(rid int64, m memory.BaseMemory) error) error {
	l, err := openLeaves(d.file)
	if err != nil {
		return err
	}
	if err := d.rescueNames(ctx, l); err != nil {
		return errors.Join(err, l.close())
	}
	err = l.each(ctx, tableLeaf, func(rid int64, record []byte) error {
		m, session, hash, ok := memoryOf(columns(record))
		if !ok || d.seen[rid] || rid>>32 < 1 || !utf8.ValidString(m.Content) {
			return nil
		}
		_, knownUser := d.users[rid>>32]
		_, knownSession := d.sessions[[2]int64{rid >> 32, session}]
		m.Context.UserID, m.Context.SessionID = d.nameOf(rid>>32), d.sessionOf(rid>>32, session)
		if knownUser && (knownSession || session < 0) && hashOf(&m) != hash {
			return nil
		}
		d.seen[rid] = true
		return each(rid, m)
	})
	return errors.Join(err, l.close())
}

// rescueNames looks for the names of users and sessions that are not known.
func (d *Damaged) rescueNames(ctx context.Context, l *leaves) error {
	if d.searched {
		return nil
	}
	err := l.each(ctx, tableLeaf, func(id int64, record []byte) error {
		row := columns(record) // id, name, numbers
		if _, known := d.users[id]; known || len(row) < 5 || row[0] != nil || !numbers(row[2:]) {
			return nil
		}
		if name, ok := row[1].(string); ok {
			d.users[id] = name
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = l.each(ctx, indexLeaf, func(_ int64, record []byte) error {
		row := columns(record) // user, number, name, numbers
		if len(row) < 9 || !numbers(row[:2]) || !numbers(row[3:]) {
			return nil
		}
		at := [2]int64{row[0].(int64), row[1].(int64)}
		if _, known := d.sessions[at]; known {
			return nil
		}
		if name, ok := row[2].(string); ok {
			d.sessions[at] = name
		}
		return nil
	})
	d.searched = err == nil
	return err
}

// numbers says whether values are whole numbers.
func numbers(row []any) bool {
	for _, v := range row {
		if _, ok := v.(int64); !ok {
			return false
		}
	}
	return true
}

// leftovers gives the memories to which no way leads.
func (d *Damaged) leftovers(ctx context.Context, which memory.Selection, yield func(memory.BaseMemory, error) bool) error {
	return d.rescue(ctx, func(_ int64, m memory.BaseMemory) error {
		if !which.Users.Has(m.Context.UserID) {
			return nil
		}
		d.Found++
		if !yield(m, nil) {
			return errStop
		}
		return nil
	})
}

// extraOf makes a snapshot or a meta snapshot of the values of its row; ok is false for
// those of other tables, and for what is not as it was saved.
func extraOf(kind memory.Kind, row []any) (user int64, id string, body value.Value, ok bool) {
	if len(row) != 6 || row[0] != nil || !numbers(row[2:4]) {
		return 0, "", body, false
	}
	category, isText := row[4].(string)
	text, isBody := row[5].(string)
	if !isText || !isBody || (scanID{kind, &id}).Scan(row[1]) != nil || (scanJSON{func(v value.Value) { body = v }}).Scan(text) != nil {
		return 0, "", body, false
	}
	own, _ := body.Map().Get("id") // which tells the two tables apart
	its, _ := body.Map().Get("category")
	ownID, _ := own.Str()
	itsCategory, _ := its.Str()
	return row[2].(int64), id, body, ownID == id && memory.CategoryKey(itsCategory) == category
}

// rescueExtras calls each with the snapshots, or the meta snapshots, that lie in the
// pages of the file.
func (d *Damaged) rescueExtras(ctx context.Context, kind memory.Kind, each func(user int64, id string, body value.Value) error) error {
	l, err := openLeaves(d.file)
	if err != nil {
		return err
	}
	if err := d.rescueNames(ctx, l); err != nil {
		return errors.Join(err, l.close())
	}
	err = l.each(ctx, tableLeaf, func(_ int64, record []byte) error {
		if user, id, body, ok := extraOf(kind, columns(record)); ok {
			return each(user, id, body)
		}
		return nil
	})
	return errors.Join(err, l.close())
}

// hasLeaves says whether there is any memory in a file that is no database any more.
func (d *Damaged) hasLeaves(ctx context.Context) bool {
	err := d.rescue(ctx, func(int64, memory.BaseMemory) error { return errStop })
	clear(d.seen)
	return errors.Is(err, errStop)
}

package sqlite

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"unicode/utf8"

	"github.com/callnode/scheduler/calls/memory"
)

// leaves reads rows out of the pages of a file, without the trees that lead there: the
// form of the pages is https://sqlite.org/fileformat.html.
type leaves struct {
	file  *os.File
	size  int             // of a page
	room  int             // of a page, without what is reserved at its end
	newer map[uint32]bool // pages of which the log has another version
}

// Types of pages: with rows of a table, and of a table without row ids.
const (
	tableLeaf = 0x0d
	indexLeaf = 0x0a
)

func openLeaves(name string) (*leaves, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	l := &leaves{file: f, size: 4096, room: 4096, newer: map[uint32]bool{}}
	head := make([]byte, 100)
	if _, err := io.ReadFull(f, head); err == nil && string(head[:16]) == "SQLite format 3\x00" {
		if l.size = int(binary.BigEndian.Uint16(head[16:])); l.size == 1 {
			l.size = 1 << 16
		}
		l.room = l.size - int(head[20])
	}
	if l.size < 512 || l.room < 480 {
		l.size, l.room = 4096, 4096 // as this program makes them
	}
	return l, l.readLog(name + "-wal")
}

// readLog notes the pages that are in the log: what the file has of them is old, and
// may be deleted.
func (l *leaves) readLog(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return nil //nolint:nilerr // without a log, the file is all there is
	}
	frame := make([]byte, 4)
	for at := int64(32); err == nil; at += 24 + int64(l.size) {
		if _, err = f.ReadAt(frame, at); err == nil {
			l.newer[binary.BigEndian.Uint32(frame)] = true
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, f.Close())
}

// each calls row for all rows in pages of a type, of any table.
func (l *leaves) each(ctx context.Context, kind byte, row func(rid int64, record []byte) error) error {
	if _, err := l.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	page := make([]byte, l.size)
	for number := uint32(1); ; number++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := io.ReadFull(l.file, page); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		} else if err != nil { // the disk does not give it; the next one may be better
			if _, err := l.file.Seek(int64(number)*int64(l.size), io.SeekStart); err != nil {
				return err
			}
			continue
		}
		head := 0
		if number == 1 {
			head = 100
		}
		if page[head] != kind || l.newer[number] {
			continue
		}
		cells := int(binary.BigEndian.Uint16(page[head+3:]))
		for i := range min(cells, (l.room-head-8)/2) {
			at := int(binary.BigEndian.Uint16(page[head+8+2*i:]))
			if at < head+8 || at >= l.room {
				continue
			}
			read := l.cell
			if kind == indexLeaf {
				read = l.short
			}
			if rid, record, ok := read(page[at:l.room]); ok {
				if err := row(rid, record); err != nil {
					return err
				}
			}
		}
	}
}

// cell reads a row, with what of it lies in further pages.
func (l *leaves) cell(b []byte) (rid int64, record []byte, ok bool) {
	length, n := varint(b)
	rid, m := varint(b[n:])
	b = b[n+m:]
	if n == 0 || m == 0 || length <= 0 || length > 2*memory.MaxContent {
		return 0, nil, false
	}
	here := length
	if most := int64(l.room) - 35; length > most {
		least := (int64(l.room)-12)*32/255 - 23
		if here = least + (length-least)%(int64(l.room)-4); here > most {
			here = least
		}
	}
	if int64(len(b)) < here {
		return 0, nil, false
	}
	if length == here {
		return rid, b[:here], true
	}
	record = append(make([]byte, 0, length), b[:here]...)
	if int64(len(b)) < here+4 {
		return 0, nil, false
	}
	page := make([]byte, l.room)
	for next := binary.BigEndian.Uint32(b[here:]); int64(len(record)) < length; next = binary.BigEndian.Uint32(page) {
		if next == 0 || l.newer[next] {
			return 0, nil, false
		}
		if _, err := l.file.ReadAt(page, int64(next-1)*int64(l.size)); err != nil {
			return 0, nil, false
		}
		record = append(record, page[4:min(int64(l.room), 4+length-int64(len(record)))]...)
	}
	return rid, record, true
}

// short reads a row of a table without row ids that lies in one page.
func (l *leaves) short(b []byte) (_ int64, record []byte, ok bool) {
	length, n := varint(b)
	if n == 0 || length <= 0 || length > (int64(l.room)-12)*64/255-23 || length > int64(len(b)-n) {
		return 0, nil, false
	}
	return 0, b[n : int64(n)+length], true
}

// varint reads a number of up to nine bytes; n is 0 where it is cut.
func varint(b []byte) (v int64, n int) {
	for i := 0; i < min(9, len(b)); i++ {
		if i == 8 {
			return v<<8 | int64(b[i]), 9
		}
		if v = v<<7 | int64(b[i]&0x7f); b[i] < 0x80 {
			return v, i + 1
		}
	}
	return 0, 0
}

// columns reads the values of a record: nil, int64, string or []byte. nil is a record
// that is none, or has other numbers.
func columns(record []byte) (list []any) {
	head, n := varint(record)
	if n == 0 || head < int64(n) || head > int64(len(record)) {
		return nil
	}
	types, body := record[n:head], record[head:]
	for len(types) > 0 {
		kind, n := varint(types)
		if n == 0 || kind < 0 {
			return nil
		}
		types = types[n:]
		size := int64(0)
		switch {
		case kind <= 4:
			size = kind
		case kind <= 6:
			size = 2*kind - 4
		case kind == 7 || kind == 10 || kind == 11:
			return nil
		case kind >= 12:
			size = (kind - 12) / 2
		}
		if size > int64(len(body)) {
			return nil
		}
		v := body[:size]
		body = body[size:]
		switch {
		case kind == 0:
			list = append(list, nil)
		case kind >= 12 && kind%2 == 0:
			list = append(list, v)
		case kind >= 12:
			list = append(list, string(v))
		default:
			number := max(0, kind-8) // 8 and 9 are 0 and 1
			for i, c := range v {
				if i == 0 {
					number = int64(int8(c))
				} else {
					number = number<<8 | int64(c)
				}
			}
			list = append(list, number)
		}
	}
	return list
}

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
		return errors.Join(err, l.file.Close())
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
	return errors.Join(err, l.file.Close())
}

// rescueNames looks for the names of users and sessions that are not known.
func (d *Damaged) rescueNames(ctx context.Context, l *leaves) error {
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
	return l.each(ctx, indexLeaf, func(_ int64, record []byte) error {
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

// hasLeaves says whether there is any memory in a file that is no database any more.
func (d *Damaged) hasLeaves(ctx context.Context) bool {
	err := d.rescue(ctx, func(int64, memory.BaseMemory) error { return errStop })
	clear(d.seen)
	return errors.Is(err, errStop)
}

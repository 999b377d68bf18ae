package sqlite

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"math"
	"os"
	"slices"

	"github.com/callnode/scheduler/calls/memory"
)

// leaves reads rows out of the pages of a file and of its log, without the trees that
// lead there: the form of the pages is https://sqlite.org/fileformat.html.
type leaves struct {
	file, log *os.File         // log is nil where there is none
	size      int              // of a page
	room      int              // of a page, without what is reserved at its end
	newer     map[uint32]int64 // where the log has the newest version of a page
	// further is how many pages may yet be read for rows that do not fit into one. Each
	// belongs to one row, so that there are not many more, unless all lead to the same.
	further int
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
	l := &leaves{file: f, newer: map[uint32]int64{}}
	head := make([]byte, 100)
	if _, err := f.ReadAt(head, 0); err == nil && string(head[:16]) == "SQLite format 3\x00" {
		if l.size = int(binary.BigEndian.Uint16(head[16:])); l.size == 1 {
			l.size = 1 << 16
		}
		l.room = l.size - int(head[20])
	}
	if l.size < 512 || l.room < 480 {
		l.size, l.room = 4096, 4096 // as this program makes them
	}
	if l.log, err = os.Open(name + "-wal"); err != nil {
		return l, nil //nolint:nilerr // without a log, the file is all there is
	}
	if err := l.readLog(); err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

func (l *leaves) close() error {
	err := l.file.Close()
	if l.log != nil {
		err = errors.Join(err, l.log.Close())
	}
	return err
}

// How the log begins, and each page in it.
const (
	logHead   = 32
	frameHead = 24
)

// readLog notes the pages that are in the log, as far as it has whole changes. Others are
// left over from when it was longer: they have other salts.
func (l *leaves) readLog() error {
	info, err := l.log.Stat()
	if err != nil {
		return err
	}
	var salts []byte // those of the log, or of its first page where its beginning is gone
	head := make([]byte, logHead)
	if _, err := l.log.ReadAt(head, 0); err == nil && binary.BigEndian.Uint32(head)&^1 == 0x377f0682 {
		salts = head[16:24]
	}
	change := map[uint32]int64{}
	for at := int64(logHead); at+frameHead+int64(l.size) <= info.Size(); at += frameHead + int64(l.size) {
		frame := make([]byte, frameHead)
		if _, err := l.log.ReadAt(frame, at); err != nil {
			continue // the disk does not give it; the next one may be better
		}
		if salts == nil {
			salts = frame[8:16]
		}
		if !bytes.Equal(frame[8:16], salts) {
			continue
		}
		change[binary.BigEndian.Uint32(frame)] = at + frameHead
		if binary.BigEndian.Uint32(frame[4:]) != 0 { // the last one of a change
			maps.Copy(l.newer, change)
			clear(change)
		}
	}
	return nil
}

// read reads the newest version of a page.
func (l *leaves) read(number uint32, page []byte) error {
	if at, ok := l.newer[number]; ok {
		_, err := l.log.ReadAt(page, at)
		return err
	}
	_, err := l.file.ReadAt(page, int64(number-1)*int64(l.size))
	return err
}

// pages are the numbers of the pages that there are.
func (l *leaves) pages() ([]uint32, error) {
	info, err := l.file.Stat()
	if err != nil {
		return nil, err
	}
	n := min(info.Size()/int64(l.size), math.MaxUint32-1)
	numbers := make([]uint32, 0, n)
	for i := range n {
		numbers = append(numbers, uint32(i)+1)
	}
	for _, number := range slices.Sorted(maps.Keys(l.newer)) {
		if int64(number) > n {
			numbers = append(numbers, number)
		}
	}
	return numbers, nil
}

// each calls row for all rows in pages of a type, of any table.
func (l *leaves) each(ctx context.Context, kind byte, row func(rid int64, record []byte) error) error {
	numbers, err := l.pages()
	if err != nil {
		return err
	}
	l.further = 16 * len(numbers)
	page := make([]byte, l.size)
	for _, number := range numbers {
		if err := ctx.Err(); err != nil {
			return err
		}
		if l.read(number, page) != nil {
			continue // the disk does not give it; the next one may be better
		}
		head := 0
		if number == 1 {
			head = 100
		}
		if page[head] != kind {
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
	return nil
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
	record = slices.Clone(b[:here])
	if int64(len(b)) < here+4 {
		return 0, nil, false
	}
	page := make([]byte, l.room)
	for next := binary.BigEndian.Uint32(b[here:]); int64(len(record)) < length; next = binary.BigEndian.Uint32(page) {
		if l.further--; next == 0 || l.further < 0 || l.read(next, page) != nil {
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

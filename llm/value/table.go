package value

// Table makes objects with the same members, for example the parts of a long history: they share
// their keys, and many of them one allocation. The caller of [NewTable] uses it from one goroutine
// and drops it after the last row.
type Table struct {
	keys   []string
	shapes []shape // of the rows so far
	left   int     // how many rows are still expected
	maps   []Map
	vals   []Value
}

// shape is a set of members that rows of a table have.
type shape struct {
	members uint64 // bit i means keys[i] of the table
	keys    []string
}

// tableChunk is the number of rows that share an allocation: keeping one of them keeps the others in memory.
const tableChunk = 128

// NewTable returns a table with up to 64 keys for about that many rows.
func NewTable(rows int, keys ...string) *Table {
	if len(keys) > 64 {
		panic("value: a table has up to 64 keys")
	}
	return &Table{keys: keys, left: rows}
}

// Row returns an object with one value for each key of the table, in their order. A value that is
// null leaves its member out.
func (t *Table) Row(vals ...Value) Value {
	rows := min(max(t.left, 1), tableChunk)
	if len(t.maps) == cap(t.maps) {
		t.maps = make([]Map, 0, rows)
	}
	if cap(t.vals)-len(t.vals) < len(vals) {
		t.vals = make([]Value, 0, rows*len(t.keys))
	}
	t.left--
	start, members := len(t.vals), uint64(0)
	for i, v := range vals {
		if v.IsNull() {
			continue
		}
		members |= 1 << i
		t.vals = append(t.vals, v)
	}
	end := len(t.vals)
	t.maps = append(t.maps, Map{keys: t.keysOf(members), vals: t.vals[start:end:end]})
	return Value{&t.maps[len(t.maps)-1]}
}

// keysOf returns the keys of a set of members, the same slice each time.
func (t *Table) keysOf(members uint64) []string {
	for _, s := range t.shapes {
		if s.members == members {
			return s.keys
		}
	}
	keys := make([]string, 0, len(t.keys))
	for i, key := range t.keys {
		if members&(1<<i) != 0 {
			keys = append(keys, key)
		}
	}
	keys = keys[:len(keys):len(keys)] // a member that is added to one row stays out of the others
	t.shapes = append(t.shapes, shape{members, keys})
	return keys
}

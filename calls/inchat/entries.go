package inchat

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls/inchat/macro"
	"github.com/callnode/scheduler/llm/value"
)

// The kinds of entries, as the trace names them.
const (
	kindPreset    = "preset"
	kindWorldBook = "world_book"
)

// defaultOrder is the order of entries that have none, or zero.
const defaultOrder = 100

// candidate is a preset or world-book entry and what has been decided about it.
type candidate struct {
	kind    string
	entry   *value.Map // nil for what is not an entry
	name    string
	index   int // the place among all entries, presets first; breaks ties
	role    string
	content string
	depth   int64
	order   int64
	cond    *condition // nil for an entry without one

	out     bool
	reason  string
	tokens  int
	message int // the index in the output
}

func (c *candidate) leaveOut(format string, args ...any) {
	c.out = true
	c.reason = fmt.Sprintf(format, args...)
}

// builder holds the candidates of one call.
type builder struct {
	candidates []candidate
	conditions map[string]*condition
	warnings   []string
}

func (b *builder) warn(format string, args ...any) {
	if len(b.warnings) < maxWarnings {
		b.warnings = append(b.warnings, fmt.Sprintf(format, args...))
	} else if len(b.warnings) == maxWarnings {
		b.warnings = append(b.warnings, "there are more warnings")
	}
}

const maxWarnings = 100

// collectEntries reads all entries.
func (b *builder) collectEntries(presets, books value.Value) {
	flat := flattenBooks(nil, books, false)
	b.candidates = make([]candidate, 0, len(presets.List())+len(flat))
	b.conditions = map[string]*condition{}
	for i, v := range presets.List() {
		b.candidates = append(b.candidates, b.readPreset(v, i))
	}
	if k := books.Kind(); k != value.List && k != value.Object && !isEmpty(books) {
		b.warn("world_books is %s: want a list of entries, or an object", k)
	}
	index := len(presets.List())
	for _, v := range flat {
		b.candidates = append(b.candidates, b.readWorldBook(v, index))
		if v.Kind() == value.Object {
			index++
		}
	}
	b.warnDeprecated()
}

// flattenBooks appends the entries of world books in any shape: a list of them,
// nested, {entries: a list or a map}, {world_book: ...}, or one entry. What is no
// entry is appended too, so that the trace can name it. Lists directly in entries
// are no books.
func flattenBooks(flat []value.Value, v value.Value, inEntries bool) []value.Value {
	switch v.Kind() {
	case value.List:
		if inEntries {
			return append(flat, v)
		}
		for _, item := range v.List() {
			flat = flattenBooks(flat, item, false)
		}
		return flat
	case value.Object:
		if entries, _ := v.Get("entries"); entries.Kind() == value.List {
			for _, item := range entries.List() {
				flat = flattenBooks(flat, item, true)
			}
			return flat
		} else if entries.Kind() == value.Object {
			for _, item := range entries.Map().All() {
				flat = flattenBooks(flat, item, true)
			}
			return flat
		}
		if book, _ := v.Get("world_book"); book.Kind() == value.Object || book.Kind() == value.List {
			return flattenBooks(flat, book, false)
		}
		if v.Map().Len() == 0 {
			return flat
		}
		return append(flat, v)
	case value.Null, value.Bool, value.Int, value.Float, value.String:
	}
	if isEmpty(v) {
		return flat
	}
	return append(flat, v)
}

// readPreset reads one preset entry; i is its place.
func (b *builder) readPreset(v value.Value, i int) candidate {
	c := candidate{kind: kindPreset, index: i, entry: v.Map(), role: "user"}
	if c.entry == nil {
		c.name = strconv.Itoa(i)
		c.leaveOut("not an entry but %s", v.Kind())
		return c
	}
	c.name = firstField(c.entry, strconv.Itoa(i), "identifier", "name")
	if given, ok := c.entry.Get("role"); ok {
		if role := strings.ToLower(plainText(given)); isRole(role) {
			c.role = role
		}
	}
	position, has := c.entry.Get("position")
	if s, _ := position.Str(); s != "in-chat" {
		if !has {
			c.leaveOut("it has no position; only in-chat presets go into the chat")
		} else {
			c.leaveOut("position %s is not in-chat", truncate(position.JSON()))
		}
		return c
	}
	b.readCommonFields(&c)
	return c
}

// readWorldBook reads one world-book entry; index is its place among all entries.
func (b *builder) readWorldBook(v value.Value, index int) candidate {
	c := candidate{kind: kindWorldBook, index: index, entry: v.Map(), role: "system"}
	if c.entry == nil {
		c.name = strconv.Itoa(index)
		c.leaveOut("not an entry but %s", v.Kind())
		return c
	}
	c.name = firstField(c.entry, "", "name", "comment")
	if id, ok := c.entry.Get("id"); c.name == "" && ok && !id.IsNull() {
		c.name = plainText(id)
	} else if c.name == "" {
		c.name = strconv.Itoa(index)
	}
	position, _ := c.entry.Get("position")
	switch s, _ := position.Str(); s {
	case "user", "assistant":
		c.role = s
	case "before_char", "after_char":
		c.leaveOut("position %s is outside of the chat", s)
		return c
	}
	b.readCommonFields(&c)
	return c
}

// readCommonFields reads what presets and world-book entries have in common.
func (b *builder) readCommonFields(c *candidate) {
	if enabled, ok := c.entry.Get("enabled"); ok {
		if on, isBool := enabled.Bool(); isBool && !on {
			c.leaveOut("disabled")
			return
		}
	}
	content, _ := c.entry.Get("content")
	if c.content, _ = content.Str(); c.content == "" {
		if content.Kind() == value.String || content.IsNull() {
			c.leaveOut("the content is empty")
		} else {
			c.leaveOut("the content is %s, not text", content.Kind())
		}
		return
	}
	var ok bool
	if c.depth, ok = intField(c.entry, "depth", 0); !ok {
		depth, _ := c.entry.Get("depth")
		c.leaveOut("depth %s is not an integer", truncate(depth.JSON()))
		return
	}
	if c.order, ok = intField(c.entry, "order", defaultOrder); !ok {
		order, _ := c.entry.Get("order")
		c.leaveOut("order %s is not an integer", truncate(order.JSON()))
		return
	}
	if c.order == 0 {
		c.order = defaultOrder
	}
	mode, _ := c.entry.Get("mode")
	if s, _ := mode.Str(); s == "conditional" {
		c.cond = b.conditionOf(c)
		return
	}
	c.reason = "always"
}

// intField is an integer field; what is missing or empty takes the default.
func intField(entry *value.Map, field string, standard int64) (i int64, ok bool) {
	v, _ := entry.Get(field)
	if isEmpty(v) {
		return standard, true
	}
	return macro.Int(v)
}

// isEmpty is Python's notion of what is false: null, false, 0, "", [] and {}.
func isEmpty(v value.Value) bool {
	switch v.Kind() {
	case value.Null:
		return true
	case value.Bool:
		b, _ := v.Bool()
		return !b
	case value.Int, value.Float:
		f, _ := v.Float()
		return f == 0
	case value.String:
		s, _ := v.Str()
		return s == ""
	case value.List:
		return len(v.List()) == 0
	case value.Object:
		return v.Map().Len() == 0
	}
	return false
}

// firstField is the text of the first field that is not empty.
func firstField(entry *value.Map, standard string, fields ...string) string {
	for _, f := range fields {
		if v, _ := entry.Get(f); !isEmpty(v) {
			return plainText(v)
		}
	}
	return standard
}

// warnDeprecated tells of fields that other programs give a meaning to, and this
// call does not.
func (b *builder) warnDeprecated() {
	keys, key, first := 0, 0, [2]string{}
	for i := range b.candidates {
		c := &b.candidates[i]
		if _, ok := c.entry.Get("keys"); ok {
			if keys++; keys == 1 {
				first[0] = c.name
			}
		}
		if v, _ := c.entry.Get("key"); v.Kind() == value.List {
			if key++; key == 1 {
				first[1] = c.name
			}
		}
	}
	if keys > 0 {
		b.warn("%d entries have the deprecated field keys, which is ignored: write mode: conditional and condition: \"<<keywords:...>>\" (the first is %q)", keys, first[0])
	}
	if key > 0 {
		b.warn("%d entries look like SillyTavern's, whose key, constant and disable are not read: write mode, condition and enabled (the first is %q)", key, first[1])
	}
}

// truncate shortens text for reasons.
func truncate(s string) string {
	if r := []rune(s); len(r) > 80 {
		return string(r[:77]) + "..."
	}
	return s
}

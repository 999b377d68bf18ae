package inchat

import (
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/inchat/macro"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// The kinds of entries, as the trace names them.
const (
	kindPreset    = "preset"
	kindWorldBook = "world_book"
)

// The codes of decisions, as the trace has them.
const (
	codeConstant  = "constant"
	codeKey       = "key"
	codeSecondary = "secondary"
	codeNoKey     = "no_key"
	codeDisabled  = "disabled"
	codeEmpty     = "empty"
	codeUnread    = "unread"
	codeCondition = "condition"
	codeBudget    = "budget"
	codeAlways    = "included"
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
	lore    *loreEntry // nil for a native entry
	book    *book      // nil for a preset
	pointer string     // JSON pointer into the parameters
	slot    string     // the place outside of the chat; "" for the chat
	// expanded has the origins of content whose macros were expanded.
	expanded []calls.Origin

	out     bool
	code    string // one of the codes, "" where the reason says all
	reason  wording.Text
	tokens  int
	message int // the index in the output
	start   int // the byte in the slot
}

func (c *candidate) leaveOut(format string, args ...any) {
	c.out = true
	c.reason = wording.Say(format, args...)
}

// builder holds the candidates of one call.
type builder struct {
	env        *calls.Env
	candidates []candidate
	conditions map[string]*condition
	warnings   []string
}

func (b *builder) warn(format string, args ...any) {
	b.warnOf(calls.Warning{Code: "entry"}, format, args...)
}

// warnOf adds a warning, of which w has all but the text.
func (b *builder) warnOf(w calls.Warning, format string, args ...any) {
	if len(b.warnings) < maxWarnings {
		w.Text = b.env.Say(format, args...)
		b.warnings = append(b.warnings, w.Text)
		b.env.WarnOf(w)
	} else if len(b.warnings) == maxWarnings {
		b.warnings = append(b.warnings, b.env.Say("there are more warnings"))
	}
}

const maxWarnings = 100

// collectEntries reads all entries.
func (b *builder) collectEntries(presets, books value.Value) {
	found := readBooks(books, "/world_books")
	b.candidates = make([]candidate, 0, len(presets.List())+len(found.entries))
	b.conditions = map[string]*condition{}
	for i, v := range presets.List() {
		b.candidates = append(b.candidates, b.readPreset(v, i))
	}
	if k := books.Kind(); k != value.List && k != value.Object && !isEmpty(books) {
		b.warn("world_books is %s: want a list of entries, or an object", k)
	}
	index := len(presets.List())
	for _, e := range found.entries {
		b.candidates = append(b.candidates, b.readWorldBook(e, index))
		if e.v.Kind() == value.Object {
			index++
		}
	}
	b.warnMisspelt()
	b.warnDeprecated()
	b.warnUnread(found.books)
}

// readPreset reads one preset entry; i is its place.
func (b *builder) readPreset(v value.Value, i int) candidate {
	c := candidate{kind: kindPreset, index: i, entry: v.Map(), role: "user", pointer: "/presets_in_chat/" + strconv.Itoa(i)}
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
			c.leaveOut("position %s is not in-chat", value.Truncate(position.JSON(), 80))
		}
		return c
	}
	b.readCommonFields(&c)
	return c
}

// readWorldBook reads one world-book entry; index is its place among all entries.
func (b *builder) readWorldBook(e placedEntry, index int) candidate {
	v := e.v
	c := candidate{kind: kindWorldBook, index: index, entry: v.Map(), role: "system", pointer: e.pointer, book: e.book}
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
	if isLore(c.entry) {
		b.readLore(&c)
		return c
	}
	position, _ := c.entry.Get("position")
	switch s, _ := position.Str(); s {
	case "user", "assistant":
		c.role = s
	default:
		c.slot = slots[s]
	}
	b.readCommonFields(&c)
	return c
}

// readCommonFields reads what presets and world-book entries have in common.
func (b *builder) readCommonFields(c *candidate) {
	if enabled, ok := c.entry.Get("enabled"); ok {
		if on, isBool := enabled.Bool(); isBool && !on {
			c.leaveOut("disabled")
			c.code = codeDisabled
			return
		}
	}
	content, _ := c.entry.Get("content")
	c.content, _ = content.Str()
	if c.content == "" {
		if content.Kind() == value.String || content.IsNull() {
			c.leaveOut("the content is empty")
			c.code = codeEmpty
		} else {
			c.leaveOut("the content is %s, not text", content.Kind())
		}
		return
	}
	var ok bool
	c.depth, ok = intField(c.entry, "depth", 0)
	if !ok {
		depth, _ := c.entry.Get("depth")
		c.leaveOut("depth %s is not an integer", value.Truncate(depth.JSON(), 80))
		return
	}
	c.order, ok = intField(c.entry, "order", defaultOrder)
	if !ok {
		order, _ := c.entry.Get("order")
		c.leaveOut("order %s is not an integer", value.Truncate(order.JSON(), 80))
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
	c.reason, c.code = wording.Say("always"), codeAlways
}

// intField returns an integer field; what is missing or empty takes the default.
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

// firstField returns the text of the first field that is not empty.
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
	keys, first := 0, ""
	for i := range b.candidates {
		c := &b.candidates[i]
		if _, ok := c.entry.Get("keys"); ok && !isLore(c.entry) {
			keys++
			if keys == 1 {
				first = c.name
			}
		}
	}
	if lost, name := b.countLostConditions(); lost > 0 {
		b.warn("%d entries have a condition and no mode, and are always in: write mode: conditional (the first is %q)", lost, name)
	}
	if keys > 0 {
		b.warn("%d entries have the deprecated field keys, which is ignored: write mode: conditional and condition: \"<<keywords:...>>\" (the first is %q)", keys, first)
	}
}

// countLostConditions counts the entries of which [hasLostCondition] is true; first is the name of
// the first.
func (b *builder) countLostConditions() (n int, first string) {
	for i := range b.candidates {
		c := &b.candidates[i]
		if !hasLostCondition(c.entry) {
			continue
		}
		n++
		if n == 1 {
			first = c.name
		}
	}
	return n, first
}

// hasLostCondition reports whether an entry has a condition that does nothing, because it has no
// mode. With mode: always it is left out on purpose.
func hasLostCondition(entry *value.Map) bool {
	mode, _ := entry.Get("mode")
	condition, _ := entry.Get("condition")
	return isEmpty(mode) && strings.TrimSpace(conditionText(condition)) != "" && !isEmpty(condition)
}

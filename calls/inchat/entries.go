package inchat

import (
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// defaultOrder is the order of entries that have none, or zero.
const defaultOrder = 100

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
	b.books = found.books
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

// readWorldBook reads one world-book entry; index is its place among all entries. Its role
// comes from its position, as _map_wb_pos_to_role of the documents has it.
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
	if e.isLore() {
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

// readCommonFields reads the common fields of presets and world-book entries.
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

// warnDeprecated warns of fields that mean something in other programs, but not in this call.
func (b *builder) warnDeprecated() {
	keys, first := 0, ""
	for i := range b.candidates {
		c := &b.candidates[i]
		if _, ok := c.entry.Get("keys"); ok && !c.isLore() {
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

// countLostConditions counts the entries for which [hasLostCondition] is true; first is the name of the first.
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

// warnUnread reports, once for each book, the entries that are left out because
// they are not understood, and a scan_depth that is not.
func (b *builder) warnUnread(books []*book) {
	for _, book := range books {
		if book.wrongDepth != "" {
			b.warnOf(calls.Warning{Code: codeUnknownValue, Pointer: book.pointer + "/scan_depth"}, "world book %q: %s",
				value.Truncate(book.name, 80), book.wrongDepthText())
		}
		for _, text := range book.notes() {
			b.warn("world book %q: %s", value.Truncate(book.name, 80), text)
		}
		if text := book.unreadText(); text.En != "" {
			b.warn("world book %q: entries are left out because these fields are not evaluated: %s", value.Truncate(book.name, 80), text)
		}
	}
}

// warnMisspelt warns of fields and values that look misspelt, once for each, with the first entry that has it.
func (b *builder) warnMisspelt() {
	type group struct {
		misspelling
		first *candidate
		count int
	}
	var groups []*group
	byMessage := map[string]*group{}
	var finder misspellingFinder
	for i := range b.candidates {
		c := &b.candidates[i]
		for _, m := range finder.findMisspellings(c.kind, c.entry, c.isLore()) {
			key := c.kind + " " + m.message.En
			g := byMessage[key]
			if g == nil {
				g = &group{misspelling: m, first: c}
				byMessage[key] = g
				groups = append(groups, g)
			}
			g.count++
		}
	}
	for _, g := range groups {
		at := calls.Warning{Code: g.code, Pointer: g.first.pointer + g.misspelling.pointer}
		kind := wording.Of(strings.ReplaceAll(g.first.kind, "_", " "))
		name := value.Truncate(g.first.name, 80)
		if g.count == 1 {
			b.warnOf(at, "%s %q: %s (%s)", kind, name, g.message, g.hint)
		} else {
			b.warnOf(at, "%s %q, the first of %d: %s (%s)", kind, name, g.count, g.message, g.hint)
		}
	}
}

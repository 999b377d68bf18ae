package inchat

import (
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// The codes of warnings about fields and values that look misspelt.
const (
	codeUnknownField = "unknown-field"
	codeUnknownValue = "unknown-value"
)

// ownFields are the fields that change the prompt, or the name of an entry. A field that is
// nearly one of them is taken for a misspelt one.
var ownFields = []string{
	"identifier", "name", "position", "enabled", "role", "depth", "order", "mode", "condition", "content", "priority", "ignore_budget",
	"entries", "world_book",
}

// presetFields are fields that presets of other programs have beside those of ownFields.
var presetFields = []string{
	"system_prompt", "marker", "injection_position", "injection_depth", "injection_order", "injection_trigger", "forbid_overrides",
}

// knownFields are the fields that entries of chats and lorebooks are known to have. Entries may have others, which
// are passed on in the source of the message.
var knownFields = func() map[string]bool {
	known := map[string]bool{"wb_id": true}
	for _, name := range slices.Concat(ownFields, presetFields, loreFields, loreUnread, loreMarkers) {
		known[name] = true
		known[snakeCase(name)] = true
	}
	return known
}()

// misspelling is a field of an entry, or its value, that looks misspelt: the run goes on with
// a default, or without the entry.
type misspelling struct {
	code    string
	pointer string // JSON pointer into the entry
	message wording.Text
	hint    wording.Text
}

// misspellingFinder looks at entries, one after the other.
type misspellingFinder struct {
	own, lore nearestField // for native entries and those of other programs
}

// findMisspellings returns what looks misspelt in an entry.
func (f *misspellingFinder) findMisspellings(kind string, entry *value.Map) (found []misspelling) {
	if !isLore(entry) {
		return append(unknownFields(entry, ownFields, &f.own, "unknown field %q: it does nothing"), unknownValues(kind, entry)...)
	}
	if isLoreOff(entry) {
		return nil
	}
	found = unknownFields(entry, loreFields, &f.lore, "unknown field %q: the entry is left out")
	for _, wrong := range wrongLoreValues(entry) {
		wrong.message = wording.Say("%s: the entry is left out", wrong.message)
		found = append(found, wrong)
	}
	return found
}

// unknownFields finds the fields of an entry that are nearly one of the known names.
func unknownFields(entry *value.Map, names []string, nearest *nearestField, format string) (found []misspelling) {
	for field, v := range entry.All() {
		if knownFields[field] || isLore(entry) && !isUnknownLore(field, v) {
			continue
		}
		near := nearest.findMeant(entry, field, names)
		if near == "" {
			continue
		}
		found = append(found, misspelling{
			codeUnknownField, "/" + value.Escape(field), wording.Say(format, value.Truncate(field, 80)), didYouMean(near),
		})
	}
	return found
}

// nearestField keeps, by field, the known name that it is nearly.
type nearestField map[string]string

// find returns which of names a field is nearly; "" where it is near none.
func (f *nearestField) find(field string, names []string) string {
	near, ok := (*f)[field]
	if !ok {
		near = value.Nearest(field, names)
		if *f == nil {
			*f = nearestField{}
		}
		(*f)[field] = near
	}
	return near
}

// findMeant returns which of names a field of an entry was meant to be; "" where it is near none,
// or the entry has that too.
func (f *nearestField) findMeant(entry *value.Map, field string, names []string) string {
	near := f.find(field, names)
	if _, has := entry.Get(near); has {
		return ""
	}
	return near
}

func didYouMean(name string) wording.Text { return wording.Say("did you mean %q?", name) }

// unknownValues finds values of an entry that its fields do not take. A value that is
// missing or null is the default.
func unknownValues(kind string, entry *value.Map) (found []misspelling) {
	check := func(field, format string, isKnown func(string) bool, known ...string) {
		v, _ := entry.Get(field)
		text := plainText(v)
		if v.IsNull() || slices.Contains(known, text) || isKnown(text) {
			return
		}
		hint := wording.Say("known are %s", strings.Join(known, ", "))
		if near := value.Nearest(text, known); near != "" {
			hint = didYouMean(near)
		}
		found = append(found, misspelling{codeUnknownValue, "/" + field, wording.Say(format, value.Truncate(text, 80)), hint})
	}
	other := func(values ...string) func(string) bool {
		return func(text string) bool { return slices.Contains(values, text) }
	}
	check("enabled", "enabled is %q, neither true nor false: the entry is on", other("1"), "true", "false")
	if text, isText := textField(entry, "enabled"); isText && text == "false" {
		found = append(found, misspelling{
			codeUnknownValue, "/enabled", wording.Say("enabled is a text, not false: the entry is on"), wording.Say("write false without quotes"),
		})
	}
	check("mode", "unknown mode %q: the entry is always in", other(""), "always", "conditional")
	if kind == kindWorldBook {
		if text, _ := textField(entry, "position"); slots[text] != "" {
			return found
		}
		check("position", "unknown position %q: the entry goes into the chat as system", other("", "4"),
			"system", "user", "assistant", "before_char", "after_char")
		return found
	}
	check("position", "unknown position %q: the entry is left out", other("relative"), "in-chat")
	check("role", "unknown role %q: the message is from user", func(text string) bool { return isRole(strings.ToLower(text)) },
		"system", "user", "assistant", "thinking")
	return found
}

func textField(entry *value.Map, field string) (string, bool) {
	v, _ := entry.Get(field)
	return v.Str()
}

// warnMisspelt tells of fields and values that look misspelt, once for each, with the first
// entry that has it.
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
		for _, m := range finder.findMisspellings(c.kind, c.entry) {
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

// lintMisspelt finds fields and values that look misspelt in entries that are known.
func lintMisspelt(params value.Value) (found []schema.Problem) {
	var finder misspellingFinder
	look := func(kind string, entry *value.Map, pointer string) {
		for _, m := range finder.findMisspellings(kind, entry) {
			p := schema.Problem{Pointer: pointer + m.pointer, Warning: true}
			if m.code == codeUnknownField {
				p.Keyword = schema.UnknownKeyword // the problem is the key
			}
			found = append(found, p.WithMessage("%s", m.message).WithHint("%s", m.hint))
		}
	}
	presets, _ := params.Get("presets_in_chat")
	for i, v := range presets.List() {
		look(kindPreset, v.Map(), "/presets_in_chat/"+strconv.Itoa(i))
	}
	books, _ := params.Get("world_books")
	for _, e := range readBooks(books, "/world_books").entries {
		look(kindWorldBook, e.v.Map(), e.pointer)
	}
	return found
}

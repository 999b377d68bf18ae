package inchat

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/value"
)

// isLore reports whether an entry belongs to another program's lorebook: each entry of a foreign book, and in
// other books an entry with a field of these programs, such as keys. Entries with mode or condition are native.
func (e placedEntry) isLore() bool { return e.book != nil && e.book.foreign || isLore(e.v.Map()) }

// isLore is [placedEntry.isLore] of a candidate; a preset may count as such an entry, too.
func (c *candidate) isLore() bool { return c.book != nil && c.book.foreign || isLore(c.entry) }

func isLore(entry *value.Map) bool {
	for _, own := range []string{"mode", "condition"} {
		if _, ok := entry.Get(own); ok {
			return false
		}
	}
	// Native entries once had keys too, with mode beside them or empty.
	if keys, _ := entry.Get("keys"); !isEmpty(keys) {
		return true
	}
	return slices.ContainsFunc(loreMarkers, func(name string) bool {
		_, ok := entry.Get(name)
		return ok
	})
}

// isLoreOff reports whether an entry is turned off.
func isLoreOff(entry *value.Map) bool {
	enabled, _ := entry.Get("enabled")
	text, isText := enabled.Str()
	isOff := isFlag(enabled) && !isTrue(enabled)
	isUnset := isText && text == ""
	return isOff && !isUnset || isTrue(loreField(entry, "disable"))
}

// loreField returns a field of an entry, or of its extensions, by its name or its spelling with underscores; null
// if it has none.
func loreField(entry *value.Map, names ...string) value.Value {
	_, v := loreMember(entry, names...)
	return v
}

// loreMember is loreField with the JSON pointer into the entry.
func loreMember(entry *value.Map, names ...string) (pointer string, v value.Value) {
	extensions, _ := entry.Get("extensions")
	for _, level := range []struct {
		pointer string
		fields  *value.Map
	}{{"/", entry}, {"/extensions/", extensions.Map()}} {
		for _, name := range names {
			for _, spelling := range []string{name, snakeCase(name)} {
				if v, _ := level.fields.Get(spelling); !v.IsNull() {
					return level.pointer + spelling, v
				}
			}
		}
	}
	return "", value.Value{}
}

// lorePosition returns the position of an entry as text: its name or its number.
func lorePosition(entry *value.Map) string {
	_, position := lorePositionMember(entry)
	if position.IsNull() {
		return "0"
	}
	return placeText(position)
}

// lorePositionMember returns the position of an entry with the JSON pointer into it. Cards
// have a name, and the number of SillyTavern under extensions, which counts.
func lorePositionMember(entry *value.Map) (pointer string, v value.Value) {
	extensions, _ := entry.Get("extensions")
	if position, _ := extensions.Get("position"); !position.IsNull() {
		return "/extensions/position", position
	}
	v, _ = entry.Get("position")
	return "/position", v
}

// slots are the places outside of the chat, by the names and numbers that entries
// give them as position.
var slots = map[string]string{"before_char": "before_char", "after_char": "after_char", "0": "before_char", "1": "after_char"}

func placeText(position value.Value) string {
	return strings.ToLower(strings.TrimSpace(plainText(position)))
}

// texts returns a list of keys: a list, or a text with commas; blanks are dropped.
func texts(v value.Value) (keys []string) {
	items := v.List()
	if text, ok := v.Str(); ok {
		for item := range strings.SplitSeq(text, ",") {
			items = append(items, value.OfString(item))
		}
	}
	for _, item := range items {
		if item.IsNull() {
			continue
		}
		if key := strings.TrimSpace(plainText(item)); key != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

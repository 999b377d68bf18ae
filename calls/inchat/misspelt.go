package inchat

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// misspellingFinder looks at entries, one after the other.
type misspellingFinder struct {
	own, lore nearestField // for native entries, and for entries of other programs
}

// findMisspellings returns the fields and values that look misspelt in an entry.
func (f *misspellingFinder) findMisspellings(kind string, entry *value.Map, lore bool) (found []misspelling) {
	if !lore {
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

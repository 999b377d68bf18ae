package inchat

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// ownFields are the fields that change the prompt, or the name of an entry. A field with nearly the same name
// counts as misspelt.
var ownFields = []string{
	"identifier", "name", "position", "enabled", "role", "depth", "order", "mode", "condition", "content", "priority", "ignore_budget",
	"entries", "world_book",
}

// presetFields are fields of other programs' presets beside the ones in ownFields.
var presetFields = []string{
	"system_prompt", "marker", "injection_position", "injection_depth", "injection_order", "injection_trigger", "forbid_overrides",
}

// loreMarkers are fields that only lorebooks of other programs have.
var loreMarkers = []string{
	"uid", "key", "keysecondary", "selective", "selectiveLogic", "constant", "disable", "insertion_order", "secondary_keys",
	"useProbability", "use_regex", "vectorized", "extensions", "addMemo", "alwaysActive", "insertorder", "secondkey",
}

// loreFields are the fields that are evaluated, or that cannot change the prompt as
// long as keys are searched in the chat only and there are no groups.
var loreFields = []string{
	"uid", "id", "key", "keys", "keysecondary", "secondary_keys", "selective", "selectiveLogic", "constant", "disable", "enabled",
	"content", "comment", "name", "memo", "addMemo", "order", "insertion_order", "priority", "position", "depth", "role",
	"caseSensitive", "case_sensitive", "matchWholeWords", "scanDepth", "ignoreBudget", "ignore_budget", "excludeRecursion", "preventRecursion",
	"displayIndex", "automationId", "probability", "useProbability", "groupWeight", "groupOverride", "useGroupScoring", "outletName",
	"vectorized", "useRegex", "extensions", "alwaysActive", "insertorder", "secondkey", "activationPercent", "mode", "bookVersion", "loreCache", "hash", "world", "token_count", "characterFilterNames", "characterFilterTags", "characterFilterExclude",
}

// loreUnread are the fields of lorebooks that would change the prompt, and are not
// evaluated: an entry that sets one is left out. Cards have them, in either spelling,
// under extensions.
var loreUnread = []string{
	"group", "sticky", "cooldown", "delay", "delayUntilRecursion", "characterFilter", "triggers",
}

// loreWidening are the fields of lorebooks that can only add an entry which its keys do not
// find: an entry that they find is in all the same, and one that they do not find is left out as
// unread.
var loreWidening = []string{
	"matchPersonaDescription", "matchCharacterDescription", "matchCharacterPersonality", "matchCharacterDepthPrompt",
	"matchScenario", "matchCreatorNotes",
}

// knownFields are the fields that entries of chats and lorebooks are known to have. Entries may have others, which
// are passed on in the source of the message.
var knownFields = func() map[string]bool {
	known := map[string]bool{"wb_id": true}
	for _, name := range slices.Concat(ownFields, presetFields, loreFields, loreUnread, loreWidening, loreMarkers) {
		known[name] = true
		known[snakeCase(name)] = true
	}
	return known
}()

// snakeCase is scan_depth for scanDepth.
func snakeCase(name string) string {
	var b strings.Builder
	for _, r := range name {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// nearestField keeps, by field, the known name that it is nearly.
type nearestField map[string]string

// find returns the name that a field is nearly equal to, or "" if there is none.
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

// findMeant returns the name that a field of an entry was probably meant to be; "" if none is near, or the entry
// has that field too.
func (f *nearestField) findMeant(entry *value.Map, field string, names []string) string {
	near := f.find(field, names)
	if _, has := entry.Get(near); has {
		return ""
	}
	return near
}

// The codes of warnings about fields and values that look misspelt.
const (
	codeUnknownField = "unknown-field"
	codeUnknownValue = "unknown-value"
)

// misspelling is a field of an entry, or its value, that looks misspelt: the run goes on with
// a default, or without the entry.
type misspelling struct {
	code    string
	pointer string // JSON pointer into the entry
	message wording.Text
	hint    wording.Text
}

func didYouMean(name string) wording.Text { return wording.Say("did you mean %q?", name) }

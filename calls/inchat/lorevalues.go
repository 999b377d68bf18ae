package inchat

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls/inchat/macro"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// loreValue lists the values that fields of lorebooks allow. An entry with another one is left out: SillyTavern
// would read it as something that its author did not mean.
type loreValue struct {
	fields  [][]string // each with its other names
	isKnown func(value.Value) bool
	message string
	hint    string   // "" to list the known values
	known   []string // the names that a misspelt one may have been meant as
}

// loreValues are the fields that are evaluated. Null is the default of each.
var loreValues = []loreValue{
	{
		[][]string{{"constant"}, {"disable"}, {"enabled"}, {"selective"}, {"caseSensitive"}, {"matchWholeWords"}, {"useProbability"}, {"ignoreBudget"}},
		isFlag, "%s is %s, neither true nor false", "write true or false", []string{"true", "false"},
	},
	{
		[][]string{{"order", "insertion_order"}, {"depth"}, {"scanDepth"}, {"probability"}, {"priority"}},
		isLoreInt, "%s is %s, not an integer", "write an integer", nil,
	},
	{
		[][]string{{"selectiveLogic"}}, isLoreLogic, "%s is %s, not a number from 0 to 3",
		"0 is any of the secondary keys, 1 not all, 2 none, 3 all", nil,
	},
	{
		[][]string{{"position"}}, isLorePlace, "%s is %s, which is unknown",
		"", lorePlacesRead,
	},
	{
		[][]string{{"role"}}, isLoreRole, "%s is %s, which is unknown",
		"", loreRoles,
	},
	{
		[][]string{{"key", "keys"}, {"keysecondary", "secondary_keys"}}, isKeyList, "%s is %s, not a list of texts",
		"write [one, two]", nil,
	},
	{[][]string{{"content"}}, isTextOrEmpty, "%s is %s, not text", "put quotes around it", nil},
	{[][]string{{"extensions"}}, isObjectOrEmpty, "%s is %s, not an object", "write {}", nil},
}

// The positions that SillyTavern and character cards have, the ones that are read, and the roles of entries in the
// chat.
var (
	lorePlaces     = []string{"before_char", "after_char", "system", "user", "assistant", "0", "1", "2", "3", "4", "5", "6", "7"}
	lorePlacesRead = []string{"before_char", "after_char", "system", "user", "assistant", "0", "1", "4"}
	loreRoles      = []string{"system", "user", "assistant", "0", "1", "2"}
)

// wrongLoreValues finds the values of a lorebook's entry that its fields do not allow. The messages name the
// fault, not its effect.
func wrongLoreValues(entry *value.Map) (found []misspelling) {
	for _, kind := range loreValues {
		for _, names := range kind.fields {
			pointer, v := loreMember(entry, names...)
			if names[0] == "position" {
				pointer, v = lorePositionMember(entry)
			}
			if v.IsNull() || kind.isKnown(v) {
				continue
			}
			hint := wording.Of(kind.hint)
			if kind.hint == "" {
				hint = wording.Say("known are %s", strings.Join(kind.known, ", "))
			}
			if near := value.Nearest(strings.ToLower(plainText(v)), kind.known); near != "" {
				hint = didYouMean(near)
			}
			field := pointer[strings.LastIndexByte(pointer, '/')+1:]
			fact := wording.Say(kind.message, field, value.Truncate(v.JSON(), 80))
			found = append(found, misspelling{codeUnknownValue, pointer, fact, hint})
		}
	}
	return found
}

// isLoreInt accepts the empty text too, which is the default.
func isLoreInt(v value.Value) bool {
	_, ok := macro.Int(v)
	return ok && v.Kind() != value.Bool || v.JSON() == `""`
}

func isLoreLogic(v value.Value) bool {
	n, _ := macro.Int(v)
	return isLoreInt(v) && n >= andAny && n <= andAll
}

func isLorePlace(v value.Value) bool { return slices.Contains(lorePlaces, placeText(v)) }

func isLoreRole(v value.Value) bool {
	return slices.Contains(loreRoles, strings.ToLower(plainText(v))) || v.JSON() == `""`
}

// isKeyList reports whether a value is a list of keys, or a text with commas.
func isKeyList(v value.Value) bool {
	isKey := func(item value.Value) bool {
		return item.Kind() != value.List && item.Kind() != value.Object && item.Kind() != value.Bool
	}
	isOne := v.Kind() == value.String || v.Kind() == value.List
	return isOne && !slices.ContainsFunc(v.List(), func(item value.Value) bool { return !isKey(item) })
}

func isTextOrEmpty(v value.Value) bool { return v.Kind() == value.String }

// isObjectOrEmpty accepts the empty list too, which PHP writes for an empty object.
func isObjectOrEmpty(v value.Value) bool { return v.Kind() == value.Object || isEmpty(v) }

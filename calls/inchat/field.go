package inchat

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls/inchat/macro"
	"github.com/callnode/scheduler/llm/value"
)

// isEmpty reports whether Python takes a value as false: null, false, 0, "", [] and {}.
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

// intField returns an integer field; a missing or empty field gets the default.
func intField(entry *value.Map, field string, standard int64) (i int64, ok bool) {
	v, _ := entry.Get(field)
	if isEmpty(v) {
		return standard, true
	}
	return macro.Int(v)
}

func textField(entry *value.Map, field string) (string, bool) {
	v, _ := entry.Get(field)
	return v.Str()
}

// plainText returns the text of a value in a place for text: numbers as they are spelt, lists and objects as JSON,
// null as the word none.
func plainText(v value.Value) string {
	if s, ok := v.Str(); ok {
		return s
	}
	if v.IsNull() {
		return "none"
	}
	return v.JSON()
}

// isRole reports whether a message may have that role.
func isRole(role string) bool {
	switch role {
	case "system", "user", "assistant", "thinking":
		return true
	}
	return false
}

// isTrue reports whether a flag is set; null is not.
func isTrue(v value.Value) bool {
	text, isText := v.Str()
	if isText {
		return strings.EqualFold(text, "true") || text == "1"
	}
	return !isEmpty(v)
}

// isFlag reports whether a value is true or false, also as a number or as text, as books in
// the wild have it.
func isFlag(v value.Value) bool {
	switch v.Kind() {
	case value.Bool, value.Int, value.Float:
		return true
	case value.String:
		text, _ := v.Str()
		return slices.Contains([]string{"true", "false", "1", "0", ""}, strings.ToLower(text))
	case value.Null, value.List, value.Object:
	}
	return false
}

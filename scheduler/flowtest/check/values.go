package check

import (
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/linediff"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// textOf returns a value as matchers of text see it: strings as they are, an object with a text
// as that, anything else as JSON.
func textOf(v value.Value) string {
	if v.Kind() == value.Object {
		if text, ok := v.Get("text"); ok && text.Kind() == value.String {
			v = text
		}
	}
	switch v.Kind() {
	case value.String:
		return prompt.Text(v)
	case value.Null:
		return ""
	}
	return v.JSON()
}

// textMember returns a member that is a text; JSON of anything else, "" if it is missing.
func textMember(v value.Value, key string) string {
	m, _ := v.Get(key)
	return textOf(m)
}

// isTrue reports whether a member is true.
func isTrue(v value.Value, key string) bool {
	m, _ := v.Get(key)
	is, _ := m.Bool()
	return is
}

// quoteList writes names as a message lists them.
func quoteList(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = strconv.Quote(value.Truncate(name, maxShown))
	}
	return value.ListNames(quoted)
}

// maskTexts returns a value whose texts and keys are masked.
func maskTexts(v value.Value, mask func(text string) string) value.Value {
	switch v.Kind() {
	case value.String:
		text, _ := v.Str()
		return value.OfString(mask(text))
	case value.List:
		items := make([]value.Value, len(v.List()))
		for i, item := range v.List() {
			items[i] = maskTexts(item, mask)
		}
		return value.OfList(items...)
	case value.Object:
		m := value.NewMap(v.Map().Len())
		for key, member := range v.Map().All() {
			m.Set(mask(key), maskTexts(member, mask))
		}
		return value.OfMap(m)
	}
	return v
}

// diffValues shows the difference between the wanted and the actual value; "" for short values, which a message
// shows whole.
func diffValues(want, got value.Value) string {
	a, b := linesOf(want), linesOf(got)
	if len(a) < 2 && len(b) < 2 {
		return ""
	}
	return linediff.Show(a, b)
}

// linesOf returns a text, or a value as YAML, as lines.
func linesOf(v value.Value) []string {
	text, ok := v.Str()
	if !ok {
		text = string(yaml.Append(nil, v))
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// parsedOrText returns JSON as a value; a text if it is not JSON.
func parsedOrText(raw []byte) value.Value {
	v, err := value.ParseJSON(raw)
	if err != nil {
		return value.OfString(string(raw))
	}
	return v
}

// hasTextLike reports whether isOne is true for one of the texts in a value, keys aside.
func hasTextLike(v value.Value, isOne func(text string) bool) bool {
	if text, isText := v.Str(); isText && isOne(text) {
		return true
	}
	if slices.ContainsFunc(v.List(), func(item value.Value) bool { return hasTextLike(item, isOne) }) {
		return true
	}
	for _, member := range v.Map().All() {
		if hasTextLike(member, isOne) {
			return true
		}
	}
	return false
}

// member is a member of a mapping.
type member struct {
	name       string
	key, value *yaml.Node
}

// membersOf lists the members of a mapping.
func membersOf(n *yaml.Node) (list []member) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		list = append(list, member{yaml.Resolve(n.Content[i]).Value, n.Content[i], n.Content[i+1]})
	}
	return list
}

// byName returns members by their names.
func byName(list []member) map[string]member {
	all := map[string]member{}
	for _, m := range list {
		all[m.name] = m
	}
	return all
}

package promptfoo

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// membersOf returns the values of a mapping by their keys; of nothing else it has none.
func membersOf(n *yaml.Node) map[string]*yaml.Node {
	keys := map[string]*yaml.Node{}
	if n == nil {
		return keys
	}
	n = yaml.Resolve(n)
	if n.Kind != yaml.Mapping {
		return keys
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value != "<<" {
			keys[n.Content[i].Value] = n.Content[i+1]
			continue
		}
		for key, member := range membersOf(n.Content[i+1]) { // its own members count
			if keys[key] == nil {
				keys[key] = member
			}
		}
	}
	return keys
}

// itemsOf returns the items of a list; of anything else, that alone.
func itemsOf(n *yaml.Node) []*yaml.Node {
	if n == nil {
		return nil
	}
	if at := yaml.Resolve(n); at.Kind == yaml.Sequence {
		return at.Content
	}
	return []*yaml.Node{n}
}

// textOf returns a node that is a text, or a number or truth value as a text.
func textOf(n *yaml.Node) (text string, ok bool) {
	if n == nil {
		return "", false
	}
	at := yaml.Resolve(n)
	if at.Kind != yaml.Scalar || at.ShortTag() == "!!null" {
		return "", false
	}
	return at.Value, true
}

// valueOf returns the value of a node; null if it has none.
func valueOf(n *yaml.Node) value.Value {
	if n == nil {
		return value.Value{}
	}
	v, err := yaml.Value(n)
	if err != nil {
		return value.Value{}
	}
	return v
}

func stringMember(v value.Value, key string) (text string, ok bool) {
	member, ok := v.Get(key)
	if !ok {
		return "", false
	}
	return member.Str()
}

// scriptText returns a scalar as a text like JavaScript does: 1.0 is 1 there, and 1e3 is 1000.
func scriptText(v value.Value) string {
	number, isNumber := v.Float()
	if !isNumber {
		return v.PlainText()
	}
	size := math.Abs(number)
	if isPlain := size < 1e21 && size >= 1e-6 || size == 0; isPlain {
		return strconv.FormatFloat(number+0, 'f', -1, 64)
	}
	digits, exponent, _ := strings.Cut(strconv.FormatFloat(number, 'e', -1, 64), "e")
	sign := exponent[:1]
	return digits + "e" + sign + strings.TrimLeft(exponent[1:], "0")
}

// quoteText writes a text as a literal of templates; a brace in it does not end the template.
func quoteText(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`, "\t", `\t`, "\r", `\r`, "{", `\x7b`, "}", `\x7d`).Replace(text) + "'"
}

// inputName returns the name of an input for a variable, which may have other letters.
func inputName(key string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, key)
}

// methodNames are the methods of maps: behind a dot they are not members.
func methodNames() []string { return []string{"items", "keys", "values", "get"} }

// inputReference returns an input as templates name it.
func inputReference(name string) string {
	if slices.Contains(methodNames(), name) {
		return "inputs['" + name + "']"
	}
	return "inputs." + name
}

var notName = regexp.MustCompile(`[^a-z0-9]+`)

// slug returns a text as a valid name of a flow or provider; "" if nothing of it is left.
func slug(text string) string {
	return strings.Trim(notName.ReplaceAllString(strings.ToLower(text), "-"), "-")
}

// Package yaml is the door to the YAML library: one document at a time, bounded,
// with the place of every node, and turned into values with the order of keys and
// the spelling of numbers kept. For example, the number 1.50 stays 1.50, and an error names its line and column.
package yaml

import (
	"bytes"
	"errors"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Limits for reading, so that no text can exhaust the program.
const (
	MaxBytes = 8 << 20
	maxDepth = 200
	maxNodes = 1_000_000
)

// Limits bound a text: its bytes, and its nodes, counting the nodes to which aliases refer.
type Limits struct{ Bytes, Nodes int }

// Parse reads exactly one document, YAML or JSON (in which comments are allowed), and returns
// its root node; nil for an empty text. A second document, nesting that is too deep and aliases that unfold to
// too much are errors. All errors are of type *[Error].
func Parse(src []byte) (*Node, error) { return ParseWithin(src, Limits{MaxBytes, maxNodes}) }

// ParseWithin is [Parse] with other limits.
func ParseWithin(src []byte, limits Limits) (*Node, error) {
	if len(src) > limits.Bytes {
		return nil, newError(1, 1, wording.Say("the text has %d bytes, more than %d", len(src), limits.Bytes))
	}
	if wrong := value.FindEncodingError(src); wrong != nil {
		message, hint := wrong.Text()
		return nil, newError(wrong.Line, wrong.Col, message).withHint(hint)
	}
	root, err := parseAny(value.WithoutMark(src))
	if root == nil || err != nil {
		return nil, err
	}
	budget := limits.Nodes
	if err := checkSize(root, 0, &budget); err != nil {
		if budget < 0 {
			return nil, newError(err.Line, err.Col, wording.Say("more than %d nodes, counting those that aliases stand for", limits.Nodes))
		}
		return nil, err
	}
	if bytes.Contains(src, []byte("<<")) {
		err = expandMerges(root, map[*Node]bool{})
	}
	if err != nil {
		return nil, err
	}
	return root, nil
}

// parseAny reads JSON by the grammar of JSON, comments allowed, and anything else as YAML.
func parseAny(src []byte) (*Node, error) {
	likely, sure := beginsLikeJSON(src)
	if !likely {
		return parseDiagnosed(src)
	}
	root, jsonErr := readJSON(src)
	if jsonErr == nil {
		return root, nil
	}
	root, err := parseDiagnosed(src)
	if err != nil && sure {
		return nil, jsonErr
	}
	return root, err
}

// parseDiagnosed is parseYAML with better errors. Programs put JSON into YAML, for example in the front
// matter of skills, with characters as pairs of escapes, which YAML does not know.
func parseDiagnosed(src []byte) (*Node, error) {
	root, err := parseYAML(src)
	if isSyntaxError(err) && escapedPair().Match(src) {
		if again, err := parseYAML(joinEscapedPairs(src)); err == nil {
			return again, nil
		}
	}
	var wrong *Error
	if errors.As(err, &wrong) && isSyntaxError(err) {
		return nil, diagnoseSyntax(src, wrong)
	}
	return root, err
}

// escapedPair matches a character as JSON may write it: two escapes.
var escapedPair = value.CompileLater(`\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}`)

// joinEscapedPairs writes characters of two escapes as one. The rest of the line moves to the left.
func joinEscapedPairs(src []byte) []byte {
	return escapedPair().ReplaceAllFunc(src, func(pair []byte) []byte {
		parsed, err := value.ParseJSON(slices.Concat([]byte(`"`), pair, []byte(`"`)))
		if err != nil {
			return pair
		}
		text, _ := parsed.Str()
		return []byte(text)
	})
}

// checkSize subtracts the nodes from the budget, which is below 0 afterwards if there are too many.
func checkSize(n *Node, depth int, budget *int) *Error {
	*budget--
	if *budget < 0 {
		return &Error{Line: n.Line, Col: n.Column}
	}
	if depth > maxDepth {
		return newError(n.Line, n.Column, wording.Say("nested deeper than %d", maxDepth))
	}
	if n.Kind == Alias {
		return checkSize(n.Alias, depth+1, budget)
	}
	for _, c := range n.Content {
		if err := checkSize(c, depth+1, budget); err != nil {
			return err
		}
	}
	return nil
}

// Value turns a node into a value. Mappings keep their order; a duplicate key, a key
// that is not a scalar and a custom tag are errors of
// type *[Error]. A plain number with a leading zero is text: 010020 is a post code,
// and no octal number.
func Value(n *Node) (value.Value, error) {
	n = Resolve(n)
	switch n.Kind {
	case Sequence:
		if n.ShortTag() != "!!seq" {
			return value.Value{}, unknownTag(n)
		}
		items := make([]value.Value, len(n.Content))
		for i, c := range n.Content {
			item, err := Value(c)
			if err != nil {
				return value.Value{}, err
			}
			items[i] = item
		}
		return value.OfList(items...), nil
	case Mapping:
		if n.ShortTag() != "!!map" {
			return value.Value{}, unknownTag(n)
		}
		m := value.NewMap(len(n.Content) / 2)
		for i := 0; i < len(n.Content); i += 2 {
			key := Resolve(n.Content[i])
			if key.Kind != Scalar {
				return value.Value{}, newError(key.Line, key.Column, wording.Say("a key must be plain text"))
			}
			if _, ok := m.Get(key.Value); ok {
				first := firstKey(n, key.Value)
				return value.Value{}, newError(key.Line, key.Column, wording.Say("duplicate key %q (first at %d:%d)", key.Value, first.Line, first.Column))
			}
			member, err := Value(n.Content[i+1])
			if err != nil {
				return value.Value{}, err
			}
			m.Set(key.Value, member)
		}
		return value.OfMap(m), nil
	}
	return scalarValue(n)
}

// firstKey returns the first key of that text in a mapping that has it.
func firstKey(n *Node, text string) *Node {
	for i := 0; i < len(n.Content); i += 2 {
		if key := Resolve(n.Content[i]); key.Value == text {
			return key
		}
	}
	return n
}

func unknownTag(n *Node) *Error {
	return newError(n.Line, n.Column, wording.Say("unknown tag %s", n.ShortTag()))
}

var leadingZero = regexp.MustCompile(`^[-+]?0[0-9_]`)

func scalarValue(n *Node) (value.Value, error) {
	tag := n.ShortTag()
	if n.Style&yaml.TaggedStyle == 0 && leadingZero.MatchString(n.Value) {
		tag = "!!str"
	}
	switch tag {
	case "!!null":
		isNull := n.Value == "" || n.Value == "~" || strings.EqualFold(n.Value, "null")
		if isNull || n.Style&yaml.TaggedStyle == 0 {
			return value.Value{}, nil
		}
	case "!!bool":
		var b bool
		if err := n.Decode(&b); err == nil {
			return value.OfBool(b), nil
		}
	case "!!int":
		if v, err := value.OfNumber(n.Value); err == nil {
			return v, nil
		}
		if i, ok := new(big.Int).SetString(strings.ReplaceAll(n.Value, "_", ""), 0); ok {
			return value.OfBig(i), nil
		}
	case "!!float":
		if v, err := value.OfNumber(n.Value); err == nil {
			return v, nil
		}
		var f float64
		if err := n.Decode(&f); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
			return value.OfFloat(f), nil
		}
	case "!!str", "!!timestamp", "!!binary", "!!merge":
		return value.OfString(n.Value), nil
	default:
		return value.Value{}, unknownTag(n)
	}
	return value.Value{}, newError(n.Line, n.Column, wording.Say("%q cannot be written as JSON (%s)", n.Value, tag))
}

// ParseValue reads one document as a value; null for an empty text.
func ParseValue(src []byte) (value.Value, error) {
	return ParseValueWithin(src, Limits{MaxBytes, maxNodes})
}

// ParseValueWithin is [ParseValue] with other limits.
func ParseValueWithin(src []byte, limits Limits) (value.Value, error) {
	n, err := ParseWithin(src, limits)
	if err != nil || n == nil {
		return value.Value{}, err
	}
	return Value(n)
}

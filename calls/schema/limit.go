package schema

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/callnode/scheduler/llm/value"
)

// Limits of schemas and values that strangers give. The library compiles and
// validates without a deadline, and some numbers make it panic, so what could
// keep it busy for long is refused before.
const (
	maxBytes = 256 << 10
	maxDepth = 64
	// A check may look at baseBudget + nodeBudget x (values in the instance)
	// members: plain schemas take one per value.
	baseBudget = 1_000_000
	nodeBudget = 50
	// maxInstanceDepth bounds the nesting of a value.
	maxInstanceDepth = 1000
	// Numbers with more digits, or an exponent beyond, are refused: the library
	// writes every digit out.
	maxDigits   = 1000
	maxExponent = 400
	// maxCount bounds minLength and its like, which the library keeps as an int.
	maxCount = 1 << 53
)

// bound refuses a schema that is no object, too big, or has wild numbers.
func bound(doc value.Value) error {
	if k := doc.Kind(); k != value.Object && k != value.Bool {
		return fmt.Errorf("not a JSON Schema: want an object, got %s", k)
	}
	if d := depth(doc); d > maxDepth {
		return fmt.Errorf("the schema is nested %d deep, more than %d", d, maxDepth)
	}
	if n := len(doc.AppendJSON(nil)); n > maxBytes {
		return fmt.Errorf("the schema has %d bytes, more than %d", n, maxBytes)
	}
	if _, _, p := plain(doc); p != nil {
		return fmt.Errorf("not a JSON Schema: %w", *p)
	}
	return nil
}

func depth(v value.Value) int {
	deepest := 0
	for _, item := range v.List() {
		deepest = max(deepest, depth(item))
	}
	for _, member := range v.Map().All() {
		deepest = max(deepest, depth(member))
	}
	if v.Kind() == value.List || v.Kind() == value.Object {
		deepest++
	}
	return deepest
}

// plain makes of v what the library takes, and counts the values in it. It
// refuses what the library would take very long, or panic, to look at.
func plain(v value.Value) (x any, nodes int, p *Problem) {
	c := converter{}
	x, p = c.convert(v, 0)
	return x, c.nodes, p
}

type converter struct{ nodes int }

func (c *converter) convert(v value.Value, depth int) (any, *Problem) {
	c.nodes++
	if depth > maxInstanceDepth {
		return nil, &Problem{Message: fmt.Sprintf("nested deeper than %d", maxInstanceDepth)}
	}
	switch v.Kind() {
	case value.List:
		items := make([]any, len(v.List()))
		for i, item := range v.List() {
			x, p := c.convert(item, depth+1)
			if p != nil {
				p.Pointer = "/" + strconv.Itoa(i) + p.Pointer
				return nil, p
			}
			items[i] = x
		}
		return items, nil
	case value.Object:
		members := make(map[string]any, v.Map().Len())
		for k, member := range v.Map().All() {
			x, p := c.convert(member, depth+1)
			if p != nil {
				p.Pointer = "/" + value.Escape(k) + p.Pointer
				return nil, p
			}
			members[k] = x
		}
		return members, nil
	case value.Int, value.Float:
		if i, ok := v.Int(); ok {
			return i, nil
		}
		if text := v.JSON(); wild(text) {
			return nil, &Problem{Keyword: "type", Message: "the number " + clip(text) + " is out of range"}
		}
	}
	return v.Any(), nil
}

func wild(number string) bool {
	if len(number) > maxDigits {
		return true
	}
	i := strings.IndexAny(number, "eE")
	if i < 0 {
		return false
	}
	exponent, err := strconv.Atoi(number[i+1:])
	return err != nil || exponent < -maxExponent || exponent > maxExponent
}

// affordable says whether checking v, a value of that many nodes, stays within
// the budget. It goes the ways that the library would go at the most, without
// comparing anything: unions that multiply, by themselves or with every level of
// a recursive value, run out of budget instead of time.
func (s *Schema) affordable(v value.Value, nodes int) bool {
	m := meter{left: baseBudget + nodeBudget*nodes}
	return m.visit(s.compiled, v, 0)
}

type meter struct{ left int }

func (m *meter) visit(s *jsonschema.Schema, v value.Value, frames int) bool {
	// The library spells out the way from the top for every error, a frame at a
	// time: what is deep costs its square.
	m.left -= 1 + len(v.List()) + v.Map().Len() + len(s.Enum) + frames*frames/256
	if m.left < 0 {
		return false
	}
	for _, sub := range inPlace(s) {
		if !m.visit(sub, v, frames+1) {
			return false
		}
	}
	below := func(sub any, v value.Value) bool {
		one, ok := sub.(*jsonschema.Schema)
		return !ok || one == nil || m.visit(one, v, frames+1)
	}
	for k, member := range v.Map().All() {
		if !m.member(s, k, member, below) {
			return false
		}
	}
	tuple := s.PrefixItems
	if items, ok := s.Items.([]*jsonschema.Schema); ok {
		tuple = items
	}
	for i, item := range v.List() {
		if i < len(tuple) && !below(tuple[i], item) ||
			!below(s.Items, item) || !below(s.Items2020, item) || !below(s.AdditionalItems, item) ||
			!below(s.Contains, item) || !below(s.UnevaluatedItems, item) {
			return false
		}
	}
	return true
}

func (m *meter) member(s *jsonschema.Schema, name string, v value.Value, below func(any, value.Value) bool) bool {
	property, known := s.Properties[name]
	if known && !below(property, v) {
		return false
	}
	for pattern, sub := range s.PatternProperties {
		if m.left--; m.left < 0 {
			return false
		}
		if pattern.MatchString(name) && !below(sub, v) {
			return false
		}
	}
	return below(s.PropertyNames, value.OfString(name)) &&
		(known || below(s.AdditionalProperties, v) && below(s.UnevaluatedProperties, v))
}

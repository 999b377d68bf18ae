// Package schema is the only door to the JSON Schema library: schemas are
// inferred from Go types ([MustFor]) or given by users ([Parse]), and values are
// checked against them with errors that people can read.
//
// The dialect is draft 7. Nothing is ever loaded from a file or a network.
package schema

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/callnode/scheduler/llm/value"
)

// Limits of schemas that strangers give: the library compiles and validates
// without a deadline, so what could take it long is refused before.
const (
	maxBytes = 256 << 10
	maxDepth = 64
	// maxCost bounds how many subschemas one place of an instance may be checked
	// against: unions of references multiply.
	maxCost = 10_000
)

// Schema is a JSON Schema, compiled when it is first used. It is safe for
// concurrent use.
type Schema struct {
	doc      value.Value
	once     sync.Once
	compiled *jsonschema.Schema
	err      error
}

// Parse takes a schema that a user wrote. The error says what is wrong with it.
func Parse(doc value.Value) (*Schema, error) {
	s := &Schema{doc: doc}
	if err := bound(doc); err != nil {
		return nil, err
	}
	if s.compile(); s.err != nil {
		return nil, s.err
	}
	return s, nil
}

// Doc is the schema as JSON.
func (s *Schema) Doc() value.Value { return s.doc }

const location = "mem:///schema.json"

func (s *Schema) compile() {
	s.once.Do(func() {
		c := jsonschema.NewCompiler()
		c.Draft = jsonschema.Draft7
		c.LoadURL = func(ref string) (io.ReadCloser, error) {
			return nil, fmt.Errorf("%s: a schema loads nothing from outside", ref)
		}
		if s.err = c.AddResource(location, bytes.NewReader(s.doc.AppendJSON(nil))); s.err == nil {
			s.compiled, s.err = c.Compile(location)
		}
		if s.err != nil {
			s.err = errors.New(explain(s.err))
		}
	})
}

// explain turns a compile error into a sentence without the library's URLs.
func explain(err error) string {
	var invalid *jsonschema.ValidationError
	if errors.As(err, &invalid) {
		lines := []string{}
		for _, leaf := range leaves(invalid) {
			lines = append(lines, fmt.Sprintf("%q: %s", pointer(leaf.InstanceLocation), leaf.Message))
		}
		slices.Sort(lines)
		return "not a JSON Schema (draft 7): " + strings.Join(slices.Compact(lines), "; ")
	}
	text := strings.ReplaceAll(err.Error(), location, "")
	text = strings.TrimPrefix(text, "jsonschema: invalid jsonschema : ")
	return "not a JSON Schema (draft 7): " + strings.TrimPrefix(text, "jsonschema ")
}

func leaves(e *jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(e.Causes) == 0 {
		return []*jsonschema.ValidationError{e}
	}
	var all []*jsonschema.ValidationError
	for _, c := range e.Causes {
		all = append(all, leaves(c)...)
	}
	return all
}

// bound refuses schemas that could keep the library busy for too long.
func bound(doc value.Value) error {
	if k := doc.Kind(); k != value.Object && k != value.Bool {
		return fmt.Errorf("not a JSON Schema: want an object, got %s", k)
	}
	if n := len(doc.AppendJSON(nil)); n > maxBytes {
		return fmt.Errorf("the schema has %d bytes, more than %d", n, maxBytes)
	}
	if d := depth(doc); d > maxDepth {
		return fmt.Errorf("the schema is nested %d deep, more than %d", d, maxDepth)
	}
	c := costs{doc: doc, seen: map[string]int{}}
	var err error
	c.walk(doc, func(s value.Value) {
		if err == nil && c.of(s, 0) > maxCost {
			err = fmt.Errorf("the schema's unions multiply to more than %d checks of one value", maxCost)
		}
	})
	return err
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

// costs counts how many subschemas are applied to one value, through references
// and unions.
type costs struct {
	doc  value.Value
	seen map[string]int // by $ref; -1 while being counted
}

func (c *costs) walk(s value.Value, visit func(value.Value)) {
	if s.Kind() == value.Object {
		visit(s)
	}
	for _, item := range s.List() {
		c.walk(item, visit)
	}
	for _, member := range s.Map().All() {
		c.walk(member, visit)
	}
}

func (c *costs) of(s value.Value, level int) int {
	if s.Kind() != value.Object || level > maxDepth {
		return 1
	}
	total := 1
	if ref, ok := s.Get("$ref"); ok {
		name, _ := ref.Str()
		if n, counted := c.seen[name]; counted {
			return total + max(n, 0)
		}
		c.seen[name] = -1
		target, _ := c.doc.At(strings.TrimPrefix(name, "#"))
		c.seen[name] = c.of(target, level+1)
		return min(total+c.seen[name], maxCost+1)
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		branches, _ := s.Get(key)
		for _, b := range branches.List() {
			total += c.of(b, level+1)
		}
	}
	for _, key := range []string{"not", "if", "then", "else"} {
		if b, ok := s.Get(key); ok {
			total += c.of(b, level+1)
		}
	}
	return min(total, maxCost+1)
}

// ApplyDefaults gives v with the defaults of missing properties filled in, at
// every level that v has. v itself is not changed.
func (s *Schema) ApplyDefaults(v value.Value) value.Value { return withDefaults(s.doc, v) }

func withDefaults(schema, v value.Value) value.Value {
	switch v.Kind() {
	case value.Object:
		properties, _ := schema.Get("properties")
		var changed *value.Map
		set := func(k string, x value.Value) {
			if changed == nil {
				changed = v.Map().Clone()
			}
			changed.Set(k, x)
		}
		for name, property := range properties.Map().All() {
			member, ok := v.Get(name)
			if !ok {
				if def, has := property.Get("default"); has {
					set(name, def)
				}
				continue
			}
			if filled := withDefaults(property, member); !same(filled, member) {
				set(name, filled)
			}
		}
		if changed != nil {
			return value.OfMap(changed)
		}
	case value.List:
		items, ok := schema.Get("items")
		if !ok || items.Kind() != value.Object {
			return v
		}
		var changed []value.Value
		for i, item := range v.List() {
			if filled := withDefaults(items, item); !same(filled, item) {
				if changed == nil {
					changed = slices.Clone(v.List())
				}
				changed[i] = filled
			}
		}
		if changed != nil {
			return value.OfList(changed...)
		}
	}
	return v
}

// same says whether withDefaults gave back what it got.
func same(a, b value.Value) bool {
	if a.Map() != nil || b.Map() != nil {
		return a.Map() == b.Map()
	}
	la, lb := a.List(), b.List()
	return len(la) == len(lb) && (len(la) == 0 || &la[0] == &lb[0])
}

// Lookup follows a path of property names and list indexes through the schema.
// known is false where the schema is closed and has no such name; names are then
// those that it has, sorted, and at is the index of the unknown part of path.
// Where the schema is open or a union nothing can be said: known is true.
func (s *Schema) Lookup(path []string) (known bool, at int, names []string) {
	at = -1
	schema := s.doc
	for i, part := range path {
		if schema.Kind() != value.Object {
			return true, at, nil
		}
		for _, open := range []string{"$ref", "anyOf", "oneOf", "allOf", "patternProperties", "if"} {
			if _, ok := schema.Get(open); ok {
				return true, at, nil
			}
		}
		kind, _ := schema.Get("type")
		switch name, _ := kind.Str(); name {
		case "object":
			properties, _ := schema.Get("properties")
			next, ok := properties.Get(part)
			if !ok {
				rest, has := schema.Get("additionalProperties")
				closed, isBool := rest.Bool()
				if has && isBool && !closed {
					return false, i, slices.Sorted(maps.Keys(maps.Collect(properties.Map().All())))
				}
				next = rest
			}
			schema = next
		case "array":
			schema, _ = schema.Get("items")
		case "string", "number", "integer", "boolean", "null":
			return false, i, nil
		default:
			return true, at, nil
		}
	}
	return true, at, nil
}

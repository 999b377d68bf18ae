package processor

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// placeOfFault returns the place at which an answer can correct a fault: an unknown property is the fault of the
// object that has it.
func placeOfFault(f schema.Fault) string {
	if f.Keyword == "additionalProperties" {
		return f.Pointer[:strings.LastIndexByte(f.Pointer, '/')]
	}
	return f.Pointer
}

// Bounds of a flat schema. Faults beyond them are listed when the first are corrected.
const (
	maxPlaces = 1000
	maxBytes  = 1 << 20
)

// flatSchema returns the flat schema of the faults.
func (p *Processor) flatSchema(faults []schema.Fault) value.Value {
	if len(faults) == 0 {
		return value.OfMap(nil)
	}
	wanted := map[string][]value.Value{}
	var pointers []string
	for _, f := range faults {
		place := placeOfFault(f)
		subs, seen := wanted[place]
		if !seen {
			pointers = append(pointers, place)
		}
		want := wantedSchema(f)
		if !slices.ContainsFunc(subs, func(sub value.Value) bool { return value.Equal(sub, want) }) {
			wanted[place] = append(subs, want)
		}
	}
	p.sortPointers(pointers)

	carry := carrier{root: p.doc, definitions: value.NewMap(0)}
	properties, required, size := value.NewMap(0), []value.Value{}, 0
	for _, pointer := range pointers {
		isFull := len(required) == maxPlaces || size > maxBytes
		if len(required) > 0 && isFull {
			break
		}
		sub := wanted[pointer][0]
		if all := wanted[pointer]; len(all) > 1 {
			sub = value.OfMap(value.Pairs("allOf", all))
		}
		sub = carry.rewriteRefs(asObject(sub))
		size += len(sub.AppendJSON(nil))
		properties.Set(pointer, sub)
		required = append(required, value.OfString(pointer))
	}
	flat := value.NewMap(4)
	if dialect, ok := p.doc.Get("$schema"); ok && !strings.Contains(dialect.JSON(), "draft-07") {
		flat.Set("$schema", dialect) // the pieces are written in its dialect
	}
	for _, key := range carry.keys {
		member, _ := p.doc.Get(key)
		flat.Set(key, member)
	}
	flat.Set("type", value.OfString("object"))
	flat.Set("properties", value.OfMap(properties))
	flat.Set("required", value.OfList(required...))
	for key, member := range carry.definitions.All() {
		flat.Set(key, member)
	}
	return value.OfMap(flat)
}

// wantedSchema returns the schema for the value at the place of a fault. The schema of names is not a schema of
// the object that has them; a pattern or a length, which objects ignore, may be used as it is.
func wantedSchema(f schema.Fault) value.Value {
	if f.Keyword != "propertyNames" {
		return f.Schema
	}
	ofTexts := f.Schema.Kind() == value.Object
	for _, keyword := range f.Schema.Map().Keys() {
		ofTexts = ofTexts && slices.Contains([]string{"pattern", "minLength", "maxLength"}, keyword)
	}
	if ofTexts {
		return f.Schema
	}
	return value.OfMap(value.Pairs("propertyNames", f.Schema))
}

// asObject returns a schema as an object: true and false are written out.
func asObject(sub value.Value) value.Value {
	if yes, isBool := sub.Bool(); isBool {
		if yes {
			return value.OfMap(nil)
		}
		return value.OfMap(value.Pairs("not", value.NewMap(0)))
	}
	return sub
}

// sortPointers puts pointers in the order in which the schema names the places.
func (p *Processor) sortPointers(pointers []string) {
	ranks := make(map[string][]int, len(pointers))
	for _, pointer := range pointers {
		ranks[pointer] = p.pointerRank(pointer)
	}
	slices.SortFunc(pointers, func(a, b string) int {
		if c := slices.Compare(ranks[a], ranks[b]); c != 0 {
			return c
		}
		return strings.Compare(a, b)
	})
}

// pointerRank returns the position of every token among the properties of its object.
func (p *Processor) pointerRank(pointer string) (rank []int) {
	at := ""
	for i := 1; i <= len(pointer); {
		end := len(pointer)
		if n := strings.IndexByte(pointer[i:], '/'); n >= 0 {
			end = i + n
		}
		token, position := pointer[i:end], 1<<30
		if index, err := strconv.Atoi(token); err == nil {
			position = index
		}
		seen := 0
		for _, sub := range p.schema.Describe(at).All {
			properties, _ := sub.Get("properties")
			if n := slices.IndexFunc(properties.Map().Keys(), func(k string) bool { return value.Escape(k) == token }); n >= 0 {
				position = seen + n
				break
			}
			seen += properties.Map().Len()
		}
		rank = append(rank, position)
		at, i = pointer[:end], end+1
	}
	return rank
}

// carrier copies the targets of references in pieces of a schema.
type carrier struct {
	root        value.Value
	definitions *value.Map // definitions and $defs of the flat schema
	keys        []string   // further keywords of the root that references need
}

// rewriteRefs returns a piece of the source with its references pointing to the copies of their targets.
func (c *carrier) rewriteRefs(piece value.Value) value.Value {
	return schema.Rewrite(piece, func(m *value.Map) {
		ref, _ := m.Get("$ref")
		if text, ok := ref.Str(); ok {
			m.Set("$ref", value.OfString(c.carryTarget(text)))
		}
	})
}

// carryTarget makes sure that the target of a reference is carried, and returns the
// reference to it.
func (c *carrier) carryTarget(ref string) string {
	pointer, err := url.PathUnescape(strings.TrimPrefix(ref, "#"))
	target, ok := c.root.At(pointer)
	if !strings.HasPrefix(ref, "#") || err != nil || !ok {
		c.carryAll()
		return ref
	}
	keyword, name := "definitions", ""
	tokens, _ := parsePointer(pointer)
	if len(tokens) == 2 && slices.Contains([]string{"definitions", "$defs"}, tokens[0]) {
		keyword, name = tokens[0], tokens[1]
	} else {
		name = "root" + strings.NewReplacer("/", ".", "~", "-", "%", "-").Replace(pointer)
	}
	if !c.hasDefinition(keyword, name) {
		c.setDefinition(keyword, name, value.OfBool(true)) // recursion ends here
		if pointer == "" {
			target = rootOnly(target)
		}
		c.setDefinition(keyword, name, c.rewriteRefs(target))
	}
	return "#/" + keyword + "/" + url.PathEscape(value.Escape(name))
}

// rootOnly returns the root schema without the definitions carried beside it.
func rootOnly(root value.Value) value.Value {
	m := root.Map().Clone()
	for _, key := range []string{"definitions", "$defs", "$schema", "$id"} {
		m.Delete(key)
	}
	return value.OfMap(m)
}

// carryAll carries all definitions and the base of their addresses, for a reference
// that is not a plain pointer.
func (c *carrier) carryAll() {
	for _, keyword := range []string{"definitions", "$defs"} {
		all, _ := c.root.Get(keyword)
		for name, target := range all.Map().All() {
			if !c.hasDefinition(keyword, name) {
				c.setDefinition(keyword, name, target)
			}
		}
	}
	if _, ok := c.root.Get("$id"); ok && !slices.Contains(c.keys, "$id") {
		c.keys = append(c.keys, "$id")
	}
}

func (c *carrier) hasDefinition(keyword, name string) bool {
	all, _ := c.definitions.Get(keyword)
	_, ok := all.Get(name)
	return ok
}

func (c *carrier) setDefinition(keyword, name string, target value.Value) {
	all, ok := c.definitions.Get(keyword)
	if !ok {
		all = value.OfMap(nil)
		c.definitions.Set(keyword, all)
	}
	all.Map().Set(name, target)
}

// Check returns the flat schema of the values that are missing or wrong in the data. Formats are hints, as draft 7
// has them. It is an empty object if the data is valid. Properties have the order of the source schema.
func (p *Processor) Check(data value.Value) value.Value {
	return p.flatSchema(p.schema.Faults(data))
}

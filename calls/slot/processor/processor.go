// Package processor checks data against a JSON Schema: it finds what is missing,
// merges answers by JSON pointer, and describes the schema to people and models. It
// does not use models itself.
//
// What is missing is itself a schema, flat: an object whose properties are named
// by RFC 6901 pointers into the data ("" is the whole data), each with the schema
// of that place.
package processor

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// Processor is a schema that data can be filled against. [New] creates it, the call
// slot once per step. It is immutable and safe
// for concurrent use.
type Processor struct {
	schema *schema.Schema
	// strictSchema returns the schema with the formats as checks, compiled when it is first used.
	strictSchema func() (*schema.Schema, error)
	doc          value.Value
	formats      []Format
	// hasFormats is set when the schema uses one of the formats, hasOwnTypes when it uses one
	// as a type.
	hasFormats, hasOwnTypes bool
	// language is that of reasons, "" for English.
	language string
}

// In returns the processor with reasons in a language: Chinese for zh and its
// regions, else English.
func (p *Processor) In(language string) *Processor {
	copied := *p
	copied.language = language
	return &copied
}

// New compiles a schema, draft 7. Beside the types of JSON Schema it may use those
// of formats as a type; without formats, those of [Formats] count. The error is
// what is wrong with the schema.
func New(doc value.Value, formats ...Format) (*Processor, error) {
	if len(formats) == 0 {
		formats = Formats()
	}
	p := &Processor{formats: formats}
	p.doc = p.expandFormats(doc)
	p.strictSchema = sync.OnceValues(p.parseStrict)
	var err error
	p.schema, err = schema.Parse(p.doc)
	return p, err
}

// ExpandFormats returns a schema with the types that are formats spelt out, as [New] reads it.
func ExpandFormats(doc value.Value, formats []Format) value.Value {
	p := &Processor{formats: formats}
	return p.expandFormats(doc)
}

// expandFormats returns the schema with the types that are formats spelt out.
func (p *Processor) expandFormats(doc value.Value) value.Value {
	return schema.Rewrite(doc, func(m *value.Map) {
		name, _ := m.Get("format")
		if _, ok := p.findFormat(name); ok {
			p.hasFormats = true
		}
		name, _ = m.Get("type")
		format, ok := p.findFormat(name)
		if !ok {
			return
		}
		p.hasFormats, p.hasOwnTypes = true, true
		m.Delete("type")
		standsFor := format.Type.Map().Clone()
		standsFor.Set("format", name)
		for key, member := range standsFor.All() {
			if _, given := m.Get(key); !given {
				m.Set(key, member)
			}
		}
	})
}

func (p *Processor) findFormat(name value.Value) (Format, bool) {
	text, _ := name.Str()
	for _, f := range p.formats {
		if f.Name == text {
			return f, true
		}
	}
	return Format{}, false
}

// parseStrict returns the schema with the formats as checks, as it holds for data that is
// filled.
func (p *Processor) parseStrict() (*schema.Schema, error) {
	return schema.ParseWithFormats(p.doc, func(sub value.Value) func(string) bool {
		name, _ := sub.Get("format")
		format, ok := p.findFormat(name)
		if !ok {
			return nil
		}
		return func(text string) bool { return format.Check(value.OfString(text)) }
	})
}

// Check returns the flat schema of what is missing or wrong in the data, where formats
// are hints as draft 7 has them; an empty object where the data is valid. Properties have
// the order of the source schema.
func (p *Processor) Check(data value.Value) value.Value {
	return p.flatSchema(p.schema.Faults(data))
}

// Rejection is a piece of an answer that was not taken.
type Rejection struct {
	Pointer string      `json:"pointer" doc:"Where it was meant to go, a JSON pointer."`
	Value   value.Value `json:"value" doc:"What was answered."`
	Reason  string      `json:"reason" doc:"Why it was not taken."`
}

// Convert makes nested data of an answer whose keys may be JSON pointers: a key
// that begins with / is set at that place, in order, any other is a member. In
// arrays an index replaces, the next index or - appends. Containers that are not
// there are made as the schema has them. What cannot be set is in the rejections.
// An answer that is not an object is returned as it is.
func (p *Processor) Convert(answer value.Value) (value.Value, []Rejection) {
	if answer.Kind() != value.Object {
		return answer, nil
	}
	data := value.OfMap(nil)
	var rejected []Rejection
	for key, member := range answer.Map().All() {
		tokens, err := p.parseKey(key)
		switch {
		case err != nil:
		case len(tokens) > 0:
			data, err = p.setAt(data, nil, tokens, deepCopy(member), nil)
		case member.Kind() == value.Object:
			for name, inner := range member.Map().All() {
				data.Map().Set(name, deepCopy(inner))
			}
		case answer.Map().Len() == 1:
			return deepCopy(member), nil
		default:
			err = because("the whole value is not an object, but there are members beside it")
		}
		if err != nil {
			rejected = append(rejected, Rejection{key, member, p.explain(err)})
		}
	}
	return data, rejected
}

// ConvertPointers returns what [Processor.Convert] makes of an answer, with the pointer into the
// answer in the place of every value that has no members.
func (p *Processor) ConvertPointers(answer value.Value) value.Value {
	data, _ := p.Convert(pointersIn(answer, ""))
	return data
}

// pointersIn returns the value with pointers in the place of the values that have no members.
func pointersIn(v value.Value, pointer string) value.Value {
	switch v.Kind() {
	case value.List:
		items := make([]value.Value, len(v.List()))
		for i, item := range v.List() {
			items[i] = pointersIn(item, pointer+"/"+strconv.Itoa(i))
		}
		return value.OfList(items...)
	case value.Object:
		m := value.NewMap(v.Map().Len())
		for key, member := range v.Map().All() {
			m.Set(key, pointersIn(member, pointer+"/"+value.Escape(key)))
		}
		return value.OfMap(m)
	}
	return value.OfString(pointer)
}

// parseKey reads a key of an answer. A key that does not begin with / names a
// member of the root; so does one that the schema has a property for. / is the
// root, as many write it, where there is no property without a name.
func (p *Processor) parseKey(key string) ([]string, error) {
	if !strings.HasPrefix(key, "/") {
		if key == "" && !p.declaresAtRoot("") {
			return nil, nil
		}
		return []string{key}, nil
	}
	if key == "/" && !p.declaresAtRoot("") {
		return nil, nil
	}
	if p.declaresAtRoot(key) {
		return []string{key}, nil
	}
	return parsePointer(key)
}

// TakesObjects reports whether the data may be an object, by the types and the
// values that the schema lists for it.
func (p *Processor) TakesObjects() bool {
	listed := false
	for _, sub := range p.schema.Describe("").All {
		types := typesOf(sub)
		enum, hasEnum := sub.Get("enum")
		constant, hasConst := sub.Get("const")
		isObject := func(v value.Value) bool { return v.Kind() == value.Object }
		if slices.Contains(types, "object") || slices.ContainsFunc(enum.List(), isObject) || isObject(constant) {
			return true
		}
		if len(types) > 0 || hasEnum || hasConst {
			listed = true
		}
	}
	return !listed
}

// Nothing returns the data where nothing is known: an object without members, or null
// where the schema takes no objects.
func (p *Processor) Nothing() value.Value {
	if p.TakesObjects() {
		return value.OfMap(nil)
	}
	return value.Value{}
}

// declaresAtRoot reports whether the root has a property of that name, or requires one.
func (p *Processor) declaresAtRoot(name string) bool {
	for _, sub := range p.schema.Describe("").All {
		properties, _ := sub.Get("properties")
		required, _ := sub.Get("required")
		isName := func(v value.Value) bool { return value.Equal(v, value.OfString(name)) }
		if _, ok := properties.Get(name); ok || slices.ContainsFunc(required.List(), isName) {
			return true
		}
	}
	return false
}

// parsePointer reads an RFC 6901 pointer.
func parsePointer(pointer string) ([]string, error) {
	if pointer != "" && pointer[0] != '/' {
		return nil, because("a JSON pointer begins with /")
	}
	if strings.Count(pointer, "/") > maxTokens {
		return nil, because("the pointer has more than %d parts", maxTokens)
	}
	tokens, ok := value.SplitPointer(pointer)
	if !ok {
		return nil, because("in a JSON pointer ~ is written ~0, and / inside a name ~1")
	}
	return tokens, nil
}

// maxTokens bounds the depth of what a pointer may make.
const maxTokens = 200

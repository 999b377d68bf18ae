// Package processor checks data against a JSON Schema: it finds missing values, merges answers by JSON pointer,
// and describes the schema to people and models. It does not use models itself.
//
// It reports missing values as a flat schema: an object whose properties are named by RFC 6901 pointers into the
// data ("" is the whole data), each with the schema of that place. For example, if {trip: {}} lacks the required
// city, the flat schema has the property /trip/city.
package processor

import (
	"slices"
	"strings"
	"sync"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Processor is a schema that data can be filled against: the SlotProcessor of the
// documents. Its process_json is [Processor.Fill], convert_json [Processor.Convert],
// check_json [Filling.Remaining], add_null_to_basic_types [AddNullToBasicTypes]. [New]
// creates it, the call slot once per step. It is immutable and safe for concurrent use.
type Processor struct {
	schema *schema.Schema
	// strictSchema returns the schema with the formats as checks, compiled when it is first used.
	strictSchema func() (*schema.Schema, error)
	doc          value.Value
	formats      []Format
	// hasFormats is set when the schema uses one of the formats, hasOwnTypes when it uses one
	// as a type.
	hasFormats, hasOwnTypes bool
	// language is the language of reasons, "" for English.
	language string
}

// In returns the processor with reasons in a language: Chinese for zh and its
// regions, else English.
func (p *Processor) In(language string) *Processor {
	copied := *p
	copied.language = language
	return &copied
}

// Format is a format that data is checked for: one of [schema.Formats], or one of the program's own.
type Format = schema.Format

// New compiles a schema, draft 7. Beside the types of JSON Schema it may use the names of formats as a type;
// without formats, [schema.Formats] count. The error describes a fault of the schema.
func New(doc value.Value, formats ...Format) (*Processor, error) {
	if len(formats) == 0 {
		formats = schema.Formats()
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
		if !ok || format.Type.IsNull() {
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

// Nothing returns the data if nothing is known: an object without members, or null if the schema does not allow
// objects.
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
		return nil, wording.Errorf("a JSON pointer begins with /")
	}
	if strings.Count(pointer, "/") > maxTokens {
		return nil, wording.Errorf("the pointer has more than %d parts", maxTokens)
	}
	tokens, ok := value.SplitPointer(pointer)
	if !ok {
		return nil, wording.Errorf("in a JSON pointer ~ is written ~0, and / inside a name ~1")
	}
	return tokens, nil
}

// maxTokens bounds the depth of containers that a pointer may create.
const maxTokens = 200

// say returns a reason in the processor's language.
func (p *Processor) say(format string, args ...any) string {
	return wording.SayIn(p.language, format, args...)
}

// explain returns an error in the processor's language.
func (p *Processor) explain(err error) string {
	return wording.OfError(err).In(p.language)
}

// typesOf returns the types that a schema names.
func typesOf(schema value.Value) (names []string) {
	types, _ := schema.Get("type")
	if name, ok := types.Str(); ok {
		return []string{name}
	}
	for _, item := range types.List() {
		name, _ := item.Str()
		names = append(names, name)
	}
	return names
}

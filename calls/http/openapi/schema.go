package openapi

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Limits of a document, so that none keeps the program busy.
const (
	maxDepth       = 60
	maxDefinitions = 1000
)

// reader reads one operation of a document.
type reader struct {
	doc value.Value
	// old says that schemas are of 3.0, whose words differ from JSON Schema's.
	old bool
	// names are the definitions by the references that they were found by.
	names       map[string]string
	definitions *value.Map
}

// readChecked is readSchema for one that must be right by itself: a wrong keyword in it, or
// in what it refers to, is an error.
func (r *reader) readChecked(s value.Value) (value.Value, error) {
	out, err := r.readSchema(s, 0)
	if err != nil {
		return value.Value{}, err
	}
	used := value.NewMap(0)
	r.addUsed(used, out)
	_, err = schema.Parse(value.OfMap(value.Pairs("allOf", []value.Value{out}, "definitions", used)))
	return out, err
}

// usedDefinitions returns the definitions that an operation refers to, in the order in
// which they were read.
func (r *reader) usedDefinitions(o *Operation) *value.Map {
	used := value.NewMap(0)
	for _, p := range o.Parameters {
		r.addUsed(used, p.Schema)
	}
	if o.Body != nil {
		r.addUsed(used, o.Body.Schema)
	}
	ordered := value.NewMap(used.Len())
	for name, s := range r.definitions.All() {
		if _, isUsed := used.Get(name); isUsed {
			ordered.Set(name, s)
		}
	}
	return ordered
}

// addUsed adds the definitions that a schema refers to, and those that these refer to.
func (r *reader) addUsed(used *value.Map, s value.Value) {
	for _, item := range s.List() {
		r.addUsed(used, item)
	}
	for key, member := range s.Map().All() {
		ref, isText := member.Str()
		if key != "$ref" || !isText {
			r.addUsed(used, member)
			continue
		}
		name, err := url.PathUnescape(value.Unescape(strings.TrimPrefix(ref, definitionsPrefix)))
		if err != nil {
			continue
		}
		definition, known := r.definitions.Get(name)
		if _, has := used.Get(name); known && !has {
			used.Set(name, definition)
			r.addUsed(used, definition)
		}
	}
}

const definitionsPrefix = "#/definitions/"

// followRef goes after references to what they name.
func (r *reader) followRef(v value.Value) (value.Value, error) {
	for range 16 {
		ref := stringMember(v, "$ref")
		if ref == "" {
			return v, nil
		}
		var err error
		v, err = r.resolveRef(ref)
		if err != nil {
			return value.Value{}, err
		}
	}
	return value.Value{}, wording.Errorf("references lead in a circle")
}

// resolveRef returns what a reference names.
func (r *reader) resolveRef(ref string) (value.Value, error) {
	fragment, local := strings.CutPrefix(ref, "#")
	if !local {
		return value.Value{}, wording.Errorf("the reference %q leads out of the document: bundle it into one file", ref)
	}
	if plain, err := url.PathUnescape(fragment); err == nil {
		fragment = plain
	}
	v, ok := r.doc.At(fragment)
	if !ok {
		return value.Value{}, wording.Errorf("the reference %q names nothing", ref)
	}
	return v, nil
}

// readSchema makes a draft-7 schema of one of the document. What it refers to goes into
// the definitions.
func (r *reader) readSchema(s value.Value, depth int) (value.Value, error) {
	switch {
	case depth > maxDepth:
		return value.Value{}, wording.Errorf("a schema is nested deeper than %d", maxDepth)
	case s.Kind() == value.Bool:
		return s, nil
	case s.Kind() != value.Object && !s.IsNull():
		return value.Value{}, wording.Errorf("a schema is of type %s", s.Kind())
	}
	if ref := stringMember(s, "$ref"); ref != "" {
		name, err := r.defineRef(ref)
		if err != nil {
			return value.Value{}, err
		}
		return value.OfMap(value.Pairs("$ref", definitionsPrefix+value.Escape(url.PathEscape(name)))), nil
	}
	out := value.NewMap(s.Map().Len())
	for key, member := range s.Map().All() {
		converted, err := r.readKeyword(key, member, depth+1)
		if err != nil {
			return value.Value{}, err
		}
		if !converted.IsNull() {
			out.Set(key, converted)
		}
	}
	forRequests(s, out)
	if r.old {
		convertKeywords(s, out)
	}
	return value.OfMap(out), nil
}

// readKeyword converts what stands under one keyword; null leaves it out.
func (r *reader) readKeyword(key string, v value.Value, depth int) (value.Value, error) {
	switch key {
	case "properties", "patternProperties", "dependentSchemas":
		return r.readMembers(v, depth)
	case "items", "additionalProperties", "additionalItems", "not", "if", "then", "else", "contains", "propertyNames":
		if v.Kind() == value.List {
			return r.readList(v, depth)
		}
		return r.readSchema(v, depth)
	case "allOf", "anyOf", "oneOf":
		return r.readList(v, depth)
	case "discriminator", "xml", "externalDocs", "example", "$id", "id", "$schema", "$anchor", "$defs", "definitions":
		return value.Value{}, nil
	}
	return v, nil
}

func (r *reader) readMembers(v value.Value, depth int) (value.Value, error) {
	m := value.NewMap(v.Map().Len())
	for name, member := range v.Map().All() {
		s, err := r.readSchema(member, depth)
		if err != nil {
			return value.Value{}, err
		}
		m.Set(name, s)
	}
	return value.OfMap(m), nil
}

func (r *reader) readList(v value.Value, depth int) (value.Value, error) {
	items := make([]value.Value, len(v.List()))
	for i, item := range v.List() {
		s, err := r.readSchema(item, depth)
		if err != nil {
			return value.Value{}, err
		}
		items[i] = s
	}
	return value.OfList(items...), nil
}

// defineRef returns the name of the definition that a reference leads to.
func (r *reader) defineRef(ref string) (string, error) {
	if name, known := r.names[ref]; known {
		return name, nil
	}
	target, err := r.resolveRef(ref)
	if err != nil {
		return "", err
	}
	if len(r.names) >= maxDefinitions {
		return "", wording.Errorf("the operation refers to more than %d schemas", maxDefinitions)
	}
	name := ref[strings.LastIndexByte(ref, '/')+1:]
	for base, n := name, 2; ; n++ {
		if _, taken := r.definitions.Get(name); !taken {
			break
		}
		name = base + "_" + strconv.Itoa(n)
	}
	r.names[ref] = name // before going on: it may refer to itself
	r.definitions.Set(name, value.OfBool(true))
	s, err := r.readSchema(target, 0)
	if err != nil {
		delete(r.names, ref)
		r.definitions.Delete(name)
		return "", err
	}
	r.definitions.Set(name, s)
	return name, nil
}

// forRequests takes out what only answers have.
func forRequests(s value.Value, out *value.Map) {
	properties, _ := out.Get("properties")
	var writable *value.Map
	for name, p := range properties.Map().All() {
		if boolMember(p, "readOnly", false) {
			if writable == nil {
				writable = properties.Map().Clone()
			}
			writable.Delete(name)
		}
	}
	if writable == nil {
		return
	}
	out.Set("properties", value.OfMap(writable))
	required, _ := s.Get("required")
	var left []value.Value
	for _, name := range required.List() {
		text, _ := name.Str()
		if _, gone := properties.Get(text); gone {
			if _, stays := writable.Get(text); !stays {
				continue
			}
		}
		left = append(left, name)
	}
	out.Delete("required")
	if len(left) > 0 {
		out.Set("required", value.OfList(left...))
	}
}

// convertKeywords says in draft 7 what 3.0 says in words of its own: nullable, and
// exclusive bounds that are flags.
func convertKeywords(s value.Value, out *value.Map) {
	for _, pair := range [][2]string{{"minimum", "exclusiveMinimum"}, {"maximum", "exclusiveMaximum"}} {
		bound, exclusive := pair[0], pair[1]
		v, has := out.Get(exclusive)
		if on, isFlag := v.Bool(); has && isFlag {
			out.Delete(exclusive)
			if limit, ok := out.Get(bound); on && ok {
				out.Delete(bound)
				out.Set(exclusive, limit)
			}
		}
	}
	out.Delete("nullable")
	if !boolMember(s, "nullable", false) {
		return
	}
	if kind, ok := out.Get("type"); ok && kind.Kind() == value.String {
		out.Set("type", value.OfList(kind, value.OfString("null")))
	}
	if enum, ok := out.Get("enum"); ok {
		out.Set("enum", value.OfList(append(append([]value.Value{}, enum.List()...), value.Value{})...))
	}
}

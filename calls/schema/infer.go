package schema

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Described is implemented by types that know their own schema. A zero value is asked.
type Described interface{ JSONSchema() value.Value }

// MustFor returns the schema of a Go type; it panics if the type has none, which is a bug in the program.
//
// Structs become closed objects (additionalProperties false) with the names of
// their json tags. A field is required unless it has omitempty or omitzero, is a
// pointer, or has a default. Further tags:
//
//	doc:"..."         the description
//	example:"..."     a value in YAML, for people alone: see [Schema.Annotated]
//	default:"..."     the default: JSON, or plain text for strings
//	enum:"a|b"        the values that a string may have
//	type:"array|null" the types of a field of type value.Value or any
//	min:"0" max:"1"   bounds of a number, of the length of a string or an array
//	pattern:"^a"      a regular expression for a string
//	was:"a|b"         former names of a field of T itself: a user who writes one gets a hint with the new name
//
// enum and pattern of a slice of strings hold for its items.
func MustFor[T any]() *Schema {
	doc, err := inferType(reflect.TypeFor[T](), nil)
	if err != nil {
		panic(fmt.Sprintf("inferring the schema of %s: %v", reflect.TypeFor[T](), err))
	}
	former := map[string]string{}
	addFormerNames(former, reflect.TypeFor[T]())
	return &Schema{doc: withoutExamples(doc), annotated: doc, former: former}
}

// addFormerNames adds the was tags of a struct, keyed by the former names.
func addFormerNames(former map[string]string, t reflect.Type) {
	if t.Kind() != reflect.Struct {
		return
	}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			addFormerNames(former, f.Type)
		}
		for old := range strings.SplitSeq(f.Tag.Get("was"), "|") {
			former[old] = name
		}
	}
	delete(former, "")
}

// examples is the keyword that holds the text of an example tag.
const examples = "examples"

// withoutExamples returns an inferred schema without the texts of example tags.
func withoutExamples(doc value.Value) value.Value {
	if doc.Kind() != value.Object {
		return doc
	}
	m := doc.Map().Clone()
	m.Delete(examples)
	for _, keyword := range []string{"items", "additionalProperties"} {
		if inner, ok := m.Get(keyword); ok {
			m.Set(keyword, withoutExamples(inner))
		}
	}
	if properties, ok := m.Get("properties"); ok {
		plain := value.NewMap(properties.Map().Len())
		for name, p := range properties.Map().All() {
			plain.Set(name, withoutExamples(p))
		}
		m.Set("properties", value.OfMap(plain))
	}
	return value.OfMap(m)
}

var (
	valueType     = reflect.TypeFor[value.Value]()
	mapType       = reflect.TypeFor[*value.Map]()
	rawType       = reflect.TypeFor[json.RawMessage]()
	numberType    = reflect.TypeFor[json.Number]()
	timeType      = reflect.TypeFor[time.Time]()
	textType      = reflect.TypeFor[encoding.TextMarshaler]()
	describedType = reflect.TypeFor[Described]()
)

func inferType(t reflect.Type, outer []reflect.Type) (value.Value, error) {
	if slices.Contains(outer, t) {
		return value.Value{}, wording.Errorf("%s contains itself", t)
	}
	if t.Implements(describedType) {
		return reflect.Zero(t).Interface().(Described).JSONSchema(), nil
	}
	switch t {
	case valueType, rawType:
		return objectOf(), nil
	case mapType:
		return objectOf("type", "object"), nil
	case numberType:
		return objectOf("type", "number"), nil
	case timeType:
		return objectOf("type", "string", "format", "date-time"), nil
	}
	if t.Implements(textType) && t.Kind() != reflect.Pointer {
		return objectOf("type", "string"), nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		return inferType(t.Elem(), outer)
	case reflect.Interface:
		return objectOf(), nil
	case reflect.Bool:
		return objectOf("type", "boolean"), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return objectOf("type", "integer"), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return objectOf("type", "integer", "minimum", 0), nil
	case reflect.Float32, reflect.Float64:
		return objectOf("type", "number"), nil
	case reflect.String:
		return objectOf("type", "string"), nil
	case reflect.Slice, reflect.Array:
		items, err := inferType(t.Elem(), outer)
		if err != nil {
			return value.Value{}, err
		}
		return objectOf("type", "array", "items", items), nil
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			return value.Value{}, wording.Errorf("the keys of %s are not strings", t)
		}
		members, err := inferType(t.Elem(), outer)
		if err != nil {
			return value.Value{}, err
		}
		return objectOf("type", "object", "additionalProperties", members), nil
	case reflect.Struct:
		return inferStruct(t, append(outer, t))
	}
	return value.Value{}, wording.Errorf("a %s cannot be written as JSON", t)
}

func inferStruct(t reflect.Type, outer []reflect.Type) (value.Value, error) {
	fields := fields{properties: value.NewMap(t.NumField()), optional: map[string]bool{}, outer: outer}
	if err := fields.addFields(t, false); err != nil {
		return value.Value{}, err
	}
	s := value.Pairs("type", "object", "properties", fields.properties)
	var required []value.Value
	for _, name := range fields.properties.Keys() {
		if !fields.optional[name] {
			required = append(required, value.OfString(name))
		}
	}
	if len(required) > 0 {
		s.Set("required", value.OfList(required...))
	}
	s.Set("additionalProperties", value.OfBool(false))
	return value.OfMap(s), nil
}

// fields collects the properties of a struct, replacing embedded structs by their fields.
type fields struct {
	properties *value.Map
	optional   map[string]bool
	outer      []reflect.Type
}

func (fs *fields) addFields(t reflect.Type, embedded bool) error {
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		if f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct {
			if err := fs.addFields(f.Type, true); err != nil {
				return err
			}
			continue
		}
		if !f.IsExported() || tag == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		if _, hidden := fs.properties.Get(name); hidden && embedded {
			continue
		}
		s, err := inferType(f.Type, fs.outer)
		if err == nil {
			s, err = applyTags(s, f.Tag)
		}
		if err != nil {
			return wording.Errorf("field %s: %w", f.Name, err)
		}
		fs.properties.Set(name, s)
		_, hasDefault := f.Tag.Lookup("default")
		fs.optional[name] = strings.Contains(options, "omit") || f.Type.Kind() == reflect.Pointer || hasDefault
	}
	return nil
}

// applyTags lays the tags of a field over the schema of its type.
func applyTags(s value.Value, tag reflect.StructTag) (value.Value, error) {
	m := s.Map().Clone()
	if types, ok := tag.Lookup("type"); ok {
		if list := splitTexts(types); len(list) == 1 {
			m.Set("type", list[0])
		} else {
			m.Set("type", value.OfList(list...))
		}
	}
	if doc, ok := tag.Lookup("doc"); ok {
		m.Set("description", value.OfString(doc))
	}
	if text, ok := tag.Lookup("example"); ok {
		m.Set(examples, value.OfList(value.OfString(text)))
	}
	kind, _ := m.Get("type")
	typeName, _ := kind.Str()

	// enum and pattern apply to the strings, also inside arrays.
	strs, items := m, (*value.Map)(nil)
	if list, _ := m.Get("items"); typeName == "array" && list.Kind() == value.Object {
		items = list.Map().Clone()
		strs = items
	}
	if enum, ok := tag.Lookup("enum"); ok {
		strs.Set("enum", value.OfList(splitTexts(enum)...))
	}
	if pattern, ok := tag.Lookup("pattern"); ok {
		strs.Set("pattern", value.OfString(pattern))
	}
	if items != nil {
		m.Set("items", value.OfMap(items))
	}

	for _, bound := range []string{"min", "max"} {
		text, ok := tag.Lookup(bound)
		if !ok {
			continue
		}
		n, err := value.OfNumber(text)
		if err != nil {
			return value.Value{}, wording.Errorf("%s: %w", bound, err)
		}
		suffix := "imum"
		switch typeName {
		case "string":
			suffix = "Length"
		case "array":
			suffix = "Items"
		}
		m.Set(bound+suffix, n)
	}
	if text, ok := tag.Lookup("default"); ok {
		def, err := defaultOf(typeName, text)
		if err != nil {
			return value.Value{}, err
		}
		m.Set("default", def)
	}
	return value.OfMap(m), nil
}

// splitTexts returns the parts of a|b.
func splitTexts(list string) (items []value.Value) {
	for item := range strings.SplitSeq(list, "|") {
		items = append(items, value.OfString(item))
	}
	return items
}

// defaultOf reads the default tag of a field of that type; "" is any type.
func defaultOf(typeName, text string) (value.Value, error) {
	def, err := value.ParseJSON([]byte(text))
	if typeName == "string" && def.Kind() != value.String {
		return value.OfString(text), nil
	}
	if err != nil {
		return value.Value{}, wording.Errorf("default %q: %w", text, err)
	}
	have := def.Kind().String()
	isNumber := typeName == "number" && have == "integer"
	if typeName != "" && have != typeName && !isNumber {
		return value.Value{}, wording.Errorf("default %q: want %s, got %s", text, typeName, have)
	}
	return def, nil
}

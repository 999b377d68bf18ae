package schema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/callnode/scheduler/llm/value"
)

// Described is implemented by types that know their own schema.
type Described interface{ JSONSchema() value.Value }

// MustFor is the schema of a Go type; it panics where the type has none, which
// is a fault of the program.
//
// Structs become closed objects (additionalProperties false) with the names of
// their json tags. A field is required unless it says omitempty or omitzero, is a
// pointer, or has a default. Further tags:
//
//	doc:"..."         the description
//	default:"..."     the default: JSON, or plain text for strings
//	enum:"a|b"        the values that a string may have
//	type:"array|null" the types of a field of type value.Value or any
//	min:"0" max:"1"   bounds of a number, of the length of a string or an array
//	pattern:"^a"      a regular expression for a string
func MustFor[T any]() *Schema {
	doc, err := infer(reflect.TypeFor[T](), nil)
	if err != nil {
		panic(fmt.Sprintf("inferring the schema of %s: %v", reflect.TypeFor[T](), err))
	}
	return &Schema{doc: doc}
}

var (
	valueType     = reflect.TypeFor[value.Value]()
	mapType       = reflect.TypeFor[*value.Map]()
	rawType       = reflect.TypeFor[json.RawMessage]()
	timeType      = reflect.TypeFor[time.Time]()
	describedType = reflect.TypeFor[Described]()
)

func object(kv ...any) value.Value { return value.OfMap(value.Pairs(kv...)) }

func infer(t reflect.Type, outer []reflect.Type) (value.Value, error) {
	for _, o := range outer {
		if o == t {
			return value.Value{}, fmt.Errorf("%s contains itself", t)
		}
	}
	if t.Implements(describedType) {
		return reflect.Zero(t).Interface().(Described).JSONSchema(), nil
	}
	switch t {
	case valueType, rawType:
		return object(), nil
	case mapType:
		return object("type", "object"), nil
	case timeType:
		return object("type", "string", "format", "date-time"), nil
	}
	switch t.Kind() { //nolint:exhaustive // the default refuses the rest
	case reflect.Pointer:
		return infer(t.Elem(), outer)
	case reflect.Interface:
		return object(), nil
	case reflect.Bool:
		return object("type", "boolean"), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return object("type", "integer"), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return object("type", "integer", "minimum", 0), nil
	case reflect.Float32, reflect.Float64:
		return object("type", "number"), nil
	case reflect.String:
		return object("type", "string"), nil
	case reflect.Slice, reflect.Array:
		items, err := infer(t.Elem(), outer)
		if err != nil {
			return value.Value{}, err
		}
		return object("type", "array", "items", items), nil
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			return value.Value{}, fmt.Errorf("the keys of %s are no strings", t)
		}
		members, err := infer(t.Elem(), outer)
		if err != nil {
			return value.Value{}, err
		}
		return object("type", "object", "additionalProperties", members), nil
	case reflect.Struct:
		return inferStruct(t, append(outer, t))
	}
	return value.Value{}, fmt.Errorf("a %s has no JSON form", t)
}

func inferStruct(t reflect.Type, outer []reflect.Type) (value.Value, error) {
	properties := value.NewMap(t.NumField())
	required := []value.Value{}
	if err := addFields(t, outer, properties, &required); err != nil {
		return value.Value{}, err
	}
	s := value.Pairs("type", "object", "properties", properties)
	if len(required) > 0 {
		s.Set("required", value.OfList(required...))
	}
	s.Set("additionalProperties", value.OfBool(false))
	return value.OfMap(s), nil
}

func addFields(t reflect.Type, outer []reflect.Type, properties *value.Map, required *[]value.Value) error {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct {
			if err := addFields(f.Type, outer, properties, required); err != nil {
				return err
			}
			continue
		}
		if !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		s, err := infer(f.Type, outer)
		if err == nil {
			s, err = annotate(s, f.Tag)
		}
		if err != nil {
			return fmt.Errorf("field %s: %w", f.Name, err)
		}
		properties.Set(name, s)
		_, hasDefault := f.Tag.Lookup("default")
		if !strings.Contains(options, "omit") && f.Type.Kind() != reflect.Pointer && !hasDefault {
			*required = append(*required, value.OfString(name))
		}
	}
	return nil
}

// annotate lays the tags of a field over the schema of its type.
func annotate(s value.Value, tag reflect.StructTag) (value.Value, error) {
	m := s.Map().Clone()
	if types, ok := tag.Lookup("type"); ok {
		list := []value.Value{}
		for name := range strings.SplitSeq(types, "|") {
			list = append(list, value.OfString(name))
		}
		if m.Set("type", list[0]); len(list) > 1 {
			m.Set("type", value.OfList(list...))
		}
	}
	if doc, ok := tag.Lookup("doc"); ok {
		m.Set("description", value.OfString(doc))
	}
	kind, _ := m.Get("type")
	typeName, _ := kind.Str()
	if enum, ok := tag.Lookup("enum"); ok {
		list := []value.Value{}
		for item := range strings.SplitSeq(enum, "|") {
			list = append(list, value.OfString(item))
		}
		m.Set("enum", value.OfList(list...))
	}
	for _, bound := range []string{"min", "max"} {
		text, ok := tag.Lookup(bound)
		if !ok {
			continue
		}
		n, err := value.OfNumber(text)
		if err != nil {
			return value.Value{}, err
		}
		m.Set(bound+map[string]string{"string": "Length", "array": "Items"}[typeName]+
			map[bool]string{true: "imum"}[typeName != "string" && typeName != "array"], n)
	}
	if pattern, ok := tag.Lookup("pattern"); ok {
		m.Set("pattern", value.OfString(pattern))
	}
	if text, ok := tag.Lookup("default"); ok {
		def, err := value.ParseJSON([]byte(text))
		if err != nil || typeName == "string" && def.Kind() != value.String {
			if typeName != "string" {
				return value.Value{}, fmt.Errorf("default %q: %w", text, err)
			}
			def = value.OfString(text)
		}
		m.Set("default", def)
	}
	return value.OfMap(m), nil
}

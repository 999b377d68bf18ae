package value

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Decoder lets a type read itself from a Value; [Decode] calls it on the
// pointer.
type Decoder interface{ DecodeValue(Value) error }

// Encoder lets a type write itself as a Value; [Of] calls it.
type Encoder interface{ EncodeValue() (Value, error) }

// Must is Of for values that are known to convert; it panics on the error.
func Must(x any) Value {
	v, err := Of(x)
	if err != nil {
		panic(err)
	}
	return v
}

// Of makes a Value of Go data: nil, booleans, numbers, strings, slices, maps
// with string keys (sorted, for Go maps have no order), structs by their json
// tags, pointers, json.Number, json.RawMessage, [Value], *[Map] and types with
// their own JSON or text form. The error names the place as a JSON pointer.
func Of(x any) (Value, error) {
	switch x := x.(type) {
	case nil:
		return Value{}, nil
	case Value:
		return x, nil
	case *Map:
		return OfMap(x), nil
	case string:
		return Value{x}, nil
	case bool:
		return Value{x}, nil
	case int:
		return Value{int64(x)}, nil
	case int64:
		return Value{x}, nil
	case float64:
		return OfFloat(x), nil
	case []Value:
		return OfList(x...), nil
	}
	return encode(reflect.ValueOf(x), "", 0)
}

func encode(rv reflect.Value, path string, depth int) (Value, error) {
	if depth > maxDepth {
		return Value{}, fmt.Errorf("%s: nested deeper than %d", path, maxDepth)
	}
	if !rv.IsValid() {
		return Value{}, nil
	}
	switch rv.Kind() { //nolint:exhaustive // the rest is below
	case reflect.Pointer, reflect.Interface:
		if rv.IsNil() {
			return Value{}, nil
		}
	}
	if rv.CanInterface() {
		switch x := rv.Interface().(type) {
		case Value:
			return x, nil
		case *Map:
			return OfMap(x), nil
		case Encoder:
			return x.EncodeValue()
		case json.Number:
			return OfNumber(string(x))
		case json.RawMessage:
			if len(x) == 0 {
				return Value{}, nil
			}
			return ParseJSON(x)
		case json.Marshaler:
			data, err := x.MarshalJSON()
			if err != nil {
				return Value{}, fmt.Errorf("%s: %w", path, err)
			}
			return ParseJSON(data)
		}
	}
	switch rv.Kind() { //nolint:exhaustive // the default refuses the rest
	case reflect.Pointer, reflect.Interface:
		return encode(rv.Elem(), path, depth+1)
	case reflect.Bool:
		return OfBool(rv.Bool()), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return OfInt(rv.Int()), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return number(fmt.Sprint(rv.Uint())), nil
	case reflect.Float32, reflect.Float64:
		return OfFloat(rv.Float()), nil
	case reflect.String:
		return OfString(rv.String()), nil
	case reflect.Slice, reflect.Array:
		items := make([]Value, rv.Len())
		for i := range items {
			item, err := encode(rv.Index(i), fmt.Sprintf("%s/%d", path, i), depth+1)
			if err != nil {
				return Value{}, err
			}
			items[i] = item
		}
		return OfList(items...), nil
	case reflect.Map:
		return encodeMap(rv, path, depth)
	case reflect.Struct:
		m := NewMap(8)
		for _, f := range fieldsOf(rv.Type()) {
			fv, err := rv.FieldByIndexErr(f.index)
			if err != nil || f.omit && isEmpty(fv) {
				continue
			}
			member, err := encode(fv, path+"/"+f.name, depth+1)
			if err != nil {
				return Value{}, err
			}
			m.Set(f.name, member)
		}
		return OfMap(m), nil
	}
	return Value{}, fmt.Errorf("%s: a %s has no JSON form", path, rv.Type())
}

func encodeMap(rv reflect.Value, path string, depth int) (Value, error) {
	if rv.Type().Key().Kind() != reflect.String {
		return Value{}, fmt.Errorf("%s: the keys of a %s are no strings", path, rv.Type())
	}
	keys := rv.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	m := NewMap(len(keys))
	for _, k := range keys {
		member, err := encode(rv.MapIndex(k), path+"/"+Escape(k.String()), depth+1)
		if err != nil {
			return Value{}, err
		}
		m.Set(k.String(), member)
	}
	return OfMap(m), nil
}

func isEmpty(rv reflect.Value) bool {
	switch rv.Kind() { //nolint:exhaustive // the default is the zero test
	case reflect.Slice, reflect.Map, reflect.String, reflect.Array:
		return rv.Len() == 0
	}
	return rv.IsZero()
}

// Decode fills the Go data that target points to, as encoding/json would, from
// a Value, without a detour over text: fields of type [Value] share, numbers
// keep their spelling. Keys that no field names are ignored (a schema refuses
// them before). The error names the place as a JSON pointer.
func Decode(v Value, target any) error {
	rv := reflect.ValueOf(target)
	if rv.Kind() != reflect.Pointer || rv.IsNil() {
		return fmt.Errorf("decoding into a %T: want a pointer", target)
	}
	return decodeInto(v, rv.Elem(), "")
}

func decodeInto(v Value, rv reflect.Value, path string) error {
	if rv.CanAddr() {
		switch t := rv.Addr().Interface().(type) {
		case *Value:
			*t = v
			return nil
		case Decoder:
			return t.DecodeValue(v)
		case *json.RawMessage:
			*t = v.AppendJSON(nil)
			return nil
		case json.Unmarshaler:
			if err := t.UnmarshalJSON(v.AppendJSON(nil)); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			return nil
		case **Map:
			if v.Kind() == Object {
				*t = v.Map()
				return nil
			}
		}
	}
	if v.IsNull() {
		rv.SetZero()
		return nil
	}
	mismatch := func(want string) error {
		return fmt.Errorf("%s: want %s, got %s", path, want, v.Kind())
	}
	switch rv.Kind() { //nolint:exhaustive // the default refuses the rest
	case reflect.Pointer:
		if rv.IsNil() {
			rv.Set(reflect.New(rv.Type().Elem()))
		}
		return decodeInto(v, rv.Elem(), path)
	case reflect.Interface:
		if rv.NumMethod() == 0 {
			rv.Set(reflect.ValueOf(v.Any()))
			return nil
		}
	case reflect.Bool:
		b, ok := v.Bool()
		if !ok {
			return mismatch("boolean")
		}
		rv.SetBool(b)
		return nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		i, ok := v.wholeInt()
		if !ok || rv.OverflowInt(i) {
			return mismatch("integer")
		}
		rv.SetInt(i)
		return nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		i, ok := v.wholeInt()
		if !ok || i < 0 || rv.OverflowUint(uint64(i)) {
			return mismatch("non-negative integer")
		}
		rv.SetUint(uint64(i))
		return nil
	case reflect.Float32, reflect.Float64:
		f, ok := v.Float()
		if !ok {
			return mismatch("number")
		}
		rv.SetFloat(f)
		return nil
	case reflect.String:
		s, ok := v.Str()
		if !ok {
			return mismatch("string")
		}
		rv.SetString(s)
		return nil
	case reflect.Slice:
		if v.Kind() != List {
			return mismatch("array")
		}
		s := reflect.MakeSlice(rv.Type(), len(v.List()), len(v.List()))
		for i, item := range v.List() {
			if err := decodeInto(item, s.Index(i), fmt.Sprintf("%s/%d", path, i)); err != nil {
				return err
			}
		}
		rv.Set(s)
		return nil
	case reflect.Map:
		return decodeMapInto(v, rv, path)
	case reflect.Struct:
		if v.Kind() != Object {
			return mismatch("object")
		}
		for _, f := range fieldsOf(rv.Type()) {
			member, ok := v.Get(f.name)
			if !ok {
				continue
			}
			if err := decodeInto(member, rv.FieldByIndex(f.index), path+"/"+f.name); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("%s: a %s cannot be read from JSON", path, rv.Type())
}

func decodeMapInto(v Value, rv reflect.Value, path string) error {
	if v.Kind() != Object || rv.Type().Key().Kind() != reflect.String {
		return fmt.Errorf("%s: want object, got %s", path, v.Kind())
	}
	m := reflect.MakeMapWithSize(rv.Type(), v.Map().Len())
	for k, member := range v.Map().All() {
		elem := reflect.New(rv.Type().Elem()).Elem()
		if err := decodeInto(member, elem, path+"/"+Escape(k)); err != nil {
			return err
		}
		m.SetMapIndex(reflect.ValueOf(k).Convert(rv.Type().Key()), elem)
	}
	rv.Set(m)
	return nil
}

// wholeInt is an int64 of an Int or of a Float without a fraction, as JSON
// Schema counts integers.
func (v Value) wholeInt() (int64, bool) {
	if i, ok := v.Int(); ok {
		return i, true
	}
	f, ok := v.Float()
	if !ok || f != float64(int64(f)) || f >= 1<<63 || f < -1<<63 {
		return 0, false
	}
	return int64(f), true
}

// Any is the value as the types that other libraries know: nil, bool, string,
// json.Number, []any and map[string]any. The order of keys is lost.
func (v Value) Any() any {
	switch x := v.v.(type) {
	case int64, float64, raw:
		return json.Number(v.JSON())
	case []Value:
		l := make([]any, len(x))
		for i, item := range x {
			l[i] = item.Any()
		}
		return l
	case *Map:
		m := make(map[string]any, x.Len())
		for k, member := range x.All() {
			m[k] = member.Any()
		}
		return m
	}
	return v.v
}

type field struct {
	name  string
	index []int
	omit  bool
}

var fieldCache sync.Map // reflect.Type -> []field

// fieldsOf lists the exported fields of a struct by their json names, those of
// embedded structs in their place.
func fieldsOf(t reflect.Type) []field {
	if cached, ok := fieldCache.Load(t); ok {
		return cached.([]field)
	}
	var fields []field
	for i := range t.NumField() {
		sf := t.Field(i)
		tag, opts, _ := strings.Cut(sf.Tag.Get("json"), ",")
		if tag == "-" && opts == "" || !sf.IsExported() && !sf.Anonymous {
			continue
		}
		if sf.Anonymous && tag == "" && sf.Type.Kind() == reflect.Struct {
			for _, f := range fieldsOf(sf.Type) {
				fields = append(fields, field{f.name, append([]int{i}, f.index...), f.omit})
			}
			continue
		}
		if tag == "" {
			tag = sf.Name
		}
		fields = append(fields, field{tag, []int{i}, strings.Contains(opts, "omit")})
	}
	cached, _ := fieldCache.LoadOrStore(t, fields)
	return cached.([]field)
}

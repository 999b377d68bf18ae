package value

import (
	"encoding"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/llm/value/wording"
)

// Encoder lets a type write itself as a Value; [Of] calls it, from any goroutine.
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
// their own JSON or text form. A nil slice becomes an empty list, a nil map an
// empty object. The error names the place as a JSON pointer.
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
	return encodeValue(reflect.ValueOf(x), 0)
}

// placed is an error with the JSON pointer of its place. The pointer is built while the error returns, so that
// success costs nothing extra.
type placed struct {
	pointer string
	err     error
}

func (p *placed) Error() string { return p.pointer + ": " + p.err.Error() }
func (p *placed) Unwrap() error { return p.err }

// SplitError splits an error of [Of] or [Decode] into the place, as a JSON pointer, and the fault there. The
// pointer is "" if the whole value is wrong.
func SplitError(err error) (pointer string, cause error) {
	var p *placed
	if errors.As(err, &p) {
		return p.pointer, p.err
	}
	return "", err
}

// addPointer records that err happened inside the member or element of that name.
func addPointer(name string, err error) error {
	token := FormatPointer(name)
	if p, ok := err.(*placed); ok { //nolint:errorlint // only what was returned right here
		p.pointer = token + p.pointer
		return p
	}
	return &placed{token, err}
}

func encodeValue(rv reflect.Value, depth int) (Value, error) {
	if depth > maxDepth {
		return Value{}, wording.Errorf("nested deeper than %d", maxDepth)
	}
	if !rv.IsValid() || isNil(rv) {
		return Value{}, nil
	}
	if v, done, err := encodeOwn(rv); done {
		return v, err
	}
	switch rv.Kind() {
	case reflect.Pointer, reflect.Interface:
		return encodeValue(rv.Elem(), depth+1)
	case reflect.Bool:
		return OfBool(rv.Bool()), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return OfInt(rv.Int()), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return newNumber(strconv.FormatUint(rv.Uint(), 10)), nil
	case reflect.Float32:
		// The shortest decimal that names it: 0.1, not 0.10000000149011612.
		f, _ := strconv.ParseFloat(strconv.FormatFloat(rv.Float(), 'g', -1, 32), 64)
		return OfFloat(f), nil
	case reflect.Float64:
		return OfFloat(rv.Float()), nil
	case reflect.String:
		return OfString(rv.String()), nil
	case reflect.Slice, reflect.Array:
		items := make([]Value, rv.Len())
		for i := range items {
			item, err := encodeValue(rv.Index(i), depth+1)
			if err != nil {
				return Value{}, addPointer(strconv.Itoa(i), err)
			}
			items[i] = item
		}
		return OfList(items...), nil
	case reflect.Map:
		return encodeMap(rv, depth)
	case reflect.Struct:
		return encodeStruct(rv, depth)
	}
	return Value{}, wording.Errorf("a %s cannot be written as JSON", rv.Type())
}

func isNil(rv reflect.Value) bool {
	canBeNil := rv.Kind() == reflect.Pointer || rv.Kind() == reflect.Interface
	return canBeNil && rv.IsNil()
}

// encodeOwn handles the types that have a form of their own.
func encodeOwn(rv reflect.Value) (v Value, done bool, err error) {
	if !rv.CanInterface() {
		return Value{}, false, nil
	}
	switch x := rv.Interface().(type) {
	case Value:
		return x, true, nil
	case *Value:
		return *x, true, nil
	case *Map:
		return OfMap(x), true, nil
	case Encoder:
		v, err = x.EncodeValue()
	case json.Number:
		v, err = OfNumber(string(x))
	case json.RawMessage:
		if len(x) > 0 {
			v, err = ParseJSON(x)
		}
	case json.Marshaler:
		var data []byte
		data, err = x.MarshalJSON()
		if err == nil {
			v, err = ParseJSON(data)
		}
	case encoding.TextMarshaler:
		var text []byte
		text, err = x.MarshalText()
		v = OfString(string(text))
	default:
		return Value{}, false, nil
	}
	return v, true, err
}

// empty is the value of every struct without fields.
var empty = OfMap(nil)

func encodeStruct(rv reflect.Value, depth int) (Value, error) {
	fields := fieldsOf(rv.Type())
	if len(fields) == 0 {
		return empty, nil
	}
	m := NewMap(len(fields))
	for _, f := range fields {
		fv := rv.FieldByIndex(f.index)
		if f.omit && isEmpty(fv) {
			continue
		}
		member, err := encodeValue(fv, depth+1)
		if err != nil {
			return Value{}, addPointer(f.name, err)
		}
		m.Set(f.name, member)
	}
	return OfMap(m), nil
}

func encodeMap(rv reflect.Value, depth int) (Value, error) {
	if rv.Type().Key().Kind() != reflect.String {
		return Value{}, wording.Errorf("the keys of a %s are not strings", rv.Type())
	}
	keys := rv.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	m := NewMap(len(keys))
	for _, k := range keys {
		member, err := encodeValue(rv.MapIndex(k), depth+1)
		if err != nil {
			return Value{}, addPointer(k.String(), err)
		}
		m.Set(k.String(), member)
	}
	return OfMap(m), nil
}

func isEmpty(rv reflect.Value) bool {
	switch rv.Kind() {
	case reflect.Slice, reflect.Map, reflect.String, reflect.Array:
		return rv.Len() == 0
	}
	return rv.IsZero()
}

// Any returns the value as the types that other libraries know: nil, bool, string,
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
	case *hidden:
		return v.unhide().Any()
	}
	return v.v
}

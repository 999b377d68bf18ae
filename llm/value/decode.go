package value

import (
	"encoding"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/callnode/scheduler/llm/value/wording"
)

// Decoder lets a type read itself from a Value; [Decode] calls it on the
// pointer.
type Decoder interface{ DecodeValue(Value) error }

// Decode fills the Go data that target points to, as encoding/json would, from
// a Value, without a detour over text: fields of type [Value] share, numbers
// keep their spelling. A number that the target cannot hold is an error. Keys
// that no field names are ignored (a schema refuses them before). The error
// names the place as a JSON pointer.
func Decode(v Value, target any) error {
	rv := reflect.ValueOf(target)
	if rv.Kind() != reflect.Pointer || rv.IsNil() {
		return wording.Errorf("decoding into a %T: want a pointer", target)
	}
	return decodeInto(v, rv.Elem())
}

func decodeInto(v Value, rv reflect.Value) error {
	if done, err := decodeOwn(v, rv); done {
		return err
	}
	if v.IsNull() {
		rv.SetZero()
		return nil
	}
	switch rv.Kind() {
	case reflect.Pointer:
		if rv.IsNil() {
			rv.Set(reflect.New(rv.Type().Elem()))
		}
		return decodeInto(v, rv.Elem())
	case reflect.Interface:
		if rv.NumMethod() == 0 {
			rv.Set(reflect.ValueOf(v.Any()))
			return nil
		}
	case reflect.Bool:
		b, ok := v.Bool()
		if !ok {
			return mismatchError("boolean", v)
		}
		rv.SetBool(b)
		return nil
	case reflect.String:
		s, ok := v.Str()
		if !ok {
			return mismatchError("string", v)
		}
		rv.SetString(s)
		return nil
	case reflect.Slice, reflect.Array:
		return decodeList(v, rv)
	case reflect.Map:
		return decodeMap(v, rv)
	case reflect.Struct:
		return decodeStruct(v, rv)
	default:
		if rv.CanInt() || rv.CanUint() || rv.CanFloat() {
			return decodeNumber(v, rv)
		}
	}
	return wording.Errorf("a %s cannot be read from JSON", rv.Type())
}

func mismatchError(want string, v Value) error {
	return wording.Errorf("want %s, got %s", wording.TypeName(want), wording.TypeName(v.Kind().String()))
}

// decodeOwn handles the types that read themselves.
func decodeOwn(v Value, rv reflect.Value) (done bool, err error) {
	if !rv.CanAddr() {
		return false, nil
	}
	switch t := rv.Addr().Interface().(type) {
	case *Value:
		*t = v
	case **Map:
		if v.Kind() != Object {
			return false, nil
		}
		*t = v.Map()
	case Decoder:
		err = t.DecodeValue(v)
	case *json.RawMessage:
		*t = v.AppendJSON(nil)
	case *json.Number:
		if k := v.Kind(); k != Int && k != Float {
			return true, mismatchError("number", v)
		}
		*t = json.Number(v.JSON())
	case json.Unmarshaler:
		err = t.UnmarshalJSON(v.AppendJSON(nil))
	case encoding.TextUnmarshaler:
		s, ok := v.Str()
		if !ok {
			return !v.IsNull(), mismatchError("string", v)
		}
		err = t.UnmarshalText([]byte(s))
	default:
		return false, nil
	}
	return true, err
}

func decodeNumber(v Value, rv reflect.Value) error {
	if rv.CanFloat() {
		f, ok := v.Float()
		if !ok {
			return mismatchError("number", v)
		}
		rounded := f
		if rv.Kind() == reflect.Float32 {
			rounded = float64(float32(f))
		}
		if math.IsInf(rounded, 0) {
			return wording.Errorf("the number %.40s is out of range", v)
		}
		rv.SetFloat(f)
		return nil
	}
	want := "integer"
	if rv.CanUint() {
		want = "non-negative integer"
	}
	text, ok := wholeDigits(v)
	if !ok {
		return mismatchError(want, v)
	}
	var err error
	if rv.CanInt() {
		var i int64
		i, err = strconv.ParseInt(text, 10, rv.Type().Bits())
		rv.SetInt(i)
	} else {
		var u uint64
		u, err = strconv.ParseUint(text, 10, rv.Type().Bits())
		rv.SetUint(u)
	}
	if errors.Is(err, strconv.ErrRange) {
		return wording.Errorf("the number %.40s is out of range", v)
	}
	if err != nil { // the sign of a negative number
		return wording.Errorf("want %s, got %.40s", wording.TypeName(want), v)
	}
	return nil
}

// wholeDigits returns the digits of a number without a fraction, as JSON Schema counts
// integers: 3, 3.0 and 3e0 are all 3.
func wholeDigits(v Value) (string, bool) {
	if i, ok := v.Int(); ok {
		return strconv.FormatInt(i, 10), true
	}
	d, ok := decimalOf(v)
	if !ok {
		return "", false
	}
	return d.wholeDigits()
}

func decodeList(v Value, rv reflect.Value) error {
	if v.Kind() != List {
		return mismatchError("array", v)
	}
	items := v.List()
	target := rv
	if rv.Kind() == reflect.Slice {
		target = reflect.MakeSlice(rv.Type(), len(items), len(items))
	} else if len(items) != rv.Len() {
		return wording.Errorf("want %d items, got %d", rv.Len(), len(items))
	}
	for i, item := range items {
		if err := decodeInto(item, target.Index(i)); err != nil {
			return addPointer(strconv.Itoa(i), err)
		}
	}
	if rv.Kind() == reflect.Slice {
		rv.Set(target)
	}
	return nil
}

func decodeMap(v Value, rv reflect.Value) error {
	if v.Kind() != Object {
		return mismatchError("object", v)
	}
	t := rv.Type()
	if t.Key().Kind() != reflect.String {
		return wording.Errorf("the keys of a %s are not strings", t)
	}
	m := reflect.MakeMapWithSize(t, v.Map().Len())
	for k, member := range v.Map().All() {
		elem := reflect.New(t.Elem()).Elem()
		if err := decodeInto(member, elem); err != nil {
			return addPointer(k, err)
		}
		m.SetMapIndex(reflect.ValueOf(k).Convert(t.Key()), elem)
	}
	rv.Set(m)
	return nil
}

func decodeStruct(v Value, rv reflect.Value) error {
	if v.Kind() != Object {
		return mismatchError("object", v)
	}
	if v.Map().Len() == 0 {
		return nil
	}
	for _, f := range fieldsOf(rv.Type()) {
		member, ok := v.Get(f.name)
		if !ok {
			continue
		}
		if err := decodeInto(member, rv.FieldByIndex(f.index)); err != nil {
			return addPointer(f.name, err)
		}
	}
	return nil
}

type field struct {
	name  string
	index []int
	omit  bool
}

var fieldCache sync.Map // reflect.Type -> []field

// fieldsOf lists the exported fields of a struct by their json names, replacing embedded structs by their fields.
// If two have one name, the less embedded counts.
func fieldsOf(t reflect.Type) []field {
	if t.NumField() == 0 {
		return nil
	}
	if cached, ok := fieldCache.Load(t); ok {
		return cached.([]field)
	}
	var fields []field
	at := map[string]int{}
	add := func(f field) {
		i, taken := at[f.name]
		if !taken {
			at[f.name] = len(fields)
			fields = append(fields, f)
		} else if len(f.index) < len(fields[i].index) {
			fields[i] = f
		}
	}
	for i := range t.NumField() {
		sf := t.Field(i)
		tag := sf.Tag.Get("json")
		name, opts, _ := strings.Cut(tag, ",")
		switch {
		case tag == "-":
		case sf.Anonymous && name == "" && sf.Type.Kind() == reflect.Struct:
			for _, f := range fieldsOf(sf.Type) {
				add(field{f.name, append([]int{i}, f.index...), f.omit})
			}
		case sf.IsExported():
			if name == "" {
				name = sf.Name
			}
			add(field{name, []int{i}, strings.Contains(opts, "omit")})
		}
	}
	cached, _ := fieldCache.LoadOrStore(t, fields)
	return cached.([]field)
}

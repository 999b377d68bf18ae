package value_test

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/callnode/scheduler/llm/value"
)

func TestKinds(t *testing.T) {
	for text, want := range map[string]string{
		`null`: "null", `true`: "boolean", `3`: "integer", `-0`: "integer", `3.0`: "number", `3e0`: "number",
		`1e400`: "number", `99999999999999999999`: "integer", `"x"`: "string", `[]`: "array", `{}`: "object",
	} {
		if got := parse(t, text).Kind().String(); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}

func TestAccessors(t *testing.T) {
	ints := map[string]int64{`3`: 3, `-0`: 0, `-9223372036854775808`: math.MinInt64, `9223372036854775807`: math.MaxInt64}
	for text, want := range ints {
		if i, ok := parse(t, text).Int(); !ok || i != want {
			t.Errorf("%s as an integer is %d, %v", text, i, ok)
		}
	}
	for _, text := range []string{`3.0`, `9223372036854775808`, `"3"`, `null`} {
		if i, ok := parse(t, text).Int(); ok {
			t.Errorf("%s as an integer is %d", text, i)
		}
	}
	for text, want := range map[string]float64{`3`: 3, `0.5`: 0.5, `1e400`: math.Inf(1), `1e-999`: 0} {
		if f, ok := parse(t, text).Float(); !ok || f != want {
			t.Errorf("%s as a float is %v, %v", text, f, ok)
		}
	}
	huge, _ := new(big.Int).SetString("123456789012345678901234567890", 10)
	if i, ok := parse(t, huge.String()).Big(); !ok || i.Cmp(huge) != 0 {
		t.Errorf("Big gives %v, %v", i, ok)
	}
	for _, i := range []*big.Int{huge, big.NewInt(7)} {
		if got := value.OfBig(i).JSON(); got != i.String() {
			t.Errorf("OfBig(%v) is %s", i, got)
		}
	}
	if _, ok := parse(t, `1.0`).Big(); ok {
		t.Error("1.0 is a big integer")
	}
	if _, ok := parse(t, `"x"`).Big(); ok {
		t.Error("a string is a big integer")
	}
	if _, ok := parse(t, `"x"`).Float(); ok {
		t.Error("a string is a float")
	}
	if b, ok := parse(t, `true`).Bool(); !b || !ok {
		t.Error("true is not true")
	}
	var null value.Value
	if !null.IsNull() || null.List() != nil || null.Map() != nil || null.JSON() != "null" {
		t.Error("the zero Value is not null")
	}
	if _, ok := null.Get("a"); ok {
		t.Error("null has a member")
	}
	if !value.OfFloat(math.NaN()).IsNull() || !value.OfFloat(math.Inf(-1)).IsNull() {
		t.Error("NaN and the infinities are not null")
	}
	if _, err := value.OfNumber("1."); err == nil {
		t.Error(`OfNumber takes "1."`)
	}
	for f, want := range map[float64]string{3: "3.0", 0.1: "0.1", 1e16: "1e+16", 1e-5: "1e-05", 123456789: "123456789.0", 0: "0.0"} {
		if got := value.OfFloat(f).JSON(); got != want {
			t.Errorf("%v prints as %s, want %s", f, got, want)
		}
	}
}

func TestPointers(t *testing.T) {
	// The examples of RFC 6901, and array indexes.
	v := parse(t, `{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8,"~1":9,"big":[0,1,2,3,4,5,6,7,8,9,10]}`)
	for pointer, want := range map[string]string{
		"/foo": `["bar","baz"]`, "/foo/0": `"bar"`, "/": "0", "/a~1b": "1", "/c%d": "2", "/e^f": "3", "/g|h": "4",
		`/i\j`: "5", `/k"l`: "6", "/ ": "7", "/m~0n": "8", "/~01": "9", "/big/10": "10", "": v.JSON(),
	} {
		if got, ok := v.At(pointer); !ok || got.JSON() != want {
			t.Errorf("%q is %s, %v, want %s", pointer, got, ok, want)
		}
	}
	for _, pointer := range []string{"foo", "/nope", "/foo/2", "/foo/-", "/foo/01", "/foo/+1", "/foo/-1", "/foo/-0", "/foo/", "/foo/1e0", "/foo/0/x", "/foo/99999999999999999999"} {
		if got, ok := v.At(pointer); ok {
			t.Errorf("%q is %s", pointer, got)
		}
	}
}

func TestEveryPlaceHasItsPointer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root := anyValue().Draw(t, "root")
		var walk func(v value.Value, pointer string)
		walk = func(v value.Value, pointer string) {
			if got, ok := root.At(pointer); !ok || !value.Equal(got, v) {
				t.Fatalf("%q of %s is %s, want %s", pointer, root, got, v)
			}
			for i, item := range v.List() {
				walk(item, pointer+"/"+value.OfInt(int64(i)).JSON())
			}
			for k, member := range v.Map().All() {
				walk(member, pointer+"/"+value.Escape(k))
			}
		}
		walk(root, "")
	})
}

func TestEqualAndCompare(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int // 2: neither equal nor ordered
	}{
		{`1`, `1.0`, 0}, {`1`, `1e0`, 0}, {`10`, `1E+1`, 0}, {`-0`, `0`, 0}, {`0.0`, `-0e9`, 0}, {`1e400`, `10e399`, 0},
		{`1e400`, `2e400`, -1}, {`-1e400`, `-2e400`, 1}, {`1e-400`, `0`, 1}, {`-1e-400`, `0`, -1},
		{`1e99999999999999999999`, `1`, 1}, {`1e-99999999999999999999`, `1`, -1}, {`0e99999999999999999999`, `0`, 0},
		{`9007199254740993`, `9007199254740993.0`, 0}, {`9007199254740993`, `9007199254740992.0`, 1},
		{`2`, `10`, -1}, {`-2`, `1`, -1}, {`0.5`, `0.25`, 1}, {`1.05`, `1.5`, -1}, {`100`, `99.99`, 1},
		{`"a"`, `"b"`, -1}, {`"é"`, `"z"`, 1}, {`"a"`, `"a"`, 0}, {`false`, `true`, -1}, {`true`, `true`, 0}, {`true`, `false`, 1},
		{`null`, `false`, -1}, {`true`, `1`, -1}, {`99`, `""`, -1}, {`"x"`, `[]`, -1}, {`[]`, `{}`, -1}, {`null`, `null`, 0},
		{`[1,2]`, `[1,2.0]`, 0}, {`[1]`, `[1,0]`, -1}, {`[2]`, `[1,0]`, 1}, {`[]`, `[]`, 0},
		{`{"a":1,"b":2}`, `{"b":2.0,"a":1}`, 0}, {`{"a":1}`, `{"a":2}`, 2}, {`{"a":1}`, `{"b":1}`, 2}, {`{}`, `{"a":1}`, 2},
	} {
		a, b := parse(t, test.a), parse(t, test.b)
		if got := value.Equal(a, b); got != (test.want == 0) {
			t.Errorf("Equal(%s, %s) = %v", a, b, got)
		}
		if got := sign(value.Compare(a, b)); got != test.want%2 {
			t.Errorf("Compare(%s, %s) = %d, want %d", a, b, got, test.want%2)
		}
	}
	if !value.Equal(value.OfFloat(0.1), parse(t, "0.1")) || !value.Equal(value.OfFloat(0.1), parse(t, "0.10")) {
		t.Error("the float 0.1 is not the number 0.1")
	}
	if value.Compare(value.OfFloat(1.5), value.OfFloat(2.5)) >= 0 {
		t.Error("1.5 is not below 2.5")
	}
}

func sign(i int) int { return max(-1, min(1, i)) }

func TestEqualAndCompareLaws(t *testing.T) {
	number := rapid.Custom(func(t *rapid.T) value.Value {
		switch rapid.IntRange(0, 2).Draw(t, "form") {
		case 0:
			return value.OfInt(rapid.Int64().Draw(t, "int"))
		case 1:
			return value.OfFloat(rapid.Float64().Draw(t, "float"))
		}
		return drawNumber(t)
	})
	some := rapid.OneOf(anyValue(), number, number)
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := some.Draw(t, "a"), some.Draw(t, "b"), some.Draw(t, "c")
		if !value.Equal(a, a) || value.Compare(a, a) != 0 {
			t.Fatalf("%s is not itself", a)
		}
		if value.Equal(a, b) != value.Equal(b, a) || sign(value.Compare(a, b)) != -sign(value.Compare(b, a)) {
			t.Fatalf("%s and %s: the order of asking matters", a, b)
		}
		if value.Equal(a, b) && value.Compare(a, b) != 0 {
			t.Fatalf("%s equals %s, but sorts apart", a, b)
		}
		if value.Compare(a, b) <= 0 && value.Compare(b, c) <= 0 && value.Compare(a, c) > 0 {
			t.Fatalf("%s <= %s <= %s, but not the first and the last", a, b, c)
		}
	})
}

func TestCompareNumbersAgreesWithRationals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := func(label string) string {
			return rapid.StringMatching(`-?(0|[1-9][0-9]{0,12})(\.[0-9]{1,6})?([eE][+-]?[0-9]{1,2})?`).Draw(t, label)
		}
		a, b := text("a"), text("b")
		x, _ := new(big.Rat).SetString(a)
		y, _ := new(big.Rat).SetString(b)
		av, _ := value.OfNumber(a)
		bv, _ := value.OfNumber(b)
		if got, want := sign(value.Compare(av, bv)), x.Cmp(y); got != want {
			t.Fatalf("Compare(%s, %s) = %d, want %d", a, b, got, want)
		}
	})
}

func TestMapAgreesWithModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := value.NewMap(0)
		var keys []string
		model := map[string]int64{}
		for i := range int64(rapid.IntRange(0, 60).Draw(t, "steps")) {
			k := rapid.StringMatching(`[a-d][a-d]?`).Draw(t, "key")
			if rapid.IntRange(0, 3).Draw(t, "delete") == 0 {
				m.Delete(k)
				if _, has := model[k]; has {
					delete(model, k)
					for j := range keys {
						if keys[j] == k {
							keys = append(keys[:j:j], keys[j+1:]...)
							break
						}
					}
				}
				continue
			}
			if _, has := model[k]; !has {
				keys = append(keys, k)
			}
			model[k] = i
			m.Set(k, value.OfInt(i))
		}
		clone := m.Clone()
		clone.Set("only in the clone", value.Value{})
		if m.Len() != len(keys) || len(m.Keys()) != len(keys) {
			t.Fatalf("%d members, want %d", m.Len(), len(keys))
		}
		i := 0
		for k, v := range m.All() {
			entryKey, entry := m.Entry(i)
			got, ok := m.Get(k)
			if want := value.OfInt(model[k]); k != keys[i] || entryKey != k || !ok || !value.Equal(v, want) || !value.Equal(got, want) || !value.Equal(entry, want) {
				t.Fatalf("member %d is %q: %s, want %q: %s", i, k, v, keys[i], want)
			}
			i++
		}
		if _, ok := m.Get("absent"); ok {
			t.Fatal("an absent key is there")
		}
	})
	var none *value.Map
	if none.Len() != 0 || none.Keys() != nil {
		t.Error("a nil map is not empty")
	}
	for range none.All() {
		t.Error("a nil map has members")
	}
	for range value.Pairs("a", 1, "b", 2).All() {
		break // the range stops on request
	}
}

func TestRowsOfTablesAgreeWithMaps(t *testing.T) {
	keys := []string{"a", "b", "c", "d"}
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOf(rapid.SliceOfN(rapid.Int64Range(0, 3), len(keys), len(keys))).Draw(t, "rows") // 0 is null
		table := value.NewTable(rapid.IntRange(0, 5).Draw(t, "expected"), keys...)
		var got, want []value.Value
		for _, row := range rows {
			vals, m := make([]value.Value, len(keys)), value.NewMap(0)
			for i, n := range row {
				if n > 0 {
					vals[i] = value.OfInt(n)
					m.Set(keys[i], vals[i])
				}
			}
			got, want = append(got, table.Row(vals...)), append(want, value.OfMap(m))
		}
		if len(rows) > 0 { // a row that is changed leaves the others unchanged
			at := rapid.IntRange(0, len(rows)-1).Draw(t, "changed")
			deleted, added := rapid.SampledFrom(keys).Draw(t, "deleted"), rapid.SampledFrom([]string{"b", "other"}).Draw(t, "added")
			for _, list := range [][]value.Value{got, want} {
				list[at].Map().Delete(deleted)
				list[at].Map().Set(added, value.OfBool(true))
			}
		}
		if got, want := value.OfList(got...).JSON(), value.OfList(want...).JSON(); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	})
}

// TestNearestOfMany: of many names most are passed over before they are compared.
func TestNearestOfMany(t *testing.T) {
	keys := []string{"somewhere"}
	for i := range 10_000 {
		keys = append(keys, fmt.Sprintf("name %05d", i))
	}
	if got := value.Nearest("Somewehre", keys); got != "somewhere" {
		t.Errorf("got %q", got)
	}
	if n := testing.AllocsPerRun(1, func() { value.Nearest("somewehre", keys) }); n > 100 {
		t.Errorf("%v allocations for 10,000 names", n)
	}
}

func TestNearest(t *testing.T) {
	keys := []string{"messages", "model", "max_tokens", "temperature", "system"}
	for key, want := range map[string]string{
		"mesages": "messages", "Model": "model", "max-tokens": "max_tokens", "temprature": "temperature", "sytsem": "system",
		"xyz": "", "messages": "", "m": "", "a very long key that is nothing like any of the others, not at all, really not": "",
	} {
		if got := value.Nearest(key, keys); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", key, got, want)
		}
	}
	long := "a key of more than sixty-four characters is never taken for a typing mistake"
	if got := value.Nearest(long, []string{long + "s"}); got != "" {
		t.Errorf("Nearest of a long key = %q", got)
	}
}

// A pointer leads through the keys from which it was made, including empty ones and escaped ones.
func TestPointersKeepTheirKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.OneOf(rapid.SampledFrom([]string{"", "/", "~", "~1", "~0", "//", "-", "0"}), rapid.String())
		keys := rapid.SliceOfN(key, 0, 5).Draw(t, "keys")
		pointer := value.FormatPointer(keys...)
		got, ok := value.SplitPointer(pointer)
		if !ok || !slices.Equal(got, keys) {
			t.Fatalf("%q of %q is read as %q, %v", pointer, keys, got, ok)
		}
		v := value.OfInt(1)
		for _, key := range slices.Backward(keys) {
			v = value.OfMap(value.Pairs(key, v))
		}
		if got, ok := v.At(pointer); !ok || got.JSON() != "1" {
			t.Fatalf("%q of %s is %s, %v", pointer, v, got, ok)
		}
	})
	for _, pointer := range []string{"a", "a/b", "/~", "/a~2", "/~/1", "/~~0"} {
		if keys, ok := value.SplitPointer(pointer); ok {
			t.Errorf("%q is read as %q", pointer, keys)
		}
	}
}

func TestFirstKey(t *testing.T) {
	m := value.Pairs("empty", "", "nothing", value.Value{}, "n", 0, "text", "x")
	for keys, want := range map[[2]string]string{
		{"empty", "text"}: "text", {"n", "text"}: "n", {"nothing", "n"}: "n", {"nothing", "empty"}: "empty", {"lacking", "empty"}: "empty", {"lacking", "gone"}: "",
	} {
		if got := m.FirstKey(keys[0], keys[1]); got != want {
			t.Errorf("FirstKey%q is %q, want %q", keys, got, want)
		}
		v, ok := m.First(keys[0], keys[1])
		if member, has := m.Get(want); ok != has || !value.Equal(v, member) {
			t.Errorf("First%q is %s, want %s", keys, v.JSON(), member.JSON())
		}
	}
}

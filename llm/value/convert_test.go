package value_test

import (
	"encoding/json"
	"errors"
	"math"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/callnode/scheduler/llm/value"
)

type inner struct {
	X int `json:"x"`
	Y int `json:"y,omitempty"`
}

type Base struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

type everything struct {
	Base
	Name    string             `json:"name"` // hides Base.Name
	Bool    bool               `json:"bool"`
	Int8    int8               `json:"int8"`
	Int64   int64              `json:"int64"`
	Uint64  uint64             `json:"uint64"`
	F32     float32            `json:"f32"`
	F64     float64            `json:"f64"`
	Text    string             `json:"text"`
	List    []inner            `json:"list"`
	Pair    [2]int             `json:"pair"`
	ByName  map[string]inner   `json:"by_name"`
	Maybe   *inner             `json:"maybe"`
	Skipped string             `json:"-"`
	Time    time.Time          `json:"time"`
	Addr    netip.Addr         `json:"addr"`
	Named   map[Name][]float64 `json:"named"`
	Plain   string
	hidden  int //nolint:unused // it must be left out
}

type Name string

func TestDecodeUndoesOf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, num := rapid.String(), rapid.Int()
		item := rapid.Custom(func(t *rapid.T) inner { return inner{num.Draw(t, "x"), num.Draw(t, "y")} })
		x := everything{
			Base: Base{ID: text.Draw(t, "id")}, Name: text.Draw(t, "name"), Bool: rapid.Bool().Draw(t, "bool"),
			Int8: rapid.Int8().Draw(t, "int8"), Int64: rapid.Int64().Draw(t, "int64"), Uint64: rapid.Uint64().Draw(t, "uint64"),
			F32: rapid.Float32().Draw(t, "f32"), F64: rapid.Float64().Draw(t, "f64"), Text: text.Draw(t, "text"),
			List:   rapid.SliceOf(item).Draw(t, "list"),
			Pair:   [2]int{num.Draw(t, "p"), num.Draw(t, "q")},
			ByName: rapid.MapOf(text, item).Draw(t, "by name"),
			Time:   time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "time"), 0).UTC(),
			Addr:   netip.AddrFrom4([4]byte{rapid.Byte().Draw(t, "addr"), 1, 2, 3}),
			Named:  map[Name][]float64{Name(text.Draw(t, "key")): {rapid.Float64().Draw(t, "number")}},
			Plain:  text.Draw(t, "plain"),
		}
		if rapid.Bool().Draw(t, "maybe") {
			one := item.Draw(t, "one")
			x.Maybe = &one
		}
		v, err := value.Of(x)
		if err != nil {
			t.Fatal(err)
		}
		var back everything
		if err := value.Decode(v, &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(x, back, cmp.AllowUnexported(everything{}), cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
			t.Fatalf("came back different (-before +after):\n%s", diff)
		}
		// encoding/json reads and writes the same, except its nil slices.
		var std everything
		if err := json.Unmarshal(v.AppendJSON(nil), &std); err != nil || !reflect.DeepEqual(std, back) {
			t.Fatalf("encoding/json reads %s differently: %v", v, err)
		}
	})
}

func TestOf(t *testing.T) {
	number := json.Number("1.50")
	var nilMap *value.Map
	for _, test := range []struct {
		in   any
		want string
	}{
		{nil, `null`}, {true, `true`}, {7, `7`}, {int64(8), `8`}, {uint8(9), `9`}, {uint64(math.MaxUint64), `18446744073709551615`},
		{1.0, `1.0`}, {float32(0.1), `0.1`}, {math.NaN(), `null`}, {"x", `"x"`}, {number, `1.50`}, {&number, `1.50`},
		{json.RawMessage(`{"b":1.0, "a":2}`), `{"b":1.0,"a":2}`}, {json.RawMessage(nil), `null`},
		{[]string(nil), `[]`}, {map[string]int(nil), `{}`}, {map[string]any{"b": 1, "a": []any{nil}}, `{"a":[null],"b":1}`},
		{[]value.Value{value.OfInt(1)}, `[1]`}, {[]value.Value(nil), `[]`}, {nilMap, `{}`}, {value.Pairs("z", 1, "a", 2), `{"z":1,"a":2}`},
		{(*inner)(nil), `null`}, {&inner{X: 1}, `{"x":1}`}, {struct{ V value.Value }{value.OfString("v")}, `{"V":"v"}`},
		{struct {
			M *value.Map  `json:"m,omitempty"`
			V value.Value `json:"v,omitzero"`
			E []int       `json:"e,omitempty"`
		}{}, `{}`},
		{time.Date(2026, 3, 5, 9, 7, 0, 0, time.UTC), `"2026-03-05T09:07:00Z"`}, {netip.MustParseAddr("127.0.0.1"), `"127.0.0.1"`},
		{struct{ A any }{[]int{1}}, `{"A":[1]}`}, {[2]bool{true}, `[true,false]`}, {celsius(21), `{"celsius":21}`},
	} {
		got, err := value.Of(test.in)
		if err != nil || got.JSON() != test.want {
			t.Errorf("Of(%#v) = %s, %v, want %s", test.in, got, err, test.want)
		}
	}
}

// celsius has an encoding of its own.
type celsius int64

func (c celsius) EncodeValue() (value.Value, error) {
	if c < -273 {
		return value.Value{}, errors.New("colder than possible")
	}
	return value.OfMap(value.Pairs("celsius", int64(c))), nil
}

func (c *celsius) DecodeValue(v value.Value) error {
	degrees, _ := v.Get("celsius")
	i, ok := degrees.Int()
	if !ok {
		return errors.New("no degrees")
	}
	*c = celsius(i)
	return nil
}

type badJSON struct{}

func (badJSON) MarshalJSON() ([]byte, error) { return nil, errors.New("cannot") }

func TestOfErrors(t *testing.T) {
	cyclic := map[string]any{}
	cyclic["self"] = cyclic
	for _, test := range []struct {
		in   any
		want string
	}{
		{make(chan int), `a chan int cannot be written as JSON`},
		{map[string]any{"a/b": []any{1, func() {}}}, `/a~1b/1: a func() cannot be written as JSON`},
		{struct{ C chan int }{}, `/C: a chan int cannot be written as JSON`},
		{map[int]int{1: 1}, `the keys of a map[int]int are not strings`},
		{[]any{json.Number("x")}, `/0: "x" is not a JSON number`},
		{[]any{json.RawMessage(`{`)}, `/0: 1:2: the JSON text ends too early`},
		{[]any{badJSON{}}, `/0: cannot`},
		{[]celsius{-300}, `/0: colder than possible`},
	} {
		if _, err := value.Of(test.in); err == nil || err.Error() != test.want {
			t.Errorf("Of(%T): %v, want %s", test.in, err, test.want)
		}
	}
	if _, err := value.Of(cyclic); err == nil || !strings.HasSuffix(err.Error(), "nested deeper than 1000") {
		t.Errorf("Of a cycle: %.200v", err)
	}
	for _, panics := range []func(){
		func() { value.Must(make(chan int)) },
		func() { value.Pairs("a", make(chan int)) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			panics()
		}()
	}
}

func TestDecode(t *testing.T) {
	var target struct {
		V     value.Value       `json:"v"`
		M     *value.Map        `json:"m"`
		Raw   json.RawMessage   `json:"raw"`
		N     json.Number       `json:"n"`
		Any   any               `json:"any"`
		I     int               `json:"i"`
		U     *uint8            `json:"u"`
		C     celsius           `json:"c"`
		Addr  netip.Addr        `json:"addr"`
		Pairs map[string]string `json:"pairs"`
	}
	target.Addr = netip.MustParseAddr("10.0.0.1")
	err := value.Decode(parse(t, `{"v":1.50,"m":{"b":1,"a":2},"raw":[1.0],"n":2.50,"any":{"x":[1]},"i":3.0,"u":2e2,
		"c":{"celsius":20},"addr":null,"pairs":{"a":"b"},"unknown":1}`), &target)
	if err != nil {
		t.Fatal(err)
	}
	got := value.Must(target).JSON()
	want := `{"v":1.50,"m":{"b":1,"a":2},"raw":[1.0],"n":2.50,"any":{"x":[1]},"i":3,"u":200,"c":{"celsius":20},"addr":"","pairs":{"a":"b"}}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestDecodeErrors(t *testing.T) {
	type target struct {
		I    int8           `json:"i"`
		U    uint8          `json:"u"`
		F    float32        `json:"f"`
		B    bool           `json:"b"`
		S    string         `json:"s"`
		L    []int          `json:"l"`
		P    [2]int         `json:"p"`
		O    map[string]int `json:"o"`
		K    map[int]int    `json:"k"`
		In   *inner         `json:"in"`
		M    *value.Map     `json:"m"`
		T    time.Time      `json:"t"`
		Addr netip.Addr     `json:"addr"`
		N    json.Number    `json:"n"`
		C    celsius        `json:"c"`
		Fn   func()         `json:"fn"`
	}
	for text, want := range map[string]string{
		`{"i":1.5}`:            `/i: want integer, got number`,
		`{"i":128}`:            `/i: the number 128 is out of range`,
		`{"i":1e30}`:           `/i: the number 1e30 is out of range`,
		`{"i":"1"}`:            `/i: want integer, got string`,
		`{"u":-1}`:             `/u: want non-negative integer, got -1`,
		`{"u":256}`:            `/u: the number 256 is out of range`,
		`{"f":1e300}`:          `/f: the number 1e300 is out of range`,
		`{"f":1e999}`:          `/f: the number 1e999 is out of range`,
		`{"f":true}`:           `/f: want number, got boolean`,
		`{"b":1}`:              `/b: want boolean, got integer`,
		`{"s":[]}`:             `/s: want string, got array`,
		`{"l":{}}`:             `/l: want array, got object`,
		`{"l":[1,"2"]}`:        `/l/1: want integer, got string`,
		`{"p":[1]}`:            `/p: want 2 items, got 1`,
		`{"o":[]}`:             `/o: want object, got array`,
		`{"o":{"a/b":"x"}}`:    `/o/a~1b: want integer, got string`,
		`{"k":{"1":1}}`:        `/k: the keys of a map[int]int are not strings`,
		`{"in":{"x":{}}}`:      `/in/x: want integer, got object`,
		`{"in":1}`:             `/in: want object, got integer`,
		`{"m":1}`:              `/m: want object, got integer`,
		`{"addr":1}`:           `/addr: want string, got integer`,
		`{"n":"1"}`:            `/n: want number, got string`,
		`{"c":{}}`:             `/c: no degrees`,
		`{"fn":1}`:             `/fn: a func() cannot be read from JSON`,
		`3`:                    `want object, got integer`,
		`{"addr":"not an ip"}`: `/addr: ParseAddr("not an ip"): unable to parse IP`,
	} {
		var x target
		if err := value.Decode(parse(t, text), &x); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if err := value.Decode(parse(t, `{"t":"yesterday"}`), &target{}); err == nil || !strings.HasPrefix(err.Error(), "/t: ") {
		t.Errorf("a bad time: %v", err)
	}
	for _, bad := range []any{nil, target{}, (*target)(nil)} {
		if err := value.Decode(value.Value{}, bad); err == nil {
			t.Errorf("decoding into a %T is no error", bad)
		}
	}
	var notPlain interface{ M() }
	if err := value.Decode(value.OfInt(1), &notPlain); err == nil {
		t.Error("an interface with methods was decoded into")
	}
}

func TestAny(t *testing.T) {
	got := parse(t, `{"a":[1,2.0,1e3,"x",true,null,{}]}`).Any()
	want := map[string]any{"a": []any{json.Number("1"), json.Number("2.0"), json.Number("1e3"), "x", true, nil, map[string]any{}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := value.OfFloat(0.5).Any(); got != json.Number("0.5") {
		t.Errorf("0.5 is %#v", got)
	}
}

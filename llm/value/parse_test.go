package value_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/callnode/scheduler/llm/value"
)

func parse(t testing.TB, text string) value.Value {
	t.Helper()
	v, err := value.ParseJSON([]byte(text))
	if err != nil {
		t.Fatalf("ParseJSON(%q): %v", text, err)
	}
	return v
}

func TestParseJSONKeepsOrderAndSpelling(t *testing.T) {
	for _, text := range []string{
		`null`, `true`, `false`, `""`, `[]`, `{}`, `0`, `-0`, `1.50`, `1e3`, `1E+3`, `-0.0`, `2e-400`,
		`123456789012345678901234567890`, `9223372036854775807`, `-9223372036854775808`,
		`{"b":1,"a":[1,2.0,{"z":null,"y":"<&>"}]}`,
		`"é😀\u0001\n\t\r\"\\"`, `["a/b","~"]`,
		`{"1":0,"2":0,"3":0,"4":0,"5":0,"6":0,"7":0,"8":0,"9":0,"10":0}`,
	} {
		if got := parse(t, text).JSON(); got != text {
			t.Errorf("%s became %s", text, got)
		}
	}
}

func TestParseJSONReads(t *testing.T) {
	for text, want := range map[string]string{
		" [ 1 ,\t2\r\n] ":            `[1,2]`,
		`"\u00e9\/\b\f"`:             `"é/\u0008\u000c"`,
		`"\ud83d\ude00"`:             `"😀"`,
		`"\ud83d"`:                   `"` + "\uFFFD" + `"`,
		`"\ud83dx"`:                  `"` + "\uFFFD" + `x"`,
		`"\ud83d\u0041"`:             `"` + "\uFFFD" + `A"`,
		"\"a\xffb\"":                 `"a` + "\uFFFD" + `b"`,
		"\"\\n\xff\xfe\"":            `"\n` + "\uFFFD\uFFFD" + `"`,
		`{"a":1,"b":2,"a":3}`:        `{"a":3,"b":2}`,
		`"` + "\u2028\u007f" + `"`:   `"` + "\u2028\u007f" + `"`,
		`[[],{},[[]],{"a":{}},null]`: `[[],{},[[]],{"a":{}},null]`,
	} {
		if got := parse(t, text).JSON(); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func TestParseJSONErrors(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{``, `1:1: the JSON text ends too early`},
		{`{"a": [1, 2`, `1:12: the JSON text ends too early`},
		{`"abc`, `1:5: the JSON text ends too early`},
		{`"abc\`, `1:6: the JSON text ends too early`},
		{`"a\u12`, `1:7: the JSON text ends too early`},
		{"{\n  \"a\": 1,\n  b: 2}", `3:3: want a key in double quotes, found 'b'`},
		{"{\"é\" 1}", `1:6: want a colon after the key, found '1'`},
		{`[1 2]`, `1:4: want a comma or the end of the array, found '2'`},
		{`{"a":1 "b":2}`, `1:8: want a comma or the end of the object, found '"'`},
		{`[1,]`, `1:4: want a JSON value, found ']'`},
		{`{"a":1,}`, `1:8: want a key in double quotes, found '}'`},
		{`nul`, `1:1: want a JSON value, found 'n'`},
		{`-`, `1:2: the JSON text ends too early`},
		{`-x`, `1:2: want a digit, found 'x'`},
		{`01`, `1:2: want a digit, found '1'`},
		{`1.`, `1:2: more than one JSON value`},
		{`1 2`, `1:3: more than one JSON value`},
		{`NaN`, `1:1: want a JSON value, found 'N'`},
		{"\"a\nb\"", `1:3: the control character '\n' in a string must be escaped`},
		{"\"\\n\nb\"", `1:4: the control character '\n' in a string must be escaped`},
		{`"\x41 and more"`, `1:2: the escape "\\x41 a" does not exist`},
		{`"\uZZZZ"`, `1:2: the escape "\\uZZZZ" does not exist`},
		{strings.Repeat("[", 1002), `1:1002: nested deeper than 1000`},
	} {
		_, err := value.ParseJSON([]byte(test.text))
		if err == nil || err.Error() != test.want {
			t.Errorf("ParseJSON(%.20q): %v, want %s", test.text, err, test.want)
		}
	}
}

func TestParseStrictJSON(t *testing.T) {
	const text = `{"a": {"b": 1}, "c": [{"b": 1, "b": 2}]}`
	if _, err := value.ParseStrictJSON([]byte(text)); err == nil || err.Error() != `1:32: duplicate key "b"` {
		t.Errorf("got %v", err)
	}
	if got := parse(t, text).JSON(); got != `{"a":{"b":1},"c":[{"b":2}]}` {
		t.Errorf("of a repeated key the last value counts: got %s", got)
	}
	for text, want := range map[string]string{
		`{"a": "\\ud83d\ud83dx"}`: `1:15: the escape \ud83d is half of a character (write the two escapes of the pair, or the character itself)`,
		"[1,\n\"é\xff\"]":         `2:3: the text is not UTF-8 here; it looks like Windows-1252 (save it as UTF-8)`,
		"[\"\uFFFD\\n\xff\"]":     `1:6: the text is not UTF-8 here; it looks like Windows-1252 (save it as UTF-8)`,
		`["\ufffd\ud83d\ude00"]`:  "<nil>",
	} {
		if _, err := value.ParseStrictJSON([]byte(text)); fmt.Sprint(err) != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	if v, err := value.ParseStrictJSON([]byte(`{"a": {"b": 1}, "b": 2}`)); err != nil || v.JSON() != `{"a":{"b":1},"b":2}` {
		t.Errorf("got %s, %v", v, err)
	}
}

func TestLineColStaysInside(t *testing.T) {
	for _, test := range []struct{ offset, line, col int }{
		{-1, 1, 1}, {0, 1, 1}, {2, 1, 2}, {3, 2, 1}, {99, 2, 2},
	} {
		if line, col := value.LineCol("é\nx", test.offset); line != test.line || col != test.col {
			t.Errorf("offset %d is at %d:%d, want %d:%d", test.offset, line, col, test.line, test.col)
		}
	}
}

func TestIndented(t *testing.T) {
	v := parse(t, `{"b":[1,{"c":2}],"a":{},"l":[]}`)
	want := "{\n  \"b\": [\n    1,\n    {\n      \"c\": 2\n    }\n  ],\n  \"a\": {},\n  \"l\": []\n}"
	if got := string(v.AppendIndented(nil, "  ")); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// anyValue draws values of every kind, numbers in unusual spellings among them.
func anyValue() *rapid.Generator[value.Value] {
	return rapid.Custom(func(t *rapid.T) value.Value { return drawValue(t, 3) })
}

func drawValue(t *rapid.T, depth int) value.Value {
	kinds := 6
	if depth > 0 {
		kinds = 8
	}
	switch rapid.IntRange(0, kinds).Draw(t, "kind") {
	case 0:
		return value.Value{}
	case 1:
		return value.OfBool(rapid.Bool().Draw(t, "bool"))
	case 2:
		return value.OfInt(rapid.Int64().Draw(t, "int"))
	case 3:
		return value.OfFloat(rapid.Float64().Draw(t, "float"))
	case 4:
		return drawNumber(t)
	case 5, 6:
		return value.OfString(rapid.String().Draw(t, "string"))
	case 7:
		n := rapid.IntRange(0, 4).Draw(t, "items")
		items := make([]value.Value, n)
		for i := range items {
			items[i] = drawValue(t, depth-1)
		}
		return value.OfList(items...)
	}
	m := value.NewMap(0)
	for range rapid.IntRange(0, 12).Draw(t, "members") {
		m.Set(rapid.StringN(0, 3, -1).Draw(t, "key"), drawValue(t, depth-1))
	}
	return value.OfMap(m)
}

func drawNumber(t *rapid.T) value.Value {
	text := rapid.StringMatching(`-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,6})?([eE][+-]?[0-9]{1,4})?`).Draw(t, "number")
	v, err := value.OfNumber(text)
	if err != nil {
		t.Fatalf("OfNumber(%q): %v", text, err)
	}
	return v
}

func TestJSONRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := anyValue().Draw(t, "v")
		for _, text := range []string{v.JSON(), string(v.AppendIndented(nil, "\t"))} {
			back, err := value.ParseJSON([]byte(text))
			if err != nil {
				t.Fatalf("ParseJSON(%s): %v", text, err)
			}
			if back.JSON() != v.JSON() || !value.Equal(back, v) {
				t.Fatalf("%s came back as %s", v, back)
			}
		}
		var viaStd value.Value
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &viaStd); err != nil || !value.Equal(viaStd, v) {
			t.Fatalf("%s came back from encoding/json as %s, %v", v, viaStd, err)
		}
	})
}

func FuzzParseJSON(f *testing.F) {
	for _, seed := range []string{
		`{"a": [1, -0.5e+3, "é\u00e9\ud83d\ude00"], "a": null}`, `[1,]`, "\"\xff\"", `{"a":1}x`, `01`, `1.`, `1e`, `-`, `"\u12"`, `tru`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := value.ParseJSON(data)
		if valid := json.Valid(data); valid != (err == nil) {
			if valid && strings.Contains(err.Error(), "nested deeper") {
				return
			}
			t.Fatalf("encoding/json says valid = %v, we say %v: %q", valid, err, data)
		}
		if err != nil {
			return
		}
		again, err := value.ParseJSON(v.AppendJSON(nil))
		if err != nil || again.JSON() != v.JSON() || !value.Equal(again, v) {
			t.Fatalf("%s came back as %s, %v", v, again, err)
		}
		var std any
		if err := json.Unmarshal(data, &std); err != nil {
			return // numbers that no float64 holds
		}
		if mine := value.Must(std); !sameButNumbers(mine, v) {
			t.Fatalf("encoding/json reads %s, we read %s", mine, v)
		}
	})
}

// sameButNumbers compares values, and of numbers only that both are some, for float64 changes them.
func sameButNumbers(a, b value.Value) bool {
	if a.Kind() == value.Int || a.Kind() == value.Float {
		return b.Kind() == value.Int || b.Kind() == value.Float
	}
	if a.Kind() != b.Kind() || len(a.List()) != len(b.List()) || a.Map().Len() != b.Map().Len() {
		return false
	}
	for i := range a.List() {
		if !sameButNumbers(a.List()[i], b.List()[i]) {
			return false
		}
	}
	for k, x := range a.Map().All() {
		if y, ok := b.Get(k); !ok || !sameButNumbers(x, y) {
			return false
		}
	}
	return a.Kind() >= value.List || value.Equal(a, b)
}

func BenchmarkParseJSON(b *testing.B) {
	var text strings.Builder
	text.WriteString(`{"messages":[`)
	for i := range 200 {
		if i > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, `{"role":"user","content":"message %d says \"hello\" to 世界","n":%d,"score":0.%d,"tags":["a","b"]}`, i, i, i+1)
	}
	text.WriteString(`]}`)
	data := []byte(text.String())
	b.Run("value", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := value.ParseJSON(data); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			var v any
			if err := json.Unmarshal(data, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
}

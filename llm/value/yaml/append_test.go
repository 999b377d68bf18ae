package yaml

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/callnode/scheduler/llm/value"
)

func parseJSON(t *testing.T, text string) value.Value {
	t.Helper()
	v, err := value.ParseJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestAppend(t *testing.T) {
	tests := []struct{ name, json, want string }{
		{"object", `{"b": 1, "a": [true, null, "x y", {"k": []}, [1, [2]]], "o": {}}`, `b: 1
a:
  - true
  - null
  - x y
  - k: []
  - - 1
    - - 2
o: {}
`},
		{"list of objects", `[{"role": "user", "content": "你好，世界"}, {"role": "tool", "num": {"deep": 1.50}}]`, `- role: user
  content: 你好，世界
- role: tool
  num:
    deep: 1.50
`},
		{"blocks", `{"a": "one\ntwo", "b": "one\ntwo\n", "c": "one\n\n\n", "d": " in\n  out", "e": "\nlate\n", "f": "tab:\n\tx"}`, `a: |-
  one
  two
b: |
  one
  two
c: |+
  one


d: |2-
   in
    out
e: |2

  late
f: |-
  tab:
  	x
`},
		{"quotes", `["", " a", "a ", "true", "No", "1", "a: b", "a #b", "a:", "- a", "{\"k\": 'v'}", "C:\\x", "\n\n", "a\r\nb", "\u0085", "2026-11-20", "~", "@a", "*a"]`, `- ""
- " a"
- "a "
- "true"
- "No"
- "1"
- "a: b"
- "a #b"
- "a:"
- "- a"
- '{"k": ''v''}'
- C:\x
- "\n\n"
- "a\r\nb"
- "\u0085"
- "2026-11-20"
- "~"
- "@a"
- "*a"
`},
		{"numbers", `[-0, 1e3, 123456789012345678901234567890, 0.1, 1e999, -2E-7]`, `- -0
- 1e3
- 123456789012345678901234567890
- 0.1
- !!float 1e999
- -2E-7
`},
		{"scalar", `"one\ntwo"`, "|-\n  one\n  two\n"},
		{"empty", `{}`, "{}\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := parseJSON(t, tt.json)
			got := string(Append(nil, v))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			checkRoundTrip(t, v)
		})
	}
}

func TestAppendLongKey(t *testing.T) {
	long := strings.Repeat("very long key ", 250)
	longEscaped := strings.Repeat("\x1f", maxPlainKey)
	for _, key := range []string{long, longEscaped} {
		checkRoundTrip(t, value.Must(map[string]any{key: map[string]any{key: 1, "a": []any{map[string]any{key: "x\ny"}}}}))
	}
}

// checkRoundTrip compares JSON texts, which keep the order of keys and the
// spelling of numbers.
func checkRoundTrip(t interface{ Errorf(string, ...any) }, v value.Value) {
	text := Append(nil, v)
	got, err := ParseValue(text)
	if err != nil {
		t.Errorf("%s\n%v", text, err)
		return
	}
	if diff := cmp.Diff(v.JSON(), got.JSON()); diff != "" {
		t.Errorf("%q (-want +got)\n%s", text, diff)
	}
}

func valueGen() *rapid.Generator[value.Value] {
	piece := rapid.OneOf(rapid.String(), rapid.StringMatching(`[ \t\n\r'"#:\-\[{|>%@*&!?,a0~<\\]{0,12}`),
		rapid.SampledFrom([]string{"\n", "\u2028", "\ufeff", "true", "1e5", "0x1f", "<<", "---", "...", "\x00", "é", "漢字", ".inf", "12:30"}))
	text := rapid.Custom(func(t *rapid.T) string {
		s := ""
		for range rapid.IntRange(0, 4).Draw(t, "pieces") {
			s += piece.Draw(t, "piece")
		}
		return s
	})
	var gen func(depth int) *rapid.Generator[value.Value]
	gen = func(depth int) *rapid.Generator[value.Value] {
		return rapid.Custom(func(t *rapid.T) value.Value {
			top := 6
			if depth > 4 {
				top = 4
			}
			switch rapid.IntRange(0, top).Draw(t, "kind") {
			case 0:
				return value.Value{}
			case 1:
				return value.OfBool(rapid.Bool().Draw(t, "bool"))
			case 2:
				return value.OfInt(rapid.Int64().Draw(t, "int"))
			case 3:
				return value.OfFloat(rapid.Float64().Draw(t, "float"))
			case 4:
				return value.OfString(text.Draw(t, "text"))
			case 5:
				return value.OfList(rapid.SliceOfN(gen(depth+1), 0, 4).Draw(t, "list")...)
			}
			m := value.NewMap(4)
			for range rapid.IntRange(0, 4).Draw(t, "members") {
				m.Set(text.Draw(t, "key"), gen(depth+1).Draw(t, "member"))
			}
			return value.OfMap(m)
		})
	}
	return gen(0)
}

func TestAppendRoundTrip(t *testing.T) {
	gen := valueGen()
	rapid.Check(t, func(t *rapid.T) { checkRoundTrip(t, gen.Draw(t, "value")) })
}

func FuzzAppend(f *testing.F) {
	f.Add("a\n  b\n\n", "key")
	f.Add(" \n\tx", "k: v")
	f.Add("#", "")
	f.Fuzz(func(t *testing.T, text, key string) {
		// Bytes that are not UTF-8 are replaced by both texts alike.
		v := value.Must(map[string]any{key: []any{text, map[string]any{text: text, "a": key}}, "z": text})
		clean, err := value.ParseJSON(v.AppendJSON(nil))
		if err != nil {
			t.Fatal(err)
		}
		checkRoundTrip(t, clean)
	})
}

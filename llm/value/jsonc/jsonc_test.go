package jsonc

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/callnode/scheduler/llm/value"
)

func TestParse(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"plain":           {`{"b": 1.50, "a": [true, null]}`, `{"b":1.50,"a":[true,null]}`},
		"comments":        {"{ // one\n \"a\": /* two */ 1 }", `{"a":1}`},
		"trailing commas": {`{"a": [1, 2,],}`, `{"a":[1,2]}`},
		"mark":            {"\uFEFF[]", `[]`},
		"url in a string": {`{"u": "http://x/*y*/,]"}`, `{"u":"http://x/*y*/,]"}`},
		"comment after":   {"[] // end", `[]`},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := Parse([]byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			if got := d.Value.JSON(); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	deep := strings.Repeat("[ /*]*/ \"]\" ,", maxDepth+1)
	for name, c := range map[string]struct{ text, want string }{
		"empty":      {" \n", "1:1: the text is empty"},
		"cut":        {"{\n \"a\": [", "2:8: parsing value: the text ends too early"},
		"columns":    {"{\"时间\": tru}", "1:8: invalid literal: tru"},
		"two values": {"{} {}", "1:4: invalid character '{' after top-level value"},
		"twice":      {"{\"a\": 1,\n  \"a\": 2}", "2:3: duplicate key \"a\" (first at 1:2)"},
		"twice deep": {"[{\"a\": {\"b\": 1, \"b\": 2}}]", "1:17: duplicate key \"b\" (first at 1:9)"},
		"not UTF-8":  {"{\"a\": \"\xff\"}", "1:8: the text is not UTF-8 here; it looks like Windows-1252"},
		"deep":       {deep, "1:13001: nested deeper than 1000"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(c.text))
			var fault *Error
			if !errors.As(err, &fault) {
				t.Fatalf("got %v, want an *Error", err)
			}
			if fault.Error() != c.want {
				t.Errorf("got  %s\nwant %s", fault, c.want)
			}
		})
	}
}

func TestAt(t *testing.T) {
	d, err := Parse([]byte("// head\n{\n  \"a\": [1, {\"键/\": 2}],\n}"))
	if err != nil {
		t.Fatal(err)
	}
	for pointer, want := range map[string][2]int{
		"": {2, 1}, "/a": {3, 8}, "/a/1/键~1": {3, 19}, "/a/1/none/x": {3, 12}, "/zzz": {2, 1},
	} {
		if line, col := d.At(pointer); [2]int{line, col} != want {
			t.Errorf("%q is at %d:%d, want %v", pointer, line, col, want)
		}
	}
	for pointer, want := range map[string]int{"/a": 12, "/a/1/键~1": 22, "": -1, "/a/1": -1, "/zzz": -1, "/zzz/x": -1, "/a/0/x": -1} {
		if offset, ok := d.NameOffset(pointer); ok != (want >= 0) || ok && offset != want {
			t.Errorf("the name of %q is at %d (%t), want %d", pointer, offset, ok, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"a": 1}`, "[1, /* x */ 2,] // y", "\uFEFF{}", `{"a": "\ud800"}`, `{"a`, "/*", `{"a":1,"a":2}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := Parse(data)
		if err != nil {
			var fault *Error
			if !errors.As(err, &fault) || fault.Line < 1 || fault.Col < 1 {
				t.Fatalf("an error without a place: %v", err)
			}
			return
		}
		if json.Valid(data) { // valid JSON must not be read differently
			plain, err := value.ParseJSON(data)
			if err != nil || plain.JSON() != d.Value.JSON() {
				t.Fatalf("got %s, JSON gives %s (%v)", d.Value, plain, err)
			}
		}
		d.At("/a/0")
	})
}

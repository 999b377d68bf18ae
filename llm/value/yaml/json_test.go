package yaml

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/callnode/scheduler/llm/value"
)

// Syntax that JSON has and YAML lacks is read by JSON's rules.
func TestJSON(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"surrogates":      {`{"a": "\ud83d\ude00"}`, `{"a":"😀"}`},
		"slash":           {`{"a": "<\/b>"}`, `{"a":"</b>"}`},
		"control":         {"[\"\u007f\u0085\u009f\"]", "[\"\u007f\u0085\u009f\"]"},
		"tabs":            {"{\n\t\"a\": 1,\n\t\"b\":\t2\n}", `{"a":1,"b":2}`},
		"comments":        {"// x\n{\"a\": 1, /* y */ \"b\": 2,}", `{"a":1,"b":2}`},
		"byte order mark": {"\uFEFF{\"a\":1}", `{"a":1}`},
		"numbers":         {`[1e3, -0, 1.50, 12345678901234567890123, 1E400]`, `[1e3,-0,1.50,12345678901234567890123,1E400]`},
		"yaml in braces":  {"{a: 1, 'b': [x, 010020]}", `{"a":1,"b":["x","010020"]}`},
		"words":           {`{"null": null, "true": true, "no": "no"}`, `{"null":null,"true":true,"no":"no"}`},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := ParseValue([]byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, v.JSON()); diff != "" {
				t.Error(diff)
			}
		})
	}
	for text, want := range map[string]string{
		"{\n  \"a\": 1\n  \"b\": 2\n}":     "3:3: not JSON: invalid character '\"' after object value (expecting ',' or '}')",
		"{\n\"a\": \"\\\\ud83d \\ud83d\"}": `2:15: not JSON: the escape \ud83d is half of a character (write the two escapes of the pair, or the character itself)`,
		`{"\ude00": 1}`:                    `1:3: not JSON: the escape \ude00 is half of a character (write the two escapes of the pair, or the character itself)`,
		`{"a": 1, "a": 2}`:                 `1:10: duplicate key "a" (first at 1:2)`,
	} {
		if _, err := ParseValue([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// Nodes of JSON have the places of their characters.
func TestJSONPlaces(t *testing.T) {
	root, err := Parse([]byte("{\"é\u2028\": [1,\r\n \"x\"]}"))
	if err != nil {
		t.Fatal(err)
	}
	list := root.Content[1]
	got := [][2]int{{list.Line, list.Column}, {list.Content[0].Line, list.Content[0].Column}, {list.Content[1].Line, list.Content[1].Column}}
	if diff := cmp.Diff([][2]int{{2, 4}, {2, 5}, {3, 2}}, got); diff != "" {
		t.Error(diff)
	}
}

// Any JSON text is read as the JSON parser reads it.
func TestJSONSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := value.Must(rapid.MapOf(rapid.String(), rapid.SliceOf(rapid.String())).Draw(t, "v"))
		got, err := ParseValue(v.AppendJSON(nil))
		if err != nil || !value.Equal(got, v) {
			t.Fatalf("got %s, %v", got.JSON(), err)
		}
	})
}

// TestPositionsInOneLine: columns are right at each element of a line of 2 MB. Counting each from
// the start of the line took half a minute.
func TestPositionsInOneLine(t *testing.T) {
	const items = 500_000
	list, err := Parse([]byte("[" + strings.Repeat(`"é",`, items) + "1]"))
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Content) != items+1 {
		t.Fatalf("%d items, want %d", len(list.Content), items+1)
	}
	for i, item := range list.Content {
		if want := 2 + 4*i; item.Line != 1 || item.Column != want {
			t.Fatalf("item %d is at %d:%d, want 1:%d", i, item.Line, item.Column, want)
		}
	}
}

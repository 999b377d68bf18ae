package extract_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls/slot/extract"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/test/slow"
)

func TestVectors(t *testing.T) {
	data, err := os.ReadFile("../../../test/vectors/slot_json_extract.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		row, err := value.ParseJSON(line)
		if err != nil {
			t.Fatal(err)
		}
		id, _ := row.Get("id")
		text, _ := row.Get("text")
		ideal, _ := row.Get("ideal")
		s, _ := text.Str()
		got, _, ok := extract.Find(s)
		if ok == ideal.IsNull() || !value.Equal(got, ideal) {
			t.Errorf("%s: %q gives %s (%t), want %s", id, s, got, ok, ideal)
		}
	}
}

func TestFind(t *testing.T) {
	const none = "none"
	tests := []struct {
		text, want string
		repaired   bool
	}{
		{text: "", want: none},
		{text: "I do not know.", want: none},
		{text: `null`, want: `null`},
		{text: `"text"`, want: `"text"`},
		{text: `{"a": {"b": [1, {"c": "}"}]}}`, want: `{"a":{"b":[1,{"c":"}"}]}}`},
		// Thoughts.
		{text: `<think>{"a": 0}</think>{"a": 1}`, want: `{"a":1}`},
		{text: `{"a": 0} and so on</think> {"a": 1}`, want: `{"a":1}`},
		{text: `<think>never ends {"a": 0}`, want: none},
		{text: "<Thinking>\n{\"a\": 0}\n</Thinking>\n{\"a\": 1}", want: `{"a":1}`},
		// Fences.
		{text: "First\n```json\n{\"a\": 0}\n```\nbetter\n```json\n{\"a\": 1}\n```\nDone {ok}.", want: `{"a":1}`},
		{text: "```\n{\"a\": 1}\n```", want: `{"a":1}`},
		{text: "```JSON\n{\"a\": 1}\n", want: `{"a":1}`},
		{text: "```python\nprint(1)\n```\n```json\n{\"a\": 1}\n```", want: `{"a":1}`},
		{text: "```json\nThe answer: {\"a\": 1}\n```", want: `{"a":1}`},
		{text: "```json\n{\"a\": \"```\"}\n```", want: "{\"a\":\"```\"}"},
		// Prose.
		{text: `As in {city}: {"a": 1}. See [1].`, want: `{"a":1}`},
		{text: `For {"a": 0} better {"a": 1}!`, want: `{"a":1}`},
		{text: `It's {"a": 1}`, want: `{"a":1}`},
		{text: `列表 [{"a": 1}, {"a": 2}] 完`, want: `[{"a":1},{"a":2}]`},
		// Nearly right.
		{text: `{'a': 'it', 'b': None, 'c': True}`, want: `{"a":"it","b":null,"c":true}`, repaired: true},
		{text: `{a: 1, b: "x"}`, want: `{"a":1,"b":"x"}`, repaired: true},
		{text: "{\n  // why\n  \"a\": 1, /* and */ \"b\": 2,\n}", want: `{"a":1,"b":2}`, repaired: true},
		{text: `{“a”: “杭州”}`, want: `{"a":"杭州"}`, repaired: true},
		{text: `{"a": {"b": 1},}`, want: `{"a":{"b":1}}`, repaired: true},
		{text: `{"a"：1，"b"："x，y"}`, want: `{"a":1,"b":"x，y"}`, repaired: true},
		{text: `{“a”：“x，y”，'b'：'：'}`, want: `{"a":"x，y","b":"："}`, repaired: true},
		{text: "{\n  \"a\": 1, // don't ask\n  \"b\": 2, /* it's } */\n}", want: `{"a":1,"b":2}`, repaired: true},
		{text: `{url: "http://x/y", 'b': 1}`, want: `{"url":"http://x/y","b":1}`, repaired: true},
		{text: "{\u00a0'a': 1}", want: `{"a":1}`, repaired: true},
		{text: `{"a": 1, ...}`, want: `{"a":1}`, repaired: true},
		{text: `{'info': 'inf', 'b': 'NaN;...'}`, want: `{"info":"inf","b":"NaN;..."}`, repaired: true},
		// Escapes stay when something else is repaired.
		{text: `{"a": "he said \"hi\"", "b": "C:\\dir\n",}`, want: `{"a":"he said \"hi\"","b":"C:\\dir\n"}`, repaired: true},
		{text: `{'a': 'it\'s "x" \x41\xe9 \u00e9 \d', 'b': '\\'}`, want: `{"a":"it's \"x\" Aé é \\d","b":"\\"}`, repaired: true},
		{text: "{\"a\": \"\\\\\n\t\",}", want: `{"a":"\\\n\t"}`, repaired: true},
		{text: `{"a": "x" "b": "y"}`, want: `{"a":"x","b":"y"}`, repaired: true},
		{text: `{"a": "x\"" "b": "y"}`, want: none},
		{text: `{"a": 1 2}`, want: none},
		{text: "So: {\"a\": \"run ```ls``` or ```json\\n{\\\"b\\\": 1}\\n```\"} [1]", want: "{\"a\":\"run ```ls``` or ```json\\n{\\\"b\\\": 1}\\n```\"}"},
		{text: "It's: {\"b\": {\"```\": \"x\"}, \"c\": \"[1]\"} ok", want: "{\"b\":{\"```\":\"x\"},\"c\":\"[1]\"}"},
		{text: "So: ```json\n{\"a\": 1}\n``` {x}", want: `{"a":1}`},
		{text: "One:\n  ```json{\"a\": 1}```\nor {\"a\": 2}", want: `{"a":1}`},
		{text: "Here:\n```json\n{\"a\": 1}``` as {\"b\": 2} was\n```\n[3]\n``` before", want: `[3]`},
		{text: "Draft:\n```json\n{\"a\": 1}\n```\nFinal: ```json\n{\"a\": 2}\n```\nDone.", want: `{"a":2}`},
		{text: "Draft: ```json\r\n{\"a\": 1}```\r\nFinal: ```\r\n{\"a\": 2}```\r\n", want: `{"a":2}`},
		{text: "Here:\n```json\n{\"a\": 1}``` instead of {\"b\": 2}", want: `{"a":1}`},
		{text: "```json\n{\"a\": \"write ```{x}``` so\"}\n```", want: "{\"a\":\"write ```{x}``` so\"}"},
		{text: `{"a": /* it's */ 1,}`, want: `{"a":1}`, repaired: true},
		{text: `{"a":/* it's */ 1,}`, want: `{"a":1}`, repaired: true},
		// Thoughts and fences in strings.
		{text: `{"a": "<think>x</think>", "b": "y</think>"}`, want: `{"a":"<think>x</think>","b":"y</think>"}`},
		{text: "\ufeff{\"a\": \"```json\\n{}\\n```\"}", want: "{\"a\":\"```json\\n{}\\n```\"}"},
		// Not to be mended.
		{text: `{"a": ...}`, want: none},
		{text: `{"a": …, "b": 1}`, want: none},
		{text: `{"a": <the city>}`, want: none},
		{text: `{"a": [...]}`, want: none},
		{text: `{'a': nan}`, want: none},
		{text: `{'a': [1, nan, 2]}`, want: none},
		{text: `{'a': -inf}`, want: none},
		{text: `{"a": 1; "b": 2}`, want: none},
		{text: `{"a": {"b": 1}, "c": `, want: none},
		{text: `{"a": [1,2,,3]}`, want: none},
		{text: `{"a": -Infinity}`, want: none},
		{text: `{{{{{{`, want: none},
	}
	for _, tt := range tests {
		v, repaired, ok := extract.Find(tt.text)
		got := v.JSON()
		if !ok {
			got = none
		}
		if got != tt.want || repaired != tt.repaired {
			t.Errorf("%q gives %s (repaired %t), want %s (%t)", tt.text, got, repaired, tt.want, tt.repaired)
		}
	}
}

// Nothing may take quadratic time: the test would last a minute.
func TestLong(t *testing.T) {
	slow.Test(t)
	guessed := "{" + strings.Repeat("a:b,", 20_000) + "}"
	for _, text := range []string{strings.Repeat("{//", 40_000), strings.Repeat(guessed, 2)} {
		if v, _, ok := extract.Find(text); ok {
			t.Errorf("%.20s gives %.100s", text, v.JSON())
		}
	}
	strict := "{" + strings.Repeat("a: 'b',", 10_000) + "}"
	if v, _, ok := extract.Find(strings.Repeat(strict, 2)); !ok || v.JSON() != `{"a":"b"}` {
		t.Errorf("got %.100s", v.JSON())
	}
}

func FuzzExtract(f *testing.F) {
	for _, seed := range []string{`{"a":1}`, "```json\n{'a': [1,}\n```", "<think>{</think>[{\"a\":1,}]", `{{"a":NaN}}`, "{\"a\": \"\\u00", "[[[[", `{a:'`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, _, ok := extract.Find(text)
		if !ok && !v.IsNull() {
			t.Errorf("%q gives %s and is not ok", text, v)
		}
		if _, err := value.ParseJSON(v.AppendJSON(nil)); err != nil {
			t.Errorf("%q gives %s: %v", text, v, err)
		}
	})
}

// Members of an object are there once they end, however the text is cut into pieces.
func TestMembers(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"an object", `{"a": 1, "b": [1, {"c": "}"}], "c": "x\"},{"}`, `{"a":1}{"b":[1,{"c":"}"}]}{"c":"x\"},{"}`},
		{"in a fence", "```json\n{\"a\": 1}\n```", `{"a":1}`},
		{"blanks before", "\n  {\"a\": \"é\"}", `{"a":"é"}`},
		{"words before", `It is {"a": 1}`, ``},
		{"a list", `[{"a": 1}]`, ``},
		{"nothing in it", `{} {"a": 1}`, ``},
		{"only the first object", `{"a": 1} {"b": 2}`, `{"a":1}`},
		{"not quite JSON", `{"a": 1, 'b': 2, "c": 3}`, `{"a":1}`},
		{"cut off", `{"a": 1, "b": 2`, `{"a":1}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for size := 1; size <= len(tt.text); size++ {
				var members extract.Members
				got := ""
				for i := 0; i < len(tt.text); i += size {
					for _, one := range members.Add(tt.text[i:min(len(tt.text), i+size)]) {
						got += one.JSON()
					}
				}
				if got != tt.want {
					t.Fatalf("in pieces of %d bytes: got %s, want %s", size, got, tt.want)
				}
			}
		})
	}
}

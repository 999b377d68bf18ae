package prompt

import (
	"bytes"
	"context"
	"errors"
	"os"
	"testing"

	"github.com/callnode/scheduler/llm/value"
)

// TestRecorded renders templates whose results were recorded from Jinja2 3.1.6
// (StrictUndefined, immutable sandbox, keep_trailing_newline, tojson as Hugging
// Face has it). The first line has the values that all of them share.
func TestRecorded(t *testing.T) {
	data, err := os.ReadFile("testdata/recorded.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var scope Values
	for line := range bytes.Lines(data) {
		row, err := value.ParseJSON(line)
		if err != nil {
			t.Fatal(err)
		}
		if v, ok := row.Get("values"); ok {
			scope.Map = v.Map()
			continue
		}
		str := func(key string) string { v, _ := row.Get(key); s, _ := v.Str(); return s }
		out := ""
		tmpl, err := Parse(Source{Text: str("template")})
		if err == nil {
			out, err = tmpl.Render(context.Background(), scope)
		}
		class := ""
		if e := new(Error); errors.As(err, &e) {
			class = string(e.Class)
		}
		if out != str("out") || class != str("error") {
			t.Errorf("%q:\nwant %q %s\ngot  %q %v", str("template"), str("out"), str("error"), out, err)
		}
	}
}

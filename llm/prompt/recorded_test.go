package prompt

import (
	"bytes"
	"context"
	"errors"
	"os"
	"testing"

	"github.com/callnode/scheduler/llm/value"
)

// TestRecorded renders templates whose results were recorded from Jinja2 3.1.6 (StrictUndefined, immutable
// sandbox, keep_trailing_newline, Hugging Face's tojson). A line without a template holds values for the lines
// after it that have no values.
func TestRecorded(t *testing.T) {
	for _, file := range []string{"testdata/recorded.jsonl", "testdata/recorded-filters.jsonl"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var shared Values
		for line := range bytes.Lines(data) {
			row, err := value.ParseJSON(line)
			if err != nil {
				t.Fatal(err)
			}
			scope := shared
			if v, ok := row.Get("values"); ok {
				scope.Map = v.Map()
			}
			if _, ok := row.Get("template"); !ok {
				shared = scope
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
}

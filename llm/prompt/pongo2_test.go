package prompt

import (
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/callnode/scheduler/llm/value"
)

// TestPongo2Snippets renders templates that users of pongo2 commonly write, and compares with pongo2 v6's results:
// internal/pongo2tree checks that the results in the file are pongo2's.
func TestPongo2Snippets(t *testing.T) {
	data, err := os.ReadFile("../../test/vectors/pongo2.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	allowed := exceptions(t, "testdata/pongo2-exceptions.txt")
	var scope Values
	all, equal := 0, 0
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
		all++
		out := ""
		tmpl, err := Parse(Source{Text: str("template")})
		if err == nil {
			out, err = tmpl.Render(context.Background(), scope)
		}
		_, listed := allowed[str("id")]
		delete(allowed, str("id"))
		isEqual := err == nil && out == str("out")
		switch {
		case isEqual && listed:
			t.Errorf("%s is equal and need not be an exception", str("id"))
		case isEqual:
			equal++
		case !listed:
			t.Errorf("%s %s:\nwant %q\ngot  %q %v", str("id"), str("template"), str("out"), out, err)
		}
	}
	for id := range allowed {
		t.Errorf("%s is no snippet", id)
	}
	if all != 59 || equal < 50 {
		t.Errorf("%d of %d snippets are equal", equal, all)
	}
}

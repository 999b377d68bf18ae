package pongo2tree_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"
	"time"

	"github.com/flosch/pongo2/v6"
)

var update = flag.Bool("update", false, "write what pongo2 makes of the snippets")

// snippet is a line of test/vectors/pongo2.jsonl; the first line has the values.
type snippet struct {
	Values   map[string]any `json:"values,omitempty"`
	ID       string         `json:"id,omitempty"`
	Template string         `json:"template,omitempty"`
	Out      *string        `json:"out,omitempty"`
}

// TestSnippets: the results in test/vectors/pongo2.jsonl are pongo2's own, without HTML escapes as prompts want
// them. With -update it writes them. Package prompt compares its templates with them.
func TestSnippets(t *testing.T) {
	const file = "../../../../test/vectors/pongo2.jsonl"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pongo2.SetAutoescape(false)
	t.Cleanup(func() { pongo2.SetAutoescape(true) })
	var values map[string]any
	var made bytes.Buffer
	for line := range bytes.Lines(data) {
		var s snippet
		if err := json.Unmarshal(line, &s); err != nil {
			t.Fatal(err)
		}
		if s.Values != nil {
			values = valuesOfGo(t, s.Values)
			made.Write(line)
			continue
		}
		template, err := pongo2.FromString(s.Template)
		if err != nil {
			t.Fatalf("%s: %v", s.ID, err)
		}
		out, err := template.Execute(values)
		if err != nil {
			t.Fatalf("%s: %v", s.ID, err)
		}
		if s.Out == nil || *s.Out != out {
			t.Errorf("%s: pongo2 makes %q", s.ID, out)
		}
		s.Out = &out
		writer := json.NewEncoder(&made)
		writer.SetEscapeHTML(false)
		if err := writer.Encode(s); err != nil {
			t.Fatal(err)
		}
	}
	if *update {
		if err := os.WriteFile(file, made.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// valuesOfGo returns the values as a program gives them to pongo2: whole numbers but 34 are of type
// int, and "when" is a time.
func valuesOfGo(t *testing.T, values map[string]any) map[string]any {
	t.Helper()
	made := map[string]any{}
	for k, v := range values {
		made[k] = valueOfGo(t, v)
		if text, ok := v.(string); ok && k == "when" {
			when, err := time.Parse(time.RFC3339, text)
			if err != nil {
				t.Fatal(err)
			}
			made[k] = when
		}
	}
	return made
}

func valueOfGo(t *testing.T, v any) any {
	t.Helper()
	switch x := v.(type) {
	case float64:
		const aFloat = 34
		if x == float64(int(x)) && x != aFloat {
			return int(x)
		}
	case map[string]any:
		return valuesOfGo(t, x)
	case []any:
		items := make([]any, len(x))
		for i := range x {
			items[i] = valueOfGo(t, x[i])
		}
		return items
	}
	return v
}

package inchat_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls/inchat"
	"github.com/callnode/scheduler/llm/value"
)

// TestWild: books and chats as other programs write them. Each of want is a line of the trace, code and
// name, a message of the output without its source, or a piece of a warning.
func TestWild(t *testing.T) {
	tests := map[string]struct{ trace, messages, warnings []string }{
		"lore-minimal-card":         {trace: []string{"no_key out", "key in"}},
		"lore-selective-absent":     {trace: []string{"key in"}},
		"lore-use-regex-plain-keys": {trace: []string{"key in"}},
		"lore-use-regex-pattern":    {trace: []string{"unread out", "key in"}, warnings: []string{"use_regex (1)"}},
		"lore-vectorized":           {trace: []string{"key in"}, warnings: []string{"similarity (vectorized) is not evaluated: 1 entries"}},
		"lore-book-switches":        {trace: []string{"key in", "no_key out"}, warnings: []string{"not evaluated: recursive_scanning, token_budget"}},
		"lore-risu":                 {trace: []string{"key in", "constant in"}},
		"lore-null-book":            {},
		"lore-novelai":              {warnings: []string{"books of NovelAI are not read"}},
		"lore-agnai":                {warnings: []string{"books of Agnai are not read"}},
		"inchat-name-dropped": {messages: []string{
			`{"role":"user","content":"Hello","name":"Mei"}`, `{"role":"user","content":"Hi","name":"Lin"}`,
		}},
		"inchat-picture": {trace: []string{"key in"}, messages: []string{
			`{"role":"user","content":[{"type":"text","text":"Look, the market!"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]}`,
			`{"role":"system","content":"MARKET TEXT"}`,
		}},
		"inchat-orphan-result": {
			messages: []string{`{"role":"user","content":"q"}`, `{"role":"assistant","content":"wait"}`, `{"role":"user","content":"And now?"}`},
			warnings: []string{`history[1]: the tool result is left out: no message before it calls "gone"`, `history[2]: the tool call "a" is left out: no result follows it`},
		},
		"inchat-tool-calls": {trace: []string{"key in"}, messages: []string{
			`{"role":"user","content":"What is the weather at the market?"}`,
			`{"role":"system","content":"MARKET TEXT"}`,
			`{"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function","function":{"name":"weather","arguments":"{}"}}]}`,
			`{"role":"tool","content":"rain","tool_call_id":"c1"}`,
		}},
	}
	files, err := filepath.Glob("testdata/wild/*.json")
	if err != nil || len(files) != len(tests) {
		t.Fatalf("%d files for %d tests: %v", len(files), len(tests), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			want, ok := tests[name]
			if !ok {
				t.Fatal("nothing is expected of it")
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			out := runWild(t, string(text))
			if diff := cmp.Diff(want.trace, traceCodes(out)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(want.messages, sentMessages(out)); want.messages != nil && diff != "" {
				t.Error(diff)
			}
			warnings, _ := out.Get("warnings")
			if len(warnings.List()) != len(want.warnings) {
				t.Fatalf("warnings %s, want %q", warnings.JSON(), want.warnings)
			}
			for i, part := range want.warnings {
				if got, _ := warnings.List()[i].Str(); !strings.Contains(got, part) {
					t.Errorf("warning %q lacks %q", got, part)
				}
			}
		})
	}
}

// runWild runs the call with parameters in JSON, and holds the output to its schema.
func runWild(t *testing.T, with string) value.Value {
	t.Helper()
	def := inchat.Definition()
	p := params(t, with)
	if problems := def.Info.Params.Check(p); problems != nil {
		t.Fatal(problems)
	}
	out, err := run(t, def, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	if problems := def.Info.Output.Check(out); problems != nil {
		t.Errorf("the output does not fit its schema: %v", problems)
	}
	return out
}

// traceCodes returns, for each entry, the code of its decision and whether it is in.
func traceCodes(out value.Value) (lines []string) {
	trace, _ := out.Get("trace")
	for _, part := range trace.List() {
		state := "out"
		if in, _ := part.Get("included"); in.JSON() == "true" {
			state = "in"
		}
		lines = append(lines, member(part, "code")+" "+state)
	}
	return lines
}

// sentMessages returns the messages without their sources, as JSON.
func sentMessages(out value.Value) (lines []string) {
	messages, _ := out.Get("messages")
	for _, m := range messages.List() {
		fields := m.Map().Clone()
		fields.Delete("source")
		lines = append(lines, value.OfMap(fields).JSON())
	}
	return lines
}

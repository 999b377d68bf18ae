package explain_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

// promptsOf runs a chat with these messages, ROLE: TEXT, and returns its prompts.
func promptsOf(t *testing.T, messages ...string) []*explain.Explanation {
	t.Helper()
	var list []string
	for _, m := range messages {
		role, text, _ := strings.Cut(m, ": ")
		list = append(list, fmt.Sprintf("        - {role: %s, content: %q}\n", role, text))
	}
	r := schedulertest.Run(t, "inputs: {type: object}\nsteps:\n  - id: ask\n    call: chat\n    with:\n      messages:\n"+strings.Join(list, ""),
		schedulertest.With(builtin.Calls()...), schedulertest.Inputs(`{"who": "Ann"}`),
		schedulertest.LLM(scripted.New(scripted.Answer{Text: "yes", Usage: &llm.Usage{InputTokens: 77}})))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	all, err := explain.Explain(t.Context(), r.Flow, r.State(), "ask", bytesCounter{})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A byte is a token here.
func TestCompareCaches(t *testing.T) {
	before := []string{"system: Be kind to {{ inputs.who }}.", "user: Hi", "assistant: Hello"}
	for _, c := range []struct {
		name     string
		messages []string
		want     string
	}{
		{"the same", before, "3 messages, 22 tokens"},
		{"goes on", append(before[:3:3], "user: More"), "3 messages, 22 tokens"},
		{"shorter", before[:1], "1 messages, 15 tokens"},
		{"text changed", []string{before[0], "user: Ho", before[2]}, "1 messages, 16 tokens, broken in 1 by \"Ho\": 6"},
		{"text goes on", []string{before[0], "user: Hi!", before[2]}, "1 messages, 17 tokens, broken in 1 by \"Hi!\": 6"},
		{"text is cut", []string{before[0], "user: H", before[2]}, "1 messages, 16 tokens, broken in 1 by \"H\": 5"},
		{"piece changed", []string{"system: Be kind to {{ inputs.who | upper }}.", before[1]}, "0 messages, 12 tokens, broken in 0 by \"ANN\": 5"},
		{"role changed", []string{before[0], "system: Hi"}, "1 messages, 15 tokens, broken in 1 by \"Hi\": 2"},
		{"half a character", []string{"system: é", before[1]}, "0 messages, 0 tokens, broken in 0 by \"é\": 4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			now := promptsOf(t, c.messages...)
			explain.CompareCaches(now, promptsOf(t, before...), "run-0", bytesCounter{})
			cache := now[0].Cache
			got := fmt.Sprintf("%d messages, %d tokens", cache.Messages, cache.Tokens)
			if b := cache.Broken; b != nil {
				got += fmt.Sprintf(", broken in %d by %q: %d", b.Message, b.Piece.Text, b.Tokens)
			}
			if got != c.want || cache.Run != "run-0" || cache.Step != "ask" {
				t.Errorf("got %s of %s, %s; want %s", got, cache.Run, cache.Step, c.want)
			}
		})
	}
	first := promptsOf(t, before...)
	explain.CompareCaches(first, nil, "", bytesCounter{})
	if first[0].Cache != nil || first[0].Total != 77 || first[0].CountedBy != explain.ByProvider {
		t.Errorf("got %+v", first[0])
	}
}

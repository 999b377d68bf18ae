package llm_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/llm"
)

type fields = map[string]json.RawMessage

func TestCollect(t *testing.T) {
	deltas := []llm.Delta{
		{Reasoning: "hm", Extra: fields{"note": json.RawMessage(`"a"`), "list": json.RawMessage(`[1]`), "n": json.RawMessage(`1`)}},
		{Text: "Hel", Reasoning: "m"},
		{Text: "lo", Extra: fields{"note": json.RawMessage(`"b"`), "list": json.RawMessage(`[2, 3]`), "n": json.RawMessage(`2`)}},
		{ToolCalls: []llm.ToolCallDelta{{Index: 0, Name: "f", Arguments: `{"a"`}, {Index: 7, ID: "x", Name: "g"}}},
		{ToolCalls: []llm.ToolCallDelta{{Index: 0, Arguments: `:1}`, Extra: fields{"sig": json.RawMessage(`"s"`)}}}},
		{ToolCalls: []llm.ToolCallDelta{{Index: 7, Arguments: "{}"}}},
		{FinishReason: "stop", Usage: &llm.Usage{InputTokens: 3, OutputTokens: 4}},
	}
	want := llm.Answer{
		Text: "Hello", Reasoning: "hmm", FinishReason: "stop", Usage: llm.Usage{InputTokens: 3, OutputTokens: 4},
		ToolCalls: []llm.ToolCall{
			{ID: "call_0", Name: "f", Arguments: `{"a":1}`, Extra: fields{"sig": json.RawMessage(`"s"`)}},
			{Index: 7, ID: "x", Name: "g", Arguments: "{}"},
		},
		Extra: fields{"note": json.RawMessage(`"ab"`), "list": json.RawMessage(`[1,2,3]`), "n": json.RawMessage(`2`)},
	}
	failure := errors.New("cut")
	for _, end := range []error{nil, failure} {
		got, err := llm.Collect(func(yield func(llm.Delta, error) bool) {
			for _, d := range deltas {
				if !yield(d, nil) {
					return
				}
			}
			if end != nil {
				yield(llm.Delta{}, end)
			}
		})
		if !errors.Is(err, end) {
			t.Errorf("error %v, want %v", err, end)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
}

func TestErrorText(t *testing.T) {
	below := errors.New("below")
	e := &llm.Error{Provider: "main", Status: 429, Message: "slow down", Err: below}
	if got, want := e.Error(), "provider main: HTTP 429: slow down: below"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !errors.Is(e, below) {
		t.Error("the error below is lost")
	}
}

func TestUsage(t *testing.T) {
	u := llm.Usage{InputTokens: 1, OutputTokens: 2, CachedTokens: 3}
	u.Add(u)
	if u != (llm.Usage{InputTokens: 2, OutputTokens: 4, CachedTokens: 6}) || u.Total() != 6 {
		t.Errorf("got %+v", u)
	}
}

func TestTextMessage(t *testing.T) {
	if got, want := string(llm.TextMessage("user", "a\"b")), `{"role":"user","content":"a\"b"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

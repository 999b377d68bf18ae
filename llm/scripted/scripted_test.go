package scripted_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/llmtest"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
)

func TestBasics(t *testing.T) {
	t.Run("scripted", func(t *testing.T) {
		llmtest.Basics(t, func() llm.Provider { return scripted.Texts(strings.Split(strings.Repeat("x", 20), "")...) })
	})
	t.Run("echo", func(t *testing.T) {
		llmtest.Basics(t, func() llm.Provider { return scripted.Echo{} })
	})
}

func TestParse(t *testing.T) {
	list, err := value.ParseJSON([]byte(`["plain", {"text": "t", "usage": {"input_tokens": 1, "output_tokens": 2}}, {"json": {"b": 1.50, "a": []}},
		{"error": "no"}, {"error": {"message": "busy", "status": 503, "temporary": true}, "deltas": ["p"]}, {"deltas": ["a", "b"], "finish_reason": "length"},
		{"tool_calls": [{"id": "1", "function": {"name": "f", "arguments": {"x": 1}}}, {"name": "g"}], "reasoning": "hm"}, {}]`))
	if err != nil {
		t.Fatal(err)
	}
	answers, err := scripted.Parse(list)
	if err != nil {
		t.Fatal(err)
	}
	want := []struct {
		answer llm.Answer
		err    string
	}{
		{llm.Answer{Text: "plain", FinishReason: "stop"}, ""},
		{llm.Answer{Text: "t", FinishReason: "stop", Usage: llm.Usage{InputTokens: 1, OutputTokens: 2}}, ""},
		{llm.Answer{Text: `{"b":1.50,"a":[]}`, FinishReason: "stop"}, ""},
		{llm.Answer{}, "provider scripted: no"},
		{llm.Answer{Text: "p"}, "provider scripted: HTTP 503: busy"},
		{llm.Answer{Text: "ab", FinishReason: "length"}, ""},
		{llm.Answer{Reasoning: "hm", FinishReason: "tool_calls", ToolCalls: []llm.ToolCall{
			{ID: "1", Name: "f", Arguments: `{"x":1}`}, {Index: 1, ID: "call_1", Name: "g", Arguments: "{}"},
		}}, ""},
		{llm.Answer{FinishReason: "stop"}, ""},
		{llm.Answer{}, "provider scripted: the script is used up: it has 8 answers, and this is another request"},
	}
	p := scripted.New(answers...)
	for i, w := range want {
		got, err := llm.Collect(p.Chat(t.Context(), llmtest.Request()))
		text := ""
		if err != nil {
			text = err.Error()
		}
		if text != w.err {
			t.Errorf("%d: error %q, want %q", i, text, w.err)
		}
		if diff := cmp.Diff(w.answer, got); diff != "" {
			t.Errorf("%d: (-want +got)\n%s", i, diff)
		}
	}
	if n := len(p.Requests()); n != len(want) || p.Left() != 0 {
		t.Errorf("%d requests recorded, %d answers left", n, p.Left())
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:                  "the scripted answers must be an array, not object",
		`[1]`:                 "/0: a scripted answer must be an object or a text, not integer",
		`["a", {"txt": "x"}]`: `/1/txt: unknown member (did you mean "text"?)`,
		`[{"tool_calls": [{"id": "a", "nmae": "x"}]}]`:                 `/0/tool_calls/0/nmae: unknown member (did you mean "name"?)`,
		`[{"tool_calls": [{"function": {"nmae": "x"}}]}]`:              `/0/tool_calls/0/function/nmae: unknown member (did you mean "name"?)`,
		`[{"error": {"message": "m", "satus": 500}}]`:                  `/0/error/satus: unknown member (did you mean "status"?)`,
		`[{"usage": {"input": 3}}]`:                                    "/0/usage/input: unknown member",
		`[{"text": "a", "json": {"x": 1}}]`:                            "/0/json: the answer has text already",
		`[{"deltas": ["a"], "text": "b"}]`:                             "/0/deltas: the answer has text already",
		`[{"error": "no", "text": "b"}]`:                               "/0/text: an answer with an error has no text",
		`[{"tool_calls": [{"name": "a"}], "error": "no"}]`:             "/0/tool_calls: an answer with an error has no tool_calls",
		`[{"tool_calls": [null]}]`:                                     "/0/tool_calls/0: want object, got null",
		`[{"tool_calls": [{"id": "a"}]}]`:                              "/0/tool_calls/0: the call names no tool",
		`[{"tool_calls": [{"name": "a", "function": {"name": "b"}}]}]`: "/0/tool_calls/0/name: the call has a function already",
		`[{"usage": {"input_tokens": 1, "output_tokens": -3}}]`:        "/0/usage/output_tokens: -3 is less than 0",
		`[{"usage": {"cost": -0.5}}]`:                                  "/0/usage/cost: -0.5 is less than 0",
		`[{"whatever": "x"}]`:                                          "/0/whatever: unknown member (there are text, json",
		`[{"text": 1}]`:                                                "/0/text: want string, got integer",
		`[{"error": 1}]`:                                               "/0/error: want object, got integer",
		`[{"tool_calls": [{"id": 1}]}]`:                                "/0/tool_calls/0/id: want string",
		`[{"usage": {"input_tokens": "many"}}]`:                        "/0/usage/input_tokens: want integer",
		`[{"deltas": [{"text": "not a string"}]}]`:                     "/0/deltas/0: want string",
	} {
		v, err := value.ParseJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := scripted.Parse(v); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

func TestBefore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := scripted.New(scripted.Answer{Text: "late", Before: func(ctx context.Context, _ *llm.Request) error {
		cancel()
		<-ctx.Done()
		return ctx.Err()
	}})
	got, err := llm.Collect(p.Chat(ctx, llmtest.Request()))
	var e *llm.Error
	if !errors.As(err, &e) || !errors.Is(err, context.Canceled) || got.Text != "" {
		t.Errorf("got %q, %v", got.Text, err)
	}
}

func TestDeltas(t *testing.T) {
	deltas := []llm.Delta{{Text: "a"}, {Text: "b", FinishReason: "stop"}}
	var got []llm.Delta
	for d, err := range scripted.New(scripted.Answer{Deltas: deltas}).Chat(t.Context(), llmtest.Request()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, d)
	}
	if diff := cmp.Diff(deltas, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestRequestsAreKept(t *testing.T) {
	p, req := scripted.Texts("x"), llmtest.Request()
	if _, err := llm.Collect(p.Chat(t.Context(), req)); err != nil {
		t.Fatal(err)
	}
	req.Messages[0] = llm.TextMessage("user", "changed")
	if diff := cmp.Diff(llmtest.Request(), p.Requests()[0]); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestEcho(t *testing.T) {
	for _, tt := range []struct {
		name     string
		messages []llm.Message
		want     []string
	}{
		{"words", []llm.Message{llm.TextMessage("user", "old"), llm.TextMessage("user", "one two  three\n四"), llm.TextMessage("assistant", "no")}, []string{"one", " two", "  three", "\n四"}},
		{"parts", []llm.Message{llm.Message(`{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"x"}}]}`)}, []string{"see"}},
		{"nothing", []llm.Message{llm.Message(`[]`), llm.Message(`{"role":"user","content":5}`)}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			var last llm.Delta
			for d, err := range (scripted.Echo{}).Chat(t.Context(), &llm.Request{Messages: tt.messages}) {
				if err != nil {
					t.Fatal(err)
				}
				if d.Text != "" {
					got = append(got, d.Text)
				}
				last = d
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if last.FinishReason != "stop" || last.Usage == nil || last.Usage.InputTokens == 0 {
				t.Errorf("the answer ends with %+v", last)
			}
		})
	}
}

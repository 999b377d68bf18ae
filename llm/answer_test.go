package llm_test

import (
	"encoding/json"
	"errors"
	"iter"
	"runtime"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/llm"
)

type fields = map[string]json.RawMessage

func TestCollect(t *testing.T) {
	deltas := []llm.Delta{
		{Reasoning: "hm", Extra: fields{"note": json.RawMessage(`"a"`), "list": json.RawMessage(`[1]`), "n": json.RawMessage(`1`)}},
		{Text: "Hel", Reasoning: "m", ReasoningMember: "reasoning"},
		{Text: "lo", Extra: fields{"note": json.RawMessage(`"b"`), "list": json.RawMessage(`[2, 3]`), "n": json.RawMessage(`2`)}},
		{ToolCalls: []llm.ToolCallDelta{{Index: 0, Name: "f", Arguments: `{"a"`}, {Index: 7, ID: "x", Name: "g"}}},
		{ToolCalls: []llm.ToolCallDelta{{Index: 0, Arguments: `:1}`, Extra: fields{"sig": json.RawMessage(`"s"`)}}}},
		{ToolCalls: []llm.ToolCallDelta{{Index: 7, Arguments: "{}"}}},
		{FinishReason: "stop", Usage: &llm.Usage{InputTokens: 3, OutputTokens: 4}},
	}
	want := llm.Answer{
		Text: "Hello", Reasoning: "hmm", ReasoningMember: "reasoning", FinishReason: "stop", Usage: llm.Usage{InputTokens: 3, OutputTokens: 4},
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

func TestVendorMembers(t *testing.T) {
	calls := []llm.ToolCall{{ID: "a", Name: "f"}}
	extra := fields{"note": json.RawMessage(`1`)}
	for name, tt := range map[string]struct {
		answer llm.Answer
		want   fields
	}{
		"thoughts before tool calls":  {llm.Answer{Reasoning: "<hm>", ReasoningMember: "reasoning", ToolCalls: calls, Extra: extra}, fields{"note": json.RawMessage(`1`), "reasoning": json.RawMessage(`"\u003chm\u003e"`)}},
		"thoughts that nobody wants":  {llm.Answer{Reasoning: "hm", ToolCalls: calls}, fields{}},
		"thoughts before a last text": {llm.Answer{Reasoning: "hm", ReasoningMember: "reasoning", Text: "x", Extra: extra}, extra},
	} {
		if diff := cmp.Diff(tt.want, tt.answer.VendorMembers()); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
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
	u := llm.Usage{InputTokens: 1, OutputTokens: 2, CachedTokens: 3, CacheWriteTokens: 4}
	u.Add(u)
	if u != (llm.Usage{InputTokens: 2, OutputTokens: 4, CachedTokens: 6, CacheWriteTokens: 8}) || u.Total() != 6 {
		t.Errorf("got %+v", u)
	}
}

func TestTextMessage(t *testing.T) {
	if got, want := string(llm.TextMessage("user", "a\"b")), `{"role":"user","content":"a\"b"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestPiecesOfFields(t *testing.T) {
	tests := []struct {
		name   string
		pieces []string
		want   string
	}{
		{"one text as it came", []string{`"\u0061"`}, `"\u0061"`},
		{"texts", []string{`"a"`, `"\u0062"`, `"c"`}, `"abc"`},
		{"null adds nothing to a text", []string{`"a"`, `null`, `"b"`}, `"ab"`},
		{"one list as it came", []string{`[1, 2.0]`}, `[1, 2.0]`},
		{"lists", []string{`[1]`, `[]`, `null`, `[{"a":1.50}]`}, `[1,{"a":1.50}]`},
		{"after null", []string{`null`, `"a"`}, `"a"`},
		{"the last of others", []string{`1`, `{"a":1}`, `{"b":2}`}, `{"b":2}`},
		{"another kind begins anew", []string{`"a"`, `[1]`, `[2]`}, `[1,2]`},
		{"nothing but null", []string{`null`, `null`}, `null`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b llm.AnswerBuilder
			for _, piece := range tt.pieces {
				b.Add(llm.Delta{
					Extra:     fields{"x": json.RawMessage(piece)},
					ToolCalls: []llm.ToolCallDelta{{Extra: fields{"x": json.RawMessage(piece)}}},
				})
			}
			a := b.Answer()
			if got := string(a.Extra["x"]); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if got := string(a.ToolCalls[0].Extra["x"]); got != tt.want {
				t.Errorf("tool call: got %s, want %s", got, tt.want)
			}
		})
	}
}

// stream is an answer of n small pieces of every kind.
func stream(n int) iter.Seq2[llm.Delta, error] {
	d := llm.Delta{
		Text: "word ", Reasoning: "hm ", ToolCalls: []llm.ToolCallDelta{{Arguments: "1234"}},
		Extra: fields{"note": json.RawMessage(`"text"`), "list": json.RawMessage(`[1]`)},
	}
	return func(yield func(llm.Delta, error) bool) {
		for range n {
			if !yield(d, nil) {
				return
			}
		}
	}
}

// Joining must not copy the text so far for every piece: all its allocations are a small multiple of the pieces.
func TestCollectIsLinear(t *testing.T) {
	allocated := func(n int) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := llm.Collect(stream(n)); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	const n = 5000
	if few, many := allocated(n), allocated(4*n); many > 8*few {
		t.Errorf("%d pieces allocate %d bytes, four times as many %d", n, few, many)
	}
}

func BenchmarkCollect(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := llm.Collect(stream(n)); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/piece")
		})
	}
}

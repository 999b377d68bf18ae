package anthropic_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/anthropic"
	"github.com/callnode/scheduler/llm/replay"
)

// recordedTurns are the requests of testdata/vendor-sdk.cassette.yaml and the streams that
// answered them. The cassette was recorded when this package still asked through the vendor's
// SDK (anthropic-sdk-go 1.84.0), and is not to be recorded again.
func recordedTurns(t *testing.T) (requests []*llm.Request, streams []string) {
	t.Helper()
	tools := []json.RawMessage{json.RawMessage(`{"type":"function","function":{"name":"weather","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}}`)}
	first := &llm.Request{Model: "claude-x", MaxTokens: 500, Tools: tools, Messages: []llm.Message{
		llm.TextMessage("system", "Be brief."), llm.TextMessage("user", "How is it in Lyon?"),
	}}
	blocks := `[{"signature":"EqQBCgIYAhIM1gbcDa9GJwZA2b3h","thinking":"The town is Lyon \u0026 I need the weather.","type":"thinking"},{"type":"redacted_thinking","data":"EmwKAhgB"}]`
	second := *first
	second.Messages = append(first.Messages[:2:2],
		llm.Message(`{"role":"assistant","content":"Let me look.","tool_calls":[{"id":"toolu_1","type":"function","function":{"name":"weather","arguments":"{\"city\": \"Lyon\"}"}}],"content_blocks":`+blocks+`}`),
		llm.Message(`{"role":"tool","tool_call_id":"toolu_1","content":"{\"degrees\":18}"}`))
	for _, name := range []string{"thoughts-and-tool", "search-and-answer"} {
		text, err := os.ReadFile("testdata/" + name + ".sse")
		if err != nil {
			t.Fatal(err)
		}
		streams = append(streams, string(text))
	}
	return []*llm.Request{first, &second}, streams
}

// A cassette of the time of the SDK is played, and its deltas are those which the same streams
// give now.
func TestRecordedWithSDK(t *testing.T) {
	requests, streams := recordedTurns(t)
	asked := 0
	asking, err := anthropic.New(anthropic.Config{Model: "m", Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		body := io.NopCloser(strings.NewReader(streams[asked]))
		asked++
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: body, Request: r}, nil
	})})
	if err != nil {
		t.Fatal(err)
	}
	cassette, err := replay.Open(replay.Options{Path: "testdata/vendor-sdk.cassette.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	player := cassette.Play(replay.Header{}, true).Provider("claude", nil)
	for i, req := range requests {
		played, now := deltasOf(t, player, req), deltasOf(t, asking, req)
		if diff := cmp.Diff(played, now); diff != "" {
			t.Errorf("turn %d (-with the SDK +now)\n%s", i, diff)
		}
		if len(now) < 6 {
			t.Errorf("turn %d has only %d deltas", i, len(now))
		}
	}
}

func deltasOf(t *testing.T, p llm.Provider, req *llm.Request) (deltas []llm.Delta) {
	t.Helper()
	for d, err := range p.Chat(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		for name, raw := range d.Extra { // a cassette has no spaces and escapes of its own
			var v any
			if err := json.Unmarshal(raw, &v); err != nil {
				t.Fatal(err)
			}
			if d.Extra[name], err = json.Marshal(v); err != nil {
				t.Fatal(err)
			}
		}
		deltas = append(deltas, d)
	}
	return deltas
}

package anthropic_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
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

// A cassette of the time of the SDK is played, and recording the same turns anew gives the
// same cassette, byte by byte.
func TestRecordedWithSDK(t *testing.T) {
	requests, streams := recordedTurns(t)
	const recorded = "testdata/vendor-sdk.cassette.yaml"
	fresh := filepath.Join(t.TempDir(), "c.yaml")
	asked := 0
	inner, err := anthropic.New(anthropic.Config{Model: "m", Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		body := io.NopCloser(strings.NewReader(streams[asked]))
		asked++
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: body, Request: r}, nil
	})})
	if err != nil {
		t.Fatal(err)
	}
	for _, config := range []replay.Config{{Path: recorded, Mode: replay.Replay, Inner: inner}, {Path: fresh, Mode: replay.Record, Inner: inner}} {
		p, err := replay.New(config)
		if err != nil {
			t.Fatal(err)
		}
		for i, req := range requests {
			answer, err := llm.Collect(p.Chat(t.Context(), req))
			if err != nil {
				t.Fatal(err)
			}
			if want := []string{"Let me look.", "18 degrees, 晴。"}[i]; answer.Text != want || answer.Extra["content_blocks"] == nil {
				t.Errorf("turn %d: got %+v", i, answer)
			}
		}
		if config.Mode == replay.Replay && asked > 0 {
			t.Errorf("%d requests were sent", asked)
		}
	}
	if diff := cmp.Diff(read(t, recorded), read(t, fresh)); diff != "" {
		t.Errorf("(-with the SDK +now)\n%s", diff)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

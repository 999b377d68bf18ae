package llm_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/callnode/scheduler/llm"
)

// characters counts characters, so that the sums below can be checked by hand.
type characters struct{}

func (characters) Count(text string) int { return len([]rune(text)) }

// sights are characters that see images: the length of the address, and 100 for
// the detail.
type sights struct{ characters }

func (sights) CountImage(url, detail string) int {
	if detail != "" {
		return len(url) + 100
	}
	return len(url)
}

func TestMessageTokens(t *testing.T) {
	tests := []struct {
		name, message string
		want          int
	}{
		{"text", `{"role": "user", "content": "12345"}`, 5},
		{"null content and a tool call", `{"role": "assistant", "content": null, "tool_calls": [{"id":"1"}]}`, 12},
		{"null tool calls", `{"role": "assistant", "content": "a", "tool_calls": null}`, 1},
		{"tool result", `{"role": "tool", "tool_call_id": "12", "name": "345", "content": "6"}`, 6},
		{"reasoning", `{"role": "assistant", "content": "1", "reasoning_content": "23"}`, 3},
		{"a vendor's member", `{"role": "assistant", "content": "1", "note": {"a":2}}`, 8},
		{"sealed thoughts", `{"role": "assistant", "content": "1", "response_items": [{"type":"r","encrypted_content":"` + strings.Repeat("x", 4000) + `"}, 7]}`, 1 + len(`{"type":"r"}`) + 4002/6 + 1},
		{"parts", `{"role": "user", "content": [{"type": "text", "text": "123"}, {"type": "input_text", "text": "45"}]}`, 5},
		{"unknown part", `{"role": "user", "content": [{"a":1}]}`, 7},
		{"a file", `{"role": "user", "content": [{"type": "file", "data": "` + strings.Repeat("x", 1<<20) + `"}]}`, 4096},
		{"odd content", `{"role": "user", "content": 12}`, 2},
		{"no object", `"abc"`, 5},
		{"an image", `{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "12345"}}]}`, 5},
		{"an image with detail", `{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "12345", "detail": "low"}}]}`, 105},
		{"an image by its URL alone", `{"role": "user", "content": [{"type": "input_image", "image_url": "123"}]}`, 3},
		{"an image of another shape", `{"role": "user", "content": [{"type": "image", "source": {"data": "12345"}}]}`, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := llm.MessageTokens(sights{}, llm.Message(tt.message)); got != tt.want+llm.MessageOverhead {
				t.Errorf("got %d, want %d", got, tt.want+llm.MessageOverhead)
			}
		})
	}
}

func TestRequestTokens(t *testing.T) {
	got := llm.RequestTokens(characters{}, &llm.Request{
		Messages: []llm.Message{
			llm.TextMessage("user", "12345"),
			llm.Message(`{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}`),
		},
		Tools: []json.RawMessage{json.RawMessage(`{"a":1}`)},
	})
	if want := 5 + llm.ImageTokens + 2*llm.MessageOverhead + 7; got != want {
		t.Errorf("got %d, want %d", got, want)
	}
}

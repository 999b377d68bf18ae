package journal_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/scheduler/journal"
)

func TestSummary(t *testing.T) {
	image := strings.Repeat("iVBORw0KGgo", 20)
	for _, test := range []struct {
		name, events string
		want         journal.Summary
	}{
		{
			name: "a question and a reply",
			events: `flow.started - {"inputs": {"topic": "x", "question": "Where\n is it?"}}
				flow.finished - {"outputs": {"sources": ["a"], "reply": "There."}, "usage": {"input_tokens": 3, "output_tokens": 1, "cost": 0.5}}`,
			want: journal.Summary{Question: "Where is it?", Reply: "There.", Usage: llm.Usage{InputTokens: 3, OutputTokens: 1, Cost: 0.5}},
		},
		{
			name: "no name of a question, no reply",
			events: `flow.started - {"inputs": {"n": 3, "topic": "tea"}}
				flow.finished - {"outputs": {"list": [1, 2]}}`,
			want: journal.Summary{Question: "tea", Reply: `{"list":[1,2]}`},
		},
		{
			name:   "messages with parts and an image",
			events: `flow.started - {"inputs": {"messages": [{"content": "old"}, {"content": [{"type": "text", "text": "What is this?"}, {"type": "image_url"}]}]}}`,
			want:   journal.Summary{Question: "What is this?"},
		},
		{
			name:   "an image in the text",
			events: `flow.started - {"inputs": {"question": "See data:image/png;base64,` + image + ` here"}}`,
			want:   journal.Summary{Question: "See data:image/png;base64,… here"},
		},
		{
			name:   "a long question",
			events: `flow.started - {"inputs": {"question": "` + strings.Repeat("长 ", 300) + `"}}`,
			want:   journal.Summary{Question: strings.Repeat("长 ", 118) + "长..."},
		},
		{
			name: "the words of a step for the user, steps inside it counted once",
			events: `flow.started - {"inputs": {}}
				step.started say {"to_user": true}
				step.finished say/inner {"usage": {"input_tokens": 2, "output_tokens": 1}}
				step.finished say {"output": {"text": "Hello"}, "usage": {"input_tokens": 2, "output_tokens": 1}}
				flow.finished - {"outputs": {}}`,
			want: journal.Summary{Reply: "Hello", Speaker: "say", Usage: llm.Usage{InputTokens: 2, OutputTokens: 1}},
		},
		{
			name:   "a failure",
			events: `flow.failed - {"text": "Sorry.", "error": {"kind": "provider", "message": "no connection"}}`,
			want:   journal.Summary{Reply: "Sorry.", Error: "no connection"},
		},
		{
			name: "a failure that was resumed",
			events: `flow.failed - {"text": "Sorry.", "error": {"kind": "provider", "message": "no connection"}}
				flow.resumed -`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got journal.Summary
			for ev, err := range eventsOf(t, test.events) {
				if err != nil {
					t.Fatal(err)
				}
				got = got.After(ev)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

package schema_test

import (
	"testing"

	"github.com/callnode/scheduler/calls/schema"
)

// TestIsNoAnswer: questions, greetings and refusals are no values; words that answer something are.
func TestIsNoAnswer(t *testing.T) {
	for text, want := range map[string]bool{
		"why?": true, "Why???": true, " Hello! ": true, "skip": true, "SKIP IT.": true, "I don’t know": true, "What": true, "what?": true,
		"为什么？": true, "跳过。": true, "你好！": true, "不知道": true, "什么?": true, "...": false, "": false,
		"Not now.": true, "none of your business!": true, "拒绝": true, "不用了。": true, "not nowhere": false, "不用了谢谢你": false,
		"no": false, "none": false, "无": false, "不": false, "Lin": false, "Whyte": false, "skip the queue": false, "why not red": false,
	} {
		if got := schema.IsNoAnswer(text); got != want {
			t.Errorf("%q: got %t", text, got)
		}
	}
	for text, want := range map[string]bool{"When?": true, "什么时候？": true, "When": false, "? no": false} {
		if got := schema.IsQuestion(text); got != want {
			t.Errorf("%q is a question: got %t", text, got)
		}
	}
}

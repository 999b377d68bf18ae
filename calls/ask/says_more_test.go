package ask_test

import (
	"testing"

	"github.com/callnode/scheduler/calls/ask"
	"github.com/callnode/scheduler/llm/value"
)

// A question does not say the same twice: a description without a word of its own is left out.
func TestQuestionSaysItOnce(t *testing.T) {
	tests := []struct{ name, language, title, description, want string }{
		{"the title in other words", "en", "piece", "Which piece it is.", "What is the piece?"},
		{"only words of questions", "en", "weight", "How much it is.", "What is the weight?"},
		{"no title", "en", "", "How many.", "What is the x?"},
		{"a plural", "en", "guest", "The guests.", "What is the guest?"},
		{"something new", "en", "piece", "Which piece it is, by its colour.", "What is the piece? Which piece it is, by its colour."},
		{"a place to look", "en", "order number", "It stands at the top of the confirmation mail.", "What is the order number? It stands at the top of the confirmation mail."},
		{"a question of its own", "en", "piece", "Which piece is it?", "Which piece is it?"},
		{"the title in other words, in Chinese", "zh", "器物", "是哪个器物。", "请问器物是什么？"},
		{"something new, in Chinese", "zh", "订单号", "在确认邮件的最上方。", "请问订单号是什么？在确认邮件的最上方。"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			field := ask.Field{Name: "x", Schema: value.OfMap(value.Pairs("type", "string", "title", test.title, "description", test.description))}
			if got := (ask.Wording{Language: test.language}).Question(field, false); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

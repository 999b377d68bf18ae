package llm_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"github.com/callnode/scheduler/llm"
)

// shouter is a provider in a few lines: it answers with the last message in capitals.
type shouter struct{}

func (shouter) Chat(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		var last struct{ Content string }
		if err := json.Unmarshal(req.Messages[len(req.Messages)-1], &last); err != nil {
			yield(llm.Delta{}, &llm.Error{Provider: "shouter", Message: "the message is not plain text", Err: err})
			return
		}
		for word := range strings.FieldsSeq(last.Content) {
			if err := ctx.Err(); err != nil {
				yield(llm.Delta{}, &llm.Error{Provider: "shouter", Err: err})
				return
			}
			if !yield(llm.Delta{Text: strings.ToUpper(word) + " "}, nil) {
				return // the reader has left
			}
		}
		yield(llm.Delta{FinishReason: "stop", Usage: &llm.Usage{InputTokens: 2, OutputTokens: 2}}, nil)
	}
}

// A provider has one method. Its answer comes in pieces, which Collect joins.
func ExampleProvider() {
	var provider llm.Provider = shouter{}
	req := &llm.Request{Messages: []llm.Message{llm.TextMessage("user", "hello there")}}
	for delta, err := range provider.Chat(context.Background(), req) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if delta.Text != "" {
			fmt.Printf("a piece: %q\n", delta.Text)
		}
	}
	answer, err := llm.Collect(provider.Chat(context.Background(), req))
	fmt.Printf("the whole: %s(%s, %d tokens) %v\n", answer.Text, answer.FinishReason, answer.Usage.Total(), err)
	// Output:
	// a piece: "HELLO "
	// a piece: "THERE "
	// the whole: HELLO THERE (stop, 4 tokens) <nil>
}

package scripted_test

import (
	"context"
	"fmt"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
)

// A test gives the answers, and looks at the requests afterwards.
func ExampleTexts() {
	provider := scripted.Texts("first", "second")
	for _, question := range []string{"one?", "two?"} {
		req := &llm.Request{Messages: []llm.Message{llm.TextMessage("user", question)}}
		answer, err := llm.Collect(provider.Chat(context.Background(), req))
		fmt.Println(answer.Text, err)
	}
	fmt.Println(len(provider.Requests()), "requests,", provider.Left(), "answers left")
	// Output:
	// first <nil>
	// second <nil>
	// 2 requests, 0 answers left
}

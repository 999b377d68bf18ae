package openai

import (
	"errors"
	"strings"
	"testing"

	"github.com/callnode/scheduler/llm"
)

// FuzzAnswer checks that any body gives an answer or an error of this program.
func FuzzAnswer(f *testing.F) {
	f.Add("data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\r\n\r\n: c\ndata: [DONE]\n\n")
	f.Add("data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"arguments\":{}}}]}}]}\n\n")
	f.Add(`{"choices":[{"message":{"content":"\ud83d","reasoning_details":[{}]}}]}`)
	p, err := New(Config{BaseURL: "http://x"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		err := p.readAnswer(strings.NewReader(text), func(llm.Delta) bool { return true })
		var e *llm.Error
		if err != nil && !errors.As(err, &e) {
			t.Errorf("got error %v (%T)", err, err)
		}
	})
}

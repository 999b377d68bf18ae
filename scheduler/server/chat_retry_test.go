package server_test

import (
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/server"
	"github.com/callnode/scheduler/scheduler/server/store"
)

// breaking is a model that breaks off in its first answer.
type breaking struct{ asked atomic.Int64 }

func (b *breaking) Chat(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if b.asked.Add(1) > 1 {
			yield(llm.Delta{Text: "the whole answer", FinishReason: "stop"}, nil)
			return
		}
		if yield(llm.Delta{Text: "half an "}, nil) {
			yield(llm.Delta{}, &llm.Error{Err: errors.New("broken off"), Temporary: true})
		}
	}
}

// TestOnRetry chats with a flow whose model breaks off: with hold the client gets only the text of the successful
// attempt, else also the earlier text with a line that says so.
func TestOnRetry(t *testing.T) {
	for name, hold := range map[string]bool{"tell": false, "hold": true} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.MkdirAll(filepath.Join(dir, "flows"), 0o700); err != nil {
				t.Fatal(err)
			}
			flow := "llm: slow\nsteps: [{id: a, call: chat, with: {user: hello}, to_user: true, retry: {max_attempts: 2, initial_interval: 1ms}}]\n"
			if err := os.WriteFile(filepath.Join(dir, "flows", "again.yaml"), []byte(flow), 0o600); err != nil {
				t.Fatal(err)
			}
			f := newFixture(t, dir, &breaking{}, func(o *server.Options) { o.OpenAI.HoldRetries = hold })
			stream := f.chat(f.token("lin", store.RunsWrite), "again", messages("hi"), `, "stream": true`)
			text := ""
			for line := range strings.Lines(stream.text) {
				data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
				if !ok || data == "[DONE]" {
					continue
				}
				doc, err := value.ParseJSON([]byte(data))
				if err != nil {
					t.Fatal(err, data)
				}
				piece, _ := doc.At("/choices/0/delta/content")
				s, _ := piece.Str()
				text += s
			}
			isWhole := text == "the whole answer"
			isTold := strings.HasPrefix(text, "half an ") && strings.HasSuffix(text, "the whole answer") && len(text) > len("half an the whole answer")
			if hold && !isWhole || !hold && !isTold {
				t.Errorf("the client reads %q", text)
			}
		})
	}
}

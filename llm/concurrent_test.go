package llm_test

import (
	"context"
	"errors"
	"iter"
	"sync"
	"testing"

	"github.com/callnode/scheduler/llm"
)

// counted is a provider that counts the chats at work, and waits in each until it is let go.
type counted struct {
	mu       sync.Mutex
	now, max int
	entered  chan struct{}
	leave    chan struct{}
}

func (c *counted) Chat(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(func(llm.Delta, error) bool) {
		c.mu.Lock()
		c.now++
		c.max = max(c.max, c.now)
		c.mu.Unlock()
		c.entered <- struct{}{}
		<-c.leave
		c.mu.Lock()
		c.now--
		c.mu.Unlock()
	}
}

func (c *counted) Secrets() []string { return []string{"key"} }

// However many chats begin over however many providers, two are at work.
func TestLimit(t *testing.T) {
	places := llm.NewPlaces(2)
	inner := &counted{entered: make(chan struct{}, 10), leave: make(chan struct{})}
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			for range llm.Limit(inner, places).Chat(t.Context(), &llm.Request{}) {
				t.Error("a delta came")
			}
		})
	}
	<-inner.entered
	<-inner.entered
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range llm.Limit(inner, places).Chat(ended, &llm.Request{}) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("who does not wait any more gets %v", err)
		}
	}
	close(inner.leave)
	all.Wait()
	if inner.max != 2 {
		t.Errorf("%d chats were at work at once", inner.max)
	}
	if holder, ok := llm.Limit(inner, places).(llm.SecretHolder); !ok || len(holder.Secrets()) != 1 {
		t.Error("the secrets are not those of the provider")
	}
	if _, ok := llm.Limit(inner, places).(llm.EmbeddingProvider); ok {
		t.Error("the provider has embeddings")
	}
}

package scheduler

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/journal"
)

// maxPrompts bounds how many conversations of one step are told of.
const maxPrompts = 100

// asked is what a task has asked models.
type asked struct {
	mu            sync.Mutex
	conversations []conversation
	// told is the conversation that an event has shown last; of the outermost task,
	// for all inside it.
	told []llm.Message
	use  journal.ModelUse
}

type conversation struct {
	messages []llm.Message
	parts    []calls.Part
}

// recordRequest notes a request, unless the input of the step says what is in it, and the
// call no more than that.
func (t *task) recordRequest(ctx context.Context, req *llm.Request) {
	isInput := startsWith(req.Messages, t.inputMessages()) && len(req.Messages) == len(t.inputMessages())
	if isInput && calls.PartsOf(ctx) == nil {
		return
	}
	a := &t.asked
	a.mu.Lock()
	defer a.mu.Unlock()
	next := conversation{slices.Clone(req.Messages), calls.PartsOf(ctx)}
	if last := len(a.conversations) - 1; last >= 0 && startsWith(next.messages, a.conversations[last].messages) {
		if next.parts == nil {
			next.parts = a.conversations[last].parts
		}
		a.conversations[last] = next
		return
	}
	if len(a.conversations) < maxPrompts {
		a.conversations = append(a.conversations, next)
	}
}

// countRequest counts a request to a model, for the task and those around it.
func (t *task) countRequest(model string) {
	for ; t != nil; t = t.around {
		t.asked.mu.Lock()
		use := &t.asked.use
		use.Requests++
		use.Provider, use.Model = t.run.provider, cmp.Or(model, t.run.model)
		t.asked.mu.Unlock()
	}
}

// countEstimate counts a request whose tokens the provider did not tell.
func (t *task) countEstimate() {
	for ; t != nil; t = t.around {
		t.asked.mu.Lock()
		t.asked.use.Estimated++
		t.asked.mu.Unlock()
	}
}

// setFirstToken notes how long the answer to a request took to begin.
func (t *task) setFirstToken(waited time.Duration) {
	ms := float64(waited) / float64(time.Millisecond)
	for ; t != nil; t = t.around {
		t.asked.mu.Lock()
		t.asked.use.FirstTokenMS = &ms
		t.asked.mu.Unlock()
	}
}

// startsWith reports whether a conversation goes on from another.
func startsWith(messages, with []llm.Message) bool {
	return len(messages) >= len(with) &&
		slices.EqualFunc(messages[:len(with)], with, func(a, b llm.Message) bool { return bytes.Equal(a, b) })
}

// inputMessages returns the messages that the input of the step has.
func (t *task) inputMessages() (messages []llm.Message) {
	list, _ := t.input.Get("messages")
	for _, m := range list.List() {
		messages = append(messages, m.AppendJSON(nil))
	}
	return messages
}

// addCosts puts into the event of a task's end what it cost, and what models were asked.
func (t *task) addCosts(n *pendingEvent) {
	n.setUsage(&t.meter)
	t.asked.mu.Lock()
	if t.asked.use.Requests > 0 {
		use := t.asked.use
		n.data.LLM = &use
	}
	conversations := t.asked.conversations
	t.asked.conversations = nil
	t.asked.mu.Unlock()
	if len(conversations) == 0 {
		return
	}
	outer := t.outermostTask()
	outer.asked.mu.Lock()
	defer outer.asked.mu.Unlock()
	if outer.asked.told == nil {
		outer.asked.told = outer.inputMessages()
	}
	for _, c := range conversations {
		p := journal.Prompt{Parts: c.parts, Messages: []value.Value{}}
		if told := outer.asked.told; startsWith(c.messages, told) {
			p.Shared = len(told)
		}
		for _, m := range c.messages[p.Shared:] {
			v, err := value.ParseJSON(m)
			if err != nil {
				v = value.OfString(string(m))
			}
			clear, changed := t.run.secrets.maskWithPointers(v)
			if i := p.Shared + len(p.Messages); len(changed) > 0 { // the pieces are elsewhere now
				p.Parts = slices.DeleteFunc(slices.Clone(p.Parts), func(part calls.Part) bool { return part.Message != nil && *part.Message == i })
			}
			p.Messages = append(p.Messages, clear)
		}
		outer.asked.told = c.messages
		n.data.Prompts = append(n.data.Prompts, p)
	}
}

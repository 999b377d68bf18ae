package scheduler

import (
	"bytes"
	"cmp"
	"context"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/internal/budget"
	"github.com/callnode/scheduler/scheduler/journal"
)

// maxPrompts limits the number of recorded conversations of one step.
const maxPrompts = 100

// requests records the requests of a step, or of a call inside it, to models. It is safe for concurrent use.
type requests struct {
	// outer has the requests of the step around a call inside a step; nil for the step itself.
	outer *requests
	// input is the input of the step or call.
	input *value.Value
	mu    sync.Mutex

	// The following fields are guarded by mu.

	conversations []conversation
	// told is the conversation that an event has shown last; of the outermost requests,
	// for all inside it.
	told conversation
	use  journal.ModelUse
}

// modelName names the answering provider and model, for the events.
type modelName struct{ provider, model string }

// nameOf returns the names of the provider and model of a request.
func nameOf(to *llm.Candidate, req *llm.Request) modelName {
	return modelName{to.Name, cmp.Or(req.Model, to.Model)}
}

type conversation struct {
	messages []llm.Message
	parts    []calls.Part
}

// record notes a request, unless the step's input already has its content, and the call adds nothing to that.
func (a *requests) record(ctx context.Context, to *llm.Candidate, req *llm.Request) {
	a.count(nameOf(to, req))
	known := inputMessages(*a.input)
	isInput := len(req.Messages) == len(known) && startsWith(req.Messages, known)
	if isInput && calls.PartsOf(ctx) == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	next := conversation{slices.Clone(req.Messages), calls.PartsOf(ctx)}
	if last := len(a.conversations) - 1; last >= 0 && continuesConversation(next.messages, a.conversations[last].messages) {
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

// updateUse updates the record of the use of models, also in the requests around this one.
func (a *requests) updateUse(change func(use *journal.ModelUse)) {
	for ; a != nil; a = a.outer {
		a.mu.Lock()
		change(&a.use)
		a.mu.Unlock()
	}
}

// count counts a request.
func (a *requests) count(to modelName) {
	a.updateUse(func(use *journal.ModelUse) {
		use.Requests++
		use.Provider, use.Model = to.provider, to.model
		use.Share(to.provider, to.model).Requests++
	})
}

// addCost adds the cost of a request, and the reason of its failure; "" for one that succeeded.
func (a *requests) addCost(of modelName, cost budget.Cost, failure string) {
	a.updateUse(func(use *journal.ModelUse) {
		share := use.Share(of.provider, of.model)
		share.Usage.Add(cost.Usage)
		if cost.Estimated {
			use.Estimated++
		}
		if failure != "" {
			share.Failed++
			share.Error = failure
		}
	})
}

// setFirstToken sets how long the answer to a request took to begin.
func (a *requests) setFirstToken(waited time.Duration) {
	ms := float64(waited) / float64(time.Millisecond)
	a.updateUse(func(use *journal.ModelUse) { use.FirstTokenMS = &ms })
}

// continuesConversation reports whether a request asks again, or continues after an answer to the previous
// request. A request with more messages in place of an answer is another one.
func continuesConversation(messages, before []llm.Message) bool {
	if !startsWith(messages, before) {
		return false
	}
	if len(messages) == len(before) {
		return true
	}
	next, err := value.ParseJSON(messages[len(before)])
	role, _ := next.Get("role")
	text, _ := role.Str()
	return err == nil && text == "assistant"
}

// startsWith reports whether a conversation continues another.
func startsWith(messages, with []llm.Message) bool {
	return len(messages) >= len(with) &&
		slices.EqualFunc(messages[:len(with)], with, func(a, b llm.Message) bool { return bytes.Equal(a, b) })
}

// inputMessages returns the messages that an input has.
func inputMessages(input value.Value) (messages []llm.Message) {
	list, _ := input.Get("messages")
	for _, m := range list.List() {
		messages = append(messages, m.AppendJSON(nil))
	}
	return messages
}

// addTo adds the prompts to models to the event of an end.
func (a *requests) addTo(n *pendingEvent, hide partsMask) {
	a.mu.Lock()
	if a.use.Requests > 0 {
		n.data.LLM = a.use.Told()
	}
	conversations := a.conversations
	a.conversations = nil
	a.mu.Unlock()
	if len(conversations) == 0 {
		return
	}
	outermost := a
	for outermost.outer != nil {
		outermost = outermost.outer
	}
	outermost.mu.Lock()
	defer outermost.mu.Unlock()
	if outermost.told.messages == nil {
		outermost.told.messages = inputMessages(*outermost.input)
	}
	for _, c := range conversations {
		n.data.Prompts = append(n.data.Prompts, c.promptAfter(outermost.told, hide))
		outermost.told = c
	}
}

// promptAfter returns the conversation as the prompt that follows another one.
func (c conversation) promptAfter(told conversation, hide partsMask) journal.Prompt {
	p := journal.Prompt{Parts: c.parts, Messages: []value.Value{}}
	if startsWith(c.messages, told.messages) {
		p.Shared = len(told.messages)
		shared, rest := journal.SplitParts(c.parts, p.Shared)
		before, _ := journal.SplitParts(told.parts, p.Shared)
		if len(shared) > 0 && reflect.DeepEqual(shared, before) {
			p.SharedParts, p.Parts = true, rest
		}
	}
	sent := make([]value.Value, len(c.messages))
	for i, m := range c.messages {
		if i < p.Shared && hide.secrets.set.IsEmpty() {
			continue
		}
		v, err := value.ParseJSON(m)
		if err != nil {
			v = value.OfString(string(m))
		}
		sent[i] = v
		if i >= p.Shared {
			p.Messages = append(p.Messages, hide.secrets.maskValue(v))
		}
	}
	p.Parts = hide.maskMessages(p.Parts, sent)
	return p
}

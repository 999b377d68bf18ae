// Package scripted has providers that need no model: one that answers from a list, for tests, and one that repeats
// its prompt, for examples. For example, Texts("yes", "no") answers yes to the first request, no to the second,
// and then fails.
package scripted

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"sync"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Answer is the scripted answer to one request. The zero value is an empty one.
type Answer struct {
	// Text is the answer's text, in one piece.
	Text string
	// ToolCalls are whole tool calls, numbered by their order.
	ToolCalls []llm.ToolCall
	// Reasoning is the text of the model's thoughts.
	Reasoning string
	// FinishReason is stop or tool_calls unless it is given.
	FinishReason string
	// Usage is the usage of the answer; nil reports none.
	Usage *llm.Usage
	// Deltas, if given, come before all of the above, one by one: for tests of streaming.
	Deltas []llm.Delta
	// Error ends the answer after its Deltas.
	Error *llm.Error
	// Before is called before the answer begins: it may block until ctx ends, or
	// fail. nil begins at once.
	Before func(ctx context.Context, req *llm.Request) error
}

// Provider answers from a list, in order. [New] and [Texts] make one, for one test. It is
// safe for concurrent use; the order of requests that come at the same time is not
// defined.
type Provider struct {
	mu       sync.Mutex // guards requests
	answers  []Answer
	requests []*llm.Request
}

var _ llm.Provider = (*Provider)(nil)

// New returns a provider with these answers. A request after the last is an error.
func New(answers ...Answer) *Provider { return &Provider{answers: answers} }

// Texts returns a provider with plain texts as answers.
func Texts(texts ...string) *Provider {
	answers := make([]Answer, len(texts))
	for i, text := range texts {
		answers[i].Text = text
	}
	return New(answers...)
}

// Requests returns the requests so far, in the order in which they came.
func (p *Provider) Requests() []*llm.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// Left returns the number of answers that no request has had yet.
func (p *Provider) Left() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(0, len(p.answers)-len(p.requests))
}

// Chat yields the next answer.
func (p *Provider) Chat(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		fail := func(e *llm.Error) { yield(llm.Delta{}, e) }
		if err := ctx.Err(); err != nil {
			fail(&llm.Error{Provider: "scripted", Err: err})
			return
		}
		answer, ok := p.nextAnswer(req)
		if !ok {
			fail(&llm.Error{
				Provider: "scripted",
				Err:      wording.Errorf("the script is used up: it has %d answers, and this is another request", len(p.answers)),
			})
			return
		}
		if answer.Before != nil {
			if err := answer.Before(ctx, req); err != nil {
				fail(&llm.Error{Provider: "scripted", Err: err})
				return
			}
		}
		for _, d := range answer.deltas() {
			if err := ctx.Err(); err != nil {
				fail(&llm.Error{Provider: "scripted", Err: err})
				return
			}
			if !yield(d, nil) {
				return
			}
		}
		if answer.Error != nil {
			fail(answer.Error)
		}
	}
}

func (p *Provider) nextAnswer(req *llm.Request) (Answer, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := len(p.requests)
	p.requests = append(p.requests, cloneRequest(req))
	if i >= len(p.answers) {
		return Answer{}, false
	}
	return p.answers[i], true
}

// cloneRequest keeps a request as it was: the lists of the original may be used again.
func cloneRequest(req *llm.Request) *llm.Request {
	c := *req
	c.Messages = slices.Clone(req.Messages)
	c.Tools = slices.Clone(req.Tools)
	return &c
}

func (a Answer) deltas() []llm.Delta {
	deltas := slices.Clone(a.Deltas)
	if a.Error != nil {
		return deltas
	}
	if a.Reasoning != "" {
		deltas = append(deltas, llm.Delta{Reasoning: a.Reasoning})
	}
	if a.Text != "" {
		deltas = append(deltas, llm.Delta{Text: a.Text})
	}
	var pieces []llm.ToolCallDelta
	for i, c := range a.ToolCalls {
		pieces = append(pieces, llm.ToolCallDelta{Index: i, ID: c.ID, Name: c.Name, Arguments: c.Arguments, Extra: c.Extra})
	}
	end := llm.Delta{ToolCalls: pieces, FinishReason: a.FinishReason, Usage: a.Usage}
	finished := slices.ContainsFunc(a.Deltas, func(d llm.Delta) bool { return d.FinishReason != "" })
	switch {
	case end.FinishReason != "" || finished:
	case len(pieces) > 0:
		end.FinishReason = "tool_calls"
	default:
		end.FinishReason = "stop"
	}
	if finished && len(pieces) == 0 && a.Usage == nil {
		return deltas
	}
	return append(deltas, end)
}

// Echo is a provider that answers with the text of the last user message, word by
// word, offline and always alike. Usage is four bytes a token. The zero value is ready
// to use, also by several goroutines.
type Echo struct{}

var _ llm.Provider = Echo{}

// Chat yields the last user message.
func (Echo) Chat(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		text, usage := "", llm.Usage{}
		for _, m := range req.Messages {
			if role, content := readMessage(m); role == "user" {
				text = content
			}
			usage.InputTokens += (len(m) + 3) / 4
		}
		usage.OutputTokens = (len(text) + 3) / 4
		for len(text) > 0 {
			if err := ctx.Err(); err != nil {
				break
			}
			n := nextWordLen(text)
			if !yield(llm.Delta{Text: text[:n]}, nil) {
				return
			}
			text = text[n:]
		}
		if err := ctx.Err(); err != nil {
			yield(llm.Delta{}, &llm.Error{Provider: "echo", Err: err})
			return
		}
		yield(llm.Delta{FinishReason: "stop", Usage: &usage}, nil)
	}
}

// nextWordLen returns the length of the next word with the space before it.
func nextWordLen(text string) int {
	for i := 1; i < len(text); i++ {
		isBlank := text[i] == ' ' || text[i] == '\n'
		if isBlank && text[i-1] != text[i] {
			return i
		}
	}
	return len(text)
}

// readMessage returns a message's role and text; of a list of parts the text parts.
func readMessage(m llm.Message) (role, text string) {
	var message struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(m, &message) != nil {
		return "", ""
	}
	if json.Unmarshal(message.Content, &text) == nil {
		return message.Role, text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(message.Content, &parts) == nil {
		for _, part := range parts {
			text += part.Text
		}
	}
	return message.Role, text
}

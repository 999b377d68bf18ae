// Package llm is the contract of a model provider. It knows no provider: for example, the providers for OpenAI's
// and Anthropic's servers are in the folders openai and anthropic below, and every one of them passes llmtest.
package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/callnode/scheduler/llm/value/wording"
)

// Provider answers chat requests.
//
// Chat yields the pieces of one answer as they arrive. An error ends the sequence; pieces yielded before it stay
// valid. A sequence that ends without an error is a complete answer. Breaking out of the loop, or ending ctx,
// closes the request. Errors are of type [*Error] whenever the server gave a reason. The program makes a Provider
// when something first asks it and keeps it until it ends; a Provider is safe for concurrent use.
// until it ends; a Provider is safe for concurrent use.
type Provider interface {
	Chat(ctx context.Context, req *Request) iter.Seq2[Delta, error]
}

// Settings are the common settings of every provider, under llm.providers in the settings file. The settings of a
// type of provider embed them and add their own.
type Settings struct {
	Name   string `json:"name" min:"1" doc:"What flows, --llm and the settings call this provider."`
	Type   string `json:"type,omitempty" doc:"What kind of server it is."`
	Model  string `json:"model,omitempty" doc:"The model of requests that name none; tokens are counted as it counts them."`
	Prices Prices `json:"prices,omitempty" doc:"What a million tokens cost, for the cost of runs."`
	// Lacks and Has are words of [Abilities].
	Lacks []string `json:"lacks,omitempty" doc:"What its model cannot do: images, tools, schema. Steps that need it are found before they run."`
	Has   []string `json:"has,omitempty" doc:"What its model can do although that is not known of its server. With images, agents see the pictures that their tools give; models of api.openai.com and api.anthropic.com do so anyway."`
	// MaxConcurrent is enforced by the opener of the provider: see [Limit].
	MaxConcurrent int `json:"max_concurrent,omitempty" min:"0" doc:"How many chats of one process ask it at once; further ones wait. 0 is any number."`
}

// The abilities that a model may lack: to see images, to call tools, to answer by a JSON Schema.
const (
	Images     = "images"
	CallsTools = "tools"
	BySchema   = "schema"
)

// Abilities returns all of them.
func Abilities() []string { return []string{Images, CallsTools, BySchema} }

// ImageTaker is a [Provider] that may know that all its models see images.
type ImageTaker interface {
	Provider
	// TakesImages reports whether messages may have image parts; false: it may be that they may not.
	TakesImages() bool
}

// TakesImages reports whether a provider is known to take image parts.
func TakesImages(p Provider) bool {
	taker, ok := p.(ImageTaker)
	return ok && taker.TakesImages()
}

// SecretHolder is a [Provider] that knows texts no record may show: keys, passwords. They
// stay the same as long as it lives.
type SecretHolder interface {
	Provider
	// Secrets returns them, in any order.
	Secrets() []string
}

// Embedder turns texts into vectors that point the same way if the texts mean the same. It is safe for concurrent
// use.
type Embedder interface {
	// Model names the model, and everything else that makes its vectors different from others.
	Model() string
	// Embed returns a vector for each text, in their order. All errors are of type
	// [*Error].
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// EmbeddingProvider is a [Provider] with models for embeddings on its server, and as safe for concurrent use.
type EmbeddingProvider interface {
	Provider
	// Embedder returns an embedder of a model. The model is asked for vectors of that
	// many dimensions; 0 leaves the number to it.
	Embedder(model string, dimensions int) Embedder
}

// Request is one chat request in the shape of the OpenAI chat-completions API. Members that other vendors need
// beyond it travel in Extra and inside the messages. A call makes one for each answer that it wants; a Provider
// only reads it.
type Request struct {
	// Model is the vendor's name of the model; "" leaves the choice to the
	// provider's setting.
	Model string
	// Messages are the objects of the conversation, oldest first: {role, content,
	// ...}. They are passed on as they are, with every key they have.
	Messages []Message
	// Temperature, if given, is 0 to 2.
	Temperature *float64
	// MaxTokens bounds the answer; 0 leaves it to the vendor.
	MaxTokens int
	// Tools are tool definitions: {type: function, function: {name, description,
	// parameters}}.
	Tools []json.RawMessage
	// ResponseSchema, if given, is a JSON Schema that the answer's text must fit.
	ResponseSchema json.RawMessage
	// Extra are further members of the request body. They win over the fields
	// above; a null takes a member out.
	Extra map[string]json.RawMessage
}

// Message is one chat message as a JSON object: {role, content, ...}.
type Message = json.RawMessage

// TextMessage returns the message {role, content} of plain text.
func TextMessage(role, content string) Message {
	b, err := json.Marshal(struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}{role, content})
	if err != nil {
		panic(err) // two strings always encode
	}
	return b
}

// Delta is one piece of an answer. Any of its fields may be empty. A Provider yields
// each once and keeps nothing of it.
type Delta struct {
	// Text is the next piece of the answer's text.
	Text string
	// Reasoning is the next piece of text that the model thought aloud
	// (reasoning_content, reasoning).
	Reasoning string
	// ReasoningMember names the member of the assistant message in which the vendor wants
	// Reasoning back with the next request, for example reasoning_content. It is given once,
	// near the end; "" if the vendor wants none.
	ReasoningMember string
	// ToolCalls are pieces of tool calls, to be joined by Index.
	ToolCalls []ToolCallDelta
	// FinishReason is given once, near the end: [FinishStop], [FinishLength],
	// [FinishToolCalls], [FinishContentFilter], or the word of a vendor that means none of
	// these. An answer that a fault of the server broke off ends with an error instead.
	FinishReason string
	// Usage is given at most once.
	Usage *Usage
	// Provider is the name of the provider that answers, given at most once: see [Chain].
	Provider string
	// Extra are the vendor's fields of the message that this type does not name. The next
	// request has them in the assistant message, for example response_items, content_blocks
	// or reasoning_details: see [Answer.VendorMembers].
	Extra map[string]json.RawMessage
}

// The reasons to finish that every provider has the same word for; see [Delta.FinishReason].
const (
	FinishStop          = "stop"
	FinishLength        = "length"
	FinishToolCalls     = "tool_calls"
	FinishContentFilter = "content_filter"
)

// ToolCallDelta is a piece of a tool call: ID and Name come once, Arguments in
// pieces of one JSON text.
type ToolCallDelta struct {
	Index     int
	ID        string
	Name      string
	Arguments string
	// Extra are the vendor's fields of the tool call that this type does not name;
	// some vendors want them back with the next request.
	Extra map[string]json.RawMessage
}

// Usage counts tokens as the vendor bills them. The zero value means that the vendor does not count.
type Usage struct {
	InputTokens  int `json:"input_tokens"`
	OutputTokens int `json:"output_tokens"`
	// CachedTokens is the part of InputTokens that came from the vendor's prompt
	// cache.
	CachedTokens int `json:"cached_tokens,omitempty"`
	// CacheWriteTokens is the part of InputTokens that was put into the vendor's prompt cache, if the vendor bills
	// that.
	CacheWriteTokens int `json:"cache_write_tokens,omitempty"`
	// Cost is the cost of the answer by the [Prices] of its provider, else by the vendor's own report; 0 if
	// neither is known.
	Cost float64 `json:"cost,omitempty"`
}

// Add adds o to u.
func (u *Usage) Add(o Usage) {
	u.InputTokens += o.InputTokens
	u.OutputTokens += o.OutputTokens
	u.CachedTokens += o.CachedTokens
	u.CacheWriteTokens += o.CacheWriteTokens
	u.Cost = roundCost(u.Cost + o.Cost)
}

// Minus returns u without o, which is a part of it; no count of it is below zero.
func (u Usage) Minus(o Usage) Usage {
	return Usage{
		InputTokens:      max(u.InputTokens-o.InputTokens, 0),
		OutputTokens:     max(u.OutputTokens-o.OutputTokens, 0),
		CachedTokens:     max(u.CachedTokens-o.CachedTokens, 0),
		CacheWriteTokens: max(u.CacheWriteTokens-o.CacheWriteTokens, 0),
		Cost:             max(roundCost(u.Cost-o.Cost), 0),
	}
}

// Total returns all tokens, in and out.
func (u Usage) Total() int { return u.InputTokens + u.OutputTokens }

// Error is why a provider did not answer, or not to the end. A Provider makes one for
// each failure; it is not changed after that.
type Error struct {
	// Provider is the provider's name in the configuration.
	Provider string
	// Status is the HTTP status, or 0 if there was none.
	Status int
	// Message is the vendor's own message, cut to a readable length.
	Message string
	// Temporary reports that the same request may be answered later: 408, 409, 429,
	// 5xx, a broken connection, a timeout.
	Temporary bool
	// Unsent reports that the request did not reach the vendor, so that it costs nothing.
	Unsent bool
	// Exhausted reports that the account has no credit left, whatever the status: another provider
	// may answer the same request.
	Exhausted bool
	// RetryAfter is how long the vendor asked to wait; 0 if it did not say.
	RetryAfter time.Duration
	// Hint is the remedy for the user; "" if none is known.
	Hint string
	// Err is the error below, if there is one.
	Err error

	chinese string // Message in Chinese, unless it is the vendor's
}

// WithMessage returns the error with a message of this program, in the built-in languages.
func (e *Error) WithMessage(format string, args ...any) *Error {
	text := wording.Say(format, args...)
	e.Message, e.chinese = text.En, text.Zh
	return e
}

// MessageText returns Message in both languages.
func (e *Error) MessageText() wording.Text {
	if e.chinese != "" {
		return wording.Text{En: e.Message, Zh: e.chinese}
	}
	return wording.Of(e.Message)
}

// ChangeMessage changes the message in every language, for example to mask secrets in it.
func (e *Error) ChangeMessage(change func(text string) string) {
	e.Message = change(e.Message)
	if e.chinese != "" {
		e.chinese = change(e.chinese)
	}
}

// In is [Error.Error] in a language.
func (e *Error) In(language string) string {
	if !wording.IsChinese(language) {
		return e.Error()
	}
	s := "服务商"
	if e.Provider != "" {
		s += " " + e.Provider
	}
	if e.Status != 0 {
		s += fmt.Sprintf("：HTTP %d", e.Status)
	}
	if e.Message != "" {
		s += "：" + cmp.Or(e.chinese, wording.Of(e.Message).Zh)
	}
	if e.Err != nil {
		s += "：" + wording.OfError(e.Err).Zh
	}
	return s
}

// Error returns the provider's name, the status and the vendor's message.
func (e *Error) Error() string {
	s := "provider"
	if e.Provider != "" {
		s += " " + e.Provider
	}
	if e.Status != 0 {
		s += fmt.Sprintf(": HTTP %d", e.Status)
	}
	if e.Message != "" {
		s += ": " + e.Message
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the error below.
func (e *Error) Unwrap() error { return e.Err }

type sentOnce struct{}

// SentOnce returns a context for requests that the caller tries again by itself: a
// provider sends them once, so that only one layer retries.
func SentOnce(ctx context.Context) context.Context {
	return context.WithValue(ctx, sentOnce{}, true)
}

// IsSentOnce reports whether ctx comes from [SentOnce].
func IsSentOnce(ctx context.Context) bool { return ctx.Value(sentOnce{}) != nil }

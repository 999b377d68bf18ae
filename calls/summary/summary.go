// Package summary is the call that sums up a conversation and the outputs of steps. Later steps see its text as
// summary. For example, after 50 messages, a prompt can contain the summary in place of the oldest 40.
package summary

import (
	"context"
	"embed"
	"iter"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/ask"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
)

//go:embed lang/en lang/zh
var texts embed.FS

// Params are the parameters of the call.
type Params struct {
	ask.Source
	Instructions string   `json:"instructions,omitempty" doc:"Wishes beyond the built-in ones, such as what to leave out." example:"Leave prices out."`
	MaxWords     int      `json:"max_words,omitempty" default:"150" min:"1" max:"100000" doc:"How long the summary should be at the most, in words, or in characters where a language has no spaces. The model is told so."`
	Model        string   `json:"model,omitempty" doc:"The model to ask; the provider's setting where it is not given." example:"some-model"`
	Temperature  *float64 `json:"temperature,omitempty" min:"0" max:"2" doc:"How freely the model chooses its words." example:"0.2"`
	MaxTokens    int      `json:"max_tokens,omitempty" min:"1" max:"10000000" doc:"The longest answer, in tokens; the vendor's limit where it is not given." example:"500"`
}

// Input is the text to sum up.
type Input struct {
	Lines    []ask.Line `json:"lines"`
	Before   string     `json:"before,omitempty" doc:"The summary of what came before."`
	Question string     `json:"question,omitempty"`
}

// Output is the summary of all lines so far, not of the new ones only.
type Output struct {
	Text string `json:"text" doc:"The summary; where there was nothing new to sum up, that of before."`
}

// Definition returns the call summary as a registry knows it: schemas, texts, examples.
func Definition() calls.Definition {
	def := calls.Define[Params, Input, Output](calls.Info{
		Name:        "summary",
		Provides:    "summary",
		IsContained: true,
		NoSubsteps:  true,
		Messages:    []string{"messages"},
		Summary: calls.Text{
			En: "Sum up a conversation, a text or the steps before; later steps see it as summary.",
			Zh: "概括一段对话、文本或之前的步骤；后面的步骤可用 summary 引用。",
		},
		UsesLLM: true,
		Examples: []calls.Example{{
			Title: "A conversation",
			With: `messages:
  - {role: user, content: I want to fly to Lyon on Friday.}
  - {role: assistant, content: "There is one at 9:40 and one at 18:05."}
  - {role: user, content: The later one. And a window seat.}
max_words: 50
`,
			Answers: []string{"The user wants the flight to Lyon on Friday at 18:05, with a window seat."},
		}},
	})
	def.Info.Check = ask.CheckSource
	def.ReadsConversation = calls.ReadsUnlessGiven("text", "messages")
	def.Texts = []calls.Texts{ask.Texts("summary", texts)}
	def.Origins = inputOrigins
	return def
}

// inputOrigins returns the origins of the text to sum up, and of a summary that is the previous one.
func inputOrigins(_ context.Context, of calls.Record, pointer string) []calls.Origin {
	lines, _ := of.Input.Get("lines")
	switch {
	case pointer == "/input/before", pointer == "/output/text" && len(lines.List()) == 0:
		return []calls.Origin{{Kind: calls.OriginName, Name: "summary"}}
	case pointer == "/input/question":
		return []calls.Origin{{Kind: calls.OriginName, Name: "question"}}
	}
	var p Params
	below, ok := strings.CutPrefix(pointer, "/input/lines")
	if !ok || value.Decode(of.Params, &p) != nil {
		return nil
	}
	return p.InputOrigins(of, below)
}

// Init gathers the text to sum up.
func (p Params) Init(_ context.Context, vars *calls.Vars) (Input, error) {
	return Input{Lines: p.Lines(vars), Before: vars.Summary(), Question: vars.Question}, nil
}

// Exec asks the model; if there is nothing new, it returns the previous summary.
func (p Params) Exec(ctx context.Context, env *calls.Env, in Input) iter.Seq2[calls.Chunk, error] {
	return func(yield func(calls.Chunk, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(calls.Chunk{}, err)
			return
		}
		lines := p.AllLines(ctx, env)
		if len(lines) == 0 {
			yield(calls.TextChunk(in.Before), nil)
			return
		}
		req, parts, err := p.request(ctx, env, in, lines)
		if err != nil {
			yield(calls.Chunk{}, err)
			return
		}
		empty := true
		var answer llm.AnswerBuilder
		for text, err := range ask.TextInto(&answer, env.LLM.Chat(calls.WithParts(ctx, parts), req)) {
			empty = empty && strings.TrimSpace(text) == ""
			if !yield(calls.TextChunk(text), err) || err != nil {
				return
			}
		}
		if empty { // as an output, it would make the summary of before go away
			yield(calls.Chunk{}, calls.Errorf(calls.Provider, "the model gave no summary").
				WithHint("let the step retry, raise max_tokens, or ask another model"))
			return
		}
		ask.WarnOfCut(env, answer.Answer().FinishReason, "max_tokens")
	}
}

// request returns the request for the model.
func (p Params) request(ctx context.Context, env *calls.Env, in Input, lines []ask.TracedLine) (*llm.Request, []calls.Part, error) {
	talk, left := p.FormatNewest(env, lines, "conversation")
	values := ask.NewValues("left", left, "max_words", p.MaxWords)
	values.Trace("max_words", calls.TracedParam("/max_words", strconv.Itoa(p.MaxWords)))
	values.Put("conversation", talk)
	values.Put("before", ask.EscapeElement(calls.TracedName("summary", "", in.Before), "before"))
	values.Put("question", ask.EscapeElement(calls.TracedName("question", "", in.Question), "question"))
	values.Put("instructions", calls.TracedParam("/instructions", p.Instructions))
	text, parts, err := ask.TracedPrompt(ctx, env, "summary", texts, "summary", values)
	if err != nil {
		return nil, nil, err
	}
	return &llm.Request{
		Model: p.Model, Temperature: p.Temperature, MaxTokens: p.MaxTokens,
		Messages: []llm.Message{llm.TextMessage("user", text)},
	}, parts, nil
}

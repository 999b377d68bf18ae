// Package ask is shared by the calls that ask a model in words of their own: prompts in the user's language,
// answers that fit a schema, text without the thoughts before it, and conversations cut to a budget. For example,
// the call choice asks for one of its options with [JSON].
package ask

import (
	"context"
	"embed"
	"iter"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

//go:embed lang/en lang/zh
var texts embed.FS

// ErrNoAnswer means that the model answered, but nothing of use.
var ErrNoAnswer = wording.Errorf("the model gave no usable answer")

// trials is how often a model is asked for an answer that fits.
const trials = 3

// JSON asks the model for a JSON document that fits s, and tells it the faults of an answer that does not fit. A
// server that refuses a schema, or whose model answers without any JSON, is asked without one: the prompt should
// describe the answer. mend, unless it is nil, corrects a document that says the same in other words. The error is
// the provider's own, or [ErrNoAnswer] of kind Provider if no answer was usable.
func JSON(ctx context.Context, env *calls.Env, req *llm.Request, s *schema.Schema, mend func(value.Value) value.Value) (value.Value, error) {
	return JSONWithin(ctx, env, trials, req, s, mend)
}

// JSONWithin is [JSON] for so many trials.
func JSONWithin(ctx context.Context, env *calls.Env, trials int, req *llm.Request, s *schema.Schema, mend func(value.Value) value.Value) (value.Value, error) {
	asked, structured, parts := *req, &Structured{IsDocument: hasDocument}, calls.PartsOf(ctx)
	var fault error
	for range trials {
		text, err := structured.Ask(calls.WithParts(ctx, parts), env.LLM, &asked, s.Doc())
		if err != nil {
			return value.Value{}, err
		}
		document, err := fitSchema(text, s, mend)
		if err == nil {
			return document, nil
		}
		fault = err
		again, more, err := TracedPrompt(ctx, env, "ask", texts, "again", NewValues("problem", env.MessageOf(fault)))
		if err != nil {
			return value.Value{}, err
		}
		parts = append(slices.Clip(parts), calls.AnswerPart(len(asked.Messages), text))
		parts = append(parts, MoveParts(more, len(asked.Messages)+1)...)
		asked.Messages = append(slices.Clip(asked.Messages),
			llm.TextMessage("assistant", text), llm.TextMessage("user", again))
	}
	return value.Value{}, calls.Errorf(calls.Provider, "%w in %d trials: %w", ErrNoAnswer, trials, fault).
		WithHint("let the step retry, or ask another model")
}

// Text streams the text of an answer without the thoughts that some models write
// before it, between <think> tags.
func Text(deltas iter.Seq2[llm.Delta, error]) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		var f thinkFilter
		for d, err := range deltas {
			if err != nil {
				yield("", err)
				return
			}
			if text := f.addPiece(d.Text); text != "" && !yield(text, nil) {
				return
			}
		}
		if text := f.takeRest(); text != "" {
			yield(text, nil)
		}
	}
}

// TextInto is [Text] that also joins the deltas to an answer.
func TextInto(answer *llm.AnswerBuilder, deltas iter.Seq2[llm.Delta, error]) iter.Seq2[string, error] {
	return Text(func(yield func(llm.Delta, error) bool) {
		for d, err := range deltas {
			if err == nil {
				answer.Add(d)
			}
			if !yield(d, err) {
				return
			}
		}
	})
}

// WarnOfCut warns if a vendor has cut an answer short, as its reason to end shows, and returns the text of the
// warning; "" if the answer is whole. limit is the parameter that allows a longer one.
func WarnOfCut(env *calls.Env, finishReason, limit string) (text string) {
	switch finishReason {
	case "", llm.FinishStop, llm.FinishToolCalls:
		return ""
	case llm.FinishLength:
		env.Warn("cut", cutAtLimit, limit)
		return env.Say(cutAtLimit, limit)
	case llm.FinishContentFilter:
		env.Warn("filtered", cutByFilter)
		return env.Say(cutByFilter)
	}
	env.Warn("finish", unknownFinish, finishReason)
	return env.Say(unknownFinish, finishReason)
}

const (
	cutAtLimit  = "the answer was cut at the limit of tokens: raise %s"
	cutByFilter = "the vendor's content filter cut the answer"
	// unknownFinish is for words that are in no vendor's documents, or newer than this program.
	unknownFinish = "the answer ended with the unknown reason %q: it may be incomplete"
)

const opening, closing, space = "<think>", "</think>", " \n\t\r"

// thinkFilter holds text back until it is clear whether it is a thought.
type thinkFilter struct {
	held  strings.Builder
	blank int // how much of held is white space before anything else
	state int
}

const (
	maybe   = iota // the text may begin with a thought
	thought        // it is one
	gap            // white space after it
	talk           // the rest is text
)

func (f *thinkFilter) addPiece(piece string) string {
	switch f.state {
	case talk:
		return piece
	case thought:
		// The tag may be cut: held keeps the end in which it could begin.
		all := f.held.String() + piece
		f.held.Reset()
		_, rest, found := strings.Cut(all, closing)
		if !found {
			f.held.WriteString(all[max(0, len(all)-len(closing)):])
			return ""
		}
		f.state = gap
		return f.addPiece(rest)
	case gap:
		piece = strings.TrimLeft(piece, space)
		if piece != "" {
			f.state = talk
		}
		return piece
	}
	f.held.WriteString(piece)
	all := f.held.String()
	begin := strings.TrimLeft(all[f.blank:], space) // bytes seen before are not looked at again
	f.blank = len(all) - len(begin)
	if strings.HasPrefix(begin, opening) {
		f.state = thought
		f.held.Reset()
		return f.addPiece(begin[len(opening):])
	}
	if strings.HasPrefix(opening, begin) {
		return ""
	}
	f.state = talk
	return all
}

// takeRest returns the text held back at the end; a thought that nothing follows is dropped.
func (f *thinkFilter) takeRest() string {
	if f.state == maybe {
		return f.held.String()
	}
	return ""
}

// withoutThought returns a text without the thought before it.
func withoutThought(text string) string {
	var f thinkFilter
	return f.addPiece(text) + f.takeRest()
}

// Fit finds the JSON document in an answer that fits the schema. Models put it
// between fences, behind their thoughts and into prose. The error is about the
// first document that there is.
func Fit(text string, s *schema.Schema) (value.Value, error) { return fitSchema(text, s, nil) }

// FitMended is [Fit] for documents that mend corrects before they are checked.
func FitMended(text string, s *schema.Schema, mend func(value.Value) value.Value) (value.Value, error) {
	return fitSchema(text, s, mend)
}

func fitSchema(text string, s *schema.Schema, mend func(value.Value) value.Value) (value.Value, error) {
	var first error
	for v := range jsonDocuments(text) {
		if mend != nil {
			v = mend(v)
		}
		problems := s.Check(v)
		if problems == nil {
			return v, nil
		}
		if first == nil {
			first = problems
		}
	}
	if first != nil {
		return value.Value{}, first
	}
	if mend != nil {
		if v := mend(value.OfString(withoutThought(text))); s.Check(v) == nil {
			return v, nil
		}
	}
	return value.Value{}, wording.Errorf("there is no JSON in it")
}

package input

import (
	"context"
	"fmt"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/plugins"
)

// inputOrigins returns the origin of the user's words in the input of a step.
func inputOrigins(_ context.Context, of calls.Record, pointer string) []calls.Origin {
	if pointer != "/input/user_input" {
		return nil
	}
	return of.OriginOfParamOr("/user_input", "question")
}

// segmentText returns the text of a segment: number j of module i of the configuration.
func (b *builder) segmentText(i, j int, s segment) (calls.Traced, error) {
	written := tracedWhole(b.config.origin(fmt.Sprintf("/context_template/%d/segments/%d/value", i, j)), s.Value)
	if !s.isVariable() {
		return written, nil
	}
	v, err := b.fetchedValue(s.Value)
	switch {
	case err == nil && b.isMemory(s.Value):
		return b.memoryTexts[s.Value], nil
	case err == nil:
		text := prompt.Text(v)
		return calls.Traced{Text: text, Origins: b.variableOrigins(s.Value, v, text)}, nil
	case b.params.OnUnknown == "error":
		return calls.Traced{}, err
	}
	if _, known := b.names.find(s.Value); known { // of an unknown one the warning was given before
		b.warn("variable %q: %v", s.Value, err)
	}
	if b.params.OnUnknown == "keep" {
		return calls.Traced{Text: "{{"}.Append(written, calls.Traced{Text: "}}"}), nil
	}
	return calls.Traced{}, nil
}

// isMemory reports whether a variable comes from memory, and not from the parameter
// variables.
func (b *builder) isMemory(name string) bool {
	_, given := b.names.given.Get(name)
	return isMemoryVariable(name) && !given
}

// variableOrigins returns the origins of a variable that is not memory: a parameter, or a name that templates have
// too.
func (b *builder) variableOrigins(name string, v value.Value, text string) []calls.Origin {
	if text == "" {
		return nil
	}
	s, _ := b.names.find(name)
	o := calls.Origin{End: len(text), Computed: v.Kind() != value.String}
	_, given := b.names.given.Get(s.root)
	switch {
	case given:
		o.Pointer = "/variables/" + value.Escape(s.root) + s.path
	case s.root == "current_user_input" && b.params.UserInput != nil:
		o.Pointer = "/user_input"
	case s.root == "current_user_input":
		o.Kind, o.Name = calls.OriginName, "question"
	case state[s.root] != nil:
		o.Kind, o.Name, o.Pointer = calls.OriginName, s.root, s.path
	default:
		if turn, ok := b.turnOrigins(s); ok {
			return turn
		}
		o.Kind, o.Name, o.Pointer = calls.OriginName, "vars", "/"+value.Escape(strings.TrimPrefix(s.root, "vars."))+s.path
	}
	return []calls.Origin{o}
}

// TurnResolver is a resolver that takes values from the dialogue. It is asked which utterance a
// variable is, and does no I/O for that.
type TurnResolver interface {
	plugins.Resolver
	// TurnOf returns the index of the utterance with the variable as content; ok is false for a variable that
	// holds no utterance.
	TurnOf(history []plugins.Turn, name string) (i int, ok bool)
}

// turnOrigins returns the origins of a variable that its resolver takes from the dialogue: the origins of the
// utterance. ok is false for any other variable.
func (b *builder) turnOrigins(s source) (origins []calls.Origin, ok bool) {
	resolver, ok := s.resolver.(TurnResolver)
	if !ok {
		return nil, false
	}
	d := b.dialogueOrWarn()
	i, ok := resolver.TurnOf(d.turns, s.root)
	if !ok {
		return nil, false
	}
	return b.sourceOfTurn(d.total - len(d.turns) + i).content.Origins, true
}

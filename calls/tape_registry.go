package calls

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/plugins"
)

// withTape returns a copy of the Registry whose functions outside go through a tape.
func (r *Registry) withTape(tape Tape) *Registry {
	if r == nil {
		return nil
	}
	c := *r
	c.tape = tape
	return &c
}

// isTaped reports whether a function goes through the tape: it does its work outside of the program.
func (r *Registry) isTaped(f any) bool {
	o, ok := f.(plugins.Outsider)
	return r.tape != nil && ok && o.IsOutside()
}

// tapedResolver records the values of variables, or plays them. Two of one resolver are equal.
type tapedResolver struct {
	plugins.Resolver
	tape Tape
}

// Resolve returns the values of names.
func (r tapedResolver) Resolve(ctx context.Context, state plugins.State, names []string) (map[string]json.RawMessage, error) {
	asked := struct {
		Names []string `json:"names"`
		Input string   `json:"input,omitempty"`
	}{names, state.Input}
	return askFunction(ctx, r.tape, TapedVariables, "", asked, state, func(ctx context.Context, state plugins.State) (map[string]json.RawMessage, error) {
		return r.Resolver.Resolve(ctx, state, names)
	})
}

// tapedImportance records the verdicts of an importance function, or plays them.
type tapedImportance struct {
	plugins.Importance
	name string
	tape Tape
}

// Judge judges the items.
func (f tapedImportance) Judge(ctx context.Context, state plugins.State, items []plugins.Item) ([]plugins.Verdict, error) {
	asked := struct {
		Items []plugins.Item `json:"items"`
		Input string         `json:"input,omitempty"`
	}{items, state.Input}
	return askFunction(ctx, f.tape, TapedImportance, f.name, asked, state, func(ctx context.Context, state plugins.State) ([]plugins.Verdict, error) {
		return f.Importance.Judge(ctx, state, items)
	})
}

// functionAnswer is all that a function did: a replay does it again, without the function.
type functionAnswer[T any] struct {
	Answer T `json:"answer,omitempty"`
	// Asked are the requests that it sent to the model of the step, which have recordings of their own.
	Asked []tapedRequest `json:"asked,omitempty"`
	Error *tapedError    `json:"error,omitempty"`
}

// askFunction asks a function, by the tape.
func askFunction[T any](ctx context.Context, tape Tape, kind, name string, asked any, state plugins.State, ask func(context.Context, plugins.State) (T, error)) (T, error) {
	var failed error
	isFresh := false
	found, err := Exchange(ctx, tape, kind, name, asked, func(ctx context.Context) (out functionAnswer[T], err error) {
		isFresh = true
		var mu sync.Mutex
		noted := state
		if state.Ask != nil {
			noted.Ask = func(ctx context.Context, p plugins.Prompt) (plugins.Answer, error) {
				mu.Lock()
				out.Asked = append(out.Asked, tapedRequest(requestOf(p)))
				mu.Unlock()
				return state.Ask(ctx, p)
			}
		}
		out.Answer, failed = ask(ctx, noted)
		mu.Lock()
		defer mu.Unlock()
		if failed != nil {
			out.Error = newTapedError(ctx, failed)
			if out.Error == nil {
				return out, failed
			}
		}
		return out, nil
	})
	switch {
	case isFresh && failed != nil:
		return found.Answer, failed
	case err != nil || isFresh:
		return found.Answer, err
	}
	for _, one := range found.Asked {
		if state.Ask == nil {
			break
		}
		_, err := state.Ask(ctx, plugins.Prompt{
			Model: one.Model, Messages: one.Messages, Temperature: one.Temperature, MaxTokens: one.MaxTokens, ResponseSchema: one.ResponseSchema,
		})
		if err != nil && found.Error == nil {
			return found.Answer, err
		}
	}
	if found.Error != nil {
		return found.Answer, found.Error.play(ctx)
	}
	return found.Answer, nil
}

// requestOf returns the request to a model that a prompt of a function becomes.
func requestOf(p plugins.Prompt) llm.Request {
	return llm.Request{Model: p.Model, Messages: p.Messages, Temperature: p.Temperature, MaxTokens: p.MaxTokens, ResponseSchema: p.ResponseSchema}
}

// Package plugins is the contract of plugins beside calls: importance functions and variable resolvers. Built-in
// ones and those in other processes satisfy the same interfaces; the engine cannot tell them apart. For example,
// recency.is_fresh decides whether an entry is included.
package plugins

import (
	"context"
	"encoding/json"
	"time"
)

// State is the data about the dialogue for an importance function or a resolver.
type State struct {
	// Input is the user's current words.
	Input string `json:"input"`
	// History is the dialogue so far, oldest first.
	History []Turn `json:"history,omitempty"`
	// Vars are the values that the caller knows by name.
	Vars map[string]json.RawMessage `json:"vars,omitempty"`
	// User and Session are the scope of the dialogue; "" if it is not known.
	User    string `json:"user,omitempty"`
	Session string `json:"session,omitempty"`
	// Language is zh, en or another language's name.
	Language string `json:"language,omitempty"`
	// Now is the time of the run's clock.
	Now time.Time `json:"now"`
	// Retrieve returns the memories found for Input, best first. They are fetched when it is first called, and
	// once however often it is called. It is nil if nothing can be retrieved.
	Retrieve func(context.Context) ([]Recalled, error) `json:"-"`
	// Search returns the memories that matter for other words, best first, at most limit. It is nil if nothing can
	// be searched.
	Search func(ctx context.Context, query string, limit int) ([]Recalled, error) `json:"-"`
	// Ask asks the flow's model; its tokens count for the step. It is nil if there is no model.
	Ask func(ctx context.Context, prompt Prompt) (Answer, error) `json:"-"`
}

// Prompt is a question to a model.
type Prompt struct {
	// Messages are chat messages {role, content, ...}, oldest first.
	Messages []json.RawMessage
	// Model is the vendor's name; "" is the flow's.
	Model string
	// Temperature, if given, is 0 to 2.
	Temperature *float64
	// MaxTokens bounds the answer; 0 leaves it to the vendor.
	MaxTokens int
	// ResponseSchema, if given, is a JSON Schema that the answer must fit.
	ResponseSchema json.RawMessage
}

// Answer is the answer of a model to a [Prompt].
type Answer struct {
	Text string
	// FinishReason is the vendor's: stop, length ...
	FinishReason string
	// InputTokens and OutputTokens are 0 if the vendor does not report them.
	InputTokens, OutputTokens int
}

// Turn is one utterance of a dialogue.
type Turn struct {
	// ID is the memory's id in its store; "" for a turn that is not from a store, and in plugins.
	ID string `json:"id,omitempty"`
	// Role is user, assistant, system or another chat role; "" if unknown.
	Role string `json:"role,omitempty"`
	// Content is the text.
	Content string `json:"content"`
	// Timestamp is when it was said; zero if unknown.
	Timestamp time.Time `json:"timestamp,omitzero"`
}

// Recalled is one retrieved memory.
type Recalled struct {
	// ID is the memory's id in its store; "" if the store has none, and in plugins.
	ID   string `json:"id,omitempty"`
	Text string `json:"text"`
	// Score is the relevance, 0 to 1.
	Score float64 `json:"score"`
}

// Item is one candidate that an importance function judges.
type Item struct {
	// Name distinguishes items in messages: a module's name, an entry's id.
	Name string `json:"name"`
	// Text is the candidate's text, as far as it is known. For example, the text of a module of input lacks its
	// variables, which are fetched for included modules.
	Text string `json:"text,omitempty"`
	// Data is everything else known about it.
	Data json.RawMessage `json:"data,omitempty"`
}

// Verdict is the judgement of one item.
type Verdict struct {
	// Include reports whether the item belongs into the prompt.
	Include bool `json:"include"`
	// Score, if given, ranks items, 0 to 1.
	Score *float64 `json:"score,omitempty"`
	// Reason explains the verdict to people.
	Reason string `json:"reason,omitempty"`
}

// Importance judges whether items matter in a state. Judge returns one verdict per item,
// in their order. Implementations are safe for concurrent use.
type Importance interface {
	Judge(ctx context.Context, state State, items []Item) ([]Verdict, error)
}

// ImportanceFunc is a function that judges one item, as an [Importance].
type ImportanceFunc func(ctx context.Context, state State, item Item) (Verdict, error)

// Judge calls f for each item and stops at the first error.
func (f ImportanceFunc) Judge(ctx context.Context, state State, items []Item) ([]Verdict, error) {
	verdicts := make([]Verdict, len(items))
	for i, item := range items {
		v, err := f(ctx, state, item)
		if err != nil {
			return nil, err
		}
		verdicts[i] = v
	}
	return verdicts, nil
}

// Resolver resolves names to values. Implementations are safe for concurrent use.
type Resolver interface {
	// Resolve returns the JSON value of each name. A name that is missing in the result has no value now, which is
	// an error for a reader that needs it.
	Resolve(ctx context.Context, state State, names []string) (map[string]json.RawMessage, error)
}

// Outsider is implemented by an [Importance] or a [Resolver] that does its work outside of the program, for
// example in a plugin: recordings of runs keep its answers, and a replay does not ask it.
type Outsider interface{ IsOutside() bool }

// ResolverFunc is a function that resolves one name, as a [Resolver].
type ResolverFunc func(ctx context.Context, state State, name string) (any, error)

// Resolve calls f for each name, and encodes its results as JSON.
func (f ResolverFunc) Resolve(ctx context.Context, state State, names []string) (map[string]json.RawMessage, error) {
	values := make(map[string]json.RawMessage, len(names))
	for _, name := range names {
		v, err := f(ctx, state, name)
		if err != nil {
			return nil, err
		}
		values[name], err = json.Marshal(v)
		if err != nil {
			return nil, err
		}
	}
	return values, nil
}

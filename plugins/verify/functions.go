package verify

import (
	"context"
	"encoding/json"
	"iter"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/plugins/manifest"
)

// sampleTime returns the time of the clock in checks.
func sampleTime() time.Time { return time.Date(2026, 3, 5, 9, 7, 0, 0, time.UTC) }

// sampleState returns the state for functions in checks.
func sampleState() plugins.State {
	return plugins.State{
		Input:   "What is new? 有什么新消息？",
		History: []plugins.Turn{{Role: "user", Content: "Hello", Timestamp: sampleTime().Add(-time.Hour)}, {Role: "assistant", Content: "Hi"}},
		Vars:    map[string]json.RawMessage{"name": json.RawMessage(`"value"`)},
		User:    "u1", Session: "s1", Language: "en", Now: sampleTime(),
		Retrieve: func(context.Context) ([]plugins.Recalled, error) {
			return sampleMemories(), nil
		},
		Search: func(_ context.Context, _ string, limit int) ([]plugins.Recalled, error) {
			return sampleMemories()[:min(limit, 1)], nil
		},
		Ask: func(context.Context, plugins.Prompt) (plugins.Answer, error) {
			return plugins.Answer{Text: "yes", FinishReason: "stop"}, nil // a model may say anything
		},
	}
}

func sampleMemories() []plugins.Recalled {
	return []plugins.Recalled{{Text: "tea at 80 degrees", Score: 0.9}}
}

// checkFunction uses a function as flows do.
func (s *suite) checkFunction(ctx context.Context, f *manifest.Function) error {
	switch f.Kind {
	case manifest.Importance, manifest.Check:
		return s.checkImportance(ctx, f)
	case manifest.Variable:
		return s.checkVariable(ctx, f)
	case manifest.Call:
		return s.checkExamples(ctx, f)
	}
	return wording.Errorf("unknown kind %q", f.Kind)
}

// judgeOf returns an importance function, or a check.
func (s *suite) judgeOf(f *manifest.Function) (plugins.Importance, bool) {
	if f.Kind == manifest.Check {
		return s.registry.TestCheck(f.Title(s.entry.Name))
	}
	return s.registry.Importance(f.Title(s.entry.Name))
}

func (s *suite) checkImportance(ctx context.Context, f *manifest.Function) error {
	function, ok := s.judgeOf(f)
	if !ok {
		return wording.Errorf("it is not registered")
	}
	items := []plugins.Item{
		{Name: "empty"},
		{Name: "text", Text: "Seen on 2026-03-04. 昨天见过。"},
		{Name: "data", Text: "tea", Data: json.RawMessage(`{"timestamp":"2026-03-01T00:00:00Z","list":[1,null,"x"]}`)},
	}
	for _, n := range []int{1, len(items), 500} {
		batch := make([]plugins.Item, n)
		for i := range batch {
			batch[i] = items[i%len(items)]
		}
		if _, err := function.Judge(ctx, sampleState(), batch); err != nil {
			return wording.Errorf("with %d items: %w", n, err)
		}
	}
	known := sampleState()
	if _, err := function.Judge(ctx, plugins.State{Search: known.Search, Ask: known.Ask}, items); err != nil {
		return wording.Errorf("with an empty state: %w", err)
	}
	return nil
}

func (s *suite) checkVariable(ctx context.Context, f *manifest.Function) error {
	resolver, ok := s.registry.Resolver(f.Name)
	if !ok {
		return wording.Errorf("it is not registered")
	}
	_, err := resolver.Resolve(ctx, sampleState(), []string{f.Name})
	return err
}

// checkExamples runs the examples of a call.
func (s *suite) checkExamples(ctx context.Context, f *manifest.Function) error {
	for _, e := range f.Examples {
		if err := s.checkExample(ctx, f, e); err != nil {
			return wording.Errorf("the example %q: %w", e.Title, err)
		}
	}
	return nil
}

// checkExample runs an example: Init twice, which must compute the same input, and Exec once; its output must fit
// its schema.
func (s *suite) checkExample(ctx context.Context, f *manifest.Function, e manifest.Example) error {
	def, ok := s.registry.Call(f.Title(s.entry.Name))
	if !ok {
		return wording.Errorf("it is not registered")
	}
	params, err := yaml.ParseValue([]byte(e.With))
	if err != nil {
		return err
	}
	env := calls.NewEnv()
	env.LLM, env.Memory = &script{answers: e.Answers}, sampleMemory{env.Memory}
	env.Vars = &calls.Vars{Question: sampleState().Input, Language: "en", Now: sampleTime(), Inputs: value.OfMap(nil)}
	first, call, err := initInput(ctx, def, env, params)
	if err != nil {
		return err
	}
	output, err := collectOutput(ctx, call, env, first)
	if err != nil {
		return err
	}
	if problems := def.Info.Output.Check(output); problems != nil {
		return wording.Errorf("the output does not fit its schema: %w", problems)
	}
	second, _, err := initInput(ctx, def, env, params)
	if err != nil {
		return err
	}
	if !value.Equal(first, second) {
		return wording.Errorf("init returned two inputs for the same parameters, %s and %s (it may depend only on the parameters and the state)", first, second)
	}
	return nil
}

// initInput makes a call and returns its input.
func initInput(ctx context.Context, def calls.Definition, env *calls.Env, params value.Value) (value.Value, calls.CoreCall, error) {
	call, err := def.New(params)
	if err != nil {
		return value.Value{}, nil, err
	}
	input, err := call.Init(ctx, env.Vars)
	return input, call, err
}

// collectOutput executes a call and returns its output: the last data, else its text.
func collectOutput(ctx context.Context, call calls.CoreCall, env *calls.Env, input value.Value) (value.Value, error) {
	text, data := "", (*value.Value)(nil)
	for chunk, err := range call.Exec(ctx, env, input) {
		if err != nil {
			return value.Value{}, err
		}
		text += chunk.Text
		if chunk.Data != nil {
			data = chunk.Data
		}
	}
	if data == nil {
		return value.OfMap(value.Pairs("text", text)), nil
	}
	return *data, nil
}

// sampleMemory is a store with one memory.
type sampleMemory struct{ calls.Memory }

// Retrieve returns that memory.
func (sampleMemory) Retrieve(ctx context.Context, _ calls.Scope, query string, limit int) ([]plugins.Recalled, error) {
	return sampleState().Search(ctx, query, limit)
}

// script is a model that returns answers in order.
type script struct {
	mu      sync.Mutex
	answers []string
}

// Chat returns the next answer.
func (m *script) Chat(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		m.mu.Lock()
		defer m.mu.Unlock()
		switch {
		case ctx.Err() != nil:
			yield(llm.Delta{}, ctx.Err())
		case len(m.answers) == 0:
			yield(llm.Delta{}, &llm.Error{Message: "the example has no further answer of the model"})
		default:
			text := m.answers[0]
			m.answers = m.answers[1:]
			_ = yield(llm.Delta{Text: text}, nil) && yield(llm.Delta{FinishReason: "stop"}, nil)
		}
	}
}

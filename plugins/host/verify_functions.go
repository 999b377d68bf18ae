package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/plugins"
)

// verifyTime is the time of the clock in checks.
func verifyTime() time.Time { return time.Date(2026, 3, 5, 9, 7, 0, 0, time.UTC) }

func verifyState() plugins.State {
	return plugins.State{
		Input:   "What is new? 有什么新消息？",
		History: []plugins.Turn{{Role: "user", Content: "Hello", Timestamp: verifyTime().Add(-time.Hour)}, {Role: "assistant", Content: "Hi"}},
		Vars:    map[string]json.RawMessage{"name": json.RawMessage(`"value"`)},
		User:    "u1", Session: "s1", Language: "en", Now: verifyTime(),
		Retrieve: func(context.Context) ([]plugins.Recalled, error) {
			return verifyMemories(), nil
		},
		Search: func(_ context.Context, _ string, limit int) ([]plugins.Recalled, error) {
			return verifyMemories()[:min(limit, 1)], nil
		},
		Ask: func(context.Context, plugins.Prompt) (plugins.Answer, error) {
			return plugins.Answer{Text: "yes", FinishReason: "stop"}, nil // a model may say anything
		},
	}
}

func verifyMemories() []plugins.Recalled {
	return []plugins.Recalled{{Text: "tea at 80 degrees", Score: 0.9}}
}

// function uses a function as flows do.
func (v *verification) function(ctx context.Context, f *Function) error {
	switch f.Kind {
	case Importance:
		return v.importance(ctx, f)
	case Variable:
		return v.variable(ctx, f)
	case Call:
		return v.call(ctx, f)
	}
	return fmt.Errorf("the kind %q is not known", f.Kind)
}

func (v *verification) importance(ctx context.Context, f *Function) error {
	function, ok := v.registry.Importance(f.Title(v.plugin.entry.Name))
	if !ok {
		return errors.New("it is not registered")
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
		if _, err := function.Judge(ctx, verifyState(), batch); err != nil {
			return fmt.Errorf("with %d items: %w", n, err)
		}
	}
	known := verifyState()
	if _, err := function.Judge(ctx, plugins.State{Search: known.Search, Ask: known.Ask}, items); err != nil {
		return fmt.Errorf("with an empty state: %w", err)
	}
	return nil
}

func (v *verification) variable(ctx context.Context, f *Function) error {
	resolver, ok := v.registry.Resolver(f.Name)
	if !ok {
		return errors.New("it is not registered")
	}
	_, err := resolver.Resolve(ctx, verifyState(), []string{f.Name})
	return err
}

// call runs the examples, twice: they must give the same input.
func (v *verification) call(ctx context.Context, f *Function) error {
	for _, e := range f.Examples {
		if err := v.example(ctx, f, e); err != nil {
			return fmt.Errorf("the example %q: %w", e.Title, err)
		}
	}
	return nil
}

func (v *verification) example(ctx context.Context, f *Function, e Example) error {
	def, ok := v.registry.Call(f.Title(v.plugin.entry.Name))
	if !ok {
		return errors.New("it is not registered")
	}
	params, err := yaml.ParseValue([]byte(e.With))
	if err != nil {
		return err
	}
	env := calls.NewEnv()
	env.LLM, env.Memory = &script{answers: e.Answers}, remembering{env.Memory}
	env.Vars = &calls.Vars{Question: verifyState().Input, Language: "en", Now: verifyTime(), Inputs: value.OfMap(nil)}
	var inputs [2]value.Value
	for i := range inputs {
		call, err := def.New(params)
		if err != nil {
			return err
		}
		if inputs[i], err = call.Init(ctx, env.Vars); err != nil {
			return err
		}
		if i == 1 {
			break
		}
		text, data := "", (*value.Value)(nil)
		for chunk, err := range call.Exec(ctx, env, inputs[i]) {
			if err != nil {
				return err
			}
			text += chunk.Text
			if chunk.Data != nil {
				data = chunk.Data
			}
		}
		if data == nil {
			out := value.OfMap(value.Pairs("text", text))
			data = &out
		}
		if problems := def.Info.Output.Check(*data); problems != nil {
			return fmt.Errorf("the output does not fit its schema: %w", problems)
		}
	}
	if !value.Equal(inputs[0], inputs[1]) {
		return fmt.Errorf("init gave two inputs for the same parameters, %s and %s: it may depend on nothing but the parameters and the state", inputs[0], inputs[1])
	}
	return nil
}

// remembering has one memory.
type remembering struct{ calls.Memory }

// Retrieve gives it.
func (remembering) Retrieve(ctx context.Context, _ calls.Scope, query string, limit int) ([]plugins.Recalled, error) {
	return verifyState().Search(ctx, query, limit)
}

// script is a model that gives answers in order.
type script struct {
	mu      sync.Mutex
	answers []string
}

// Chat gives the next answer.
func (s *script) Chat(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case ctx.Err() != nil:
			yield(llm.Delta{}, ctx.Err())
		case len(s.answers) == 0:
			yield(llm.Delta{}, &llm.Error{Message: "the example has no further answer"})
		default:
			text := s.answers[0]
			s.answers = s.answers[1:]
			_ = yield(llm.Delta{Text: text}, nil) && yield(llm.Delta{FinishReason: "stop"}, nil)
		}
	}
}

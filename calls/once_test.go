package calls_test

import (
	"context"
	"errors"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
)

// memory is a Recorder that keeps the last output, and its parameters.
type memory struct {
	asked  string
	output value.Value
}

func (m *memory) Once(ctx context.Context, name string, params value.Value, work calls.Work) (output value.Value, err error) {
	m.asked = name + " " + params.JSON()
	if m.output.IsNull() {
		env := calls.NewEnv()
		env.Path = "inside"
		m.output, err = work(ctx, env)
	}
	return m.output, err
}

func TestOnce(t *testing.T) {
	type asked struct {
		N int `json:"n"`
	}
	done := 0
	work := func(_ context.Context, env *calls.Env) (llm.Answer, error) {
		done++
		return llm.Answer{Text: env.Path, ToolCalls: []llm.ToolCall{{ID: "a", Arguments: "{"}}}, nil
	}
	m := &memory{}
	env := calls.NewEnv()
	env.Recorder = m
	for range 2 {
		got, err := calls.Once(t.Context(), env, "round", asked{3}, work)
		if err != nil || got.Text != "inside" || got.ToolCalls[0].Arguments != "{" || done != 1 || m.asked != `round {"n":3}` {
			t.Errorf("%+v, %v; done %d times, asked for %s", got, err, done, m.asked)
		}
	}
	const want = `{"text":"inside","tool_calls":[{"index":0,"id":"a","name":"","arguments":"{"}],"usage":{"input_tokens":0,"output_tokens":0}}`
	if m.output.JSON() != want {
		t.Errorf("recorded %s", m.output)
	}
	if _, err := calls.Once(t.Context(), env, "round", nil, func(context.Context, *calls.Env) (int, error) { return 0, nil }); calls.KindOf(err) != calls.Internal {
		t.Errorf("another type: %v", err)
	}
	m.output = value.Value{}
	no := errors.New("no")
	if _, err := calls.Once(t.Context(), env, "x", nil, func(context.Context, *calls.Env) (int, error) { return 1, no }); !errors.Is(err, no) {
		t.Errorf("work that fails: %v", err)
	}
}

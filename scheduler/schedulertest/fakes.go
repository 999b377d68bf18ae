package schedulertest

import (
	"context"
	"iter"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
)

// Fakes returns the calls that every flow under test can use:
//
//	echo    puts out its parameters
//	say     streams text, or the texts of the list text, piece by piece
//	fail    fails with kind (internal) and message (failed)
//	ask     asks the model prompt, and streams its answer
//	block   waits until it is cancelled
func Fakes() []calls.Definition {
	return []calls.Definition{
		Do("echo", func(_ context.Context, _ *calls.Env, params value.Value) (any, error) { return params, nil }),
		Call("say", runSay),
		Do("fail", func(_ context.Context, _ *calls.Env, params value.Value) (any, error) { return nil, failureOf(params) }),
		Call("ask", runAsk),
		Do("block", func(ctx context.Context, _ *calls.Env, _ value.Value) (any, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}),
	}
}

// Exec is what a fake call does with its parameters.
type Exec func(ctx context.Context, env *calls.Env, params value.Value) iter.Seq2[calls.Chunk, error]

// Call makes a fake call of a function. It takes any parameters and puts out any
// object.
func Call(name string, exec Exec) calls.Definition {
	anything := schema.MustFor[*value.Map]()
	info := &calls.Info{
		Name: name, Summary: calls.Text{En: "A fake.", Zh: "假的。"},
		Params: anything, Input: anything, Output: anything,
	}
	return calls.Definition{Info: info, Origins: calls.ParamsAsInput, New: func(params value.Value) (calls.CoreCall, error) {
		return &fake{info, exec, params}, nil
	}}
}

// Do makes a fake call of a function that puts out one piece of data.
func Do(name string, do func(ctx context.Context, env *calls.Env, params value.Value) (any, error)) calls.Definition {
	return Call(name, func(ctx context.Context, env *calls.Env, params value.Value) iter.Seq2[calls.Chunk, error] {
		return calls.Do(func() (any, error) { return do(ctx, env, params) })
	})
}

type fake struct {
	info   *calls.Info
	exec   Exec
	params value.Value
}

func (f *fake) Info() *calls.Info { return f.info }

func (f *fake) Init(context.Context, *calls.Vars) (value.Value, error) { return f.params, nil }

func (f *fake) Exec(ctx context.Context, env *calls.Env, input value.Value) iter.Seq2[calls.Chunk, error] {
	return f.exec(ctx, env, input)
}

func textParam(params value.Value, name, otherwise string) string {
	v, _ := params.Get(name)
	if s, ok := v.Str(); ok {
		return s
	}
	return otherwise
}

func failureOf(params value.Value) error {
	return calls.Errorf(calls.Kind(textParam(params, "kind", string(calls.Internal))), "%s", textParam(params, "message", "failed"))
}

func runSay(_ context.Context, _ *calls.Env, params value.Value) iter.Seq2[calls.Chunk, error] {
	return func(yield func(calls.Chunk, error) bool) {
		v, _ := params.Get("text")
		pieces := v.List()
		if v.Kind() != value.List {
			pieces = []value.Value{v}
		}
		for _, piece := range pieces {
			s, _ := piece.Str()
			if !yield(calls.TextChunk(s), nil) {
				return
			}
		}
	}
}

func runAsk(ctx context.Context, env *calls.Env, params value.Value) iter.Seq2[calls.Chunk, error] {
	return func(yield func(calls.Chunk, error) bool) {
		req := &llm.Request{Messages: []llm.Message{llm.TextMessage("user", textParam(params, "prompt", ""))}}
		for delta, err := range env.LLM.Chat(ctx, req) {
			if err != nil {
				yield(calls.Chunk{}, err)
				return
			}
			if !yield(calls.TextChunk(delta.Text), nil) {
				return
			}
		}
	}
}

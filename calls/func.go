package calls

import (
	"context"
	"iter"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// Option adds to the description of a node type that [Func] or [Stream] makes.
type Option func(*Info)

// WithExample adds a runnable use. The first is the one that users see; callstest
// runs them all.
func WithExample(e Example) Option {
	return func(info *Info) { info.Examples = append(info.Examples, e) }
}

// WithLiteral names parameters that are taken as written: see [Info.Literal].
func WithLiteral(parameters ...string) Option {
	return func(info *Info) { info.Literal = append(info.Literal, parameters...) }
}

// WithLLM declares that the function asks [Model.LLM]: see [Info.UsesLLM].
func WithLLM() Option { return func(info *Info) { info.UsesLLM = true } }

// Func makes a node type of a function from parameters to one object. P and O are
// structs, whose schemas are inferred: see [schema.MustFor] for the tags. P may implement [Validator]. The
// recorded input of a step is its parameters; a call that computes its input from the step's variables is made
// with [Define].
//
// The function may be called concurrently. It may use env until it returns.
func Func[P, O any](name string, doc Text, exec func(ctx context.Context, env *Env, params P) (O, error), options ...Option) Definition {
	stream := func(ctx context.Context, env *Env, params P) iter.Seq2[Chunk, error] {
		return Do(func() (any, error) { return exec(ctx, env, params) })
	}
	return defineFunc(name, doc, schema.MustFor[O](), stream, options)
}

// Stream is [Func] for a function that outputs text piece by piece; a flow reads the whole of it as {text: ...}.
func Stream[P any](name string, doc Text, exec func(ctx context.Context, env *Env, params P) iter.Seq2[string, error], options ...Option) Definition {
	type output struct {
		Text string `json:"text" doc:"The whole text."`
	}
	stream := func(ctx context.Context, env *Env, params P) iter.Seq2[Chunk, error] {
		return func(yield func(Chunk, error) bool) {
			for text, err := range exec(ctx, env, params) {
				if !yield(TextChunk(text), err) || err != nil {
					return
				}
			}
		}
	}
	return defineFunc(name, doc, schema.MustFor[output](), stream, options)
}

func defineFunc[P any](name string, doc Text, output *schema.Schema, exec execFunc[P], options []Option) Definition {
	params := schema.MustFor[P]()
	info := &Info{Name: name, Summary: doc, Params: params, Input: params, Output: output}
	for _, option := range options {
		option(info)
	}
	return Definition{Info: info, Origins: ParamsAsInput, New: func(params value.Value) (CoreCall, error) {
		call := &funcCall[P]{info: info, exec: exec}
		if err := decodeParams(info, params, &call.params); err != nil {
			return nil, err
		}
		return call, nil
	}}
}

type execFunc[P any] func(ctx context.Context, env *Env, params P) iter.Seq2[Chunk, error]

// funcCall is a call made of a function, whose input is its parameters.
type funcCall[P any] struct {
	info   *Info
	exec   execFunc[P]
	params P
}

func (c *funcCall[P]) Info() *Info { return c.info }

func (c *funcCall[P]) Init(context.Context, *Vars) (value.Value, error) {
	return encodeInput(c.info, c.params)
}

func (c *funcCall[P]) Exec(ctx context.Context, env *Env, input value.Value) iter.Seq2[Chunk, error] {
	var params P
	if err := value.Decode(input, &params); err != nil {
		return Fail(Errorf(Internal, "decoding the input of %s: %w", c.info.Name, err))
	}
	return c.exec(ctx, env, params)
}

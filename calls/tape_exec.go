package calls

import (
	"context"
	"encoding/json"
	"iter"
	"sync"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
)

// tapedOutput is all that a call did whose work is outside: a replay does it again, without the call.
type tapedOutput struct {
	// Text is the text that it streamed, and Pieces are the bytes of its pieces.
	Text   string        `json:"text,omitempty"`
	Pieces []int         `json:"pieces,omitempty"`
	Data   []value.Value `json:"data,omitempty"`
	// Asked are the requests that it sent to the model of the step, which have recordings of their own.
	Asked    []tapedAsk  `json:"asked,omitempty"`
	Warnings []Warning   `json:"warnings,omitempty"`
	Error    *tapedError `json:"error,omitempty"`
}

// tapedAsk is a request to a model, with the origins of the parts of its prompt.
type tapedAsk struct {
	Request tapedRequest `json:"request"`
	Parts   []Part       `json:"parts,omitempty"`
}

// tapedRequest is the recorded form of an [llm.Request].
type tapedRequest struct {
	Model          string                     `json:"model,omitempty"`
	Messages       []llm.Message              `json:"messages"`
	Temperature    *float64                   `json:"temperature,omitempty"`
	MaxTokens      int                        `json:"max_tokens,omitempty"`
	Tools          []json.RawMessage          `json:"tools,omitempty"`
	ResponseSchema json.RawMessage            `json:"response_schema,omitempty"`
	Extra          map[string]json.RawMessage `json:"extra,omitempty"`
}

// ExecTaped executes a call: by the tape of env if there is one and the call's work is outside.
func ExecTaped(ctx context.Context, call CoreCall, env *Env, input value.Value) iter.Seq2[Chunk, error] {
	info := call.Info()
	if env.Tape == nil || !info.IsOutside && !info.UsesMemory {
		return call.Exec(ctx, env, input)
	}
	return func(yield func(Chunk, error) bool) {
		x := &execution{call: call, env: env, input: input, yield: yield}
		kind := TapedCall
		switch {
		case info.OnlyRecalls:
			kind = TapedRecall
		case info.UsesMemory:
			kind = TapedMemory
		}
		out, err := Exchange(ctx, env.Tape, kind, info.Name, value.OfMap(value.Pairs("input", input)), x.execute)
		switch {
		case x.isStopped:
		case err != nil:
			yield(Chunk{}, err)
		case x.isFresh:
			if x.failed != nil {
				yield(Chunk{}, x.failed)
			}
		default:
			x.play(ctx, &out)
		}
	}
}

// InitTaped computes the input of a call: by the tape if there is one and the call asks outside for it.
func InitTaped(ctx context.Context, tape Tape, call CoreCall, params value.Value, vars *Vars) (value.Value, error) {
	if tape == nil || !call.Info().InitIsOutside {
		return call.Init(ctx, vars)
	}
	return Exchange(ctx, tape, TapedInput, call.Info().Name, value.OfMap(value.Pairs("params", params)), func(ctx context.Context) (value.Value, error) {
		return call.Init(ctx, vars)
	})
}

// execution is a call that is executed or played, with the record of its actions.
type execution struct {
	call  CoreCall
	env   *Env
	input value.Value
	yield func(Chunk, error) bool

	isFresh, isStopped bool
	failed             error

	mu  sync.Mutex
	out tapedOutput // guarded by mu
}

// execute executes the call, passes on its output, and returns the record of its actions.
func (x *execution) execute(ctx context.Context) (tapedOutput, error) {
	x.isFresh = true
	noted := *x.env
	noted.LLM = notedModel{x.env.LLM, x}
	noted.Warner = x
	if m, ok := noted.Memory.(tapedMemory); ok {
		noted.Memory = m.Memory
	}
	for chunk, err := range x.call.Exec(ctx, &noted, x.input) {
		if err != nil {
			x.failed = err
			break
		}
		x.note(chunk)
		if !x.yield(chunk, nil) {
			x.isStopped = true
			return tapedOutput{}, context.Canceled
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.failed != nil {
		x.out.Error = newTapedError(ctx, x.failed)
		if x.out.Error == nil {
			return tapedOutput{}, x.failed
		}
	}
	return x.out, nil
}

func (x *execution) note(c Chunk) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if c.Data != nil {
		x.out.Data = append(x.out.Data, *c.Data)
		return
	}
	x.out.Text += c.Text
	x.out.Pieces = append(x.out.Pieces, len(c.Text))
}

// Warn passes a warning of the call on.
func (x *execution) Warn(w Warning) {
	x.mu.Lock()
	x.out.Warnings = append(x.out.Warnings, w)
	x.mu.Unlock()
	x.env.WarnOf(w)
}

// notedModel notes the requests of a call.
type notedModel struct {
	llm.Provider
	of *execution
}

// Chat asks the model of the step.
func (m notedModel) Chat(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	m.of.mu.Lock()
	m.of.out.Asked = append(m.of.out.Asked, tapedAsk{tapedRequest(*req), PartsOf(ctx)})
	m.of.mu.Unlock()
	return m.Provider.Chat(ctx, req)
}

// play repeats the call's recorded actions.
func (x *execution) play(ctx context.Context, out *tapedOutput) {
	for _, asked := range out.Asked {
		req := llm.Request(asked.Request)
		for _, err := range x.env.LLM.Chat(WithParts(ctx, asked.Parts), &req) {
			if err != nil && out.Error == nil {
				x.yield(Chunk{}, err)
				return
			}
		}
	}
	for _, w := range out.Warnings {
		x.env.WarnOf(w)
	}
	for _, piece := range out.pieces() {
		if !x.yield(TextChunk(piece), nil) {
			return
		}
	}
	for i := range out.Data {
		if !x.yield(Chunk{Data: &out.Data[i]}, nil) {
			return
		}
	}
	if out.Error != nil {
		x.yield(Chunk{}, out.Error.play(ctx))
	}
}

// pieces returns the text in its streamed pieces; in one piece if a secret in it was masked.
func (o *tapedOutput) pieces() (pieces []string) {
	rest := o.Text
	for _, n := range o.Pieces {
		if n < 0 || n > len(rest) {
			return []string{o.Text}
		}
		pieces, rest = append(pieces, rest[:n]), rest[n:]
	}
	if rest != "" {
		return []string{o.Text}
	}
	return pieces
}

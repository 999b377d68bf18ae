package scheduler

import (
	"context"
	"iter"
	"runtime/debug"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/span"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/internal/budget"
	"github.com/callnode/scheduler/scheduler/journal"
)

// emptyObject is {}; values never change.
var emptyObject = value.OfMap(nil)

// outputCollector runs a call and makes an output of its chunks: the text joined, or the
// last data.
type outputCollector struct {
	ctx  context.Context
	call string
	// sink shows the input and the text as events, without secrets; nil: nothing is shown.
	sink    outputSink
	secrets *secrets
	// with holds the parameters as the flow writes them; nil for a call that runs inside a
	// step, which has parameters of its own.
	with *flow.Param
	// held counts the text until the call ends; nil: it is not bounded.
	held *budget.Holder
	mask textMask
	text strings.Builder
	// secret are the bytes of text that the call knows to be secret.
	secret []value.ByteRange
	// spans are the spans of text, if the call knows them for all of it; traced is the output with them.
	spans  []span.Span
	traced tracedValue
	data   *value.Value
	some   bool // there was text, possibly empty
	err    error
}

// outputSink shows the input and the text of a call while it runs.
type outputSink interface {
	// interceptExec returns the replacement for the work of the call; nil for none.
	interceptExec(ctx context.Context, info *calls.Info, params, input value.Value) iter.Seq2[calls.Chunk, error]
	showInput(input value.Value)
	emit(n *pendingEvent)
}

// run takes the call from its construction to its output.
func (f *outputCollector) run(ctx context.Context, def calls.Definition, params value.Value, env *calls.Env) (value.Value, error) {
	f.ctx, f.call = ctx, def.Info.Name
	defer f.freeText()
	if env.Tokens != nil {
		env.Tokens = llm.BindCounter(ctx, env.Tokens)
	}
	if err := f.checkStorable(def.Info, params); err != nil {
		return value.Value{}, err
	}
	if err := f.checkUsers(def.Info, params, env.Vars.Scope); err != nil {
		return value.Value{}, err
	}
	call, err := def.New(params)
	if err != nil {
		return value.Value{}, f.locateError(err)
	}
	input, err := calls.InitTaped(ctx, env.Tape, call, params, env.Vars)
	if err != nil {
		return value.Value{}, f.locateError(err)
	}
	var chunks iter.Seq2[calls.Chunk, error]
	if f.sink != nil {
		f.sink.showInput(input)
		f.mask.secrets = f.secrets
		chunks = f.sink.interceptExec(ctx, def.Info, params, input)
	}
	if chunks == nil {
		chunks = calls.ExecTaped(ctx, call, env, input)
	}
	if err := f.drain(chunks); err != nil {
		return value.Value{}, f.locateError(err)
	}
	output := f.output(def.Info.Output)
	if f.secrets != nil {
		output = f.secrets.set.Mark(output)
	}
	f.traceText(output)
	if problems := def.Info.Output.Check(output); problems != nil {
		return value.Value{}, calls.Errorf(calls.Internal, "the output of the call %s does not fit its own schema: %w", f.call, problems)
	}
	return output, nil
}

// checkStorable returns an error if a call would store a secret.
func (f *outputCollector) checkStorable(info *calls.Info, params value.Value) error {
	if !info.Stores || f.secrets == nil {
		return nil
	}
	_, found := f.secrets.maskWithPointers(params)
	if len(found) == 0 {
		return nil
	}
	err := calls.Errorf(calls.Invalid, "a secret is in the parameter %s, and %s stores what it is given", strings.TrimPrefix(found[0], "/"), info.Name).
		WithHint("leave the secret out: what needs it takes it from secrets.NAME")
	if f.with == nil {
		return err
	}
	return &flow.LocatedError{Pos: f.with.PosAt(found[0]), Err: err}
}

// checkUsers returns an error if a call that is bound to a user would read other users' memories. A run checks its
// flow before its first step ([run.checkInside]); this is for parameters that are made later, for example by a
// model.
func (f *outputCollector) checkUsers(info *calls.Info, params value.Value, scope calls.Scope) error {
	if !scope.Bound {
		return nil
	}
	for _, name := range info.AllUsers {
		v, _ := params.Get(name)
		if isSet, _ := v.Bool(); isSet {
			return f.locateError(allUsersError(info.Name, name))
		}
	}
	return nil
}

// allUsersError is the error of a parameter that reads the memories of every user.
func allUsersError(call, name string) error {
	return calls.Errorf(calls.Invalid, "%s of %s reads the memories of other users, and whose run it is, is fixed", name, call).
		WithHint("leave it out: without it the call looks in the memory of the flow's user")
}

// locateError finds the place of an error in a parameter of the step.
func (f *outputCollector) locateError(err error) error { return flow.Locate(err, f.with) }

// drain takes all chunks. Once ctx has ended, further ones do not count.
func (f *outputCollector) drain(chunks iter.Seq2[calls.Chunk, error]) error {
	for chunk, err := range chunks {
		if !f.addChunk(chunk, err) {
			break
		}
	}
	if f.err == nil {
		f.err = f.ctx.Err() // the call stopped without a word because it had to
	}
	if f.err == nil && f.sink != nil {
		f.emitDeltas(f.mask.flushAll())
	}
	return f.err
}

// addChunk adds a chunk; it returns false when no more are wanted.
func (f *outputCollector) addChunk(c calls.Chunk, err error) bool {
	if err == nil {
		err = f.ctx.Err()
	}
	switch {
	case err != nil:
		f.err = err
	case c.Data == nil && f.data != nil:
		f.err = calls.Errorf(calls.Internal, "the call %s puts out text after data", f.call)
	case c.Data == nil:
		f.some = true
		f.err = f.holdText(c)
		f.addSpans(c)
		shown := f.addText(c)
		if f.sink != nil {
			f.emitDeltas(f.mask.addPiece(shown))
			if c.Text == "" {
				f.emitDelta(f.mask.images.flushText())
			}
		}
	case c.Data.Kind() != value.Object:
		f.err = calls.Errorf(calls.Internal, "the call %s puts out data that is not an object but %s", f.call, c.Data.Kind())
	default:
		f.data = c.Data
	}
	return f.err == nil
}

// addSpans adds the origins of the text of a chunk. They are dropped if a call reports them for only a part of the
// text.
func (f *outputCollector) addSpans(c calls.Chunk) {
	start, end := f.text.Len(), 0
	if last := len(f.spans) - 1; last >= 0 {
		end = f.spans[last].End
	}
	if end != start || len(c.Spans) == 0 {
		return
	}
	for _, s := range c.Spans {
		s.Start, s.End = s.Start+start, s.End+start
		f.spans = append(f.spans, s)
	}
}

// traceText notes the origins of the output's text, if the call has reported them.
func (f *outputCollector) traceText(output value.Value) {
	if last := len(f.spans) - 1; f.data == nil && last >= 0 && f.spans[last].End == f.text.Len() {
		f.traced = tracedValue{value: output, members: []span.Member{{Pointer: "/text", Spans: f.spans}}}
	}
}

// holdText counts the text of a chunk for the bounds of the run.
func (f *outputCollector) holdText(c calls.Chunk) error {
	if f.held == nil {
		return nil
	}
	return f.held.Hold(int64(len(c.Text)))
}

// freeText ends the count: the text becomes an output, which is counted too.
func (f *outputCollector) freeText() {
	if f.held != nil {
		f.held.Free(int64(f.text.Len()))
	}
}

// addText adds the text of a chunk, and returns the part that may be shown.
func (f *outputCollector) addText(c calls.Chunk) (shown string) {
	start := f.text.Len()
	f.text.WriteString(c.Text)
	if len(c.Secret) == 0 {
		return c.Text
	}
	for _, r := range c.Secret {
		f.secret = append(f.secret, value.ByteRange{Start: start + r.Start, End: start + r.End})
	}
	text := value.OfSecret(value.OfString(c.Text), c.Secret...)
	if f.secrets != nil {
		f.secrets.learnDerived(text)
	}
	shown, _ = text.Masked(masked).Str()
	return shown
}

func (f *outputCollector) emitDeltas(pieces []string) {
	for _, piece := range pieces {
		f.emitDelta(piece)
	}
}

func (f *outputCollector) emitDelta(text string) {
	if text != "" {
		n := newPendingEvent(journal.StepDelta)
		n.data.Text = text
		f.sink.emit(n)
	}
}

// output is {} for a call without output, unless its schema promises text: then the text is empty.
func (f *outputCollector) output(s *schema.Schema) value.Value {
	if f.data != nil {
		return *f.data
	}
	if !f.some {
		properties, _ := s.Doc().Get("properties")
		if _, promised := properties.Get("text"); !promised {
			return emptyObject
		}
	}
	text := value.OfString(f.text.String())
	if len(f.secret) > 0 {
		text = value.OfSecret(text, f.secret...)
	}
	return value.OfMap(value.Pairs("text", text))
}

// Invoke runs one call outside of a flow: parameters are checked, the call is constructed, Init and Exec run, and
// the output is checked. env.Vars has the call's variables. Parameters are used unchanged; nothing in them is a
// template. A panic of the call becomes an error of kind Internal.
func Invoke(ctx context.Context, def calls.Definition, params value.Value, env *calls.Env) (output value.Value, err error) {
	defer func() {
		if p := recover(); p != nil {
			env.Log.Error("a panic", "call", def.Info.Name, "panic", p, "stack", string(debug.Stack()))
			err = calls.Errorf(calls.Internal, "panic: %v", p)
		}
	}()
	if problems := def.Info.Params.Check(params); problems != nil {
		return value.Value{}, calls.Errorf(calls.Invalid, "the parameters do not fit the call %s: %w", def.Info.Name, problems)
	}
	var f outputCollector
	return f.run(ctx, def, params, env)
}

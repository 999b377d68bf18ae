package host

import (
	"context"
	"errors"
	"io"
	"iter"
	"sync/atomic"
	"time"

	pb "google.golang.org/protobuf/proto"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/plugins/proto"
)

// call is one use of a node type of a plugin.
type call struct {
	plugin   *plugin
	function *Function
	info     *calls.Info
	params   value.Value
}

var _ calls.CoreCall = (*call)(nil)

// definition makes a node type of a function.
func (p *plugin) definition(f *Function) (calls.Definition, error) {
	info := &calls.Info{Name: f.Title(p.entry.Name), Summary: f.Doc(), Literal: f.Literal, UsesLLM: f.LLM}
	for _, s := range []struct {
		doc value.Value
		to  **schema.Schema
	}{{f.Params, &info.Params}, {f.Input, &info.Input}, {f.Output, &info.Output}} {
		parsed, err := schema.Parse(s.doc)
		if err != nil {
			return calls.Definition{}, p.errorf(calls.Invalid, "call "+f.Name, "%w", err)
		}
		*s.to = parsed
	}
	for _, e := range f.Examples {
		info.Examples = append(info.Examples, calls.Example{Title: e.Title, With: e.With, Answers: e.Answers})
	}
	return calls.Definition{Info: info, New: func(params value.Value) (calls.CoreCall, error) {
		if params.IsNull() {
			params = value.OfMap(nil)
		}
		params = info.Params.ApplyDefaults(params)
		if problems := info.Params.Check(params); problems != nil {
			return nil, calls.Errorf(calls.Invalid, "parameters of %s: %w", info.Name, problems)
		}
		return &call{plugin: p, function: f, info: info, params: params}, nil
	}}, nil
}

// Info describes the node type.
func (c *call) Info() *calls.Info { return c.info }

func (c *call) what() string { return "call " + c.function.Name }

// state is what the plugin may know of the step.
func (c *call) state(v *calls.Vars) *proto.State {
	return proto.FromState(plugins.State{
		Input: v.Question, User: v.Scope.User, Session: v.Scope.Session, Language: v.Language, Now: v.Now,
	})
}

// Init gives the parameters, or has the plugin compute the input where it wants to.
func (c *call) Init(ctx context.Context, vars *calls.Vars) (value.Value, error) {
	if !c.function.Init {
		return c.params, nil
	}
	reply, err := c.plugin.ask(ctx, c.what(), &proto.Request{Ask: &proto.Request_Init{Init: &proto.Init{
		Function: c.function.Name, Params: c.params.AppendJSON(nil), State: c.state(vars),
	}}}, func() *ticket { return &ticket{vars: varsOf(vars)} })
	if err != nil {
		return value.Value{}, err
	}
	initialized := reply.GetInitialized()
	if initialized == nil {
		return value.Value{}, c.plugin.fault(c.what(), "it gave another kind of answer than an input")
	}
	input, err := c.plugin.checked(initialized.GetInput(), c.info.Input)
	if err != nil {
		return value.Value{}, c.plugin.fault(c.what(), "its input: %w", err)
	}
	c.plugin.succeeded()
	return input, nil
}

// Exec streams what the plugin puts out, within its limits.
func (c *call) Exec(ctx context.Context, env *calls.Env, input value.Value) iter.Seq2[calls.Chunk, error] {
	return func(yield func(calls.Chunk, error) bool) {
		if err := c.exec(ctx, env, input, yield); err != nil {
			yield(calls.Chunk{}, err)
		}
	}
}

// exec gives nil where it ended, or yield wanted no more.
func (c *call) exec(ctx context.Context, env *calls.Env, input value.Value, yield func(calls.Chunk, error) bool) error {
	p := c.plugin
	proc, free, err := p.ready(ctx, c.what())
	if err != nil {
		return err
	}
	defer free()
	vars := env.Vars
	if vars == nil {
		vars = &calls.Vars{}
	}
	t := &ticket{chat: env.LLM.Chat, vars: varsOf(vars), search: func(ctx context.Context, query string, limit int) ([]plugins.Recalled, error) {
		return env.Memory.Retrieve(ctx, vars.Scope, query, limit)
	}}
	ectx, watch := newWatch(ctx, p.limits, t)
	defer watch.stop()
	req := &proto.ExecRequest{
		Function: c.function.Name, Input: input.AppendJSON(nil), State: c.state(vars), IdempotencyKey: env.IdempotencyKey(),
	}
	if size := pb.Size(req); size > p.limits.maxMessage() {
		return p.tooLarge(c.what(), "input", size)
	}
	if proc.services != nil {
		token, over := proc.services.issue(ectx, t)
		defer over()
		req.Token = token
	}
	stream, err := proc.api.Exec(ectx, req)
	if err != nil {
		return c.broken(ctx, ectx, proc, err)
	}
	out := &received{call: c, ticket: t}
	for {
		watch.waiting()
		piece, err := stream.Recv()
		watch.pause()
		switch {
		case errors.Is(err, io.EOF):
			p.succeeded()
			return nil
		case err != nil:
			return c.broken(ctx, ectx, proc, err)
		}
		chunk, err := out.take(piece)
		if err != nil {
			return err
		}
		if !yield(chunk, nil) {
			return nil
		}
	}
}

func (c *call) broken(ctx, ectx context.Context, proc *process, err error) error {
	if cause := context.Cause(ectx); ctx.Err() == nil && errors.As(cause, new(overdue)) {
		c.plugin.suspect(proc)
		return c.plugin.errorf(calls.Timeout, c.what(), "%w", cause)
	}
	return c.plugin.broken(ctx, ectx, proc, c.what(), err, false)
}

// received counts and checks the chunks of one execution.
type received struct {
	call   *call
	ticket *ticket
	chunks int
	bytes  int
	data   bool
}

func (r *received) take(piece *proto.Chunk) (calls.Chunk, error) {
	p, what := r.call.plugin, r.call.what()
	r.chunks++
	r.bytes += len(piece.GetText()) + len(piece.GetData())
	switch limits := &p.limits; {
	case r.chunks > limits.MaxChunks:
		return calls.Chunk{}, p.errorf(calls.Plugin, what, "it put out more than %d chunks", limits.MaxChunks).
			WithHint("limits.max_chunks in plugin.yaml is the number of chunks of one execution")
	case r.bytes > limits.MaxOutput<<20:
		return calls.Chunk{}, p.errorf(calls.Plugin, what, "it put out more than %d MiB", limits.MaxOutput).
			WithHint("limits.max_output_mib in plugin.yaml is the size of all output of one execution")
	}
	switch piece := piece.GetPiece().(type) {
	case *proto.Chunk_Text:
		if r.data && piece.Text != "" {
			return calls.Chunk{}, p.fault(what, "it put out text after data")
		}
		return calls.TextChunk(piece.Text), nil
	case *proto.Chunk_Data:
		v, err := p.checked(piece.Data, r.call.info.Output)
		if err != nil {
			return calls.Chunk{}, p.fault(what, "its output: %w", err)
		}
		r.data = true
		return calls.Chunk{Data: &v}, nil
	case *proto.Chunk_Failure:
		p.succeeded()
		return calls.Chunk{}, p.failed(what, piece.Failure, r.ticket)
	}
	return calls.Chunk{}, p.fault(what, "it put out a chunk with nothing in it")
}

// overdue is the cause of an execution that took too long.
type overdue struct{ text string }

func (o overdue) Error() string { return o.text }

// watch ends an execution that takes too long, or puts out nothing for too long
// while nobody but the plugin works.
type watch struct {
	ctx    context.Context
	limits Limits
	ticket *ticket
	cancel context.CancelCauseFunc
	whole  *time.Timer
	idle   *time.Timer
	// since is when the plugin's turn began, in Unix nanoseconds; 0 while the step
	// takes what it got.
	since atomic.Int64
}

func newWatch(ctx context.Context, limits Limits, t *ticket) (context.Context, *watch) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watch{ctx: ctx, limits: limits, ticket: t, cancel: cancel}
	w.whole = time.AfterFunc(time.Duration(limits.ExecTimeout), func() {
		cancel(overdue{"it was not done within " + time.Duration(limits.ExecTimeout).String() + " (limits.exec_timeout in plugin.yaml)"})
	})
	w.idle = time.AfterFunc(time.Duration(limits.Timeout), w.look)
	return ctx, w
}

// look ends the execution where the plugin had its time, else it looks again when
// that is over.
func (w *watch) look() {
	if w.ctx.Err() != nil {
		return
	}
	timeout, since := time.Duration(w.limits.Timeout), w.since.Load()
	used := time.Since(time.Unix(0, since))
	switch {
	case since == 0: // not its turn
		w.idle.Reset(timeout)
	case w.ticket.busy.Load() > 0: // it waits for the host
		w.since.CompareAndSwap(since, time.Now().UnixNano())
		w.idle.Reset(timeout)
	case used >= timeout:
		w.cancel(overdue{"it put out nothing for " + timeout.String() + " (limits.timeout in plugin.yaml)"})
	default:
		w.idle.Reset(timeout - used)
	}
}

// waiting says that it is the plugin's turn, pause that it is not.
func (w *watch) waiting() { w.since.Store(time.Now().UnixNano()) }
func (w *watch) pause()   { w.since.Store(0) }

func (w *watch) stop() {
	w.whole.Stop()
	w.idle.Stop()
	w.cancel(nil)
}

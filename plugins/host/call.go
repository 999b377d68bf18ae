package host

import (
	"context"
	"errors"
	"io"
	"iter"

	pb "google.golang.org/protobuf/proto"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/plugins/host/services"
	"github.com/callnode/scheduler/plugins/manifest"
	"github.com/callnode/scheduler/plugins/proto"
)

// call is one use of a call of a plugin, in one step.
type call struct {
	plugin   *plugin
	function *manifest.Function
	info     *calls.Info
	params   value.Value
}

var _ calls.CoreCall = (*call)(nil)

// newDefinition returns the definition of a call that a function of the plugin is.
func (p *plugin) newDefinition(f *manifest.Function) (calls.Definition, error) {
	info := &calls.Info{Name: f.Title(p.entry.Name), Summary: f.Doc(), Literal: f.Literal, UsesLLM: f.LLM, IsOutside: true, InitIsOutside: f.Init}
	for _, s := range []struct {
		doc value.Value
		to  **schema.Schema
	}{{f.Params, &info.Params}, {f.Input, &info.Input}, {f.Output, &info.Output}} {
		parsed, err := schema.Parse(s.doc)
		if err != nil {
			return calls.Definition{}, p.errorf(calls.Invalid, wording.Say("call %s", f.Name), "%w", err)
		}
		*s.to = parsed
	}
	for _, e := range f.Examples {
		info.Examples = append(info.Examples, calls.Example{Title: e.Title, With: e.With, Answers: e.Answers})
	}
	var origins func(context.Context, calls.Record, string) []calls.Origin
	if !f.Init { // else the plugin makes the input, and reports no origins
		origins = calls.ParamsAsInput
	}
	reads := func(value.Value) bool { return true } // the data of a step goes to the plugin that asks for it
	return calls.Definition{Info: info, Origins: origins, ReadsConversation: reads, New: func(params value.Value) (calls.CoreCall, error) {
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

// Info describes the call.
func (c *call) Info() *calls.Info { return c.info }

// label names the call in errors.
func (c *call) label() wording.Text { return wording.Say("call %s", c.function.Name) }

// wireState returns the data of the step for the plugin.
func (c *call) wireState(v *calls.Vars) *proto.State {
	return proto.FromState(plugins.State{
		Input: v.Question, User: v.Scope.User, Session: v.Scope.Session, Language: v.Language, Now: v.Now,
	})
}

// Init returns the parameters, or the input that the plugin computes from them if it wants to.
func (c *call) Init(ctx context.Context, vars *calls.Vars) (value.Value, error) {
	if !c.function.Init {
		return c.params, nil
	}
	reply, err := c.plugin.sendRequest(ctx, c.label(), &proto.Request{Ask: &proto.Request_Init{Init: &proto.Init{
		Function: c.function.Name, Params: c.params.AppendJSON(nil), State: c.wireState(vars),
	}}}, func() *services.Grant { return &services.Grant{Vars: services.VarsOf(vars)} })
	if err != nil {
		return value.Value{}, err
	}
	initialized := reply.GetInitialized()
	if initialized == nil {
		return value.Value{}, c.plugin.faultf(c.label(), "it answered with something else than an input")
	}
	input, err := parseChecked(initialized.GetInput(), c.info.Input)
	if err != nil {
		return value.Value{}, c.plugin.faultf(c.label(), "its input: %w", err)
	}
	c.plugin.resetFailures()
	return input, nil
}

// warnOf shows the user the warnings in the output of a plugin: the texts of its member warnings, as the built-in
// calls have it.
func warnOf(env *calls.Env, output *value.Value) {
	if output == nil {
		return
	}
	list, _ := output.Get("warnings")
	for _, item := range list.List() {
		if text, ok := item.Str(); ok {
			env.Warn("plugin", "%s", text)
		}
	}
}

// Exec streams the output of the plugin, within its limits.
func (c *call) Exec(ctx context.Context, env *calls.Env, input value.Value) iter.Seq2[calls.Chunk, error] {
	return func(yield func(calls.Chunk, error) bool) {
		if err := c.execCall(ctx, env, input, yield); err != nil {
			yield(calls.Chunk{}, err)
		}
	}
}

// execCall executes the call; it returns nil at its end, or when yield wants no more.
func (c *call) execCall(ctx context.Context, env *calls.Env, input value.Value, yield func(calls.Chunk, error) bool) error {
	p := c.plugin
	instance, err := p.acquireForRequest(ctx, c.label())
	if err != nil {
		return err
	}
	defer instance.release()
	vars := env.Vars
	if vars == nil {
		vars = &calls.Vars{}
	}
	grant := newCallGrant(env, vars)
	limited, deadline := newDeadline(ctx, p.limits, grant)
	defer deadline.stop()
	req := &proto.ExecRequest{
		Function: c.function.Name, Input: input.AppendJSON(nil), State: c.wireState(vars), IdempotencyKey: env.IdempotencyKey(),
	}
	if size := pb.Size(req); size > p.limits.MessageBytes() {
		return p.tooLarge(c.label(), wording.Say("the input"), size)
	}
	if instance.services != nil {
		token, revoke := instance.services.Issue(limited, grant)
		defer revoke()
		req.Token = token
	}
	stream, err := instance.api.Exec(limited, req)
	if err != nil {
		return c.execError(ctx, limited, instance, err)
	}
	out := &execOutput{call: c, grant: grant}
	for {
		deadline.startTurn()
		message, err := stream.Recv()
		deadline.endTurn()
		if errors.Is(err, io.EOF) {
			p.resetFailures()
			return nil
		}
		if err != nil {
			return c.execError(ctx, limited, instance, err)
		}
		chunk, err := out.acceptChunk(message)
		if err != nil {
			return err
		}
		warnOf(env, chunk.Data)
		if !yield(chunk, nil) {
			return nil
		}
	}
}

// newCallGrant returns the services of the host for an execution.
func newCallGrant(env *calls.Env, vars *calls.Vars) *services.Grant {
	return &services.Grant{
		Chat: env.LLM.Chat, Vars: services.VarsOf(vars),
		Search: func(ctx context.Context, query string, limit int) ([]plugins.Recalled, error) {
			return env.Memory.Retrieve(ctx, vars.Scope, query, limit)
		},
	}
}

// execError explains an error of an execution; see [plugin.requestError].
func (c *call) execError(ctx, limited context.Context, instance *request, err error) error {
	if cause := context.Cause(limited); ctx.Err() == nil && errors.As(cause, new(overdueError)) {
		c.plugin.checkAlive(instance.Instance)
		return c.plugin.errorf(calls.Timeout, c.label(), "%w", cause)
	}
	return c.plugin.requestError(ctx, limited, instance, c.label(), err, false)
}

// execOutput counts and checks the chunks of one execution.
type execOutput struct {
	call    *call
	grant   *services.Grant
	chunks  int
	bytes   int
	hasData bool // a chunk of data came
}

// acceptChunk checks one message of the execution and returns its chunk.
func (o *execOutput) acceptChunk(message *proto.Chunk) (calls.Chunk, error) {
	p, what := o.call.plugin, o.call.label()
	o.chunks++
	o.bytes += len(message.GetText()) + len(message.GetData())
	if o.chunks > p.limits.MaxChunks {
		return calls.Chunk{}, p.errorf(calls.Plugin, what, "it put out more than %d chunks", p.limits.MaxChunks).
			WithHint("limits.max_chunks in plugin.yaml is the number of chunks of one execution")
	}
	if o.bytes > p.limits.MaxOutput<<20 {
		return calls.Chunk{}, p.errorf(calls.Plugin, what, "it put out more than %d MiB", p.limits.MaxOutput).
			WithHint("limits.max_output_mib in plugin.yaml is the size of all output of one execution")
	}
	switch content := message.GetPiece().(type) {
	case *proto.Chunk_Text:
		if o.hasData && content.Text != "" {
			return calls.Chunk{}, p.faultf(what, "it put out text after data")
		}
		return calls.TextChunk(content.Text), nil
	case *proto.Chunk_Data:
		v, err := parseChecked(content.Data, o.call.info.Output)
		if err != nil {
			return calls.Chunk{}, p.faultf(what, "its output: %w", err)
		}
		o.hasData = true
		return calls.Chunk{Data: &v}, nil
	case *proto.Chunk_Failure:
		p.resetFailures()
		return calls.Chunk{}, p.failureError(what, content.Failure, o.grant)
	}
	return calls.Chunk{}, p.faultf(what, "it put out an empty chunk")
}

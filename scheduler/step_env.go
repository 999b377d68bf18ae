package scheduler

import (
	"context"
	"iter"
	"math/rand/v2"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/internal/budget"
)

// fillIn fills in what the step may see and use.
func (t *task) fillIn() {
	now, resolved := t.vars.Now, t.vars.Resolved
	if t.mustDecide() {
		now = t.run.env.Clock() // it has not started
	}
	t.vars = t.run.vars
	t.vars.Now, t.vars.Resolved = now, resolved
	t.vars.Step = calls.StepInfo{ID: t.step.ID, Name: t.step.Name, Description: t.step.Description, ToUser: t.toUser()}
	if t.item >= 0 {
		t.vars.Step.Index = &t.item
	}
	t.upstream = upstream{t.run, t.step.Index}
	t.vars.Upstream = &t.upstream
	t.env = t.run.env
	t.setEnv()
	t.names.run, t.names.env, t.names.vars = t.run, &t.env, &t.vars
}

// setEnv fills t.env with the model, random source and services of this step.
func (t *task) setEnv() {
	t.requests.input, t.requests.names = &t.input, t.run.model
	t.model = budget.Model{
		Provider: t.modelProvider(), Meter: &t.meter, Tokens: t.env.Tokens, Observer: t, Once: t.step.Retry.MaxAttempts > 1, Held: &t.held,
	}
	t.env.LLM = &t.model
	t.random = randomSource{task: t}
	t.rand = *rand.New(&t.random)
	t.env.Rand = &t.rand
	t.env.Substeps = t.run.env.Substeps
	if !t.step.Def.Info.NoSubsteps {
		t.env.Substeps = calls.Substeps{Flows: t, Calls: t, Recorder: t, Asker: t}
	}
	t.env.Warner = t
	t.env.Path = t.path()
	t.env.Vars = &t.vars
}

// modelProvider returns the provider that answers the step: none where the run stops at it.
func (t *task) modelProvider() llm.Provider {
	if t.run.exec.Until != "" && isUntil(t.run.exec.Until, t.path()) {
		return untilProvider{t}
	}
	if steps, ok := t.run.env.LLM.(StepProvider); ok {
		return steps.ForStep(t.path())
	}
	return t.run.env.LLM
}

// untilProvider sets the step aside that asks it.
type untilProvider struct{ task *task }

// Chat answers nothing.
func (p untilProvider) Chat(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		p.task.atUntil.Store(true)
		p.task.suspendAll()
		yield(llm.Delta{}, &llm.Error{Err: errAtUntil, Unsent: true})
	}
}

// interceptExec returns what the interceptor puts in the place of the call's work; nil: nothing.
func (t *task) interceptExec(ctx context.Context, info *calls.Info, params, input value.Value) iter.Seq2[calls.Chunk, error] {
	i := t.run.exec.Interceptor
	if i == nil {
		return nil
	}
	return i.Exec(ctx, &CallUse{Path: t.path(), Item: t.item, Inside: t.around != nil, Info: info, Params: params, Input: input})
}

// RequestSent notes a request to a model, and how long its answer takes to begin.
func (t *task) RequestSent(ctx context.Context, req *llm.Request) (answered func()) {
	t.requests.record(ctx, req)
	if onRequest := t.run.exec.OnRequest; onRequest != nil {
		onRequest(t.path(), req)
	}
	sent := t.run.exec.elapsed()
	return func() { t.requests.setFirstToken(t.run.exec.elapsed().Sub(sent)) }
}

// CostEstimated notes a request whose tokens the provider did not tell.
func (t *task) CostEstimated() { t.requests.countEstimate() }

// withAsker returns a context that tells a tape which step asks.
func (t *task) withAsker(ctx context.Context) context.Context {
	if t.run.exec.Tape == nil {
		return ctx
	}
	return llm.WithAsker(ctx, llm.Asker{Step: t.path(), Part: t.run.part})
}

package scheduler

import (
	"context"
	"iter"
	"math/rand/v2"
	"slices"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/internal/budget"
)

// fillIn fills in the step's variables and environment.
func (t *task) fillIn() {
	now, resolved := t.vars.Now, t.vars.Resolved
	if t.mustDecide() {
		now = t.run.env.Clock() // it has not started
	}
	t.vars = t.run.vars
	t.vars.Now, t.vars.Resolved = now, resolved
	t.vars.Step = calls.StepInfo{ID: t.step.ID, Name: t.step.Name, Description: t.step.Description, ToUser: t.toUser(), Tools: t.step.Tools}
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
	t.requests.input = &t.input
	t.setModels()
	t.random = randomSource{task: t}
	t.rand = *rand.New(&t.random)
	t.env.Rand = &t.rand
	t.env.Substeps = t.run.env.Substeps
	if !t.step.Def.Info.NoSubsteps {
		t.env.Substeps = calls.Substeps{Flows: t, Calls: t, Recorder: t, Approver: t}
		if t.step.Def.Info.MayAsk {
			t.env.Asker = t
		}
	}
	t.env.Warner = t
	t.env.Path = t.path()
	t.env.Vars = &t.vars
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

// interceptExec returns the interceptor's replacement for the call's work; nil for none.
func (t *task) interceptExec(ctx context.Context, info *calls.Info, params, input value.Value) iter.Seq2[calls.Chunk, error] {
	i := t.run.exec.Interceptor
	if i == nil {
		return nil
	}
	return i.Exec(ctx, &CallUse{Path: t.path(), Item: t.item, Inside: t.around != nil, Info: info, Params: params, Input: input})
}

// RequestSent notes a request to a model, and how long its answer takes to begin.
func (t *task) RequestSent(ctx context.Context, to *llm.Candidate, req *llm.Request) (answered func()) {
	t.requests.record(ctx, to, req)
	if onRequest := t.run.exec.OnRequest; onRequest != nil {
		onRequest(t.path(), req)
	}
	sent := t.run.exec.elapsed()
	return func() { t.requests.setFirstToken(t.run.exec.elapsed().Sub(sent)) }
}

// withAsker returns a context with the asking step for a tape.
func (t *task) withAsker(ctx context.Context) context.Context {
	if t.run.exec.Tape == nil {
		return ctx
	}
	return llm.WithAsker(ctx, llm.Asker{Step: t.path(), Part: t.run.part})
}

// RequestEnded notes the cost of a request, and its error.
func (t *task) RequestEnded(to *llm.Candidate, req *llm.Request, cost budget.Cost, failure error) {
	t.requests.addCost(nameOf(to, req), cost, t.failureText(failure))
}

// failureText returns an error as records have it; "" for nil.
func (t *task) failureText(err error) string {
	if err == nil {
		return ""
	}
	return t.run.secrets.maskText(calls.MessageIn(err, t.vars.Language))
}

// The model provider is chosen here, for every call: the step's names, else its flow's, else those of the step
// that runs the flow, else the default. [llm.Chain] asks them in order, each through a [budget.Model] of its own,
// so that the cost of a provider before its failure counts too.

// runModels is who answers the steps of a run that name no provider.
type runModels struct {
	names      []string
	candidates []llm.Candidate
}

// taskModels is who answers a step. Most steps have one candidate, which needs no allocation.
type taskModels struct {
	chain  llm.Chain
	one    [1]llm.Candidate
	budget [1]budget.Model
}

// findModels finds who answers the steps of the run that name no provider.
func (r *run) findModels() (err error) {
	if len(r.flow.LLM) > 0 {
		r.models.names = r.flow.LLM
	}
	r.models.candidates, err = r.findCandidates(r.models.names)
	if err == nil && r.models.candidates[0].Tokens != nil {
		r.env.Tokens = r.models.candidates[0].Tokens
	}
	return err
}

// findCandidates finds the providers of a list of names; there is at least one. Their counters know the secrets of the run.
func (r *run) findCandidates(names []string) ([]llm.Candidate, error) {
	if r.exec.Models == nil {
		return []llm.Candidate{{Provider: r.env.LLM}}, nil
	}
	candidates, err := r.exec.Models(names)
	if err == nil && len(candidates) == 0 {
		err = calls.Errorf(calls.Internal, "no model provider for %q", names)
	}
	candidates = slices.Clone(candidates)
	for i := range candidates {
		if candidates[i].Tokens != nil {
			candidates[i].Tokens = keepSecretsWhole(candidates[i].Tokens, r.secrets.set)
		}
	}
	return candidates, err
}

// modelNames returns the names of the providers that the step asks; none mean the default.
func (t *task) modelNames() []string {
	if len(t.step.LLM) > 0 {
		return t.step.LLM
	}
	return t.run.models.names
}

// candidates returns who answers the step, in the order in which they are asked. A name that is not
// known is the error of every request.
func (t *task) candidates() []llm.Candidate {
	if len(t.step.LLM) == 0 || slices.Equal(t.step.LLM, t.run.models.names) {
		return t.run.models.candidates
	}
	found, err := t.run.findCandidates(t.step.LLM)
	if err != nil {
		return []llm.Candidate{{Name: t.step.LLM[0], Provider: llm.Lazy(func() (llm.Provider, error) { return nil, err })}}
	}
	return found
}

// setModels sets t.env.LLM, and the counter of its tokens: the first provider's.
func (t *task) setModels() {
	candidates := t.candidates()
	t.env.Tokens = t.run.env.Tokens
	if first := candidates[0].Tokens; first != nil && len(t.step.LLM) > 0 {
		t.env.Tokens = first
	}
	if t.run.exec.Until != "" && isUntil(t.run.exec.Until, t.path()) {
		until := candidates[0]
		until.Images = (&llm.Chain{Candidates: candidates}).TakesImages() // the prompt is as it would be
		until.Provider = untilProvider{t}
		candidates = []llm.Candidate{until}
	}
	chained, budgets := t.models.one[:], t.models.budget[:]
	if n := len(candidates); n > 1 {
		chained, budgets = make([]llm.Candidate, n), make([]budget.Model, n)
	}
	for i, c := range candidates {
		if steps, ok := c.Provider.(StepProvider); ok {
			c.Provider = steps.ForStep(t.path())
		}
		if c.Tokens == nil {
			c.Tokens = t.env.Tokens
		}
		budgets[i] = budget.Model{Candidate: c, Meter: &t.meter, Observer: t, Once: t.step.Retry.MaxAttempts > 1, Held: &t.held}
		c.Provider = &budgets[i]
		chained[i] = c
	}
	t.models.chain = llm.Chain{Candidates: chained, Failed: t.warnOfFailure, Unheard: !t.toUser()}
	t.env.LLM = &t.models.chain
}

// warnOfFailure warns that a provider has failed and the next one is asked.
func (t *task) warnOfFailure(_, next *llm.Candidate, err error) {
	t.env.Warn("provider", "%w; the provider %s is asked instead", err, next.Name)
}

package scheduler

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// runToEnd runs the task to its end. It never panics.
func (t *task) runToEnd() (o outcome) {
	var crash error
	defer func() {
		if crash != nil {
			o = t.failedOutcome(crash)
		}
	}()
	defer t.run.recoverPanic(&crash, t.id)
	t.fillIn()
	if t.mustDecide() {
		if o, done := t.decideToRun(t.run.life.ctx); done {
			return o
		}
	}
	if o, yes := t.stillWaits(); yes {
		return o
	}
	if err := t.held.AddStep(); err != nil {
		return t.failedOutcome(err)
	}
	output, err := t.runWithRetries(t.run.life.ctx)
	err = t.orBound(err)
	t.held.Release()
	if err != nil || t.suspended.Load() {
		return t.stoppedOutcome(err)
	}
	if err := t.run.holdOutput(output); err != nil {
		return t.failedOutcome(err)
	}
	return t.finishedOutcome(output)
}

// decideToRun evaluates the step's condition and its list of items; done reports that the step does not continue
// as a single task.
func (t *task) decideToRun(ctx context.Context) (o outcome, done bool) {
	if o, skipped := t.skipUnlessTrue(ctx); skipped {
		return o, true
	}
	t.run.lockWithRoom()
	t.began = t.run.exec.elapsed()
	t.emitStartedLocked()
	t.run.mu.Unlock()
	if t.step.ForEach != nil {
		return t.fanOut(ctx), true
	}
	return outcome{}, false
}

// runAttempt goes once through the phases of a step.
func (t *task) runAttempt(ctx context.Context) (output value.Value, err error) {
	ctx = t.withAsker(ctx)
	t.substeps.startAttempt(t.filled, t.step.Retry.MaxAttempts > 1)
	if !t.prepared {
		if err := t.prepareParams(ctx); err != nil {
			return value.Value{}, err
		}
		if err := t.approveParams(ctx); err != nil {
			return value.Value{}, err
		}
		t.prepared = true
	}
	t.forgetWarnings()
	t.collector = outputCollector{sink: t, secrets: t.run.secrets, with: t.step.With, held: &t.held}
	if t.readsAllUsers() {
		t.env.Memory = t.run.memory
	}
	output, err = t.collector.run(ctx, t.step.Def, t.params, &t.env)
	if err != nil {
		_, _ = err.Error(), calls.KindOf(err) // a nil *Error of a careless call panics here, and is caught
		return output, err
	}
	if t.step.Call == flow.CallSlot && t.around == nil {
		return output, t.checkRemaining(output)
	}
	return output, nil
}

// readsAllUsers reports whether the step reads the memories of all users in a flow with memory: it needs no user of its own.
func (t *task) readsAllUsers() bool {
	isSet := func(name string) bool {
		v, _ := t.params.Get(name)
		yes, _ := v.Bool()
		return yes
	}
	isFree := t.run.flow.User != nil && t.vars.Scope.IsNone() && !t.vars.Scope.Bound
	return isFree && slices.ContainsFunc(t.step.Def.Info.AllUsers, isSet)
}

// showInput keeps the input for the history. Only the first attempt shows it: the
// later ones have the same.
func (t *task) showInput(input value.Value) {
	r := t.run
	var n *pendingEvent
	if !t.shown {
		n = t.events.input.ofType(journal.StepInput)
		n.params, n.data.Masked = r.secrets.maskWithPointers(t.params)
		n.input = r.secrets.maskValue(input)
		n.data.Params, n.data.Input, n.data.Names = &n.params, &n.input, t.shownNames()
		n.data.Spans = r.secrets.recordSpans(t.traced, t.params, &t.names)
	}
	r.lockWithRoom()
	defer r.mu.Unlock()
	if t.isLeftBehindLocked() {
		return
	}
	t.input = input
	if n != nil {
		t.shown = true
		t.emitLocked(n)
	}
}

// shownNames returns the names that the parameters mention and that no other event has, in the form of events; nil
// if they mention none.
func (t *task) shownNames() *value.Value {
	if len(t.vars.Resolved) == 0 && !t.step.MentionsRun && !t.names.seeded {
		return nil
	}
	names := value.NewMap(2)
	if len(t.vars.Resolved) > 0 {
		names.Set("vars", value.Must(t.vars.Resolved))
	}
	if t.step.MentionsRun {
		names.Set("run", value.Must(t.vars.Run))
	}
	if t.names.seeded {
		names.Set(journal.NameOfSeed, value.OfString(strconv.FormatUint(t.vars.RandomSeed(), 10)))
	}
	shown := t.run.secrets.maskValue(value.OfMap(names))
	return &shown
}

// checkMaskable returns an error if the parameters have a piece of a secret that could not be masked in the
// messages and the output of the call.
func (t *task) checkMaskable() error {
	pointer, found := t.run.secrets.findUnmaskable(t.params, "")
	if !found {
		return nil
	}
	err := calls.Errorf(calls.Invalid, "a text taken or computed from a secret is too short here to be masked in what comes after").
		WithHint("give the whole secret, or four characters of it or more; to decide by a secret, compare it in a condition")
	return &flow.LocatedError{Pos: t.step.With.PosAt(pointer), Err: err}
}

// prepareParams finds the parameters: the ones with which an earlier process had begun, or else it resolves
// variables, renders, fills and checks them.
func (t *task) prepareParams(ctx context.Context) error {
	if taken, err := t.takeOverParams(ctx); taken {
		return err
	}
	if len(t.step.Resolve) > 0 {
		if err := t.scope(ctx).resolveVariables(ctx); err != nil {
			return err
		}
	}
	if pos, pointer, found := t.step.ComputedTemplate(); found {
		err := calls.Errorf(calls.Invalid, "%s: the text of a template is not computed when the flow runs", strings.TrimPrefix(pointer, "/"))
		return &flow.LocatedError{Pos: pos, Err: err}
	}
	static, isStatic := t.step.With.Static()
	t.params = static
	if !isStatic {
		var err error
		t.traced, err = t.run.secrets.renderTraced(ctx, t.step.With, t.scope(ctx))
		t.params = t.traced.value
		if err == nil {
			err = t.checkMaskable()
		}
		if err != nil {
			return err
		}
	}
	if t.params.IsNull() {
		t.params = emptyObject
	}
	switch {
	case t.step.EnableFilling:
		if err := t.fillParams(ctx); err != nil {
			return err
		}
		t.filled = true
	case t.step.Call == flow.CallSlot:
		if _, isGiven := t.params.Get("from_model"); !isGiven {
			params := t.params.Map().Clone()
			t.addGuesses(ctx, params, "/data")
			t.params = value.OfMap(params)
		}
		var err error
		t.params, err = t.withAnswers(t.step.Def, t.params)
		if err != nil {
			return err
		}
	case isStatic:
		return nil // lint has checked them
	}
	problems := t.step.Def.Info.Params.Check(t.params)
	if problems == nil {
		return nil
	}
	if t.step.EnableFilling && t.step.OnMissing == missingReturn {
		return t.missingError(problems.Error())
	}
	return t.locateProblems(problems)
}

// locateProblems adds the places in the flow to problems of the parameters.
func (t *task) locateProblems(problems schema.Problems) error {
	err := calls.Errorf(calls.Invalid, "the parameters do not fit the call %s: %w", t.step.Call, problems)
	pos := t.step.Pos
	if t.step.With != nil {
		pos = t.step.With.PosAt(problems[0].Pointer)
	}
	return &flow.LocatedError{Pos: pos, Err: err}
}

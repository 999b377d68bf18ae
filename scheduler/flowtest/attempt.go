package flowtest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flowtest/check"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
	"github.com/callnode/scheduler/scheduler/flowtest/suite"
	"github.com/callnode/scheduler/scheduler/journal"
)

// run runs the flow to its end.
func (a *attempt) run(ctx context.Context) {
	began := time.Now()
	c := a.of
	a.meter = &meter{models: c.suite.models, budgets: []*budget{c.suite.spent, c.suite.runner.spent}}
	a.sessions = c.suite.models.newSessions(c.index, a.number, a.meter)
	a.judges = &spending{models: c.suite.models}
	a.record = journal.NewRunState()
	a.used = newUsedParts()
	e, guard, err := a.newExecutor()
	if err != nil {
		a.problem = err
		return
	}
	memories := a.newMemory(e)
	e.Env.Memory = memories
	if len(c.Memory) > 0 {
		if err := fillMemory(ctx, memories, c.Memory); err != nil {
			a.problem = err
			return
		}
	}
	inputs := c.Inputs
	if inputs.IsNull() {
		inputs = value.OfMap(nil)
	}
	a.collect(begin(ctx, e, c.Case, inputs, a.record))
	a.answer(ctx, e)
	a.used.add(guard.asked, a.sessions.scripted())
	a.elapsed = time.Since(began)
	for _, err := range []error{a.meter.problem(), guard.problem(), a.sessions.problem(), closeMemory(memories)} {
		if a.problem == nil {
			a.problem = err
		}
	}
	guard.markGiven(a.record)
	a.evidence = a.newEvidence(e, inputs)
}

// collect takes events of the run.
func (a *attempt) collect(events iter.Seq2[*journal.Event, error]) {
	a.err = nil
	for event, err := range events {
		if err != nil {
			a.err = err
			return
		}
		a.events = append(a.events, event)
		a.record.Add(event)
	}
}

// answer answers a run that waits with the answers of the case, as often as there are some for it.
func (a *attempt) answer(ctx context.Context, e *scheduler.StepExecutor) {
	left := slices.Clone(a.of.Answers)
	for {
		var waiting *scheduler.Waiting
		if !errors.As(a.err, &waiting) || len(left) == 0 {
			return
		}
		before := left
		var given []scheduler.Answer
		given, left = a.nextAnswers(before, waiting)
		if a.problem != nil {
			return
		}
		events := len(a.events)
		a.collect(e.Resume(ctx, waiting.Run, scheduler.Resumption{Answers: given, Flow: a.of.Flow}))
		if a.err != nil && len(a.events) == events {
			a.problem = unfitAnswer(before[0], a.err)
			return
		}
	}
}

// nextAnswers splits the remaining answers into the ones to give now and the rest. It sets a.problem if none fits.
func (a *attempt) nextAnswers(left []suite.Answer, waiting *scheduler.Waiting) (given []scheduler.Answer, rest []suite.Answer) {
	turn := left[0].Turn
	for _, one := range left {
		answer := scheduler.Answer{Step: one.Step, Pointer: one.Pointer, Value: one.Value, Message: one.Message, By: scheduler.Decider{Name: "test", IsOperator: true}}
		isNow := one.Turn == turn
		if turn == 0 {
			isNow = scheduler.CheckAnswers(append(slices.Clip(given), answer), waiting.For) == nil
		}
		if !isNow {
			rest = append(rest, one)
			continue
		}
		given = append(given, answer)
		a.used.at[one.Pos] = 1
	}
	if len(given) == 0 {
		one := left[0]
		a.problem = unfitAnswer(one, scheduler.CheckAnswers([]scheduler.Answer{{Step: one.Step, Pointer: one.Pointer, Value: one.Value}}, waiting.For))
	}
	return given, rest
}

// unfitAnswer returns the error of an answer that the run does not take.
func unfitAnswer(one suite.Answer, why error) error {
	return calls.Errorf(calls.Invalid, "%s: the answer does not fit: %w", one.Pos, why)
}

// newExecutor returns an executor in a world of its own, and the guard of that world.
func (a *attempt) newExecutor() (*scheduler.StepExecutor, *guard, error) {
	c, o := a.of, &a.of.suite.runner.options
	e, err := o.Executor(c.Flow)
	if err != nil {
		return nil, nil, err
	}
	env := *e.Env
	e.Env = &env
	if c.Loader != nil {
		e.Loader = c.Loader
	}
	guard := newGuard(c.Case, o)
	if names := mockedVariables(c.Mocks); len(names) > 0 {
		loader := *e.Loader
		loader.Registry = loader.Registry.WithResolver(mockResolver{guard}, names...)
		e.Loader = &loader
	}
	e.Interceptor, e.OnRequest = guard, a.requests.note
	env.HTTP = guard.http(env.HTTP)
	now, seed := c.Now, c.Seed
	if err := a.findRecorded(e, guard); err != nil {
		return nil, nil, err
	}
	if run := a.sessions.recorded; run != nil {
		_, recordedNow, recordedSeed := run.Start(0)
		_, e.Zone = run.Settings()
		e.UserZone = run.UserZone
		if !c.HasNow && len(c.Memory) == 0 {
			now = recordedNow
		}
		if !c.HasSeed {
			seed = recordedSeed
		}
	}
	env.Clock = func() time.Time { return now }
	env.Tokens = c.suite.models.counter(a.providers(c.Flow.LLM)[0])
	e.Models = a.candidates
	if c.HasScript || a.providers(c.Flow.LLM)[0] != "" || a.sessions.recorded != nil { // a model can read the user's answers
		usual, err := a.candidates(c.Flow.LLM)
		if err != nil {
			return nil, nil, err
		}
		env.LLM = usual[0].Provider
	}
	e.NewRunID = func() string { return fmt.Sprintf("test-%d-%d", c.index+1, a.number) }
	e.Seed = seed + uint64(a.number) - 1
	e.Until, e.Conversation, e.Owner = c.Until, c.Conversation, scheduler.Owner{User: c.User}
	e.Journal = nil
	if len(c.Answers) > 0 || len(c.State) > 0 {
		e.Journal = o.Journal()
	}
	if o.Mode != result.Live {
		e.Sleep = func(ctx context.Context, _ time.Duration) error { return ctx.Err() } // no server needs the pause
	}
	return e, guard, nil
}

// findRecorded finds the recordings for the run: the run recorded beside the flow with the inputs of the case, and
// the takes that tests have recorded or are to record now.
func (a *attempt) findRecorded(e *scheduler.StepExecutor, guard *guard) error {
	c, o := a.of, &a.of.suite.runner.options
	if o.Mode == result.Live {
		return nil
	}
	tape := &caseTape{guard: guard, hasMemory: len(c.Memory) > 0}
	takes, err := c.suite.models.openOutside()
	if err != nil {
		return err
	}
	if takes != nil {
		guard.hasTakes, guard.records = true, o.Mode == result.Record
		tape.player = takes.Play(1, c.index)
		given := e.Secrets
		e.Secrets = func(name string) (string, bool) {
			text, ok := "", false
			if given != nil {
				text, ok = given(name)
			}
			if text == "" && o.Mode == result.Replay { // a replay needs none
				return takes.StandIn(name), true
			}
			return text, ok
		}
	}
	if err := a.findRecordedRun(e, tape); err != nil {
		return err
	}
	if tape.run != nil || tape.player != nil {
		e.Tape = tape
	}
	return nil
}

// findRecordedRun finds the run that is recorded beside the flow with the inputs of the case.
func (a *attempt) findRecordedRun(e *scheduler.StepExecutor, tape *caseTape) error {
	c, o := a.of, &a.of.suite.runner.options
	if o.Recorded == nil {
		return nil
	}
	inputs := c.Inputs
	if inputs.IsNull() {
		inputs = value.OfMap(nil)
	}
	if c.Flow.Inputs != nil {
		inputs = c.Flow.Inputs.ApplyDefaults(inputs)
	}
	run, err := o.Recorded(c.Case, inputs)
	if err != nil || run == nil {
		return err
	}
	a.sessions.recorded, tape.guard.recorded, tape.run = run, run, run
	if o.SecretOf != nil {
		e.Secrets = func(name string) (string, bool) { return o.SecretOf(run, name), true }
	}
	return nil
}

// newMemory returns a memory that is opened on first use. Its ids are the same in each run, like the ids of the
// case's own memories; they do not depend on the place of the case in the file, so that recordings outlive new
// cases.
func (a *attempt) newMemory(e *scheduler.StepExecutor) *memory.Lazy {
	return memory.NewLazy(func(ctx context.Context) (*memory.SnapshotProcessor, error) {
		p, err := a.of.suite.runner.options.Memory(ctx, e.Env.Clock)
		if err != nil {
			return nil, err
		}
		p.IDSeed = fmt.Sprintf("test-%d", e.Seed)
		return p, nil
	})
}

// closeMemory drops the memories of the run.
func closeMemory(memories *memory.Lazy) error {
	p := memories.Opened()
	if p == nil {
		return nil
	}
	return p.Store.Close()
}

// fillMemory saves the records of a case.
func fillMemory(ctx context.Context, memories *memory.Lazy, records []memory.BaseMemory) error {
	p, err := memories.Open(ctx)
	if err != nil {
		return err
	}
	_, err = p.Store.SaveMemories(ctx, records)
	return err
}

// repeat evaluates the checks of the case on the outcome of the run.
func (a *attempt) repeat(ctx context.Context) *result.Repeat {
	runner := a.of.suite.runner
	r := &result.Repeat{Number: a.number, Outcome: result.Pass, Usage: a.record.Usage}
	if a.problem != nil {
		r.Outcome, r.Problem = result.Error, runner.problemOf(a.problem)
		return r
	}
	r.PriceKnown = a.evidence.PriceKnown
	r.RecordedMS = a.sessions.recordedMS()
	r.Prompts = a.prompts(ctx)
	r.Pieces = result.PiecesOf(r.Prompts)
	r.Outputs = result.NewData(a.record.Outputs)
	if runner.options.Mode == result.Live {
		ms := a.elapsed.Milliseconds()
		r.ElapsedMS = &ms
	}
	worst, isExpected := result.Pass, false
	end := a.end()
	for _, c := range a.of.Expect {
		found := c.Evaluate(ctx, a.evidence)
		r.Checks = append(r.Checks, found)
		if found.Weight > 0 { // a skipped check has weight 0
			worst = result.Worse(worst, found.Outcome)
			isExpected = isExpected || c.ExpectsEnd(end)
		}
	}
	r.JudgeUsage, r.EmbeddingUsage = a.judges.used()
	r.Score = result.MeanScore(r.Checks)
	r.Outcome = a.verdict(worst, r)
	if a.of.Threshold != nil && r.Score == nil && worst == result.Pass {
		err := calls.Errorf(calls.Invalid, "no check counts, and the threshold wants a score of %v", *a.of.Threshold)
		r.Problem = runner.problemOf(err.WithHint("give a check a weight, or take threshold out"))
	}
	if problem := a.endProblem(); problem != nil && !isExpected {
		r.Outcome, r.Problem = result.Worse(r.Outcome, result.Error), problem
	}
	return r
}

// end returns how the run ended, for the checks that may expect it.
func (a *attempt) end() check.End {
	end := check.End{State: a.record.State}
	stopsAt := a.record.Step(a.of.Until)
	isSkipped := stopsAt != nil && stopsAt.State == journal.StepStatusSkipped
	if a.of.Until != "" && (isSkipped || !errors.Is(a.err, scheduler.ErrUntil)) {
		end.Missed = a.of.Until
	}
	return end
}

// endProblem returns why the case may pass only if a check expects how the run ended: it failed, it waits for a person, or it did not
// come to the step at which the case stops. nil: it ended as runs do.
func (a *attempt) endProblem() *result.Problem {
	runner := a.of.suite.runner
	if failed := a.record.Error; failed != nil {
		message := failed.Message
		if failed.Step != "" {
			message = wording.Say("the step %s failed: %s", failed.Step, message).In(runner.options.Language)
		}
		return &result.Problem{Kind: string(failed.Kind), Message: message, Hint: failed.Hint, Step: failed.Step}
	}
	if len(a.record.Waiting) > 0 {
		waiting := a.record.Waiting[0]
		err := calls.Errorf(calls.Missing, "the run waits for %s of the step %s, and no check expects that", value.ListNames(waiting.Pointers()), waiting.Step)
		problem := runner.problemOf(err.WithHint("give them under answers, or check run: {waits_for: ...}"))
		problem.Step = waiting.Step
		return problem
	}
	if missed := a.end().Missed; missed != "" {
		err := calls.Errorf(calls.Invalid, "the case stops at %s, and the run did not come to it", missed)
		return runner.problemOf(err.WithHint("set until: end, or check run: finished if that is meant"))
	}
	return nil
}

// verdict returns the outcome of the checks: with a threshold the mean score decides, unless there is an error. A
// failure does not hide an error: the mean covers only the checks that could be decided. For example, the scores 1
// and 0.6 reach a threshold of 0.8.
func (a *attempt) verdict(worst result.Outcome, r *result.Repeat) result.Outcome {
	least := a.of.Threshold
	if least == nil {
		return worst
	}
	if r.Score == nil { // no check counts, so that nothing can reach the threshold
		return result.Worse(worst, result.Error)
	}
	if slices.ContainsFunc(r.Checks, func(c result.Check) bool { return c.Weight > 0 && c.Outcome == result.Error }) {
		return result.Error
	}
	if *r.Score >= *least-1e-9 {
		return result.Pass
	}
	return result.Fail
}

// hasEnded reports whether the run has made all its requests: it came to its end, to the step at which the case
// stops, or to a wait that the case has no answer for. A failed run does not count: its requests depend on which
// step was faster.
func (a *attempt) hasEnded() bool {
	isOver := a.record.State == journal.RunFinished || a.record.State == journal.RunWaiting || errors.Is(a.err, scheduler.ErrUntil)
	return a.problem == nil && isOver
}

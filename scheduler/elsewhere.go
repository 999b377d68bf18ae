package scheduler

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// childSpace is the name space of the ids of child runs.
var childSpace = uuid.MustParse("8c2f9a52-1d0b-5c1e-9a57-6f3b0d6c4e11")

// childID returns the id of the run of a flow that a step runs: made of the step's idempotency
// key.
func childID(key string, f *flow.Flow, inputs value.Value) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %s", key, f.Source, inputs.JSON())
	for _, path := range slices.Sorted(maps.Keys(f.Files)) {
		fmt.Fprintf(h, " %q", f.Files[path])
	}
	return uuid.NewSHA1(childSpace, h.Sum(nil)).String()
}

// runElsewhere runs the flow as a run of its own, and waits for its outputs.
func (t *task) runElsewhere(ctx context.Context, queue string, f *flow.Flow, inputs value.Value) (value.Value, error) {
	if _, masked := t.run.secrets.maskWithPointers(inputs); len(masked) > 0 {
		return value.Value{}, calls.Errorf(calls.Invalid, "the input %s of %s holds a secret, and the flow is a run of its own on the queue %s", masked[0], f.Name, queue).
			WithHint("let the flow take it from secrets.NAME")
	}
	left, err := t.meter.Left()
	if err != nil {
		return value.Value{}, err
	}
	child := &ChildRun{
		ID: childID(t.env.IdempotencyKey(), f, inputs), Queue: queue, Flow: f, Inputs: inputs,
		Language: t.vars.Language, Conversation: t.vars.Conversation, LLM: t.modelNames(), MaxTokens: left, Answers: t.answersInside(),
	}
	if was := t.recordedState(); was != nil && was.Child != child.ID {
		child.Former = was.Child
	}
	hints := &childHints{tell: func(text wording.Text) { t.emitChild(child, text.In(t.vars.Language)) }}
	defer hints.stop()
	child.Hint = hints.passOn
	t.emitChild(child, "")
	end, err := t.run.exec.Elsewhere.RunChild(ctx, child)
	if err != nil {
		return value.Value{}, err
	}
	t.meter.Add(end.Spent)
	return t.childOutputs(child, end)
}

// childHints passes on the reason why a child run is delayed, as long as the step waits for it: the remote runner
// may find it out later.
type childHints struct {
	mu   sync.Mutex
	tell func(wording.Text) // nil once the step no longer waits
}

func (h *childHints) passOn(text wording.Text) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.tell != nil {
		h.tell(text)
	}
}

func (h *childHints) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tell = nil
}

// emitChild emits the child run that the step waits for, and the reason for its delay.
func (t *task) emitChild(child *ChildRun, obstacle string) {
	n := newPendingEvent(journal.StepChild)
	n.data.Text = obstacle
	n.data.Child = &journal.ChildInfo{Run: child.ID, Flow: child.Flow.Name, Queue: child.Queue}
	t.emit(n)
}

// answersInside returns the answers for waiting steps inside the step, by the paths of the child.
func (t *task) answersInside() (answers []Answer) {
	state := t.run.earlier.state
	if state == nil {
		return nil
	}
	for _, w := range state.Waiting {
		inner, isInside := strings.CutPrefix(w.Step, t.path()+"/")
		if st := state.Step(w.Step); isInside && st.HasNewAnswers {
			for pointer, v := range st.Answers.Map().All() {
				answers = append(answers, Answer{Step: inner, Pointer: pointer, Value: v})
			}
		}
	}
	return answers
}

// childOutputs returns the outputs of a child run, or why there are none.
func (t *task) childOutputs(child *ChildRun, end *ChildEnd) (value.Value, error) {
	s := end.State
	t.emitEndsInside(s)
	switch s.State { //nolint:exhaustive // of the others there are no outputs
	case journal.RunFinished:
		if len(s.MaskedOutputs) > 0 {
			return value.Value{}, calls.Errorf(calls.Invalid, "the output %s of %s holds a secret, and the flow is a run of its own on the queue %s", s.MaskedOutputs[0], child.Flow.Name, child.Queue).
				WithHint("let the steps that need it take it from secrets.NAME")
		}
		t.flowSpans = s.OutputSpans
		return s.Outputs, nil
	case journal.RunWaiting:
		spent := end.Spent
		for _, w := range s.Waiting {
			t.emitWaitingInside(w, s.Step(w.Step), spent)
			spent = llm.Usage{}
		}
		t.suspendAll()
		return value.Value{}, calls.Errorf(calls.Missing, "running the flow %s: %w", child.Flow.Name, calls.ErrWaiting)
	case journal.RunFailed:
		info := *s.Error
		info.Step = t.path() + "/" + cmp.Or(info.Step, child.Flow.Name)
		return value.Value{}, &Failure{Info: info, Err: calls.Errorf(info.Kind, "%s", info.Message).WithHint("%s", info.Hint)}
	}
	return value.Value{}, calls.Errorf(calls.Canceled, "the run %s of %s was cancelled", child.ID, child.Flow.Name)
}

// emitWaitingInside makes a step of a child run wait in this run too, in which it is answered. spent is the
// child's usage until then.
func (t *task) emitWaitingInside(w journal.WaitingFor, st *journal.StepState, spent llm.Usage) {
	w.Step = t.path() + "/" + w.Step
	started := newPendingEvent(journal.StepStarted)
	started.data.Call = st.Call
	input := newPendingEvent(journal.StepInput)
	input.params = value.OfMap(value.Pairs("current_schema", w.Whole))
	input.data.Params = &input.params
	waiting := newPendingEvent(journal.StepWaiting)
	waiting.setOutput(st.Found, st.MaskedFound)
	waiting.input = st.Remaining
	waiting.data.RemainingSchema = &waiting.input
	waiting.setUsage(spent)
	if seq := t.emitInside(w.Step, started, input, waiting); seq > 0 {
		t.run.waits.add(seq, w)
	}
}

// emitEndsInside emits the ends of the steps of a child run that waited here.
func (t *task) emitEndsInside(child *journal.RunState) {
	if t.run.earlier.state == nil {
		return
	}
	for _, w := range t.run.earlier.state.Waiting {
		inner, isInside := strings.CutPrefix(w.Step, t.path()+"/")
		if !isInside {
			continue
		}
		st := child.Step(inner)
		switch {
		case st == nil:
		case st.State == journal.StepStatusFinished:
			n := newPendingEvent(journal.StepFinished)
			n.setOutput(st.Output, st.MaskedOutput)
			n.data.Error = st.Error
			t.emitInside(w.Step, n)
		case st.State == journal.StepStatusFailed:
			n := newPendingEvent(journal.StepFailed)
			n.setError(st.Error)
			t.emitInside(w.Step, n)
		}
	}
}

// emitInside emits events of a step of a child run, and returns the seq of the last one; 0 if the task was
// abandoned.
func (t *task) emitInside(path string, events ...*pendingEvent) (seq int64) {
	t.run.lockWithRoom()
	defer t.run.mu.Unlock()
	if t.isLeftBehindLocked() || t.run.phase >= ending {
		return 0
	}
	for _, n := range events {
		n.event.Step, n.event.Index = journal.SplitPath(path)
		t.run.emitLocked(&n.event)
		seq = n.event.Seq
	}
	return seq
}

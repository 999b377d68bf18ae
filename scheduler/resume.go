package scheduler

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
)

// Resumption is what a run goes on with. Its zero value only tries again.
type Resumption struct {
	// Answers are for the steps that wait; they are checked before anything runs.
	Answers []Answer
	// Flow is an edited flow; nil is that of the journal. Steps that finished must
	// be as they were.
	Flow *Flow
}

// Resume goes on with a run of the Journal: one that waits, failed, was cancelled,
// or whose process died. What finished or was skipped stays as it is; steps that
// failed, were stopped or were at work run again. Events go on with the next seq;
// all else is as with Run. An error before the first event says that nothing has
// changed: a *[HeldError] while another process has the run, a *[Waiting] while
// there are no answers, one of kind Invalid for answers or an edited flow that
// cannot be taken.
func (e *StepExecutor) Resume(ctx context.Context, run string, with Resumption) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		r, err := e.reopen(ctx, run, with)
		if err != nil {
			yield(nil, err)
			return
		}
		r.play(yield)
	}
}

// reopen prepares a run that goes on.
func (e *StepExecutor) reopen(ctx context.Context, id string, with Resumption) (*run, error) {
	if e.Journal == nil {
		return nil, calls.Errorf(calls.Invalid, "there is no journal to resume the run %s from", id)
	}
	log, err := e.Journal.Reopen(ctx, id)
	if err != nil {
		return nil, err
	}
	r, err := e.takeOver(ctx, log, with)
	if err != nil {
		if closeErr := log.Close(); closeErr != nil {
			return nil, fmt.Errorf("%w (and %w)", err, closeErr)
		}
		return nil, err
	}
	return r, nil
}

func (e *StepExecutor) takeOver(ctx context.Context, log RunLog, with Resumption) (*run, error) {
	info := log.Info()
	if info.State == RunFinished {
		return nil, calls.Errorf(calls.Invalid, "the run %s is finished: there is nothing to resume", info.ID)
	}
	header, err := log.Header(ctx)
	if err != nil {
		return nil, err
	}
	state, err := Fold(log.Events(ctx, 1))
	if err != nil {
		return nil, err
	}
	flow, err := e.reload(header, state, with.Flow)
	if err != nil {
		return nil, err
	}
	answers, err := take(info.ID, with.Answers, state, with.Flow != nil)
	if err != nil {
		return nil, err
	}
	r := e.bareRun(ctx, flow)
	r.vars.Run = calls.Run{ID: info.ID, Flow: flow.Name, StartedAt: header.StartedAt}
	if err := r.prepare(header.Inputs); err != nil {
		return nil, err
	}
	r.answers = answerNotes(answers)
	if err := e.checkWhole(r, state, r.answers); err != nil {
		return nil, err
	}
	for _, n := range r.answers {
		state.Step(stepPath(n.event.Step, n.event.Index)).answer(n.params)
	}
	text := header.Text
	if with.Flow != nil {
		text = textOf(flow)
		if err := log.Revise(ctx, text); err != nil {
			return nil, err
		}
	}
	if r.lost = state.lost; len(r.lost) > 0 {
		r.env.Log.Warn("a secret stood in the inputs, and the journal does not keep secrets", "run", info.ID, "at", r.lost)
	}
	if state.LastSeq > 0 { // else it died before its first event
		r.recorded, r.stream.seq = state, state.LastSeq
	}
	r.record(log, header, text)
	return r, nil
}

// reload gives the flow that the run goes on with.
func (e *StepExecutor) reload(header *RunHeader, state *RunState, edited *Flow) (*Flow, error) {
	if e.Parse == nil {
		return nil, calls.Errorf(calls.Internal, "the executor cannot read the flow of the journal")
	}
	flow, problems := e.Parse(header.File, header.Text)
	switch {
	case flow == nil && edited == nil:
		return nil, calls.Errorf(calls.Invalid, "the flow of the run %s does not load any more:\n%w", header.ID, problems).
			WithHint("give a flow file that does")
	case flow == nil:
		return nil, calls.Errorf(calls.Invalid, "the flow of the run %s does not load any more, so the edited one cannot be compared with it:\n%w", header.ID, problems)
	case edited == nil:
		return flow, nil
	}
	return edited, state.adopt(flow, edited)
}

// take checks answers and says which step each is for.
func take(run string, answers []Answer, state *RunState, edited bool) ([]Answer, error) {
	if len(answers) == 0 {
		fresh := edited
		for _, w := range state.Waiting {
			fresh = fresh || state.Step(w.Step).fresh
		}
		if state.State == RunWaiting && !fresh {
			return nil, &Waiting{Run: run, For: state.Waiting}
		}
		return nil, nil
	}
	taken := make([]Answer, len(answers))
	for i, a := range answers {
		w, _, err := a.place(state.Waiting)
		if err != nil {
			return nil, err
		}
		taken[i] = Answer{w.Step, a.Pointer, a.Value}
	}
	return taken, CheckAnswers(taken, state.Waiting)
}

// header is what the journal keeps of a run that begins.
func (r *run) header(inputs value.Value) *RunHeader {
	e := r.exec
	return &RunHeader{
		ID: r.vars.Run.ID, Flow: r.flow.Name, File: absolute(r.flow.File), Text: textOf(r.flow),
		Inputs: r.secrets.mask(inputs), Options: e.Options, StartedAt: r.vars.Run.StartedAt, Mode: e.Durability,
	}
}

// textOf is a flow as the journal keeps it.
func textOf(flow *Flow) FlowText {
	files := make(map[string][]byte, len(flow.Files))
	for path, content := range flow.Files {
		files[absolute(path)] = content
	}
	return FlowText{Source: flow.Source, Files: files}
}

// absolute is the path from the root; a resuming process may stand elsewhere.
func absolute(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}

// record lets the events of the run go through the journal.
func (r *run) record(log RunLog, header *RunHeader, text FlowText) {
	r.parent, r.unwatch = log.Watch(r.parent)
	r.stream.record = newRecorder(r, log, header, text)
	go r.stream.record.work(r.parent)
}

// splitPath is the inverse of stepPath.
func splitPath(path string) (step string, index *int) {
	open := strings.LastIndexByte(path, '[')
	if open < 0 || !strings.HasSuffix(path, "]") {
		return path, nil
	}
	n, err := strconv.Atoi(path[open+1 : len(path)-1])
	if err != nil {
		return path, nil
	}
	return path[:open], &n
}

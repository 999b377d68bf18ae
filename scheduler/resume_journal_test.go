package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/slot"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

// brokenJournal fails when it is given an event of a type.
type brokenJournal struct {
	journal.Journal
	at journal.EventType
}

func (b *brokenJournal) Begin(ctx context.Context, h *journal.RunHeader) (journal.RunLog, error) {
	if b.at == "" {
		return nil, errors.New("the disk is full")
	}
	log, err := b.Journal.Begin(ctx, h)
	return &brokenLog{log, b.at}, err
}

func (b *brokenJournal) Reopen(ctx context.Context, id string) (journal.RunLog, error) {
	log, err := b.Journal.Reopen(ctx, id)
	return &brokenLog{log, b.at}, err
}

type brokenLog struct {
	journal.RunLog
	at journal.EventType
}

func (b *brokenLog) Append(ctx context.Context, events ...*journal.Event) error {
	for _, ev := range events {
		if ev.Type == b.at {
			return errors.New("the disk is full")
		}
	}
	return b.RunLog.Append(ctx, events...)
}

func (b *brokenLog) Close() error { return errors.Join(b.RunLog.Close(), errors.New("and remains so")) }

func TestJournalFails(t *testing.T) {
	for _, at := range []journal.EventType{
		"", journal.FlowStarted, journal.StepStarted, journal.StepFinished, journal.FlowFinished, journal.FlowWaiting,
	} {
		t.Run(string(at), func(t *testing.T) {
			store := newJournal(t, nil)
			last := "{id: b, call: echo}"
			if at == journal.FlowWaiting {
				last = "{id: b, call: slot, with: {stages: [], current_schema: {required: [x]}}}"
			}
			r := schedulertest.Run(t, `steps: [{id: a, call: echo}, `+last+`]`,
				schedulertest.With(slot.Definition()),
				schedulertest.Executor(func(e *scheduler.StepExecutor) { e.Journal = &brokenJournal{store, at} }))
			var broken *scheduler.JournalError
			if !errors.As(r.Err, &broken) || broken.Run != "run-1" || calls.KindOf(r.Err) != calls.Internal || !strings.Contains(r.Err.Error(), "the disk is full") {
				t.Errorf("the run fails with %v", r.Err)
			}
			if at == "" {
				return
			}
			// The reader has seen the recorded events, and nothing else: a resumed run continues with the next seq.
			var recorded []*journal.Event
			for ev, err := range store.Events(t.Context(), "run-1", 1) {
				if err != nil || ev.Type == at {
					t.Errorf("the journal has %v, %v", ev, err)
				}
				recorded = append(recorded, ev)
			}
			if seen, kept := value.Must(r.Events).JSON(), value.Must(recorded).JSON(); seen != kept {
				t.Errorf("the reader has seen\n%s\nthe journal has\n%s", seen, kept)
			}
			if at == journal.FlowStarted && len(lines(r, "step.started")) > 0 {
				t.Error("a began although the beginning of the run is not safe")
			}
			if at == journal.StepFinished && len(lines(r, "step.started b")) > 0 {
				t.Error("b started although the end of a is not safe")
			}
		})
	}
}

// TestFailedAndNotRecorded: the error of a run that failed, and whose journal then failed too, names both.
func TestFailedAndNotRecorded(t *testing.T) {
	r := schedulertest.Run(t, `steps: [{id: a, call: fail}]`, schedulertest.Executor(func(e *scheduler.StepExecutor) {
		e.Journal = &brokenJournal{newJournal(t, nil), journal.FlowFailed}
	}))
	var broken *scheduler.JournalError
	if !errors.As(r.Err, &broken) || broken.Failure == nil || broken.Failure.Info.Step != "a" {
		t.Errorf("the error is %#v", r.Err)
	}
	if text := r.Err.Error(); !strings.Contains(text, "the disk is full") || !strings.Contains(text, "step a: failed") {
		t.Errorf("the run fails with %v", r.Err)
	}
}

// slowLog is a log whose events are safe only when the test says so.
type slowLog struct {
	journal.RunLog
	safe atomic.Int64
}

func (s *slowLog) Append(ctx context.Context, events ...*journal.Event) error {
	time.Sleep(time.Millisecond)
	err := s.RunLog.Append(ctx, events...)
	s.safe.Store(events[len(events)-1].Seq)
	return err
}

type slowJournal struct {
	journal.Journal
	log *slowLog
}

func (s *slowJournal) Begin(ctx context.Context, h *journal.RunHeader) (journal.RunLog, error) {
	log, err := s.Journal.Begin(ctx, h)
	s.log.RunLog = log
	return s.log, err
}

// pathOf is the step of an event, or the item.
func pathOf(ev *journal.Event) string {
	if ev.Index == nil {
		return ev.Step
	}
	return fmt.Sprintf("%s[%d]", ev.Step, *ev.Index)
}

// TestSafeBeforeSuccessors: a step does not begin before the journal has the end of the steps it needs; nor does
// the next item of a list that is processed one by one.
func TestSafeBeforeSuccessors(t *testing.T) {
	slow := &slowJournal{newJournal(t, nil), &slowLog{}}
	var safe sync.Map
	note := schedulertest.Do("note", func(_ context.Context, env *calls.Env, _ value.Value) (any, error) {
		safe.Store(env.Path, slow.log.safe.Load())
		return emptyValue, nil
	})
	r := schedulertest.Run(t, `
steps:
  - {id: a, call: note, needs: []}
  - {id: b, call: note, needs: [a], for_each: [1, 2, 3]}
  - {id: c, call: note, needs: [a]}
  - {id: d, call: note, needs: [b, c]}
  - {id: e, call: note}
  - {id: f, call: note, for_each: [1, 2, 3, 4], max_parallel: 1}
`, schedulertest.With(note), schedulertest.Executor(func(e *scheduler.StepExecutor) { e.Journal = slow }))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	ends := map[string]int64{}
	for _, ev := range r.Events {
		if ev.Type == journal.StepFinished {
			ends[pathOf(ev)] = ev.Seq
		}
	}
	for after, before := range map[string]string{"b[0]": "a", "b[2]": "a", "c": "a", "d": "b", "e": "d", "f[0]": "e", "f[1]": "f[0]", "f[3]": "f[2]"} {
		at, _ := safe.Load(after)
		if seq, _ := at.(int64); seq < ends[before] {
			t.Errorf("%s began when the journal had %v events, %s ended with %d", after, at, before, ends[before])
		}
	}
}

// TestTakeOverIsSafeBeforeSteps: no step of a resumed run begins before the journal has flow.resumed. Otherwise a
// process that dies of a step would be missing among the take-overs, and the next one do the step without end.
func TestTakeOverIsSafeBeforeSteps(t *testing.T) {
	var begun atomic.Int64
	count := schedulertest.Do("count", func(context.Context, *calls.Env, value.Value) (any, error) {
		begun.Add(1)
		return nil, errors.New("failed")
	})
	store := newJournal(t, nil)
	var exec *scheduler.StepExecutor
	r := schedulertest.Run(t, `steps: [{id: a, call: count}]`, schedulertest.With(count), schedulertest.Executor(func(e *scheduler.StepExecutor) {
		e.Journal = store
		exec = e
	}))
	if r.Err == nil || begun.Load() != 1 {
		t.Fatalf("the run ends with %v after %d steps, want a failure after 1", r.Err, begun.Load())
	}
	exec.Journal = &brokenJournal{store, journal.FlowResumed}
	r = r.Resume(scheduler.Resumption{})
	var broken *scheduler.JournalError
	if !errors.As(r.Err, &broken) {
		t.Errorf("the resumed run ends with %v, want the error of the journal", r.Err)
	}
	if n := begun.Load(); n != 1 {
		t.Errorf("%d steps have begun, want 1: the take-over is not recorded", n)
	}
	exec.Journal = store
	if r = r.Resume(scheduler.Resumption{}); begun.Load() != 2 {
		t.Errorf("resumed with a journal that works: %d steps have begun, want 2; %v", begun.Load(), r.Err)
	}
}

func TestCancelFromOutside(t *testing.T) {
	store := newJournal(t, nil)
	wait := schedulertest.Do("wait", func(ctx context.Context, env *calls.Env, params value.Value) (any, error) {
		if _, again := params.Get("again"); again {
			return emptyValue, nil
		}
		if err := store.Cancel(ctx, env.Vars.Run.ID); err != nil {
			return nil, err
		}
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
	r := schedulertest.Run(t, `steps: [{id: a, call: echo}, {id: b, call: wait}]`, schedulertest.With(wait),
		schedulertest.Executor(func(e *scheduler.StepExecutor) { e.Journal = store }))
	if calls.KindOf(r.Err) != calls.Canceled || !errors.Is(r.Err, journal.ErrCancelRequested) || r.Err.Error() != "the run was cancelled from outside" {
		t.Errorf("the run ends with %v", r.Err)
	}
	if len(lines(r, "step.failed b canceled")) != 1 {
		t.Errorf("the step ends with\n%s", r.Log())
	}
	info, err := store.Run(t.Context(), "run-1")
	if err != nil || info.State != journal.RunCancelled || info.Holder != nil {
		t.Errorf("the run stands at %+v, %v", info, err)
	}
	edited := schedulertest.Load(t, `steps: [{id: a, call: echo}, {id: b, call: wait, with: {again: 1}}]`, schedulertest.With(wait))
	r = r.Resume(scheduler.Resumption{Flow: edited})
	if r.Err != nil || len(lines(r, "step.started")) != 1 {
		t.Errorf("resumed: %v\n%s", r.Err, r.Log())
	}
}

package temporal

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/callnode/scheduler/calls"
)

// theater is a workflow with activities that a test plays, on a clock that skips waits.
type theater struct {
	*testsuite.TestWorkflowEnvironment
	stretches []stretchInput
	answered  []answerRequest
	cancelled int
	// held is how often answers come while a process has the run.
	held int
}

// wantQueue fails the test unless an activity waits in a queue that only workers with the store of the run read.
func (th *theater) wantQueue(ctx context.Context, t *testing.T, want string) {
	t.Helper()
	if queue := activity.GetInfo(ctx).TaskQueue; queue != want {
		t.Errorf("an activity waits in %q, want %q", queue, want)
	}
}

// newTheater returns a theater in which play returns the outcome of the n-th stretch, from 0.
func newTheater(t *testing.T, play func(ctx context.Context, n int, in stretchInput) (Outcome, error)) *theater {
	t.Helper()
	suite := &testsuite.WorkflowTestSuite{}
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	th := &theater{TestWorkflowEnvironment: suite.NewTestWorkflowEnvironment()}
	th.RegisterWorkflowWithOptions(runWorkflow, workflow.RegisterOptions{Name: Workflow})
	th.RegisterActivityWithOptions(func(ctx context.Context, in stretchInput) (Outcome, error) {
		n := len(th.stretches)
		th.stretches = append(th.stretches, in)
		th.wantQueue(ctx, t, stretchQueue("q", "store", false))
		return play(ctx, n, in)
	}, activity.RegisterOptions{Name: Stretch})
	th.RegisterActivityWithOptions(func(ctx context.Context, request answerRequest) ([]answer, error) {
		th.wantQueue(ctx, t, shortQueue("q", "store"))
		th.answered = append(th.answered, request)
		if len(th.answered) <= th.held {
			return nil, temporal.NewApplicationError("the run is held", typeHeld)
		}
		if strings.Contains(request.Answers[0].Value, "wrong") {
			return nil, temporal.NewNonRetryableApplicationError("it does not fit", "invalid", nil, "write a city")
		}
		return request.Answers, nil
	}, activity.RegisterOptions{Name: answerActivity})
	th.RegisterActivityWithOptions(func(ctx context.Context, request cancelRequest) (Outcome, error) {
		th.wantQueue(ctx, t, shortQueue("q", "store"))
		if request != (cancelRequest{"run-1", "store"}) {
			t.Errorf("cancelled is %+v", request)
		}
		th.cancelled++
		return Outcome{State: Cancelled, Seq: 9}, nil
	}, activity.RegisterOptions{Name: cancelActivity})
	return th
}

// input returns the input of the workflows of tests.
func input() Input {
	return Input{Run: "run-1", Store: "store", Queue: "q", After: 3, Since: 3, Heartbeat: 10 * time.Second}
}

// run carries the workflow out and returns its outcome.
func (th *theater) run(in Input) (out Outcome, err error) {
	th.ExecuteWorkflow(Workflow, in)
	err = th.GetWorkflowError()
	if err == nil {
		err = th.GetWorkflowResult(&out)
	}
	return out, err
}

// reply is the result of an update in a test.
type reply struct {
	taken []answer
	err   error
}

// giveAnswer sends an answer after a while.
func (th *theater) giveAnswer(after time.Duration, id, text string, more bool) *reply {
	got := &reply{err: errors.New("not over")}
	th.RegisterDelayedCallback(func() {
		th.UpdateWorkflow(answerUpdate, id, &testsuite.TestUpdateCallback{
			OnReject: func(err error) { got.err = err },
			OnAccept: func() {},
			OnComplete: func(result any, err error) {
				got.err = err
				if err == nil {
					got.taken = result.([]answer)
				}
			},
		}, answerRequest{Answers: []answer{{Pointer: "/city", Value: text}}, More: more})
	}, after)
	return got
}

func TestRunEnds(t *testing.T) {
	for _, c := range []struct {
		out  Outcome
		kind string // of the error
	}{
		{Outcome{State: Finished, Seq: 7}, ""},
		{Outcome{State: Cancelled, Seq: 7}, ""},
		{Outcome{State: Failed, Seq: 7, Kind: "provider", Step: "ask"}, "provider"},
		{Outcome{State: Stuck, Seq: 7}, typeStuck},
		{Outcome{State: "new", Seq: 7}, string(calls.Internal)},
	} {
		th := newTheater(t, func(context.Context, int, stretchInput) (Outcome, error) { return c.out, nil })
		out, err := th.run(input())
		var own *temporal.ApplicationError
		if errors.As(err, &own) != (c.kind != "") || c.kind != "" && own.Type() != c.kind {
			t.Errorf("%s: %v", c.out.State, err)
		}
		if err == nil && out.State != c.out.State {
			t.Errorf("got %+v", out)
		}
		if want := (stretchInput{Run: "run-1", Store: "store", After: 3, Since: 3}); len(th.stretches) != 1 || th.stretches[0] != want {
			t.Errorf("%s: the stretches are %+v", c.out.State, th.stretches)
		}
	}
}

// A run that is handed over goes on at once, after the last event that is known.
func TestHandedOver(t *testing.T) {
	th := newTheater(t, func(_ context.Context, n int, _ stretchInput) (Outcome, error) {
		return Outcome{State: []State{HandedOver, HandedOver, Finished}[n], Seq: int64(10 * (n + 1))}, nil
	})
	began := th.Now()
	if _, err := th.run(input()); err != nil {
		t.Fatal(err)
	}
	if len(th.stretches) != 3 || th.stretches[2].After != 20 || th.stretches[2].Since != 3 {
		t.Errorf("the stretches are %+v", th.stretches)
	}
	if waited := th.Now().Sub(began); waited >= refusedDelay {
		t.Errorf("it took %s", waited)
	}
}

// A worker that fails, by its journal or by its death, is followed by the next one.
func TestFailedStretch(t *testing.T) {
	th := newTheater(t, func(_ context.Context, n int, _ stretchInput) (Outcome, error) {
		if n < 5 {
			return Outcome{}, temporal.NewApplicationError("no connection", typeJournal)
		}
		return Outcome{State: Finished}, nil
	})
	if _, err := th.run(input()); err != nil || len(th.stretches) != 6 {
		t.Errorf("%d stretches, %v", len(th.stretches), err)
	}
	th = newTheater(t, func(context.Context, int, stretchInput) (Outcome, error) {
		return Outcome{}, temporal.NewNonRetryableApplicationError("unknown", "notfound", nil)
	})
	var own *temporal.ApplicationError
	if _, err := th.run(input()); !errors.As(err, &own) || own.Type() != "notfound" || len(th.stretches) != 1 {
		t.Errorf("%d stretches, %v", len(th.stretches), err)
	}
}

// A run that waits goes on with an answer; a wrong one is refused at once, and it waits on.
func TestAnswers(t *testing.T) {
	th := newTheater(t, func(_ context.Context, n int, _ stretchInput) (Outcome, error) {
		if n == 0 {
			return Outcome{State: Waiting, Seq: 5, Waiting: []string{"ask"}}, nil
		}
		return Outcome{State: Finished, Seq: 9}, nil
	})
	wrong := th.giveAnswer(time.Hour, "a", `"wrong"`, false)
	first := th.giveAnswer(2*time.Hour, "b", `"Lyon"`, true)
	last := th.giveAnswer(3*time.Hour, "c", `"Nice"`, false)
	began := th.Now()
	if _, err := th.run(input()); err != nil {
		t.Fatal(err)
	}
	var own *temporal.ApplicationError
	if !errors.As(wrong.err, &own) || own.Type() != "invalid" {
		t.Errorf("the wrong answer: %v", wrong.err)
	}
	if first.err != nil || last.err != nil || len(first.taken) != 1 || first.taken[0].Value != `"Lyon"` {
		t.Errorf("got %+v and %+v", first, last)
	}
	if waited := th.Now().Sub(began); waited < 3*time.Hour || len(th.stretches) != 2 {
		t.Errorf("%d stretches after %s", len(th.stretches), waited)
	}
	if th.answered[0].Run != "run-1" {
		t.Errorf("the answers are for %q", th.answered[0].Run)
	}
}

// A wake-up while a run is at work is not forgotten when it comes to wait.
func TestWokenAtWork(t *testing.T) {
	th := newTheater(t, func(_ context.Context, n int, _ stretchInput) (Outcome, error) {
		return Outcome{State: []State{Waiting, Waiting, Finished}[min(n, 2)], Seq: 5}, nil
	})
	th.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converterValues) {
		if info.ActivityType.Name == Stretch && len(th.stretches) < 2 {
			th.SignalWorkflow(wakeSignal, int64(0))
		}
	})
	if _, err := th.run(input()); err != nil || len(th.stretches) != 3 {
		t.Errorf("%d stretches, %v", len(th.stretches), err)
	}
}

// A request to resume a failed run is not forgotten if it comes before its workflow knows of the failure; a
// wake-up before the failure does not repeat the run.
func TestResumedAtTheEnd(t *testing.T) {
	for name, c := range map[string]struct {
		seq       int64
		state     State
		stretches int
	}{
		"failed, resumed": {7, Failed, 2}, "cancelled, resumed": {7, Cancelled, 2}, "woken before": {6, Failed, 1}, "told of its cancellation": {0, Cancelled, 1},
	} {
		th := newTheater(t, func(_ context.Context, n int, in stretchInput) (Outcome, error) {
			if n == 0 {
				return Outcome{State: c.state, Seq: 7}, nil
			}
			if in.After != 7 {
				t.Errorf("%s: it goes on after %d", name, in.After)
			}
			return Outcome{State: Finished, Seq: 9}, nil
		})
		th.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converterValues) {
			if info.ActivityType.Name == Stretch && len(th.stretches) == 0 {
				th.SignalWorkflow(wakeSignal, c.seq)
			}
		})
		_, err := th.run(input())
		hasFailed := c.state == Failed && c.stretches == 1
		if len(th.stretches) != c.stretches || (err != nil) != hasFailed {
			t.Errorf("%s: %d stretches, %v", name, len(th.stretches), err)
		}
	}
}

// A run that was resumed ends if a worker refuses to go on with it, for example because its parent run is over.
func TestResumedInVain(t *testing.T) {
	th := newTheater(t, func(context.Context, int, stretchInput) (Outcome, error) {
		return Outcome{State: Cancelled, Seq: 3}, nil
	})
	th.RegisterDelayedCallback(func() { th.SignalWorkflow(wakeSignal, int64(3)) }, 0)
	if out, err := th.run(input()); err != nil || out.State != Cancelled || len(th.stretches) != 1 {
		t.Errorf("%d stretches, %+v, %v", len(th.stretches), out, err)
	}
}

// nextInput returns the input of a workflow's next execution.
func nextInput(t *testing.T, err error) (next Input) {
	t.Helper()
	var again *workflow.ContinueAsNewError
	if !errors.As(err, &again) {
		t.Fatalf("it ends with %v", err)
	}
	if err := dataConverter().FromPayloads(again.Input, &next); err != nil {
		t.Fatal(err)
	}
	return next
}

// A request to resume a failed run is not forgotten if it comes while its workflow waits for an answer to be
// recorded.
func TestResumedWhileItEnds(t *testing.T) {
	th := newTheater(t, func(context.Context, int, stretchInput) (Outcome, error) {
		return Outcome{State: Failed, Seq: 7, Kind: "provider", Step: "ask"}, nil
	})
	th.held = 1
	th.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converterValues) {
		if info.ActivityType.Name == Stretch {
			th.giveAnswer(0, "a", `"Lyon"`, false)
			th.RegisterDelayedCallback(func() { th.SignalWorkflow(wakeSignal, int64(7)) }, 50*time.Millisecond)
		}
	})
	_, err := th.run(input())
	want := input()
	want.After, want.WokenAt = 7, 7
	if next := nextInput(t, err); next != want {
		t.Errorf("it goes on with %+v", next)
	}
}

// A request to resume a run is not forgotten if it comes when its workflow goes on in a new execution.
func TestResumedBetweenExecutions(t *testing.T) {
	th := newTheater(t, func(_ context.Context, n int, _ stretchInput) (Outcome, error) {
		if n < maxStretches-1 {
			return Outcome{State: HandedOver, Seq: 4}, nil
		}
		return Outcome{State: Waiting, Seq: 5}, nil
	})
	th.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converterValues) {
		if info.ActivityType.Name == Stretch && len(th.stretches) == maxStretches-1 {
			th.SignalWorkflow(wakeSignal, int64(6)) // it was cancelled when it had come to wait, and resumed
		}
	})
	_, err := th.run(input())
	next := nextInput(t, err)
	if len(th.stretches) != maxStretches || next.After != 5 || next.WokenAt != 6 {
		t.Errorf("%d stretches, it goes on with %+v", len(th.stretches), next)
	}
	th = newTheater(t, func(_ context.Context, n int, in stretchInput) (Outcome, error) {
		return Outcome{State: []State{Cancelled, Finished}[n], Seq: int64(6 + n)}, nil
	})
	if out, err := th.run(next); err != nil || out.State != Finished || len(th.stretches) != 2 {
		t.Errorf("%d stretches, %+v, %v", len(th.stretches), out, err)
	}
}

// TestUnavailable: while no worker has all that a run needs, the run is offered again every few seconds, never less often; the activity
// hears for how long, and decides when the run fails. The time counts across executions.
func TestUnavailable(t *testing.T) {
	const limit = time.Hour
	in, executions, missing, clock := input(), 0, "", time.Now()
	for ; executions < 10; executions++ {
		var offers []time.Time
		now := func() time.Time { return time.Time{} }
		th := newTheater(t, func(_ context.Context, _ int, in stretchInput) (Outcome, error) {
			offers = append(offers, now())
			if in.UnavailableFor >= limit {
				return Outcome{State: Failed, Seq: 4, Kind: string(calls.Internal)}, nil
			}
			return Outcome{State: Unavailable, Seq: 3, Missing: "the plugin demo"}, nil
		})
		now = th.Now
		th.SetStartTime(clock)
		th.RegisterDelayedCallback(func() {
			if v, err := th.QueryWorkflow(missingQuery); err != nil || v.Get(&missing) != nil {
				t.Error(err)
			}
		}, time.Minute)
		_, err := th.run(in)
		for i := 1; i < len(offers); i++ {
			if pause := offers[i].Sub(offers[i-1]); pause > refusedDelay+time.Second {
				t.Fatalf("the run was not offered for %s", pause)
			}
		}
		if !errors.As(err, new(*workflow.ContinueAsNewError)) {
			var own *temporal.ApplicationError
			if !errors.As(err, &own) || own.Type() != string(calls.Internal) {
				t.Errorf("it ends with %v", err)
			}
			break
		}
		in, clock = nextInput(t, err), th.Now()
	}
	if in.RefusedSince.IsZero() || executions == 10 {
		t.Errorf("after %d executions it was refused since %s", executions, in.RefusedSince)
	}
	if missing != "the plugin demo" {
		t.Errorf("it says that it lacks %q", missing)
	}
	th := newTheater(t, func(_ context.Context, n int, _ stretchInput) (Outcome, error) {
		return Outcome{State: []State{Unavailable, Unavailable, Finished}[n]}, nil
	})
	if _, err := th.run(input()); err != nil || len(th.stretches) != 3 {
		t.Errorf("%d stretches, %v", len(th.stretches), err)
	}
}

// TestPaused: a run that pauses because workers died while running it waits for the whole pause, which does not
// count as a lack. A user's request to resume it meanwhile works at once, and the deaths before that do not count
// any more.
func TestPaused(t *testing.T) {
	for _, c := range []struct {
		name      string
		isResumed bool
		waited    time.Duration
		since     int64
	}{
		{"left alone", false, time.Hour, 3},
		{"resumed", true, time.Minute, 8},
	} {
		th := newTheater(t, func(_ context.Context, n int, _ stretchInput) (Outcome, error) {
			return []Outcome{{State: Unavailable, Seq: 8, Missing: "3 workers died", Pause: time.Hour}, {State: Finished, Seq: 9}}[n], nil
		})
		if c.isResumed {
			th.RegisterDelayedCallback(func() { th.SignalWorkflow(wakeSignal, int64(8)) }, time.Minute)
		}
		began := th.Now()
		if out, err := th.run(input()); err != nil || out.State != Finished {
			t.Errorf("%s: it ends with %+v, %v", c.name, out, err)
		}
		if waited := th.Now().Sub(began); waited < c.waited || waited > c.waited+time.Minute {
			t.Errorf("%s: it waited for %s, want %s", c.name, waited, c.waited)
		}
		if want := (stretchInput{Run: "run-1", Store: "store", After: 8, Since: c.since}); th.stretches[1] != want {
			t.Errorf("%s: the second stretch is %+v, want %+v", c.name, th.stretches[1], want)
		}
	}
}

// Temporal's own cancellation cancels the run: by the stretch at work, which hears of it, and in the journal if
// there is none.
func TestCancelled(t *testing.T) {
	for name, states := range map[string][]State{"waiting": {Waiting}, "handed over": {HandedOver, HandedOver}, "no worker": {Unavailable}} {
		th := newTheater(t, func(ctx context.Context, n int, _ stretchInput) (Outcome, error) {
			return Outcome{State: states[min(n, len(states)-1)], Seq: 5}, nil
		})
		if name == "handed over" {
			th.SetOnActivityCompletedListener(func(info *activity.Info, _ converterValue, _ error) {
				if info.ActivityType.Name == Stretch {
					th.CancelWorkflow()
				}
			})
		} else {
			th.RegisterDelayedCallback(th.CancelWorkflow, 1500*time.Millisecond)
		}
		_, err := th.run(input())
		var cancelled *temporal.CanceledError
		if !errors.As(err, &cancelled) || th.cancelled != 1 {
			t.Errorf("%s: cancelled %d times, %v", name, th.cancelled, err)
		}
	}
}

// After many stretches a new execution goes on from the same point.
func TestContinueAsNew(t *testing.T) {
	th := newTheater(t, func(_ context.Context, n int, _ stretchInput) (Outcome, error) {
		return Outcome{State: HandedOver, Seq: int64(n + 4)}, nil
	})
	_, err := th.run(input())
	want := input()
	want.After = maxStretches + 3
	if next := nextInput(t, err); next != want || len(th.stretches) != maxStretches {
		t.Errorf("%d stretches, it goes on with %+v", len(th.stretches), next)
	}
}

// Search attributes are set if they are registered, and only then.
func TestAttributes(t *testing.T) {
	for _, isRegistered := range []bool{false, true} {
		th := newTheater(t, func(_ context.Context, n int, _ stretchInput) (Outcome, error) {
			return Outcome{State: []State{HandedOver, Finished}[n], Flow: "hello", Tokens: 42}, nil
		})
		if isRegistered {
			if err := th.SetTypedSearchAttributesOnStart(temporal.NewSearchAttributes(
				attributeFlow.ValueSet(""), attributeState.ValueSet(""), attributeWaiting.ValueSet(nil), attributeTokens.ValueSet(0))); err != nil {
				t.Fatal(err)
			}
		}
		in := input()
		in.Attributes = isRegistered
		if _, err := th.run(in); err != nil {
			t.Errorf("registered %v: %v", isRegistered, err)
		}
	}
}

func TestShortQueue(t *testing.T) {
	var queues []string
	for _, queue := range []string{"a", "b"} {
		queues = append(queues, queue)
		for _, store := range []string{"s", "t"} {
			queues = append(queues, shortQueue(queue, store), stretchQueue(queue, store, false), stretchQueue(queue, store, true))
		}
	}
	slices.Sort(queues)
	if len(slices.Compact(slices.Clone(queues))) != len(queues) {
		t.Errorf("the queues are %v", queues)
	}
}

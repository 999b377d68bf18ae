package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/dispatch"
	"github.com/callnode/scheduler/scheduler/journal"
	journalmemory "github.com/callnode/scheduler/scheduler/journal/memory"
	"github.com/callnode/scheduler/scheduler/service"
)

// newDispatcher is one that runs everything at once, on a service of its own.
func newDispatcher(t *testing.T) (*service.Service, *dispatch.Dispatcher) {
	t.Helper()
	s := newService()
	d := dispatch.New(s, dispatch.Options{Limits: dispatch.Limits{Runs: 8, PerUser: 8, Queued: 8}, Recover: "own", Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() {
		d.Close(context.Background())
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, d
}

const echoes = `
inputs: {type: object, required: [question], properties: {question: {type: string}}}
steps: [{id: answer, call: chat, with: {user: "{{ inputs.question }}"}, to_user: true}]
`

// Readers that come early, late, in the middle, or read slowly, all get every event once and
// in order, though the run has more events than are kept for them, and does not wait.
func TestFollowersMissNothing(t *testing.T) {
	s, d := newDispatcher(t)
	const words = 6000
	f := loadText(t, s, echoes)
	id := service.NewRunID()
	inputs := value.OfMap(value.Pairs("question", strings.Repeat("word ", words)))
	if _, err := d.Start(t.Context(), anyone, service.StartRequest{ID: id, Flow: f, Inputs: inputs}, 0); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i, pause := range []time.Duration{0, 0, time.Millisecond, 20 * time.Millisecond} {
		after := int64(i * 1000)
		all.Go(func() {
			next := after + 1
			for batch, err := range d.Follow(t.Context(), id, dispatch.FollowOptions{After: after}) {
				if err != nil {
					t.Error(err)
					return
				}
				for _, frame := range batch {
					if frame.Seq != next || !strings.Contains(string(frame.JSON), fmt.Sprintf(`"seq":%d,`, next)) {
						t.Errorf("reader %d got event %d where %d comes next", i, frame.Seq, next)
						return
					}
					next++
				}
				time.Sleep(pause)
			}
			if info, err := s.Run(t.Context(), anyone, id); err != nil || next != info.LastSeq+1 || next < words {
				t.Errorf("reader %d ends before event %d of %+v, %v", i, next, info, err)
			}
		})
	}
	all.Wait()
}

// Readers of a live run get images as the journal shows them, without a gap.
func TestFollowersSeeNoImageBytes(t *testing.T) {
	s, d := newDispatcher(t)
	id := service.NewRunID()
	inputs := value.OfMap(value.Pairs("question", "data:image/png;base64,QUJDRA=="))
	if _, err := d.Start(t.Context(), anyone, service.StartRequest{ID: id, Flow: loadText(t, s, echoes), Inputs: inputs}, 0); err != nil {
		t.Fatal(err)
	}
	next := int64(1)
	for batch, err := range d.Follow(t.Context(), id, dispatch.FollowOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, frame := range batch {
			if frame.Seq != next || strings.Contains(string(frame.JSON), "QUJDRA") {
				t.Errorf("event %d, where %d comes next: %s", frame.Seq, next, frame.JSON)
			}
			next++
		}
	}
	if info, err := s.Run(t.Context(), anyone, id); err != nil || next != info.LastSeq+1 {
		t.Errorf("got events up to %d of %+v, %v", next-1, info, err)
	}
}

// A run of another process, here a session beside the dispatcher, is followed to its end.
func TestFollowRunOfOthers(t *testing.T) {
	s, d := newDispatcher(t)
	f := loadText(t, s, echoes)
	session, _, err := s.NewSession(t.Context(), anyone, service.StartRequest{ID: "run-1", Flow: f, Inputs: value.OfMap(value.Pairs("question", "one two three"))})
	if err != nil {
		t.Fatal(err)
	}
	begun := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		once := sync.OnceFunc(func() { close(begun) })
		for _, err := range session.Events() {
			once()
			if err != nil {
				t.Error(err)
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
	<-begun
	var last *dispatch.Frame
	n := int64(0)
	for batch, err := range d.Follow(t.Context(), "run-1", dispatch.FollowOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, frame := range batch {
			n++
			last = frame
		}
	}
	all.Wait()
	if last == nil || last.Type != "flow.finished" || last.Seq != n {
		t.Errorf("got %d events, the last %+v", n, last)
	}
}

// noticing is a journal that sends the test's notices.
type noticing struct {
	journal.Journal
	notices chan struct{}
}

func (n noticing) Subscribe(string) (noticed <-chan struct{}, stop func()) {
	return n.notices, func() {}
}

// If the journal sends notices of another process's events, readers have them at once, and not only when they
// check from time to time. The clock of the bubble does not advance between them.
func TestFollowOnNotice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := noticing{journalmemory.New(time.Now), make(chan struct{}, 1)}
		s := newServiceOf(scripted.Echo{}, func(context.Context, bool) (journal.Journal, error) { return j, nil })
		d := dispatch.New(s, dispatch.Options{Limits: dispatch.Limits{Runs: 8, PerUser: 8, Queued: 8}, Recover: "none", Log: slog.New(slog.DiscardHandler)})
		log, err := j.Begin(t.Context(), &journal.RunHeader{ID: "run-1", Flow: "f", File: "f.yaml", StartedAt: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		arrived := make(chan time.Time, 8)
		go func() {
			for batch := range d.Follow(ctx, "run-1", dispatch.FollowOptions{}) {
				if len(batch) > 0 {
					arrived <- time.Now()
				}
			}
			close(arrived)
		}()
		for seq := range int64(3) {
			time.Sleep(10 * time.Millisecond)
			event := &journal.Event{Seq: seq + 1, Time: time.Now(), Run: "run-1", Type: journal.StepReady, Step: "a", Data: &journal.Data{}}
			if err := log.Append(t.Context(), event); err != nil {
				t.Fatal(err)
			}
			written := time.Now()
			select {
			case j.notices <- struct{}{}:
			default:
				t.Error("the reader has not taken the last notice")
			}
			if delay := (<-arrived).Sub(written); delay > 0 {
				t.Errorf("the reader had the event after %s", delay)
			}
		}
		cancel()
		for range arrived {
		}
		d.Close(context.Background())
		if err := errors.Join(log.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	})
}

// cancelling is a journal in which each run is cancelled in the moment before a process takes it.
type cancelling struct{ journal.Journal }

func (c cancelling) Reopen(ctx context.Context, id string) (journal.RunLog, error) {
	if err := c.Cancel(ctx, id); err != nil {
		return nil, err
	}
	return c.Journal.Reopen(ctx, id)
}

// A queued run that is cancelled when its turn comes does not begin.
func TestCancelAsItsTurnComes(t *testing.T) {
	j, model := cancelling{journalmemory.New(time.Now)}, heldModel{make(chan struct{})}
	s := newServiceOf(model, func(context.Context, bool) (journal.Journal, error) { return j, nil })
	d := dispatch.New(s, dispatch.Options{Limits: dispatch.Limits{Runs: 1, PerUser: 1, Queued: 8}, Recover: "own", Log: slog.New(slog.DiscardHandler)})
	first, queued := service.NewRunID(), service.NewRunID()
	for _, id := range []string{first, queued} {
		r := service.StartRequest{ID: id, Flow: loadText(t, s, echoes), Inputs: value.OfMap(value.Pairs("question", "q"))}
		if _, err := d.Start(t.Context(), anyone, r, 0); err != nil {
			t.Fatal(err)
		}
	}
	close(model.released)
	for _, err := range d.Follow(t.Context(), queued, dispatch.FollowOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	d.Close(context.Background())
	if info, err := s.Run(t.Context(), anyone, queued); err != nil || info.State != journal.RunCancelled || info.LastSeq != 1 {
		t.Errorf("the run is %+v, %v", info, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A run that is cancelled while its answers wait for a slot does not continue.
func TestCancelBeforeItsSlot(t *testing.T) {
	model := heldModel{make(chan struct{})}
	j := journalmemory.New(time.Now)
	s := newServiceOf(model, func(context.Context, bool) (journal.Journal, error) { return j, nil })
	d := dispatch.New(s, dispatch.Options{Limits: dispatch.Limits{Runs: 1, PerUser: 1, Queued: 8}, Recover: "own", Log: slog.New(slog.DiscardHandler)})
	start := func(text string, inputs value.Value) string {
		id := service.NewRunID()
		if _, err := d.Start(t.Context(), anyone, service.StartRequest{ID: id, Flow: loadText(t, s, text), Inputs: inputs}, time.Minute); err != nil {
			t.Fatal(err)
		}
		return id
	}
	waits := start(waitsForCity, value.OfMap(nil))
	for _, err := range d.Follow(t.Context(), waits, dispatch.FollowOptions{UntilWaiting: true}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	start(echoes, value.OfMap(value.Pairs("question", "q")))
	resumed := make(chan error)
	go func() {
		resumed <- d.Resume(t.Context(), anyone, waits, service.ResumeWith{Answers: answersFor("place", "/city", "Hangzhou"), Wait: time.Minute})
	}()
	for _, queued := d.Load(); queued == 0; _, queued = d.Load() {
		time.Sleep(time.Millisecond)
	}
	if err := d.Cancel(t.Context(), anyone, waits); err != nil {
		t.Fatal(err)
	}
	close(model.released)
	if err := <-resumed; !errors.Is(err, scheduler.ErrCancelledSince) {
		t.Errorf("got %v", err)
	}
	d.Close(context.Background())
	if info, err := s.Run(t.Context(), anyone, waits); err != nil || info.State != journal.RunCancelled {
		t.Errorf("the run is %+v, %v", info, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A queued run that is cancelled leaves the queue at once: another one may come, and the run may be resumed.
func TestCancelledRunLeavesTheQueue(t *testing.T) {
	j, model := journalmemory.New(time.Now), heldModel{make(chan struct{})}
	s := newServiceOf(model, func(context.Context, bool) (journal.Journal, error) { return j, nil })
	d := dispatch.New(s, dispatch.Options{Limits: dispatch.Limits{Runs: 1, PerUser: 1, Queued: 1}, Recover: "own", Log: slog.New(slog.DiscardHandler)})
	start := func() (string, error) {
		id := service.NewRunID()
		_, err := d.Start(t.Context(), anyone, service.StartRequest{ID: id, Flow: loadText(t, s, echoes), Inputs: value.OfMap(value.Pairs("question", "q"))}, 0)
		return id, err
	}
	if _, err := start(); err != nil {
		t.Fatal(err)
	}
	queued, err := start()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := start(); !errors.Is(err, dispatch.ErrQueueFull) {
		t.Errorf("a third run: %v", err)
	}
	if err := d.Cancel(t.Context(), anyone, queued); err != nil {
		t.Fatal(err)
	}
	if active, waiting := d.Load(); active != 1 || waiting != 0 {
		t.Errorf("%d are at work and %d wait", active, waiting)
	}
	if err := d.Resume(t.Context(), anyone, queued, service.ResumeWith{Wait: time.Millisecond}); !errors.Is(err, dispatch.ErrNoSlot) {
		t.Errorf("resuming the cancelled run: %v", err)
	}
	next, err := start()
	if err != nil {
		t.Errorf("the next run: %v", err)
	}
	close(model.released)
	for _, err := range d.Follow(t.Context(), next, dispatch.FollowOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	d.Close(context.Background())
	if info, err := s.Run(t.Context(), anyone, queued); err != nil || info.State != journal.RunCancelled {
		t.Errorf("the cancelled run is %+v, %v", info, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A run that waits can be answered as soon as it is seen to wait, and one of two answers at once is accepted.
func TestResumeAtOnce(t *testing.T) {
	s, d := newDispatcher(t)
	f := loadText(t, s, waitsForCity)
	id := service.NewRunID()
	if _, err := d.Start(t.Context(), lin, service.StartRequest{ID: id, Flow: f, Inputs: value.OfMap(nil)}, 0); err != nil {
		t.Fatal(err)
	}
	for _, err := range d.Follow(t.Context(), id, dispatch.FollowOptions{UntilWaiting: true}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	answers := service.ResumeWith{Wait: time.Second}
	info, err := s.Run(t.Context(), lin, id)
	if err != nil {
		t.Fatal(err)
	}
	waits, err := s.WaitsFor(t.Context(), lin, info)
	if err != nil || len(waits) != 1 || waits[0].Step != "place" {
		t.Fatalf("it waits for %v, %v", waits, err)
	}
	answers.Answers = answersFor("place", "/city", "Hangzhou")
	if err := d.Resume(t.Context(), bo, id, answers); err == nil {
		t.Error("another user answers")
	}
	errs := make([]error, 2)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { errs[i] = d.Resume(t.Context(), lin, id, answers) })
	}
	all.Wait()
	if (errs[0] == nil) == (errs[1] == nil) {
		t.Errorf("got %v and %v", errs[0], errs[1])
	}
	for batch, err := range d.Follow(t.Context(), id, dispatch.FollowOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, frame := range batch {
			if frame.Type == "flow.finished" {
				return
			}
		}
	}
	t.Error("the run has not finished")
}

func answersFor(step, pointer, text string) []scheduler.Answer {
	return []scheduler.Answer{{Step: step, Pointer: pointer, Value: value.OfString(text)}}
}

// TestEndedBeforeTheNextSession: a session's frames end before the next one of its run begins, so that the two do
// not mix.
func TestEndedBeforeTheNextSession(t *testing.T) {
	s := newService()
	release, first := make(chan struct{}), sync.Once{}
	d := dispatch.New(s, dispatch.Options{
		Limits: dispatch.Limits{Runs: 8, PerUser: 8, Queued: 8}, Recover: "own", Log: slog.New(slog.DiscardHandler),
		Ended: func(string) { first.Do(func() { <-release }) },
	})
	t.Cleanup(func() {
		d.Close(context.Background())
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	const waits = `steps: [{id: place, call: slot, with: {current_schema: {type: object, required: [city], properties: {city: {type: string}}}, stages: []}}]`
	id := service.NewRunID()
	if _, err := d.Start(t.Context(), anyone, service.StartRequest{ID: id, Flow: loadText(t, s, waits), Inputs: value.OfMap(nil)}, 0); err != nil {
		t.Fatal(err)
	}
	hasStopped := func(frame *dispatch.Frame) bool { return frame.Type == journal.FlowWaiting }
	for batch, err := range d.Follow(t.Context(), id, dispatch.FollowOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(batch, hasStopped) {
			break
		}
	}
	answer := service.ResumeWith{Answers: []scheduler.Answer{{Step: "place", Pointer: "/city", Value: value.OfString("Hangzhou")}}, Wait: time.Minute}
	soon, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := d.Resume(soon, anyone, id, answer); !errors.Is(err, dispatch.ErrAtWork) {
		t.Errorf("while the first session is not over: %v", err)
	}
	close(release)
	if err := d.Resume(t.Context(), anyone, id, answer); err != nil {
		t.Errorf("after it: %v", err)
	}
}

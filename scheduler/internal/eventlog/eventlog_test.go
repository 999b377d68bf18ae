package eventlog_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/callnode/scheduler/scheduler/internal/eventlog"
	"github.com/callnode/scheduler/scheduler/journal"
)

// store is a journal's log that may be slow, and may fail.
type store struct {
	// gate, if given, has a token for every write that may proceed.
	gate chan struct{}
	// failAt is the write that fails; 0: none does.
	failAt   int
	closeErr error

	mu      sync.Mutex
	writes  [][]int64 // the seqs of each; guarded by mu, as are the others
	failed  bool
	closed  int
	skipped bool // a write came after one that had failed
}

var errFull = errors.New("the disk is full")

func (s *store) Append(_ context.Context, events ...*journal.Event) error {
	if s.gate != nil {
		<-s.gate
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.skipped = s.skipped || s.failed || s.closed > 0
	if s.failAt == len(s.writes)+1 {
		s.failed = true
		return errFull
	}
	var seqs []int64
	for _, ev := range events {
		seqs = append(seqs, ev.Seq)
	}
	s.writes = append(s.writes, seqs)
	return nil
}

func (s *store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed++
	return s.closeErr
}

// saved returns the Seq of the last event that was written.
func (s *store) saved() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.writes) == 0 {
		return 0
	}
	last := s.writes[len(s.writes)-1]
	return last[len(last)-1]
}

func newLog(t *testing.T, s *store, change ...func(*eventlog.Options)) *eventlog.Log {
	var o eventlog.Options
	if s != nil {
		o.Store = s
	}
	for _, f := range change {
		f(&o)
	}
	return eventlog.New(t.Context(), o)
}

func event(t journal.EventType) *journal.Event { return &journal.Event{Type: t} }

// reader takes the events of a log in a goroutine of its own.
type reader struct {
	mu   sync.Mutex
	seqs []int64 // guarded by mu
	all  bool
	done chan struct{}
}

func read(l *eventlog.Log) *reader {
	r := &reader{done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.all = l.Read(func(ev *journal.Event, _ error) bool {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.seqs = append(r.seqs, ev.Seq)
			return true
		})
	}()
	return r
}

func (r *reader) got() []int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.seqs)
}

func check(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// TestWithoutStore: events are numbered and read in order; later events are dropped.
func TestWithoutStore(t *testing.T) {
	l := newLog(t, nil)
	l.Append(event(journal.FlowStarted))
	if l.AfterSaved(func(error) { t.Error("called") }) || l.WaitSaved() != nil {
		t.Error("events that nothing keeps wait to be safe")
	}
	l.Close(event(journal.FlowFinished))
	late := event(journal.StepDelta)
	l.Append(late)
	if late.Seq != 0 {
		t.Errorf("after the end: %+v", late)
	}
	l.WaitForRoom()
	r := read(l)
	<-r.done
	check(t, "read", []int64{1, 2}, r.got())
	if !r.all || l.Wait() != nil || l.Err() != nil {
		t.Error("the reader has not taken all")
	}
}

// TestTimes: an event is never earlier than the one before it.
func TestTimes(t *testing.T) {
	l := newLog(t, nil)
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var got []int
	for _, second := range []int{1, 3, 2, 3, 5, 0} {
		ev := event(journal.StepDelta)
		ev.Time = start.Add(time.Duration(second) * time.Second)
		l.Append(ev)
		got = append(got, int(ev.Time.Sub(start).Seconds()))
	}
	check(t, "seconds", []int{1, 3, 3, 3, 5, 5}, got)
}

// TestReaderLeaves: a reader that has enough gets no further event, and no step waits for
// it.
func TestReaderLeaves(t *testing.T) {
	for _, s := range []*store{nil, {}} {
		l := newLog(t, s)
		for range 2 {
			l.Append(event(journal.StepFinished))
		}
		if l.Read(func(*journal.Event, error) bool { return false }) {
			t.Error("the reader has taken all")
		}
		l.Detach()
		for range 10_000 {
			l.WaitForRoom()
			l.Append(event(journal.StepFinished))
		}
		l.Close(event(journal.FlowFinished))
		if err := l.Wait(); err != nil {
			t.Error(err)
		}
		if s != nil && s.saved() != 10_003 {
			t.Errorf("the store has %d events", s.saved())
		}
	}
}

// TestSavedBeforeRead: the reader sees no event, and no waiting callback runs, before the store has it; meanwhile
// new events are collected into one write.
func TestSavedBeforeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{gate: make(chan struct{})}
		l := newLog(t, s, func(o *eventlog.Options) { o.LastSeq = 7 })
		r := read(l)
		var called []int
		l.Append(event(journal.StepFinished))
		synctest.Wait() // it is waiting
		for i := range 3 {
			if !l.AfterSaved(func(err error) { called = append(called, i) }) {
				t.Error("safe before it was written")
			}
			l.Append(event(journal.StepFinished))
		}
		waited := make(chan error, 1)
		go func() { waited <- l.WaitSaved() }()
		synctest.Wait()
		check(t, "read before the first write", []int64(nil), r.got())
		s.gate <- struct{}{}
		synctest.Wait()
		check(t, "read after it", []int64{8}, r.got())
		check(t, "called after it", []int{0}, called)
		if len(waited) > 0 {
			t.Error("safe before all were written")
		}
		s.gate <- struct{}{}
		if err := <-waited; err != nil {
			t.Error(err)
		}
		synctest.Wait()
		check(t, "called in the end", []int{0, 1, 2}, called)
		if l.AfterSaved(func(error) {}) {
			t.Error("waits for events that are safe")
		}
		l.Close(nil)
		<-r.done
		check(t, "read in the end", []int64{8, 9, 10, 11}, r.got())
		check(t, "writes", [][]int64{{8}, {9, 10, 11}}, s.writes)
		if s.closed != 1 {
			t.Errorf("closed %d times", s.closed)
		}
	})
}

// A callback added while another runs, after the last write, is called after it.
func TestPutOffInCallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog(t, &store{})
		atWork, goOn, called := make(chan struct{}), make(chan struct{}), make(chan struct{})
		l.Append(&journal.Event{Type: journal.StepFinished})
		if !l.AfterSaved(func(error) { close(atWork); <-goOn }) {
			t.Fatal("the event is safe before it was written")
		}
		<-atWork
		if !l.AfterSaved(func(error) { close(called) }) {
			t.Fatal("a later callback would come before one that is at work")
		}
		close(goOn)
		<-called
		l.Close(nil)
	})
}

// TestLingering: events that no step waits for are written a moment later, together; in
// mode async, and once there are many, at once.
func TestLingering(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		l := newLog(t, s)
		r := read(l)
		for range 3 {
			l.Append(event(journal.StepDelta))
			synctest.Wait()
		}
		check(t, "read at once", 0, len(r.got()))
		time.Sleep(time.Second)
		check(t, "read a moment later", []int64{1, 2, 3}, r.got())
		l.Append(event(journal.StepStarted))
		l.Append(event(journal.StepFinished))
		synctest.Wait()
		check(t, "read once a step has ended", 5, len(r.got()))
		for range 512 {
			l.Append(event(journal.StepDelta))
		}
		synctest.Wait()
		check(t, "read of many", 517, len(r.got()))
		l.Close(nil)
		<-r.done

		l = newLog(t, s, func(o *eventlog.Options) { o.Mode = journal.Async })
		r = read(l)
		l.Append(event(journal.StepDelta))
		synctest.Wait()
		check(t, "read in mode async", 1, len(r.got()))
		l.Close(nil)
		<-r.done
	})
}

// TestRoom: steps wait if the reader or the store is far behind, until it has caught up, has left, or the run is
// over.
func TestRoom(t *testing.T) {
	const many = 5000
	for _, test := range []struct {
		name string
		free func(*eventlog.Log, *store)
	}{
		{"read", func(l *eventlog.Log, s *store) { close(s.gate); read(l) }},
		{"left", func(l *eventlog.Log, _ *store) { l.Detach() }},
		{"closed", func(l *eventlog.Log, _ *store) { l.Close(nil) }},
	} {
		for _, kept := range []bool{false, true} {
			t.Run(test.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &store{gate: make(chan struct{})}
					l := newLog(t, nil)
					if kept {
						l = newLog(t, s)
					}
					l.WaitForRoom()
					for range many {
						l.Append(event(journal.StepFinished))
					}
					let := make(chan struct{})
					go func() {
						l.WaitForRoom()
						close(let)
					}()
					synctest.Wait()
					select {
					case <-let:
						t.Error("there is room")
					default:
					}
					test.free(l, s)
					<-let
					if test.name != "read" {
						close(s.gate)
					}
					l.Close(nil)
					_ = l.Wait()
				})
			})
		}
	}
}

// TestStoreFails: the first error is reported once, before anything that waited; no event is read that the store
// does not have, and none is written after it.
func TestStoreFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var happened []string
		s := &store{failAt: 2}
		l := newLog(t, s, func(o *eventlog.Options) {
			o.OnError = func(err error) { happened = append(happened, "error: "+err.Error()) }
		})
		r := read(l)
		l.Append(event(journal.StepFinished))
		synctest.Wait()
		for range 2 {
			l.Append(event(journal.StepFinished))
			l.AfterSaved(func(err error) { happened = append(happened, "called: "+err.Error()) })
		}
		if err := l.WaitSaved(); !errors.Is(err, errFull) {
			t.Errorf("waited for: %v", err)
		}
		l.Append(event(journal.StepFinished))
		l.Close(event(journal.FlowFailed))
		<-r.done
		if err := l.Wait(); err != nil || !errors.Is(l.Err(), errFull) {
			t.Errorf("closed with %v, the error is %v", err, l.Err())
		}
		check(t, "happened", []string{"error: the disk is full", "called: the disk is full", "called: the disk is full"}, happened)
		check(t, "read", []int64{1}, r.got())
		if s.skipped || s.closed != 1 {
			t.Errorf("written after the error: %v; closed %d times", s.skipped, s.closed)
		}
	})
}

// TestCloseFails: if all events are safe, an error of closing does not fail the run; in mode async the end may be
// lost with it.
func TestCloseFails(t *testing.T) {
	for mode, want := range map[journal.Durability]error{journal.Sync: nil, journal.Async: errFull} {
		s := &store{closeErr: errFull}
		l := newLog(t, s, func(o *eventlog.Options) { o.Mode = mode })
		r := read(l)
		l.Close(event(journal.FlowFinished))
		<-r.done
		closing := l.Wait()
		if !errors.Is(l.Err(), want) || errors.Is(closing, errFull) == errors.Is(l.Err(), errFull) {
			t.Errorf("%s: the error is %v, that of closing %v", mode, l.Err(), closing)
		}
		if sawEnd := len(r.got()) == 1; sawEnd != (want == nil) {
			t.Errorf("%s: the reader has seen %v", mode, r.got())
		}
	}
}

// TestLog holds, for any concurrent steps: the store has all events in order up to its first error, the reader a
// prefix of the store's, at no time more; waiting callbacks run in order, once their events are saved.
func TestLog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &store{failAt: rapid.IntRange(0, 12).Draw(t, "the write that fails")}
		l := eventlog.New(context.Background(), eventlog.Options{Store: s})
		leaveAt := rapid.IntRange(0, 80).Draw(t, "the event after which the reader leaves")
		var read []int64
		readerDone := make(chan string, 1)
		go func() {
			wrong := ""
			l.Read(func(ev *journal.Event, _ error) bool {
				read = append(read, ev.Seq)
				if ev.Seq > s.saved() {
					wrong = "read before it was saved"
				}
				return len(read) != leaveAt
			})
			l.Detach()
			readerDone <- wrong
		}()
		var mu sync.Mutex
		var released []int64
		var waiting atomic.Int64
		var wrong []string
		var steps sync.WaitGroup
		flow := rapid.SliceOfN(rapid.SliceOfN(rapid.SampledFrom([]journal.EventType{
			journal.StepStarted, journal.StepDelta, journal.StepFinished, journal.StepWaiting,
		}), 0, 20), 1, 4).Draw(t, "steps")
		for _, types := range flow {
			steps.Go(func() {
				for _, kind := range types {
					l.WaitForRoom()
					ev := event(kind)
					l.Append(ev)
					seq := ev.Seq
					switch kind { //nolint:exhaustive // what a step may wait for
					case journal.StepFinished:
						later := l.AfterSaved(func(err error) {
							saved := s.saved()
							mu.Lock()
							defer mu.Unlock()
							released = append(released, seq)
							if err == nil && saved < seq {
								wrong = append(wrong, "released before it was saved")
							}
						})
						if later {
							waiting.Add(1)
						}
					case journal.StepWaiting:
						if err := l.WaitSaved(); err == nil && s.saved() < seq {
							mu.Lock()
							wrong = append(wrong, "waited for, and not saved")
							mu.Unlock()
						}
					}
				}
			})
		}
		steps.Wait()
		l.Close(event(journal.FlowFinished))
		problem := <-readerDone
		_ = l.Wait()
		if problem != "" || len(wrong) > 0 {
			t.Fatal(problem, wrong)
		}
		if len(released) != int(waiting.Load()) {
			t.Fatalf("%d wait, %d were released", waiting.Load(), len(released))
		}
		if len(flow) == 1 && !slices.IsSorted(released) {
			t.Fatalf("released in the order %v", released)
		}
		written := slices.Concat(s.writes...)
		for i, seq := range written {
			if seq != int64(i)+1 {
				t.Fatalf("the store has %v", written)
			}
		}
		if len(read) > len(written) || !slices.Equal(read, written[:len(read)]) {
			t.Fatalf("the store has %v, the reader got %v", written, read)
		}
		if isDone := leaveAt == 0 || leaveAt > len(written); isDone && len(read) != len(written) {
			t.Fatalf("the reader got only %v of %v", read, written)
		}
		if s.skipped || s.closed != 1 {
			t.Fatalf("written after an error: %v; closed %d times", s.skipped, s.closed)
		}
	})
}

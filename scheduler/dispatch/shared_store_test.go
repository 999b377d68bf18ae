package dispatch_test

import (
	"bytes"
	"context"
	"iter"
	"log/slog"
	"sync"
	"testing"

	"github.com/callnode/scheduler/calls/database/pgdb/pgdbtest"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/dispatch"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/sqljournal"
	"github.com/callnode/scheduler/scheduler/service"
)

// heldModel answers when it is released.
type heldModel struct{ released chan struct{} }

func (m heldModel) Chat(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	select {
	case <-m.released:
		return scripted.Echo{}.Chat(ctx, req)
	case <-ctx.Done():
		return func(yield func(llm.Delta, error) bool) { yield(llm.Delta{}, ctx.Err()) }
	}
}

// syncBuffer is a buffer that loggers of several goroutines share.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// Two servers share a database. The second carries out runs that the first has queued and no slot for; each shows
// and streams the runs of the other, from any event; each run is carried out once.
func TestServersShareAStore(t *testing.T) {
	url := pgdbtest.NewURL(t)
	var logged syncBuffer
	open := func(model llm.Provider) (*service.Service, *dispatch.Dispatcher) {
		s := newServiceOf(model, func(ctx context.Context, _ bool) (journal.Journal, error) {
			return sqljournal.OpenShared(ctx, sqljournal.SharedOptions{URL: url})
		})
		d := dispatch.New(s, dispatch.Options{
			Limits: dispatch.Limits{Runs: 1, PerUser: 1, Queued: 100}, Recover: "own",
			Log: slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelWarn})),
		})
		t.Cleanup(func() {
			d.Close(context.Background())
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return s, d
	}
	busy := heldModel{make(chan struct{})}
	one, first := open(busy)
	two, second := open(scripted.Echo{})

	f := loadText(t, one, echoes)
	var ids []string
	for range 8 {
		id := service.NewRunID()
		r := service.StartRequest{ID: id, Flow: f, Inputs: value.OfMap(value.Pairs("question", "one two three")), StartedBy: service.StartedByAPI}
		if _, err := first.Start(t.Context(), anyone, r, 0); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var recovering sync.WaitGroup
	defer recovering.Wait()
	defer cancel()
	recovering.Go(func() { second.Recover(ctx) })

	// The first run is at work on the first server; the second one follows it live.
	var followers sync.WaitGroup
	follow := func(d *dispatch.Dispatcher, s *service.Service, id string, after int64) {
		next := after + 1
		for batch, err := range d.Follow(ctx, id, dispatch.FollowOptions{After: after}) {
			if err != nil {
				t.Errorf("following %s: %v", id, err)
				return
			}
			for _, frame := range batch {
				if frame.Seq != next {
					t.Errorf("event %d of %s comes where %d is next", frame.Seq, id, next)
				}
				next++
			}
		}
		if info, err := s.Run(ctx, anyone, id); err != nil || info.State != journal.RunFinished || info.LastSeq != next-1 {
			t.Errorf("%s was followed to event %d: %+v, %v", id, next-1, info, err)
		}
	}
	for _, id := range ids[1:] {
		followers.Go(func() { follow(first, one, id, 2) })
	}
	followers.Wait() // they end while the first server is busy
	followers.Go(func() { follow(second, two, ids[0], 0) })
	close(busy.released)
	followers.Wait()

	for _, id := range ids {
		state, err := journal.Fold(two.Events(ctx, anyone, id, 1))
		if err != nil || state.State != journal.RunFinished {
			t.Errorf("%s: %+v, %v", id, state, err)
		}
	}
	if text := logged.String(); text != "" {
		t.Errorf("the servers warn:\n%s", text)
	}
}

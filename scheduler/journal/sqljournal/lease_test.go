package sqljournal_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/sqljournal"
)

// clock is a time that tests move.
type clock struct{ now atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.now.Store(1_770_000_000_000)
	return c
}

func (c *clock) time() time.Time      { return time.UnixMilli(c.now.Load()) }
func (c *clock) pass(d time.Duration) { c.now.Add(d.Milliseconds()) }

// open opens the journal in dir until the test ends.
func open(t *testing.T, dir string, options sqljournal.FileOptions) *sqljournal.Journal {
	t.Helper()
	j, err := sqljournal.OpenFile(t.Context(), dir, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j
}

// begin starts a run of one event.
func begin(t *testing.T, j journal.Journal, id string) journal.RunLog {
	t.Helper()
	return beginIn(t, j, id, journal.Sync)
}

func beginAsync(t *testing.T, j journal.Journal, id string) journal.RunLog {
	t.Helper()
	return beginIn(t, j, id, journal.Async)
}

func beginIn(t *testing.T, j journal.Journal, id string, mode journal.Durability) journal.RunLog {
	t.Helper()
	log, err := j.Begin(t.Context(), &journal.RunHeader{ID: id, Flow: "f", StartedAt: time.Unix(1_770_000_000, 0), Mode: mode})
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Append(t.Context(), event(id, 1)); err != nil {
		t.Fatal(err)
	}
	return log
}

func event(run string, seq int64) *journal.Event {
	return &journal.Event{Seq: seq, Time: time.Unix(1_770_000_000, 0), Run: run, Type: journal.StepDelta, Step: "s", Data: &journal.Data{Text: "x"}}
}

func TestLeaseIsRenewed(t *testing.T) {
	c, dir := newClock(), t.TempDir()
	begin(t, open(t, dir, sqljournal.FileOptions{Clock: c.time, Heartbeat: 5 * time.Millisecond}), "r")
	j := open(t, dir, sqljournal.FileOptions{Clock: c.time})
	for range 5 {
		c.pass(10 * time.Millisecond) // half of a lease
		for until := c.time(); ; {
			info, err := j.Run(t.Context(), "r")
			if err != nil {
				t.Fatal(err)
			}
			if info.Holder != nil && info.Holder.Until.Sub(until) == 20*time.Millisecond {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
}

func TestHolderIsToldThatItLostTheRun(t *testing.T) {
	for name, change := range map[string]string{
		"taken":   "UPDATE run SET lease = x'00', holder_host = 'elsewhere', holder_pid = 7, holder_identity = '', lease_until = 1 << 60",
		"deleted": "DELETE FROM run",
	} {
		t.Run(name, func(t *testing.T) {
			j := open(t, t.TempDir(), sqljournal.FileOptions{Heartbeat: 5 * time.Millisecond})
			log := begin(t, j, "r")
			ctx, stop := log.Watch(t.Context())
			defer stop()
			if err := j.Exec(change); err != nil {
				t.Fatal(err)
			}
			<-ctx.Done()
			var held *journal.HeldError
			if cause := context.Cause(ctx); !errors.As(cause, &held) {
				t.Fatalf("the cause is %v", cause)
			}
			if name == "taken" && !strings.HasPrefix(held.Error(), "the run r is held by another process: the process 7 on elsewhere, since ") {
				t.Error(held)
			}
			if err := log.Append(t.Context(), event("r", 2)); !errors.As(err, &held) {
				t.Errorf("writing without the lease: %v", err)
			}
		})
	}
}

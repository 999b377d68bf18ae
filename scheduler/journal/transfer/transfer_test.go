package transfer_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/database/pgdb/pgdbtest"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/sqljournal"
	"github.com/callnode/scheduler/scheduler/journal/transfer"
	"github.com/callnode/scheduler/test/slow"
)

// store is a journal that runs can leave and enter.
type store interface {
	journal.Journal
	transfer.Store
}

// opener opens the same empty store at each call; one whose leases are not renewed as if its
// process had died.
type opener func(t *testing.T, dead bool) store

func newSQLite(t *testing.T, clock func() time.Time) opener {
	dir := t.TempDir()
	return func(t *testing.T, dead bool) store {
		j, err := sqljournal.OpenFile(t.Context(), dir, sqljournal.FileOptions{Clock: clock, Heartbeat: heartbeat(dead)})
		return closeAtEnd(t, j, err)
	}
}

func newPostgres(t *testing.T, clock func() time.Time) opener {
	slow.Test(t)
	url := pgdbtest.NewURL(t)
	return func(t *testing.T, dead bool) store {
		j, err := sqljournal.OpenShared(t.Context(), sqljournal.SharedOptions{URL: url, ImageKey: bytes.Repeat([]byte{7}, 32), Clock: clock, Heartbeat: heartbeat(dead)})
		return closeAtEnd(t, j, err)
	}
}

func heartbeat(dead bool) time.Duration {
	if dead {
		return -time.Millisecond
	}
	return 0
}

func closeAtEnd(t *testing.T, j store, err error) store {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	return j
}

// pairs are the ways that runs go.
var pairs = []struct {
	name     string
	from, to func(*testing.T, func() time.Time) opener
}{
	{"file to file", newSQLite, newSQLite},
	{"file to database", newSQLite, newPostgres},
	{"database to file", newPostgres, newSQLite},
}

// anHourAgo is the clock of the journals that runs are copied from: when a process last wrote to
// a run is an hour ago.
func anHourAgo() time.Time { return time.Now().Add(-time.Hour) }

// image is the data: URL of one.
func image(text string) string {
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte(strings.Repeat(text, 100)))
}

var started = time.Date(2026, 3, 5, 9, 7, 0, 123456789, time.FixedZone("", 8*3600))

// record records a run with these events, and returns its log.
func record(t *testing.T, j store, id string, types ...journal.EventType) journal.RunLog {
	t.Helper()
	l, err := j.Begin(t.Context(), &journal.RunHeader{
		ID: id, Flow: "tea", File: "flows/tea.yaml", Program: "v1", StartedAt: started, Mode: journal.Sync,
		Text:         journal.FlowText{Source: []byte("name: tea # 茶\r\n"), Files: map[string][]byte{"a.txt": []byte("a"), "b.md": []byte(image("file"))}},
		Conversation: value.OfList(value.OfMap(value.Pairs("role", "user", "content", image("sent before")))),
		Inputs:       value.OfMap(value.Pairs("n", 1, "picture", image("input"), "long", strings.Repeat("x", 9000))),
		Labels:       map[string]string{journal.LabelOwner: "lin", "ticket": id},
		Options:      value.OfMap(value.Pairs("seed", 7)),
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, typ := range types {
		ev := &journal.Event{Seq: int64(i + 1), Run: id, Time: started.Add(time.Duration(i) * time.Second), Type: typ, Step: "s"}
		output := value.OfMap(value.Pairs("text", fmt.Sprint(i, strings.Repeat("long ", 1000*(i%2))), "picture", image(fmt.Sprint(i%3)), "$blob", "no reference"))
		ev.Data = &journal.Data{Output: &output}
		if err := l.Append(t.Context(), ev); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

func closeLog(t *testing.T, l journal.RunLog) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// fill records runs of all kinds, and returns how many.
func fill(t *testing.T, open opener) (runs int, events int64) {
	t.Helper()
	j, dead := open(t, false), open(t, true)
	closeLog(t, record(t, j, "finished", journal.FlowStarted, journal.StepStarted, journal.StepFinished, journal.FlowFinished))
	closeLog(t, record(t, j, "queued"))
	closeLog(t, record(t, j, "waiting", journal.FlowStarted, journal.StepWaiting, journal.FlowWaiting, journal.StepAnswered))
	record(t, dead, "abandoned", journal.FlowStarted, journal.StepStarted)
	many := []journal.EventType{journal.FlowStarted}
	for range 300 {
		many = append(many, journal.StepStarted, journal.StepFinished)
	}
	closeLog(t, record(t, j, "failed", append(many, journal.FlowFailed)...))
	return 5, 4 + 4 + 2 + 602
}

// listOf returns the state of all runs, including the parts that their JSON leaves out.
func listOf(t *testing.T, j store) (all []string) {
	t.Helper()
	for run, err := range j.Runs(t.Context(), journal.RunFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprint(value.Must(run), run.LastSeq, run.Abandoned, run.Holder != nil))
	}
	return all
}

// touchedAt returns when a process last wrote to a run.
func touchedAt(t *testing.T, j store, id string) time.Time {
	t.Helper()
	run, err := j.Run(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return run.TouchedAt
}

// textOf returns all of a run.
func textOf(t *testing.T, j store, id string) string {
	t.Helper()
	h, err := j.ExportHeader(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("%v %s %s %v %s %s %s %q %q\n", h.StartedAt, h.File, h.Program, h.Labels, h.Inputs, h.Conversation, h.Options, h.Text.Source, h.Text.Files)
	for ev, err := range j.ExportEvents(t.Context(), id) {
		if err != nil {
			t.Fatal(err)
		}
		text += value.Must(ev).JSON() + "\n"
	}
	return text
}

func TestCopy(t *testing.T) {
	for _, pair := range pairs {
		t.Run(pair.name, func(t *testing.T) {
			openFrom, openTo := pair.from(t, anHourAgo), pair.to(t, time.Now)
			runs, events := fill(t, openFrom)
			from, to := openFrom(t, false), openTo(t, false)
			before := listOf(t, from)
			for i, want := range []transfer.Report{{Copied: runs}, {Present: runs}} {
				want.Events, want.Labels = events, int64(2*runs)
				got, err := transfer.Copy(t.Context(), from, to, nil)
				if diff := cmp.Diff(&want, got); diff != "" || err != nil {
					t.Fatalf("copy %d: %v, %s", i, err, diff)
				}
			}
			if diff := cmp.Diff(before, listOf(t, from)); diff != "" {
				t.Errorf("the source was changed: %s", diff)
			}
			if diff := cmp.Diff(before, listOf(t, to)); diff != "" {
				t.Errorf("the runs are not the same: %s", diff)
			}
			for _, id := range []string{"finished", "queued", "waiting", "abandoned", "failed"} {
				if diff := cmp.Diff(textOf(t, from, id), textOf(t, to, id)); diff != "" {
					t.Errorf("the run %s is not the same: %s", id, diff)
				}
				// Pruning by age goes by this; it is exact to the length of a lease.
				if off := touchedAt(t, from, id).Sub(touchedAt(t, to, id)).Abs(); off > 5*time.Second {
					t.Errorf("the run %s was written to %v apart", id, off)
				}
			}
			// A copied run can continue.
			log, err := to.Reopen(t.Context(), "abandoned")
			if err != nil {
				t.Fatal(err)
			}
			if !log.Info().Abandoned {
				t.Error("the run that was abandoned is not any more")
			}
			ev := &journal.Event{Seq: 3, Run: "abandoned", Time: started, Type: journal.FlowFinished}
			if err := log.Append(t.Context(), ev); err != nil {
				t.Error(err)
			}
			closeLog(t, log)
		})
	}
}

// Runs that a process holds, and runs that continued in one of the journals, are reported and left unchanged; the
// others are copied.
func TestCopyLeaves(t *testing.T) {
	for _, pair := range pairs {
		t.Run(pair.name, func(t *testing.T) {
			openFrom, openTo := pair.from(t, anHourAgo), pair.to(t, time.Now)
			runs, _ := fill(t, openFrom)
			from, to := openFrom(t, false), openTo(t, false)
			held := record(t, from, "held", journal.FlowStarted)
			report, err := transfer.Copy(t.Context(), from, to, nil)
			var holder *journal.HeldError
			if err != nil || report.Copied != runs || len(report.Left) != 1 || !errors.As(report.Left[0].Err, &holder) || holder.Holder == nil {
				t.Fatalf("got %+v, %v", report, err)
			}
			if _, err := to.Run(t.Context(), "held"); calls.KindOf(err) != calls.NotFound {
				t.Errorf("the run that is held is there: %v", err)
			}
			closeLog(t, held)
			if err := to.Cancel(t.Context(), "waiting"); err != nil {
				t.Fatal(err)
			}
			there := textOf(t, to, "waiting")
			report, err = transfer.Copy(t.Context(), from, to, nil)
			if err != nil || report.Copied != 1 || report.Present != runs-1 || len(report.Left) != 1 || report.Left[0].Run != "waiting" {
				t.Fatalf("got %+v, %v", report, err)
			}
			if want := "the other journal has a run waiting that is not the same: it is cancelled with 5 events there, waiting with 4 here"; report.Left[0].Err.Error() != want {
				t.Errorf("got %v", report.Left[0].Err)
			}
			if textOf(t, to, "waiting") != there {
				t.Error("the run of the other journal was changed")
			}
			if _, err := transfer.Copy(t.Context(), from, openFrom(t, false), nil); calls.KindOf(err) != calls.Invalid {
				t.Errorf("a journal is copied to itself: %v", err)
			}
		})
	}
}

// A run that cannot be read to its end leaves nothing behind.
func TestImportIsAllOrNothing(t *testing.T) {
	broken := errors.New("the disk is broken")
	for _, pair := range pairs {
		t.Run(pair.name, func(t *testing.T) {
			openFrom, openTo := pair.from(t, anHourAgo), pair.to(t, time.Now)
			fill(t, openFrom)
			from, to := openFrom(t, false), openTo(t, false)
			run, err := from.Run(t.Context(), "failed")
			if err != nil {
				t.Fatal(err)
			}
			header, err := from.ExportHeader(t.Context(), "failed")
			if err != nil {
				t.Fatal(err)
			}
			if err := to.Import(t.Context(), run, header, breakAfter(from.ExportEvents(t.Context(), "failed"), 590, broken)); !errors.Is(err, broken) {
				t.Errorf("got %v", err)
			}
			if err := to.Import(t.Context(), run, header, breakAfter(from.ExportEvents(t.Context(), "failed"), 590, nil)); calls.KindOf(err) != calls.Internal {
				t.Errorf("events are missing: got %v", err)
			}
			if _, err := to.Run(t.Context(), "failed"); calls.KindOf(err) != calls.NotFound {
				t.Errorf("a part of the run is there: %v", err)
			}
			report, err := transfer.Copy(context.Background(), from, to, nil)
			if err != nil || report.Copied != 5 {
				t.Errorf("got %+v, %v", report, err)
			}
			if err := to.Import(t.Context(), run, header, from.ExportEvents(t.Context(), "failed")); calls.KindOf(err) != calls.Invalid {
				t.Errorf("a run is there twice: %v", err)
			}
		})
	}
}

// breakAfter yields n events and then an error, or none.
func breakAfter(events iter.Seq2[*journal.Event, error], n int, err error) iter.Seq2[*journal.Event, error] {
	return func(yield func(*journal.Event, error) bool) {
		for ev, readErr := range events {
			if n == 0 {
				break
			}
			n--
			if !yield(ev, readErr) {
				return
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

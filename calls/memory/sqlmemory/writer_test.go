package sqlmemory_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls/database/sqlitefile"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/sqlmemory"
)

// TestCanceledWhileLocked: a call that waits for another process's write ends at once when it is canceled, whether
// it asks for the lock itself or waits behind another that does. The others wait on, and nothing of the canceled
// call is stored.
func TestCanceledWhileLocked(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, sqlmemory.FileOptions{BusyTimeout: time.Minute})
	other, err := sqlitefile.Connect(filepath.Join(dir, sqlmemory.FileName), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	other.SetMaxOpenConns(1)
	say := func(statement string) {
		t.Helper()
		if _, err := other.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	say("BEGIN IMMEDIATE")
	save := func(ctx context.Context, text string) chan error {
		done := make(chan error, 1)
		go func() {
			_, err := s.SaveMemories(ctx, []memory.BaseMemory{{Content: text}})
			done <- err
		}()
		return done
	}
	ctx, cancel := context.WithCancel(t.Context())
	var canceled []chan error
	for range 4 {
		canceled = append(canceled, save(ctx, "canceled"))
	}
	patient := save(t.Context(), "patient")
	time.AfterFunc(20*time.Millisecond, cancel) // the moment only decides which case is tested
	for _, done := range canceled {
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("canceled: %v", err)
		}
	}
	limited, end := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer end()
	if err := <-save(limited, "limited"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("its time is over: %v", err)
	}
	select {
	case err := <-patient:
		t.Fatalf("who was not canceled did not wait: %v", err)
	default:
	}
	say("ROLLBACK")
	if err := <-patient; err != nil {
		t.Errorf("patient: %v", err)
	}
	if err := <-save(t.Context(), "later"); err != nil {
		t.Errorf("later: %v", err)
	}
	var got []string
	for m, err := range s.Memories(t.Context(), memory.Selection{Users: memory.AllUsers()}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, m.Content)
	}
	if len(got) != 2 {
		t.Errorf("%q is stored, want what was not canceled", got)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestLocked: every call that is locked out for too long gets an error.
func TestLocked(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, sqlmemory.FileOptions{BusyTimeout: 50 * time.Millisecond})
	other, err := sqlitefile.Connect(filepath.Join(dir, sqlmemory.FileName), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	other.SetMaxOpenConns(1)
	if _, err := other.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	var all []chan error
	for range 4 {
		done := make(chan error, 1)
		go func() {
			_, err := s.SaveMemories(t.Context(), []memory.BaseMemory{{Content: "x"}})
			done <- err
		}()
		all = append(all, done)
	}
	for _, done := range all {
		if err := <-done; sqlitefile.CodeOf(err) != sqlitefile.Busy {
			t.Errorf("locked out: %v", err)
		}
	}
	if _, err := other.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if saved, err := s.SaveMemories(t.Context(), []memory.BaseMemory{{Content: "x"}}); err != nil || saved[0].State != memory.Created {
		t.Errorf("later: %v, %v", saved, err)
	}
}

package memory_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/sqlmemory"
)

// march is the time of a clock.
var march = time.Date(2026, 3, 5, 9, 0, 0, 0, time.UTC)

// failing is a store whose searches fail.
type failing struct {
	memory.Store
	err error
}

func (f failing) Search(context.Context, *memory.Query) (*memory.Found, error) { return nil, f.err }

// A store logs its work, with counts and without contents, and warns of failures, but not of mistakes of the
// caller.
func TestLogged(t *testing.T) {
	store, err := sqlmemory.OpenTemporary(t.Context(), sqlmemory.FileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	var out strings.Builder
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	logged := memory.NewLogged(store, log)
	manager := &memory.SnapshotManager{Store: logged}
	tests := []struct {
		name string
		do   func() error
		want []string // of the log; empty if nothing is logged
	}{
		{"the manager saves", func() error {
			_, err := manager.AddMemory(t.Context(), memory.BaseMemory{Content: "hush", Context: memory.Context{UserID: "ann"}})
			return err
		}, []string{"level=DEBUG", "method=SaveMemories", "created=1"}},
		{"the manager loads", func() error {
			_, err := manager.GetMemory(t.Context(), memory.NewID(memory.MemoryID, march))
			return err
		}, []string{"level=DEBUG", "method=LoadMemory", "found=false"}},
		{"the cleanup", func() error {
			_, err := memory.CleanupOldMemories(t.Context(), logged, memory.Selection{Users: memory.User("ann")}, 1, march)
			return err
		}, []string{"level=DEBUG", "method=Delete", "user=ann", "memories=0"}},
		{"a search", func() error {
			_, err := logged.Search(t.Context(), &memory.Query{Users: memory.User("ann"), Text: "hush"})
			return err
		}, []string{"level=DEBUG", "method=Search", "found=1"}},
		{"a failure", func() error {
			_, err := memory.NewLogged(failing{store, errors.New("disk on fire")}, log).Search(t.Context(), &memory.Query{})
			return err
		}, []string{"level=WARN", "method=Search", "disk on fire"}},
		{"a mistake", func() error {
			_, err := memory.NewLogged(failing{store, calls.Errorf(calls.Invalid, "no user")}, log).Search(t.Context(), &memory.Query{})
			return err
		}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out.Reset()
			err := tt.do()
			isFailure := strings.HasPrefix(tt.name, "a failure") || strings.HasPrefix(tt.name, "a mistake")
			if (err != nil) != isFailure {
				t.Fatal(err)
			}
			for _, part := range tt.want {
				if !strings.Contains(out.String(), part) {
					t.Errorf("no %q in %q", part, out.String())
				}
			}
			if len(tt.want) == 0 && out.Len() > 0 || strings.Contains(out.String(), "hush") {
				t.Errorf("logged: %q", out.String())
			}
		})
	}
}

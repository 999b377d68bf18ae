package sqlmemory_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/sqlmemory"
	"github.com/callnode/scheduler/test/slow"
)

// steps counts the statements it sees; the first one ends the work.
type steps struct {
	n    int
	stop func()
}

func (s *steps) Show(done, of int) {
	if s.n++; done > of || done <= 0 {
		panic(fmt.Sprint(done, " of ", of))
	}
	s.stop()
}

// TestDeleteMany deletes of many users, is interrupted and goes on.
func TestDeleteMany(t *testing.T) {
	slow.Test(t)
	start := time.Date(2026, 3, 5, 9, 7, 0, 0, time.UTC)
	for name, which := range map[string]memory.Selection{
		"all": {Users: memory.AllUsers()}, "old": {Users: memory.AllUsers(), Before: start.Add(time.Hour)},
	} {
		s := open(t, t.TempDir(), sqlmemory.FileOptions{})
		const users = 600
		var list []memory.BaseMemory
		for i := range 2 * users {
			list = append(list, memory.BaseMemory{Content: fmt.Sprint("number ", i), Timestamp: start, Context: memory.Context{UserID: fmt.Sprint("u", i%users)}})
		}
		if _, err := s.SaveMemories(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		which.DryRun = true
		if d, err := s.Delete(t.Context(), which); err != nil || d.Memories != 2*users {
			t.Errorf("%s, dry: %+v, %v", name, d, err)
		}
		which.DryRun = false
		ctx, cancel := context.WithCancel(t.Context())
		seen := &steps{stop: cancel}
		which.Progress = seen
		first, err := s.Delete(ctx, which)
		st, bad := s.Stats(t.Context(), memory.AllUsers())
		if !errors.Is(err, context.Canceled) || bad != nil || first.Memories == 0 || st.Memories == 0 || first.Memories+st.Memories != 2*users || 2*st.Users != st.Memories {
			t.Errorf("%s: %+v of %+v, %v, %v", name, first, st, err, bad)
		}
		if err := s.Check(t.Context()); err != nil {
			t.Error(err)
		}
		rest, err := s.Delete(t.Context(), which)
		if err != nil || first.Memories+rest.Memories != 2*users {
			t.Errorf("%s: %+v, %v", name, rest, err)
		}
		// Few changes for many users: each waits for the disk.
		if seen.n > users/100 {
			t.Errorf("%s took %d changes", name, seen.n)
		}
	}
}

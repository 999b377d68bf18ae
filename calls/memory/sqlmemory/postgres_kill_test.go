package sqlmemory_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/callnode/scheduler/calls/database/pgdb/pgdbtest"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/memorytest"
	"github.com/callnode/scheduler/calls/memory/sqlmemory"
	"github.com/callnode/scheduler/test/slow"
)

func TestSharedKill(t *testing.T) {
	slow.Test(t)
	memorytest.RunKill(t, pgdbtest.NewURL(t), openPlace)
}

func TestSharedTwoProcesses(t *testing.T) {
	slow.Test(t)
	memorytest.RunProcesses(t, pgdbtest.NewURL(t), openPlace)
}

// TestServerCrash stops the server like a crash while two programs save: acknowledged memories are there once, and
// the programs only notice that it takes longer.
func TestServerCrash(t *testing.T) {
	slow.Test(t)
	const stops, writers = 4, 6
	server := pgdbtest.NewServer(t)
	url := server.NewURL(t)
	stores := []*sqlmemory.Store{openShared(t, sqlmemory.SharedOptions{URL: url}), openShared(t, sqlmemory.SharedOptions{URL: url})}
	ctx, fail := context.WithCancel(t.Context())
	defer fail()
	progress := make(chan struct{})
	var stop atomic.Bool
	var running sync.WaitGroup
	said := make([]memorytest.Acknowledged, writers)
	errs := make([]error, writers)
	for g := range writers {
		said[g] = memorytest.Acknowledged{}
		running.Go(func() {
			for i := 0; !stop.Load(); i++ {
				m := memorytest.NewSaid(os.Getpid(), g, i)
				saved, err := stores[g%len(stores)].SaveMemories(ctx, []memory.BaseMemory{m})
				if err == nil && saved[0].State != memory.Created {
					err = fmt.Errorf("%q was %s", m.Content, saved[0].State)
				}
				if err != nil {
					errs[g] = err
					fail()
					return
				}
				said[g][saved[0].ID] = m.Content
				select {
				case progress <- struct{}{}:
				default:
				}
			}
		})
	}
	for range stops {
		for range 100 { // some saves between two stops
			select {
			case <-progress:
			case <-ctx.Done():
			}
		}
		server.Stop(t, "immediate")
		server.Start(t)
	}
	stop.Store(true)
	running.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	all := memorytest.Acknowledged{}
	for _, some := range said {
		maps.Copy(all, some)
	}
	memorytest.CheckSaid(t, stores[0], all)
	if err := stores[1].Check(t.Context()); err != nil {
		t.Error(err)
	}
	t.Logf("%d saves, %d stops of the server", len(all), stops)
}

package dispatch_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/dispatch"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/service"
)

const asksForLeave = `
steps:
  - {id: note, call: template, with: {template: done}, approve: {timeout: %s}}
`

// TestOverdueApprovals: after a restart as well, a server denies approvals whose time is over without a request; others go on waiting.
func TestOverdueApprovals(t *testing.T) {
	s := newService()
	options := dispatch.Options{Limits: dispatch.Limits{Runs: 8, PerUser: 8, Queued: 8}, Recover: "own", Log: slog.New(slog.DiscardHandler)}
	first := dispatch.New(s, options)
	start := func(timeout string) string {
		t.Helper()
		id := service.NewRunID()
		r := service.StartRequest{ID: id, Flow: loadText(t, s, fmt.Sprintf(asksForLeave, timeout)), Inputs: value.OfMap(nil), StartedBy: service.StartedByAPI}
		if _, err := first.Start(t.Context(), anyone, r, 0); err != nil {
			t.Fatal(err)
		}
		for _, err := range first.Follow(t.Context(), id, dispatch.FollowOptions{UntilWaiting: true}) {
			if err != nil {
				t.Fatal(err)
			}
		}
		return id
	}
	late, patient := start("1ms"), start("24h")
	first.Close(context.Background())

	second := dispatch.New(s, options)
	ctx, cancel := context.WithCancel(t.Context())
	var recovering sync.WaitGroup
	recovering.Go(func() { second.Recover(ctx) })
	for _, err := range second.Follow(t.Context(), late, dispatch.FollowOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	recovering.Wait()
	second.Close(context.Background())
	details, _, err := s.ShowRun(t.Context(), anyone, late)
	if err != nil {
		t.Fatal(err)
	}
	st := details.State.Step("note")
	isByClock := st != nil && st.Decision != nil && st.Decision.By == journal.ByClock && !st.Decision.Approved
	if details.State.State != journal.RunFailed || !isByClock {
		t.Errorf("the run is %s, its step %+v", details.State.State, st)
	}
	if info, err := s.Run(t.Context(), anyone, patient); err != nil || info.State != journal.RunWaiting {
		t.Errorf("the run with time left is %+v, %v", info, err)
	}
	if time.Until(details.State.Step("note").Approval.Until) > 0 {
		t.Error("it was denied before its time")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

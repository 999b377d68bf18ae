package service

import (
	"testing"

	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal"
)

// A machine whose program is older than one that was at a run leaves the run to others: it may not understand the events.
func TestOlderHere(t *testing.T) {
	for _, tt := range []struct {
		name, here, began string
		wentOn            []string
		isOlder           bool
	}{
		{name: "the same", here: "v1.1.0", began: "v1.1.0", wentOn: []string{"v1.1.0"}},
		{name: "newer", here: "v1.2.0", began: "v1.0.0", wentOn: []string{"v1.1.0"}},
		{name: "begun by a newer one", here: "v1.1.0", began: "v1.2.0", isOlder: true},
		{name: "gone on with by a newer one", here: "v1.1.0", began: "v1.0.0", wentOn: []string{"v1.0.0", "v1.2.0", "v1.1.0"}, isOlder: true},
		{name: "not numbers", here: "dev", began: "v1.2.0", wentOn: []string{"v1.3.0"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &Session{program: tt.began, executor: &scheduler.StepExecutor{Program: tt.here}, State: journal.NewRunState()}
			for _, version := range tt.wentOn {
				s.State.Stretches = append(s.State.Stretches, journal.Stretch{Process: journal.Process{Version: version}})
			}
			if err := s.olderHere(); (err != nil) != tt.isOlder {
				t.Errorf("got %v", err)
			}
		})
	}
}

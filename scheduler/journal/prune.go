package journal

import (
	"fmt"
	"slices"

	"github.com/callnode/scheduler/scheduler"
)

// fits says whether a run may be deleted, and should.
func fits(p *scheduler.Prune, run *scheduler.RunInfo) bool {
	states := p.States
	if len(states) == 0 {
		states = []scheduler.RunStatus{scheduler.RunFinished, scheduler.RunFailed, scheduler.RunCancelled}
		if p.Force {
			states = append(states, scheduler.RunRunning, scheduler.RunWaiting)
		}
	}
	over := run.State != scheduler.RunRunning && run.State != scheduler.RunWaiting
	return run.Holder == nil && (over || p.Force) &&
		slices.Contains(states, run.State) &&
		(len(p.Runs) == 0 || slices.Contains(p.Runs, run.ID)) &&
		(p.Before.IsZero() || run.UpdatedAt.Before(p.Before))
}

func errNoBlob(d digest) error {
	return fmt.Errorf("the payload %s is missing: the journal is damaged", d)
}

package journal

import "slices"

// Matches reports whether a run may be deleted, and is one of those to delete. Keep
// is left to the caller, who sees all runs.
func (p *Prune) Matches(run *RunInfo) bool {
	states := p.States
	if len(states) == 0 {
		states = []RunStatus{RunFinished, RunFailed, RunCancelled}
		if p.Force {
			states = append(states, RunRunning, RunWaiting)
		}
	}
	live := run.State == RunRunning || run.State == RunWaiting
	if run.Holder != nil || live && !p.Force {
		return false
	}
	if len(p.Runs) > 0 && !slices.Contains(p.Runs, run.ID) {
		return false
	}
	return slices.Contains(states, run.State) && (p.Before.IsZero() || run.TouchedAt.Before(p.Before))
}

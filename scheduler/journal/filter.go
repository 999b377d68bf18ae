package journal

import "slices"

// Pick returns the ids of the runs to delete among all runs of a journal, the newest first. Without
// Force, a run stays that another one waits for, or would wait for once it is resumed.
func (p *Prune) Pick(all []*RunInfo) []string {
	var picked []*RunInfo
	stays := map[string]bool{} // the runs that may still ask for their children
	fit := 0
	for _, run := range all {
		if p.Matches(run) {
			fit++
			if fit > p.Keep {
				picked = append(picked, run)
				continue
			}
		}
		stays[run.ID] = run.State != RunFinished && run.State != RunCancelled
	}
	var ids []string
	for _, run := range picked {
		if p.Force || !stays[run.Labels[LabelChildOf]] {
			ids = append(ids, run.ID)
		}
	}
	return ids
}

// Matches reports whether a run may be deleted, and is to be deleted. Pick, which sees all runs, applies Keep and
// spares runs that others need.
func (p *Prune) Matches(run *RunInfo) bool {
	states := p.States
	if len(states) == 0 {
		states = []RunStatus{RunFinished, RunFailed, RunCancelled}
		if p.Force {
			states = append(states, RunRunning, RunWaiting)
		}
	}
	isKept := !run.State.IsOver() && !p.Force
	if run.Holder != nil || isKept {
		return false
	}
	if len(p.Runs) > 0 && !slices.Contains(p.Runs, run.ID) {
		return false
	}
	if !run.HasLabels(p.Labels) {
		return false
	}
	isOld := p.Before.IsZero() || run.TouchedAt.Before(p.Before)
	return isOld && slices.Contains(states, run.State)
}

// Matches reports whether a run is wanted. After, DownTo and Limit are left to the journal, which knows their
// order.
func (f *RunFilter) Matches(run *RunInfo) bool {
	if len(f.States) > 0 && !slices.Contains(f.States, run.State) {
		return false
	}
	isOtherFlow := f.Flow != "" && f.Flow != run.Flow
	if isOtherFlow || !run.HasLabels(f.Labels) {
		return false
	}
	if run.StartedAt.Before(f.Since) {
		return false
	}
	return f.Before.IsZero() || run.StartedAt.Before(f.Before)
}

// HasLabels reports whether the run has all of these labels, with these values.
func (r *RunInfo) HasLabels(labels map[string]string) bool {
	for name, want := range labels {
		if have, ok := r.Labels[name]; !ok || have != want {
			return false
		}
	}
	return true
}

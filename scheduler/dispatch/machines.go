package dispatch

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/service"
)

const (
	// remoteCheckInterval is how often a server asks whether the other machines take runs, remoteCheckTimeout how long it waits for the answer.
	remoteCheckInterval = 3 * time.Second
	remoteCheckTimeout  = 5 * time.Second
)

// remoteState has the last answer of the other machines whether they accept runs. Its zero value means not asked
// yet; it is safe for concurrent use.
type remoteState struct {
	asked chan struct{} // closed once they were

	mu       sync.Mutex // guards the fields below
	err      error
	isUntold bool // they may not have heard of some runs
}

// lastError returns why they accepted no runs when last asked.
func (r *remoteState) lastError() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// setUntold notes whether the machines may not have heard of some runs.
func (r *remoteState) setUntold(isUntold bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.isUntold = isUntold
}

// takeUntold reports whether the machines have to be notified of runs now, and resets that.
func (r *remoteState) takeUntold() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	isUntold := r.isUntold && r.err == nil
	if isUntold {
		r.isUntold = false
	}
	return isUntold
}

// WatchRemote asks every few seconds whether the machines that carry the new runs out accept some, until ctx ends,
// and logs when that changes. Once they do, they are notified of the runs that they may not know.
func (d *Dispatcher) WatchRemote(ctx context.Context) {
	if d.options.On == "" {
		return
	}
	ticker := time.NewTicker(remoteCheckInterval)
	defer ticker.Stop()
	d.remote.setUntold(true) // a server that died may not have come so far
	for {
		asked, cancel := context.WithTimeout(ctx, remoteCheckTimeout)
		err := d.service.CheckRemote(asked, d.options.On)
		cancel()
		if ctx.Err() != nil {
			return
		}
		d.noteRemote(err)
		if d.remote.takeUntold() {
			if err := d.startAllQueued(ctx); err != nil {
				d.options.Log.Warn("looking for runs that other machines were not told of", "error", err)
				d.remote.setUntold(true)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// noteRemote keeps whether the other machines take runs, and logs it if it has changed.
func (d *Dispatcher) noteRemote(err error) {
	r := &d.remote
	r.mu.Lock()
	before := r.err
	r.err = err
	r.mu.Unlock()
	select {
	case <-r.asked:
	default:
		close(r.asked)
	}
	switch {
	case err != nil && (before == nil || before.Error() != err.Error()):
		d.options.Log.Error("no runs can be given to other machines: this server is not ready", "on", d.options.On, "error", err, "hint", calls.HintOf(err))
	case err == nil && before != nil:
		d.options.Log.Info("runs can be given to other machines again", "on", d.options.On)
	}
}

// RemoteError returns why the machines that carry new runs out take none; nil if they do, or if this process carries them out. The first
// answer of [Dispatcher.WatchRemote] is waited for until ctx ends.
func (d *Dispatcher) RemoteError(ctx context.Context) error {
	if d.options.On == "" {
		return nil
	}
	select {
	case <-d.remote.asked:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	d.remote.mu.Lock()
	defer d.remote.mu.Unlock()
	return d.remote.err
}

// startAllQueued notifies the other machines of the servers' runs that have not begun: runs recorded while the
// machines could not be reached do not begin by themselves.
func (d *Dispatcher) startAllQueued(ctx context.Context) error {
	filter := journal.RunFilter{States: []journal.RunStatus{journal.RunRunning}, Labels: map[string]string{journal.LabelRunsOn: d.options.On}}
	for info, err := range d.service.Runs(ctx, service.Principal{}, filter) {
		if err != nil {
			return err
		}
		isChild := info.Labels[journal.LabelChildOf] != "" // the run around it reports it
		if isChild || !info.Queued() || !service.IsServerRun(info) {
			continue
		}
		err := d.StartQueued(ctx, service.Principal{}, info)
		switch {
		case errors.Is(err, service.ErrMachinesAway):
			return err
		case err != nil:
			d.options.Log.Warn("telling other machines of a run", "run", info.ID, "error", err)
		}
	}
	return nil
}

// elsewhereInterval is how often runs that other machines carry out are checked.
const elsewhereInterval = time.Second

// watchElsewhere notes that other machines carry on a run after an event.
func (d *Dispatcher) watchElsewhere(id string, seq int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.elsewhere[id] = seq
}

// FollowElsewhere reports the ends of the runs that this process gave other machines, until ctx ends.
func (d *Dispatcher) FollowElsewhere(ctx context.Context) {
	ticker := time.NewTicker(elsewhereInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := d.lookElsewhere(ctx); err != nil && ctx.Err() == nil {
				d.options.Log.Warn("looking for the ends of runs of other machines", "error", err)
			}
		}
	}
}

// lookElsewhere reports the runs that are no longer running: one read of the journal finds the running ones.
func (d *Dispatcher) lookElsewhere(ctx context.Context) error {
	d.mu.Lock()
	watched := maps.Clone(d.elsewhere)
	d.mu.Unlock()
	if len(watched) == 0 {
		return nil
	}
	left := maps.Clone(watched)
	for info, err := range d.service.Runs(ctx, service.Principal{}, journal.RunFilter{States: []journal.RunStatus{journal.RunRunning}}) {
		if err != nil {
			return err
		}
		delete(left, info.ID)
	}
	for id, seq := range left {
		isOver, err := d.tellElsewhere(ctx, id, seq)
		if err != nil {
			return err
		}
		d.mu.Lock()
		if isOver && d.elsewhere[id] == seq { // it was not given to them again meanwhile
			delete(d.elsewhere, id)
		}
		d.mu.Unlock()
	}
	return nil
}

// tellElsewhere reports the end of a run after an event, and returns whether to stop watching it. The last event
// of a run that was resumed, but not continued yet, is an old one.
func (d *Dispatcher) tellElsewhere(ctx context.Context, id string, seq int64) (isOver bool, err error) {
	info, err := d.service.Run(ctx, service.Principal{}, id)
	if calls.KindOf(err) == calls.NotFound {
		return true, nil
	}
	if err != nil || info.LastSeq <= seq {
		return false, err
	}
	for e, err := range d.service.Events(ctx, service.Principal{}, id, info.LastSeq) {
		if err != nil || !e.StopsRun() {
			return false, err
		}
		d.options.EndedElsewhere(info, e)
		d.options.Changed(id)
		return true, nil
	}
	return false, nil
}

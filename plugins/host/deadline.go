package host

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/plugins/host/services"
	"github.com/callnode/scheduler/plugins/manifest"
)

// overdueError is the cause of an execution that took too long.
type overdueError struct{ error }

// Unwrap returns the error that knows its message in other languages.
func (e overdueError) Unwrap() error { return e.error }

// deadline ends an execution that takes too long in all, or in which the plugin sends nothing for too long. Only
// the plugin's own turns count: neither the time in which the step processes a chunk, nor the time in which the
// plugin waits for the host.
type deadline struct {
	ctx    context.Context
	limits manifest.Limits
	grant  *services.Grant
	cancel context.CancelCauseFunc
	whole  *time.Timer
	idle   *time.Timer
	// turnStart is when the plugin's turn began, in Unix nanoseconds; 0 between turns.
	turnStart atomic.Int64
}

// newDeadline returns a context that ends with the deadline. stop must be called.
func newDeadline(ctx context.Context, limits manifest.Limits, grant *services.Grant) (context.Context, *deadline) {
	ctx, cancel := context.WithCancelCause(ctx)
	d := &deadline{ctx: ctx, limits: limits, grant: grant, cancel: cancel}
	d.whole = time.AfterFunc(time.Duration(limits.ExecTimeout), func() {
		cancel(overdueError{wording.Errorf("it was not done within %s (limits.exec_timeout in plugin.yaml)", time.Duration(limits.ExecTimeout))})
	})
	d.idle = time.AfterFunc(time.Duration(limits.Timeout), d.checkIdle)
	return ctx, d
}

// checkIdle ends the execution if the plugin used up its time, else it checks again when it may have.
func (d *deadline) checkIdle() {
	if d.ctx.Err() != nil {
		return
	}
	timeout, turnStart := time.Duration(d.limits.Timeout), d.turnStart.Load()
	used := time.Since(time.Unix(0, turnStart))
	switch {
	case turnStart == 0:
		d.idle.Reset(timeout)
	case d.grant.InUse():
		d.turnStart.CompareAndSwap(turnStart, time.Now().UnixNano())
		d.idle.Reset(timeout)
	case used >= timeout:
		d.cancel(overdueError{wording.Errorf("it put out nothing for %s (limits.timeout in plugin.yaml)", timeout)})
	default:
		d.idle.Reset(timeout - used)
	}
}

// startTurn begins a turn of the plugin.
func (d *deadline) startTurn() { d.turnStart.Store(time.Now().UnixNano()) }

// endTurn ends it.
func (d *deadline) endTurn() { d.turnStart.Store(0) }

func (d *deadline) stop() {
	d.whole.Stop()
	d.idle.Stop()
	d.cancel(nil)
}

// clockDifference is how far two clocks of one machine are apart.
const clockDifference = 100 * time.Millisecond

// AwaitDeadline waits for the deadline of a context that is about to pass: the other side
// of a connection has the same deadline, and may be first to see it.
func AwaitDeadline(ctx context.Context) {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < clockDifference {
		<-ctx.Done()
	}
}

package temporal

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/fleet"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/service"
)

// watcher shows the operator of a worker its current runs: in the log, and through the functions of
// [WorkerOptions]. [newWatcher] makes one for a worker; it is safe for concurrent use.
type watcher struct {
	log     *slog.Logger
	observe func(*service.Session, *journal.Event)
	ended   func(run string)
	member  *fleet.Member

	mu      sync.Mutex        // guards refused
	refused map[string]string // by run, why the log says that it was refused last
}

// maxRefused bounds how many refused runs are remembered; beyond it all are reported again.
const maxRefused = 10000

func newWatcher(o *WorkerOptions) *watcher {
	w := &watcher{log: o.Log, observe: o.Observe, ended: o.Ended, member: o.Member, refused: map[string]string{}}
	if w.log == nil {
		w.log = slog.New(slog.DiscardHandler)
	}
	if w.observe == nil {
		w.observe = func(*service.Session, *journal.Event) {}
	}
	if w.ended == nil {
		w.ended = func(string) {}
	}
	if w.member == nil {
		w.member = fleet.Join(fleet.Worker{}, nil)
	}
	return w
}

// tellRefused logs why a run was left to other workers, for example because a plugin is not installed here: once, although the run is
// offered again until another worker takes it.
func (w *watcher) tellRefused(queue string, info *journal.RunInfo, missing error) {
	w.member.LeaveRun(info.ID, wording.OfError(missing), time.Time{})
	w.mu.Lock()
	isTold := w.refused[info.ID] == missing.Error()
	if len(w.refused) >= maxRefused {
		clear(w.refused)
	}
	w.refused[info.ID] = missing.Error()
	w.mu.Unlock()
	if isTold {
		return
	}
	w.log.Info("run refused", "run", info.ID, "flow", info.Flow, "queue", queue, "reason", missing.Error())
}

// tellTaken logs that the worker carries a run on. Call end with how that ended.
func (w *watcher) tellTaken(queue string, info *journal.RunInfo) (end func(Outcome, error)) {
	w.member.TakeRun(info.ID)
	began := time.Now()
	w.mu.Lock()
	delete(w.refused, info.ID)
	w.mu.Unlock()
	tell := func(level slog.Level, message string, more ...any) { // not by With: the log adds the trace of a run to records that name it
		w.log.Log(context.Background(), level, message, append([]any{"run", info.ID, "flow", info.Flow, "queue", queue}, more...)...)
	}
	tell(slog.LevelInfo, "run taken", "after", info.LastSeq)
	return func(out Outcome, err error) {
		took := slog.Int64("duration_ms", time.Since(began).Milliseconds())
		switch {
		case err != nil:
			tell(slog.LevelWarn, "run broke off: it is tried again", took, "error", err)
		case out.State == HandedOver:
			tell(slog.LevelInfo, "run handed over", took, "after", out.Seq)
		case out.State == Failed:
			tell(slog.LevelInfo, "run ended", "state", out.State, took, "step", out.Step, "kind", out.Kind)
		default:
			tell(slog.LevelInfo, "run ended", "state", out.State, took)
		}
	}
}

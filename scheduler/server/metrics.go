package server

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/callnode/scheduler/scheduler/dispatch"
	"github.com/callnode/scheduler/scheduler/fleet"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/server/store"
	"github.com/callnode/scheduler/scheduler/service"
	"github.com/callnode/scheduler/scheduler/telemetry"
)

// waitingRunsAge is how old the count of waiting runs may be that /metrics shows: to count them
// the journal is read.
const waitingRunsAge = 10 * time.Second

// observeRuns passes the runs of a dispatcher to the telemetry.
func (s *Server) observeRuns(o dispatch.Options) dispatch.Options {
	observer := s.options.Telemetry
	o.Observe = func(session *service.Session, e *journal.Event) {
		observer.ObserveEvent(telemetry.Run{ID: e.Run, Flow: session.Flow.Name, StartedBy: session.StartedBy, State: session.State}, e)
	}
	o.Ended = observer.EndRun
	o.EndedElsewhere = func(info *journal.RunInfo, e *journal.Event) {
		observer.CountElsewhere(info.Flow, info.Labels[journal.LabelOrigin], e)
	}
	return o
}

// registerMetrics adds GET /metrics, and the gauges of the server.
func (s *Server) registerMetrics() {
	observer := s.options.Telemetry
	observer.Gauge("scheduler_active_runs", "Runs that are at work in this process.", func() float64 {
		active, _ := s.dispatcher.Load()
		return float64(active)
	})
	observer.Gauge("scheduler_queue_depth", "Runs that wait for their turn in this process.", func() float64 {
		_, queued := s.dispatcher.Load()
		return float64(queued)
	})
	observer.WatchQueues(s.queues.Values, s.member.Load)
	observer.Gauge("scheduler_stuck_runs", "Runs that pause because they were taken up in vain again and again.", func() float64 { return float64(s.dispatcher.CountStuck()) })
	observer.Gauge("scheduler_sse_clients", "Streams of events that are open.", func() float64 { return float64(s.limits.streams.Load()) })
	waiting := &waitingRuns{service: s.options.Service}
	observer.Gauge("scheduler_waiting_runs", "Runs in the journal that wait for values.", waiting.count)
	counted := &triggerCounts{store: s.options.Store}
	observer.Gauge("scheduler_paused_schedules", "Schedules that are paused.", func() float64 { paused, _ := counted.count(); return float64(paused) })
	observer.Gauge("scheduler_failed_fires", "Fires of the last 30 days that could not begin their runs.", func() float64 { _, failed := counted.count(); return float64(failed) })
	addEndpoint(s, endpoint{
		method: http.MethodGet, path: "/metrics", id: "get-metrics", summary: "Get the metrics of the server, in the text format of Prometheus", scope: store.Metrics,
		media: []string{"text/plain"},
	}, func(ctx context.Context, _ *none) (*stream, error) {
		if p := refuseBound(ctx); p != nil { // the numbers cover all users
			return nil, p
		}
		return &stream{func(hctx huma.Context) {
			r, w := humago.Unwrap(hctx)
			observer.Handler().ServeHTTP(w, r)
		}}, nil
	})
}

// registerWorkers adds GET /workers.
func (s *Server) registerWorkers() {
	addEndpoint(s, endpoint{
		method: http.MethodGet, path: base + "/workers", id: "list-workers", summary: "List the servers and workers that carry runs out", scope: store.Metrics,
		advice: "A process that was killed is lost after some seconds, and listed for a day.",
	}, func(ctx context.Context, in *Listing) (*body[page[*fleet.Worker]], error) {
		if p := refuseBound(ctx); p != nil {
			return nil, p
		}
		all, err := s.options.Store.Workers(ctx)
		if err != nil {
			return nil, err
		}
		return pageOf(all, in, func(w *fleet.Worker) string { return w.ID }), nil
	})
}

// triggerCounts counts the triggers that begin no runs. It is safe for concurrent use.
type triggerCounts struct {
	store *store.Store

	mu             sync.Mutex // guards the fields below
	counted        time.Time
	paused, failed int
}

// count returns how many schedules are paused, and how many fires could not begin their runs, now or a moment ago.
func (c *triggerCounts) count() (paused, failed int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.counted) >= time.Second {
		paused, failed, err := c.store.CountTriggers(context.Background())
		if err == nil { // readiness reports an unreadable store
			c.counted, c.paused, c.failed = time.Now(), paused, failed
		}
	}
	return c.paused, c.failed
}

// waitingRuns counts the runs of all users that wait. It is safe for concurrent use.
type waitingRuns struct {
	service *service.Service

	mu      sync.Mutex // guards the fields below
	counted time.Time
	n       float64
}

// count returns how many runs wait, or waited a moment ago.
func (w *waitingRuns) count() float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Since(w.counted) < waitingRunsAge {
		return w.n
	}
	n := 0
	for _, err := range w.service.Runs(context.Background(), service.Principal{}, journal.RunFilter{States: []journal.RunStatus{journal.RunWaiting}}) {
		if err != nil {
			return w.n // readiness reports an unreadable journal
		}
		n++
	}
	w.counted, w.n = time.Now(), float64(n)
	return w.n
}

package telemetry

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/scheduler/journal"
)

// Run holds an [Observer]'s data about a run. Its caller makes it for each event.
type Run struct {
	ID, Flow, StartedBy string
	// State is the sum of the events so far, the observed one included.
	State *journal.RunState
}

// metrics are the counters and histograms. Their labels are few and come from the project:
// flows, calls, models, never users or runs.
type metrics struct {
	runs          *prometheus.CounterVec
	elsewhere     *prometheus.CounterVec
	runSeconds    *prometheus.HistogramVec
	stepSeconds   *prometheus.HistogramVec
	warnings      *prometheus.CounterVec
	commitSeconds prometheus.Histogram
	modelTokens   *prometheus.HistogramVec
	modelSeconds  *prometheus.HistogramVec
	operationOf   func(call string) string
}

// The buckets: steps take from a millisecond to minutes, tokens grow by fours as the semantic
// conventions advise.
var (
	durationBuckets = []float64{.001, .005, .01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}
	commitBuckets   = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1}
	tokenBuckets    = prometheus.ExponentialBuckets(1, 4, 14)
)

func newMetrics(registry *prometheus.Registry, version string, operationOf func(call string) string) *metrics {
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	}
	m := &metrics{
		operationOf: operationOf,
		runs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "scheduler_runs_total", Help: "Runs that came to a state in this process: finished, failed, cancelled or waiting.",
		}, []string{"flow", "state", "origin"}),
		elsewhere: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "scheduler_remote_runs_total", Help: "Runs that this process gave to workers and that came to a state there. The workers count them as scheduler_runs_total.",
		}, []string{"flow", "state", "origin"}),
		runSeconds:  histogram("scheduler_run_duration_seconds", "How long this process was at a run.", durationBuckets, "flow"),
		stepSeconds: histogram("scheduler_step_duration_seconds", "How long steps took.", durationBuckets, "call"),
		warnings: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "scheduler_step_warnings_total", Help: "Warnings of steps, by their code.",
		}, []string{"call", "code"}),
		commitSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "scheduler_journal_commit_seconds", Help: "How long it took to record events durably.", Buckets: commitBuckets,
		}),
		modelTokens:  histogram("gen_ai_client_token_usage", "Tokens of model calls.", tokenBuckets, "gen_ai_provider_name", "gen_ai_request_model", "gen_ai_token_type"),
		modelSeconds: histogram("gen_ai_client_operation_duration_seconds", "How long steps that asked a model took.", durationBuckets, "gen_ai_provider_name", "gen_ai_request_model", "gen_ai_operation_name"),
	}
	build := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "scheduler_build_info", Help: "The version of the program.", ConstLabels: prometheus.Labels{"version": version},
	}, func() float64 { return 1 })
	registry.MustRegister(build, m.runs, m.elsewhere, m.runSeconds, m.stepSeconds, m.warnings, m.commitSeconds, m.modelTokens, m.modelSeconds)
	return m
}

// observe counts an event; fresh is its addition to the usage of the run.
func (m *metrics) observe(run Run, e *journal.Event, fresh llm.Usage) {
	if e.Step == "" {
		m.observeFlow(run, e)
		return
	}
	data := e.Data
	call := callOf(run.State, e)
	if e.Type == journal.StepWarning {
		m.warnings.WithLabelValues(call, data.Code).Inc()
	}
	if data.DurationMS == nil {
		return
	}
	seconds := *data.DurationMS / 1000
	m.stepSeconds.WithLabelValues(call).Observe(seconds)
	if data.LLM == nil || fresh == (llm.Usage{}) {
		return
	}
	provider, model := data.LLM.Provider, data.LLM.Model
	m.modelTokens.WithLabelValues(provider, model, "input").Observe(float64(fresh.InputTokens))
	m.modelTokens.WithLabelValues(provider, model, "output").Observe(float64(fresh.OutputTokens))
	m.modelSeconds.WithLabelValues(provider, model, m.operationOf(call)).Observe(seconds)
}

// observeFlow counts the event that ends the run in this process.
func (m *metrics) observeFlow(run Run, e *journal.Event) {
	state := journal.RunRunning.After(e.Type)
	if state == journal.RunRunning {
		return
	}
	m.runs.WithLabelValues(run.Flow, string(state), run.StartedBy).Inc()
	if e.Data.DurationMS != nil {
		m.runSeconds.WithLabelValues(run.Flow).Observe(*e.Data.DurationMS / 1000)
	}
}

// callOf returns the call of an event's step, as the event of its start named it.
func callOf(state *journal.RunState, e *journal.Event) string {
	if st := state.Step(journal.StepPath(e.Step, e.Index)); st != nil && st.Call != "" {
		return st.Call
	}
	if st := state.Step(e.Step); st != nil {
		return st.Call
	}
	return ""
}

type watchedJournal struct {
	journal.Journal
	commits prometheus.Observer
}

// Begin records a new run.
func (j watchedJournal) Begin(ctx context.Context, run *journal.RunHeader) (journal.RunLog, error) {
	log, err := j.Journal.Begin(ctx, run)
	return j.watchLog(log), err
}

// Reopen holds a run that exists.
func (j watchedJournal) Reopen(ctx context.Context, id string) (journal.RunLog, error) {
	log, err := j.Journal.Reopen(ctx, id)
	return j.watchLog(log), err
}

func (j watchedJournal) watchLog(log journal.RunLog) journal.RunLog {
	if log == nil {
		return nil
	}
	return watchedLog{log, j.commits}
}

type watchedLog struct {
	journal.RunLog
	commits prometheus.Observer
}

// Append adds events to the run.
func (l watchedLog) Append(ctx context.Context, events ...*journal.Event) error {
	start := time.Now()
	err := l.RunLog.Append(ctx, events...)
	l.commits.Observe(time.Since(start).Seconds())
	return err
}

// queueCollector makes the metrics of queues when they are asked for. It is safe for concurrent use.
type queueCollector struct {
	read  func() (waiting, seconds, running map[string]float64)
	slots func() (used, all map[string]float64)
}

// The metrics of queues. The store's are the same in every process that shares it.
var (
	queuedRuns   = newQueueMetric("scheduler_queued_runs", "Runs of the store that wait for a process of their queue.")
	queueSeconds = newQueueMetric("scheduler_queue_oldest_seconds", "How long the oldest of them has waited; 0 where none does.")
	runningRuns  = newQueueMetric("scheduler_running_runs", "Runs of the store that a process is at.")
	queueSlots   = newQueueMetric("scheduler_slots", "How many runs of the queue this process takes at once.")
	usedSlots    = newQueueMetric("scheduler_slots_used", "How many runs of the queue this process is at.")
)

func newQueueMetric(name, help string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, []string{"queue"}, nil)
}

// Describe sends the descriptions of the metrics.
func (c *queueCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{queuedRuns, queueSeconds, runningRuns, queueSlots, usedSlots} {
		out <- d
	}
}

// Collect reads them.
func (c *queueCollector) Collect(out chan<- prometheus.Metric) {
	tell := func(d *prometheus.Desc, values map[string]float64) {
		for queue, v := range values {
			out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, queue)
		}
	}
	waiting, seconds, running := c.read()
	tell(queuedRuns, waiting)
	tell(queueSeconds, seconds)
	tell(runningRuns, running)
	used, all := c.slots()
	tell(queueSlots, all)
	tell(usedSlots, used)
}

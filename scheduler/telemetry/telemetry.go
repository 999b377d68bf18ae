// Package telemetry makes metrics and traces from the events of runs. It is the only package that imports
// Prometheus and OpenTelemetry; the engine knows neither. An [Observer] receives every event of the runs that a
// process carries out ([Observer.ObserveEvent]) and answers GET /metrics. For example, a failed step becomes a
// span with an error.
//
// The spans of a run have the same trace id in every process that ran it, a hash of the run's id ([TraceID]), so
// that the parts of a resumed run join. Names and attributes of model calls follow the semantic conventions for
// generative AI, version 1.41 (they are in development there). Metrics have no label that names a user or a run.
package telemetry

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/journal"
)

// Options are the settings of an [Observer]. The zero value counts and sends nothing.
type Options struct {
	// Version is the version of the program.
	Version string
	// Traces is the destination of spans.
	Traces Traces
	// OperationOf returns the name that the semantic conventions for generative AI have for the work of a call, "" for a step
	// like any other; nil has none.
	OperationOf func(call string) string
	// Log gets runs that failed, and spans that could not be sent; nil discards them.
	Log *slog.Logger
}

// Traces are the settings of the exporter of spans, OTLP over HTTP.
type Traces struct {
	// Endpoint is the address of a collector, such as http://127.0.0.1:4318; "" sends nothing.
	Endpoint string
	// Headers go with every request. They may hold keys.
	Headers map[string]string
	// Content lets spans have the inputs and outputs of steps, which hold users' texts.
	Content bool
}

// Observer makes metrics and traces of the events of runs. [New] makes one for the life of a
// server; [Observer.Shutdown] ends it. It is safe for concurrent use, as long as the events of
// one run come one after the other.
type Observer struct {
	registry    *prometheus.Registry
	metrics     *metrics
	provider    *trace.TracerProvider // nil: no spans are made
	tracer      oteltrace.Tracer
	content     bool
	log         *slog.Logger
	operationOf func(call string) string

	mu   sync.Mutex // guards the fields below
	runs map[string]*runTrace
}

// New returns an observer. The error is about an endpoint that is not an address.
func New(o Options) (*Observer, error) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	log := cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	operationOf := func(call string) string {
		if o.OperationOf == nil {
			return stepOperation
		}
		return cmp.Or(o.OperationOf(call), stepOperation)
	}
	observer := &Observer{registry: registry, metrics: newMetrics(registry, o.Version, operationOf), operationOf: operationOf, content: o.Traces.Content, log: log, runs: map[string]*runTrace{}}
	if o.Traces.Endpoint == "" {
		return observer, nil
	}
	exporter, err := newExporter(o.Traces)
	if err != nil {
		return nil, err
	}
	attributes := resource.NewWithAttributes(semconv.SchemaURL, semconv.ServiceName("scheduler"), semconv.ServiceVersion(o.Version))
	observer.provider = trace.NewTracerProvider(
		trace.WithBatcher(reportingExporter{exporter, log}), trace.WithResource(attributes), trace.WithIDGenerator(idGenerator{}))
	observer.tracer = observer.provider.Tracer("github.com/callnode/scheduler")
	return observer, nil
}

// newExporter returns an exporter of spans to the endpoint. It connects when the first are sent.
func newExporter(t Traces) (trace.SpanExporter, error) {
	endpoint, err := tracesURL(t.Endpoint)
	if err != nil {
		return nil, err
	}
	return otlptracehttp.New(context.Background(), otlptracehttp.WithEndpointURL(endpoint), otlptracehttp.WithHeaders(t.Headers))
}

// reportingExporter reports spans that could not be sent.
type reportingExporter struct {
	trace.SpanExporter
	log *slog.Logger
}

// ExportSpans sends spans.
func (e reportingExporter) ExportSpans(ctx context.Context, spans []trace.ReadOnlySpan) error {
	err := e.SpanExporter.ExportSpans(ctx, spans)
	if err != nil {
		e.log.Warn("sending traces", "error", wording.Errorf("%d spans could not be sent: %w", len(spans), err))
	}
	return nil // it was reported: the library would print it too
}

// Shutdown sends the spans that are left, until ctx ends.
func (o *Observer) Shutdown(ctx context.Context) error {
	if o.provider == nil {
		return nil
	}
	return errors.Join(o.provider.ForceFlush(ctx), o.provider.Shutdown(ctx))
}

// Handler answers GET /metrics in the text format of Prometheus.
func (o *Observer) Handler() http.Handler {
	return promhttp.HandlerFor(o.registry, promhttp.HandlerOpts{EnableOpenMetrics: true})
}

// Gauge adds a metric whose value is read on each request for it.
func (o *Observer) Gauge(name, help string, read func() float64) {
	o.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
}

// WatchQueues adds the metrics of queues: the values of read, and the slots of this process in each, which used
// returns too.
func (o *Observer) WatchQueues(read func() (waiting, seconds, running map[string]float64), slots func() (used, all map[string]float64)) {
	o.registry.MustRegister(&queueCollector{read, slots})
}

// ObserveEvent counts an event of a run and makes spans from it. It does not block.
func (o *Observer) ObserveEvent(run Run, e *journal.Event) {
	if e.Data == nil {
		bare := *e
		bare.Data = &journal.Data{}
		e = &bare
	}
	r := o.runTrace(run)
	o.metrics.observe(run, e, r.freshUsage(run.State.Usage))
	if e.Type == journal.FlowFailed && e.Data.Error != nil {
		o.logFailure(run, e.Data.Error)
	}
	if o.provider != nil {
		r.observe(e)
	}
}

// CountElsewhere counts the end of a run that other machines carried out, or that it came to wait there.
func (o *Observer) CountElsewhere(flow, startedBy string, e *journal.Event) {
	o.metrics.elsewhere.WithLabelValues(flow, string(journal.RunRunning.After(e.Type)), startedBy).Inc()
}

// EndRun ends the spans of a run that this process has let go of, whether it is over or not.
func (o *Observer) EndRun(id string) {
	o.mu.Lock()
	r := o.runs[id]
	delete(o.runs, id)
	o.mu.Unlock()
	if r != nil {
		r.end(time.Now())
	}
}

// runTrace returns the trace of a run that this process is running.
func (o *Observer) runTrace(run Run) *runTrace {
	o.mu.Lock()
	defer o.mu.Unlock()
	r := o.runs[run.ID]
	if r == nil {
		r = &runTrace{tracer: o.tracer, content: o.content, operationOf: o.operationOf, flow: run.Flow, origin: run.StartedBy, id: run.ID, steps: map[string]*stepSpan{}}
		o.runs[run.ID] = r
	}
	return r
}

// WatchJournal returns the journal with its commits counted.
func (o *Observer) WatchJournal(j journal.Journal) journal.Journal {
	return watchedJournal{j, o.metrics.commitSeconds}
}

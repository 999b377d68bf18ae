package wire

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/cmd/scheduler/config"
	"github.com/callnode/scheduler/cmd/scheduler/terminal"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/telemetry"
)

// telemetryTimeout limits the time for sending the last spans.
const telemetryTimeout = 5 * time.Second

// ObserveRuns returns an observer that makes metrics and traces of the runs of a server or a worker, and lets their events name this process. The
// journal that is opened afterwards is counted too.
func (rt *Runtime) ObserveRuns(c *config.OTLP, log *slog.Logger) (*telemetry.Observer, error) {
	traces := telemetry.Traces{Endpoint: c.Endpoint, Content: c.Content, Headers: map[string]string{}}
	var missing []error
	for _, header := range slices.Sorted(maps.Keys(c.HeadersEnv)) {
		name := c.HeadersEnv[header]
		text, isSet := os.LookupEnv(name)
		if !isSet {
			missing = append(missing, wording.Errorf("serve.otlp.headers_env: the environment variable %s is not set", name))
		}
		traces.Headers[header] = text
	}
	if len(missing) > 0 {
		return nil, errors.Join(missing...)
	}
	registry, err := builtin.Registry()
	if err != nil {
		return nil, err
	}
	observer, err := telemetry.New(telemetry.Options{
		Version: rt.version, Traces: traces, Log: log, OperationOf: registry.OperationOf,
	})
	if err != nil {
		return nil, wording.Errorf("serve.otlp: %w", err)
	}
	rt.watchJournal = observer.WatchJournal
	host, _ := os.Hostname() // "" if the machine has no name
	rt.worker = &journal.Process{Host: host, PID: os.Getpid(), Version: rt.version}
	return observer, nil
}

// NewServerLog returns the log of a server or a worker: lines for people on a terminal, else JSON.
func NewServerLog(w io.Writer) *slog.Logger {
	if terminal.IsTerminal(w) {
		return slog.New(telemetry.LogHandler(slog.NewTextHandler(w, nil)))
	}
	return slog.New(telemetry.LogHandler(slog.NewJSONHandler(w, nil)))
}

// EndTelemetry sends the spans that are left.
func EndTelemetry(o *telemetry.Observer, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), telemetryTimeout)
	defer cancel()
	if err := o.Shutdown(ctx); err != nil {
		log.Warn("ending traces", "error", err)
	}
}

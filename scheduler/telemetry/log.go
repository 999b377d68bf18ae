package telemetry

import (
	"context"
	"log/slog"
	"strings"

	"github.com/callnode/scheduler/scheduler/journal"
)

// maxLogged bounds the message of a failed run in the log, in bytes: the journal has all of it.
const maxLogged = 500

// logFailure logs that a run has failed: its id, the step, and the step's place in the flow.
func (o *Observer) logFailure(run Run, failure *journal.ErrorInfo) {
	message := failure.Message
	if len(message) > maxLogged {
		message = strings.ToValidUTF8(message[:maxLogged], "") + "…"
	}
	o.log.Warn("run failed", "run", run.ID, "flow", run.Flow, "step", failure.Step, "position", failure.Position, "kind", failure.Kind, "error", message)
}

// LogHandler returns a handler that adds the trace of a run (trace_id) to every record that
// names one (run), so that logs and traces can be joined.
func LogHandler(h slog.Handler) slog.Handler { return tracingHandler{h} }

type tracingHandler struct{ slog.Handler }

// Handle writes a record.
func (h tracingHandler) Handle(ctx context.Context, r slog.Record) error {
	run := ""
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "run" {
			run = a.Value.String()
		}
		return run == ""
	})
	if run != "" {
		r.AddAttrs(slog.String("trace_id", TraceID(run)))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs returns a handler that adds the attributes to its records.
func (h tracingHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return tracingHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup returns a handler that puts attributes into a group.
func (h tracingHandler) WithGroup(name string) slog.Handler {
	return tracingHandler{h.Handler.WithGroup(name)}
}

package terminal

import (
	"encoding/json"
	"io"

	"github.com/callnode/scheduler/scheduler/journal"
)

// JSONEventPrinter prints events as JSON lines, as run --json and runs events do. The session
// makes one for a run; it must not be used by several goroutines at once.
type JSONEventPrinter struct{ enc *json.Encoder }

// NewJSONEventPrinter prints events to w.
func NewJSONEventPrinter(w io.Writer) JSONEventPrinter {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return JSONEventPrinter{enc}
}

// Event prints an event.
func (p JSONEventPrinter) Event(e *journal.Event) error { return p.enc.Encode(e) }

// Close has nothing to do.
func (p JSONEventPrinter) Close() error { return nil }

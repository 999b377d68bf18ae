package openai

import (
	"cmp"
	"crypto/rand"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
)

// answer writes a completion: at its end as one document, or as a stream of chunks. A turn
// makes one.
type answer struct {
	w       http.ResponseWriter
	rc      *http.ResponseController
	in      *request
	run     string // "" for a task, which has an id of its own
	task    string
	created int64
	ignored []string // fields of the request
	isFinal bool     // the error comes from a run or an answer to one, so repeating the request does not help
	whole   strings.Builder
	breaks  int // line ends at the end, which are not sent yet

	mu       sync.Mutex // held while the stream is written to
	begun    bool
	silent   *time.Timer // sends comments while there is nothing to say
	hasEnded bool
}

// heartbeat is how often a silent stream gets a comment: proxies cut silent ones off.
const heartbeat = 15 * time.Second

func newAnswer(w http.ResponseWriter, in *request) *answer {
	return &answer{w: w, rc: http.NewResponseController(w), in: in, task: rand.Text(), created: time.Now().Unix()}
}

// addText adds a text. Line ends at the end of the whole answer are left out.
func (a *answer) addText(text string) {
	trimmed := strings.TrimRight(text, "\n")
	if trimmed == "" {
		a.breaks += len(text)
		return
	}
	trimmed, breaks := strings.Repeat("\n", a.breaks)+trimmed, len(text)-len(trimmed)
	a.breaks = breaks
	a.whole.WriteString(trimmed)
	if a.in.stream {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.beginLocked()
		a.chunkLocked(value.Pairs("content", trimmed), value.Value{})
	}
}

// beginLocked begins the stream.
func (a *answer) beginLocked() {
	if a.begun {
		return
	}
	a.begun = true
	_ = a.rc.SetReadDeadline(time.Time{}) // the request was read
	h := a.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store, no-transform")
	h.Set("X-Accel-Buffering", "no")
	a.w.WriteHeader(http.StatusOK)
	a.chunkLocked(value.Pairs("role", "assistant", "content", ""), value.Value{})
}

// sendBeat sends a comment. A stream that has not begun by now begins: until then, an error can
// have a status of its own.
func (a *answer) sendBeat() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.hasEnded {
		return
	}
	a.beginLocked()
	_, _ = a.w.Write([]byte(": heartbeat\n\n")) // the client may have gone
	_ = a.rc.Flush()
	a.silent.Reset(heartbeat)
}

// stopBeats ends the comments: nothing is written after it.
func (a *answer) stopBeats() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.hasEnded = true
	if a.silent != nil {
		a.silent.Stop()
	}
}

// newDocument returns the members that all documents begin with.
func (a *answer) newDocument(object string) *value.Map {
	return value.Pairs("id", "chatcmpl-"+cmp.Or(a.run, a.task), "object", object, "created", a.created, "model", a.in.model)
}

// chunkLocked sends a piece of the answer. reason is null before the end.
func (a *answer) chunkLocked(delta *value.Map, reason value.Value) {
	doc := a.newDocument("chat.completion.chunk")
	doc.Set("choices", value.OfList(value.OfMap(value.Pairs("index", 0, "delta", value.OfMap(delta), "finish_reason", reason))))
	a.sendLocked(value.OfMap(doc))
}

func (a *answer) sendLocked(doc value.Value) {
	_, _ = a.w.Write([]byte("data: " + doc.JSON() + "\n\n")) // the client may have gone
	_ = a.rc.Flush()
}

// The reasons for which an answer ends, as the API names them.
const (
	reasonStop   = "stop"
	reasonLength = "length"
	reasonFilter = "content_filter"
)

// finishAnswer ends the answer for a reason. state is the run's; "" for a task.
func (a *answer) finishAnswer(usage *llm.Usage, state, reason string) error {
	if usage == nil {
		usage = &llm.Usage{}
	}
	counts := value.OfMap(value.Pairs("prompt_tokens", usage.InputTokens, "completion_tokens", usage.OutputTokens, "total_tokens", usage.Total()))
	about := value.NewMap(3)
	if a.run != "" {
		about = value.Pairs("run", a.run, "state", state)
	}
	if len(a.ignored) > 0 {
		about.Set("ignored", value.Must(a.ignored))
	}
	if !a.in.stream {
		doc := a.newDocument("chat.completion")
		message := value.OfMap(value.Pairs("role", "assistant", "content", a.whole.String()))
		doc.Set("choices", value.OfList(value.OfMap(value.Pairs("index", 0, "message", message, "finish_reason", reason))))
		doc.Set("usage", counts)
		if about.Len() > 0 {
			doc.Set("scheduler", value.OfMap(about))
		}
		a.w.Header().Set("Content-Type", "application/json")
		_, err := a.w.Write(value.OfMap(doc).AppendJSON(nil))
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.beginLocked()
	last := a.newDocument("chat.completion.chunk")
	last.Set("choices", value.OfList(value.OfMap(value.Pairs("index", 0, "delta", value.OfMap(nil), "finish_reason", reason))))
	if about.Len() > 0 {
		last.Set("scheduler", value.OfMap(about))
	}
	a.sendLocked(value.OfMap(last))
	if a.in.usage {
		doc := a.newDocument("chat.completion.chunk")
		doc.Set("choices", value.OfList())
		doc.Set("usage", counts)
		a.sendLocked(value.OfMap(doc))
	}
	_, err := a.w.Write([]byte("data: [DONE]\n\n"))
	return err
}

// failAnswer ends the answer with an error: by its status, or within a stream that has begun.
func (a *answer) failAnswer(e *Error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.begun {
		if a.isFinal && !e.isBusy() {
			e = e.asFinal()
			a.w.Header().Set("X-Should-Retry", "false")
		}
		e.Write(a.w)
		return
	}
	a.sendLocked(value.OfMap(value.Pairs("error", value.Must(e))))
	_, _ = a.w.Write([]byte("data: [DONE]\n\n")) // the client may have gone
}

// keepAlive sends comments while there is nothing to say.
func (a *answer) keepAlive() {
	if a.in.stream {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.silent = time.AfterFunc(heartbeat, a.sendBeat)
	}
}

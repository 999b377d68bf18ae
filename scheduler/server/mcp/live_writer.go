package mcp

import (
	"net/http"
	"sync"
	"time"
)

// heartbeat is how often a silent stream gets a comment: proxies cut silent ones off.
const heartbeat = 15 * time.Second

// liveWriter writes an answer, with comments in a stream that is silent. ServeHTTP makes one;
// it is safe for concurrent use.
type liveWriter struct {
	http.ResponseWriter
	rc *http.ResponseController

	mu     sync.Mutex // guards the fields below, and the writer
	silent *time.Timer
	isOver bool
}

func (w *liveWriter) start() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.silent = time.AfterFunc(heartbeat, w.beat)
}

// stop ends the comments: nothing is written after it.
func (w *liveWriter) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.isOver = true
	w.silent.Stop()
}

// beat writes a comment if the answer is a stream.
func (w *liveWriter) beat() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.isOver || w.Header().Get("Content-Type") != "text/event-stream" {
		return
	}
	_, _ = w.ResponseWriter.Write([]byte(": heartbeat\n\n")) // the client may have gone
	_ = w.rc.Flush()
	w.silent.Reset(heartbeat)
}

// Write writes a part of the answer: the library writes an event at once.
func (w *liveWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.silent.Reset(heartbeat)
	return w.ResponseWriter.Write(b)
}

// FlushError sends the written bytes.
func (w *liveWriter) FlushError() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rc.Flush()
}

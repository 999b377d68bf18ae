package flowtest

import (
	"maps"
	"slices"
	"sync"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/scheduler/flowtest/check"
)

// requestHeads keeps what the steps of one attempt send to models before the messages. It is safe for concurrent use.
type requestHeads struct {
	mu     sync.Mutex
	byPath map[string]check.Request // guarded by mu
}

// note keeps what a request has beside its messages.
func (h *requestHeads) note(path string, req *llm.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.byPath == nil {
		h.byPath = map[string]check.Request{}
	}
	h.byPath[path] = check.Request{Model: req.Model, Tools: slices.Clone(req.Tools), ResponseSchema: req.ResponseSchema}
}

// all returns what was sent last by each step, by its path.
func (h *requestHeads) all() map[string]check.Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.byPath)
}

package flowtest

import (
	"maps"
	"slices"
	"sync"

	"github.com/callnode/scheduler/llm"
)

// requestHeads keeps the model requests of one attempt's steps without their messages. It is safe for concurrent
// use.
type requestHeads struct {
	mu     sync.Mutex
	byPath map[string][]*llm.Request // oldest first; guarded by mu
}

// note keeps a request without its messages.
func (h *requestHeads) note(path string, req *llm.Request) {
	head := *req
	head.Messages, head.Tools, head.Extra = nil, slices.Clone(req.Tools), maps.Clone(req.Extra)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.byPath == nil {
		h.byPath = map[string][]*llm.Request{}
	}
	h.byPath[path] = append(h.byPath[path], &head)
}

// byStep returns the requests of each step, by its path.
func (h *requestHeads) byStep() map[string][]*llm.Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.byPath)
}

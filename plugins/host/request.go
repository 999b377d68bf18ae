package host

import (
	"github.com/callnode/scheduler/llm/value/wording"
)

// request is one request to an instance, which may answer other steps' at the same time.
// [plugin.acquireForRequest] makes it; release ends it.
type request struct {
	*Instance
	freeSlot func()
	number   int64
	isShared bool  // another one ran when it began
	written  int64 // the length of the process's output before
}

func newRequest(instance *Instance, freeSlot func()) *request {
	r := &request{Instance: instance, freeSlot: freeSlot, written: instance.output.Written()}
	number, running := instance.requests.start()
	r.number, r.isShared = number, running > 1
	return r
}

func (r *request) release() {
	r.requests.end()
	r.freeSlot()
}

// Annotate adds the output of the process since the request began to an error. It says so if other requests may
// have caused that output.
func (r *request) Annotate(err error) error {
	text := r.output.Tail(r.written)
	if text == "" {
		return err
	}
	if r.isShared || r.requests.count() > r.number {
		return wording.Errorf("%w; it served other calls too, and wrote:\n%s", err, text)
	}
	return wording.Errorf("%w; it wrote:\n%s", err, text)
}

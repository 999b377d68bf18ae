package host

import (
	"github.com/callnode/scheduler/llm/value/wording"
)

// request is one that an instance answers, beside those of other steps. [plugin.acquireForRequest]
// makes it; release ends it.
type request struct {
	*Instance
	freeSlot func()
	number   int64
	isShared bool  // another one ran when it began
	written  int64 // what the process had written before
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

// Annotate adds what the process wrote since the request began to an error. It says so
// where other requests may have made it write that.
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

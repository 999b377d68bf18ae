// Package session sends many requests to a plugin at once over one gRPC stream, and finds the request that each
// reply belongs to. For example, the replies to 16 steps may come in any order. That doubles the throughput of one
// caller, and triples the throughput of sixteen (BenchmarkRequest of package host).
package session

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/plugins/proto"
)

// ErrViolation is wrapped by the errors of a plugin that broke the protocol: its process
// must not be used any more.
var ErrViolation = wording.Errorf("it broke the protocol")

// ErrOverdue is returned if the reply did not come in time.
var ErrOverdue = wording.Errorf("no answer in time")

// Overhead is the largest number of bytes that a request adds to a message beside its
// own: the header, the id, the token, the timeout.
const Overhead = 64

// Session is one stream of requests. While one message is being sent, further requests
// wait, and go together in the next. [Open] makes one for each process of a plugin, which
// it does not outlive. It is safe for concurrent use.
type Session struct {
	stream       grpc.BidiStreamingClient[proto.Requests, proto.Replies]
	cancel       context.CancelFunc
	messageBytes int

	mu      sync.Mutex // guards all below
	more    sync.Cond  // the queue got its first request, or err was set
	err     error      // why the stream cannot be used any more
	lastID  uint64
	pending map[uint64]*waiter
	queue   []queuedRequest
}

// waiter waits for one reply; it receives nil if the session ended. A timer of its own costs less than a context
// with a deadline for every request. A waiter that got its reply is used again: it can receive nothing else.
type waiter struct {
	reply chan *proto.Reply
	timer *time.Timer
}

var waiters = sync.Pool{New: func() any {
	return &waiter{reply: make(chan *proto.Reply, 1), timer: time.NewTimer(0)}
}}

type queuedRequest struct {
	request *proto.Request
	size    int // with its overhead
}

// Open opens a session with a plugin; its messages have up to messageBytes.
func Open(api proto.PluginClient, messageBytes int) (*Session, error) {
	ctx, cancel := context.WithCancel(context.Background())
	stream, err := api.Session(ctx)
	if err != nil {
		cancel()
		return nil, err
	}
	s := &Session{stream: stream, cancel: cancel, messageBytes: messageBytes, pending: map[uint64]*waiter{}}
	s.more.L = &s.mu
	go s.sendAll()
	go s.receiveAll()
	return s, nil
}

// Close ends the session; requests under way fail.
func (s *Session) Close() { s.fail(wording.Errorf("the session is closed")) }

// fail ends the session; all requests fail with err.
func (s *Session) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	s.err = err
	s.cancel()
	s.more.Signal()
	for id, w := range s.pending {
		delete(s.pending, id)
		w.reply <- nil
	}
}

// Ask sends a request and waits for its reply, up to timeout. size is the size of the request with its [Overhead].
func (s *Session) Ask(ctx context.Context, req *proto.Request, size int, timeout time.Duration) (*proto.Reply, error) {
	left := timeout
	if deadline, ok := ctx.Deadline(); ok {
		left = min(left, time.Until(deadline))
	}
	req.TimeoutMs = max(1, left.Milliseconds())
	w := waiters.Get().(*waiter)
	if err := s.register(w, req, size); err != nil {
		return nil, err
	}
	w.timer.Reset(timeout)
	select {
	case r := <-w.reply:
		w.timer.Stop()
		waiters.Put(w)
		if r == nil {
			return nil, s.err
		}
		return r, nil
	case <-ctx.Done():
		w.timer.Stop()
		s.cancelRequest(req.Id)
		return nil, ctx.Err()
	case <-w.timer.C:
		s.cancelRequest(req.Id)
		return nil, ErrOverdue
	}
}

// register returns the request its id, under which w will get the reply, and queues it.
func (s *Session) register(w *waiter, req *proto.Request, size int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	s.lastID++
	req.Id = s.lastID
	s.pending[req.Id] = w
	s.enqueueLocked(req, size)
	return nil
}

// cancelRequest sends the plugin a note that the reply is not wanted any more. A request that has not been sent is
// dropped instead: a plugin that does not read would pile them up.
func (s *Session) cancelRequest(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pending, id)
	i := slices.IndexFunc(s.queue, func(q queuedRequest) bool { return q.request.GetId() == id })
	if i >= 0 {
		s.queue = slices.Delete(s.queue, i, i+1)
		return
	}
	s.enqueueLocked(&proto.Request{Id: id, Ask: &proto.Request_Cancel{Cancel: true}}, Overhead)
}

// enqueueLocked puts a request into the queue.
func (s *Session) enqueueLocked(req *proto.Request, size int) {
	s.queue = append(s.queue, queuedRequest{req, size})
	if len(s.queue) == 1 {
		s.more.Signal()
	}
}

// takeQueue waits for requests to send and takes them all; nil when the session ended.
func (s *Session) takeQueue() []queuedRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		for len(s.queue) == 0 && s.err == nil {
			s.more.Wait()
		}
		s.mu.Unlock()
		runtime.Gosched() // requests that are about to be made go along
		s.mu.Lock()
		if s.err != nil {
			return nil
		}
		if queue := s.queue; len(queue) > 0 {
			s.queue = nil
			return queue
		}
	}
}

// sendAll sends requests until the session ends.
func (s *Session) sendAll() {
	for queue := s.takeQueue(); len(queue) > 0; queue = s.takeQueue() {
		for len(queue) > 0 {
			n := s.countFitting(queue)
			message := &proto.Requests{Requests: make([]*proto.Request, n)}
			for i := range n {
				message.Requests[i] = queue[i].request
			}
			if err := s.stream.Send(message); err != nil {
				return // receiveAll gets the error, too
			}
			queue = queue[n:]
		}
	}
}

// countFitting returns how many of the requests fit into one message; at least one.
func (s *Session) countFitting(queue []queuedRequest) int {
	size := 0
	for i := range queue {
		size += queue[i].size
		if size > s.messageBytes && i > 0 {
			return i
		}
	}
	return len(queue)
}

// receiveAll delivers replies until the session ends.
func (s *Session) receiveAll() {
	for {
		message, err := s.stream.Recv()
		if err == nil {
			err = s.deliver(message.GetReplies())
		}
		if err != nil {
			s.fail(err)
			return
		}
	}
}

// deliver passes replies to their waiters; those that come too late have none.
func (s *Session) deliver(replies []*proto.Reply) error {
	found, err := s.takeWaiters(replies)
	for i, w := range found {
		if w != nil {
			w.reply <- replies[i]
		}
	}
	return err
}

// takeWaiters returns the waiters of replies, nil for those without one. It stops at a
// reply to a request that was never made.
func (s *Session) takeWaiters(replies []*proto.Reply) ([]*waiter, error) {
	found := make([]*waiter, len(replies))
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, reply := range replies {
		id := reply.GetId()
		if id == 0 || id > s.lastID {
			return found[:i], wording.Errorf("%w: it answered request %d, which was never made", ErrViolation, id)
		}
		found[i] = s.pending[id]
		delete(s.pending, id)
	}
	return found, nil
}

package host

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/callnode/scheduler/plugins/proto"
)

// errViolation says that the plugin broke the protocol: its process is not used any
// more.
var errViolation = errors.New("it broke the protocol")

// session sends many requests at once over one stream. While one message is being
// sent, those that come wait, and go together in the next.
type session struct {
	stream grpc.BidiStreamingClient[proto.Requests, proto.Replies]
	cancel context.CancelFunc
	limit  int

	mu      sync.Mutex
	more    sync.Cond // the queue is not empty any more, or err is set
	err     error     // why the stream is of no use any more
	last    uint64
	pending map[uint64]*waiter
	queue   []queued
}

// waiter is who waits for a reply; nil comes where the session is at its end. A timer
// of its own costs less than a context with a deadline for every request. Waiters that
// got their reply are used again: nothing can come to them any more.
type waiter struct {
	reply chan *proto.Reply
	timer *time.Timer
}

var waiters = sync.Pool{New: func() any {
	return &waiter{reply: make(chan *proto.Reply, 1), timer: time.NewTimer(0)}
}}

// errOverdue says that the reply did not come in time.
var errOverdue = errors.New("no answer in time")

// frame is how many bytes a request has at most inside a message beside its own: the
// header, the id, the token, the timeout.
const frame = 64

type queued struct {
	request *proto.Request
	size    int
}

func openSession(api proto.PluginClient, limit int) (*session, error) {
	ctx, cancel := context.WithCancel(context.Background())
	stream, err := api.Session(ctx)
	if err != nil {
		cancel()
		return nil, err
	}
	s := &session{stream: stream, cancel: cancel, limit: limit, pending: map[uint64]*waiter{}}
	s.more.L = &s.mu
	go s.send()
	go s.receive()
	return s, nil
}

func (s *session) close() { s.fail(errors.New("the session is closed")) }

// fail ends the session for all.
func (s *session) fail(err error) {
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

// ask sends a request and waits for its reply, not longer than timeout. size is that
// of the request, with its frame.
func (s *session) ask(ctx context.Context, req *proto.Request, size int, timeout time.Duration) (*proto.Reply, error) {
	left := timeout
	if deadline, ok := ctx.Deadline(); ok {
		left = min(left, time.Until(deadline))
	}
	req.TimeoutMs = max(1, left.Milliseconds())
	w := waiters.Get().(*waiter)
	if err := s.enter(w, req, size); err != nil {
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
		s.giveUp(req.Id)
		return nil, ctx.Err()
	case <-w.timer.C:
		s.giveUp(req.Id)
		return nil, errOverdue
	}
}

// enter gives the request its id, and w its reply.
func (s *session) enter(w *waiter, req *proto.Request, size int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	s.last++
	req.Id = s.last
	s.pending[req.Id] = w
	s.enqueue(req, size)
	return nil
}

// giveUp tells the plugin that nobody waits for the reply any more, unless the request
// has not been sent: what a plugin does not take would pile up.
func (s *session) giveUp(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pending, id)
	if i := slices.IndexFunc(s.queue, func(q queued) bool { return q.request.GetId() == id }); i >= 0 {
		s.queue = slices.Delete(s.queue, i, i+1)
		return
	}
	s.enqueue(&proto.Request{Id: id, Ask: &proto.Request_Cancel{Cancel: true}}, frame)
}

// enqueue has a request sent. s.mu is held.
func (s *session) enqueue(req *proto.Request, size int) {
	s.queue = append(s.queue, queued{req, size})
	if len(s.queue) == 1 {
		s.more.Signal()
	}
}

// next waits for requests to send; there are none when the session is at its end.
func (s *session) next() []queued {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		for len(s.queue) == 0 && s.err == nil {
			s.more.Wait()
		}
		s.mu.Unlock()
		runtime.Gosched() // whoever is about to ask goes along
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

func (s *session) send() {
	for queue := s.next(); len(queue) > 0; queue = s.next() {
		for len(queue) > 0 {
			n := s.together(queue)
			message := &proto.Requests{Requests: make([]*proto.Request, n)}
			for i := range n {
				message.Requests[i] = queue[i].request
			}
			if err := s.stream.Send(message); err != nil {
				return // what is wrong, receive learns
			}
			queue = queue[n:]
		}
	}
}

// together is how many of the requests fit into one message; at least one.
func (s *session) together(queue []queued) int {
	size := 0
	for i := range queue {
		if size += queue[i].size; size > s.limit && i > 0 {
			return i
		}
	}
	return len(queue)
}

func (s *session) receive() {
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

// deliver gives replies to those who wait for them; some come too late.
func (s *session) deliver(replies []*proto.Reply) error {
	found, err := s.claim(replies)
	for i, w := range found {
		if w != nil {
			w.reply <- replies[i]
		}
	}
	return err
}

// claim finds who waits for the replies, up to one that nobody asked for.
func (s *session) claim(replies []*proto.Reply) ([]*waiter, error) {
	found := make([]*waiter, len(replies))
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, reply := range replies {
		id := reply.GetId()
		if id == 0 || id > s.last {
			return found[:i], fmt.Errorf("%w: it answered request %d, which was never made", errViolation, id)
		}
		found[i] = s.pending[id]
		delete(s.pending, id)
	}
	return found, nil
}

package host

import (
	"context"
	"errors"
	"fmt"
	"runtime"
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
	wake   chan struct{}
	// broken is closed when the stream is of no use any more; err says why.
	broken chan struct{}

	mu      sync.Mutex
	err     error
	last    uint64
	pending map[uint64]chan<- *proto.Reply
	queue   []queued
}

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
	s := &session{
		stream: stream, cancel: cancel, limit: limit, wake: make(chan struct{}, 1),
		broken: make(chan struct{}), pending: map[uint64]chan<- *proto.Reply{},
	}
	go s.send()
	go s.receive()
	return s, nil
}

func (s *session) close() { s.fail(errors.New("the session is closed")) }

// fail ends the session for all.
func (s *session) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
		s.cancel()
		close(s.broken)
	}
}

// ask sends a request and waits for its reply. size is that of the request, with its
// frame.
func (s *session) ask(ctx context.Context, req *proto.Request, size int) (*proto.Reply, error) {
	if deadline, ok := ctx.Deadline(); ok {
		req.TimeoutMs = max(1, time.Until(deadline).Milliseconds())
	}
	reply := make(chan *proto.Reply, 1)
	s.mu.Lock()
	if s.err != nil {
		defer s.mu.Unlock()
		return nil, s.err
	}
	s.last++
	req.Id = s.last
	s.pending[req.Id] = reply
	s.queue = append(s.queue, queued{req, size})
	s.mu.Unlock()
	s.signal()
	select {
	case r := <-reply:
		return r, nil
	case <-ctx.Done():
		s.giveUp(req.Id)
		return nil, ctx.Err()
	case <-s.broken:
		select {
		case r := <-reply:
			return r, nil
		default:
			return nil, s.err
		}
	}
}

// giveUp tells the plugin that nobody waits for the reply any more.
func (s *session) giveUp(id uint64) {
	cancel := &proto.Request{Id: id, Ask: &proto.Request_Cancel{Cancel: true}}
	s.mu.Lock()
	delete(s.pending, id)
	s.queue = append(s.queue, queued{cancel, frame})
	s.mu.Unlock()
	s.signal()
}

func (s *session) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *session) send() {
	for {
		select {
		case <-s.broken:
			return
		case <-s.wake:
		}
		runtime.Gosched() // whoever is about to ask goes along
		s.mu.Lock()
		queue := s.queue
		s.queue = nil
		s.mu.Unlock()
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
		if err != nil {
			s.fail(err)
			return
		}
		for _, reply := range message.GetReplies() {
			if err := s.deliver(reply); err != nil {
				s.fail(err)
				return
			}
		}
	}
}

func (s *session) deliver(reply *proto.Reply) error {
	s.mu.Lock()
	waiting, ok := s.pending[reply.GetId()]
	delete(s.pending, reply.GetId())
	last := s.last
	s.mu.Unlock()
	switch {
	case ok:
		waiting <- reply
	case reply.GetId() == 0 || reply.GetId() > last:
		return fmt.Errorf("%w: it answered request %d, which was never made", errViolation, reply.GetId())
	}
	return nil // an answer that nobody waits for any more
}

package sdk

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync"

	"google.golang.org/grpc"

	"github.com/callnode/scheduler/plugins/proto"
)

// Session answers requests as they come. While one message of replies is being sent,
// further replies wait, and go together in the next.
func (s *pluginServer) Session(stream grpc.BidiStreamingServer[proto.Requests, proto.Replies]) error {
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	out := newOutbox(stream, s.messageBytes)
	jobs := make(chan sessionJob)
	defer close(jobs)
	var running runningRequests
	for {
		message, err := stream.Recv()
		if err != nil {
			cancel()
			running.Wait()
			out.close()
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		for _, req := range message.GetRequests() {
			if req.GetCancel() {
				running.cancel(req.GetId())
				continue
			}
			ctx, done := running.add(ctx, req)
			j := sessionJob{ctx, req, done}
			select {
			case jobs <- j:
			default:
				go s.answerJobs(j, jobs, out)
			}
		}
	}
}

// sessionJob is one request to answer.
type sessionJob struct {
	ctx  context.Context
	req  *proto.Request
	done func()
}

// answerJobs answers a job, and then waits for others: a goroutine that is used again has
// the stack that it needs. There are as many as the host ever had requests under way at a
// time.
func (s *pluginServer) answerJobs(j sessionJob, more <-chan sessionJob, out *outbox) {
	for ok := true; ok; j, ok = <-more {
		s.answerJob(j, out)
	}
}

func (s *pluginServer) answerJob(j sessionJob, out *outbox) {
	defer j.done()
	out.put(s.answerRequest(j.ctx, j.req))
}

// runningRequests are the requests that are being answered. The host cancels one that is out of time.
type runningRequests struct {
	sync.WaitGroup
	mu      sync.Mutex
	cancels map[uint64]context.CancelFunc // by id; guarded by mu
}

func (r *runningRequests) add(ctx context.Context, req *proto.Request) (requestCtx context.Context, done func()) {
	ctx, cancel := context.WithCancel(ctx)
	r.mu.Lock()
	if r.cancels == nil {
		r.cancels = map[uint64]context.CancelFunc{}
	}
	r.cancels[req.GetId()] = cancel
	r.mu.Unlock()
	r.Add(1)
	return ctx, func() {
		cancel()
		r.mu.Lock()
		delete(r.cancels, req.GetId())
		r.mu.Unlock()
		r.Done()
	}
}

func (r *runningRequests) cancel(id uint64) {
	r.mu.Lock()
	cancel := r.cancels[id]
	r.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// outbox holds replies until they are sent. [newOutbox] makes one for each session.
type outbox struct {
	stream grpc.BidiStreamingServer[proto.Requests, proto.Replies]
	limit  int
	sent   chan struct{} // closed when the last reply was sent

	mu      sync.Mutex // guards all below
	more    sync.Cond  // waiting got its first reply, or closed was set
	waiting []*proto.Reply
	sizes   []int // of the queued replies
	closed  bool
}

func newOutbox(stream grpc.BidiStreamingServer[proto.Requests, proto.Replies], limit int) *outbox {
	o := &outbox{stream: stream, limit: limit, sent: make(chan struct{})}
	o.more.L = &o.mu
	go o.sendAll()
	return o
}

func (o *outbox) put(reply *proto.Reply, size int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting, o.sizes = append(o.waiting, reply), append(o.sizes, size)
	if len(o.waiting) == 1 {
		o.more.Signal()
	}
}

// close waits until all replies are sent.
func (o *outbox) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.more.Signal()
	<-o.sent
}

// takeReplies waits for replies to send and takes them all; none when the outbox is
// closed.
func (o *outbox) takeReplies() ([]*proto.Reply, []int) {
	o.mu.Lock()
	for len(o.waiting) == 0 && !o.closed {
		o.more.Wait()
	}
	o.mu.Unlock()
	runtime.Gosched() // replies that are nearly ready go along
	o.mu.Lock()
	defer o.mu.Unlock()
	replies, sizes := o.waiting, o.sizes
	o.waiting, o.sizes = nil, nil
	return replies, sizes
}

func (o *outbox) sendAll() {
	defer close(o.sent)
	for replies, sizes := o.takeReplies(); len(replies) > 0; replies, sizes = o.takeReplies() {
		for len(replies) > 0 {
			n := o.countFitting(sizes)
			if err := o.stream.Send(&proto.Replies{Replies: replies[:n]}); err != nil {
				return // Recv returns the error, too
			}
			replies, sizes = replies[n:], sizes[n:]
		}
	}
}

// countFitting returns how many replies of those sizes fit into one message; at least one.
func (o *outbox) countFitting(sizes []int) int {
	sum := 0
	for i, size := range sizes {
		sum += size + replyOverhead
		if sum > o.limit && i > 0 {
			return i
		}
	}
	return len(sizes)
}

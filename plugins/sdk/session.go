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

// Session answers requests as they come. While one message of replies is being
// sent those that get ready wait, and go together in the next.
func (s *pluginServer) Session(stream grpc.BidiStreamingServer[proto.Requests, proto.Replies]) error {
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	out := &outbox{limit: s.limit, wake: make(chan struct{}, 1)}
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		out.run(ctx, stream)
	}()

	var running inflight
	for {
		message, err := stream.Recv()
		if err != nil {
			cancel()
			running.Wait()
			<-sent
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
			go func() {
				defer done()
				out.put(s.answer(ctx, req))
			}()
		}
	}
}

// inflight is the requests that are being answered. The host cancels one whose time
// is over.
type inflight struct {
	sync.WaitGroup
	mu      sync.Mutex
	cancels map[uint64]context.CancelFunc
}

func (r *inflight) add(ctx context.Context, req *proto.Request) (requestCtx context.Context, done func()) {
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

func (r *inflight) cancel(id uint64) {
	r.mu.Lock()
	cancel := r.cancels[id]
	r.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// outbox holds replies until they are sent.
type outbox struct {
	mu      sync.Mutex
	waiting []*proto.Reply
	sizes   []int // of those
	wake    chan struct{}
	limit   int
}

func (o *outbox) put(reply *proto.Reply, size int) {
	o.mu.Lock()
	o.waiting, o.sizes = append(o.waiting, reply), append(o.sizes, size)
	o.mu.Unlock()
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

func (o *outbox) run(ctx context.Context, stream grpc.BidiStreamingServer[proto.Requests, proto.Replies]) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-o.wake:
		}
		runtime.Gosched() // what is nearly ready goes along
		o.mu.Lock()
		batch, sizes := o.waiting, o.sizes
		o.waiting, o.sizes = nil, nil
		o.mu.Unlock()
		for len(batch) > 0 {
			n := o.together(sizes)
			if err := stream.Send(&proto.Replies{Replies: batch[:n]}); err != nil {
				return // the receiver learns what is wrong
			}
			batch, sizes = batch[n:], sizes[n:]
		}
	}
}

// together is how many replies of those sizes fit into one message; at least one.
func (o *outbox) together(sizes []int) int {
	// A reply has a few bytes more inside a message than alone.
	const frame = 16
	sum := 0
	for i, size := range sizes {
		if sum += size + frame; sum > o.limit && i > 0 {
			return i
		}
	}
	return len(sizes)
}

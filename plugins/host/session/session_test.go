package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/callnode/scheduler/plugins/proto"
)

// wire is a plugin that only serves a session, by hand.
type wire struct {
	proto.PluginClient
	grpc.BidiStreamingClient[proto.Requests, proto.Replies]
	ctx     context.Context
	asked   chan *proto.Requests
	replies chan *proto.Replies
}

func (w *wire) Session(ctx context.Context, _ ...grpc.CallOption) (grpc.BidiStreamingClient[proto.Requests, proto.Replies], error) {
	w.ctx = ctx
	return w, nil
}

func (w *wire) Send(m *proto.Requests) error {
	select {
	case w.asked <- m:
		return nil
	case <-w.ctx.Done():
		return w.ctx.Err()
	}
}

func (w *wire) Recv() (*proto.Replies, error) {
	select {
	case m := <-w.replies:
		return m, nil
	case <-w.ctx.Done():
		return nil, w.ctx.Err()
	}
}

func sessionBy(t *testing.T) (*Session, *wire) {
	t.Helper()
	w := &wire{asked: make(chan *proto.Requests), replies: make(chan *proto.Replies)}
	s, err := Open(w, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, w
}

// names sends a request, identified by the token, and checks that the reply belongs to it.
func names(s *Session, name string, timeout time.Duration) error {
	r, err := s.Ask(context.Background(), &proto.Request{Token: name, Ask: &proto.Request_Judge{}}, Overhead, timeout)
	if err == nil && r.GetFailure().GetMessage() != name {
		err = fmt.Errorf("%q got the reply to %q", name, r.GetFailure().GetMessage())
	}
	return err
}

// Whether a reply comes in time, late, or twice: each request gets only its own.
func TestSessionKeepsRepliesApart(t *testing.T) {
	s, w := sessionBy(t)
	go func() {
		var late []*proto.Reply
		for {
			var m *proto.Requests
			select {
			case m = <-w.asked:
			case <-w.ctx.Done():
				return
			}
			out := &proto.Replies{}
			for _, req := range m.GetRequests() {
				reply := &proto.Reply{Id: req.GetId(), Answer: &proto.Reply_Failure{Failure: &proto.Failure{Message: req.GetToken()}}}
				switch {
				case req.GetCancel():
					out.Replies, late = append(out.Replies, late...), nil
				case req.GetTimeoutMs() < 1000:
					late = append(late, reply)
				default:
					out.Replies = append(out.Replies, reply, reply)
				}
			}
			select {
			case w.replies <- out:
			case <-w.ctx.Done():
				return
			}
		}
	}()
	var all sync.WaitGroup
	var overdue atomic.Int64
	for i := range 8 {
		all.Go(func() {
			for k := range 100 {
				timeout := time.Minute
				if k%10 == i {
					timeout = time.Millisecond
				}
				err := names(s, fmt.Sprintf("%d of %d", k, i), timeout)
				switch {
				case errors.Is(err, ErrOverdue) && timeout < time.Second:
					overdue.Add(1)
				case err != nil:
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if overdue.Load() == 0 {
		t.Error("no reply was late")
	}
	if len(s.pending) != 0 {
		t.Errorf("%d requests are still waited for", len(s.pending))
	}
}

// The end of a session ends every wait for it; requests answered before stay answered.
func TestSessionEndsForAll(t *testing.T) {
	s, w := sessionBy(t)
	var all sync.WaitGroup
	errs := make([]error, 3)
	for i := range errs {
		all.Go(func() { errs[i] = names(s, "me", time.Minute) })
	}
	for n := 0; n < len(errs); {
		n += len((<-w.asked).GetRequests())
	}
	good := &proto.Reply{Id: 1, Answer: &proto.Reply_Failure{Failure: &proto.Failure{Message: "me"}}}
	w.replies <- &proto.Replies{Replies: []*proto.Reply{good, {Id: 9}}}
	all.Wait()
	answered := 0
	for _, err := range errs {
		switch {
		case err == nil:
			answered++
		case !errors.Is(err, ErrViolation):
			t.Errorf("got %v, want %v", err, ErrViolation)
		}
	}
	if answered != 1 {
		t.Errorf("%d were answered, want 1", answered)
	}
	if err := names(s, "me", time.Minute); !errors.Is(err, ErrViolation) {
		t.Errorf("later: got %v", err)
	}
}

// A request that a plugin does not read, and that is no longer waited for, is not kept for it; later ones are
// sent.
func TestSessionForgets(t *testing.T) {
	s, w := sessionBy(t)
	first := make(chan error)
	go func() { first <- names(s, "first", time.Minute) }()
	for { // until the sender is held up
		s.mu.Lock()
		sending := s.lastID == 1 && len(s.queue) == 0
		s.mu.Unlock()
		if sending {
			break
		}
		time.Sleep(time.Millisecond)
	}
	for range 10 {
		if err := names(s, "nobody", time.Millisecond); !errors.Is(err, ErrOverdue) {
			t.Errorf("got %v", err)
		}
	}
	s.mu.Lock()
	if len(s.queue) > 0 {
		t.Errorf("%d requests are kept", len(s.queue))
	}
	s.mu.Unlock()
	last := make(chan error)
	go func() { last <- names(s, "last", time.Minute) }()
	for _, want := range []string{"first", "last"} {
		asked := (<-w.asked).GetRequests()
		if len(asked) != 1 || asked[0].GetToken() != want {
			t.Errorf("sent was %v, want %s", asked, want)
		}
		w.replies <- &proto.Replies{Replies: []*proto.Reply{{Id: asked[0].GetId(), Answer: &proto.Reply_Failure{Failure: &proto.Failure{Message: want}}}}}
	}
	for _, done := range []chan error{first, last} {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	pb "google.golang.org/protobuf/proto"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/plugins/proto"
)

// slot waits until fewer than limits.concurrency requests run.
func (p *plugin) slot(ctx context.Context, what string) (free func(), err error) {
	free = func() { <-p.slots }
	select {
	case p.slots <- struct{}{}: // also where the time of the step is over: nobody was in its way
		return free, nil
	default:
	}
	select {
	case p.slots <- struct{}{}:
		return free, nil
	case <-ctx.Done():
		return nil, p.over(ctx, what, fmt.Sprintf("it has %d requests to answer before (limits.concurrency in plugin.yaml)", cap(p.slots)))
	}
}

// over is the error of a step that is over. Where that is so because its time is, it
// says whom it waited for, and why.
func (p *plugin) over(ctx context.Context, what, why string) error {
	if err := ctx.Err(); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return p.errorf(calls.Timeout, what, "%s: %w", why, ctx.Err())
}

// ready gives the running process and a slot.
func (p *plugin) ready(ctx context.Context, what string) (proc *process, free func(), err error) {
	free, err = p.slot(ctx, what)
	if err != nil {
		return nil, nil, err
	}
	proc, err = p.acquire(ctx)
	switch {
	case err == nil:
		return proc, free, nil
	case ctx.Err() != nil:
		err = p.over(ctx, what, "it is still being started")
	case errors.As(err, new(permanent)):
		err = p.errorf(calls.Invalid, what, "%w", err)
	case errors.Is(err, errClosed):
		err = p.errorf(calls.Plugin, what, "%w", err)
	default:
		err = p.fault(what, "%w", err)
	}
	free()
	return nil, nil, err
}

// ask sends one request and gives the reply, which is no failure. may is what the
// plugin may use of the host meanwhile.
func (p *plugin) ask(ctx context.Context, what string, req *proto.Request, may func() *ticket) (*proto.Reply, error) {
	proc, free, err := p.ready(ctx, what)
	if err != nil {
		return nil, err
	}
	defer free()
	size := pb.Size(req) + frame
	if size > p.limits.maxMessage() {
		return nil, p.tooLarge(what, "request", size)
	}
	timeout := time.Duration(p.limits.Timeout)
	inner := ctx
	if proc.session == nil || proc.services != nil { // else the session sees to the limit
		var cancel context.CancelFunc
		inner, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	var t *ticket
	if proc.services != nil {
		t = may()
		token, over := proc.services.issue(inner, t)
		defer over()
		req.Token = token
	}
	var reply *proto.Reply
	if proc.session != nil {
		reply, err = proc.session.ask(inner, req, size, timeout)
	} else {
		reply, err = proc.api.Ask(inner, req)
	}
	if err != nil {
		return nil, p.broken(ctx, inner, proc, what, err, proc.session != nil)
	}
	if f := reply.GetFailure(); f != nil {
		p.succeeded()
		return nil, p.failed(what, f, t)
	}
	return reply, nil
}

func (p *plugin) tooLarge(what, thing string, size int) error {
	return p.errorf(calls.Plugin, what, "the %s has %d bytes, more than %d", thing, size, p.limits.maxMessage()).
		WithHint("raise limits.max_message_mib in plugin.yaml, or pass less")
}

// exitNotice is how long the end of a process is waited for after its connection
// broke: it comes a moment later.
const exitNotice = 2 * time.Second

// clocks is how far two clocks of one machine are apart.
const clocks = 100 * time.Millisecond

// await waits for the deadline of a context that is about to be over.
func await(ctx context.Context) {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < clocks {
		<-ctx.Done()
	}
}

// broken words what went wrong between host and plugin. outer is what the step
// allows, inner that with the plugin's own limit. shared says that others used the
// same stream, which is of no use any more.
func (p *plugin) broken(outer, inner context.Context, proc *process, what string, err error, shared bool) error {
	if status.Code(err) == codes.DeadlineExceeded { // the other side has the deadline too, and may be first
		await(outer)
		await(inner)
	}
	switch {
	case outer.Err() != nil:
		if errors.Is(outer.Err(), context.DeadlineExceeded) {
			p.suspect(proc)
		}
		return p.over(outer, what, "no answer yet")
	case errors.Is(err, errOverdue), errors.Is(inner.Err(), context.DeadlineExceeded):
		p.suspect(proc)
		return p.errorf(calls.Timeout, what, "no answer within %s", time.Duration(p.limits.Timeout)).
			WithHint("limits.timeout in plugin.yaml is the time for one request")
	case status.Code(err) == codes.ResourceExhausted:
		if shared {
			p.drop(proc, errors.New("its answer was too large"))
		}
		return p.errorf(calls.Plugin, what, "the answer is larger than %d bytes, or was refused for its size: %s", p.limits.maxMessage(), statusText(err)).
			WithHint("raise limits.max_message_mib in plugin.yaml, or answer less")
	}
	err = fault(proc, err)
	gone := !proc.alive()
	if gone {
		err = withOutput(err, proc.out)
	}
	if shared || gone || errors.Is(err, errViolation) {
		p.drop(proc, err)
	}
	return p.fault(what, "%w", err)
}

// fault waits a moment for the end of a process whose connection broke, and says
// how it ended; where it lives on, what gRPC says.
func fault(proc *process, err error) error {
	if errors.Is(err, errViolation) {
		return err
	}
	if code := status.Code(err); code == codes.Unavailable || code == codes.Unknown || code == codes.Canceled {
		select {
		case <-proc.exited:
		case <-time.After(exitNotice):
		}
	}
	if !proc.alive() {
		return fmt.Errorf("its process ended: %s", proc.status())
	}
	return errors.New(statusText(err))
}

// statusText is what gRPC says, as one of our errors.
func statusText(err error) string {
	s, ok := status.FromError(err)
	if !ok {
		return message(err.Error())
	}
	return fmt.Sprintf("%s (%s)", message(s.Message()), s.Code())
}

// failed is what a function of the plugin says went wrong. What went wrong in a
// service of the host, and the plugin only passes on, keeps its kind and its hint.
func (p *plugin) failed(what string, f *proto.Failure, t *ticket) error {
	kinds := []calls.Kind{calls.Invalid, calls.NotFound, calls.Missing, calls.Provider, calls.Timeout}
	kind, hint := calls.Kind(f.GetKind()), message(f.GetHint())
	if !slices.Contains(kinds, kind) {
		kind = calls.Plugin
		if cause := t.cause(f.GetMessage()); cause != nil {
			if of := calls.KindOf(cause); of == calls.Budget || slices.Contains(kinds, of) {
				kind = of
			}
			hint = cmp.Or(hint, calls.HintOf(cause))
		}
	}
	err := p.errorf(kind, what, "%s", message(f.GetMessage()))
	if hint != "" {
		err = err.WithHint("%s", hint)
	}
	return err
}

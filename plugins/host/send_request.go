package host

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	pb "google.golang.org/protobuf/proto"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/plugins/host/services"
	"github.com/callnode/scheduler/plugins/host/session"
	"github.com/callnode/scheduler/plugins/manifest"
	"github.com/callnode/scheduler/plugins/proto"
)

// acquireSlot waits until fewer than limits.concurrency requests run.
func (p *plugin) acquireSlot(ctx context.Context, what wording.Text) (release func(), err error) {
	release = func() { <-p.slots }
	select {
	case p.slots <- struct{}{}: // first, even for a step that is out of time: no other request delayed it
		return release, nil
	default:
	}
	select {
	case p.slots <- struct{}{}:
		return release, nil
	case <-ctx.Done():
		return nil, p.stepEnded(ctx, what, "%d requests before it are not answered yet (limits.concurrency in plugin.yaml): %w", cap(p.slots), ctx.Err())
	}
}

// stepEnded returns the error of a step that ended. If its time was over, the format gives the error, which names
// the reason of its wait.
func (p *plugin) stepEnded(ctx context.Context, what wording.Text, format string, args ...any) error {
	if err := ctx.Err(); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return p.errorf(calls.Timeout, what, format, args...)
}

// acquireForRequest returns a request to the running instance, with a slot.
func (p *plugin) acquireForRequest(ctx context.Context, what wording.Text) (*request, error) {
	release, err := p.acquireSlot(ctx, what)
	if err != nil {
		return nil, err
	}
	instance, err := p.acquireInstance(ctx)
	switch {
	case err == nil:
		return newRequest(instance, release), nil
	case ctx.Err() != nil:
		err = p.stepEnded(ctx, what, "it is still being started: %w", ctx.Err())
	case isPermanent(err):
		err = p.errorf(calls.Invalid, what, "%w", err)
	case errors.Is(err, errClosed):
		err = p.errorf(calls.Plugin, what, "%w", err)
	default:
		err = p.faultf(what, "%w", err)
	}
	release()
	return nil, err
}

// sendRequest sends one request and returns the reply, which is not a failure. newGrant returns the services of
// the host for the plugin meanwhile.
func (p *plugin) sendRequest(ctx context.Context, what wording.Text, req *proto.Request, newGrant func() *services.Grant) (*proto.Reply, error) {
	instance, err := p.acquireForRequest(ctx, what)
	if err != nil {
		return nil, err
	}
	defer instance.release()
	size := pb.Size(req) + session.Overhead
	if size > p.limits.MessageBytes() {
		return nil, p.tooLarge(what, wording.Say("the request"), size)
	}
	timeout := time.Duration(p.limits.Timeout)
	limited := ctx
	if instance.session == nil || instance.services != nil { // else the session enforces the limit
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	var grant *services.Grant
	if instance.services != nil {
		grant = newGrant()
		token, revoke := instance.services.Issue(limited, grant)
		defer revoke()
		req.Token = token
	}
	var reply *proto.Reply
	if instance.session != nil {
		reply, err = instance.session.Ask(limited, req, size, timeout)
	} else {
		reply, err = instance.api.Ask(limited, req)
	}
	if err != nil {
		return nil, p.requestError(ctx, limited, instance, what, err, instance.session != nil)
	}
	if f := reply.GetFailure(); f != nil {
		p.resetFailures()
		return nil, p.failureError(what, f, grant)
	}
	return reply, nil
}

func (p *plugin) tooLarge(what, thing wording.Text, size int) error {
	return p.errorf(calls.Plugin, what, "%s has %d bytes, more than %d", thing, size, p.limits.MessageBytes()).
		WithHint("raise limits.max_message_mib in plugin.yaml, or pass less")
}

// requestError explains an error between host and plugin, and drops an instance that cannot be used any more. ctx
// is the step's context, limited the one with the plugin's own limit. shared reports that the request went through
// the session, which other requests use too.
func (p *plugin) requestError(ctx, limited context.Context, r *request, what wording.Text, err error, shared bool) error {
	instance := r.Instance
	if status.Code(err) == codes.DeadlineExceeded { // the other side has the deadline too, and may be first
		AwaitDeadline(ctx)
		AwaitDeadline(limited)
	}
	switch {
	case ctx.Err() != nil:
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			p.checkAlive(instance)
		}
		return p.stepEnded(ctx, what, "no answer yet: %w", ctx.Err())
	case errors.Is(err, session.ErrOverdue), errors.Is(limited.Err(), context.DeadlineExceeded):
		p.checkAlive(instance)
		return p.errorf(calls.Timeout, what, "no answer within %s", time.Duration(p.limits.Timeout)).
			WithHint("limits.timeout in plugin.yaml is the time for one request")
	case status.Code(err) == codes.ResourceExhausted:
		if shared {
			p.dropInstance(instance, wording.Errorf("its answer was too large"))
		}
		return p.errorf(calls.Plugin, what, "the answer is larger than %d bytes, or was refused for its size: %s", p.limits.MessageBytes(), statusText(p.opts.Hidden, err)).
			WithHint("raise limits.max_message_mib in plugin.yaml, or answer less")
	}
	err = instance.ExplainError(err)
	gone := !instance.Alive()
	if gone {
		err = r.Annotate(err)
	}
	if shared || gone || errors.Is(err, session.ErrViolation) {
		p.dropInstance(instance, err)
	}
	return p.faultf(what, "%w", err)
}

// failureError returns the error for a failure that a function of the plugin reports. One
// that came from a service of the host, and the plugin only passes on, keeps its kind and
// its hint.
func (p *plugin) failureError(what wording.Text, f *proto.Failure, grant *services.Grant) error {
	kinds := []calls.Kind{calls.Invalid, calls.NotFound, calls.Missing, calls.Provider, calls.Timeout}
	kind, hint := calls.Kind(f.GetKind()), manifest.Message(p.opts.Hidden, f.GetHint())
	if !slices.Contains(kinds, kind) {
		kind = calls.Plugin
		if cause := grant.CauseOf(f.GetMessage()); cause != nil {
			if of := calls.KindOf(cause); of == calls.Budget || slices.Contains(kinds, of) {
				kind = of
			}
			hint = cmp.Or(hint, calls.HintOf(cause))
		}
	}
	err := p.errorf(kind, what, "%s", manifest.Message(p.opts.Hidden, f.GetMessage()))
	if hint != "" {
		err = err.WithHint("%s", hint)
	}
	return err
}

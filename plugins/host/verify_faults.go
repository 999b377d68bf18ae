package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/plugins/proto"
)

// stillWell says whether the process answers, and is the one that it was.
func (v *verification) stillWell(ctx context.Context, proc *process) error {
	now, err := v.plugin.acquire(ctx)
	if err != nil {
		return err
	}
	if now != proc {
		return errors.New("the process did not survive it")
	}
	if err := proc.ping(ctx); err != nil {
		return fmt.Errorf("the health check says: %s", statusText(err))
	}
	return nil
}

// errNoFailure says that a fault was not answered as one.
var errNoFailure = errors.New("it answered as if nothing were wrong: answer with a Failure that says what is wrong")

// raw sends a request as it is and wants a failure.
func (v *verification) raw(ctx context.Context, req *proto.Request) error {
	proc, err := v.plugin.acquire(ctx)
	if err != nil {
		return err
	}
	timeout := time.Duration(v.plugin.limits.Timeout)
	rctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	reply, err := proc.api.Ask(rctx, req)
	if err := wantFailure(rctx, proc, reply, err); err != nil {
		return fmt.Errorf("by Ask: %w", err)
	}
	if proc.session != nil {
		reply, err := proc.session.ask(rctx, req, 0, 2*timeout) // rctx ends it
		if err := wantFailure(rctx, proc, reply, err); err != nil {
			return fmt.Errorf("by Session: %w", err)
		}
	}
	return v.stillWell(ctx, proc)
}

func wantFailure(ctx context.Context, proc *process, reply *proto.Reply, err error) error {
	switch {
	case err != nil:
		return noStatus(ctx, proc, err)
	case reply.GetFailure() == nil:
		return errNoFailure
	}
	return nil
}

// noStatus words a gRPC status that came where a failure is wanted.
func noStatus(ctx context.Context, proc *process, err error) error {
	tooLarge := status.Code(err) == codes.ResourceExhausted
	if status.Code(err) == codes.DeadlineExceeded { // the other side may be first to see it
		await(ctx)
	}
	err = fault(proc, err)
	switch {
	case tooLarge:
		return fmt.Errorf("%w: take messages up to what the environment variable %s says", err, proto.MaxMessageKey)
	case ctx.Err() != nil:
		return errors.New("it did not answer: answer with a Failure that says what is wrong")
	case !proc.alive():
		return withOutput(fmt.Errorf("%w: answer with a Failure that says what is wrong", err), proc.out)
	}
	return fmt.Errorf("it answered with a gRPC status, %w: answer with a Failure in the reply", err)
}

func (v *verification) unknown(ctx context.Context) error {
	const name = "no_such_function"
	state := &proto.State{}
	for _, r := range []struct {
		kind string
		req  *proto.Request
	}{
		{"importance", &proto.Request{Ask: &proto.Request_Judge{Judge: &proto.Judge{Function: name, State: state}}}},
		{"variable", &proto.Request{Ask: &proto.Request_Resolve{Resolve: &proto.Resolve{Names: []string{name}, State: state}}}},
		{"init", &proto.Request{Ask: &proto.Request_Init{Init: &proto.Init{Function: name, Params: []byte("{}"), State: state}}}},
		{"none", &proto.Request{}},
	} {
		if err := v.raw(ctx, r.req); err != nil {
			return fmt.Errorf("a request of the kind %s: %w", r.kind, err)
		}
	}
	if err := v.exec(ctx, &proto.ExecRequest{Function: name, Input: []byte("{}"), State: state}); err != nil {
		return fmt.Errorf("call: %w", err)
	}
	return nil
}

// exec wants a failure too.
func (v *verification) exec(ctx context.Context, req *proto.ExecRequest) error {
	proc, err := v.plugin.acquire(ctx)
	if err != nil {
		return err
	}
	rctx, cancel := context.WithTimeout(ctx, time.Duration(v.plugin.limits.Timeout))
	defer cancel()
	stream, err := proc.api.Exec(rctx, req)
	var chunk *proto.Chunk
	for err == nil && chunk.GetFailure() == nil {
		chunk, err = stream.Recv()
	}
	switch {
	case errors.Is(err, io.EOF):
		return errNoFailure
	case err != nil:
		return noStatus(rctx, proc, err)
	}
	return v.stillWell(ctx, proc)
}

func (v *verification) garbage(ctx context.Context) error {
	for i := range v.plugin.entry.Functions {
		f := &v.plugin.entry.Functions[i]
		if f.Kind != Call {
			continue
		}
		if err := v.exec(ctx, &proto.ExecRequest{Function: f.Name, Input: []byte(`{"x":`), State: &proto.State{}}); err != nil {
			return fmt.Errorf("%s: %w", f.label(), err)
		}
	}
	return nil
}

// large sends a request that is nearly as large as the manifest allows: libraries
// for gRPC have limits of their own.
func (v *verification) large(ctx context.Context) error {
	const most = 64 << 20 // it need not become slow
	size := min(v.plugin.limits.maxMessage(), most) - 1<<10
	err := v.raw(ctx, &proto.Request{Ask: &proto.Request_Judge{Judge: &proto.Judge{
		Function: "no_such_function", State: &proto.State{Input: strings.Repeat("x", size)},
	}}})
	if err != nil {
		return fmt.Errorf("a request of %d bytes: %w", size, err)
	}
	return nil
}

// concurrent mixes requests of all functions; each answer must be that of its
// request.
func (v *verification) concurrent(ctx context.Context) error {
	var all sync.WaitGroup
	errs := make(chan error, 16)
	sound := v.sound()
	for k := range cap(errs) {
		all.Go(func() {
			for i := range sound {
				f := sound[(i+k)%len(sound)]
				if err := v.once(ctx, f, k+1); err != nil {
					errs <- fmt.Errorf("%s: %w", f.label(), err)
					return
				}
			}
		})
	}
	all.Wait()
	close(errs)
	return <-errs
}

// once uses a function once; an importance function gets so many items, by which
// its answer is told from others.
func (v *verification) once(ctx context.Context, f *Function, items int) error {
	if f.Kind != Importance {
		return v.function(ctx, f)
	}
	function, _ := v.registry.Importance(f.Title(v.plugin.entry.Name))
	_, err := function.Judge(ctx, verifyState(), make([]plugins.Item, items))
	return err
}

// cancelled gives requests up at once.
func (v *verification) cancelled(ctx context.Context) error {
	proc, err := v.plugin.acquire(ctx)
	if err != nil {
		return err
	}
	for _, f := range v.sound() {
		over, cancel := context.WithCancel(ctx)
		timer := time.AfterFunc(time.Millisecond, cancel)
		err := v.once(over, f, 100)
		timer.Stop()
		cancel()
		if err != nil && !errors.Is(err, context.Canceled) {
			return fmt.Errorf("%s: %w", f.label(), err)
		}
	}
	return v.stillWell(ctx, proc)
}

// shutdown wants that the process ends by itself.
func (v *verification) shutdown(ctx context.Context) error {
	proc, err := v.plugin.acquire(ctx)
	if err != nil {
		return err
	}
	v.plugin.mu.Lock()
	v.plugin.current = nil
	v.plugin.mu.Unlock()
	proc.stop(v.plugin.host.opts.StopGrace)
	if status := proc.status(); strings.Contains(status, "signal") {
		return fmt.Errorf("it did not end within %s of plugin.GRPCController/Shutdown and had to be killed (%s)", v.plugin.host.opts.StopGrace, status)
	}
	return nil
}

// orphan closes the pipe that says that the host lives.
func (v *verification) orphan(ctx context.Context) error {
	proc, err := v.plugin.acquire(ctx)
	if err != nil || proc.abandon == nil {
		return err
	}
	v.plugin.mu.Lock()
	v.plugin.current = nil
	v.plugin.mu.Unlock()
	defer proc.stop(0)
	proc.abandon()
	select {
	case <-proc.exited:
		return nil
	case <-time.After(v.plugin.host.opts.StopGrace):
		return fmt.Errorf("it did not end within %s of end of file on the descriptor that the environment variable %s names: read it, and exit when it ends", v.plugin.host.opts.StopGrace, proto.LifeKey)
	}
}

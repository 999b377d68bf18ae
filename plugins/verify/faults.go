package verify

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/plugins/host"
	"github.com/callnode/scheduler/plugins/manifest"
	"github.com/callnode/scheduler/plugins/proto"
)

// checkSurvived returns an error if the plugin does not answer any more, or runs in another process than before.
func (s *suite) checkSurvived(ctx context.Context, instance *host.Instance) error {
	now, err := s.probe.Instance(ctx)
	if err != nil {
		return err
	}
	if now != instance {
		return wording.Errorf("the process did not survive it")
	}
	if err := instance.Ping(ctx); err != nil {
		return wording.Errorf("the health check fails: %w", err)
	}
	return nil
}

// errNoFailure is the error of a fault that was answered with a result.
var errNoFailure = wording.Errorf("it answered as if nothing were wrong (answer with a Failure that tells what is wrong)")

// wantFailure sends a request, by itself and through the session, and requires a failure.
func (s *suite) wantFailure(ctx context.Context, req *proto.Request) error {
	instance, err := s.probe.Instance(ctx)
	if err != nil {
		return err
	}
	timeout := time.Duration(s.probe.Limits().Timeout)
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	reply, err := instance.Ask(limited, req)
	if err := checkFailure(limited, instance, reply, err); err != nil {
		return wording.Errorf("by Ask: %w", err)
	}
	if instance.HasSession() {
		reply, err := instance.AskSession(limited, req, 2*timeout) // the context ends it
		if err := checkFailure(limited, instance, reply, err); err != nil {
			return wording.Errorf("by Session: %w", err)
		}
	}
	return s.checkSurvived(ctx, instance)
}

// checkFailure returns an error if a reply is not a failure.
func checkFailure(ctx context.Context, instance *host.Instance, reply *proto.Reply, err error) error {
	if err != nil {
		return explainStatus(ctx, instance, err)
	}
	if reply.GetFailure() == nil {
		return errNoFailure
	}
	return nil
}

// explainStatus explains a gRPC status that came in place of a failure.
func explainStatus(ctx context.Context, instance *host.Instance, err error) error {
	tooLarge := status.Code(err) == codes.ResourceExhausted
	if status.Code(err) == codes.DeadlineExceeded { // the other side may be first to see it
		host.AwaitDeadline(ctx)
	}
	err = instance.ExplainError(err)
	switch {
	case tooLarge:
		return wording.Errorf("%w (accept messages up to the size in the environment variable %s)", err, proto.MaxMessageKey)
	case ctx.Err() != nil:
		return wording.Errorf("it did not answer (answer with a Failure that tells what is wrong)")
	case !instance.Alive():
		return instance.Annotate(wording.Errorf("%w (answer with a Failure that tells what is wrong)", err))
	}
	return wording.Errorf("it answered with a gRPC status: %w (answer with a Failure in the reply)", err)
}

func (s *suite) checkUnknownFunction(ctx context.Context) error {
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
		if err := s.wantFailure(ctx, r.req); err != nil {
			return wording.Errorf("a request of the kind %s: %w", r.kind, err)
		}
	}
	if err := s.wantExecFailure(ctx, &proto.ExecRequest{Function: name, Input: []byte("{}"), State: state}); err != nil {
		return wording.Errorf("call: %w", err)
	}
	return nil
}

// wantExecFailure executes a call and requires a failure.
func (s *suite) wantExecFailure(ctx context.Context, req *proto.ExecRequest) error {
	instance, err := s.probe.Instance(ctx)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, time.Duration(s.probe.Limits().Timeout))
	defer cancel()
	stream, err := instance.Exec(limited, req)
	var chunk *proto.Chunk
	for err == nil && chunk.GetFailure() == nil {
		chunk, err = stream.Recv()
	}
	if errors.Is(err, io.EOF) {
		return errNoFailure
	}
	if err != nil {
		return explainStatus(limited, instance, err)
	}
	return s.checkSurvived(ctx, instance)
}

// checkGarbage sends half of a JSON document to each call.
func (s *suite) checkGarbage(ctx context.Context) error {
	for i := range s.entry.Functions {
		f := &s.entry.Functions[i]
		if f.Kind != manifest.Call {
			continue
		}
		if err := s.wantExecFailure(ctx, &proto.ExecRequest{Function: f.Name, Input: []byte(`{"x":`), State: &proto.State{}}); err != nil {
			return wording.Errorf("%s: %w", label(f), err)
		}
	}
	return nil
}

// checkLargeRequest sends a request that is nearly as large as the manifest allows:
// libraries for gRPC have limits of their own.
func (s *suite) checkLargeRequest(ctx context.Context) error {
	const most = 64 << 20 // larger ones would only take longer
	size := min(s.probe.Limits().MessageBytes(), most) - 1<<10
	err := s.wantFailure(ctx, &proto.Request{Ask: &proto.Request_Judge{Judge: &proto.Judge{
		Function: "no_such_function", State: &proto.State{Input: strings.Repeat("x", size)},
	}}})
	if err != nil {
		return wording.Errorf("a request of %d bytes: %w", size, err)
	}
	return nil
}

// checkConcurrency mixes requests of all functions; each answer must belong to its request.
func (s *suite) checkConcurrency(ctx context.Context) error {
	var all sync.WaitGroup
	errs := make(chan error, 16)
	working := s.workingFunctions()
	for k := range cap(errs) {
		all.Go(func() {
			for i := range working {
				f := working[(i+k)%len(working)]
				if err := s.useOnce(ctx, f, k+1); err != nil {
					errs <- wording.Errorf("%s: %w", label(f), err)
					return
				}
			}
		})
	}
	all.Wait()
	close(errs)
	return <-errs
}

// useOnce uses a function once. An importance function gets so many items: the number identifies its answer.
func (s *suite) useOnce(ctx context.Context, f *manifest.Function, items int) error {
	if f.Kind != manifest.Importance && f.Kind != manifest.Check {
		return s.checkFunction(ctx, f)
	}
	function, _ := s.judgeOf(f)
	_, err := function.Judge(ctx, sampleState(), make([]plugins.Item, items))
	return err
}

// checkCancellation cancels requests right after they were made.
func (s *suite) checkCancellation(ctx context.Context) error {
	instance, err := s.probe.Instance(ctx)
	if err != nil {
		return err
	}
	for _, f := range s.workingFunctions() {
		brief, cancel := context.WithCancel(ctx)
		timer := time.AfterFunc(time.Millisecond, cancel)
		err := s.useOnce(brief, f, 100)
		isCancelled := brief.Err() != nil
		timer.Stop()
		cancel()
		// A plugin may pass on that the host no longer answers it: a cancelled request may fail with any error.
		if err != nil && !isCancelled {
			return wording.Errorf("%s: %w", label(f), err)
		}
	}
	return s.checkSurvived(ctx, instance)
}

// checkShutdown requires that the process ends by itself when it is asked to.
func (s *suite) checkShutdown(ctx context.Context) error {
	instance, err := s.probe.TakeInstance(ctx)
	if err != nil {
		return err
	}
	gracePeriod := s.probe.Options().GracePeriod
	instance.Stop(gracePeriod)
	if status := instance.Status(); strings.Contains(status, "signal") {
		return wording.Errorf("it did not end within %s of plugin.GRPCController/Shutdown and had to be killed (%s)", gracePeriod, status)
	}
	return nil
}

// checkOrphan closes the pipe by which the process learns that the host is gone.
func (s *suite) checkOrphan(ctx context.Context) error {
	instance, err := s.probe.TakeInstance(ctx)
	if err != nil {
		return err
	}
	defer instance.Stop(0)
	gracePeriod := s.probe.Options().GracePeriod
	if instance.CloseLifePipe() && !instance.AwaitExit(gracePeriod) {
		return wording.Errorf("it did not end within %s of end of file on the descriptor in the environment variable %s (read it, and exit when it ends)", gracePeriod, proto.LifeKey)
	}
	return nil
}

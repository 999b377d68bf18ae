package host

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	pb "google.golang.org/protobuf/proto"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/plugins/proto"
)

// The services of the host that a manifest may list.
const (
	serviceLLM    = "llm"
	serviceMemory = "memory"
	serviceVars   = "vars"
	serviceLog    = "log"
)

// services is the service Host for one process of a plugin.
type services struct {
	proto.UnimplementedHostServer
	plugin   string
	manifest *Manifest
	log      *slog.Logger
	id       uint32 // by which the broker knows it
	logged   atomic.Int64

	mu      sync.Mutex
	grpc    *grpc.Server
	stopped bool
	next    uint64
	tickets map[string]*ticket
	refused []string // services that it asked for without being granted them
}

func newServices(plugin string, m *Manifest, log *slog.Logger) *services {
	return &services{plugin: plugin, manifest: m, log: log, tickets: map[string]*ticket{}}
}

// maxHostStreams bounds how many calls of the host a process has open at a time.
const maxHostStreams = 64

// server makes the gRPC server; the broker calls it.
func (s *services) server(opts []grpc.ServerOption) *grpc.Server {
	limit := s.manifest.Limits.maxMessage()
	g := grpc.NewServer(append(opts,
		grpc.MaxRecvMsgSize(limit), grpc.MaxSendMsgSize(limit), grpc.MaxConcurrentStreams(maxHostStreams),
		grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (reply any, err error) {
			defer s.recovered(&err)
			if reply, err = handle(ctx, req); err != nil {
				return nil, err
			}
			if size := pb.Size(reply.(pb.Message)); size > limit {
				return nil, status.Errorf(codes.ResourceExhausted, "the host's answer has %d bytes, more than the %d of limits.max_message_mib in %s", size, limit, ManifestName)
			}
			return reply, nil
		}),
		grpc.StreamInterceptor(func(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) (err error) {
			defer s.recovered(&err)
			return handle(srv, stream)
		}),
	)...)
	proto.RegisterHostServer(g, s)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grpc = g
	if s.stopped {
		g.Stop()
	}
	return g
}

// recovered makes an error of a panic in what the plugin called.
func (s *services) recovered(err *error) {
	if r := recover(); r != nil {
		s.log.Error("panic in a service of the host", "panic", r, "stack", string(debug.Stack()))
		*err = status.Errorf(codes.Internal, "panic: %v", r)
	}
}

func (s *services) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	if s.grpc != nil {
		s.grpc.Stop()
	}
}

// ticket is what one request of the host may use of the services, while it runs.
type ticket struct {
	ctx    context.Context
	cancel context.CancelFunc
	// chat asks the model, search looks for memories, vars is what is known. They may
	// be nil.
	chat   func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error]
	search func(ctx context.Context, query string, limit int) ([]plugins.Recalled, error)
	vars   func() (value.Value, error)

	left atomic.Int64
	busy atomic.Int64
	// mu guards over: no call begins when the request is over.
	mu   sync.Mutex
	over bool
	used sync.WaitGroup
	// failure is the last error of a service.
	failure atomic.Pointer[error]
}

// note keeps an error of a service: the plugin may fail of it. It gives what the
// plugin is told.
func (t *ticket) note(err error) string {
	t.failure.Store(&err)
	return proto.Clean(err.Error())
}

// cause is the error of a service that a failure of the plugin passes on; nil where it
// does not.
func (t *ticket) cause(failure string) error {
	if t == nil {
		return nil
	}
	err := t.failure.Load()
	if err == nil || !strings.Contains(failure, proto.Clean((*err).Error())) {
		return nil
	}
	return *err
}

// issue makes the token of a request. closed must be called when the request is
// over: it ends the calls that still run and waits for them, for what they use is
// the step's.
func (s *services) issue(ctx context.Context, t *ticket) (token string, closed func()) {
	t.ctx, t.cancel = context.WithCancel(ctx)
	t.left.Store(int64(s.manifest.Limits.HostCalls))
	s.mu.Lock()
	s.next++
	token = strconv.FormatUint(s.next, 10)
	s.tickets[token] = t
	s.mu.Unlock()
	return token, func() {
		s.mu.Lock()
		delete(s.tickets, token)
		s.mu.Unlock()
		t.mu.Lock()
		t.over = true
		t.mu.Unlock()
		t.cancel()
		t.used.Wait()
	}
}

// refuse tells the log that a service was asked for, once: the plugin may do so
// without end.
func (s *services) refuse(service string) {
	s.mu.Lock()
	known := slices.Contains(s.refused, service)
	if !known {
		s.refused = append(s.refused, service)
	}
	s.mu.Unlock()
	if !known {
		s.log.Warn("the plugin asked for a service that it was not granted", "service", service)
	}
}

// use begins a call of the host. done must be called at its end.
func (s *services) use(ctx context.Context, token, service string) (t *ticket, callCtx context.Context, done func(), err error) {
	if !s.manifest.grants(service) {
		s.refuse(service)
		return nil, nil, nil, status.Errorf(codes.PermissionDenied,
			"the plugin %s was not granted the service %s: list it under services in %s, then run: scheduler plugins trust %s",
			s.plugin, service, ManifestName, s.plugin)
	}
	s.mu.Lock()
	t = s.tickets[token]
	s.mu.Unlock()
	if t == nil {
		return nil, nil, nil, errOver
	}
	if t.left.Add(-1) < 0 {
		return nil, nil, nil, status.Errorf(codes.ResourceExhausted,
			"the plugin %s called the host more than %d times in one request (limits.host_calls in %s)",
			s.plugin, s.manifest.Limits.HostCalls, ManifestName)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return nil, nil, nil, errOver
	}
	t.used.Add(1)
	t.busy.Add(1)
	callCtx, cancel := context.WithCancel(t.ctx)
	stop := context.AfterFunc(ctx, cancel)
	return t, callCtx, func() {
		stop()
		cancel()
		t.busy.Add(-1)
		t.used.Done()
	}, nil
}

var errOver = status.Error(codes.FailedPrecondition, "the host can be called only while a request runs, with the token of that request")

// Chat asks the model of the flow.
func (s *services) Chat(req *proto.ChatRequest, stream grpc.ServerStreamingServer[proto.ChatDelta]) error {
	t, ctx, done, err := s.use(stream.Context(), req.GetToken(), serviceLLM)
	if err != nil {
		return err
	}
	began := false
	defer func() {
		if !began {
			done()
		}
	}()
	if t.chat == nil {
		return status.Error(codes.FailedPrecondition, "the model cannot be asked here")
	}
	ask := &llm.Request{
		Model: req.GetModel(), Temperature: req.Temperature, MaxTokens: int(req.GetMaxTokens()), ResponseSchema: req.GetResponseSchema(),
	}
	for i, m := range req.GetMessages() {
		if !json.Valid(m) {
			return status.Errorf(codes.InvalidArgument, "message %d is no JSON", i)
		}
		ask.Messages = append(ask.Messages, m)
	}
	began = true
	for d := range s.chat(t.chat(ctx, ask), ctx.Done(), done) {
		if d.err != nil {
			return status.Error(codes.Unavailable, t.note(d.err))
		}
		if d.Text == "" && d.FinishReason == "" && d.Usage == nil {
			continue
		}
		out := &proto.ChatDelta{Text: proto.Clean(d.Text), FinishReason: proto.Clean(d.FinishReason)}
		if d.Usage != nil {
			out.InputTokens, out.OutputTokens = int64(d.Usage.InputTokens), int64(d.Usage.OutputTokens)
		}
		if err := stream.Send(out); err != nil {
			return err
		}
	}
	if t.ctx.Err() != nil {
		return errOver
	}
	return stream.Context().Err()
}

type delta struct {
	llm.Delta
	err error
}

// chat takes an answer in a goroutine of its own, which calls done at its end: a
// plugin that does not read what it is sent must not hold up the step.
func (s *services) chat(answer iter.Seq2[llm.Delta, error], over <-chan struct{}, done func()) <-chan delta {
	deltas := make(chan delta)
	go func() {
		defer done()
		defer close(deltas)
		send := func(d delta) bool {
			select {
			case deltas <- d:
				return true
			case <-over:
				return false
			}
		}
		var crash error
		defer func() {
			if crash != nil {
				send(delta{err: crash})
			}
		}()
		defer s.recovered(&crash)
		for d, err := range answer {
			if !send(delta{d, err}) || err != nil {
				return
			}
		}
	}()
	return deltas
}

// maxSearch bounds how many memories one search gives.
const maxSearch = 1000

// Search looks for memories.
func (s *services) Search(ctx context.Context, req *proto.SearchRequest) (*proto.SearchReply, error) {
	t, ctx, done, err := s.use(ctx, req.GetToken(), serviceMemory)
	if err != nil {
		return nil, err
	}
	defer done()
	if t.search == nil {
		return nil, status.Error(codes.FailedPrecondition, "memories cannot be searched here")
	}
	limit := int(req.GetLimit())
	if limit <= 0 {
		limit = 10
	}
	found, err := t.search(ctx, req.GetQuery(), min(limit, maxSearch))
	if err != nil {
		return nil, status.Error(codes.Unavailable, t.note(err))
	}
	return &proto.SearchReply{Found: proto.FromRecalled(found)}, nil
}

// Vars gives what the step may see.
func (s *services) Vars(ctx context.Context, req *proto.VarsRequest) (*proto.VarsReply, error) {
	t, _, done, err := s.use(ctx, req.GetToken(), serviceVars)
	if err != nil {
		return nil, err
	}
	defer done()
	if t.vars == nil {
		return &proto.VarsReply{Vars: []byte("{}")}, nil
	}
	v, err := t.vars()
	if err != nil {
		return nil, status.Error(codes.Internal, t.note(err))
	}
	return &proto.VarsReply{Vars: v.AppendJSON(nil)}, nil
}

// Log writes a line to the log. It needs no request.
func (s *services) Log(ctx context.Context, req *proto.LogRequest) (*proto.LogReply, error) {
	if !s.manifest.grants(serviceLog) {
		_, _, _, err := s.use(ctx, "", serviceLog)
		return nil, err
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(req.GetLevel())); err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "the level %q is not debug, info, warn or error", cut(req.GetLevel(), 20))
	}
	switch n := s.logged.Add(1); {
	case n <= maxLogLines:
		s.log.Log(ctx, level, printable(cut(req.GetMessage(), maxLineBytes)))
	case n == maxLogLines+1:
		s.log.Warn("the plugin logs too much: nothing more of this process is logged")
	}
	return &proto.LogReply{}, nil
}

// varsOf is what a step may see, for a call of a plugin. It is put together when it
// is first asked for.
func varsOf(v *calls.Vars) func() (value.Value, error) {
	return sync.OnceValues(func() (value.Value, error) {
		doc, err := value.Of(value.Pairs(
			"inputs", v.Inputs, "question", v.Question, "vars", v.Resolved, "summary", v.Summary(),
			"facts", v.Facts(), "history", v.History(), "run", v.Run,
			"step", value.Pairs("id", v.Step.ID, "name", v.Step.Name, "description", v.Step.Description),
		))
		if err != nil {
			return value.Value{}, fmt.Errorf("encoding what the step sees: %w", err)
		}
		return doc, nil
	})
}

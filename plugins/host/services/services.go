// Package services offers a plugin services of the host while it works on a request: the flow's model, memories,
// the data of the step, the log. Each request brings a [Grant] of its own, which ends with it. For example, a
// plugin without llm in its manifest gets an error if it asks the model.
package services

import (
	"context"
	"encoding/json"
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
	"github.com/callnode/scheduler/llm/value/secret"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/plugins/manifest"
	"github.com/callnode/scheduler/plugins/proto"
)

// Server is the gRPC service Host for one process of a plugin. [NewServer] makes it; it
// ends with [Server.Stop]. It is safe for concurrent use.
type Server struct {
	proto.UnimplementedHostServer
	plugin   string
	manifest *manifest.Manifest
	log      *slog.Logger
	hidden   *secret.Set // the secrets that the plugin may repeat
	logged   atomic.Int64

	mu        sync.Mutex // guards all below
	grpc      *grpc.Server
	stopped   bool
	lastToken uint64
	grants    map[string]*Grant // by token
	refused   []string          // services that were asked for and not granted
}

// NewServer returns the services that a manifest lists; log receives the plugin's log lines.
func NewServer(plugin string, m *manifest.Manifest, log *slog.Logger, hidden *secret.Set) *Server {
	return &Server{hidden: hidden, plugin: plugin, manifest: m, log: log, grants: map[string]*Grant{}}
}

// maxStreams bounds how many calls of the host a process has open at a time.
const maxStreams = 64

// GRPC makes the gRPC server; go-plugin's broker calls it once.
func (s *Server) GRPC(opts []grpc.ServerOption) *grpc.Server {
	limit := s.manifest.Limits.MessageBytes()
	g := grpc.NewServer(append(opts,
		grpc.MaxRecvMsgSize(limit), grpc.MaxSendMsgSize(limit), grpc.MaxConcurrentStreams(maxStreams),
		grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (reply any, err error) {
			defer s.recoverPanic(&err)
			reply, err = handle(ctx, req)
			if err != nil {
				return nil, err
			}
			if size := pb.Size(reply.(pb.Message)); size > limit {
				return nil, status.Errorf(codes.ResourceExhausted, "the host's answer has %d bytes, more than the %d of limits.max_message_mib in %s", size, limit, manifest.FileName)
			}
			return reply, nil
		}),
		grpc.StreamInterceptor(func(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) (err error) {
			defer s.recoverPanic(&err)
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

// recoverPanic makes an error from a panic in a service that the plugin called.
func (s *Server) recoverPanic(err *error) {
	if r := recover(); r != nil {
		s.log.Error("panic in a service of the host", "panic", r, "stack", string(debug.Stack()))
		*err = status.Errorf(codes.Internal, "panic: %v", r)
	}
}

// Stop ends the service and every call of it.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	if s.grpc != nil {
		s.grpc.Stop()
	}
}

// Grant holds the services that one request of the host may use while it runs. The sender of the request fills in
// the functions, which may be nil, and passes it to [Server.Issue]; it serves one request.
type Grant struct {
	// Chat asks the model.
	Chat func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error]
	// Search looks for memories.
	Search func(ctx context.Context, query string, limit int) ([]plugins.Recalled, error)
	// Vars returns the data of the step.
	Vars func() (value.Value, error)

	ctx       context.Context
	cancel    context.CancelFunc
	callsLeft atomic.Int64
	running   atomic.Int64 // calls that run now

	mu      sync.Mutex     // guards revoked
	revoked bool           // the request is over: no call may begin
	calls   sync.WaitGroup // calls that run now

	failure atomic.Pointer[error] // the last error of a service
}

// InUse reports whether the plugin waits for a service now.
func (g *Grant) InUse() bool { return g.running.Load() > 0 }

// recordFailure keeps an error of a service, by which the request may fail. It returns the
// text for the plugin.
func (g *Grant) recordFailure(err error) string {
	g.failure.Store(&err)
	return proto.Clean(err.Error())
}

// CauseOf returns the error of a service that a failure of the plugin passes on; nil if it does not.
func (g *Grant) CauseOf(failure string) error {
	if g == nil {
		return nil
	}
	err := g.failure.Load()
	if err == nil || !strings.Contains(failure, proto.Clean((*err).Error())) {
		return nil
	}
	return *err
}

// Issue makes the token by which a request uses its grant. revoke must be called when the request is over: it ends
// the calls that still run and waits for them, because they use data of the step.
func (s *Server) Issue(ctx context.Context, g *Grant) (token string, revoke func()) {
	g.ctx, g.cancel = context.WithCancel(ctx)
	g.callsLeft.Store(int64(s.manifest.Limits.HostCalls))
	s.mu.Lock()
	s.lastToken++
	token = strconv.FormatUint(s.lastToken, 10)
	s.grants[token] = g
	s.mu.Unlock()
	return token, func() {
		s.mu.Lock()
		delete(s.grants, token)
		s.mu.Unlock()
		g.mu.Lock()
		g.revoked = true
		g.mu.Unlock()
		g.cancel()
		g.calls.Wait()
	}
}

// logRefusal logs once that a service was asked for and not granted: the plugin may ask
// without end.
func (s *Server) logRefusal(service string) {
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

// beginCall begins a call of the host. done must be called at its end.
func (s *Server) beginCall(ctx context.Context, token, service string) (g *Grant, callCtx context.Context, done func(), err error) {
	if !s.manifest.Grants(service) {
		s.logRefusal(service)
		return nil, nil, nil, status.Errorf(codes.PermissionDenied,
			"the plugin %s was not granted the service %s (list it under services in %s, then run: scheduler plugins trust %s)",
			s.plugin, service, manifest.FileName, s.plugin)
	}
	s.mu.Lock()
	g = s.grants[token]
	s.mu.Unlock()
	if g == nil {
		return nil, nil, nil, errRevoked
	}
	if g.callsLeft.Add(-1) < 0 {
		return nil, nil, nil, status.Errorf(codes.ResourceExhausted,
			"the plugin %s called the host more than %d times in one request (limits.host_calls in %s)",
			s.plugin, s.manifest.Limits.HostCalls, manifest.FileName)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.revoked {
		return nil, nil, nil, errRevoked
	}
	g.calls.Add(1)
	g.running.Add(1)
	callCtx, cancel := context.WithCancel(g.ctx)
	stop := context.AfterFunc(ctx, cancel)
	return g, callCtx, func() {
		stop()
		cancel()
		g.running.Add(-1)
		g.calls.Done()
	}, nil
}

var errRevoked = status.Error(codes.FailedPrecondition, "the host can be called only while a request runs, with the token of that request")

// Chat asks the model of the flow.
func (s *Server) Chat(req *proto.ChatRequest, stream grpc.ServerStreamingServer[proto.ChatDelta]) error {
	g, ctx, done, err := s.beginCall(stream.Context(), req.GetToken(), manifest.ServiceLLM)
	if err != nil {
		return err
	}
	began := false
	defer func() {
		if !began {
			done()
		}
	}()
	if g.Chat == nil {
		return status.Error(codes.FailedPrecondition, "the model cannot be asked here")
	}
	ask := &llm.Request{
		Model: req.GetModel(), Temperature: req.Temperature, MaxTokens: int(req.GetMaxTokens()), ResponseSchema: req.GetResponseSchema(),
	}
	for i, m := range req.GetMessages() {
		if !json.Valid(m) {
			return status.Errorf(codes.InvalidArgument, "message %d is not JSON", i)
		}
		ask.Messages = append(ask.Messages, m)
	}
	parts, err := partsOf(req)
	if err != nil {
		return err
	}
	began = true
	for d := range s.drainAnswer(g.Chat(calls.WithParts(ctx, parts), ask), ctx.Done(), done) {
		if d.err != nil {
			return status.Error(codes.Unavailable, g.recordFailure(d.err))
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
	if g.ctx.Err() != nil {
		return errRevoked
	}
	return stream.Context().Err()
}

// partsOf returns the sources of the messages of a request, as the plugin reports them.
func partsOf(req *proto.ChatRequest) (parts []calls.Part, err error) {
	if len(req.GetParts()) == 0 {
		return nil, nil
	}
	v, err := value.ParseJSON(req.GetParts())
	if err == nil {
		err = value.Decode(v, &parts)
	}
	if err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "parts: %v", err)
	}
	for i := range parts {
		parts[i].Included = true
	}
	return parts, nil
}

type delta struct {
	llm.Delta
	err error
}

// drainAnswer reads an answer in a goroutine of its own, which calls done at its end: a plugin that does not read
// its messages must not delay the step.
func (s *Server) drainAnswer(answer iter.Seq2[llm.Delta, error], over <-chan struct{}, done func()) <-chan delta {
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
		defer s.recoverPanic(&crash)
		for d, err := range answer {
			if !send(delta{d, err}) || err != nil {
				return
			}
		}
	}()
	return deltas
}

// maxSearch bounds how many memories one search returns.
const maxSearch = 1000

// Search looks for memories.
func (s *Server) Search(ctx context.Context, req *proto.SearchRequest) (*proto.SearchReply, error) {
	g, ctx, done, err := s.beginCall(ctx, req.GetToken(), manifest.ServiceMemory)
	if err != nil {
		return nil, err
	}
	defer done()
	if g.Search == nil {
		return nil, status.Error(codes.FailedPrecondition, "memories cannot be searched here")
	}
	limit := int(req.GetLimit())
	if limit <= 0 {
		limit = 10
	}
	found, err := g.Search(ctx, req.GetQuery(), min(limit, maxSearch))
	if err != nil {
		return nil, status.Error(codes.Unavailable, g.recordFailure(err))
	}
	return &proto.SearchReply{Found: proto.FromRecalled(found)}, nil
}

// Vars returns the data that the step may see.
func (s *Server) Vars(ctx context.Context, req *proto.VarsRequest) (*proto.VarsReply, error) {
	g, _, done, err := s.beginCall(ctx, req.GetToken(), manifest.ServiceVars)
	if err != nil {
		return nil, err
	}
	defer done()
	if g.Vars == nil {
		return &proto.VarsReply{Vars: []byte("{}")}, nil
	}
	v, err := g.Vars()
	if err != nil {
		return nil, status.Error(codes.Internal, g.recordFailure(err))
	}
	return &proto.VarsReply{Vars: v.AppendJSON(nil)}, nil
}

// Bounds on the log output of a process.
const (
	maxLogLines  = 1000
	maxLineBytes = 1 << 10
)

// Log writes a line to the log, also between requests.
func (s *Server) Log(ctx context.Context, req *proto.LogRequest) (*proto.LogReply, error) {
	if !s.manifest.Grants(manifest.ServiceLog) {
		_, _, _, err := s.beginCall(ctx, "", manifest.ServiceLog)
		return nil, err
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(req.GetLevel())); err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "the level %q is not debug, info, warn or error", value.Truncate(req.GetLevel(), 20))
	}
	n := s.logged.Add(1)
	if n <= maxLogLines {
		s.log.Log(ctx, level, value.Truncate(manifest.Printable(s.hidden.MaskText(req.GetMessage())), maxLineBytes))
	} else if n == maxLogLines+1 {
		s.log.Warn("the plugin logs too much: nothing more of this process is logged")
	}
	return &proto.LogReply{}, nil
}

// VarsOf returns a function for [Grant.Vars] that encodes the data that a step may see, when it is first called.
func VarsOf(v *calls.Vars) func() (value.Value, error) {
	return sync.OnceValues(func() (value.Value, error) {
		doc, err := value.Of(value.Pairs(
			"inputs", v.Inputs, "question", v.Question, "conversation", value.OfList(v.Conversation.List()...), "vars", v.Resolved, "summary", v.Summary(),
			"facts", v.Facts(), "history", v.History(), "run", v.Run,
			"step", value.Pairs("id", v.Step.ID, "name", v.Step.Name, "description", v.Step.Description),
		))
		if err != nil {
			return value.Value{}, wording.Errorf("encoding what the step sees: %w", err)
		}
		return doc, nil
	})
}

package remote

import (
	"context"
	"encoding/json"
	"os"
	"sync"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/service"
)

// Opener connects to the other machines. Its remote is used until the process ends.
type Opener func(ctx context.Context, s Settings) (service.Remote, error)

// Serve lets a [Client] ask the remote that open returns, and ends the process with the client. version is the
// version of this program; a client of another one is refused.
func Serve(version string, open Opener) {
	s := &server{version: version, open: open, exit: func() { os.Exit(0) }}
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: handshake,
		Plugins:         plugin.PluginSet{kindName: &serverKind{server: s}},
		Logger:          hclog.NewNullLogger(),
		GRPCServer: func(options []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(options, grpc.MaxRecvMsgSize(maxMessage))...)
		},
	})
}

// server answers the requests of one client.
type server struct {
	version string
	open    Opener
	exit    func() // ends the process when the client has gone

	mu     sync.Mutex // guards remote
	remote service.Remote
}

// serverKind is the kind of plugin, on the side that serves.
type serverKind struct {
	plugin.NetRPCUnsupportedPlugin
	server *server
}

// GRPCServer registers the method.
func (k *serverKind) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	method := callStream
	method.Handler = func(_ any, stream grpc.ServerStream) error { return k.server.serve(stream) }
	s.RegisterService(&grpc.ServiceDesc{ServiceName: serviceName, HandlerType: (*any)(nil), Streams: []grpc.StreamDesc{method}}, k.server)
	return nil
}

// GRPCClient is for the other side.
func (*serverKind) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errOtherSide
}

// serve answers one request.
func (s *server) serve(stream grpc.ServerStream) error {
	var message envelope
	if err := stream.RecvMsg(&message); err != nil {
		return err
	}
	var r request
	if err := json.Unmarshal(message.GetValue(), &r); err != nil {
		return err
	}
	out := &sender{stream: stream}
	if r.Method == methodOpen {
		return s.serveOpen(stream.Context(), &r, out)
	}
	end, err := s.answer(stream.Context(), &r, out)
	end.Done, end.Error = true, failureOf(err)
	return out.send(end)
}

// serveOpen connects to the other machines, and stays until the client leaves.
func (s *server) serveOpen(ctx context.Context, r *request, out *sender) error {
	first := reply{Version: s.version}
	if r.Settings.Version == s.version { // else the client reports the difference
		opened, err := s.open(context.WithoutCancel(ctx), *r.Settings)
		first.Error = failureOf(err)
		s.mu.Lock()
		s.remote = opened
		s.mu.Unlock()
	}
	if err := out.send(first); err != nil {
		return err
	}
	<-ctx.Done()
	s.exit()
	return nil
}

// answer carries out a request.
func (s *server) answer(ctx context.Context, r *request, out *sender) (end reply, err error) {
	s.mu.Lock()
	remote := s.remote
	s.mu.Unlock()
	needsRun := r.Method != methodWake && r.Method != methodCheck
	if remote == nil || needsRun && r.Run == nil {
		return end, calls.Errorf(calls.Internal, "the program was not opened")
	}
	switch r.Method {
	case methodStart:
		return end, remote.Start(ctx, *r.Run)
	case methodCheck:
		return end, remote.Check(ctx)
	case methodWake:
		return end, remote.Wake(ctx, r.ID)
	case methodWait:
		return end, remote.Wait(ctx, *r.Run, func(text wording.Text) {
			_ = out.send(reply{Hint: &text}) // one that is not read is not missed
		})
	case methodAnswer:
		given, err := parseAnswers(r.Answers)
		if err != nil {
			return end, err
		}
		taken, err := remote.Answer(ctx, *r.Run, given, r.More)
		end.Answers = formatAnswers(taken)
		return end, err
	}
	return end, calls.Errorf(calls.Internal, "the program does not know the request %s", r.Method)
}

// sender sends replies, one at a time: hints come from another goroutine than the end.
type sender struct {
	mu     sync.Mutex // guards stream
	stream grpc.ServerStream
}

func (o *sender) send(r reply) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.stream.SendMsg(&envelope{Value: text})
}

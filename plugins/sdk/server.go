package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"sync/atomic"

	"google.golang.org/grpc"
	pb "google.golang.org/protobuf/proto"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/plugins/proto"
)

// Server returns the plugin as a gRPC service, for [Serve]. Tests that run a plugin inside their own process use
// it.
func (p Plugin) Server() (proto.PluginServer, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	s := &pluginServer{plugin: p, functions: map[string]Function{}, messageBytes: maxMessageBytes()}
	for _, f := range p.Functions {
		s.functions[f.info.Name] = f
	}
	return s, nil
}

// pluginServer is the gRPC service of a plugin. [Plugin.Server] makes it; it lives as long
// as the program, and is safe for concurrent use.
type pluginServer struct {
	proto.UnimplementedPluginServer
	plugin    Plugin
	functions map[string]Function
	// messageBytes is the size of the largest message.
	messageBytes int
	// dial connects to a service that the host announced by the broker; nil if there is no broker.
	dial func(id uint32) (grpc.ClientConnInterface, error)
	host atomic.Pointer[proto.HostClient]
}

// UseHost sets the client of the service Host, for hosts without a broker.
func (s *pluginServer) UseHost(c proto.HostClient) { s.host.Store(&c) }

func (s *pluginServer) Describe(_ context.Context, req *proto.DescribeRequest) (*proto.Description, error) {
	if id := req.GetHostService(); id != 0 && s.dial != nil && s.host.Load() == nil {
		conn, err := s.dial(id)
		if err != nil {
			return nil, fmt.Errorf("connecting to the host's services: %w", err)
		}
		s.UseHost(proto.NewHostClient(conn))
	}
	d := &proto.Description{Name: s.plugin.Name, Version: s.plugin.Version, Session: true}
	for _, f := range s.plugin.Functions {
		d.Functions = append(d.Functions, f.info)
	}
	return d, nil
}

// Ask answers one request.
func (s *pluginServer) Ask(ctx context.Context, req *proto.Request) (*proto.Reply, error) {
	reply, _ := s.answerRequest(ctx, req)
	return reply, nil
}

// replyOverhead is the largest number of bytes that a reply adds to a message beside its
// own.
const replyOverhead = 16

// answerRequest answers a request; any error is a failure in the reply, a reply that is too large as well. size is
// the size of the reply.
func (s *pluginServer) answerRequest(ctx context.Context, req *proto.Request) (reply *proto.Reply, size int) {
	reply = s.dispatchRequest(ctx, req)
	size = pb.Size(reply)
	if size+replyOverhead > s.messageBytes { // one that cannot be sent would end the session
		reply = &proto.Reply{Id: req.GetId(), Answer: &proto.Reply_Failure{Failure: failureOf(tooLarge(size, s.messageBytes))}}
		size = pb.Size(reply)
	}
	return reply, size
}

// dispatchRequest passes a request to its function.
func (s *pluginServer) dispatchRequest(ctx context.Context, req *proto.Request) (reply *proto.Reply) {
	reply = &proto.Reply{Id: req.GetId()}
	fail := func(err error) { reply.Answer = &proto.Reply_Failure{Failure: failureOf(err)} }
	name := ""
	defer func() {
		if r := recover(); r != nil {
			fail(recoverError(name, r))
		}
	}()
	var err error
	switch ask := req.GetAsk().(type) {
	case *proto.Request_Judge:
		name = ask.Judge.GetFunction()
		err = s.judgeHistory(s.requestContext(ctx, req.GetToken(), ask.Judge.GetState()), ask.Judge, reply)
	case *proto.Request_Resolve:
		name = strings.Join(ask.Resolve.GetNames(), ", ")
		err = s.resolveVariables(s.requestContext(ctx, req.GetToken(), ask.Resolve.GetState()), ask.Resolve, reply)
	case *proto.Request_Init:
		name = ask.Init.GetFunction()
		err = s.init(s.requestContext(ctx, req.GetToken(), ask.Init.GetState()), ask.Init, reply)
	default:
		err = fmt.Errorf("the plugin does not know this kind of request")
	}
	if err != nil {
		fail(err)
	}
	return reply
}

func (s *pluginServer) judgeHistory(ctx context.Context, ask *proto.Judge, reply *proto.Reply) error {
	f, ok := s.functions[ask.GetFunction()]
	if !ok || f.judge == nil {
		return s.unknownFunction("importance function", ask.GetFunction())
	}
	verdicts, err := f.judge.Judge(ctx, functionState(f, ask.GetState()), proto.ToItems(ask.GetItems()))
	if err != nil {
		return err
	}
	reply.Answer = &proto.Reply_Judged{Judged: &proto.Judged{Verdicts: proto.FromVerdicts(verdicts)}}
	return nil
}

func (s *pluginServer) resolveVariables(ctx context.Context, ask *proto.Resolve, reply *proto.Reply) error {
	values := make(map[string][]byte, len(ask.GetNames()))
	for _, name := range ask.GetNames() {
		f, ok := s.functions[name]
		if !ok || f.resolve == nil {
			return s.unknownFunction("variable", name)
		}
		v, err := f.resolve(ctx, functionState(f, ask.GetState()))
		if errors.Is(err, ErrNoValue) {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		values[name], err = encodeValue(v)
		if err != nil {
			return fmt.Errorf("encoding %s: %w", name, err)
		}
	}
	reply.Answer = &proto.Reply_Resolved{Resolved: &proto.Resolved{Values: values}}
	return nil
}

func (s *pluginServer) init(ctx context.Context, ask *proto.Init, reply *proto.Reply) error {
	f, ok := s.functions[ask.GetFunction()]
	if !ok || f.call.exec == nil {
		return s.unknownFunction("call", ask.GetFunction())
	}
	input := json.RawMessage(ask.GetParams())
	if f.call.init != nil {
		params, err := value.ParseJSON(ask.GetParams())
		if err != nil {
			return &Error{Kind: "invalid", Message: "the parameters are not JSON: " + err.Error()}
		}
		in, err := f.call.init(ctx, params)
		if err != nil {
			return err
		}
		input, err = encodeValue(in)
		if err != nil {
			return fmt.Errorf("encoding the input: %w", err)
		}
	}
	reply.Answer = &proto.Reply_Initialized{Initialized: &proto.Initialized{Input: input}}
	return nil
}

// Exec streams the output of a call.
func (s *pluginServer) Exec(req *proto.ExecRequest, stream grpc.ServerStreamingServer[proto.Chunk]) (err error) {
	fail := func(err error) error {
		return stream.Send(&proto.Chunk{Piece: &proto.Chunk_Failure{Failure: failureOf(err)}})
	}
	defer func() {
		if r := recover(); r != nil {
			err = fail(recoverError(req.GetFunction(), r))
		}
	}()
	f, ok := s.functions[req.GetFunction()]
	if !ok || f.call.exec == nil {
		return fail(s.unknownFunction("call", req.GetFunction()))
	}
	input, err := value.ParseJSON(req.GetInput())
	if err != nil {
		return fail(&Error{Kind: "invalid", Message: "the input is not JSON: " + err.Error()})
	}
	ctx := s.requestContext(stream.Context(), req.GetToken(), req.GetState())
	HostOf(ctx).key = req.GetIdempotencyKey()
	for part, err := range f.call.exec(ctx, input) {
		if err != nil {
			return fail(err)
		}
		chunk := &proto.Chunk{Piece: &proto.Chunk_Text{Text: proto.Clean(part.text)}}
		if part.data != nil {
			data, err := encodeValue(part.data)
			if err != nil {
				return fail(fmt.Errorf("encoding the output: %w", err))
			}
			chunk.Piece = &proto.Chunk_Data{Data: data}
		}
		if size := pb.Size(chunk); size > s.messageBytes {
			return fail(tooLarge(size, s.messageBytes))
		}
		if err := stream.Send(chunk); err != nil {
			return err
		}
	}
	return nil
}

// encodeValue writes a value as the host reads it: keys in order, numbers as they are.
func encodeValue(x any) (json.RawMessage, error) {
	v, err := value.Of(x)
	if err != nil {
		return nil, err
	}
	return v.AppendJSON(nil), nil
}

func (s *pluginServer) unknownFunction(what, name string) error {
	e := &Error{Kind: "notfound", Message: fmt.Sprintf("the plugin %s has no %s %q", s.plugin.Name, what, name)}
	var names []string
	for _, f := range s.plugin.Functions {
		names = append(names, f.info.Name)
	}
	if near := value.DidYouMean(name, names); near != "" {
		e.Hint = near
	}
	return e
}

func tooLarge(size, limit int) error {
	return &Error{Kind: "plugin", Message: fmt.Sprintf("the answer has %d bytes, more than the %d of limits.max_message_mib in plugin.yaml", size, limit)}
}

// recoverError makes an error of a panic. The stack goes to standard error, which the host
// logs.
func recoverError(function string, r any) error {
	fmt.Fprintf(os.Stderr, "panic in %s: %v\n%s", function, r, debug.Stack())
	return fmt.Errorf("panic: %v", r)
}

// failureOf returns the wire form of an error.
func failureOf(err error) *proto.Failure {
	f := &proto.Failure{Message: proto.Clean(err.Error())}
	var own *Error
	if errors.As(err, &own) {
		f.Kind, f.Hint = proto.Clean(own.Kind), proto.Clean(own.Hint)
	} else if errors.Is(err, context.DeadlineExceeded) {
		f.Kind = "timeout"
	}
	return f
}

// functionState returns the state that a function gets.
func functionState(f Function, p *proto.State) plugins.State {
	s := proto.ToState(p)
	s.Retrieve = func(context.Context) ([]plugins.Recalled, error) {
		if !f.info.Retrieved {
			return nil, &Error{
				Kind: "invalid", Message: fmt.Sprintf("%s calls State.Retrieve without declaring it", f.info.Name),
				Hint: "add the option sdk.Retrieves() to the function",
			}
		}
		return proto.ToRecalled(p.GetRetrieved()), nil
	}
	return s
}

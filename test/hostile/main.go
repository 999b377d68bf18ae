//go:build unix

// Hostile is a plugin that misbehaves on demand: at its start as its second argument says, later as the user's text
// says. For example, it never answers, or takes all memory. It is built on the bare protocol, to be able to break it.
package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/callnode/scheduler/plugins/proto"
)

func main() {
	name, at := os.Args[1], os.Args[2]
	switch at {
	case "exit":
		fmt.Fprintln(os.Stderr, "no licence was found")
		os.Exit(3)
	case "exit 0":
		os.Exit(0)
	case "garbage":
		fmt.Println("Welcome to the hostile plugin!")
		select {}
	case "long garbage":
		fmt.Print(strings.Repeat("x", 1<<20))
		select {}
	case "silent":
		time.Sleep(time.Hour)
	case "close":
		_ = os.Stdout.Close()
		time.Sleep(time.Hour)
	case "version":
		fmt.Println("1|99|unix|/nowhere|grpc|")
		time.Sleep(time.Hour)
	case "nowhere":
		fmt.Println("1|1|unix|/nowhere/at/all|grpc|")
		time.Sleep(time.Hour)
	case "panic":
		panic("at the start")
	case "flood":
		for range 100_000 {
			fmt.Fprintln(os.Stderr, strings.Repeat("noise ", 100))
		}
	case "children":
		children()
		os.Exit(1)
	case "daemons":
		daemons()
		os.Exit(1)
	case "no certificate":
		_ = os.Unsetenv("PLUGIN_CLIENT_CERT")
	}
	p := &hostile{name: name, at: at}
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig:  plugin.HandshakeConfig{MagicCookieKey: proto.CookieKey, MagicCookieValue: proto.CookieValue},
		VersionedPlugins: map[int]plugin.PluginSet{proto.Version: {"plugin": p}},
		GRPCServer:       plugin.DefaultGRPCServer,
		Logger:           hclog.NewNullLogger(),
	})
	if at == "stubborn" { // it was asked to end
		select {}
	}
}

// children starts processes that hold standard output open.
func children() {
	for range 3 {
		child("/bin/sleep", "3600")
	}
}

// daemons starts processes that leave the plugin: each in a session of its own, and
// the child of another that has ended, or that waits for it.
func daemons() {
	const daemon = `setsid sleep 3600 & setsid sh -c 'sleep 3600 & setsid sleep 3600 & exit' & `
	child("/bin/sh", "-c", daemon+"exit")
	child("/bin/sh", "-c", daemon+"wait")
}

func child(program string, args ...string) {
	cmd := exec.Command(program, args...) //nolint:noctx // it is meant to stay
	cmd.Env = append(os.Environ(), "CHILD_OF="+os.Args[0])
	cmd.Stdout, cmd.Stderr = os.NewFile(1, "stdout"), os.NewFile(2, "stderr")
	if err := cmd.Start(); err != nil {
		panic(err)
	}
}

type hostile struct {
	plugin.NetRPCUnsupportedPlugin
	proto.UnimplementedPluginServer
	name, at string
	broker   *plugin.GRPCBroker
	host     proto.HostClient
}

func (h *hostile) GRPCServer(broker *plugin.GRPCBroker, s *grpc.Server) error {
	h.broker = broker
	proto.RegisterPluginServer(s, h)
	return nil
}

func (h *hostile) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, nil
}

const (
	object  = `{"type":"object","properties":{"mode":{"type":"string"}},"additionalProperties":false}`
	written = `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false}`
)

// Describe lies on demand.
func (h *hostile) Describe(_ context.Context, req *proto.DescribeRequest) (*proto.Description, error) {
	if id := req.GetHostService(); id != 0 {
		conn, err := h.broker.Dial(id)
		if err != nil {
			return nil, err
		}
		h.host = proto.NewHostClient(conn)
	}
	d := &proto.Description{
		Name: h.name, Version: "1.0.0", Session: h.at != "unary",
		Functions: []*proto.Function{
			{Name: "judge", Kind: proto.Kind_IMPORTANCE, DocEn: "Judges."},
			{Name: h.name + "_value", Kind: proto.Kind_VARIABLE, DocEn: "A value.", Output: []byte(`{"type":"integer"}`)},
			{Name: "act", Kind: proto.Kind_CALL, DocEn: "Acts.", Params: []byte(object), Input: []byte(object), Output: []byte(written), Llm: true},
			{Name: "prepare", Kind: proto.Kind_CALL, DocEn: "Prepares.", Init: true, Params: []byte(object), Input: []byte(object), Output: []byte(written)},
		},
	}
	switch h.at {
	case "describe hang":
		select {}
	case "describe exit":
		os.Exit(4)
	case "describe another name":
		d.Name = "somebody-else"
	case "describe nothing":
		d.Functions = nil
	case "describe bad schema":
		d.Functions[2].Params = []byte(`{"type":"objekt"}`)
	case "describe twice":
		d.Functions = append(d.Functions, d.Functions[0])
	case "describe bad name":
		d.Functions[0].Name = "../../etc"
	case "describe differently":
		d.Functions[0].DocEn = fmt.Sprintf("Judges, in process %d.", os.Getpid())
	}
	return d, nil
}

// misbehave does the misbehaviour possible in any kind of request. It returns if the mode is not one of these.
func (h *hostile) misbehave(ctx context.Context, mode string) error {
	switch mode {
	case "panic":
		panic("on demand")
	case "exit":
		fmt.Fprintln(os.NewFile(2, "stderr"), "giving up")
		os.Exit(5)
	case "exit 0":
		os.Exit(0)
	case "kill":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "stop":
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		select {} // it takes a moment
	case "hang":
		select {}
	case "slow":
		select {
		case <-time.After(5 * time.Second):
		case <-ctx.Done():
		}
		return ctx.Err()
	case "children":
		children()
	case "daemons":
		daemons()
	case "daemons, then kill":
		daemons()
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "stop the keeper":
		_ = syscall.Kill(os.Getppid(), syscall.SIGSTOP)
	case "children, then stop":
		children()
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		select {}
	case "daemons, then stop":
		daemons()
		time.Sleep(100 * time.Millisecond) // they come into being
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		select {}
	case "allocate":
		for all := [][]byte{}; ; time.Sleep(time.Millisecond) {
			all = append(all, make([]byte, 64<<20))
		}
	case "stdout":
		for i := range 10_000 {
			fmt.Println("line", i, "\x1b[31m on standard output")
			_, _ = fmt.Fprintln(os.NewFile(1, "stdout"), "on the descriptor itself")
		}
	}
	return nil
}

// Ask answers a request.
func (h *hostile) Ask(ctx context.Context, req *proto.Request) (*proto.Reply, error) {
	return h.answer(ctx, req)
}

// Session answers requests one by one.
func (h *hostile) Session(stream grpc.BidiStreamingServer[proto.Requests, proto.Replies]) error {
	for {
		message, err := stream.Recv()
		if err != nil {
			return err
		}
		for _, req := range message.GetRequests() {
			go func() {
				reply, err := h.answer(stream.Context(), req)
				if err == nil {
					_ = stream.Send(&proto.Replies{Replies: []*proto.Reply{reply}})
				}
			}()
		}
	}
}

func (h *hostile) answer(ctx context.Context, req *proto.Request) (*proto.Reply, error) {
	state := req.GetJudge().GetState()
	if r := req.GetResolve(); r != nil {
		state = r.GetState()
	}
	mode := state.GetInput()
	if in := req.GetInit(); in != nil {
		mode = string(in.GetParams())
	}
	if err := h.misbehave(ctx, mode); err != nil {
		return nil, err
	}
	reply := &proto.Reply{Id: req.GetId()}
	if service, ok := strings.CutPrefix(mode, "use "); ok {
		reply.Answer = &proto.Reply_Failure{Failure: &proto.Failure{Message: h.use(ctx, service, req.GetToken())}}
		return reply, nil
	}
	switch {
	case mode == "wrong id":
		reply.Id += 1000
	case mode == "zero id":
		reply.Id = 0
	case mode == "no answer":
		return reply, nil
	case mode == "failure":
		reply.Answer = &proto.Reply_Failure{Failure: &proto.Failure{Kind: "no such kind", Message: "it went \x1b[31mwrong", Hint: "try again"}}
		return reply, nil
	}
	switch {
	case req.GetJudge() != nil:
		reply.Answer = &proto.Reply_Judged{Judged: h.judge(mode, req)}
	case req.GetResolve() != nil:
		reply.Answer = &proto.Reply_Resolved{Resolved: h.resolve(mode, req.GetResolve().GetNames())}
	default:
		reply.Answer = &proto.Reply_Initialized{Initialized: &proto.Initialized{Input: []byte(`{"mode":"healthy"}`)}}
		if strings.Contains(mode, "bad input") {
			reply.Answer = &proto.Reply_Initialized{Initialized: &proto.Initialized{Input: []byte(`{"other":1}`)}}
		}
	}
	if mode == "another kind" {
		reply.Answer = &proto.Reply_Initialized{Initialized: &proto.Initialized{}}
	}
	return reply, nil
}

// use uses a service of the host, and returns its answer.
func (h *hostile) use(ctx context.Context, service, token string) string {
	var err error
	switch service {
	case "llm":
		var stream grpc.ServerStreamingClient[proto.ChatDelta]
		stream, err = h.host.Chat(ctx, &proto.ChatRequest{Token: token})
		if err == nil {
			_, err = stream.Recv()
		}
	case "memory":
		_, err = h.host.Search(ctx, &proto.SearchRequest{Token: token, Query: "x"})
	case "vars":
		_, err = h.host.Vars(ctx, &proto.VarsRequest{Token: token})
	case "log":
		_, err = h.host.Log(ctx, &proto.LogRequest{Token: token, Level: "info", Message: "x"})
	}
	return fmt.Sprint(err)
}

func (h *hostile) judge(mode string, req *proto.Request) *proto.Judged {
	verdicts := make([]*proto.Verdict, len(req.GetJudge().GetItems()))
	for i := range verdicts {
		score := 0.5
		verdicts[i] = &proto.Verdict{Include: true, Score: &score, Reason: "healthy"}
	}
	first := verdicts[0]
	switch mode {
	case "too few":
		verdicts = verdicts[1:]
	case "NaN":
		nan := math.NaN()
		first.Score = &nan
	case "beyond":
		two := 2.0
		first.Score = &two
	case "large":
		first.Reason = strings.Repeat("x", 100<<20)
	case "not UTF-8":
		// The field is written past the library, which would refuse.
		first.Reason = ""
		first.ProtoReflect().SetUnknown(protowire.AppendString(protowire.AppendTag(nil, 3, protowire.BytesType), "\xff\xfe"))
	case "stolen token":
		_, err := h.host.Vars(context.Background(), &proto.VarsRequest{Token: "12345"})
		first.Reason = err.Error()
	case "model":
		first.Reason = h.use(context.Background(), "llm", req.GetToken())
	case "endless":
		var err error
		for err == nil {
			_, err = h.host.Vars(context.Background(), &proto.VarsRequest{Token: req.GetToken()})
		}
		first.Reason = err.Error()
	case "endless log":
		for range 20_000 {
			_, _ = h.host.Log(context.Background(), &proto.LogRequest{Token: req.GetToken(), Level: "info", Message: "again"})
		}
	}
	return &proto.Judged{Verdicts: verdicts}
}

func (h *hostile) resolve(mode string, names []string) *proto.Resolved {
	values := map[string][]byte{names[0]: []byte("7")}
	switch mode {
	case "bad schema":
		values[names[0]] = []byte(`"seven"`)
	case "NaN":
		values[names[0]] = []byte("NaN")
	case "other name":
		values = map[string][]byte{"uninvited": []byte("7")}
	case "not UTF-8":
		values[names[0]] = []byte("\"\xff\xfe")
	}
	return &proto.Resolved{Values: values}
}

// Exec streams.
func (h *hostile) Exec(req *proto.ExecRequest, stream grpc.ServerStreamingServer[proto.Chunk]) error {
	text := func(s string) error { return stream.Send(&proto.Chunk{Piece: &proto.Chunk_Text{Text: s}}) }
	data := func(s string) error { return stream.Send(&proto.Chunk{Piece: &proto.Chunk_Data{Data: []byte(s)}}) }
	mode := req.GetState().GetInput()
	if err := h.misbehave(stream.Context(), mode); err != nil {
		return err
	}
	if service, ok := strings.CutPrefix(mode, "use "); ok {
		return stream.Send(&proto.Chunk{Piece: &proto.Chunk_Failure{Failure: &proto.Failure{
			Message: h.use(stream.Context(), service, req.GetToken()),
		}}})
	}
	switch mode {
	case "endless":
		err := error(nil)
		for err == nil {
			_, err = h.host.Vars(context.Background(), &proto.VarsRequest{Token: req.GetToken()})
		}
		return stream.Send(&proto.Chunk{Piece: &proto.Chunk_Failure{Failure: &proto.Failure{Message: err.Error()}}})
	case "exit in the middle":
		_ = text("half of ")
		time.Sleep(100 * time.Millisecond)
		os.Exit(6)
	case "hang in the middle":
		_ = text("half of ")
		select {}
	case "chunks":
		for range 1_000_000 {
			if err := text("x"); err != nil {
				return err
			}
		}
	case "output":
		for {
			if err := text(strings.Repeat("x", 1<<19)); err != nil {
				return err
			}
		}
	case "large":
		return text(strings.Repeat("x", 100<<20))
	case "text after data":
		_ = data(`{"text":"x"}`)
		return text("y")
	case "bad schema":
		return data(`{"other":1}`)
	case "no JSON":
		return data(`{"text":`)
	case "NaN":
		return data(`{"text":NaN}`)
	case "nothing":
		return stream.Send(&proto.Chunk{})
	case "not UTF-8":
		c := &proto.Chunk{}
		c.ProtoReflect().SetUnknown(protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "\xff\xfe"))
		return stream.Send(c)
	case "slow drip":
		for {
			if err := text("."); err != nil {
				return err
			}
			time.Sleep(20 * time.Millisecond)
		}
	case "deaf":
		// It asks the model and never reads the answer.
		if _, err := h.host.Chat(context.Background(), &proto.ChatRequest{Token: req.GetToken(), Messages: [][]byte{[]byte(`{}`)}}); err != nil {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	case "late":
		// It calls the host when the request is over.
		go func() {
			time.Sleep(50 * time.Millisecond)
			_, _ = h.host.Vars(context.Background(), &proto.VarsRequest{Token: req.GetToken()})
		}()
	}
	return text("healthy")
}

package sdk

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/callnode/scheduler/plugins/proto"
)

// Serve offers the plugin to the host that started this program, until the host
// wants it to end or is gone. It does not return where something is wrong: it says
// so on standard error and exits with code 1.
func Serve(p Plugin) {
	server, err := p.Server()
	if err != nil {
		fmt.Fprintf(os.Stderr, "plugin %s: %v\n", p.Name, err)
		os.Exit(1)
	}
	if os.Getenv(proto.CookieKey) != proto.CookieValue {
		fmt.Fprint(os.Stderr, p.about())
		os.Exit(1)
	}
	exitWithHost()
	limit := maxMessage()
	straight := straightOutput()
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig:  plugin.HandshakeConfig{MagicCookieKey: proto.CookieKey, MagicCookieValue: proto.CookieValue},
		VersionedPlugins: map[int]plugin.PluginSet{proto.Version: {"plugin": &served{server: server.(*pluginServer)}}},
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(opts,
				grpc.MaxRecvMsgSize(limit),
				grpc.MaxSendMsgSize(limit),
				grpc.InitialWindowSize(window),
				grpc.InitialConnWindowSize(window),
				grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
					straight()
					return handle(ctx, req)
				}),
			)...)
		},
		Logger: hclog.NewNullLogger(),
	})
}

// straightOutput makes the function that gives standard output and error back as they
// are now. The library replaces them when it begins to serve, to send what is written
// over the connection: the last words of a process that ends would be lost. The host
// asks for nothing before that, and reads both anyway.
func straightOutput() func() {
	out, err := os.Stdout, os.Stderr
	return sync.OnceFunc(func() { os.Stdout, os.Stderr = out, err })
}

// window is how much of a message is on its way before the receiver has to say
// more: a batch in one go.
const window = 1 << 20

// about is what a user reads who starts the program by hand.
func (p Plugin) about() string {
	var b strings.Builder
	fmt.Fprintf(&b, "This program is the plugin %s %s of scheduler, which starts it: it is not run by hand.\n", p.Name, p.Version)
	for _, f := range p.Functions {
		name := p.Name + "." + f.info.Name
		if f.info.Kind == proto.Kind_VARIABLE {
			name = "vars." + f.info.Name
		}
		fmt.Fprintf(&b, "  %-10s %s: %s\n", strings.ToLower(f.info.Kind.String()), name, f.info.DocEn)
	}
	fmt.Fprint(&b, "Try it: scheduler plugins verify FOLDER\n")
	return b.String()
}

// exitWithHost ends the process when the host is gone, however that happened.
func exitWithHost() {
	fd, err := strconv.Atoi(os.Getenv(proto.LifeKey))
	if err != nil || fd < 3 {
		return
	}
	life := os.NewFile(uintptr(fd), "life")
	closeOnExec(fd)
	go func() {
		_, _ = io.Copy(io.Discard, life)
		os.Exit(0)
	}()
}

func maxMessage() int {
	if n, err := strconv.Atoi(os.Getenv(proto.MaxMessageKey)); err == nil && n > 0 {
		return n
	}
	return proto.DefaultMaxMessage
}

// served is the plugin as the library wants it.
type served struct {
	plugin.NetRPCUnsupportedPlugin
	server *pluginServer
}

// GRPCServer registers the plugin.
func (s *served) GRPCServer(broker *plugin.GRPCBroker, g *grpc.Server) error {
	s.server.dial = func(id uint32) (grpc.ClientConnInterface, error) {
		return broker.DialWithOptions(id, grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(s.server.limit), grpc.MaxCallSendMsgSize(s.server.limit)))
	}
	proto.RegisterPluginServer(g, s.server)
	return nil
}

// GRPCClient is for hosts.
func (*served) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, fmt.Errorf("a plugin is no host")
}

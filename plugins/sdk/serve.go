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

// Serve offers the plugin to the host that started this program, until the host asks it to end or is gone. It
// writes a problem to standard error and exits with code 1, also when a person starts the program.
func Serve(p Plugin) {
	server, err := p.Server()
	if err != nil {
		fmt.Fprintf(os.Stderr, "plugin %s: %v\n", p.Name, err)
		os.Exit(1)
	}
	if os.Getenv(proto.CookieKey) != proto.CookieValue {
		fmt.Fprint(os.Stderr, p.usageText())
		os.Exit(1)
	}
	exitWithHost()
	limit := maxMessageBytes()
	restore := restoreOutput()
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig:  plugin.HandshakeConfig{MagicCookieKey: proto.CookieKey, MagicCookieValue: proto.CookieValue},
		VersionedPlugins: map[int]plugin.PluginSet{proto.Version: {"plugin": &serverKind{server: server.(*pluginServer)}}},
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(opts,
				grpc.MaxRecvMsgSize(limit),
				grpc.MaxSendMsgSize(limit),
				grpc.InitialWindowSize(windowBytes),
				grpc.InitialConnWindowSize(windowBytes),
				grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
					restore()
					return handle(ctx, req)
				}),
			)...)
		},
		Logger: hclog.NewNullLogger(),
	})
}

// restoreOutput returns a function that restores standard output and error as they are now. The library replaces
// them when it begins to serve, to send their text over the connection: the last lines of a process that ends
// would be lost. The host sends no request before that, and reads both anyway.
func restoreOutput() func() {
	out, err := os.Stdout, os.Stderr
	return sync.OnceFunc(func() { os.Stdout, os.Stderr = out, err })
}

// windowBytes is the flow-control window: a batch is sent in one go.
const windowBytes = 1 << 20

// usageText returns the text for a person who starts the program.
func (p Plugin) usageText() string {
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

// maxMessageBytes returns the size of the largest message, which the host sets.
func maxMessageBytes() int {
	if n, err := strconv.Atoi(os.Getenv(proto.MaxMessageKey)); err == nil && n > 0 {
		return n
	}
	return proto.DefaultMaxMessage
}

// serverKind is the plugin as the library wants it.
type serverKind struct {
	plugin.NetRPCUnsupportedPlugin
	server *pluginServer
}

// GRPCServer registers the plugin.
func (s *serverKind) GRPCServer(broker *plugin.GRPCBroker, g *grpc.Server) error {
	s.server.dial = func(id uint32) (grpc.ClientConnInterface, error) {
		return broker.DialWithOptions(id, grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(s.server.messageBytes), grpc.MaxCallSendMsgSize(s.server.messageBytes)))
	}
	proto.RegisterPluginServer(g, s.server)
	return nil
}

// GRPCClient is never called: it is for hosts.
func (*serverKind) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, fmt.Errorf("a plugin cannot be the host")
}

package host

import (
	"context"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/plugins/host/process"
	"github.com/callnode/scheduler/plugins/host/services"
	"github.com/callnode/scheduler/plugins/host/session"
	"github.com/callnode/scheduler/plugins/manifest"
	"github.com/callnode/scheduler/plugins/proto"
)

// InProcess returns a host of one plugin that runs inside this process, trusted as it is
// and granted the services. Everything goes over the wire as with a program of its own, so
// tests of a plugin can be run on both.
func InProcess(server proto.PluginServer, opts Options, granted ...string) (*Host, error) {
	h := newHost(opts, manifest.Find(nil, nil))
	m := &manifest.Manifest{Services: granted, Limits: manifest.DefaultLimits()}
	d, err := server.Describe(context.Background(), &proto.DescribeRequest{})
	if err != nil {
		return nil, wording.Errorf("asking the plugin what it is: %w", err)
	}
	m.Name, m.Version = d.GetName(), d.GetVersion()
	e, err := manifest.NewEntry(m, "", d)
	if err != nil {
		return nil, wording.Errorf("how the plugin describes itself is wrong: %w", err)
	}
	h.lock.Put(*e)
	h.addLocked(e, &inProcessLauncher{host: h, server: server, manifest: m, entry: e}, m.Limits)
	return h, nil
}

// inProcessLauncher starts a plugin in this process.
type inProcessLauncher struct {
	host     *Host
	server   proto.PluginServer
	manifest *manifest.Manifest
	entry    *manifest.Entry
}

func (l *inProcessLauncher) launch(context.Context) (_ *Instance, err error) {
	limit := l.manifest.Limits.MessageBytes()
	log := l.host.opts.Log.With("plugin", l.entry.Name)
	instance := &Instance{entry: l.entry, output: process.NewOutput(log, l.host.opts.Hidden)}
	server := grpc.NewServer(grpc.MaxRecvMsgSize(limit), grpc.MaxSendMsgSize(limit))
	proto.RegisterPluginServer(server, l.server)
	conn, stop, err := serveInMemory(server, limit)
	if err != nil {
		return nil, err
	}
	stops := []func(){stop}
	instance.api = proto.NewPluginClient(conn)
	if user, ok := l.server.(interface{ UseHost(proto.HostClient) }); ok && len(l.manifest.Services) > 0 {
		instance.services = services.NewServer(l.entry.Name, l.manifest, log, l.host.opts.Hidden)
		hostConn, stopHost, err := serveInMemory(instance.services.GRPC(nil), limit)
		if err != nil {
			stop()
			return nil, err
		}
		stops = append(stops, stopHost)
		user.UseHost(proto.NewHostClient(hostConn))
	}
	if l.entry.Session {
		instance.session, err = session.Open(instance.api, limit)
		if err != nil {
			return nil, err
		}
	}
	exited := make(chan struct{})
	instance.exited = exited
	instance.status = func() string { return "stopped" }
	instance.ping = func(context.Context) error { return nil }
	instance.end = func(time.Duration) {
		for _, stop := range stops {
			stop()
		}
		close(exited)
	}
	return instance, nil
}

// bufferBytes is the size of the buffer between both ends.
const bufferBytes = 1 << 20

// serveInMemory starts a server and connects to it.
func serveInMemory(server *grpc.Server, limit int) (conn *grpc.ClientConn, stop func(), err error) {
	listener := bufconn.Listen(bufferBytes)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener) // stop ends it
	}()
	conn, err = grpc.NewClient("passthrough:memory",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(limit), grpc.MaxCallSendMsgSize(limit)),
	)
	stop = func() {
		if conn != nil {
			_ = conn.Close()
		}
		server.Stop()
		<-done
	}
	if err != nil {
		stop()
		return nil, nil, err
	}
	return conn, stop, nil
}

package host

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/callnode/scheduler/plugins/proto"
)

// InProcess is a host of one plugin that runs inside this process, trusted as it is
// and granted the services. Everything goes over the wire as with a program of its
// own, so tests of a plugin can be run on both.
func InProcess(server proto.PluginServer, opts Options, services ...string) (*Host, error) {
	h := newHost(opts)
	m := &Manifest{Services: services, Limits: defaultLimits()}
	ctx := context.Background()
	d, err := server.Describe(ctx, &proto.DescribeRequest{})
	if err != nil {
		return nil, fmt.Errorf("asking the plugin what it is: %w", err)
	}
	m.Name, m.Version = d.GetName(), d.GetVersion()
	e, err := newEntry(m, "", d)
	if err != nil {
		return nil, fmt.Errorf("what the plugin says of itself is wrong: %w", err)
	}
	h.lock.put(*e)
	h.add(e, &inside{host: h, server: server, manifest: m, entry: e}, m.Limits)
	return h, nil
}

// inside is the launcher of a plugin in this process.
type inside struct {
	host     *Host
	server   proto.PluginServer
	manifest *Manifest
	entry    *Entry
}

func (i *inside) launch(context.Context) (_ *process, err error) {
	limit := i.manifest.Limits.maxMessage()
	log := i.host.opts.Log.With("plugin", i.entry.Name)
	proc := &process{entry: i.entry, out: &output{log: log}}
	opts := []grpc.ServerOption{grpc.MaxRecvMsgSize(limit), grpc.MaxSendMsgSize(limit)}
	served := grpc.NewServer(opts...)
	proto.RegisterPluginServer(served, i.server)
	conn, stop, err := connect(served, limit)
	if err != nil {
		return nil, err
	}
	stops := []func(){stop}
	proc.api = proto.NewPluginClient(conn)
	if user, ok := i.server.(interface{ UseHost(proto.HostClient) }); ok && len(i.manifest.Services) > 0 {
		proc.services = newServices(i.entry.Name, i.manifest, log)
		hostConn, stopHost, err := connect(proc.services.server(nil), limit)
		if err != nil {
			stop()
			return nil, err
		}
		stops = append(stops, stopHost)
		user.UseHost(proto.NewHostClient(hostConn))
	}
	if i.entry.Session {
		if proc.session, err = openSession(proc.api, limit); err != nil {
			return nil, err
		}
	}
	exited := make(chan struct{})
	var once sync.Once
	proc.exited = exited
	proc.status = func() string { return "stopped" }
	proc.ping = func(context.Context) error { return nil }
	proc.end = func(time.Duration) {
		once.Do(func() {
			for _, stop := range stops {
				stop()
			}
			close(exited)
		})
	}
	return proc, nil
}

// connect serves in memory and connects to it.
func connect(server *grpc.Server, limit int) (conn *grpc.ClientConn, stop func(), err error) {
	listener := bufconn.Listen(window)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener) // it ends by stop
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

// Package process starts the program of a plugin, connects to it, and ends it with everything that it started. It
// knows nothing of a plugin's functions: [Start] returns a gRPC connection, and [Process.Stop] leaves no process
// and no file behind, whatever the program does: for example, children that the program has moved to another
// session are ended on Linux, too.
//
// Three things end a program after its host is gone: the end of its life pipe, which the SDKs watch; the kernel,
// which on Linux kills the child of a thread that ended (hence [Spawner]); and a helper process, the reaper on
// Linux ([Reap]) or the group watcher, which also ends the program's own children.
package process

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	gorunner "github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/plugins/proto"
)

// Process is a program that was started and connected to. [Start] makes it, [Process.Stop]
// ends it. It is safe for concurrent use.
type Process struct {
	// Conn is the connection to the program, Broker announces services of the host to it,
	// Output has its output.
	Conn   *grpc.ClientConn
	Broker *goplugin.GRPCBroker
	Output *Output

	client   *goplugin.Client
	runner   *runner
	stopping sync.Once
}

// Start starts a program and connects to it. The error says how far it came, with the
// last lines that it wrote.
func Start(ctx context.Context, c Config) (*Process, error) {
	out := NewOutput(c.Log, c.Hidden)
	r := &runner{config: c, out: out, throughReaper: c.Reaper && canReap()}
	timeout := time.Duration(c.Manifest.Limits.StartTimeout)
	kind := &clientKind{messageBytes: c.Manifest.Limits.MessageBytes()}
	client := goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig:  goplugin.HandshakeConfig{MagicCookieKey: proto.CookieKey, MagicCookieValue: proto.CookieValue},
		VersionedPlugins: map[int]goplugin.PluginSet{proto.Version: {"plugin": kind}},
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		Logger:           hclog.NewNullLogger(),
		SkipHostEnv:      true,
		AutoMTLS:         c.AutoMTLS || runtime.GOOS == "windows",
		StartTimeout:     timeout,
		SyncStdout:       out,
		SyncStderr:       out,
		UnixSocketConfig: &goplugin.UnixSocketConfig{TempDir: c.Sockets},
		GRPCDialOptions:  kind.dialOptions(),
		RunnerFunc: func(_ hclog.Logger, cmd *exec.Cmd, sockets string) (gorunner.Runner, error) {
			r.libraryEnv, r.ownSockets = cmd.Env, sockets
			return r, nil
		},
	})
	stop := context.AfterFunc(ctx, func() { _ = r.Kill(ctx) })
	defer stop()
	connected, err := client.Client()
	if err == nil {
		_, err = connected.Dispense("plugin")
	}
	if err != nil {
		killClient(client, r, 0)
		_ = os.RemoveAll(r.ownSockets) // the library forgets it if nothing was started
		c.Mirror.Remove()
		switch {
		case ctx.Err() != nil:
			err = ctx.Err()
		case r.refusal != nil:
			err = &RefusedError{r.refusal}
		default:
			err = r.startFailure(err, timeout)
		}
		return nil, out.Annotate(err)
	}
	return &Process{Conn: kind.conn, Broker: kind.broker, Output: out, client: client, runner: r}, nil
}

// Exited returns a channel that is closed when the process is gone.
func (p *Process) Exited() <-chan struct{} { return p.runner.exited }

// Status returns how the process ended; "" while it runs.
func (p *Process) Status() string { return p.runner.status() }

// Ping returns an error if the process does not answer the health check.
func (p *Process) Ping(ctx context.Context) error {
	_, err := grpc_health_v1.NewHealthClient(p.Conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: goplugin.GRPCServiceName})
	return err
}

// Stop asks the process to end, and kills it with all its children after gracePeriod. It
// returns when the process is gone.
func (p *Process) Stop(gracePeriod time.Duration) {
	p.stopping.Do(func() { killClient(p.client, p.runner, gracePeriod) })
}

// CloseLifePipe lets the process believe that the host is gone.
func (p *Process) CloseLifePipe() { _ = p.runner.life.Close() }

// killClient asks a process to end, and kills it after gracePeriod. The library's Kill
// waits without a bound for a process that hangs, hence the goroutine; it also removes
// the folder of the socket.
func killClient(client *goplugin.Client, r *runner, gracePeriod time.Duration) {
	done := make(chan struct{})
	go func() {
		client.Kill()
		close(done)
	}()
	timer := time.NewTimer(gracePeriod)
	defer timer.Stop()
	select {
	case <-done:
		return
	case <-timer.C:
	}
	_ = r.Kill(context.Background())
	select {
	case <-done:
	case <-time.After(killTimeout):
	}
}

// clientKind is the client side of the only plugin kind, as the library wants it.
type clientKind struct {
	goplugin.NetRPCUnsupportedPlugin
	messageBytes int
	broker       *goplugin.GRPCBroker
	conn         *grpc.ClientConn
}

// GRPCServer is never called: it is for plugins.
func (*clientKind) GRPCServer(*goplugin.GRPCBroker, *grpc.Server) error {
	return wording.Errorf("the host serves no plugin")
}

// GRPCClient keeps the connection.
func (k *clientKind) GRPCClient(_ context.Context, broker *goplugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	k.broker, k.conn = broker, conn
	return k, nil
}

// windowBytes is the flow-control window: a batch is sent in one go.
const windowBytes = 1 << 20

func (k *clientKind) dialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(k.messageBytes), grpc.MaxCallSendMsgSize(k.messageBytes)),
		grpc.WithInitialWindowSize(windowBytes),
		grpc.WithInitialConnWindowSize(windowBytes),
	}
}

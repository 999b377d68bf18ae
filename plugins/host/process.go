package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	gorunner "github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/plugins/proto"
)

// process is a plugin that was started and has described itself.
type process struct {
	api     proto.PluginClient
	session *session // nil where the plugin serves none
	entry   *Entry   // what it said of itself
	out     *output

	// exited is closed when the process is gone; status says how it ended then.
	exited <-chan struct{}
	status func() string
	// ping asks whether it is alive.
	ping func(ctx context.Context) error
	// end stops it, gracefully for so long, then by force.
	end func(grace time.Duration)

	// abandon makes the process think that the host is gone; nil where it cannot.
	abandon func()

	stopping sync.Once
	services *services
}

// launcher starts a plugin.
type launcher interface {
	launch(ctx context.Context) (*process, error)
}

// alive says whether the process still runs.
func (p *process) alive() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// stop ends the process in bounded time; it returns when it is gone.
func (p *process) stop(grace time.Duration) {
	p.stopping.Do(func() {
		if p.session != nil {
			p.session.close()
		}
		p.end(grace)
		if p.services != nil {
			p.services.stop()
		}
	})
}

// permanent is an error that the next start would meet too.
type permanent struct{ err error }

func (p permanent) Error() string { return p.err.Error() }
func (p permanent) Unwrap() error { return p.err }

// program starts the program of a plugin. trusted is what the lock file says of it;
// nil where that is being found out.
type program struct {
	host    *Host
	name    string
	dir     string
	trusted *Entry
	wanted  string // the SHA-256 that the user was shown; "" where nobody was shown any
}

// launch checks that the program is the trusted one, starts it, and has it describe
// itself.
func (p *program) launch(ctx context.Context) (*process, error) {
	if p.dir == "" {
		return nil, permanent{errNotInstalled}
	}
	m, err := ReadManifest(p.dir)
	if err != nil {
		return nil, permanent{err}
	}
	path, err := locate(p.dir, m)
	if err != nil {
		err := calls.Errorf(calls.Invalid, "its program cannot be found: %w", err)
		return nil, permanent{err.WithHint("%s", calls.HintOf(notBuilt(p.dir, m)))}
	}
	sum := ""
	proc, err := p.start(ctx, m, path, func() (err error) {
		sum, err = p.check(m)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := p.describe(ctx, proc, m, sum); err != nil {
		proc.stop(p.host.opts.StopGrace)
		return nil, err
	}
	return proc, nil
}

// check holds the program to what is trusted, or what the user was shown.
func (p *program) check(m *Manifest) (sum string, err error) {
	sum, err = digest(p.dir, m)
	switch {
	case err != nil:
		return "", permanent{err}
	case p.trusted != nil && sum != p.trusted.SHA256:
		return "", permanent{fmt.Errorf("its program changed since it was trusted (sha256 %.12s…, trusted %.12s…); if you know why, run: scheduler plugins trust %s", sum, p.trusted.SHA256, p.name)}
	case p.wanted != "" && sum != p.wanted:
		return "", permanent{errors.New("its program changed while it was looked at")}
	}
	return sum, nil
}

// start starts the process, unless check finds fault with it, and connects to it.
func (p *program) start(ctx context.Context, m *Manifest, path string, check func() error) (*process, error) {
	dir, err := p.host.socketDir()
	if err != nil {
		return nil, permanent{err}
	}
	log := p.host.opts.Log.With("plugin", p.name)
	r := &runner{
		manifest: m, program: path, dir: p.dir, shared: dir, out: &output{log: log}, spawn: &p.host.spawn,
		kept: p.host.opts.Keeper && canKeep(), check: check,
	}
	timeout := time.Duration(m.Limits.StartTimeout)
	wires := &wires{limit: m.Limits.maxMessage()}
	client := goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig:  goplugin.HandshakeConfig{MagicCookieKey: proto.CookieKey, MagicCookieValue: proto.CookieValue},
		VersionedPlugins: map[int]goplugin.PluginSet{proto.Version: {"plugin": wires}},
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		Logger:           hclog.NewNullLogger(),
		SkipHostEnv:      true,
		AutoMTLS:         p.host.opts.AutoMTLS || runtime.GOOS == "windows",
		StartTimeout:     timeout,
		SyncStdout:       r.out,
		SyncStderr:       r.out,
		UnixSocketConfig: &goplugin.UnixSocketConfig{TempDir: dir},
		GRPCDialOptions:  wires.dialOptions(),
		RunnerFunc: func(_ hclog.Logger, cmd *exec.Cmd, sockets string) (gorunner.Runner, error) {
			r.env, r.sockets = cmd.Env, sockets
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
		_ = os.RemoveAll(r.sockets) // the library forgets it where nothing was started
		switch {
		case ctx.Err() != nil:
			err = ctx.Err()
		case !errors.As(err, new(permanent)):
			err = r.startFailure(err, timeout)
		}
		return nil, withOutput(err, r.out)
	}
	proc := &process{
		api: proto.NewPluginClient(wires.conn), out: r.out, exited: r.exited, status: r.status,
		end:     func(grace time.Duration) { killClient(client, r, grace) },
		abandon: func() { _ = r.life.Close() },
	}
	proc.ping = func(ctx context.Context) error {
		_, err := grpc_health_v1.NewHealthClient(wires.conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: goplugin.GRPCServiceName})
		return err
	}
	if len(m.Services) > 0 {
		proc.services = newServices(p.name, m, log)
		id := wires.broker.NextId()
		go wires.broker.AcceptAndServe(id, proc.services.server)
		proc.services.id = id
	}
	return proc, nil
}

// describe asks the plugin what it is, and compares that with what was trusted.
func (p *program) describe(ctx context.Context, proc *process, m *Manifest, sum string) error {
	timeout := time.Duration(m.Limits.StartTimeout)
	dctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req := &proto.DescribeRequest{}
	if proc.services != nil {
		req.HostService = proc.services.id
	}
	d, err := proc.api.Describe(dctx, req)
	if status.Code(err) == codes.DeadlineExceeded { // the other side may be first to see it
		await(dctx)
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case dctx.Err() != nil:
		return withOutput(fmt.Errorf("it did not describe itself within %s", timeout), proc.out)
	case err != nil:
		return withOutput(fmt.Errorf("it did not describe itself: %w", fault(proc, err)), proc.out)
	}
	if proc.entry, err = newEntry(m, sum, d); err != nil {
		return permanent{fmt.Errorf("what it says of itself is wrong: %w", err)}
	}
	if p.trusted != nil {
		if changes := p.trusted.Changes(proc.entry); changes != "" {
			return permanent{fmt.Errorf("it describes itself differently than when it was trusted: %s; if you know why, run: scheduler plugins trust %s", changes, p.name)}
		}
	}
	if proc.entry.Session {
		if proc.session, err = openSession(proc.api, m.Limits.maxMessage()); err != nil {
			return fmt.Errorf("it did not open a session: %w", fault(proc, err))
		}
	}
	return nil
}

// killClient ends a process: it asks, and after grace it kills. The library's Kill
// waits without a bound for a process that hangs, hence the goroutine; it also
// removes the folder of the socket.
func killClient(client *goplugin.Client, r *runner, grace time.Duration) {
	done := make(chan struct{})
	go func() {
		client.Kill()
		close(done)
	}()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-done:
		return
	case <-timer.C:
	}
	_ = r.Kill(context.Background())
	select {
	case <-done:
	case <-time.After(forcedEnd):
	}
}

// forcedEnd is how long a killed process is waited for: only the kernel can hold
// one up.
const forcedEnd = 5 * time.Second

// withOutput adds what the process wrote last to an error.
func withOutput(err error, out *output) error {
	if text := out.last(); text != "" {
		return fmt.Errorf("%w; it wrote:\n%s", err, text)
	}
	return err
}

// wires is the client side of the plugin kind, as the library wants it.
type wires struct {
	goplugin.NetRPCUnsupportedPlugin
	limit  int
	broker *goplugin.GRPCBroker
	conn   *grpc.ClientConn
}

// GRPCServer is for plugins.
func (w *wires) GRPCServer(*goplugin.GRPCBroker, *grpc.Server) error {
	return errors.New("a host is no plugin")
}

// GRPCClient keeps the connection.
func (w *wires) GRPCClient(_ context.Context, broker *goplugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	w.broker, w.conn = broker, conn
	return w, nil
}

// window is how much of a message is on its way before the receiver has to say
// more: a batch in one go.
const window = 1 << 20

func (w *wires) dialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(w.limit), grpc.MaxCallSendMsgSize(w.limit)),
		grpc.WithInitialWindowSize(window),
		grpc.WithInitialConnWindowSize(window),
	}
}

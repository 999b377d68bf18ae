package remote

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/service"
)

// startTimeout is how long the program may take to start.
const startTimeout = 30 * time.Second

// Options describe the program that a [Client] starts.
type Options struct {
	// Program is the setting temporal.program; "" lets [Find] look for it.
	Program string
	// Settings are sent to the program when it opens; their Version is this program's.
	Settings Settings
	// Log gets the standard error of the program.
	Log io.Writer
}

// Client asks the second program. [NewClient] makes one for a process, Close ends it; it is
// safe for concurrent use.
type Client struct {
	options Options

	mu     sync.Mutex // guards the fields below
	plugin *plugin.Client
	conn   *grpc.ClientConn
	leave  context.CancelFunc // ends the request that keeps the program open
}

var _ service.Remote = (*Client)(nil)

// NewClient returns a client. The program starts with the first request.
func NewClient(options Options) *Client { return &Client{options: options} }

// Open starts the program and connects it, if that was not done.
func (c *Client) Open(ctx context.Context) error {
	_, err := c.connect(ctx)
	return err
}

// Start lets a run of the journal begin or go on.
func (c *Client) Start(ctx context.Context, run service.RemoteRun) error {
	_, err := c.ask(ctx, request{Method: methodStart, Run: &run}, nil)
	return err
}

// Answer puts answers of a waiting run on record, all or none.
func (c *Client) Answer(ctx context.Context, run service.RemoteRun, answers []scheduler.Answer, more bool) ([]scheduler.Answer, error) {
	done, err := c.ask(ctx, request{Method: methodAnswer, Run: &run, Answers: formatAnswers(answers), More: more}, nil)
	if err != nil {
		return nil, err
	}
	return parseAnswers(done.Answers)
}

// Wake lets a run look at the journal.
func (c *Client) Wake(ctx context.Context, run string) error {
	_, err := c.ask(ctx, request{Method: methodWake, ID: run}, nil)
	return err
}

// Check asks whether runs can be given to the other machines now.
func (c *Client) Check(ctx context.Context) error {
	_, err := c.ask(ctx, request{Method: methodCheck}, nil)
	return err
}

// Wait waits until a run is not under way on the other machines any more.
func (c *Client) Wait(ctx context.Context, run service.RemoteRun, hint func(wording.Text)) error {
	_, err := c.ask(ctx, request{Method: methodWait, Run: &run}, hint)
	return err
}

// Close ends the program.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopLocked()
}

func (c *Client) stopLocked() {
	if c.plugin == nil {
		return
	}
	c.leave()
	c.plugin.Kill()
	c.plugin, c.conn = nil, nil
}

// connect returns the connection to the program, which it starts if it is not there.
func (c *Client) connect(ctx context.Context) (*grpc.ClientConn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.plugin != nil && !c.plugin.Exited() {
		return c.conn, nil
	}
	c.stopLocked()
	path, err := Find(c.options.Program)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, ServeCommand) //nolint:noctx // it outlives the request that starts it, and stopLocked ends it
	kind := &clientKind{}
	c.plugin = plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig:  handshake,
		Plugins:          plugin.PluginSet{kindName: kind},
		Cmd:              cmd,
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		Logger:           hclog.NewNullLogger(),
		Stderr:           c.options.Log,
		SyncStderr:       c.options.Log,
		StartTimeout:     startTimeout,
		AutoMTLS:         runtime.GOOS == "windows", // elsewhere the socket is in a folder of this user
		GRPCDialOptions:  []grpc.DialOption{grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage))},
	})
	held, leave := context.WithCancel(context.WithoutCancel(ctx))
	c.leave = leave
	defer context.AfterFunc(ctx, c.plugin.Kill)()
	err = c.openLocked(held, path, kind)
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		c.stopLocked()
		return nil, err
	}
	return c.conn, nil
}

// openLocked opens the program that is starting. The request stays open until held ends, so
// that the program sees when this process dies.
func (c *Client) openLocked(held context.Context, path string, kind *clientKind) error {
	connected, err := c.plugin.Client()
	if err == nil {
		_, err = connected.Dispense(kindName)
	}
	if err != nil {
		return calls.Errorf(calls.Invalid, "starting %s: %w", path, err).WithHint("is it the program %s of this version?", Program)
	}
	c.conn = kind.conn
	replies, err := send(held, c.conn, request{Method: methodOpen, Settings: &c.options.Settings})
	if err != nil {
		return calls.Errorf(calls.Provider, "asking %s: %w", path, err)
	}
	first, err := replies.next()
	if err != nil {
		return calls.Errorf(calls.Provider, "asking %s: %w", path, err)
	}
	if ours := c.options.Settings.Version; first.Version != ours {
		return errVersion(path, first.Version, ours)
	}
	return first.Error.err()
}

// ask sends a request and returns the reply that ends it; hint hears of the others.
func (c *Client) ask(ctx context.Context, r request, hint func(wording.Text)) (*reply, error) {
	conn, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	replies, err := send(ctx, conn, r)
	for err == nil {
		var next *reply
		next, err = replies.next()
		switch {
		case err != nil:
		case next.Done:
			return next, next.Error.err()
		case next.Hint != nil && hint != nil:
			hint(*next.Hint)
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	c.drop(conn)
	return nil, calls.Errorf(calls.Provider, "asking %s: %w", Program, err).WithHint("the next request starts it again")
}

// drop ends the program of a connection that broke, unless another request did already.
func (c *Client) drop(conn *grpc.ClientConn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == conn {
		c.stopLocked()
	}
}

// replies are the messages back of one request.
type replies struct{ stream grpc.ClientStream }

func send(ctx context.Context, conn *grpc.ClientConn, r request) (*replies, error) {
	stream, err := conn.NewStream(ctx, &callStream, "/"+serviceName+"/"+callMethod)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	if err := stream.SendMsg(&envelope{Value: text}); err != nil && !errors.Is(err, io.EOF) { // next reports the reason of an EOF
		return nil, err
	}
	return &replies{stream}, stream.CloseSend()
}

func (r *replies) next() (*reply, error) {
	var message envelope
	if err := r.stream.RecvMsg(&message); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errEnded
		}
		return nil, err
	}
	var next reply
	return &next, json.Unmarshal(message.GetValue(), &next)
}

// clientKind is the kind of plugin, on the side that asks.
type clientKind struct {
	plugin.NetRPCUnsupportedPlugin
	conn *grpc.ClientConn
}

// GRPCServer is for the other side.
func (*clientKind) GRPCServer(*plugin.GRPCBroker, *grpc.Server) error {
	return errOtherSide
}

// GRPCClient takes the connection.
func (k *clientKind) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	k.conn = conn
	return k, nil
}

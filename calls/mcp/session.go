package mcp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/secret"
	"github.com/callnode/scheduler/llm/value/wording"
)

const (
	// maxMessage bounds one message of a server, maxBody all that answers one request.
	maxMessage = 16 << 20
	maxBody    = 32 << 20
	// endGrace is how long a command may take to end by itself.
	endGrace = 2 * time.Second
	// maxStderr bounds how much is kept of a command's standard error.
	maxStderr = 2000
)

// session is a connection to a server, with the tools it has listed. [Options.connectServer] makes one; it is safe
// for concurrent use.
type session struct {
	options *Options
	server  *Server
	client  *sdk.ClientSession
	process *process // nil for a server with a URL
	about   string
	tools   map[string]*Tool
	leftOut []wording.Text
	// isStale is set when the server has announced that its tools changed.
	isStale, isOver atomic.Bool

	mu    sync.Mutex // guards the fields below
	asked string     // the server's question to the user, in a version of the protocol in which it cannot wait
}

// connectServer starts a server, or connects to it, and lists its tools.
func (o *Options) connectServer(ctx context.Context, s *Server) (*session, error) {
	live := &session{options: o, server: s, tools: map[string]*Tool{}}
	transport, err := o.newTransport(s, live)
	if err != nil {
		return nil, err
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "scheduler", Version: o.Version}, &sdk.ClientOptions{
		Capabilities:       &sdk.ClientCapabilities{},
		MultiRoundTrip:     &sdk.MultiRoundTripOptions{Disabled: true},
		ElicitationHandler: live.refuseQuestion,
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {
			live.isStale.Store(true)
		},
	})
	live.client, err = client.Connect(ctx, transport, nil)
	if err == nil {
		err = live.listTools(ctx)
	}
	if err != nil {
		err = live.explainError(ctx, err)
		live.close()
		return nil, err
	}
	if result := live.client.InitializeResult(); result != nil && result.ServerInfo != nil {
		hidden := o.secretsOf(ctx)
		live.about = strings.TrimSpace(hidden.Line(result.ServerInfo.Name, 100) + " " + hidden.Line(result.ServerInfo.Version, 40))
	}
	go func() {
		_ = live.client.Wait() // however it ended, it is over
		live.isOver.Store(true)
	}()
	return live, nil
}

// newTransport returns the way to a server.
func (o *Options) newTransport(s *Server, live *session) (sdk.Transport, error) {
	if s.URL == "" {
		p, err := o.startProcess(s)
		if err != nil {
			return nil, err
		}
		live.process = p
		return knownBlocks{&sdk.IOTransport{Reader: &textReader{ReadCloser: p.out}, Writer: p.in, MaxLineLength: maxMessage}}, nil
	}
	headers := http.Header{}
	for name, variable := range s.Headers {
		text, ok := o.LookupEnv(variable)
		if !ok || text == "" {
			return nil, s.errorf(calls.Invalid, "the environment variable %s is not set (headers_env names it)", variable)
		}
		headers.Set(name, text)
	}
	client := *o.HTTP
	client.Transport = &boundedTransport{next: client.Transport, url: s.URL, headers: headers}
	return &sdk.StreamableClientTransport{
		Endpoint: s.URL, HTTPClient: &client, MaxRetries: -1, DisableStandaloneSSE: true, MaxEventSize: maxMessage,
	}, nil
}

// boundedTransport sends the headers of a server to that server alone, and bounds its answers.
type boundedTransport struct {
	next    http.RoundTripper
	url     string
	headers http.Header
}

// RoundTrip sends a request.
func (t *boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.String() == t.url {
		r = r.Clone(r.Context())
		for name, texts := range t.headers {
			r.Header[name] = texts
		}
	}
	answer, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	answer.Body = &boundedBody{ReadCloser: &textReader{ReadCloser: answer.Body}, left: maxBody}
	readKnownBlocks(answer)
	return answer, nil
}

// textReader is a stream of text, which must be UTF-8: the library would replace invalid bytes, and the model read
// words that the server never sent. Servers on Chinese Windows, for example, print GBK.
type textReader struct {
	io.ReadCloser
	// rest is the beginning of a character that the last piece ended in.
	rest []byte
}

// Read fails at the first byte that belongs to no character.
func (r *textReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	text := slices.Concat(r.rest, p[:n])
	r.rest = nil
	at := value.FindInvalidUTF8(text)
	switch {
	case at < 0:
		return n, err
	case !utf8.FullRune(text[at:]) && err == nil:
		r.rest = slices.Clone(text[at:])
		return n, nil
	}
	message, _ := value.FindEncodingError(text).Text()
	return 0, wording.Errorf("its answer: %s", message)
}

// boundedBody is the body of an answer up to a size.
type boundedBody struct {
	io.ReadCloser
	left int
}

var errTooLong = wording.Errorf("its answer is longer than %d MiB", maxBody>>20)

// Read reads up to the limit.
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.left -= n
	if b.left < 0 {
		return 0, errTooLong
	}
	return n, err
}

// listTools lists the tools of the server.
func (s *session) listTools(ctx context.Context) error {
	tools := map[string]*Tool{}
	listed, leftOut, err := s.listPages(ctx)
	if err != nil {
		return err
	}
	for _, one := range listed {
		tool, err := newTool(one)
		if err != nil {
			leftOut = append(leftOut, wording.OfError(err))
			continue
		}
		tools[tool.Name] = &tool
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools, s.leftOut = tools, leftOut
	s.isStale.Store(false)
	return nil
}

// listPages returns the tools of all pages. A page leads to the next by its cursor; of a server that
// gives a cursor again, the pages so far are taken, with a note.
func (s *session) listPages(ctx context.Context) (tools []*sdk.Tool, notes []wording.Text, err error) {
	seen := map[string]bool{}
	for cursor := ""; ; {
		page, err := s.client.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
		if err != nil {
			return nil, nil, err
		}
		tools = append(tools, page.Tools...)
		cursor = page.NextCursor
		switch {
		case len(tools) > maxTools:
			return nil, nil, wording.Errorf("it has more than %d tools", maxTools)
		case cursor == "":
			return tools, notes, nil
		case seen[cursor]:
			return tools, append(notes, wording.Say("the server gave the cursor %q twice; the pages so far are taken", value.Truncate(cursor, 40))), nil
		case len(seen) >= maxTools:
			return nil, nil, wording.Errorf("it lists its tools on more than %d pages", maxTools)
		}
		seen[cursor] = true
	}
}

// findTool returns a tool as the server describes it now; nil if the server has no tool with that name.
func (s *session) findTool(ctx context.Context, name string) (*Tool, error) {
	if s.isStale.Load() {
		if err := s.listTools(ctx); err != nil {
			return nil, s.explainError(ctx, err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tools[name], nil
}

// refuseQuestion answers a server that asks the user while a step waits for its answer: there may be
// no user now.
func (s *session) refuseQuestion(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = r.Params.Message[:min(len(r.Params.Message), maxSchemaBytes)]
	return &sdk.ElicitResult{Action: "cancel"}, nil
}

// takeAsked returns the server's question to the user once; "" if there was none.
func (s *session) takeAsked() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = ""
	return asked
}

func (s *session) isAlive() bool { return !s.isOver.Load() }

// explainError adds the name of the server to an error of the connection.
func (s *session) explainError(ctx context.Context, err error) error {
	var known *calls.Error
	switch {
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		go s.checkAlive()
		return s.server.errorf(calls.Timeout, "no answer within %s", s.server.Timeout).WithHint("timeout of the server in scheduler.yaml is the time for each use of a tool")
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &known): // of the guard
		return s.server.errorf(known.Kind, "%w", err).WithHint("%s", known.Hint)
	}
	if !isAnswer(err) {
		s.isOver.Store(true) // the next step begins with a new connection
	}
	hidden := s.options.secretsOf(ctx)
	text := hidden.Message(err.Error(), 300)
	if s.process != nil {
		s.process.waitBriefly()
		if last := s.process.lastWords(hidden); last != "" {
			return s.server.errorf(calls.Plugin, "%s", text).WithHint("its last words: %s", last)
		}
	}
	return s.server.errorf(calls.Plugin, "%s", text)
}

// isAnswer reports whether an error is an answer of the server.
func isAnswer(err error) bool {
	var answer *jsonrpc.Error
	return errors.As(err, &answer)
}

// checkAlive pings a server that was too slow. If it does not answer, the next step begins with a new connection.
func (s *session) checkAlive() {
	ctx, cancel := context.WithTimeout(context.Background(), endGrace)
	defer cancel()
	if s.client == nil {
		return
	}
	if err := s.client.Ping(ctx, nil); err != nil && !isAnswer(err) {
		s.isOver.Store(true)
	}
}

// close ends the connection, and the command.
func (s *session) close() {
	s.isOver.Store(true)
	if s.process != nil {
		_ = s.process.in.Close() // a command ends when its input ends
	}
	if s.client != nil {
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = s.client.Close() // the server may be gone
		}()
		select {
		case <-done:
		case <-time.After(endGrace):
		}
	}
	if s.process != nil {
		s.process.end()
	}
}

// process is the command of a server.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    io.ReadCloser
	exited chan struct{}

	mu     sync.Mutex // guards the fields below
	stderr []byte     // its end
	isCut  bool       // its beginning is lost
}

// startProcess starts the command of a server.
func (o *Options) startProcess(s *Server) (*process, error) {
	command := s.Command
	if strings.ContainsRune(command, filepath.Separator) && !filepath.IsAbs(command) {
		command = filepath.Join(o.Dir, command)
	}
	cmd := exec.CommandContext(context.Background(), command, s.Args...) // it outlives the step that starts it
	cmd.Dir = o.Dir
	cmd.Env = []string{}
	for _, name := range s.Env {
		if text, ok := o.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+text)
		}
	}
	ownGroup(cmd)
	p := &process{cmd: cmd, exited: make(chan struct{})}
	cmd.Stderr = p
	var err error
	p.in, err = cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	// The program reads from a pipe of its own: the library closes its pipe when the process ends, whether or not
	// all was read.
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, p.out = writer, reader
	err = cmd.Start()
	_ = writer.Close() // the process has its own
	if err != nil {
		_ = reader.Close()
		return nil, s.errorf(calls.Plugin, "starting %s: %w", s.Command, err).WithHint("command and args of the server are in scheduler.yaml; it gets only the environment that env names")
	}
	go func() {
		_ = cmd.Wait() // its last words say how it ended
		close(p.exited)
	}()
	return p, nil
}

// Write keeps the end of the command's standard error.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stderr = append(p.stderr, b...)
	if over := len(p.stderr) - maxStderr - secret.Margin; over > 0 {
		p.stderr = append(p.stderr[:0], p.stderr[over:]...)
		p.isCut = true
	}
	return len(b), nil
}

// lastWords returns the last line that the command has written to its standard error.
func (p *process) lastWords(hidden *secret.Set) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(hidden.End(string(p.stderr), maxStderr, p.isCut)), "\n")
	return hidden.Line(lines[len(lines)-1], 300)
}

// waitBriefly waits a moment for the command to end, so that its last words are there.
func (p *process) waitBriefly() {
	select {
	case <-p.exited:
	case <-time.After(endGrace / 10):
	}
}

// end ends the command and all that it has started.
func (p *process) end() {
	select {
	case <-p.exited:
	case <-time.After(endGrace):
	}
	killGroup(p.cmd)
	<-p.exited
	_ = p.out.Close()
}

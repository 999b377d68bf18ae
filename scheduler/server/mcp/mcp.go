// Package mcp serves flows as the tools of a Model Context Protocol server, over HTTP and
// over stdio. A call of a tool is a run: it tells its progress, asks the user for what it
// waits for where the client can do that, and answers with the outputs. Runs, their prompts
// and flows are resources.
//
// The protocol has two eras. Since 2026-07-28 each request stands alone and a server asks by
// an answer that the client completes; before, there are sessions in which the server sends
// requests of its own. One handler of the library cannot serve both, so [API.ServeHTTP]
// picks one by the version that a request names.
package mcp

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/callnode/scheduler/scheduler/service"
)

// Settings are those of the server.
type Settings struct {
	// Calls are the names of the calls that are tools, beside the flows.
	Calls []string
}

// Options are what an [API] is made of.
type Options struct {
	Settings
	Service    *service.Service
	Dispatcher *service.Dispatcher
	Library    *service.Library
	Log        *slog.Logger
	// Key signs what clients carry from one request to the next: it is the same for all
	// servers that they may meet.
	Key []byte
	// Language is that of descriptions, Version that of the program.
	Language, Version string
}

// API answers requests. A server makes one with [New] for its life, and ends its sessions
// with [API.Close]. It is safe for concurrent use.
type API struct {
	options Options
	// versions is what the library asks about the versions of a request in a session.
	versions            *sdk.Server
	stateless, stateful http.Handler
	open                context.Context // ends with Close
	close               context.CancelFunc

	mu       sync.Mutex // guards what follows
	sessions []*sdk.Server
	missing  map[string]bool // calls of the settings that were missed
}

// Caller is who makes a request.
type Caller struct {
	service.Principal
	// Key tells callers apart that have the same user.
	Key string
	// Address is where the caller sees the pages of the server, http://host:port; "" where
	// there are none.
	Address string
	// What the caller may do beside running flows.
	CanCall, CanReadRuns, CanReadFlows bool
}

const (
	versionHeader = "Mcp-Protocol-Version"
	sessionHeader = "Mcp-Session-Id"
	// statelessSince is the first version of the protocol without sessions.
	statelessSince = "2026-07-28"
	// sessionLife is how long a session lasts without a request, maxSessions how many there
	// may be.
	sessionLife = time.Hour
	maxSessions = 1000
)

// New returns the API.
func New(o Options) *API {
	a := &API{options: o, missing: map[string]bool{}}
	a.open, a.close = context.WithCancel(context.Background())
	a.versions = a.newServer(Caller{})
	options := sdk.StreamableHTTPOptions{
		SessionTimeout:             sessionLife,
		MaxRequestBodyBytes:        -1,   // the server has bounded the body
		DisableLocalhostProtection: true, // and checked the host
	}
	a.stateful = sdk.NewStreamableHTTPHandler(a.serverFor, &options)
	options.Stateless, options.PropagateRequestCancellation = true, true
	a.stateless = sdk.NewStreamableHTTPHandler(a.serverFor, &options)
	return a
}

// Serve answers a caller over a pair of streams, a message to a line, until the input ends,
// or ctx, which closes the API.
func (a *API) Serve(ctx context.Context, by Caller, in io.ReadCloser, out io.WriteCloser) error {
	defer context.AfterFunc(ctx, a.Close)()
	err := a.newServer(by).Run(ctx, &sdk.IOTransport{Reader: in, Writer: out})
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// visit is a request on its way through the library.
type visit struct {
	by     Caller
	server *sdk.Server // made when it is first asked for
}

type visitKey struct{}

// ServeHTTP answers a request of a caller whose body is known.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request, by Caller) {
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Time{}) // the request was read
	w.Header().Set("X-Accel-Buffering", "no")
	handler := a.stateful
	if r.Header.Get(versionHeader) >= statelessSince {
		handler = a.stateless
	} else if id := r.Header.Get(sessionHeader); id != "" && !a.isSessionOf(id, by) {
		http.Error(w, "session not found", http.StatusNotFound)
		return
	}
	out := &liveWriter{ResponseWriter: w, rc: rc}
	out.start()
	defer out.stop()
	handler.ServeHTTP(out, r.WithContext(context.WithValue(r.Context(), visitKey{}, &visit{by: by})))
}

// serverFor returns the library's server for a request; nil where there are too many
// sessions.
func (a *API) serverFor(r *http.Request) *sdk.Server {
	v, _ := r.Context().Value(visitKey{}).(*visit)
	isNewSession := r.Method == http.MethodPost && r.Header.Get(sessionHeader) == ""
	isStateless := r.Header.Get(versionHeader) >= statelessSince
	needsServer := isNewSession || isStateless
	if v == nil || !needsServer {
		return a.versions
	}
	if v.server == nil {
		server := a.newServer(v.by)
		if !isStateless && !a.addSession(server) {
			return nil
		}
		v.server = server
	}
	return v.server
}

// addSession notes a session that is about to begin, and reports whether there is room.
func (a *API) addSession(server *sdk.Server) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.sessions) >= maxSessions {
		a.sessions = openSessions(a.sessions)
	}
	if len(a.sessions) >= maxSessions {
		return false
	}
	a.sessions = append(a.sessions, server)
	return true
}

// missCall logs once that a call of the settings is missing: a plugin that is gone takes its
// tools with it.
func (a *API) missCall(name string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.missing[name] {
		a.options.Log.Warn("a call of serve.mcp.calls is not a tool", "call", name, "error", err)
	}
	a.missing[name] = true
}

// openSessions returns the servers that have a session.
func openSessions(all []*sdk.Server) (open []*sdk.Server) {
	for _, server := range all {
		for range server.Sessions() {
			open = append(open, server)
			break
		}
	}
	return open
}

// Close ends all calls and sessions. The runs are left to their dispatcher.
func (a *API) Close() {
	a.close()
	a.mu.Lock()
	all := a.sessions
	a.sessions = nil
	a.mu.Unlock()
	for _, server := range all {
		for session := range server.Sessions() {
			_ = session.Close() // the client may have gone
		}
	}
}

// newServer returns the library's server for a caller: for one request, or for a session.
func (a *API) newServer(by Caller) *sdk.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: "scheduler", Title: "scheduler", Version: a.options.Version}, &sdk.ServerOptions{
		Instructions: "A tool flow_NAME runs a flow and answers with its outputs. A run that lacks values asks the user for them; " +
			"where that is not possible, the result has state waiting: ask the user, then call answer_run with the run's id.",
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}, Resources: &sdk.ResourceCapabilities{}},
		GetSessionID: func() string {
			id := rand.Text()
			return id + "." + a.signTexts("session", id, by.Key)
		},
		SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.CacheScope = "private" },
	})
	c := &client{api: a, by: by, server: server}
	server.AddReceivingMiddleware(c.interceptMethods)
	c.addResources()
	return server
}

// isSessionOf reports whether a session was begun by the caller: an id that another one has
// got hold of is of no use.
func (a *API) isSessionOf(id string, by Caller) bool {
	text, signature, _ := strings.Cut(id, ".")
	return hmac.Equal([]byte(signature), []byte(a.signTexts("session", text, by.Key)))
}

// signTexts returns the signature of texts.
func (a *API) signTexts(texts ...string) string {
	mac := hmac.New(sha256.New, a.options.Key)
	for _, text := range texts {
		sum := sha256.Sum256([]byte(text))
		mac.Write(sum[:])
	}
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// heartbeat is how often a silent stream gets a comment: proxies cut off those without.
const heartbeat = 15 * time.Second

// liveWriter writes an answer, with comments in a stream that is silent. ServeHTTP makes one;
// it is safe for concurrent use.
type liveWriter struct {
	http.ResponseWriter
	rc *http.ResponseController

	mu     sync.Mutex // guards what follows, and the writer
	silent *time.Timer
	isOver bool
}

func (w *liveWriter) start() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.silent = time.AfterFunc(heartbeat, w.beat)
}

// stop ends the comments: nothing is written after it.
func (w *liveWriter) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.isOver = true
	w.silent.Stop()
}

// beat writes a comment where the answer is a stream.
func (w *liveWriter) beat() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.isOver || w.Header().Get("Content-Type") != "text/event-stream" {
		return
	}
	_, _ = w.ResponseWriter.Write([]byte(": heartbeat\n\n")) // the client may have gone
	_ = w.rc.Flush()
	w.silent.Reset(heartbeat)
}

// Write writes a part of the answer: the library writes an event at once.
func (w *liveWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.silent.Reset(heartbeat)
	return w.ResponseWriter.Write(b)
}

// FlushError sends what was written.
func (w *liveWriter) FlushError() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rc.Flush()
}

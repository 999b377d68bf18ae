// Package mcp serves flows as the tools of a Model Context Protocol server, over HTTP and over stdio. A call of a
// tool is a run: it reports its progress, asks the user its questions if the client can do that, and answers with
// the outputs. Runs, their prompts and flows are resources.
//
// A flow that ends in a question to a model is a prompt too: the run stops when its prompt is made, and the
// model of the client answers it. For example the prompt support of a desk gives the client the customer's
// order and the return policy, with the question below.
//
// The protocol has two eras. Since 2026-07-28 each request is independent, and a server asks in an answer that the
// client completes; before, there are sessions in which the server sends requests of its own. One handler of the
// library cannot serve both, so [API.ServeHTTP] picks one by the version that a request names.
package mcp

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
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

// Serve answers a caller over a pair of streams, a message to a line, until the input ends and
// all of it is answered, or until ctx ends, which closes the API.
func (a *API) Serve(ctx context.Context, by Caller, in io.ReadCloser, out io.WriteCloser) error {
	defer context.AfterFunc(ctx, a.Close)()
	err := a.newServer(by).Run(ctx, patientTransport{&sdk.IOTransport{Reader: in, Writer: out}})
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// visit is a request inside the library.
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

// serverFor returns the library's server for a request; nil if there are too many sessions.
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
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}, Resources: &sdk.ResourceCapabilities{}, Prompts: &sdk.PromptCapabilities{}},
		GetSessionID: func() string {
			id := rand.Text()
			return id + "." + a.signTexts("session", id, by.Key)
		},
		SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.CacheScope = "private" },
	})
	c := &client{api: a, by: by, server: server}
	server.AddSendingMiddleware(sendForms)
	server.AddReceivingMiddleware(c.hideFolders, c.interceptMethods)
	c.addResources()
	return server
}

// isSessionOf reports whether a session was begun by the caller: an id that another one has
// got hold of is of no use.
func (a *API) isSessionOf(id string, by Caller) bool {
	text, signature, _ := strings.Cut(id, ".")
	return hmac.Equal([]byte(signature), []byte(a.signTexts("session", text, by.Key)))
}

// Package server is the HTTP API of scheduler serve: flows are listed, runs started,
// followed, answered and looked at, single calls made, memory kept. It knows the use cases
// (package service) and no flags, settings or concrete calls. The handlers are plain
// functions over the service; api.go lists them, and makes the OpenAPI document of their
// types.
package server

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/server/openai"
	"github.com/callnode/scheduler/scheduler/server/store"
	"github.com/callnode/scheduler/scheduler/service"
)

// Options are what a [Server] is made of. Service, Store and Log are needed.
type Options struct {
	Service *service.Service
	// Store has tokens, sessions and keys; the caller closes it after the server.
	Store *store.Store
	Log   *slog.Logger
	// Flows are the folders of the flows that clients may name.
	Flows []string
	// Limits bound the runs, Recover says which interrupted ones are taken up.
	Limits  service.Limits
	Recover string
	// Drain is how long runs at work are waited for at the end.
	Drain time.Duration
	// NoAuth lets everyone in who can connect.
	NoAuth bool
	// Hosts are further names of this server, Origins those of pages that may read its
	// answers.
	Hosts, Origins []string
	// Edit lets clients change flow files.
	Edit bool
	// MaxBody bounds the body of a request, in bytes.
	MaxBody int64
	// Aliases are further paths of the API that the call in-chat comes from.
	Aliases []string
	// OpenAI are the settings of /v1.
	OpenAI openai.Settings
	// Language is that of summaries, Version that of the program.
	Language, Version string
	// Functions and Plugins list what is known, as JSON objects.
	Functions, Plugins func() ([]value.Value, error)
	// ParseTime reads the time of a call's clock.
	ParseTime func(string) (time.Time, error)
}

// Server answers HTTP requests. [New] makes one for the life of a process; [Server.Serve]
// listens until its context ends. Its methods are safe for concurrent use.
type Server struct {
	options    Options
	dispatcher *service.Dispatcher
	library    *service.Library
	api        huma.API
	mux        *http.ServeMux
	openai     *openai.API
	logins     *logins
	limits     *limits
	feed       *feed
	audit      *auditor
	csrf       *http.CrossOriginProtection
	hosts      *hostCheck
	inFlight   keySet
	editing    sync.Mutex // held while a flow file is replaced

	bye     chan struct{} // closed when streams have to end
	byeOnce sync.Once
}

// The limits of connections.
const (
	headerTimeout = 5 * time.Second
	bodyTimeout   = 30 * time.Second
	idleTimeout   = 120 * time.Second
	writeTimeout  = 10 * time.Second
	maxHeader     = 64 << 10
)

// New returns a server that listens nowhere yet.
func New(o Options) (*Server, error) {
	s := &Server{options: o, mux: http.NewServeMux(), bye: make(chan struct{}), csrf: http.NewCrossOriginProtection()}
	for _, origin := range o.Origins {
		if err := s.csrf.AddTrustedOrigin(origin); err != nil {
			return nil, err
		}
	}
	s.feed = newFeed(o.Service)
	s.dispatcher = o.Service.NewDispatcher(service.DispatcherOptions{
		Limits: o.Limits, Recover: o.Recover, Log: o.Log, Changed: s.feed.changed,
	})
	s.library = o.Service.NewLibrary(o.Flows)
	s.logins, s.limits = newLogins(o.Store), newLimits()
	s.audit = &auditor{store: o.Store, log: o.Log}
	s.hosts = newHostCheck("", o.Hosts)
	s.openai = openai.New(openai.Options{
		Settings: o.OpenAI, Service: o.Service, Dispatcher: s.dispatcher, Library: s.library, Store: o.Store, Log: o.Log,
	})
	s.registerAll()
	return s, nil
}

// LoginURL returns a path that logs the first one who opens it in.
func (s *Server) LoginURL() string { return "/login?code=" + s.logins.newCode() }

// Serve answers requests from the listener until ctx ends; then it takes no more, lets runs
// end for a while, hands over the rest and ends the streams.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	s.hosts = newHostCheck(listener.Addr().String(), s.options.Hosts)
	background, stop := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() { s.dispatcher.Recover(background) })
	work.Go(func() { s.audit.run(background) })
	work.Go(func() { s.keepHouse(background) })
	work.Go(func() { s.feed.run(background, s.options.Log) })
	h := &http.Server{
		Handler: s, ReadHeaderTimeout: headerTimeout, ReadTimeout: bodyTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(s.options.Log.Handler(), slog.LevelDebug),
	}
	failed := make(chan error, 1)
	go func() { failed <- h.Serve(listener) }()
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.Background(), s.options.Drain)
	s.dispatcher.Close(drain)
	cancel()
	s.byeOnce.Do(func() { close(s.bye) })
	end, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	if shut := h.Shutdown(end); shut != nil {
		_ = h.Close() // whoever has not read by now is cut off
	}
	stop()
	work.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return err
}

// keepHouse deletes what is too old from the store, and makes snapshots of memories.
func (s *Server) keepHouse(ctx context.Context) {
	ticker := time.NewTicker(time.Hour)
	defer ticker.Stop()
	go s.options.Service.KeepSnapshots(ctx, time.Minute, func(err error) { s.options.Log.Warn("making snapshots", "error", err) })
	for {
		if err := s.options.Store.Prune(ctx); err != nil && ctx.Err() == nil {
			s.options.Log.Warn("pruning the store of the server", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// request is what the server knows of a request. ServeHTTP makes it; the handlers read it
// from the context, on the goroutine of the request.
type request struct {
	id     string
	http   *http.Request
	rc     *http.ResponseController
	caller *caller // nil: no one is logged in
	run    string  // for the audit
	route  string
	status int
}

type requestKey struct{}

// requestOf returns the request of a context that a handler got.
func requestOf(ctx context.Context) *request {
	r, _ := ctx.Value(requestKey{}).(*request)
	if r == nil {
		return &request{}
	}
	return r
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	req := &request{id: strings.ToLower(rand.Text()[:16])}
	r = r.WithContext(context.WithValue(r.Context(), requestKey{}, req))
	req.http, req.rc = r, http.NewResponseController(w)
	rec := &recorder{ResponseWriter: w, request: req, rc: req.rc}
	_ = rec.rc.SetWriteDeadline(time.Time{}) // that of the request before it on the connection
	h := w.Header()
	h.Set("X-Request-Id", req.id)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	defer func() {
		if p := recover(); p != nil {
			s.recovered(rec, r, p)
		}
		s.audit.add(req)
	}()
	if p := s.admit(rec, r); p != nil {
		s.writeProblem(rec, r, p)
		return
	}
	if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
		rec.WriteHeader(http.StatusNoContent)
		return
	}
	r.Body = http.MaxBytesReader(rec, r.Body, s.bodyLimit(r))
	s.mux.ServeHTTP(rec, r)
}

// recorder notes the status of an answer, and bounds how long a client may take to read it.
type recorder struct {
	http.ResponseWriter
	request *request
	rc      *http.ResponseController
}

// WriteHeader notes the status.
func (w *recorder) WriteHeader(status int) {
	if w.request.status == 0 && status >= http.StatusOK {
		w.request.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write gives the client a while to take the bytes.
func (w *recorder) Write(b []byte) (int, error) {
	if w.request.status == 0 {
		w.request.status = http.StatusOK
	}
	_ = w.rc.SetWriteDeadline(time.Now().Add(writeTimeout)) // not all connections have one
	return w.ResponseWriter.Write(b)
}

// Unwrap returns the writer below.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// recovered answers a request whose handler has panicked.
func (s *Server) recovered(w *recorder, r *http.Request, p any) {
	if p == http.ErrAbortHandler { //nolint:errorlint // it is that value
		panic(p)
	}
	s.options.Log.Error("a handler panicked", "request", requestOf(r.Context()).id, "panic", p, "stack", stack())
	if w.request.status == 0 {
		s.writeProblem(w, r, newProblem(http.StatusInternalServerError, "internal", "the server has a fault", "the log of the server tells more"))
	}
}

package server

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/dispatch"
	"github.com/callnode/scheduler/scheduler/dispatch/queue"
	"github.com/callnode/scheduler/scheduler/fleet"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/server/folder"
	"github.com/callnode/scheduler/scheduler/server/mcp"
	"github.com/callnode/scheduler/scheduler/server/notify"
	"github.com/callnode/scheduler/scheduler/server/openai"
	"github.com/callnode/scheduler/scheduler/server/triggers"
	"github.com/callnode/scheduler/scheduler/service"
	"github.com/callnode/scheduler/scheduler/telemetry"
)

// The limits of connections.
const (
	headerTimeout = 5 * time.Second
	bodyTimeout   = 30 * time.Second
	idleTimeout   = 120 * time.Second
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
	if o.Telemetry == nil {
		own, err := telemetry.New(telemetry.Options{Version: o.Version, OperationOf: o.Service.OperationOf})
		if err != nil {
			return nil, err
		}
		s.options.Telemetry = own
	}
	s.folders = folder.NewHider(slices.Concat(o.Flows, o.Folders)...)
	s.feed = newFeed(o.Service)
	s.notifier = notify.New(notify.Options{
		Targets: o.Notify, Service: o.Service, Store: o.Store, Log: o.Log, Client: o.Client, Clock: o.Clock,
		IsStuck: func(ctx context.Context, info *journal.RunInfo) (bool, error) { return s.dispatcher.IsStuck(ctx, info) },
	})
	s.dispatcher = dispatch.New(o.Service, s.observeRuns(dispatch.Options{
		Limits: o.Limits, Recover: o.Recover, GiveUpAfter: o.GiveUpAfter, Clock: o.Clock, On: o.On, Log: o.Log, Changed: func(run string) {
			s.feed.reportRun(run)
			s.notifier.Report(run)
			s.member.Refresh()
		},
	}))
	s.member = fleet.Join(fleet.Worker{
		Kind: fleet.Server, Version: o.Version, Queues: []fleet.Queue{{Name: fleet.LocalQueue, Slots: o.Limits.Runs}}, PerUser: o.Limits.PerUser,
	}, func(w *fleet.Worker) {
		w.Queues[0].Used, _ = s.dispatcher.Load()
		w.Left = s.dispatcher.LeftRuns()
	})
	s.queues = queue.New(queue.Options{Service: o.Service, Workers: o.Store.Workers, Default: o.Queue})
	s.library = o.Service.NewLibrary(o.Flows)
	s.logins, s.limits = newLogins(o.Store), newLimits()
	s.readiness.do = s.checkStores
	s.storeCheck = &storeCheck{ping: o.Store.Ping}
	s.audit = &auditor{write: o.Store.AddAudit, log: o.Log}
	s.hosts = newHostCheck("", o.Hosts)
	s.triggers = triggers.New(triggers.Options{
		Service: o.Service, Dispatcher: s.dispatcher, Library: s.library, Store: o.Store, Log: o.Log, Clock: o.Clock, Secret: o.Secret, Language: o.Language,
		Announce: func(ctx context.Context, f triggers.Failure) {
			s.announceTrigger(ctx, notify.TriggerChange{Trigger: f.Trigger, Flow: f.Flow, User: f.User, State: "failed", Reason: s.folders.Hide(f.Reason), Key: f.Key})
		},
	})
	s.openai = openai.New(openai.Options{
		Settings: o.OpenAI, Service: o.Service, Dispatcher: s.dispatcher, Library: s.library, Store: o.Store, Log: o.Log, HideFolders: s.folders.Hide,
	})
	if o.Page != nil {
		page, err := newUIPage(o.Page)
		if err != nil {
			return nil, err
		}
		s.page = page
	}
	key, err := o.Store.Secret(context.Background(), "mcp")
	if err != nil {
		return nil, err
	}
	s.mcp = mcp.New(mcp.Options{
		Settings: o.MCP, Service: o.Service, Dispatcher: s.dispatcher, Library: s.library, Log: o.Log, Key: key,
		Language: o.Language, Version: o.Version, HideFolders: s.folders.Hide, PathsFor: s.pathsFor,
	})
	s.tests = o.Service.NewTests(o.Flows)
	s.registerAll()
	return s, nil
}

// LoginURL returns a path that logs in the first person who opens it.
func (s *Server) LoginURL() string { return "/login?code=" + s.logins.newCode() }

// Serve answers requests from the listener until ctx ends; then it takes no more, lets runs
// end for a while, hands over the rest and ends the streams.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	s.hosts = newHostCheck(listener.Addr().String(), s.options.Hosts)
	defer s.member.Keep(s.options.Store, s.options.Log)()
	defer context.AfterFunc(ctx, s.member.Stopping)()
	background, stop := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() { s.dispatcher.Recover(background) })
	work.Go(func() { s.dispatcher.FollowElsewhere(background) })
	work.Go(func() { s.dispatcher.WatchRemote(background) })
	work.Go(func() { s.audit.flushLoop(background) })
	work.Go(func() { s.logins.watchStore(background) })
	work.Go(func() { s.keepHouse(background) })
	work.Go(func() { s.notifier.Run(background) })
	work.Go(func() { s.feed.publishLoop(background, s.options.Log) })
	triggering, stopTriggers := context.WithCancel(ctx)
	defer stopTriggers()
	if !s.options.NoTriggers {
		work.Go(func() { s.triggers.Run(triggering) })
	}
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
	stopTriggers()
	drain, cancel := context.WithTimeout(context.Background(), s.options.Drain)
	s.dispatcher.Close(drain)
	cancel()
	s.byeOnce.Do(func() { close(s.bye) })
	s.mcp.Close()
	end, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	if shut := h.Shutdown(end); shut != nil {
		_ = h.Close() // clients that have not read by now are cut off
	}
	stop()
	work.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return err
}

// keepHouse deletes old entries from the store, and makes snapshots of memories.
func (s *Server) keepHouse(ctx context.Context) {
	ticker := time.NewTicker(time.Hour)
	defer ticker.Stop()
	go s.options.Service.KeepSnapshots(ctx, time.Minute, func(err error) { s.options.Log.Warn("making snapshots", "error", err) })
	for {
		if err := s.options.Store.Prune(ctx); err != nil && ctx.Err() == nil {
			s.options.Log.Warn("pruning the store of the server", "error", err)
		}
		if err := s.pruneRuns(ctx); err != nil && ctx.Err() == nil {
			s.options.Log.Warn("pruning runs", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// pruneRuns deletes the runs that the settings do not keep.
func (s *Server) pruneRuns(ctx context.Context) error {
	keep := s.options.Prune
	if keep.OlderThan <= 0 || keep.Keep <= 0 {
		return nil
	}
	pruned, err := s.options.Service.Prune(ctx, service.Principal{}, journal.Prune{Before: time.Now().Add(-keep.OlderThan), Keep: keep.Keep})
	if err == nil && len(pruned.Runs) > 0 {
		s.options.Log.Info("runs were deleted (serve.prune)", "runs", len(pruned.Runs))
	}
	return err
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	req := &request{id: strings.ToLower(rand.Text()[:16])}
	r = r.WithContext(context.WithValue(r.Context(), requestKey{}, req))
	req.http, req.rc = r, http.NewResponseController(w)
	rec := &recorder{ResponseWriter: w, request: req, rc: req.rc}
	_ = rec.rc.SetWriteDeadline(time.Time{}) // clears the deadline of the connection's previous request
	h := w.Header()
	h.Set("X-Request-Id", req.id)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	defer func() {
		if p := recover(); p != nil {
			s.answerPanic(rec, r, p)
		}
		s.audit.add(req)
	}()
	if p := s.authenticate(rec, r); p != nil {
		s.writeProblem(rec, r, p)
		return
	}
	if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
		rec.WriteHeader(http.StatusNoContent)
		return
	}
	r.Body = bodyReader{http.MaxBytesReader(rec, r.Body, s.bodyLimit(r.Method, r.URL.Path)), req}
	s.mux.ServeHTTP(rec, r)
}

// answerPanic answers a request whose handler has panicked.
func (s *Server) answerPanic(w *recorder, r *http.Request, p any) {
	if p == http.ErrAbortHandler { //nolint:errorlint // it is that value
		panic(p)
	}
	s.options.Log.Error("a handler panicked", "request", requestOf(r.Context()).id, "panic", p, "stack", string(debug.Stack()))
	if w.request.status == 0 {
		s.writeProblem(w, r, newProblem(http.StatusInternalServerError, "internal", wording.Say("the server has a fault"), wording.Say("the log of the server tells more")))
	}
}

// bodyLimit returns how long the body of a request may be, in bytes.
func (s *Server) bodyLimit(method, path string) int64 {
	if strings.HasSuffix(path, "/memory/import") && method == http.MethodPost {
		return maxImport
	}
	if isWebhook(path) {
		return triggers.MaxHookBody
	}
	return s.options.MaxBody
}

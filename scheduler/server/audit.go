package server

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/server/store"
)

// auditor stores who did what: requests that change something, and those that were refused.
// The server makes one; it is safe for concurrent use.
type auditor struct {
	store *store.Store
	log   *slog.Logger

	mu      sync.Mutex // guards what follows
	entries []store.Audit
}

const (
	auditInterval = time.Second
	maxEntries    = 10000
)

// add takes a request that was answered.
func (a *auditor) add(req *request) {
	refused := req.status == http.StatusUnauthorized || req.status == http.StatusForbidden
	isRead := req.http.Method == http.MethodGet || req.http.Method == http.MethodHead || req.http.Method == http.MethodOptions
	if isRead && !refused {
		return
	}
	e := store.Audit{
		At: time.Now(), Address: addressOf(req.http), Method: req.http.Method, Route: req.route, Run: req.run, Status: req.status,
	}
	if e.Route == "" {
		e.Route = value.Truncate(req.http.URL.Path, 200)
	}
	if req.caller != nil {
		e.Token, e.User = req.caller.token.ID, req.caller.principal.User
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.entries) < maxEntries {
		a.entries = append(a.entries, e)
	}
}

// flushLoop stores the entries now and then, until ctx ends.
func (a *auditor) flushLoop(ctx context.Context) {
	ticker := time.NewTicker(auditInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			a.flush(context.WithoutCancel(ctx))
			return
		case <-ticker.C:
			a.flush(ctx)
		}
	}
}

// flush stores the entries.
func (a *auditor) flush(ctx context.Context) {
	a.mu.Lock()
	entries := a.entries
	a.entries = nil
	a.mu.Unlock()
	if len(entries) == 0 {
		return
	}
	if err := a.store.AddAudit(ctx, entries); err != nil && ctx.Err() == nil {
		a.log.Error("the audit cannot be written", "entries", len(entries), "error", err)
	}
}

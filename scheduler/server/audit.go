package server

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/server/store"
)

// auditor stores the audit: requests that change something, and refused ones, with their users. The server makes
// one; it is safe for concurrent use.
type auditor struct {
	write func(context.Context, []store.Audit) error // stores entries
	log   *slog.Logger

	mu      sync.Mutex // guards the fields below
	entries []store.Audit
	lost    int // entries that had no place since the last line in the log
}

const (
	auditInterval = time.Second
	// maxEntries bounds the entries that are kept while the store fails. The oldest ones stay: they show how it began.
	maxEntries = 10000
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
	e.Route += value.Truncate(req.decided, 200)
	if req.caller != nil {
		e.Token, e.User = req.caller.token.ID, cmp.Or(req.user, req.caller.principal.User)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.entries = append(a.entries, e)
	a.limitLocked()
}

// limitLocked drops the newest entries if there are too many, and counts them as lost.
func (a *auditor) limitLocked() {
	if excess := len(a.entries) - maxEntries; excess > 0 {
		a.entries = a.entries[:maxEntries]
		a.lost += excess
	}
}

// flushLoop stores the entries now and then, until ctx ends.
func (a *auditor) flushLoop(ctx context.Context) {
	ticker := time.NewTicker(auditInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			a.flushLast(context.WithoutCancel(ctx))
			return
		case <-ticker.C:
			a.flush(ctx)
		}
	}
}

// flushLast stores the entries at the end of the server. Entries that cannot be stored then are lost.
func (a *auditor) flushLast(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	a.flush(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lost += len(a.entries)
	a.entries = nil
	a.logLostLocked()
}

// flush stores the entries. They are kept if that fails, and stored by a later flush.
func (a *auditor) flush(ctx context.Context) {
	a.mu.Lock()
	entries := a.entries
	a.entries = nil
	a.mu.Unlock()
	var err error
	if len(entries) > 0 {
		err = a.write(ctx, entries)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		a.entries = append(entries, a.entries...)
		a.limitLocked()
	}
	if err != nil && ctx.Err() == nil {
		a.log.Warn("the audit cannot be written now, it is tried again", "entries", len(a.entries), "error", err)
	}
	a.logLostLocked()
}

// logLostLocked logs lost entries once.
func (a *auditor) logLostLocked() {
	if a.lost > 0 {
		a.log.Error("entries of the audit are lost: the store did not take them", "entries", a.lost)
		a.lost = 0
	}
}

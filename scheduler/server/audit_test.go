package server

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/callnode/scheduler/scheduler/server/store"
)

// TestAuditOfFailingStore: entries that the store does not accept are kept in their order and stored later; the
// log names surplus ones.
func TestAuditOfFailingStore(t *testing.T) {
	var log bytes.Buffer
	var stored []store.Audit
	down := true
	a := &auditor{log: slog.New(slog.NewTextHandler(&log, nil)), write: func(_ context.Context, entries []store.Audit) error {
		if down {
			return errors.New("the disk is full")
		}
		stored = append(stored, entries...)
		return nil
	}}
	add := func(route string) {
		a.add(&request{http: httptest.NewRequest(http.MethodPost, "/", http.NoBody), route: route, status: http.StatusOK})
	}
	add("first")
	a.flush(t.Context())
	add("second")
	a.flush(t.Context())
	if strings.Contains(log.String(), "lost") || !strings.Contains(log.String(), "the disk is full") {
		t.Errorf("the log is %s", log.String())
	}
	down = false
	a.flush(t.Context())
	if len(stored) != 2 || stored[0].Route != "first" || stored[1].Route != "second" {
		t.Errorf("stored %v", stored)
	}

	down, stored = true, nil
	for range maxEntries - 1 {
		add("many")
	}
	a.flush(t.Context())
	for range 3 {
		add("more")
	}
	a.flush(t.Context())
	if got := strings.Count(log.String(), "are lost"); got != 1 || !strings.Contains(log.String(), "entries=2\n") {
		t.Errorf("%d lines tell of lost entries: %s", got, log.String())
	}
	down = false
	a.flush(t.Context())
	if len(stored) != maxEntries || stored[maxEntries-1].Route != "more" {
		t.Errorf("stored %d entries", len(stored))
	}

	down = true
	add("late")
	a.flushLast(t.Context())
	if got := strings.Count(log.String(), "are lost"); got != 2 {
		t.Errorf("at the end %d lines tell of lost entries: %s", got, log.String())
	}
}

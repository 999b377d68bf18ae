package server_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls/database/pgdb/pgdbtest"
	"github.com/callnode/scheduler/scheduler/server"
	"github.com/callnode/scheduler/scheduler/server/store"
)

// TestStoreIsDown: while the shared store does not answer, health checks answer at once, and logins, requests with
// a token and public requests that need the store soon learn when to retry.
func TestStoreIsDown(t *testing.T) {
	t.Parallel() // each request waits some seconds for its own server of Postgres
	postgres := pgdbtest.NewServer(t)
	shared, err := store.OpenShared(t.Context(), postgres.NewURL(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = shared.Close() })
	f := newFixture(t, t.TempDir(), nil, func(o *server.Options) { o.Store = shared })
	_, token, err := shared.CreateToken(t.Context(), "n", "", []store.Scope{store.Admin}, 0)
	if err != nil {
		t.Fatal(err)
	}
	anyone := newFixture(t, t.TempDir(), nil, func(o *server.Options) { o.Store, o.NoAuth = shared, true })
	postgres.Stop(t, "immediate")
	for _, one := range []struct {
		method, path, body string
		want               int
	}{
		{"GET", anyone.base + "/api/v1/flows", "", http.StatusOK},
		{"GET", anyone.base + "/api/v1/runs", "", http.StatusServiceUnavailable},
		{"GET", anyone.base + "/api/v1/runs/x/events", "", http.StatusServiceUnavailable},
		{"GET", anyone.base + "/api/v1/events", "", http.StatusServiceUnavailable},
		{"POST", anyone.base + "/api/v1/runs", `{"flow": "echo", "inputs": {"question": "q"}}`, http.StatusServiceUnavailable},
		{"POST", anyone.base + "/api/v1/schedules/timed:mine/pause", "", http.StatusServiceUnavailable},
		{"POST", anyone.base + "/hooks/timed/open", `{"text": "hello"}`, http.StatusServiceUnavailable},
		{"POST", anyone.base + "/v1/chat/completions", `{"model": "echo", "messages": [{"role": "user", "content": "hi"}]}`, http.StatusServiceUnavailable},
		{"GET", "/health/live", "", http.StatusOK},
		{"GET", "/health/ready", "", http.StatusServiceUnavailable},
		{"GET", "/api/v1/me", "", http.StatusServiceUnavailable},
		{"POST", "/api/v1/session", `{"token": "` + token + `"}`, http.StatusServiceUnavailable},
		{"GET", f.server.LoginURL(), "", http.StatusServiceUnavailable},
	} {
		sent := token
		isLogin := strings.Contains(one.path, "/session") || strings.Contains(one.path, "/login")
		if isLogin {
			sent = ""
		}
		begun := time.Now()
		target := *f
		path, isAnyone := strings.CutPrefix(one.path, anyone.base)
		if isAnyone {
			target, sent = *anyone, ""
		}
		got := target.do(sent, one.method, path, one.body)
		if took := time.Since(begun); got.status != one.want || took > 10*time.Second {
			t.Errorf("%s: %d %s after %s", one.path, got.status, got.text, took)
		}
		isHealth := strings.HasPrefix(one.path, "/health/")
		if !isHealth && got.status != http.StatusOK && got.header.Get("Retry-After") == "" {
			t.Errorf("%s: no Retry-After", one.path)
		}
	}
	postgres.Start(t)
	for _, one := range []struct {
		f           *fixture
		token, path string
	}{{f, token, "/api/v1/me"}, {anyone, "", "/api/v1/schedules"}} {
		if got := one.f.do(one.token, "GET", one.path, ""); got.status != http.StatusOK {
			t.Errorf("later: %s: %d %s", one.path, got.status, got.text)
		}
	}
}

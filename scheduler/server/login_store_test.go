package server_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls/pgdb/pgdbtest"
	"github.com/callnode/scheduler/scheduler/server"
	"github.com/callnode/scheduler/scheduler/server/store"
)

// TestStoreIsDown: while the shared store does not answer, health checks do at once, and requests with a token
// and logins are soon told when to come again.
func TestStoreIsDown(t *testing.T) {
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
	postgres.Stop(t, "immediate")
	for _, one := range []struct {
		method, path, body string
		want               int
	}{
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
		got := f.do(sent, one.method, one.path, one.body)
		if took := time.Since(begun); got.status != one.want || took > 10*time.Second {
			t.Errorf("%s: %d %s after %s", one.path, got.status, got.text, took)
		}
		isHealth := strings.HasPrefix(one.path, "/health/")
		if !isHealth && got.header.Get("Retry-After") == "" {
			t.Errorf("%s: no Retry-After", one.path)
		}
	}
	postgres.Start(t)
	if got := f.do(token, "GET", "/api/v1/me", ""); got.status != http.StatusOK {
		t.Errorf("later: %d %s", got.status, got.text)
	}
}

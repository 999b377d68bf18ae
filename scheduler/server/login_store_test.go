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
// are soon told when to come again.
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
	for path, want := range map[string]int{
		"/health/live": http.StatusOK, "/health/ready": http.StatusServiceUnavailable, "/api/v1/me": http.StatusServiceUnavailable,
	} {
		begun := time.Now()
		got := f.do(token, "GET", path, "")
		if took := time.Since(begun); got.status != want || took > 10*time.Second {
			t.Errorf("%s: %d %s after %s", path, got.status, got.text, took)
		}
		isLogin := strings.HasPrefix(path, "/api/")
		if isLogin && got.header.Get("Retry-After") == "" {
			t.Errorf("%s: no Retry-After", path)
		}
	}
	postgres.Start(t)
	if got := f.do(token, "GET", "/api/v1/me", ""); got.status != http.StatusOK {
		t.Errorf("later: %d %s", got.status, got.text)
	}
}

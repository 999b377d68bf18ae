package server

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/callnode/scheduler/scheduler/server/store"
)

// TestLoginLinkWhereTheStoreFails: the link is used up only by a login.
func TestLoginLinkWhereTheStoreFails(t *testing.T) {
	dir := t.TempDir()
	closed, err := store.Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	s := &Server{options: Options{Store: closed}, logins: newLogins(closed), limits: newLimits()}
	s.options.Log = slog.New(slog.DiscardHandler)
	path := s.LoginURL()
	ask := func(method string) int {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(method, path, nil)
		s.handleLogin(w, r.WithContext(context.WithValue(r.Context(), requestKey{}, &request{http: r})))
		return w.Code
	}
	open := func() int { return ask(http.MethodGet) }
	if got := open(); got != http.StatusInternalServerError {
		t.Errorf("where the store fails: %d", got)
	}
	s.options.Store, err = store.Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.options.Store.Close() })
	if got := ask(http.MethodHead); got != http.StatusOK {
		t.Errorf("what looks at links gets %d", got)
	}
	if got := open(); got != http.StatusSeeOther {
		t.Errorf("later: %d", got)
	}
	if got := open(); got != http.StatusUnauthorized {
		t.Errorf("once more: %d", got)
	}
}

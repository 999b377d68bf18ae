package store_test

import (
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/scheduler/server/store"
)

// What is too old is deleted, the rest stays.
func TestPrune(t *testing.T) {
	now := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	s, err := store.Open(t.Context(), t.TempDir(), func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	days := func(n int) time.Time { return now.Add(-time.Duration(n) * 24 * time.Hour) }
	if err := s.AddAudit(t.Context(), []store.Audit{{At: days(91), Route: "/old"}, {At: days(89), Route: "/new"}}); err != nil {
		t.Fatal(err)
	}
	for key, f := range map[string]*store.Fire{
		"old":  {State: store.FireOver, At: days(31)},
		"new":  {State: store.FireSkipped, At: days(29)},
		"open": {State: store.FireQueued, At: days(31)},
	} {
		f.Schedule, f.Key = "f:s", key
		if added, err := s.AddFire(t.Context(), f, false); err != nil || !added {
			t.Fatal(added, err)
		}
	}
	if err := s.Prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	audit, err := s.AuditBefore(t.Context(), 0, 10)
	if err != nil || len(audit) != 1 || audit[0].Route != "/new" {
		t.Errorf("the audit is %v, %v", audit, err)
	}
	fires, err := s.LastFires(t.Context(), "f:s", 10)
	if err != nil || len(fires) != 2 || fires[0].Key != "new" || fires[1].Key != "open" {
		t.Errorf("the fires are %v, %v", fires, err)
	}
}

// Of several processes one takes a message, or a fire; another one after a while.
func TestClaims(t *testing.T) {
	now := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	dir := t.TempDir()
	var open [2]*store.Store
	for i := range open {
		var err error
		if open[i], err = store.Open(t.Context(), dir, func() time.Time { return now }); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := open[i].Close(); err != nil {
				t.Error(err)
			}
		})
	}
	for _, s := range open {
		if err := s.AddMessage(t.Context(), &store.Message{ID: "msg_1", URL: "https://example.com", Body: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
	}
	take := func(s *store.Store, want int) {
		t.Helper()
		got, err := s.TakeMessages(t.Context(), 10, time.Minute)
		if err != nil || len(got) != want {
			t.Errorf("took %d messages, want %d: %v", len(got), want, err)
		}
	}
	take(open[0], 1)
	take(open[1], 0)
	f := &store.Fire{Schedule: "f:s", Key: "k", At: now, State: store.FireStarting}
	for i, s := range open {
		if added, err := s.AddFire(t.Context(), f, true); err != nil || added != (i == 0) {
			t.Errorf("process %d added: %v, %v", i, added, err)
		}
		if claimed, err := s.ClaimFire(t.Context(), f, now.Add(-time.Second)); err != nil || claimed {
			t.Errorf("process %d claims a new fire: %v, %v", i, claimed, err)
		}
	}
	now = now.Add(time.Hour)
	take(open[1], 1)
	for i, s := range open {
		if claimed, err := s.ClaimFire(t.Context(), f, now.Add(-time.Second)); err != nil || claimed != (i == 0) {
			t.Errorf("process %d claims an old fire: %v, %v", i, claimed, err)
		}
	}
}

// A token is not made for a user whose name may become that of another one.
func TestTokenUser(t *testing.T) {
	s, err := store.Open(t.Context(), t.TempDir(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for _, user := range []string{"b\xff", "b\ufffd"} {
		if _, _, err := s.CreateToken(t.Context(), "shop", user, []store.Scope{store.Admin}, 0); calls.KindOf(err) != calls.Invalid {
			t.Errorf("a token for %q: %v", user, err)
		}
	}
	if tokens, err := s.Tokens(t.Context()); err != nil || len(tokens) != 0 {
		t.Errorf("%d tokens, %v", len(tokens), err)
	}
}

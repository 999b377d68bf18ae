package store_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/database/pgdb/pgdbtest"
	"github.com/callnode/scheduler/scheduler/server/store"
)

// bench is a place for stores, with their clock.
type bench struct {
	*testing.T
	now    time.Time
	opened func(clock func() time.Time) (*store.Store, error)
}

// onEach tests the store in a file and in Postgres.
func onEach(t *testing.T, test func(*bench)) {
	now := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	t.Run("file", func(t *testing.T) {
		dir := t.TempDir()
		test(&bench{t, now, func(clock func() time.Time) (*store.Store, error) { return store.Open(t.Context(), dir, clock) }})
	})
	t.Run("postgres", func(t *testing.T) {
		url := pgdbtest.NewURL(t)
		test(&bench{t, now, func(clock func() time.Time) (*store.Store, error) { return store.OpenShared(t.Context(), url, clock) }})
	})
}

// open opens the store once more, as another process does.
func (b *bench) open() *store.Store {
	b.Helper()
	s, err := b.opened(func() time.Time { return b.now })
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return s
}

// Old entries are deleted, the rest stays.
func TestPrune(t *testing.T) { onEach(t, testPrune) }

func testPrune(t *bench) {
	now, s := t.now, t.open()
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
func TestClaims(t *testing.T) { onEach(t, testClaims) }

func testClaims(t *bench) {
	open := [2]*store.Store{t.open(), t.open()}
	for _, s := range open {
		if err := s.AddMessage(t.Context(), &store.Message{ID: "msg_1", Target: "example.com", Body: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
	}
	take := func(s *store.Store, want int) {
		t.Helper()
		if other, err := s.TakeMessages(t.Context(), []string{"example.org"}, 10, time.Minute); err != nil || len(other) != 0 {
			t.Errorf("took %d messages to another target: %v", len(other), err)
		}
		got, err := s.TakeMessages(t.Context(), []string{"example.org", "example.com"}, 10, time.Minute)
		if err != nil || len(got) != want {
			t.Errorf("took %d messages, want %d: %v", len(got), want, err)
		}
	}
	take(open[0], 1)
	take(open[1], 0)
	f := &store.Fire{Schedule: "f:s", Key: "k", At: t.now, State: store.FireStarting}
	for i, s := range open {
		if added, err := s.AddFire(t.Context(), f, true); err != nil || added != (i == 0) {
			t.Errorf("process %d added: %v, %v", i, added, err)
		}
		if claimed, err := s.ClaimFire(t.Context(), f, t.now.Add(-time.Second)); err != nil || claimed {
			t.Errorf("process %d claims a new fire: %v, %v", i, claimed, err)
		}
	}
	t.now = t.now.Add(time.Hour)
	take(open[1], 1)
	for i, s := range open {
		if claimed, err := s.ClaimFire(t.Context(), f, t.now.Add(-time.Second)); err != nil || claimed != (i == 0) {
			t.Errorf("process %d claims an old fire: %v, %v", i, claimed, err)
		}
	}
}

// A token is not made for a user whose name may become another user's.
func TestTokenUser(t *testing.T) { onEach(t, testTokenUser) }

func testTokenUser(t *bench) {
	s := t.open()
	for _, user := range []string{"b\xff", "b\ufffd", "b\x00"} {
		if _, _, err := s.CreateToken(t.Context(), "shop", user, []store.Scope{store.Admin}, 0); calls.KindOf(err) != calls.Invalid {
			t.Errorf("a token for %q: %v", user, err)
		}
	}
	_, _, err := s.CreateToken(t.Context(), "a\x00b", "", []store.Scope{store.Admin}, 0)
	if want := `invalid name "a\x00b" (use UTF-8 text without NUL characters)`; err == nil || err.Error() != want {
		t.Errorf("a token with a name that cannot be stored: %v, want %s", err, want)
	}
	if tokens, err := s.Tokens(t.Context()); err != nil || len(tokens) != 0 {
		t.Errorf("%d tokens, %v", len(tokens), err)
	}
}

// A token and its session, made by one process, are valid in the other.
func TestTokens(t *testing.T) { onEach(t, testTokens) }

func testTokens(t *bench) {
	a, b := t.open(), t.open()
	made, text, err := a.CreateToken(t.Context(), "shop", "lin", []store.Scope{store.RunsRead, store.RunsWrite}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	found, err := b.FindToken(t.Context(), text)
	if err != nil || found == nil || found.ID != made.ID || found.User != "lin" || !found.Allows(store.RunsWrite) || !found.Expires.Equal(made.Expires) {
		t.Fatalf("found %+v, %v, want %+v", found, err, made)
	}
	for _, wrong := range []string{text + "x", "sch_\xff_x", "sch_a\x00_x", "sch_none_x", ""} {
		if found, err := b.FindToken(t.Context(), wrong); err != nil || found != nil {
			t.Errorf("for %q there is %+v, %v", wrong, found, err)
		}
	}
	cookie, err := b.CreateSession(t.Context(), made.ID, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if found, err := a.FindSession(t.Context(), cookie); err != nil || found == nil || found.ID != made.ID {
		t.Errorf("the session is of %+v, %v", found, err)
	}
	if err := b.RevokeToken(t.Context(), "no\xff"); calls.KindOf(err) != calls.NotFound {
		t.Errorf("revoking no token: %v", err)
	}
	if err := b.RevokeToken(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
	if found, err := a.FindToken(t.Context(), text); err != nil || found != nil {
		t.Errorf("after it was revoked there is %+v, %v", found, err)
	}
	if found, err := a.FindSession(t.Context(), cookie); err != nil || found != nil {
		t.Errorf("its session is of %+v, %v", found, err)
	}
	one, err := a.Secret(t.Context(), "mcp")
	if err != nil || len(one) != 32 {
		t.Fatalf("the secret has %d bytes, %v", len(one), err)
	}
	if other, err := b.Secret(t.Context(), "mcp"); err != nil || !bytes.Equal(one, other) {
		t.Errorf("the other process has another secret, %v", err)
	}
}

// Of many requests with a key, in two processes at once, one is the first.
func TestRequests(t *testing.T) { onEach(t, testRequests) }

func testRequests(t *bench) {
	open := [2]*store.Store{t.open(), t.open()}
	const keys, each = 10, 4
	var first [keys]atomic.Int32
	var all sync.WaitGroup
	for i := range keys * each {
		all.Go(func() {
			key := i % keys
			r := &store.Request{Principal: "p", Key: fmt.Sprint(key), Body: []byte("body"), Run: fmt.Sprint("run", i), Claim: fmt.Sprint("claim", i)}
			earlier, err := open[i/keys%2].BeginRequest(t.Context(), r)
			switch {
			case err != nil:
				t.Error(err)
			case earlier == nil:
				first[key].Add(1)
			case !earlier.SameBody(r) || earlier.Run == r.Run || earlier.Status != 0:
				t.Errorf("the earlier request of %s is %+v", r.Run, earlier)
			}
		})
	}
	all.Wait()
	for key := range first {
		if n := first[key].Load(); n != 1 {
			t.Errorf("of the requests with the key %d, %d are the first", key, n)
		}
	}
	r := &store.Request{Principal: "p", Key: "k", Body: []byte("body"), Run: "one", Claim: "first"}
	begin := func(s *store.Store, claim, wantRun string, wantStatus int) {
		t.Helper()
		earlier, err := s.BeginRequest(t.Context(), &store.Request{Principal: "p", Key: "k", Body: []byte("body"), Run: "two", Claim: claim})
		if err != nil || earlier == nil || earlier.Run != wantRun || earlier.Status != wantStatus {
			t.Errorf("the earlier request is %+v, %v, want %s with the status %d", earlier, err, wantRun, wantStatus)
		}
	}
	for range 2 { // again, as after a lost connection
		if earlier, err := open[0].BeginRequest(t.Context(), r); earlier != nil || err != nil {
			t.Fatal(earlier, err)
		}
	}
	begin(open[1], "second", "one", 0)
	begin(open[1], "second", "one", 0)
	release := func(s *store.Store, run, claim string) {
		t.Helper()
		if err := s.ReleaseRequest(t.Context(), &store.Request{Principal: "p", Key: "k", Run: run, Claim: claim}); err != nil {
			t.Fatal(err)
		}
	}
	release(open[1], "two", "second")
	// The first one gives up; the second is working, and a third gets the same run.
	release(open[0], "one", "first")
	release(open[0], "one", "first")
	begin(open[0], "third", "one", 0)
	if earlier, err := open[0].BeginRequest(t.Context(), &store.Request{Principal: "p", Key: "k", Body: []byte("other"), Run: "two", Claim: "other"}); earlier == nil || err != nil {
		t.Errorf("another body: %+v, %v", earlier, err)
	}
	release(open[1], "one", "second")
	release(open[1], "one", "third")
	// All have given up: the key is free.
	r.Run = "three"
	if earlier, err := open[1].BeginRequest(t.Context(), r); earlier != nil || err != nil {
		t.Fatal(earlier, err)
	}
	r.Status, r.Response = 201, []byte("{}")
	if err := open[0].EndRequest(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	begin(open[1], "fourth", "three", 201)
	// The answer that came first stays: this one has another status.
	if err := open[1].EndRequest(t.Context(), &store.Request{Principal: "p", Key: "k", Body: []byte("body"), Run: "three", Status: 200, Response: []byte("[]")}); err != nil {
		t.Fatal(err)
	}
	begin(open[0], "fourth", "three", 201)
	release(open[1], "three", "first")
	begin(open[1], "fourth", "three", 201)
	t.now = t.now.Add(25 * time.Hour)
	if earlier, err := open[1].BeginRequest(t.Context(), r); earlier != nil || err != nil {
		t.Errorf("after a day the earlier request is %+v, %v", earlier, err)
	}
	begin(open[0], "fifth", "three", 0)
	if _, err := open[0].BeginRequest(t.Context(), &store.Request{Key: "\xff"}); calls.KindOf(err) != calls.Invalid {
		t.Errorf("a key that is not a text: %v", err)
	}
}

// Runs that are added to one conversation at the same moment are all kept, in any order of their keys.
func TestConversationsAtOnce(t *testing.T) { onEach(t, testConversationsAtOnce) }

func testConversationsAtOnce(t *bench) {
	const runs = 8
	open := make([]*store.Store, runs)
	for i := range open {
		open[i] = t.open()
	}
	for round := range 20 {
		keys := [][]byte{fmt.Append(nil, "talk", round), fmt.Append(nil, "reply", round)}
		var added sync.WaitGroup
		for i, s := range open {
			mine := slices.Clone(keys)
			if i%2 > 0 {
				slices.Reverse(mine)
			}
			added.Go(func() {
				if err := s.AddConversation(t.Context(), fmt.Sprint("run-", i), mine...); err != nil {
					t.Error(err)
				}
			})
		}
		added.Wait()
		for _, key := range keys {
			got, err := open[0].Conversation(t.Context(), key)
			if kept := strings.Fields(got); err != nil || len(kept) != runs {
				t.Errorf("round %d: %s is in %q, %v, want %d runs", round, key, got, err, runs)
			}
		}
	}
}

// The stored state of schedules, conversations and notifications is the same in each process.
func TestMemories(t *testing.T) { onEach(t, testMemories) }

func testMemories(t *bench) {
	a, b := t.open(), t.open()
	begun := t.now
	check := func(s *store.Store, paused bool, seen time.Time) {
		t.Helper()
		if got, err := s.FindSchedule(t.Context(), "f:s"); err != nil || got.Paused != paused || !got.Seen.Equal(seen) {
			t.Errorf("the schedule is %+v, %v, want %v, %v", got, err, paused, seen)
		}
	}
	check(a, false, begun)
	t.now = t.now.Add(time.Minute)
	check(b, false, begun)
	for _, at := range []time.Time{t.now, begun} { // one of an earlier time changes nothing
		if _, err := a.AddFire(t.Context(), &store.Fire{Schedule: "f:s", Key: at.String(), At: at, State: store.FireSkipped, Reason: "b\x00\xff"}, true); err != nil {
			t.Fatal(err)
		}
	}
	check(b, false, t.now)
	if err := b.PauseSchedule(t.Context(), "f:s", true); err != nil {
		t.Fatal(err)
	}
	check(a, true, t.now)
	key := []byte{0, 255}
	for _, run := range []string{"one", "two"} {
		if err := a.PutConversation(t.Context(), key, run); err != nil {
			t.Fatal(err)
		}
		if got, err := b.Conversation(t.Context(), key); err != nil || got != run {
			t.Errorf("the conversation waits in %q, %v, want %s", got, err, run)
		}
	}
	for i := range 20 { // more than are kept
		if err := a.AddConversation(t.Context(), fmt.Sprint("run-", i), []byte("alike"), []byte("other")); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.AddConversation(t.Context(), "run-5", []byte("alike")); err != nil {
		t.Fatal(err)
	}
	got, err := b.Conversation(t.Context(), []byte("alike"))
	if want := "run-4 run-6 run-7 run-8 run-9 run-10 run-11 run-12 run-13 run-14 run-15 run-16 run-17 run-18 run-19 run-5"; err != nil || got != want {
		t.Errorf("the conversation is in %s, %v, want %s", got, err, want)
	}
	if got, err := a.NotifiedUntil(t.Context()); err != nil || !got.Equal(t.now) {
		t.Errorf("notified until %v, %v", got, err)
	}
	for _, at := range []time.Time{t.now.Add(time.Hour), t.now} {
		if err := b.SetNotifiedUntil(t.Context(), at); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := a.NotifiedUntil(t.Context()); err != nil || !got.Equal(t.now.Add(time.Hour)) {
		t.Errorf("notified until %v, %v", got, err)
	}
	if err := a.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

package notify_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls/http/guard"
	"github.com/callnode/scheduler/scheduler/journal"
	journalmemory "github.com/callnode/scheduler/scheduler/journal/memory"
	"github.com/callnode/scheduler/scheduler/server/notify"
	"github.com/callnode/scheduler/scheduler/server/store"
	"github.com/callnode/scheduler/scheduler/service"
	"github.com/callnode/scheduler/scheduler/trigger"
)

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// receiver is a server that takes messages. It is safe for concurrent use.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	status int
	got    []string // type of each message that is signed
	ids    map[string]bool
}

func newReceiver(t *testing.T, clock func() time.Time) *receiver {
	t.Helper()
	r := &receiver{status: http.StatusOK, ids: map[string]bool{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		v := trigger.Verification{Way: trigger.VerifyStandard, Secret: secret}
		if err := v.Check(q.Header, body, clock()); err != nil {
			t.Error(err)
		}
		var message struct {
			Type string
			Data struct{ Run, State, Owner string }
		}
		if err := json.Unmarshal(body, &message); err != nil || message.Data.Run == "" || message.Type != "run."+message.Data.State {
			t.Errorf("the message is %s, %v", body, err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.got = append(r.got, message.Type)
		r.ids[q.Header.Get("webhook-id")] = true
		w.WriteHeader(r.status)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.got)
}

func (r *receiver) answer(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = status
}

// world is a journal and a store with a clock that the test sets.
type world struct {
	t       *testing.T
	now     time.Time
	dir     string // of the store
	journal journal.Journal
	store   *store.Store
	service *service.Service
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, now: time.Now(), dir: t.TempDir()}
	w.journal = journalmemory.New(func() time.Time { return w.now })
	w.service = service.New(service.Parts{Journal: func(context.Context, bool) (journal.Journal, error) { return w.journal, nil }})
	var err error
	w.store, err = store.Open(t.Context(), w.dir, func() time.Time { return w.now })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, c := range []io.Closer{w.service, w.store} {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return w
}

// end records a run of lin that has ended with an event.
func (w *world) end(id, origin string, last journal.EventType) {
	w.t.Helper()
	log, err := w.journal.Begin(w.t.Context(), &journal.RunHeader{
		ID: id, Flow: "f", StartedAt: w.now, Labels: map[string]string{journal.LabelOrigin: origin, journal.LabelOwner: "lin"},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	for i, kind := range []journal.EventType{journal.FlowStarted, last} {
		if err := log.Append(w.t.Context(), &journal.Event{Run: id, Seq: int64(i + 1), Type: kind, Time: w.now}); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		w.t.Fatal(err)
	}
}

// notifier returns the notifier of one process.
func (w *world) notifier(r *receiver, allow ...string) *notify.Notifier {
	w.t.Helper()
	client, err := guard.NewClient(allow)
	if err != nil {
		w.t.Fatal(err)
	}
	return notify.New(notify.Options{
		Targets: []notify.Target{{URL: r.URL, On: []journal.RunStatus{journal.RunFailed, journal.RunFinished}, Secret: secret}},
		Service: w.service, Store: w.store, Log: slog.New(slog.DiscardHandler), Client: client, Clock: func() time.Time { return w.now },
	})
}

// pass lets a notifier look and send.
func (w *world) pass(n *notify.Notifier) {
	w.t.Helper()
	if err := n.Scan(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	if err := n.Send(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// One message is sent about a run, by one of the processes, if the settings ask for it.
func TestOnce(t *testing.T) {
	w := newWorld(t)
	r := newReceiver(t, func() time.Time { return w.now })
	first := w.notifier(r, "127.0.0.1:*")
	w.pass(first) // runs from now on count
	w.end("a", service.StartedByAPI, journal.FlowFinished)
	w.end("b", service.StartedByTrigger, journal.FlowFailed)
	w.end("c", service.StartedByAPI, journal.FlowCancelled)
	w.end("d", "cli", journal.FlowFailed)
	for range 2 {
		w.pass(first)
		w.pass(w.notifier(r, "127.0.0.1:*"))
	}
	if r.count() != 2 || len(r.ids) != 2 {
		t.Errorf("got %v", r.got)
	}
}

// damagedJournal cannot read the events of one run.
type damagedJournal struct {
	journal.Journal
	run string
}

func (d damagedJournal) Events(ctx context.Context, id string, from int64) iter.Seq2[*journal.Event, error] {
	if id != d.run {
		return d.Journal.Events(ctx, id, from)
	}
	return func(yield func(*journal.Event, error) bool) { yield(nil, errors.New("damaged")) }
}

// A run that cannot be read does not block messages about others.
func TestDamagedRun(t *testing.T) {
	w := newWorld(t)
	w.journal = damagedJournal{w.journal, "b"}
	r := newReceiver(t, func() time.Time { return w.now })
	n := w.notifier(r, "127.0.0.1:*")
	n.Targets[0].On = append(n.Targets[0].On, journal.RunWaiting)
	w.pass(n)
	w.end("a", service.StartedByAPI, journal.FlowFinished)
	w.end("b", service.StartedByAPI, journal.FlowWaiting)
	if err := n.Scan(t.Context()); err == nil || !strings.Contains(err.Error(), "run b: ") {
		t.Errorf("got %v", err)
	}
	if err := n.Send(t.Context()); err != nil || r.count() != 1 {
		t.Errorf("got %v, %v", r.got, err)
	}
}

// A message that is not accepted is sent again, also by the next process: 8 times within a day.
func TestTries(t *testing.T) {
	w := newWorld(t)
	r := newReceiver(t, func() time.Time { return w.now })
	w.pass(w.notifier(r, "127.0.0.1:*"))
	r.answer(http.StatusServiceUnavailable)
	w.end("a", service.StartedByAPI, journal.FlowFinished)
	begin := w.now
	counts := map[time.Duration]int{0: 1, 4 * time.Second: 1, 6 * time.Second: 2, 6 * time.Minute: 3, 36 * time.Minute: 4}
	for _, after := range []time.Duration{0, 4 * time.Second, 6 * time.Second, 6 * time.Minute, 36 * time.Minute} {
		w.now = begin.Add(after)
		w.pass(w.notifier(r, "127.0.0.1:*")) // each time another process
		if got := r.count(); got != counts[after] {
			t.Errorf("after %s: %d tries, want %d", after, got, counts[after])
		}
	}
	for hour := 1; hour < 72; hour++ {
		w.now = begin.Add(time.Duration(hour) * time.Hour)
		w.pass(w.notifier(r, "127.0.0.1:*"))
		if hour == 24 && r.count() != 8 {
			t.Errorf("after a day: %d tries", r.count())
		}
	}
	if r.count() != 8 || len(r.ids) != 1 {
		t.Errorf("in the end: %d tries of %v", r.count(), r.ids)
	}
}

// Once taken, or refused for good, a message is not sent again.
func TestEnds(t *testing.T) {
	for _, status := range []int{http.StatusNoContent, http.StatusGone} {
		w := newWorld(t)
		r := newReceiver(t, func() time.Time { return w.now })
		n := w.notifier(r, "127.0.0.1:*")
		w.pass(n)
		r.answer(status)
		w.end("a", service.StartedByAPI, journal.FlowFinished)
		for range 3 {
			w.pass(n)
			w.now = w.now.Add(time.Hour)
		}
		if r.count() != 1 {
			t.Errorf("%d: %d tries", status, r.count())
		}
	}
}

// The URL may be a credential: neither the store nor the log has more of it than the host.
func TestURLIsHidden(t *testing.T) {
	w := newWorld(t)
	r := newReceiver(t, func() time.Time { return w.now })
	var log bytes.Buffer
	for _, allow := range []string{"127.0.0.1:*", "example.com"} { // the receiver refuses, then the client does
		n := w.notifier(r, allow)
		n.Targets[0].URL = r.URL + "/services/T0/B0/credential"
		n.Log = slog.New(slog.NewTextHandler(&log, nil))
		w.pass(n)
		r.answer(http.StatusServiceUnavailable)
		w.end(allow, service.StartedByAPI, journal.FlowFinished)
		w.pass(n)
		w.now = w.now.Add(time.Hour)
	}
	host := strings.TrimPrefix(r.URL, "http://")
	if r.count() == 0 || !strings.Contains(log.String(), "is not a public host") || !strings.Contains(log.String(), "host="+host) {
		t.Errorf("got %d messages and the log %s", r.count(), log.String())
	}
	found := false
	err := filepath.WalkDir(w.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		found = found || bytes.Contains(text, []byte(host))
		if bytes.Contains(text, []byte("credential")) {
			t.Errorf("%s has the URL", path)
		}
		return err
	})
	if err != nil || !found || strings.Contains(log.String(), "credential") {
		t.Errorf("found: %t, %v; the log is %s", found, err, log.String())
	}
}

// Hosts that are not public are not reached.
func TestGuard(t *testing.T) {
	w := newWorld(t)
	r := newReceiver(t, func() time.Time { return w.now })
	n := w.notifier(r)
	w.pass(n)
	w.end("a", service.StartedByAPI, journal.FlowFinished)
	w.pass(n)
	if r.count() != 0 {
		t.Error("a private address was reached")
	}
}

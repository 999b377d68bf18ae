package server_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/scheduler/server"
	"github.com/callnode/scheduler/scheduler/server/store"
	"github.com/callnode/scheduler/scheduler/trigger"
)

// questionOf returns the question that a run was started with.
func (f *fixture) questionOf(token, run string) string {
	f.t.Helper()
	r := f.do(token, "GET", "/api/v1/runs/"+run+"/steps/answer", "")
	if r.status != http.StatusOK {
		f.t.Fatal(r.status, r.text)
	}
	return r.at("/params/user")
}

// TestWebhooks delivers requests: signed ones start a run, once for each id.
func TestWebhooks(t *testing.T) {
	now := time.Now()
	f := newFixture(t, t.TempDir(), nil, func(o *server.Options) { o.Clock = func() time.Time { return now } })
	operator, lin, bo := f.token("", store.Admin), f.token("lin", store.RunsRead), f.token("bo", store.RunsRead)
	secret, _ := secretOf("HOOK_KEY")
	signed := func(id, body string, at time.Time) []string {
		h := http.Header{}
		if err := trigger.SetStandard(h, secret, id, at, []byte(body)); err != nil {
			t.Fatal(err)
		}
		return []string{"webhook-id", id, "webhook-timestamp", h.Get("Webhook-Timestamp"), "webhook-signature", h.Get("Webhook-Signature"), "X-Event", "push"}
	}
	first := f.do("", "POST", "/hooks/timed/push", "hello", signed("msg_1", "hello", now)...)
	if first.status != http.StatusAccepted || first.at("/run") == "" {
		t.Fatal(first.status, first.text)
	}
	again := f.do("", "POST", "/hooks/timed/push", "hello", signed("msg_1", "hello", now.Add(time.Minute))...)
	if again.status != http.StatusAccepted || again.at("/run") != first.at("/run") || again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("the second delivery gets %d %s", again.status, again.text)
	}
	f.do(operator, "GET", "/api/v1/runs/"+first.at("/run")+"/events", "", "Accept", eventStream)
	if got := f.questionOf(lin, first.at("/run")); got != "hello push" {
		t.Errorf("the question is %q", got)
	}
	if r := f.do(bo, "GET", "/api/v1/runs/"+first.at("/run"), ""); r.status != http.StatusNotFound {
		t.Errorf("another user sees the run: %d %s", r.status, r.text)
	}
	for name, c := range map[string]struct {
		path, body string
		header     []string
		status     int
	}{
		"a tampered body":      {"push", "hello!", signed("msg_2", "hello", now), 401},
		"no signature":         {"push", "hello", nil, 401},
		"an old request":       {"push", "hello", signed("msg_3", "hello", now.Add(-6*time.Minute)), 401},
		"a replayed id":        {"push", "other", signed("msg_1", "other", now), 422},
		"an unknown webhook":   {"pull", "hello", nil, 404},
		"inputs that are bad":  {"open", `{"text": ""}`, nil, 422},
		"a body without text":  {"open", `{}`, nil, 422},
		"a body without JSON":  {"open", `hello`, nil, 422},
		"a body that is large": {"open", `{"text": "` + strings.Repeat("x", 1<<20) + `"}`, nil, 413},
		"github":               {"github", "Hello, World!", []string{"X-Hub-Signature-256", "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"}, 422}, // signed, but not JSON
		"github, wrong":        {"github", "Hello, world!", []string{"X-Hub-Signature-256", "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"}, 401},
	} {
		t.Run(name, func(t *testing.T) {
			got := f.do("", "POST", "/hooks/timed/"+c.path, c.body, c.header...)
			if got.status != c.status || got.header.Get("Content-Type") != "application/problem+json" {
				t.Errorf("got %d %s, want %d", got.status, got.text, c.status)
			}
		})
	}
	lab := f.do("", "POST", "/hooks/timed/lab", "{}", "X-Gitlab-Token", "It's a Secret to Everybody", "X-Gitlab-Event", "Push Hook", "Content-Type", "text/plain")
	if lab.status != http.StatusAccepted {
		t.Fatal(lab.status, lab.text)
	}
	f.do(operator, "GET", "/api/v1/runs/"+lab.at("/run")+"/events", "", "Accept", eventStream)
	if got := f.questionOf(operator, lab.at("/run")); !strings.Contains(got, "Push Hook") || strings.Contains(got, "Secret") {
		t.Errorf("the flow sees the headers %s", got)
	}
}

// TestWebhookReplay: an intercepted request begins no second run, even if the parts of it that no signature covers
// are changed.
func TestWebhookReplay(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	token := f.token("", store.Admin)
	const body = `{"action": "built"}`
	secret, _ := secretOf("GITHUB_KEY")
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	signature := "sha256=" + hex.EncodeToString(mac.Sum(nil))
	first := f.do("", "POST", "/hooks/timed/github", body, "X-Hub-Signature-256", signature, "X-GitHub-Delivery", "one")
	if first.status != http.StatusAccepted {
		t.Fatal(first.status, first.text)
	}
	for name, header := range map[string][]string{
		"as it was":              {"X-GitHub-Delivery", "one"},
		"another delivery":       {"X-GitHub-Delivery", "two"},
		"no delivery":            nil,
		"an idempotency key":     {"Idempotency-Key", "three"},
		"an id of another sort":  {"Webhook-Id", "four"},
		"another event":          {"X-GitHub-Event", "push"},
		"an empty delivery name": {"X-GitHub-Delivery", ""},
	} {
		for _, query := range []string{"", "?again=1"} {
			r := f.do("", "POST", "/hooks/timed/github"+query, body, append([]string{"X-Hub-Signature-256", signature}, header...)...)
			if r.status != http.StatusAccepted || r.at("/run") != first.at("/run") || r.header.Get("Idempotency-Replayed") != "true" {
				t.Errorf("%s: %d %s", name, r.status, r.text)
			}
		}
	}
	list, _ := f.do(token, "GET", "/api/v1/runs?origin=trigger", "").doc.Get("items")
	if n := len(list.List()); n != 1 {
		t.Errorf("%d runs have begun", n)
	}
}

// TestWebhookSenders: a sender may leave the body out, and has an Authorization that is not one of this server; a body that is too
// large for a webhook is refused.
func TestWebhookSenders(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, func(o *server.Options) { o.MaxBody = 8 << 20 })
	if r := f.do("", "POST", "/hooks/timed/lab", "", "X-Gitlab-Token", "It's a Secret to Everybody"); r.status != http.StatusAccepted {
		t.Errorf("without a body: %d %s", r.status, r.text)
	}
	if r := f.do("a key of the sender", "POST", "/hooks/timed/open", `{"text": "hi"}`); r.status != http.StatusAccepted {
		t.Errorf("with an Authorization of its own: %d %s", r.status, r.text)
	}
	if r := f.do("", "POST", "/hooks/timed/open", `{"text": "`+strings.Repeat("x", 1<<20)+`"}`); r.status != http.StatusRequestEntityTooLarge {
		t.Errorf("with a large body: %d %s", r.status, r.text)
	}
}

// TestAuditNamesRuns: the audit names the run of a request, even if it began none of its own.
func TestAuditNamesRuns(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	admin := f.token("", store.Admin)
	chat := f.chat(admin, "echo", messages("hi"), "")
	hook := func() string {
		return f.do("", "POST", "/hooks/timed/open", `{"text": "hi"}`, "Webhook-Id", "msg_1").at("/run")
	}
	first, repeated := hook(), hook()
	audit := f.do(admin, "GET", "/api/v1/audit", "")
	for i, want := range []string{repeated, first, chat.at("/scheduler/run")} {
		if got := audit.at(fmt.Sprintf("/items/%d/run", i)); got != want || len(want) < 30 {
			t.Errorf("entry %d is about the run %q, not %q: %s", i, got, want, audit.text)
		}
	}
}

// Clients that guess signatures are slowed down.
func TestWrongSignaturesAreLimited(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	last := 0
	for i := range 20 {
		last = f.do("", "POST", "/hooks/timed/lab", "{}", "X-Gitlab-Token", fmt.Sprint(i)).status
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("the last gets %d", last)
	}
	if r := f.do("", "POST", "/hooks/timed/lab", "{}", "X-Gitlab-Token", "It's a Secret to Everybody"); r.status != http.StatusAccepted {
		t.Errorf("who knows the secret gets %d %s", r.status, r.text)
	}
}

// TestSchedulesOverHTTP lists, pauses, resumes and fires.
func TestSchedulesOverHTTP(t *testing.T) {
	now := time.Date(2026, 10, 24, 12, 0, 0, 0, time.UTC)
	f := newFixture(t, t.TempDir(), nil, func(o *server.Options) {
		o.Clock = func() time.Time { return now }
	})
	operator, lin, bo := f.token("", store.Admin), f.token("lin", store.Admin), f.token("bo", store.Admin)
	list := f.do(operator, "GET", "/api/v1/schedules", "")
	if list.status != http.StatusOK || list.at("/items/0/id") != "timed:daily" || list.at("/items/1/id") != "timed:mine" || list.at("/items/0/timezone") != "Europe/Berlin" {
		t.Fatal(list.status, list.text)
	}
	if got, want := list.at("/items/0/next/0")+" "+list.at("/items/0/next/1"), "2026-10-25T07:00:00+01:00 2026-10-26T07:00:00+01:00"; got != want {
		t.Errorf("the next are %s, want %s", got, want)
	}
	if got := f.do(bo, "GET", "/api/v1/schedules", "").text; strings.Contains(got, "mine") || !strings.Contains(got, "daily") {
		t.Errorf("bo sees %s", got)
	}
	if got := f.do(bo, "GET", "/api/v1/flows/timed", ""); got.at("/triggers/0/schedule") != "timed:daily" || got.at("/triggers/1/path") != "/hooks/timed/open" {
		t.Errorf("the triggers of the flow are %s", got.at("/triggers"))
	}
	fired := f.do(lin, "POST", "/api/v1/schedules/timed:mine/fire", "")
	if fired.status != http.StatusAccepted {
		t.Fatal(fired.status, fired.text)
	}
	f.do(lin, "GET", "/api/v1/runs/"+fired.at("/run")+"/events", "", "Accept", eventStream)
	if r := f.do(lin, "GET", "/api/v1/runs/"+fired.at("/run"), ""); r.at("/origin") != "trigger" || r.at("/owner") != "lin" || r.at("/labels/schedule") != "timed:mine" {
		t.Errorf("the run is %s", r.text)
	}
	if r := f.do(lin, "GET", "/api/v1/schedules", ""); r.at("/items/1/last/0/run") != fired.at("/run") || r.at("/items/1/last/0/state") != "started" {
		t.Errorf("the list is %s", r.text)
	}
	if r := f.do(lin, "POST", "/api/v1/schedules/timed:daily/fire", ""); r.status != http.StatusForbidden {
		t.Errorf("a bound token fires the schedule of no user: %d %s", r.status, r.text)
	}
	if r := f.do(operator, "POST", "/api/v1/schedules/timed:dayly/fire", ""); r.status != http.StatusNotFound || !strings.Contains(r.at("/hint"), "timed:daily") {
		t.Errorf("an unknown schedule: %d %s", r.status, r.text)
	}
	if r := f.do(operator, "POST", "/api/v1/schedules/timed:daily/pause", ""); r.at("/paused") != "true" || r.at("/next") != "[]" {
		t.Errorf("paused: %s", r.text)
	}
	if r := f.do(operator, "POST", "/api/v1/schedules/timed:daily/resume", ""); r.at("/paused") != "false" || r.at("/next/0") == "" {
		t.Errorf("resumed: %s", r.text)
	}
}

// Without triggers nothing is delivered and nothing fires, but schedules are shown.
func TestNoTriggers(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, func(o *server.Options) { o.NoTriggers = true })
	if r := f.do("", "POST", "/hooks/timed/open", `{"text": "x"}`); r.status != http.StatusServiceUnavailable {
		t.Errorf("a webhook gets %d %s", r.status, r.text)
	}
	if r := f.do(f.token("", store.FlowsRead), "GET", "/api/v1/schedules", ""); r.at("/items/0/active") != "false" {
		t.Errorf("the list is %s", r.text)
	}
}

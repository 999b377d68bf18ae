package server_test

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/scheduler/server"
	"github.com/callnode/scheduler/scheduler/server/store"
)

// TestSession exchanges a token for a cookie, which then is the token, until the end of the
// session.
func TestSession(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	token := f.token("lin", store.RunsRead)
	r := f.do("", "POST", "/api/v1/session", `{"token": "`+token+`"}`)
	cookie := r.header.Get("Set-Cookie")
	for _, part := range []string{"scheduler_session_", "HttpOnly", "SameSite=Strict", "Path=/"} {
		if r.status != http.StatusNoContent || !strings.Contains(cookie, part) {
			t.Fatalf("got %d %s, without %s", r.status, cookie, part)
		}
	}
	name, _, _ := strings.Cut(cookie, ";")
	if r := f.do("", "GET", "/api/v1/me", "", "Cookie", name); r.at("/user") != "lin" || r.at("/bound") != "true" {
		t.Errorf("the cookie is %s", r.text)
	}
	if r := f.do("", "DELETE", "/api/v1/session", "", "Cookie", name); r.status != http.StatusNoContent {
		t.Errorf("logging out: %d %s", r.status, r.text)
	}
	if r := f.do("", "GET", "/api/v1/me", "", "Cookie", name); r.status != http.StatusUnauthorized {
		t.Errorf("after logging out: %d %s", r.status, r.text)
	}
}

// TestSessionsOfTwoPorts: a browser that is logged in at servers on two ports of a host, whose cookies it cannot
// distinguish, stays logged in.
func TestSessionsOfTwoPorts(t *testing.T) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	ask := func(method, url, body string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		answer, err := browser.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(text)
	}
	users := map[string]string{"lin": "", "bo": ""}
	for user := range users {
		f := newFixture(t, t.TempDir(), nil, nil)
		users[user] = f.base
		if status, text := ask("POST", f.base+"/api/v1/session", `{"token": "`+f.token(user, store.RunsRead)+`"}`); status != http.StatusNoContent {
			t.Fatalf("%d %s", status, text)
		}
	}
	for user, url := range users {
		if status, text := ask("GET", url+"/api/v1/me", ""); status != http.StatusOK || !strings.Contains(text, `"`+user+`"`) {
			t.Errorf("%s: %d %s", user, status, text)
		}
	}
}

// TestTokens creates, lists and revokes tokens by the API; a revoked token no longer works.
func TestTokens(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	admin := f.token("", store.Admin)
	made := f.do(admin, "POST", "/api/v1/tokens", `{"name": "shop", "user": "lin", "scopes": ["runs:read"], "expires": "90d"}`)
	if made.status != http.StatusCreated || made.at("/user") != "lin" {
		t.Fatalf("got %d %s", made.status, made.text)
	}
	text := made.at("/text")
	if list := f.do(admin, "GET", "/api/v1/tokens", ""); !strings.Contains(list.text, made.at("/id")) || strings.Contains(list.text, text) {
		t.Errorf("the list is %s", list.text)
	}
	if r := f.do(text, "GET", "/api/v1/runs", ""); r.status != http.StatusOK {
		t.Errorf("the token gets %d %s", r.status, r.text)
	}
	if r := f.do(admin, "DELETE", "/api/v1/tokens/"+made.at("/id"), ""); r.status != http.StatusNoContent {
		t.Errorf("revoking: %d %s", r.status, r.text)
	}
	if r := f.do(text, "GET", "/api/v1/runs", ""); r.status != http.StatusUnauthorized {
		t.Errorf("after that it gets %d %s", r.status, r.text)
	}
	audit := f.do(admin, "GET", "/api/v1/audit", "")
	for _, part := range []string{`"route":"/api/v1/tokens/{id}","status":204`, `"route":"/api/v1/tokens","status":201`} {
		if !strings.Contains(audit.text, part) {
			t.Errorf("the audit lacks %s: %s", part, audit.text)
		}
	}
	if strings.Contains(audit.text, text) {
		t.Errorf("the audit has a token: %s", audit.text)
	}
}

// TestStreamsEndWithTheLogin: a user who may no longer read gets nothing more from open streams.
func TestStreamsEndWithTheLogin(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	admin := f.token("", store.Admin)
	run := f.start(admin, "sub~wait", "{}")
	paths := []string{"/api/v1/runs/" + run + "/events", "/api/v1/events"}
	follow := func(token string, headers ...string) (all []<-chan string) {
		for _, path := range paths {
			lines, stop := f.follow(token, path, headers...)
			t.Cleanup(stop)
			all = append(all, lines)
		}
		return all
	}
	ends := func(all []<-chan string) {
		t.Helper()
		for i, lines := range all {
			for deadline := time.After(10 * time.Second); lines != nil; {
				select {
				case _, open := <-lines:
					if !open {
						lines = nil
					}
				case <-deadline: // before the next look without a cause
					t.Fatalf("the stream of %s goes on", paths[i])
				}
			}
		}
	}
	made := f.do(admin, "POST", "/api/v1/tokens", `{"name": "n", "scopes": ["runs:read"]}`)
	revoked, kept := follow(made.at("/text")), follow(admin)
	if r := f.do(admin, "DELETE", "/api/v1/tokens/"+made.at("/id"), ""); r.status != http.StatusNoContent {
		t.Fatalf("revoking: %d %s", r.status, r.text)
	}
	ends(revoked)

	in := f.do("", "POST", "/api/v1/session", `{"token": "`+admin+`"}`)
	cookie, _, _ := strings.Cut(in.header.Get("Set-Cookie"), ";")
	session := follow("", "Authorization", "", "Cookie", cookie)
	if r := f.do("", "DELETE", "/api/v1/session", "", "Cookie", cookie); r.status != http.StatusNoContent {
		t.Fatalf("logging out: %d %s", r.status, r.text)
	}
	ends(session)

	f.do(admin, "POST", "/api/v1/runs/"+run+"/cancel", "")
	until(t, kept[0], "flow.cancelled")
	until(t, kept[1], "cancelled")
}

// TestExpiredToken: a token ends by itself.
func TestExpiredToken(t *testing.T) {
	now := time.Now()
	s, err := store.Open(t.Context(), t.TempDir(), func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	_, text, err := s.CreateToken(t.Context(), "n", "", []store.Scope{store.Admin}, time.Hour)
	if err != nil || len(text) != len("sch_0123456789_")+43 {
		t.Fatal(text, err)
	}
	if found, err := s.FindToken(t.Context(), text); err != nil || found == nil {
		t.Errorf("got %v, %v", found, err)
	}
	for _, wrong := range []string{"", "sch_", "sch_x_y", text + "x", text[:len(text)-1]} {
		if found, err := s.FindToken(t.Context(), wrong); err != nil || found != nil {
			t.Errorf("%q is %v, %v", wrong, found, err)
		}
	}
	now = now.Add(time.Hour)
	if found, err := s.FindToken(t.Context(), text); err != nil || found != nil {
		t.Errorf("after an hour: %v, %v", found, err)
	}
}

// TestFailedLogins: a client that guesses tokens is told to wait.
func TestFailedLogins(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	good := f.token("", store.Admin)
	statuses := map[int]int{}
	for range 15 {
		statuses[f.do("sch_a_b", "GET", "/api/v1/me", "").status]++
	}
	if statuses[http.StatusUnauthorized] != 10 || statuses[http.StatusTooManyRequests] != 5 {
		t.Errorf("got %v", statuses)
	}
	if r := f.do(good, "GET", "/api/v1/me", ""); r.status != http.StatusOK {
		t.Errorf("a good token gets %d %s", r.status, r.text)
	}
}

// TestDoors: other hosts, pages of other origins, long bodies and other media types are
// refused, each in its way.
func TestDoors(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, func(o *server.Options) {
		o.Hosts, o.Origins, o.MaxBody = []string{"flows.example.com"}, []string{"https://app.example.com"}, 10_000
	})
	token := f.token("", store.Admin)
	const lint = "/api/v1/lint"
	const good = `{"file": "x", "text": "steps: []"}`
	for name, c := range map[string]struct {
		method, path, body string
		headers            []string
		status             int
	}{
		"another host":     {"GET", "/health/live", "", []string{"Host", "evil.example.com"}, http.StatusForbidden},
		"a listed host":    {"GET", "/health/live", "", []string{"Host", "flows.example.com"}, http.StatusOK},
		"localhost":        {"GET", "/health/live", "", []string{"Host", "localhost:80"}, http.StatusOK},
		"another origin":   {"POST", lint, good, []string{"Origin", "https://evil.example.com"}, http.StatusForbidden},
		"a listed origin":  {"POST", lint, good, []string{"Origin", "https://app.example.com"}, http.StatusOK},
		"cross-site":       {"POST", lint, good, []string{"Sec-Fetch-Site", "cross-site"}, http.StatusForbidden},
		"a preflight":      {"OPTIONS", lint, "", []string{"Origin", "https://app.example.com", "Access-Control-Request-Method", "POST"}, http.StatusNoContent},
		"not JSON":         {"POST", lint, `{"file"`, nil, http.StatusBadRequest},
		"half a character": {"POST", lint, `{"file": "x", "text": "\ud83d"}`, nil, http.StatusBadRequest},
		"not UTF-8":        {"POST", lint, "{\"file\": \"x\", \"text\": \"\xff\"}", nil, http.StatusBadRequest},
		"too long":         {"POST", lint, `{"text": "` + strings.Repeat("x", 20_000) + `"}`, nil, http.StatusRequestEntityTooLarge},
		"media type":       {"POST", lint, "a=b", []string{"Content-Type", "application/x-www-form-urlencoded"}, http.StatusUnsupportedMediaType},
		"a wrong method":   {"PATCH", lint, "", nil, http.StatusMethodNotAllowed},
		"an unknown path":  {"GET", "/api/v1/flow", "", nil, http.StatusNotFound},
		"out of the flows": {"GET", "/api/v1/flows/..~serve", "", nil, http.StatusNotFound},
		"the login link":   {"GET", "/login?code=x", "", nil, http.StatusUnauthorized},
		"the front page":   {"GET", "/", "", nil, http.StatusOK},
		"an unknown model": {"POST", "/api/v1/runs", `{"flow": "echo", "inputs": {"question": "q"}, "llm": "nobody"}`, nil, http.StatusUnprocessableEntity},
	} {
		r := f.do(token, c.method, c.path, c.body, c.headers...)
		if r.status != c.status {
			t.Errorf("%s: got %d %s, want %d", name, r.status, r.text, c.status)
		}
		if c.status >= 400 && r.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %s is no problem", name, r.text)
		}
		if origin := r.header.Get("Access-Control-Allow-Origin"); (origin != "") != (name == "a listed origin" || name == "a preflight") || r.header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: pages of %q may read it", name, origin)
		}
	}
}

// TestPutSource edits a flow: only over the text that was read, and only without errors.
func TestPutSource(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, func(o *server.Options) { o.Edit = true })
	token := f.token("", store.FlowsRead, store.FlowsWrite, store.RunsWrite)
	const path = "/api/v1/flows/edited/source"
	tag := f.do(token, "GET", path, "").header.Get("ETag")
	const text = `{"text": "name: new\nsteps: [{id: a, call: template, with: {template: y}}]\n"}`
	if r := f.do(token, "PUT", path, text); r.status != http.StatusPreconditionRequired {
		t.Errorf("without If-Match: %d %s", r.status, r.text)
	}
	if r := f.do(token, "PUT", path, text, "If-Match", `"0"`, "If-Match", `"1", `+tag); r.status != http.StatusOK || r.header.Get("ETag") == tag {
		t.Errorf("got %d %s", r.status, r.text)
	}
	if r := f.do(token, "PUT", path, text, "If-Match", tag); r.status != http.StatusPreconditionFailed {
		t.Errorf("over a newer text: %d %s", r.status, r.text)
	}
	if r := f.do(token, "GET", "/api/v1/flows/edited", ""); r.at("/name") != "new" {
		t.Errorf("the flow is %s", r.text)
	}
	const broken = `{"text": "steps: [{id: a, call: chta}]"}`
	if r := f.do(token, "PUT", path, broken, "If-Match", "*"); r.status != http.StatusUnprocessableEntity {
		t.Errorf("a broken text: %d %s", r.status, r.text)
	}
	if r := f.do(token, "PUT", path+"?force=true", broken, "If-Match", "*"); r.status != http.StatusOK {
		t.Errorf("a broken text by force: %d %s", r.status, r.text)
	}
	const noFlow = `{"text": "name: x\nstesp: []\n"}`
	if r := f.do(token, "PUT", path+"?force=true", noFlow, "If-Match", "*"); r.status != http.StatusUnprocessableEntity || !strings.Contains(r.at("/detail"), "no steps") {
		t.Errorf("a text without steps by force: %d %s", r.status, r.text)
	}
	if r := f.do(token, "GET", "/api/v1/flows/edited", ""); r.status != http.StatusOK || r.at("/errors") == "0" {
		t.Errorf("the flow after that: %d %s", r.status, r.text)
	}
	if r := f.do(token, "POST", "/api/v1/runs", `{"flow": "edited"}`); r.status != http.StatusUnprocessableEntity {
		t.Errorf("it starts: %d %s", r.status, r.text)
	}
}

// TestCreateFlow: a flow is created once, if its name is valid and its text is a flow.
func TestCreateFlow(t *testing.T) {
	dir := t.TempDir()
	f := newFixture(t, dir, nil, func(o *server.Options) { o.Edit = true })
	token := f.token("", store.FlowsRead, store.FlowsWrite)
	const text = `{"text": "steps: [{id: a, call: template, with: {template: y}}]\n"}`
	create := func(id, text string) *reply {
		return f.do(token, "PUT", "/api/v1/flows/"+id+"/source", text, "If-None-Match", "*")
	}
	r := create("deep~新的", text)
	if r.status != http.StatusCreated || r.header.Get("Location") != "/api/v1/flows/deep~%E6%96%B0%E7%9A%84" {
		t.Errorf("got %d %s, Location %q", r.status, r.text, r.header.Get("Location"))
	}
	if kept, err := os.ReadFile(filepath.Join(dir, "flows", "deep", "新的.yaml")); err != nil || !strings.HasPrefix(string(kept), "steps: ") {
		t.Errorf("the file has %q, %v", kept, err)
	}
	if again := f.do(token, "PUT", "/api/v1/flows/deep~新的/source", text, "If-Match", r.header.Get("ETag")); again.status != http.StatusOK {
		t.Errorf("the new flow cannot be edited: %d %s", again.status, again.text)
	}
	if err := os.WriteFile(filepath.Join(dir, "flows", "data.yml"), []byte("a: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		id, text string
		want     int
	}{
		{"deep~新的", text, 412},
		{"edited", text, 412},
		{"data", text, 412}, // a file that is not a flow
		{"..~x", text, 422},
		{".hidden", text, 422},
		{"a.test", text, 422},
		{"a%2F..%2F..%2Fx", text, 422},
		{strings.Repeat("a", 300), text, 422},
		{"broken2", `{"text": "steps: [{id: a, call: chta}]"}`, 422},
		{"nothing", `{"text": ""}`, 422},
	} {
		if r := create(test.id, test.text); r.status != test.want {
			t.Errorf("%s: %d %s", test.id, r.status, r.text)
		}
	}
	if kept, err := os.ReadFile(filepath.Join(dir, "flows", "data.yml")); err != nil || string(kept) != "a: 1\n" {
		t.Errorf("the other file has %q, %v", kept, err)
	}
}

// Problems are in the language of the server.
func TestProblemsInChinese(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, func(o *server.Options) { o.Language = "zh" })
	token := f.token("", store.RunsRead)
	for path, want := range map[string][2]string{
		"/api/v1/runs/none":        {"没有", ""},
		"/api/v1/nothing":          {"没有这个路径", "GET /api/v1/openapi.json 描述全部接口"},
		"/api/v1/runs?state=nones": {"没有状态", ""},
		"/api/v1/tokens":           {"令牌没有权限范围 admin", "请用 --scopes admin 创建一个"},
	} {
		r := f.do(token, "GET", path, "")
		if !strings.Contains(r.at("/detail"), want[0]) || !strings.Contains(r.at("/hint"), want[1]) {
			t.Errorf("%s: got %s", path, r.text)
		}
	}
	if r := f.do("wrong", "GET", "/api/v1/runs", ""); r.at("/detail") != "令牌无效、已吊销或已过期" {
		t.Errorf("got %s", r.text)
	}
}

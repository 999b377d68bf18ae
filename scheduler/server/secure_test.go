package server_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/server"
	"github.com/callnode/scheduler/scheduler/server/store"
)

// brokenFlow cannot run, and names a file that is not there.
const brokenFlow = "llm: nothing\nsteps:\n  - {id: a, call: chta, with: {user: !file missing.md}}\n"

// TestFoldersStayHidden: no answer has the paths of the server's flows and its state.
func TestFoldersStayHidden(t *testing.T) {
	dir := t.TempDir()
	f := newFixture(t, dir, nil, func(o *server.Options) { o.Edit, o.Folders = true, []string{dir} })
	writeFile(t, filepath.Join(dir, "flows", "sub", "bad.yaml"), brokenFlow)
	writeFile(t, filepath.Join(dir, "flows", "late.yaml"), "steps: [{id: a, call: template, with: {template: '{{ inputs.x.y.z() }}'}}]\n")
	token := f.token("lin", store.Admin)
	chat := func(stream string) string {
		return `{"model": "sub~bad", "messages": [{"role": "user", "content": "hi"}]` + stream + `}`
	}
	tool := `{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "flow_sub_bad", "arguments": {}}}`
	run := "/api/v1/runs/" + f.start(token, "space", `{}`)
	preview := value.OfMap(value.Pairs("file", "space", "text", flows["space.yaml"], "line", 3)).JSON()
	for name, r := range map[string]*reply{
		"run":               f.do(token, "GET", run, ""),
		"prompts of a run":  f.do(token, "GET", run+"/prompts", ""),
		"files of a run":    f.do(token, "GET", run+"/files", ""),
		"events of a run":   f.do(token, "GET", run+"/events?from=1&limit=200", ""),
		"a step":            f.do(token, "GET", run+"/steps/prompt", ""),
		"preview":           f.do(token, "POST", "/api/v1/preview", preview),
		"list of flows":     f.do(token, "GET", "/api/v1/flows", ""),
		"flow":              f.do(token, "GET", "/api/v1/flows/sub~bad", ""),
		"graph":             f.do(token, "GET", "/api/v1/flows/sub~bad/graph", ""),
		"source":            f.do(token, "GET", "/api/v1/flows/sub~bad/source", ""),
		"no flow":           f.do(token, "GET", "/api/v1/flows/sub~none", ""),
		"start":             f.do(token, "POST", "/api/v1/runs", `{"flow": "sub~bad"}`),
		"start of flow":     f.do(token, "POST", "/api/v1/flows/sub~bad/runs", `{}`),
		"start, wrong":      f.do(token, "POST", "/api/v1/runs", `{"flow": "echo", "inputs": {"question": 1}}`),
		"foreign memory":    f.do(token, "POST", "/api/v1/runs", `{"flow": "mine"}`),
		"lint":              f.do(token, "POST", "/api/v1/lint", `{"file": "sub/bad", "text": "steps: [{id: a, call: chta, with: {user: !file missing.md}}]"}`),
		"saving":            f.do(token, "PUT", "/api/v1/flows/sub~bad/source", `{"text": "steps: [{id: a, call: chta}]"}`, "If-Match", "*"),
		"creating":          f.do(token, "PUT", "/api/v1/flows/sub~new/source", `{"text": "steps: [{id: a, call: chta}]"}`, "If-None-Match", "*"),
		"schedules":         f.do(token, "GET", "/api/v1/schedules", ""),
		"models":            f.do(token, "GET", "/v1/models", ""),
		"chat":              f.do(token, "POST", "/v1/chat/completions", chat("")),
		"chat, stream":      f.do(token, "POST", "/v1/chat/completions", chat(`, "stream": true`)),
		"tool":              f.do(token, "POST", "/mcp", tool, "Accept", "application/json, text/event-stream"),
		"call with a file":  f.do(token, "POST", "/api/v1/calls/input", `{"with": {"sources": [{"file": "../../x"}]}}`),
		"another file":      f.do(token, "GET", "/api/v1/runs/none/files?path=/etc/passwd", ""),
		"import":            f.do(token, "POST", "/api/v1/memory/import", `{"role": 1}`, "Content-Type", "application/x-ndjson"),
		"tests of a folder": f.do(token, "GET", "/api/v1/tests/source?file=../../x", ""),
		"tests":             f.do(token, "GET", "/api/v1/tests", ""),
		"plugins":           f.do(token, "GET", "/api/v1/plugins", ""),
	} {
		if strings.Contains(r.text, dir) || strings.Contains(r.text, filepath.ToSlash(dir)) {
			t.Errorf("%s: %d %s", name, r.status, r.text)
		}
	}
	for door, r := range map[string]*reply{
		"run": f.do(token, "GET", run+"/prompts", ""), "preview": f.do(token, "POST", "/api/v1/preview", preview),
	} {
		if !strings.Contains(r.text, `"file":"space.yaml"`) {
			t.Errorf("%s: the sources of the prompt do not name their flow: %s", door, r.text)
		}
	}
	if r := f.do(token, "POST", "/api/v1/runs", `{"flow": "sub~bad"}`); r.at("/errors/0/file") != "sub/bad.yaml" || r.at("/errors/0/line") == "" {
		t.Errorf("the place of an error is lost: %s", r.text)
	}
	if r := f.do(token, "GET", "/api/v1/flows/sub~bad", ""); r.at("/file") != "sub/bad.yaml" {
		t.Errorf("the flow is %s", r.text)
	}
}

// TestFullDisk: a server on a full disk is not ready, and says so without the place of its state.
func TestFullDisk(t *testing.T) {
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Skip("a small disk is mounted by root on Linux only")
	}
	dir := filepath.Join(t.TempDir(), "disk")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("mounting: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("unmounting: %v: %s", err, out)
		}
	})
	f := newFixture(t, dir, nil, func(o *server.Options) { o.Folders = []string{dir} })
	token := f.token("", store.Admin)
	if r := f.do("", "GET", "/health/ready", ""); r.status != http.StatusOK {
		t.Fatalf("with room: %d %s", r.status, r.text)
	}
	full := filepath.Join(dir, "full")
	file, err := os.Create(full)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(file, io.LimitReader(endless{}, 64<<20))
	if err == nil {
		t.Fatal("the disk is not full")
	}
	_ = file.Close() // it is full
	ready := func(status int) func() bool {
		return func() bool {
			r := f.do("", "GET", "/health/ready", "")
			if strings.Contains(r.text, dir) {
				t.Errorf("the place of the state: %s", r.text)
			}
			return r.status == status
		}
	}
	f.eventually("the server to be not ready", ready(http.StatusServiceUnavailable))
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/api/v1/runs", `{"flow": "echo", "inputs": {"question": "` + strings.Repeat("long ", 20_000) + `"}}`},
		{"POST", "/v1/chat/completions", `{"model": "echo", "messages": [{"role": "user", "content": "` + strings.Repeat("long ", 20_000) + `"}]}`},
		{"POST", "/api/v1/memory", `{"content": "` + strings.Repeat("long ", 20_000) + `", "user": "lin"}`},
	} {
		r := f.do(token, c.method, c.path, c.body)
		if r.status != http.StatusServiceUnavailable || r.header.Get("Retry-After") == "" || strings.Contains(r.text, dir) || strings.Contains(r.text, "I/O") {
			t.Errorf("%s %s on a full disk: %d %s", c.method, c.path, r.status, r.text)
		}
	}
	if err := os.Remove(full); err != nil {
		t.Fatal(err)
	}
	f.eventually("the server to be ready again", ready(http.StatusOK))
	if left, err := filepath.Glob(filepath.Join(dir, ".room-*")); err != nil || len(left) > 0 {
		t.Errorf("the check leaves %v, %v", left, err)
	}
}

// logBuffer keeps a log. It is safe for concurrent use.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// TestBrokenBodies: a body that is damaged in transit, or breaks off, is the fault of the client: 400, and nothing
// of it in the log.
func TestBrokenBodies(t *testing.T) {
	log := &logBuffer{}
	f := newFixture(t, t.TempDir(), nil, func(o *server.Options) { o.Edit, o.Log = true, slog.New(slog.NewTextHandler(log, nil)) })
	token := f.token("", store.Admin)
	address := strings.TrimPrefix(f.base, "http://")
	for _, path := range []string{
		"POST /api/v1/runs", "POST /api/v1/calls/template", "POST /api/v1/memory", "POST /api/v1/memory/import", "POST /v1/chat/completions", "POST /mcp",
		"POST /hooks/timed/open", "POST /api/v1/lint", "PUT /api/v1/flows/echo/source", "POST /api/v1/session", "POST /api/modules/smarttavern/in_chat_constructor/construct",
	} {
		for name, body := range map[string]string{
			"no length":       "Transfer-Encoding: chunked\r\n\r\nZZZ\r\n{}\r\n0\r\n\r\n",
			"a wrong length":  "Transfer-Encoding: chunked\r\n\r\n1\r\n{\"a\": 1}\r\n0\r\n\r\n",
			"breaks off":      "Transfer-Encoding: chunked\r\n\r\n10\r\n{}",
			"shorter than it": "Content-Length: 100\r\n\r\n{}",
		} {
			c, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			_, err = fmt.Fprintf(c, "%s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nAccept: application/json, text/event-stream\r\nIf-Match: *\r\nContent-Type: application/json\r\nConnection: close\r\n%s",
				path, address, token, body)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			answer, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Errorf("%s, %s: %v", path, name, err)
				continue
			}
			if answer.StatusCode != http.StatusBadRequest {
				text, _ := io.ReadAll(answer.Body)
				t.Errorf("%s, %s: %d %s", path, name, answer.StatusCode, text)
			}
			_ = answer.Body.Close()
			_ = c.Close()
		}
	}
	if strings.Contains(log.String(), "level=ERROR") {
		t.Errorf("the log has %s", log)
	}
}

// TestTriggersOfOthers: a token that is bound to a user saves only that user's triggers, because other users'
// triggers begin runs as these users.
func TestTriggersOfOthers(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, func(o *server.Options) { o.Edit = true })
	lin, operator := f.token("lin", store.FlowsRead, store.FlowsWrite), f.token("", store.FlowsRead, store.FlowsWrite)
	const steps = "steps: [{id: a, call: template, with: {template: x}}]\n"
	trigger := func(user string) string {
		return "triggers: {schedules: [{id: s, cron: '0 7 * * *'" + user + "}]}\n"
	}
	hook := func(user string) string {
		return "triggers: {webhooks: [{id: h, verify: none" + user + "}]}\n"
	}
	for name, c := range map[string]struct {
		text, query      string
		bound, unlimited int
	}{
		"none":              {steps, "", 201, 201},
		"of itself":         {trigger(", user: lin") + steps, "", 201, 201},
		"a hook of itself":  {hook(", user: lin") + steps, "", 201, 201},
		"of another":        {trigger(", user: bo") + steps, "", 422, 201},
		"a hook of another": {hook(", user: bo") + steps, "", 422, 201},
		"of no user":        {trigger("") + steps, "", 422, 201},
		"a hook of none":    {hook("") + steps, "", 422, 201},
		"hidden by errors":  {trigger(", user: bo") + "steps: [{id: a, call: chta}]\n", "?force=true", 422, 201},
		"errors alone":      {"steps: [{id: a, call: chta}]\n", "?force=true", 422, 201},
	} {
		body := value.OfMap(value.Pairs("text", c.text)).JSON()
		for token, want := range map[string]int{lin: c.bound, operator: c.unlimited} {
			id := fmt.Sprintf("made%d", time.Now().UnixNano())
			if r := f.do(token, "PUT", "/api/v1/flows/"+id+"/source"+c.query, body, "If-None-Match", "*"); r.status != want {
				t.Errorf("%s: %d %s, want %d", name, r.status, r.text, want)
			}
			if r := f.do(token, "PUT", "/api/v1/flows/edited/source"+c.query, body, "If-Match", "*"); want == 422 && r.status != want {
				t.Errorf("%s, in a flow that is there: %d %s", name, r.status, r.text)
			}
			if r := f.do(operator, "PUT", "/api/v1/flows/edited/source", value.OfMap(value.Pairs("text", steps)).JSON(), "If-Match", "*"); r.status != 200 {
				t.Fatal(r.status, r.text)
			}
		}
	}
	if r := f.do(lin, "PUT", "/api/v1/flows/timed/source", value.OfMap(value.Pairs("text", steps)).JSON(), "If-Match", "*"); r.status != http.StatusForbidden {
		t.Errorf("a flow with triggers of others is changed: %d %s", r.status, r.text)
	}
}

// TestIDsTellNothing: a caller who names the id of a memory cannot learn, through any door, whether another user
// has one with that id.
func TestIDsTellNothing(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	writeFile(t, filepath.Join(f.dir, "flows", "save.yaml"),
		"name: save\ninputs: {type: object, properties: {id: {type: string}}}\nmemory: {user: \"{{ run.user }}\"}\nsteps: [{id: a, call: memory-save, with: {content: mine, id: \"{{ inputs.id }}\"}}]\n")
	lin, bo := f.token("lin", store.Admin), f.token("bo", store.Admin)
	foreign := f.do(bo, "POST", "/api/v1/memory", `{"content": "bo's secret"}`).at("/id")
	kinds := map[string]string{"foreign": foreign, "unknown": memory.NewID(memory.MemoryID, time.Now())}
	for name, use := range map[string]func(id string) *reply{
		"import": func(id string) *reply {
			return f.do(lin, "POST", "/api/v1/memory/import", `{"id": "`+id+`", "content": "mine"}`, "Content-Type", "application/x-ndjson")
		},
		"import again": func(id string) *reply {
			return f.do(lin, "POST", "/api/v1/memory/import", `{"id": "`+id+`", "content": "mine"}`, "Content-Type", "application/x-ndjson")
		},
		"call": func(id string) *reply {
			return f.do(lin, "POST", "/api/v1/calls/memory-save", `{"with": {"content": "mine", "id": "`+id+`"}}`)
		},
		"flow": func(id string) *reply {
			return f.do(lin, "POST", "/api/v1/runs?wait=20s", `{"flow": "save", "inputs": {"id": "`+id+`"}}`)
		},
		"get":     func(id string) *reply { return f.do(lin, "GET", "/api/v1/memory/"+id, "") },
		"history": func(id string) *reply { return f.do(lin, "GET", "/api/v1/memory/"+id+"?history=true", "") },
		"delete":  func(id string) *reply { return f.do(lin, "DELETE", "/api/v1/memory/"+id, "") },
	} {
		t.Run(name, func(t *testing.T) {
			got := map[string]string{}
			for kind, id := range kinds {
				r := use(id)
				if r.status >= 500 || strings.Contains(r.text, "another user") {
					t.Errorf("%s: %d %s", kind, r.status, r.text)
				}
				kept := strings.Contains(r.at("/output/memory_id"), id) || strings.Contains(r.at("/outputs"), id)
				got[kind] = fmt.Sprint(r.status, r.at("/state"), r.at("/title"), r.at("/new"), r.at("/memories"), r.at("/problems"), " the id is kept: ", kept)
			}
			if got["foreign"] != got["unknown"] {
				t.Errorf("a foreign id: %s\nan unknown one: %s", got["foreign"], got["unknown"])
			}
		})
	}
	list := f.do(bo, "GET", "/api/v1/memory", "")
	if !strings.Contains(list.text, "bo's secret") || strings.Contains(list.text, "mine") {
		t.Errorf("the memories of the other user are %s", list.text)
	}
	if r := f.do(lin, "GET", "/api/v1/memory", ""); strings.Count(r.text, `"content"`) != 2 {
		t.Errorf("what was imported again is there again: %s", r.text)
	}
	own := f.do(lin, "POST", "/api/v1/memory", `{"content": "old text"}`).at("/id")
	if r := f.do(lin, "POST", "/api/v1/memory/import", `{"id": "`+own+`", "content": "new text"}`, "Content-Type", "application/x-ndjson"); r.status != 200 {
		t.Fatal(r.status, r.text)
	}
	if r := f.do(lin, "GET", "/api/v1/memory/"+own, ""); r.at("/content") != "new text" {
		t.Errorf("an own memory is not replaced: %s", r.text)
	}
}

// TestLoginsEndInOtherProcesses: a token that another process on the store revokes is of no use from then on, and its streams end.
func TestLoginsEndInOtherProcesses(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	other, err := store.Open(t.Context(), f.dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	made, text, err := other.CreateToken(t.Context(), "n", "", []store.Scope{store.RunsRead}, 0)
	if err != nil {
		t.Fatal(err)
	}
	lines, stop := f.follow(text, "/api/v1/events")
	defer stop()
	until(t, lines, "id: ")
	if err := other.RevokeToken(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
	for deadline := time.After(10 * time.Second); ; { // before the next look without a cause
		select {
		case _, open := <-lines:
			if open {
				continue
			}
		case <-deadline:
			t.Fatal("the stream goes on")
		}
		break
	}
	if r := f.do(text, "GET", "/api/v1/runs", ""); r.status != http.StatusUnauthorized {
		t.Errorf("the token gets %d %s", r.status, r.text)
	}
}

// TestCookiesBehindTLS: a proxy that speaks TLS makes cookies Secure.
func TestCookiesBehindTLS(t *testing.T) {
	for name, behind := range map[string]bool{"plain": false, "behind a proxy": true} {
		f := newFixture(t, t.TempDir(), nil, func(o *server.Options) { o.BehindTLS = behind })
		r := f.do("", "POST", "/api/v1/session", `{"token": "`+f.token("lin", store.RunsRead)+`"}`)
		cookie := r.header.Get("Set-Cookie")
		if strings.Contains(cookie, "; Secure") != behind {
			t.Errorf("%s: %s", name, cookie)
		}
		cookie, _, _ = strings.Cut(cookie, ";")
		if out := f.do("", "DELETE", "/api/v1/session", "", "Cookie", cookie); strings.Contains(out.header.Get("Set-Cookie"), "; Secure") != behind {
			t.Errorf("%s, at the end: %s", name, out.header.Get("Set-Cookie"))
		}
	}
}

// TestManyMembers: a body of many members that are not known is answered with the first of them, by every door.
func TestManyMembers(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, func(o *server.Options) { o.Edit, o.MaxBody = true, 8<<20 })
	token := f.token("", store.Admin)
	var members, params strings.Builder
	const n = 30000
	for i := range n {
		fmt.Fprintf(&members, `, "k%d": 1`, i)
		fmt.Fprintf(&params, ", k%d: x", i)
	}
	const most = 120 // places
	flow := value.OfString("steps: [{id: a, call: template, with: {template: x" + params.String() + "}}]").JSON()
	for path, body := range map[string]string{
		"POST /api/v1/runs":             `{"flow": "echo"` + members.String() + `}`,
		"POST /api/v1/calls/template":   `{"with": {"template": "x"` + members.String() + `}}`,
		"POST /api/v1/memory":           `{"content": "x"` + members.String() + `}`,
		"POST /api/v1/lint":             `{"file": "echo", "text": ` + flow + `}`,
		"PUT /api/v1/flows/echo/source": `{"text": ` + flow + `}`,
		"POST /v1/chat/completions":     `{"model": "echo", "messages": [{"role": "user", "content": "hi"}]` + members.String() + `}`,
		"POST /api/modules/smarttavern/in_chat_constructor/construct": `{"history": []` + members.String() + `}`,
	} {
		method, path, _ := strings.Cut(path, " ")
		r := f.do(token, method, path, body, "If-Match", "*")
		errors, _ := r.doc.Get("errors")
		problems, _ := r.doc.Get("problems")
		ignored, _ := r.doc.At("/scheduler/ignored")
		if places := max(len(errors.List()), len(problems.List()), len(ignored.List())); places == 0 || places > most {
			t.Errorf("%s: %d places: %d %s", path, places, r.status, value.Truncate(r.text, 400))
		}
		for name, values := range r.header {
			if length := len(strings.Join(values, "")); length > 4096 {
				t.Errorf("%s: the header %s has %d bytes", path, name, length)
			}
		}
	}
}

// TestLintReadsNoForeignFiles checks a text whose steps name files of the machine: callers who may not save flows
// see nothing of them.
func TestLintReadsNoForeignFiles(t *testing.T) {
	dir := t.TempDir()
	private := filepath.Join(t.TempDir(), "private.yaml")
	if err := os.WriteFile(private, []byte("hunter2: [\nopensesame"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := newFixture(t, dir, nil, func(o *server.Options) { o.Edit = true })
	reader, editor := f.token("lin", store.FlowsRead), f.token("", store.FlowsRead, store.FlowsWrite)
	link := filepath.Join(dir, "flows", "link.yaml")
	if err := os.Symlink(private, link); err != nil {
		t.Fatal(err)
	}
	for _, step := range []string{
		"{id: a, call: flow, with: {path: " + private + "}}",
		"{id: a, call: flow, with: {path: link.yaml}}",
		"{id: a, call: flow, with: {path: " + filepath.Join(filepath.Dir(private), "privat.yaml") + "}}",
		"{id: a, call: input, with: {config_path: " + private + ", user_input: hi}}",
		"{id: a, call: agent, with: {prompt: hi, tools: {flows: [{path: " + private + "}]}}}",
	} {
		text, err := json.Marshal(map[string]string{"file": "x.yaml", "text": "name: x\nsteps: [" + step + "]\n"})
		if err != nil {
			t.Fatal(err)
		}
		answer := f.do(reader, "POST", "/api/v1/lint", string(text))
		if answer.status != http.StatusOK || strings.Contains(answer.text, "hunter2") || strings.Contains(answer.text, "opensesame") || strings.Contains(answer.text, "did you mean") {
			t.Errorf("%s: status %d\n%s", step, answer.status, answer.text)
		}
		if editor := f.do(editor, "POST", "/api/v1/lint", string(text)); editor.status != http.StatusOK {
			t.Errorf("%s: status %d for an editor", step, editor.status)
		}
	}
}

// TestPostedFlowsReadServedFiles: a flow that is posted with the token of a user reads the files that served flows
// name, as served, and no others, in whichever way it names them.
func TestPostedFlowsReadServedFiles(t *testing.T) {
	dir := t.TempDir()
	f := newFixture(t, dir, nil, func(o *server.Options) { o.Edit = true })
	private := filepath.Join(dir, "private.txt")
	const config = `{"context_template": [{"module_name": "m", "segments": [{"type": "text", "value": "hunter2"}]}]}`
	for name, text := range map[string]string{
		private:                "hunter2",
		"secret.txt":           "hunter2",
		"book.yaml":            "- {mode: always, content: hunter2}",
		"config.json":          config,
		"ws/SECRET.md":         "hunter2",
		"ws/skills/s/SKILL.md": "---\nname: s\ndescription: hunter2\n---\nhunter2",
		"named.txt":            "opensesame",
		"served.yaml":          "name: served\nsteps: [{id: a, call: template, with: {template: !file named.txt}}, {id: b, call: chat, with: {user: '{{ a.text }}'}}]\n",
	} {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, "flows", name)
		}
		writeFile(t, name, text)
	}
	if err := os.Symlink(private, filepath.Join(dir, "flows", "link.txt")); err != nil {
		t.Skip(err)
	}
	const asked = ", {id: b, call: chat, with: {user: '{{ a.text }}'}}"
	const sent = ", {id: b, call: chat, with: {messages: '{{ a.messages }}'}}"
	for _, c := range []struct{ name, steps, inputs string }{
		{name: "below the folder", steps: "{id: a, call: template, with: {template: !file secret.txt}}" + asked},
		{name: "by its place", steps: "{id: a, call: template, with: {template: !file " + private + "}}" + asked},
		{name: "above the folder", steps: "{id: a, call: template, with: {template: !file ../private.txt}}" + asked},
		{name: "through a folder and back", steps: "{id: a, call: template, with: {template: !file ws/../secret.txt}}" + asked},
		{name: "by a link", steps: "{id: a, call: template, with: {template: !file link.txt}}" + asked},
		{name: "included", steps: "{id: a, call: template, with: {template: '{% include \"secret.txt\" %}'}}" + asked},
		{name: "extended", steps: "{id: a, call: template, with: {template: '{% extends \"secret.txt\" %}'}}" + asked},
		{name: "imported", steps: "{id: a, call: template, with: {template: '{% import \"secret.txt\" as s %}{{ s }}'}}" + asked},
		{name: "a world book", steps: "{id: a, call: in-chat, with: {history: [{role: user, content: hi}], world_books: !file book.yaml}}" + sent},
		{name: "an input", steps: "{id: b, call: chat, with: {user: '{{ inputs.x }}'}}", inputs: "x: {type: string, default: !file secret.txt}"},
		{name: "a configuration", steps: "{id: a, call: input, with: {config_path: config.json, user_input: hi}}, {id: b, call: chat, with: {user: '{{ a.prompt }}'}}"},
		{name: "a workspace", steps: "{id: a, call: context, with: {workspace: ws, bootstrap_files: [SECRET.md], current_message: hi}}" + sent},
		{name: "a skill", steps: "{id: a, call: context, with: {workspace: ws, skill_names: [s], current_message: hi}}" + sent},
		{name: "a media file", steps: "{id: a, call: context, with: {media: [secret.txt], current_message: hi}}" + sent},
		{name: "a flow", steps: "{id: a, call: flow, with: {path: secret.txt}}, {id: b, call: chat, with: {user: hi}}"},
		{name: "an agent's workspace", steps: "{id: b, call: agent, with: {prompt: hi, workspace: ws}}"},
	} {
		text := value.OfString("name: new\ninputs: {properties: {" + c.inputs + "}}\nsteps: [" + c.steps + "]\n").JSON()
		for name, token := range map[string]string{
			"a reader": f.token("lin", store.FlowsRead), "an editor": f.token("lin", store.FlowsRead, store.FlowsWrite, store.RunsWrite), "an administrator": f.token("lin", store.Admin),
		} {
			for _, path := range []string{"/api/v1/preview", "/api/v1/lint"} {
				r := f.do(token, "POST", path, `{"file": "new", "text": `+text+`}`)
				if r.status != http.StatusOK || strings.Contains(r.text, "hunter2") {
					t.Errorf("%s, by %s on %s: status %d\n%s", c.name, name, path, r.status, r.text)
				}
			}
		}
	}
	token := f.token("lin", store.FlowsRead)
	served := value.OfString("name: served\nsteps: [{id: a, call: template, with: {template: !file named.txt}}, {id: b, call: chat, with: {user: 'so: {{ a.text }}'}}]\n").JSON()
	if r := f.do(token, "POST", "/api/v1/preview", `{"file": "served", "text": `+served+`, "line": 9}`); !strings.Contains(r.text, "opensesame") {
		t.Errorf("the file that the served flow names: %s", r.text)
	}
	space := value.OfString(flows["space.yaml"]).JSON()
	editor := f.token("lin", store.FlowsRead, store.RunsWrite)
	if r := f.do(editor, "POST", "/api/v1/preview", `{"file": "space", "text": `+space+`, "line": 3}`); !strings.Contains(r.text, "Be brief.") {
		t.Errorf("the workspace of the served flow, unchanged: %s", r.text)
	}
}

// TestPreviewShowsNoForeignThings checks a preview for a token that may read flows alone: no file of the machine and no run is in it.
func TestPreviewShowsNoForeignThings(t *testing.T) {
	dir := t.TempDir()
	private := filepath.Join(t.TempDir(), "private.yaml")
	if err := os.WriteFile(private, []byte(`{"context_template": [{"module_name": "hunter2", "segments": [{"type": "text", "value": "hunter2"}]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	f := newFixture(t, dir, nil, func(o *server.Options) { o.Edit = true })
	owner, other := f.token("lin", store.Admin), f.token("bo", store.FlowsRead, store.RunsRead)
	reader, editor := f.token("", store.FlowsRead), f.token("", store.FlowsRead, store.FlowsWrite, store.RunsWrite)
	run := f.start(owner, "echo", `{"question": "hunter2"}`)
	configured := "{id: a, call: input, with: {config_path: " + private + ", user_input: hi}}, {id: b, call: chat, with: {user: '{{ a.prompt }}'}}"
	quoted := "{id: a, call: template, with: {template: !file " + private + "}}, {id: b, call: chat, with: {user: '{{ a.text }}'}}"
	asked := "{id: b, call: chat, with: {user: '{{ inputs.question }}'}}"
	for _, c := range []struct {
		name, token, steps, more string
		status                   int
		shows                    bool
	}{
		{name: "a file, by a reader", token: reader, steps: configured, status: http.StatusOK},
		{name: "a file in the flow, by a reader", token: reader, steps: quoted, status: http.StatusOK},
		{name: "a file, by an editor who may run flows", token: editor, steps: configured, status: http.StatusOK, shows: true},
		{name: "the last run, by a reader", token: reader, steps: asked, status: http.StatusOK},
		{name: "the last run, by another user", token: other, steps: asked, status: http.StatusOK},
		{name: "a run of another user", token: other, steps: asked, more: `, "run": "` + run + `"`, status: http.StatusNotFound},
		{name: "the last run, by its user", token: owner, steps: asked, status: http.StatusOK, shows: true},
	} {
		text := value.OfString("name: echo\ninputs: {properties: {question: {type: string}}}\nsteps: [" + c.steps + "]\n").JSON()
		answer := f.do(c.token, "POST", "/api/v1/preview", `{"file": "echo", "line": 9, "text": `+text+c.more+`}`)
		if answer.status != c.status || strings.Contains(answer.text, "hunter2") != c.shows {
			t.Errorf("%s: status %d\n%s", c.name, answer.status, answer.text)
		}
	}
	if left := f.do(owner, "GET", "/api/v1/runs", "").at("/items/1/run"); left != "null" {
		t.Errorf("a preview is a run: %s", left)
	}
}

package server_test

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/callnode/scheduler/scheduler/server"
	"github.com/callnode/scheduler/scheduler/server/store"
)

// TestRunsAs: a token that belongs to no user begins runs for any with the scope runs:as; they are bound to that
// user, and the audit names the caller. A token of a user begins runs of that user alone.
func TestRunsAs(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	writeFile(t, f.dir+"/flows/whose.yaml", "name: whose\nmemory: {user: \"{{ run.user }}\"}\nsteps: [{id: a, call: template, with: {template: \"{{ run.user }}\"}}]\noutputs: {user: \"{{ a.text }}\"}\n")
	writeFile(t, f.dir+"/flows/named.yaml", "name: named\nsteps: [{id: a, call: template, with: {template: \"of {{ run.user }}\"}, to_user: true}]\n")
	app, plain, operator := f.token("", store.RunsRead, store.RunsWrite, store.RunsAs), f.token("", store.RunsRead, store.RunsWrite), f.token("", store.Admin)
	lin, bo := f.token("lin", store.RunsRead, store.RunsWrite, store.RunsAs), f.token("bo", store.RunsRead)
	start := func(token, flow, user string) *reply {
		return f.do(token, "POST", "/api/v1/runs?wait=20s", `{"flow": "`+flow+`", "user": "`+user+`"}`)
	}
	for name, c := range map[string]struct {
		token, flow, user string
		status            int
		says              string
	}{
		"for a user":              {app, "whose", "lin", 200, "lin"},
		"by the operator":         {operator, "whose", "lin", 200, "lin"},
		"for nobody":              {plain, "whose", "", 200, ""},
		"without the scope":       {plain, "whose", "lin", 403, "the token lacks the scope runs:as"},
		"of itself":               {lin, "whose", "lin", 200, "lin"},
		"of another":              {lin, "whose", "bo", 422, `the token is bound to another user than "bo"`},
		"in the memory of bo":     {app, "mine", "lin", 422, `the memory of the flow is that of "bo"`},
		"in the memory of itself": {app, "mine", "bo", 200, ""},
	} {
		r := start(c.token, c.flow, c.user)
		if r.status != c.status {
			t.Errorf("%s: %d %s", name, r.status, r.text)
			continue
		}
		switch {
		case c.status != http.StatusOK:
			if !strings.Contains(r.at("/detail"), c.says) {
				t.Errorf("%s: %s", name, r.text)
			}
			if c.flow == "mine" && (r.at("/hint") != `write memory: {user: "{{ run.user }}"}` || !strings.HasSuffix(r.at("/errors/0/file"), "mine.yaml") || r.at("/errors/0/line") != "2") {
				t.Errorf("%s: no place and remedy: %s", name, r.text)
			}
		case c.flow == "whose" && (r.at("/outputs/user") != c.says || c.user != "" && r.at("/owner") != c.user):
			t.Errorf("%s: %s", name, r.text)
		}
	}
	for name, c := range map[string]struct{ token, user, says string }{
		"chat for a user":        {app, "lin", "lin"},
		"chat by the operator":   {operator, "lin", "lin"},
		"chat for nobody":        {app, "", ""},
		"chat without the scope": {plain, "lin", ""},
		"chat of itself":         {lin, "bo", "lin"},
	} {
		r := f.chat(c.token, "named", messages("Whose run is it?"), `, "user": "`+c.user+`"`)
		if r.status != http.StatusOK || r.at(said) != "of "+c.says {
			t.Errorf("%s: %d %s", name, r.status, r.text)
		}
		if run := f.do(operator, "GET", "/api/v1/runs/"+r.at("/scheduler/run"), ""); c.says != "" && run.at("/owner") != c.says {
			t.Errorf("%s: the run is %s", name, run.text)
		}
	}
	if r := f.chat(app, "mine", messages("hi"), `, "user": "lin"`); r.status == http.StatusOK {
		t.Errorf("a chat for lin in the memory of bo: %s", r.text)
	}
	run := start(app, "whose", "lin").at("/run")
	if r := f.do(bo, "GET", "/api/v1/runs/"+run, ""); r.status != http.StatusNotFound {
		t.Errorf("another user sees the run: %d", r.status)
	}
	if r := f.do(lin, "GET", "/api/v1/runs/"+run, ""); r.status != http.StatusOK {
		t.Errorf("the user does not see the run: %d", r.status)
	}
	f.stop()
	again := newFixture(t, f.dir, nil, nil) // the audit is stored at the end
	audit := again.do(again.token("", store.Admin), "GET", "/api/v1/audit?limit=100", "")
	found := false
	for _, e := range audit.doc.Map().All() {
		for _, entry := range e.List() {
			of, _ := entry.Get("run")
			user, _ := entry.Get("user")
			id, _ := of.Str()
			name, _ := user.Str()
			found = found || id == run && name == "lin"
		}
	}
	if !found {
		t.Errorf("the audit does not name the user: %s", audit.text)
	}
}

// TestChatLogsRefusedRuns: a run that cannot begin keeps no error, and the client does not get it: the log has it.
func TestChatLogsRefusedRuns(t *testing.T) {
	var logged logBuffer
	f := newFixture(t, t.TempDir(), nil, func(o *server.Options) { o.Log = slog.New(slog.NewTextHandler(&logged, nil)) })
	writeFile(t, f.dir+"/flows/owned.yaml", "name: owned\nmemory: {user: \"{{ run.user }}\"}\nsteps: [{id: a, call: memory-retrieve, with: {current_query: tea}}]\n")
	r := f.chat(f.token("", store.RunsWrite), "owned", messages("hi"), "")
	if r.status < http.StatusBadRequest || r.at("/scheduler/run") != "" && r.at("/scheduler/run") != "null" {
		t.Fatalf("the run began: %d %s", r.status, r.text)
	}
	if !strings.Contains(logged.String(), "a chat request failed") || !strings.Contains(logged.String(), "model=owned") {
		t.Errorf("the answer is %d %s, and the log has no cause: %s", r.status, r.text, logged.String())
	}
}

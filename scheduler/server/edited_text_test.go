package server_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/server"
	"github.com/callnode/scheduler/scheduler/server/store"
)

// editedTexts are the requests with the text of a flow that is not saved; flow is the id of an existing one, and run that of a run
// that failed.
func editedTexts(flow, run, text string) map[string]struct{ method, path, body string } {
	quoted := value.OfString(text).JSON()
	return map[string]struct{ method, path, body string }{
		"lint":    {"POST", "/api/v1/lint", `{"file": "` + flow + `", "text": ` + quoted + `}`},
		"preview": {"POST", "/api/v1/preview", `{"file": "` + flow + `", "text": ` + quoted + `}`},
		"replace": {"PUT", "/api/v1/flows/" + flow + "/source", `{"file": "x", "text": ` + quoted + `}`},
		"create":  {"PUT", "/api/v1/flows/made/source", `{"file": "x", "text": ` + quoted + `}`},
		"resume":  {"POST", "/api/v1/runs/" + run + "/resume", `{"flow": {"text": ` + quoted + `}}`},
	}
}

// sendText sends one of them.
func (f *fixture) sendText(token, name string, r struct{ method, path, body string }) *reply {
	headers := []string{"If-Match", "*"}
	switch {
	case name == "create":
		headers = []string{"If-None-Match", "*"}
	case r.method == http.MethodPost:
		headers = nil
	}
	return f.do(token, r.method, r.path, r.body, headers...)
}

const failingSteps = "name: falls\nsteps:\n  - {id: a, call: template, with: {template: ok}}\n  - {id: b, call: http, with: {url: 'http://127.0.0.1:1/'}}\n"

// failedRun returns a run of the flow falls that has failed.
func (f *fixture) failedRun(token string) string {
	run := f.start(token, "falls", `{}`)
	f.do(token, "GET", "/api/v1/runs/"+run+"/events", "", "Accept", eventStream)
	return run
}

// A text that takes long to check is told so, in every request that checks one, and nothing of it is saved or run.
func TestCheckOfTextIsBounded(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "flows", "falls.yaml"), failingSteps)
	f := newFixture(t, dir, nil, func(o *server.Options) { o.Edit, o.MaxCheck = true, time.Nanosecond })
	token := f.token("", store.Admin)
	run := f.failedRun(token)
	for name, r := range editedTexts("falls", run, strings.Replace(failingSteps, "ok", "better", 1)) {
		if name == "preview" { // it has a limit of its own
			continue
		}
		got := f.sendText(token, name, r)
		isTold := got.status == http.StatusGatewayTimeout && strings.Contains(got.at("/hint"), "serve.max_check")
		if isBusy := got.status == http.StatusServiceUnavailable && got.header.Get("Retry-After") != ""; !isTold && !isBusy {
			t.Errorf("%s: %d %s", name, got.status, got.text)
		}
	}
	if r := f.do(token, "GET", "/api/v1/flows/falls/source", ""); strings.Contains(r.text, "better") {
		t.Errorf("the text is saved: %s", r.text)
	}
	if r := f.do(token, "GET", "/api/v1/flows/made", ""); r.status != http.StatusNotFound {
		t.Errorf("the flow is made: %s", r.text)
	}
}

// A token of a user reads no files by a text that it sends, whatever becomes of the text: the flow could quote them once it is saved or run.
func TestBoundTextsReadServedFiles(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"falls.yaml": failingSteps, "secret.txt": "hunter2", "secret.yaml": "hunter2: [", "config.json": `{"hunter2": 1}`} {
		writeFile(t, filepath.Join(dir, "flows", name), text)
	}
	f := newFixture(t, dir, nil, func(o *server.Options) { o.Edit = true })
	bound := f.token("lin", store.FlowsRead, store.FlowsWrite, store.RunsWrite, store.RunsRead)
	free := f.token("", store.Admin)
	for _, c := range []struct{ name, step string }{
		{name: "a file", step: "{id: b, call: template, with: {template: !file secret.txt}}"},
		{name: "a flow", step: "{id: b, call: flow, with: {path: secret.yaml}}"},
		{name: "a configuration", step: "{id: b, call: input, with: {config_path: config.json, user_input: hi}}"},
	} {
		text := "name: falls\nsteps:\n  - {id: a, call: template, with: {template: ok}}\n  - " + c.step + "\n"
		run := f.failedRun(bound)
		for name, r := range editedTexts("falls", run, text) {
			got := f.sendText(bound, name, r)
			isAnswer := name == "lint" || name == "preview"
			if isAnswer != (got.status == http.StatusOK) || !isAnswer && got.status != http.StatusUnprocessableEntity || strings.Contains(got.text, "hunter2") {
				t.Errorf("%s, %s: %d %s", c.name, name, got.status, got.text)
			}
		}
	}
	text := "name: falls\nsteps:\n  - {id: a, call: template, with: {template: ok}}\n  - {id: b, call: template, with: {template: !file secret.txt}}\n"
	run := f.failedRun(free)
	for name, r := range editedTexts("falls", run, text) {
		if got := f.sendText(free, name, r); got.status >= http.StatusBadRequest {
			t.Errorf("a token of no user, %s: %d %s", name, got.status, got.text)
		}
	}
}

package server_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/server"
	"github.com/callnode/scheduler/scheduler/server/store"
	"github.com/callnode/scheduler/test/golden"
)

// request is how an endpoint is used in a test. In paths, RUN is a run of lin that is over,
// WAITS one that waits, FAILED one that was cancelled, MEMORY a memory of lin, TOKEN a token.
type request struct {
	path, body string
	// media is the body's media type; "" is JSON.
	media string
	// header is a name and a value.
	header []string
	status int
	// badPath and badBody are the path and the body of a request that is refused with 422; "" if there is none.
	badPath, badBody string
	// shared is true if the endpoint has no data of a user.
	shared bool
}

// requests are the uses of all endpoints by their operation ids.
func requests() map[string]request {
	return map[string]request{
		"get-live":    {path: "/health/live", status: 200, shared: true},
		"get-ready":   {path: "/health/ready", status: 200, shared: true},
		"get-openapi": {path: "/api/v1/openapi.json?flows=1", status: 200, shared: true, badPath: "/api/v1/openapi.json?flows=x"},
		"log-in":      {path: "/api/v1/session", body: `{"token": "TOKEN"}`, status: 204, shared: true, badBody: `{}`},
		"log-out":     {path: "/api/v1/session", status: 204, shared: true},
		"get-me":      {path: "/api/v1/me", status: 200, shared: true},

		"list-flows":      {path: "/api/v1/flows", status: 200, shared: true, badPath: "/api/v1/flows?limit=0"},
		"get-flow":        {path: "/api/v1/flows/sub~wait", status: 200, shared: true},
		"get-graph":       {path: "/api/v1/flows/echo/graph", status: 200, shared: true, badPath: "/api/v1/flows/broken/graph"},
		"get-source":      {path: "/api/v1/flows/echo/source", status: 200, shared: true},
		"put-source":      {path: "/api/v1/flows/edited/source", body: `{"text": "steps: [{id: a, call: template, with: {template: new}}]"}`, header: []string{"If-Match", "*"}, status: 200, shared: true, badBody: `{"text": "steps: [{id: a, call: chta}]"}`},
		"lint-text":       {path: "/api/v1/lint", body: `{"file": "new", "text": "steps: [{id: a, call: chta}]"}`, status: 200, shared: true, badBody: `{"file": "../x", "text": ""}`},
		"preview-prompt":  {path: "/api/v1/preview", body: `{"file": "echo", "text": "name: echo\nsteps: [{id: a, call: chat, with: {user: hi}}]", "run": "RUN"}`, status: 200, badBody: `{"file": "../x", "text": ""}`},
		"get-flow-schema": {path: "/api/v1/flow.schema.json", status: 200, shared: true},

		"start-run":         {path: "/api/v1/runs", body: `{"flow": "echo", "inputs": {"question": "q"}}`, status: 201, shared: true, badBody: `{"flow": "echo", "inputs": {"question": 1}}`},
		"start-run-of-flow": {path: "/api/v1/flows/echo/runs", body: `{"inputs": {"question": "q"}}`, status: 201, shared: true, badBody: `{"labels": {"owner": "bo"}, "inputs": {"question": "q"}}`},
		"list-runs":         {path: "/api/v1/runs", status: 200, shared: true, badPath: "/api/v1/runs?state=over"},
		"count-runs":        {path: "/api/v1/run-hours", status: 200, shared: true, badPath: "/api/v1/run-hours?state=over"},
		"get-run":           {path: "/api/v1/runs/RUN", status: 200},
		"delete-run":        {path: "/api/v1/runs/RUN", status: 204},
		"follow-run":        {path: "/api/v1/runs/RUN/events", status: 200, badPath: "/api/v1/runs/RUN/events?limit=x"},
		"get-step":          {path: "/api/v1/runs/RUN/steps/answer", status: 200},
		"explain-prompts":   {path: "/api/v1/runs/RUN/prompts?step=answer", status: 200},
		"get-run-graph":     {path: "/api/v1/runs/RUN/graph", status: 200},
		"get-files":         {path: "/api/v1/runs/RUN/files", status: 200},
		"answer-run":        {path: "/api/v1/runs/WAITS/answers", body: `{"values": {"city": "Hangzhou"}}`, status: 202, badBody: `{"answers": [{"pointer": "/city", "value": 1}]}`},
		"resume-run":        {path: "/api/v1/runs/FAILED/resume", body: `{}`, status: 202, badBody: `{"flow": {"text": "steps: [{id: a, call: chta}]"}}`},
		"fork-run":          {path: "/api/v1/runs/FAILED/fork", body: `{}`, status: 201, badBody: `{"at": "nope"}`},
		"cancel-run":        {path: "/api/v1/runs/WAITS/cancel", status: 202},
		"list-waiting":      {path: "/api/v1/waiting", status: 200, shared: true, badPath: "/api/v1/waiting?cursor=x"},
		"follow-runs":       {path: "/api/v1/events", status: 200, shared: true},

		"list-calls":        {path: "/api/v1/calls", status: 200, shared: true, badPath: "/api/v1/calls?limit=1000"},
		"get-call":          {path: "/api/v1/calls/chat", status: 200, shared: true},
		"run-call":          {path: "/api/v1/calls/template", body: `{"with": {"template": "x"}}`, status: 200, shared: true, badBody: `{"with": {"tmplate": "x"}}`},
		"list-functions":    {path: "/api/v1/functions", status: 200, shared: true},
		"list-plugins":      {path: "/api/v1/plugins", status: 200, shared: true},
		"construct-in-chat": {path: "/api/modules/smarttavern/in_chat_constructor/construct", body: `{"history": [], "presets_in_chat": [], "world_books": null}`, status: 200, shared: true, badBody: `{"history": []}`},

		"list-memories":     {path: "/api/v1/memory", status: 200, badPath: "/api/v1/memory?user=bo"},
		"add-memory":        {path: "/api/v1/memory", body: `{"content": "tea"}`, status: 201, shared: true, badBody: `{"content": "tea", "user": "bo"}`},
		"get-memory":        {path: "/api/v1/memory/MEMORY", status: 200},
		"delete-memory":     {path: "/api/v1/memory/MEMORY", status: 200},
		"search-memories":   {path: "/api/v1/memory/search", body: `{"query": "tea"}`, status: 200, badBody: `{"query": "tea", "user": "bo"}`},
		"list-snapshots":    {path: "/api/v1/memory/snapshots", status: 200, badPath: "/api/v1/memory/snapshots?user=bo"},
		"make-snapshots":    {path: "/api/v1/memory/snapshots", status: 200, badPath: "/api/v1/memory/snapshots?user=bo"},
		"get-memory-stats":  {path: "/api/v1/memory/stats", status: 200, badPath: "/api/v1/memory/stats?user=bo"},
		"list-memory-users": {path: "/api/v1/memory/users", status: 403, shared: true},
		"export-memories":   {path: "/api/v1/memory/export", status: 200, badPath: "/api/v1/memory/export?user=bo"},
		"import-memories":   {path: "/api/v1/memory/import", body: `{"role": "user", "content": "tea"}`, media: "application/x-ndjson", status: 200, badBody: `{"role": "user"`},

		"list-tests":       {path: "/api/v1/tests", status: 200, shared: true, badPath: "/api/v1/tests?limit=0"},
		"get-test-source":  {path: "/api/v1/tests/source?file=flows/echo.test.yaml", status: 200, shared: true, badPath: "/api/v1/tests/source"},
		"get-test-results": {path: "/api/v1/tests/results?file=flows/echo.test.yaml", status: 200, shared: true, badPath: "/api/v1/tests/results"},
		"run-tests":        {path: "/api/v1/tests/run", body: `{"file": "flows/echo.test.yaml"}`, status: 200, shared: true, badBody: `{"file": "flows/broken.test.yaml"}`},

		"list-schedules":  {path: "/api/v1/schedules", status: 200, shared: true, badPath: "/api/v1/schedules?limit=x"},
		"pause-schedule":  {path: "/api/v1/schedules/timed:mine/pause", status: 200},
		"resume-schedule": {path: "/api/v1/schedules/timed:mine/resume", status: 200},
		"fire-schedule":   {path: "/api/v1/schedules/timed:mine/fire", status: 202},
		"deliver-webhook": {path: "/hooks/timed/open", body: `{"text": "hello"}`, status: 202, shared: true, badBody: `{"text": 1}`},

		"list-tokens":  {path: "/api/v1/tokens", status: 403, shared: true},
		"create-token": {path: "/api/v1/tokens", body: `{"name": "n", "scopes": ["admin"]}`, status: 403, shared: true, badBody: `{"name": "n", "scopes": []}`},
		"revoke-token": {path: "/api/v1/tokens/none", status: 403, shared: true},
		"list-audit":   {path: "/api/v1/audit", status: 403, shared: true},
		"get-metrics":  {path: "/metrics", status: 403, shared: true},
		"list-workers": {path: "/api/v1/workers", status: 403, shared: true, badPath: "/api/v1/workers?limit=0"},

		"list-models":       {path: "/v1/models", status: 200, shared: true},
		"get-model":         {path: "/v1/models/echo", status: 200, shared: true},
		"send-mcp":          {path: "/mcp", body: `{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}`, header: []string{"Accept", "application/json, text/event-stream"}, status: 200, shared: true},
		"follow-mcp":        {path: "/mcp", status: 400, shared: true},
		"end-mcp":           {path: "/mcp", status: 400, shared: true},
		"create-completion": {path: "/v1/chat/completions", body: `{"model": "echo", "messages": [{"role": "user", "content": "hi"}]}`, status: 200, shared: true},
	}
}

// world is a server on which lin has runs and memories.
type world struct {
	*fixture
	lin, bo string
	names   *strings.Replacer
}

func newWorld(t *testing.T) *world {
	f := newFixture(t, t.TempDir(), nil, func(o *server.Options) { o.Edit = true })
	w := &world{fixture: f, lin: f.token("lin", store.Admin), bo: f.token("bo", store.Admin)}
	return w
}

// renew makes lin's things new, for endpoints change them.
func (w *world) renew() {
	w.t.Helper()
	over, waits, failed := w.start(w.lin, "echo", `{"question": "lin's secret"}`), w.start(w.lin, "sub~wait", `{}`), w.start(w.lin, "sub~wait", `{}`)
	if r := w.do(w.lin, "POST", "/api/v1/runs/"+failed+"/cancel", ""); r.status != http.StatusAccepted {
		w.t.Fatal(r.status, r.text)
	}
	memory := w.do(w.lin, "POST", "/api/v1/memory", `{"content": "lin's secret `+over+`"}`)
	w.names = strings.NewReplacer("RUN", over, "WAITS", waits, "FAILED", failed, "MEMORY", memory.at("/id"), "TOKEN", w.lin)
}

// use makes the request of an endpoint.
func (w *world) use(token, method string, r request, path, body string) *reply {
	w.t.Helper()
	headers := r.header
	if r.media != "" {
		headers = append(slices.Clone(headers), "Content-Type", r.media)
	}
	return w.do(token, method, w.names.Replace(path), w.names.Replace(body), headers...)
}

// documented are the patterns of the document's paths, and the statuses of each method below them.
var documented = sync.OnceValues(func() (map[*regexp.Regexp]map[string][]string, error) {
	text, err := os.ReadFile(filepath.Join("testdata", "openapi.json"))
	if err != nil {
		return nil, err
	}
	var doc struct {
		Paths map[string]map[string]struct {
			Responses map[string]any `json:"responses"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	all := map[*regexp.Regexp]map[string][]string{}
	for path, methods := range doc.Paths {
		pattern := regexp.MustCompile(`\{[a-z]+\}`).ReplaceAllString(strings.Replace(path, "{step}", ".+", 1), "[^/]+")
		statuses := map[string][]string{}
		for method, op := range methods {
			statuses[strings.ToUpper(method)] = slices.Collect(maps.Keys(op.Responses))
		}
		all[regexp.MustCompile("^"+pattern+"$")] = statuses
	}
	return all, nil
})

// checkDocumented fails if the document does not have the status of an answer. All tests that make requests call
// it.
func checkDocumented(t testing.TB, method, path string, status int) {
	t.Helper()
	all, err := documented()
	if err != nil {
		t.Fatal(err)
	}
	known := false
	for pattern, statuses := range all {
		if !pattern.MatchString(path) || statuses[method] == nil {
			continue
		}
		if slices.Contains(statuses[method], strconv.Itoa(status)) {
			return
		}
		known = true
	}
	if known {
		t.Errorf("%s %s answers %d, which the document does not have", method, path, status)
	}
}

// operation is an endpoint of the document.
type operation struct {
	id, method, path, scope string
	open                    bool
}

func operations(t *testing.T, doc value.Value) (all []operation) {
	t.Helper()
	paths, _ := doc.Get("paths")
	for path, item := range paths.Map().All() {
		for method, op := range item.Map().All() {
			id, _ := op.Get("operationId")
			scope, _ := op.Get("x-scope")
			_, secured := op.Get("security")
			one := operation{method: strings.ToUpper(method), path: path, open: !secured}
			one.id, _ = id.Str()
			one.scope, _ = scope.Str()
			all = append(all, one)
		}
	}
	return all
}

// TestEndpoints walks the document: every endpoint answers its owner, asks for a token, asks for its scope, shows
// nothing to another user, and names the faults of a request.
func TestEndpoints(t *testing.T) {
	w := newWorld(t)
	w.renew() // read-only ones share lin's things
	all := operations(t, w.do(w.lin, "GET", "/api/v1/openapi.json", "").doc)
	known := requests()
	if len(all) != len(known) {
		t.Errorf("the document has %d operations, the test %d", len(all), len(known))
	}
	isRead := func(op operation) bool { return op.method == http.MethodGet }
	all = slices.Concat(slices.DeleteFunc(slices.Clone(all), func(op operation) bool { return !isRead(op) }), slices.DeleteFunc(all, isRead))
	for _, op := range all {
		r, ok := known[op.id]
		if !ok {
			t.Errorf("the test does not use %s", op.id)
			continue
		}
		t.Run(op.id, func(t *testing.T) {
			w := &world{fixture: &fixture{t: t, base: w.base, store: w.store}, names: w.names}
			w.lin, w.bo = w.token("lin", store.Admin), w.token("bo", store.Admin) // requests of one token are limited
			if !isRead(op) {
				w.renew()
			}
			w.checkDoors(op, r)
			w.checkForeign(op, r)
			w.checkUnknown(op, r)
			w.checkRefusals(op, r)
			if op.id == "follow-runs" { // it has no end; TestFeed reads it
				return
			}
			if got := w.use(w.lin, op.method, r, r.path, r.body); got.status != r.status {
				t.Errorf("its owner gets %d, want %d: %s", got.status, r.status, got.text)
			}
		})
	}
}

// checkDoors holds an endpoint to its scope.
func (w *world) checkDoors(op operation, r request) {
	w.t.Helper()
	if op.open {
		return
	}
	got := w.use("", op.method, r, r.path, r.body)
	if got.status != http.StatusUnauthorized || got.header.Get("WWW-Authenticate") == "" {
		w.t.Errorf("without a token it answers %d %s", got.status, got.text)
	}
	if op.scope == "" {
		return
	}
	others := slices.DeleteFunc(store.Scopes(), func(s store.Scope) bool { return s == store.Scope(op.scope) || s == store.Admin })
	got = w.use(w.token("lin", others...), op.method, r, r.path, r.body)
	if got.status != http.StatusForbidden || !strings.Contains(got.text, op.scope) {
		w.t.Errorf("without the scope it answers %d %s", got.status, got.text)
	}
}

// checkForeign uses an endpoint as another user: lin's data must not show, not even its existence.
func (w *world) checkForeign(op operation, r request) {
	w.t.Helper()
	if op.id == "follow-runs" {
		return
	}
	got := w.use(w.bo, op.method, r, r.path, r.body)
	if strings.Contains(got.text, "lin's secret") || strings.Contains(got.text, `"lin"`) {
		w.t.Errorf("another user sees %s", got.text)
	}
	if r.shared || !strings.Contains(op.path, "{id}") {
		return
	}
	unknown := strings.NewReplacer("RUN", "nope", "WAITS", "nope", "FAILED", "nope", "timed:mine", "timed:none", "MEMORY", "memory_01a205d0-618c-75c1-aa86-fcf351744c4c")
	missing := w.use(w.bo, op.method, r, unknown.Replace(r.path), r.body)
	if got.status != http.StatusNotFound || missing.status != http.StatusNotFound {
		w.t.Errorf("another user gets %d %s, for what does not exist %d %s", got.status, got.text, missing.status, missing.text)
	}
	if got.at("/kind") != missing.at("/kind") || got.at("/hint") != missing.at("/hint") {
		w.t.Errorf("another user can tell\n%s from\n%s", got.text, missing.text)
	}
}

// unknownNames are paths of endpoints that all users share, with names that there are not.
func unknownNames() map[string]string {
	return map[string]string{
		"get-flow": "/api/v1/flows/none", "get-graph": "/api/v1/flows/none/graph", "get-source": "/api/v1/flows/none/source", "put-source": "/api/v1/flows/none/source",
		"start-run-of-flow": "/api/v1/flows/none/runs", "get-call": "/api/v1/calls/none", "run-call": "/api/v1/calls/none", "get-test-source": "/api/v1/tests/source?file=flows/none.test.yaml",
		"get-test-results": "/api/v1/tests/results?file=flows/none.test.yaml",
		"deliver-webhook":  "/hooks/timed/none", "revoke-token": "/api/v1/tokens/none", "get-model": "/v1/models/none",
	}
}

// checkUnknown requests things that do not exist. A variable of a path either names something of a user, for which
// see checkForeign, or is in unknownNames.
func (w *world) checkUnknown(op operation, r request) {
	w.t.Helper()
	path, isKnown := unknownNames()[op.id]
	hasName := strings.Contains(op.path, "{")
	if hasName && r.shared && !isKnown {
		w.t.Errorf("nothing asks %s for a name that there is not", op.id)
	}
	if !isKnown {
		return
	}
	token := w.lin
	if r.status == http.StatusForbidden {
		token = w.token("", store.Admin)
	}
	if got := w.use(token, op.method, r, path, r.body); got.status != http.StatusNotFound || got.at("/detail") == "" {
		w.t.Errorf("a name that there is not gets %d %s", got.status, got.text)
	}
}

// checkRefusals makes wrong requests.
func (w *world) checkRefusals(op operation, r request) {
	w.t.Helper()
	if r.badPath == "" && r.badBody == "" {
		return
	}
	path, body := r.path, r.body
	if r.badPath != "" {
		path = r.badPath
	}
	if r.badBody != "" {
		body = r.badBody
	}
	token := w.lin
	if r.status == http.StatusForbidden {
		token = w.token("", store.Admin)
	}
	got := w.use(token, op.method, r, path, body)
	if got.status != http.StatusUnprocessableEntity || got.header.Get("Content-Type") != "application/problem+json" || got.at("/detail") == "" {
		w.t.Errorf("a wrong request gets %d %s", got.status, got.text)
	}
}

// TestDocument holds the document, and the members that it has with the operations of flows too,
// to golden files, which test/openapi reads with the tools that others use. Run it with -update
// after a change.
func TestDocument(t *testing.T) {
	w := newWorld(t)
	plain := w.do(w.lin, "GET", "/api/v1/openapi.json", "").doc
	golden.Check(t, "testdata/openapi.json", string(plain.AppendIndented(nil, "  "))+"\n")
	flows := newMembers(plain, w.do(w.lin, "GET", "/api/v1/openapi.json?flows=1", "").doc)
	golden.Check(t, "testdata/openapi-flows.json", string(flows.AppendIndented(nil, "  "))+"\n")
}

// newMembers returns the members of a document, down to the named ones below paths and
// components, that another one does not have.
func newMembers(before, after value.Value) value.Value {
	if before.Kind() != value.Object || after.Kind() != value.Object {
		return after
	}
	m := value.NewMap(0)
	for name, is := range after.Map().All() {
		was, ok := before.Get(name)
		if !ok || !value.Equal(was, is) {
			m.Set(name, newMembers(was, is))
		}
	}
	return value.OfMap(m)
}

// TestOperations demands that each operation has an id of its own, a summary and its errors.
func TestOperations(t *testing.T) {
	w := newWorld(t)
	for _, query := range []string{"", "?flows=1"} {
		var doc struct {
			Paths map[string]map[string]struct {
				OperationID string                     `json:"operationId"`
				Summary     string                     `json:"summary"`
				Responses   map[string]json.RawMessage `json:"responses"`
			} `json:"paths"`
		}
		if err := json.Unmarshal([]byte(w.do(w.lin, "GET", "/api/v1/openapi.json"+query, "").text), &doc); err != nil {
			t.Fatal(err)
		}
		ids := map[string]bool{}
		for path, methods := range doc.Paths {
			for method, op := range methods {
				if ids[op.OperationID] || op.OperationID == "" || op.Summary == "" || len(op.Responses) < 2 {
					t.Errorf("%s %s has the id %q (twice: %v), the summary %q, %d answers", method, path, op.OperationID, ids[op.OperationID], op.Summary, len(op.Responses))
				}
				ids[op.OperationID] = true
			}
		}
		if want := len(requests()); query == "" && len(ids) != want || query != "" && (!ids["start-sub-wait"] || ids["start-broken"]) {
			t.Errorf("with %q there are %d operations: %v", query, len(ids), ids)
		}
	}
}

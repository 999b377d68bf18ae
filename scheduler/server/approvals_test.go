package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/callnode/scheduler/scheduler/server/store"
)

const refundFlow = `inputs: {type: object, properties: {question: {type: string}}}
steps:
  - id: refund
    call: template
    with: {template: "{{ vars_amount }} paid", values: {vars_amount: 150}}
    approve: {message: "Refund it?", edit: [/values/vars_amount]BY}
outputs: {reply: "{{ refund.text }}"}
`

// TestApprovalsOverAPI: a decision is one answer; only those who may decide do, the first one counts, and the audit names it.
func TestApprovalsOverAPI(t *testing.T) {
	for name, c := range map[string]struct {
		by, user string
		scopes   []store.Scope
		body     string
		status   int
		has, end string
		audit    string
	}{
		"approved":           {scopes: []store.Scope{store.RunsApprove}, body: `"approve": true`, status: http.StatusAccepted, has: "running", end: "150 paid", audit: "refund=approved"},
		"approved by admin":  {scopes: []store.Scope{store.Admin}, body: `"approve": true`, status: http.StatusAccepted, has: "running", end: "150 paid", audit: "refund=approved"},
		"with a change":      {scopes: []store.Scope{store.RunsApprove}, body: `"approve": true, "edits": {"/values/vars_amount": 20}`, status: http.StatusAccepted, has: "running", end: "20 paid", audit: "refund=approved"},
		"denied":             {scopes: []store.Scope{store.RunsApprove}, body: `"approve": false, "reason": "too much"`, status: http.StatusAccepted, has: "running", end: "denied by a person: too much", audit: "refund=denied"},
		"without the scope":  {body: `"approve": true`, status: http.StatusForbidden, has: "runs:approve"},
		"a bound user":       {user: "lin", scopes: []store.Scope{store.RunsApprove}, body: `"approve": true`, status: http.StatusForbidden, has: "only an operator decides"},
		"the user of a run":  {by: ", by: user", user: "lin", body: `"approve": true`, status: http.StatusAccepted, has: "running", end: "150 paid", audit: "refund=approved"},
		"another place":      {scopes: []store.Scope{store.RunsApprove}, body: `"approve": true, "edits": {"/template": "x"}`, status: http.StatusUnprocessableEntity, has: "may not be changed"},
		"a place as well":    {scopes: []store.Scope{store.RunsApprove}, body: `"approve": true, "pointer": "/approved"`, status: http.StatusUnprocessableEntity, has: "leave one out"},
		"only a reason":      {scopes: []store.Scope{store.RunsApprove}, body: `"reason": "x"`, status: http.StatusUnprocessableEntity, has: "approve: true or false"},
		"a change of a deny": {scopes: []store.Scope{store.RunsApprove}, body: `"approve": false, "edits": {"/values/vars_amount": 20}`, status: http.StatusUnprocessableEntity, has: "a denial changes no parameters"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := serveFlow(t, strings.ReplaceAll(refundFlow, "BY", c.by), nil)
			token := f.token(c.user, append(c.scopes, store.RunsRead, store.RunsWrite)...)
			run := f.do(token, "POST", "/api/v1/runs", `{"flow": "ends", "inputs": {}}`).at("/run")
			path := "/api/v1/runs/" + run
			f.eventually("the question", func() bool { return f.do(token, "GET", path, "").at("/state") == "waiting" })
			r := f.do(token, "POST", path+"/answers", `{"answers": [{"step": "refund", `+c.body+`}]}`)
			if r.status != c.status || !strings.Contains(r.text, c.has) {
				t.Fatalf("got %d %s, want %d %q", r.status, r.text, c.status, c.has)
			}
			if c.end == "" {
				if state := f.do(token, "GET", path, "").at("/state"); state != "waiting" {
					t.Errorf("a refused decision: the run is %s", state)
				}
				return
			}
			f.eventually("the end", func() bool { return strings.Contains(f.do(token, "GET", path, "").text, c.end) })
			late := f.do(token, "POST", path+"/answers", `{"answers": [{"step": "refund", "approve": true}]}`)
			if late.status != http.StatusConflict || !strings.Contains(late.text, "is decided") {
				t.Errorf("a second decision: %d %s", late.status, late.text)
			}
			admin := f.token("", store.Admin)
			f.eventually("the audit", func() bool { return strings.Contains(f.do(admin, "GET", "/api/v1/audit", "").text, c.audit) })
		})
	}
}

package flow_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/scheduler/flow"
)

// TestLintApprovals: conditions, messages and places to edit are checked against the parameters of the call, for steps and for tools.
func TestLintApprovals(t *testing.T) {
	registry, err := calls.NewRegistry(builtin.Calls()...)
	if err != nil {
		t.Fatal(err)
	}
	step := func(approve string) string {
		return `{id: a, call: http, with: {url: "https://shop.example/refunds", body: {n: 1}}, approve: ` + approve + `}`
	}
	tool := func(approve string) string {
		return `{id: a, call: agent, with: {prompt: x, tools: {http: [{name: refund, with: {url: "https://shop.example/refunds"}, approve: ` + approve + `}]}}}`
	}
	tests := []struct{ name, step, want string }{
		{name: "true", step: step(`true`)},
		{name: "a whole rule", step: step(`{when: "{{ params.body.n > 100 and inputs.order == 'x' }}", message: "{{ params.url }}", edit: [/body/n, /url], by: user, timeout: 24h, on_deny: continue}`)},
		{name: "an input", step: step(`{when: "{{ inputs.ordre == 'x' }}"}`), want: `there is no input "ordre" (did you mean "order"?)`},
		{name: "a parameter", step: step(`{when: "{{ params.bodi }}"}`), want: `params has no "bodi"`},
		{name: "sources", step: step(`{message: "{{ seen }}"}`), want: `unknown name "seen"`},
		{name: "a place", step: step(`{edit: [/boddy]}`), want: `edit: http has no parameter "/boddy" (did you mean "body"?)`},
		{name: "no pointer", step: step(`{edit: [params.body]}`), want: `edit: "params.body" is not a JSON pointer (write /body)`},
		{name: "who", step: step(`{by: anybody}`), want: `by is operator or user, not "anybody"`},
		{name: "a word", step: step(`always`), want: `approve must be true or a map of keys, not the text "always"`},
		{name: "a text around", step: step(`{when: "big {{ params.url }}"}`), want: `when must be one {{ expression }}`},
		{name: "a time", step: step(`{timeout: soon}`), want: `timeout`},
		{name: "a key", step: step(`{whenn: true}`), want: `unknown key "whenn" in approve (did you mean "when"?)`},
		{name: "its own output", step: step(`{message: "{{ a.status }}"}`), want: `cannot see its own output`},
		{name: "no effects", step: `{id: a, call: template, with: {template: Hi}, approve: true}`, want: `approve: template has no effects that a person could decide about`},
		{name: "params elsewhere", step: `{id: a, call: template, with: {template: "{{ params.x }}"}}`, want: `params`},
		{name: "a denial that goes on", step: step(`{on_deny: continue}`) + `, {id: b, call: template, with: {template: Hi}, when: "{{ a.error.kind == 'denied' }}"}`},
		{name: "a tool", step: tool(`true`)},
		{name: "a rule of a tool", step: tool(`{when: "{{ params.body.n > 5 }}", edit: [/body/n], message: "{{ question }}"}`)},
		{name: "a parameter of a tool", step: tool(`{when: "{{ params.bodi }}"}`), want: `params has no "bodi"`},
		{name: "a place of a tool", step: tool(`{edit: [/bodi]}`), want: `edit: http has no parameter "/bodi"`},
		{name: "a key of a tool", step: tool(`{on_deny: continue}`), want: `approve`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			loader := &flow.Loader{Registry: registry}
			f, problems := loader.Parse(filepath.Join(t.TempDir(), "f.yaml"), []byte("inputs: {type: object, properties: {order: {type: string}}}\nsteps: ["+tt.step+"]\n"))
			told := ""
			for _, p := range problems {
				told += p.String() + "\n"
			}
			if tt.want == "" && told != "" || !strings.Contains(told, tt.want) {
				t.Errorf("it tells %q, want %q", told, tt.want)
			}
			if isGood := tt.want == "" && strings.Contains(tt.step, "approve"); isGood && !f.CanWait {
				t.Error("a run of it cannot wait")
			}
		})
	}
}

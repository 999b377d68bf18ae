package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/agent"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

// actor is a call with effects: it keeps the parameters of each use, and the idempotency keys.
type actor struct{ used, keys []string }

func (a *actor) definition() calls.Definition {
	return schedulertest.Do("act", func(_ context.Context, env *calls.Env, params value.Value) (any, error) {
		a.used, a.keys = append(a.used, params.JSON()), append(a.keys, env.IdempotencyKey())
		if fail, _ := params.Get("fail"); !fail.IsNull() && len(a.used) == 1 {
			return nil, calls.Errorf(calls.Invalid, "the first use fails")
		}
		return value.OfMap(value.Pairs("done", true)), nil
	})
}

var operator = scheduler.Decider{Name: "op", IsOperator: true}

// decide returns the answers of a decision about a step.
func decide(by scheduler.Decider, step string, approved bool, places ...any) scheduler.Resumption {
	answers := []scheduler.Answer{{Step: step, Pointer: journal.ApprovedPlace, Value: value.OfBool(approved), By: by}}
	for i := 0; i < len(places); i += 2 {
		answers = append(answers, scheduler.Answer{Step: step, Pointer: places[i].(string), Value: value.Must(places[i+1]), By: by})
	}
	return scheduler.Resumption{Answers: answers}
}

// TestApproval walks the ways of a step that a person has to approve.
func TestApproval(t *testing.T) {
	const inputs = `inputs: {type: object, properties: {amount: {type: number, default: 150}}}` + "\n"
	step := func(approve string) string {
		return inputs + `steps: [{id: pay, call: act, with: {body: {amount: "{{ inputs.amount }}", to: "Mei"}, key: "{{ secrets.KEY }}"}, approve: ` + approve + `}]`
	}
	const paid = `{"body":{"amount":150,"to":"Mei"},"key":"s3cret"}`
	user := scheduler.Decider{Name: "mei", IsUser: true}
	edits := func(pointer string, v any) []any { return []any{journal.EditsPlace, map[string]any{pointer: v}} }
	tests := []struct {
		name, approve string
		with          *scheduler.Resumption
		used          string // the parameters of the use; "" for none
		kind          calls.Kind
		output        string
		message       string
	}{
		{name: "no decision", approve: `true`, message: "May the step pay run act?"},
		{name: "its message", approve: `{message: "Pay {{ params.body.amount }} to {{ params.body.to }} ({{ params.key }})?"}`, message: "Pay 150 to Mei (***)?"},
		{name: "approved", approve: `true`, with: new(decide(operator, "pay", true)), used: paid, output: `{"done":true}`},
		{name: "the condition is false", approve: `{when: "{{ params.body.amount > 200 }}"}`, used: paid, output: `{"done":true}`},
		{name: "the condition is true", approve: `{when: "{{ params.body.amount > 100 and inputs.amount == 150 }}"}`, message: "May the step pay run act?"},
		{name: "denied", approve: `true`, with: new(decide(operator, "pay", false, journal.ReasonPlace, "too much")), kind: calls.Denied},
		{name: "denied, and the flow goes on", approve: `{on_deny: continue}`, with: new(decide(operator, "pay", false, journal.ReasonPlace, "too much")),
			output: `{"error":{"kind":"denied","message":"denied by a person: too much"}}`},
		{name: "changed", approve: `{edit: [/body/amount]}`, with: new(decide(operator, "pay", true, edits("/body/amount", 99)...)),
			used: `{"body":{"amount":99,"to":"Mei"},"key":"s3cret"}`, output: `{"done":true}`},
		{name: "changed elsewhere", approve: `{edit: [/body/amount]}`, with: new(decide(operator, "pay", true, edits("/body/to", "me")...)), kind: calls.Invalid},
		{name: "a change with a secret", approve: `{edit: [/body/to]}`, with: new(decide(operator, "pay", true, edits("/body/to", "s3cret")...)), kind: calls.Invalid},
		{name: "a denial with a change", approve: `{edit: [/body/amount]}`, with: new(decide(operator, "pay", false, edits("/body/amount", 99)...)), kind: calls.Invalid},
		{name: "the user may not", approve: `true`, with: new(decide(user, "pay", true)), kind: calls.Denied},
		{name: "the user may", approve: `{by: user}`, with: new(decide(user, "pay", true)), used: paid, output: `{"done":true}`},
		{name: "somebody unknown", approve: `{by: user}`, with: new(decide(scheduler.Decider{}, "pay", true)), kind: calls.Denied},
		{name: "yes in words", approve: `true`, with: &scheduler.Resumption{Answers: []scheduler.Answer{{Message: "是", By: operator}}}, used: paid, output: `{"done":true}`},
		{name: "no in words", approve: `true`, with: &scheduler.Resumption{Answers: []scheduler.Answer{{Message: "No, it is too much.", By: operator}}}, kind: calls.Denied},
		{name: "yes, but", approve: `true`, with: &scheduler.Resumption{Answers: []scheduler.Answer{{Message: "yes, if it is below 100", By: operator}}}, kind: calls.Invalid},
		{name: "too late", approve: `{timeout: 1ns}`, with: new(decide(operator, "pay", true)), kind: calls.Canceled},
		{name: "denied by the clock", approve: `{timeout: 1ns}`, with: &scheduler.Resumption{}, kind: calls.Denied},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := &actor{}
			r := schedulertest.Run(t, step(tt.approve), journaled(t), schedulertest.With(a.definition()), schedulertest.Secret("KEY", "s3cret"),
				schedulertest.Executor(func(e *scheduler.StepExecutor) { e.Stopwatch = time.Now }))
			if tt.message != "" {
				waiting := r.State().Waiting
				if len(waiting) != 1 || waiting[0].Approval == nil || waiting[0].Approval.Message != tt.message || len(a.used) > 0 {
					t.Errorf("it waits for %+v, used %v: %v", waiting, a.used, r.Err)
				}
			}
			if tt.with != nil {
				r = r.Resume(*tt.with)
			}
			if got := strings.Join(a.used, " "); got != tt.used {
				t.Errorf("it ran with %s, want %s: %v", got, tt.used, r.Err)
			}
			if kind := kindOfEnd(r.Err); tt.with != nil && kind != tt.kind {
				t.Errorf("it ended with %q, want %q: %v", kind, tt.kind, r.Err)
			}
			if strings.Contains(r.Log(), "s3cret") {
				t.Error("a secret is in the events")
			}
			if st := r.State().Step("pay"); tt.output != "" && (st == nil || st.Output.JSON() != tt.output) {
				t.Errorf("its output is not %s: %v", tt.output, r.Err)
			}
		})
	}
}

// kindOfEnd returns the kind of the error of a run; "" for none.
func kindOfEnd(err error) calls.Kind {
	var failure *scheduler.Failure
	switch {
	case err == nil:
		return ""
	case errors.As(err, &failure):
		return failure.Info.Kind
	}
	return calls.KindOf(err)
}

// TestApprovalOfSettings: a flow cannot take an approval of the settings away, and the stricter of two rules says who decides.
func TestApprovalOfSettings(t *testing.T) {
	parse := func(call, when, by string) flow.CallApproval {
		a, err := flow.ParseCallApproval(call, when, by)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	tests := []struct {
		name, approve string
		settings      flow.CallApproval
		by            string // "" for no approval
	}{
		{name: "of the name", approve: "false", settings: parse("act", "", ""), by: journal.ByOperator},
		{name: "of a pattern", approve: "false", settings: parse("a*", "", "user"), by: journal.ByUser},
		{name: "the stricter", approve: "{by: user}", settings: parse("*", "", "operator"), by: journal.ByOperator},
		{name: "only the flow's", approve: "{by: user}", settings: parse("act", "{{ params.n > 5 }}", "operator"), by: journal.ByUser},
		{name: "of another call", approve: "false", settings: parse("other", "", "")},
		{name: "a condition that is false", approve: "false", settings: parse("act", "{{ params.n > 5 }}", "")},
		{name: "a condition that is true", approve: "{when: '{{ false }}'}", settings: parse("act", "{{ params.n < 5 and inputs.x is undefined }}", ""), by: journal.ByOperator},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := &actor{}
			r := schedulertest.Run(t, "steps: [{id: pay, call: act, with: {n: 1}, approve: "+tt.approve+"}]", journaled(t), schedulertest.With(a.definition()),
				schedulertest.Executor(func(e *scheduler.StepExecutor) { e.Approvals = []flow.CallApproval{tt.settings} }))
			waiting := r.State().Waiting
			isAsked := len(waiting) == 1 && waiting[0].Approval.By == tt.by
			if wants := tt.by != ""; wants && (!isAsked || len(a.used) > 0) || !wants && len(a.used) != 1 {
				t.Errorf("it waits for %+v and ran %d times: %v", waiting, len(a.used), r.Err)
			}
		})
	}
}

// TestApprovalsTogether: steps that need no approval run first, and all approvals and missing values are listed together; what is decided stays so.
func TestApprovalsTogether(t *testing.T) {
	a := &actor{}
	r := schedulertest.Run(t, `
steps:
  - {id: one, call: act, needs: [], with: {n: 1}, approve: true}
  - {id: two, call: act, needs: [], for_each: [7, 8], with: {n: "{{ item }}"}, approve: {when: "{{ params.n == 8 }}"}}
  - {id: three, call: act, needs: [], with: {n: 3}}
`, journaled(t), schedulertest.With(a.definition()))
	var steps []string
	for _, w := range r.State().Waiting {
		steps = append(steps, w.Step)
	}
	if got := strings.Join(steps, " "); got != "one two[1]" && got != "two[1] one" || len(a.used) != 2 {
		t.Fatalf("it waits for %s, and ran %v", got, a.used)
	}
	r = r.Resume(decide(operator, "one", true))
	if len(a.used) != 3 || len(r.State().Waiting) != 1 {
		t.Errorf("it ran %v: %v", a.used, r.Err)
	}
	again := r.Resume(decide(scheduler.Decider{Name: "other", IsOperator: true}, "one", false))
	var decided *scheduler.DecidedError
	if !errors.As(again.Err, &decided) || decided.Decision.By != "op" || !decided.Decision.Approved {
		t.Errorf("a second person reads %v", again.Err)
	}
	r = r.Resume(decide(operator, "two[1]", true))
	if r.Err != nil || len(a.used) != 4 || a.keys[3] != "run-1/two[1]" {
		t.Errorf("it ran %v with %v: %v", a.used, a.keys, r.Err)
	}
}

// TestApprovedIsRun: whatever a template gives the next time it is rendered, in another process, after a crash or with an edited flow, the call
// runs with the parameters that a person saw, with their changes, or it asks again.
func TestApprovedIsRun(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := 0
		amount := rapid.IntRange(0, 1000).Draw(rt, "amount")
		hasSecret, isEdited := rapid.Bool().Draw(rt, "has a secret"), rapid.Bool().Draw(rt, "edited")
		fails, changesFlow := rapid.Bool().Draw(rt, "fails first"), rapid.Bool().Draw(rt, "another flow")
		with := fmt.Sprintf(`n: "{{ vars.x }}", amount: %d`, amount)
		if hasSecret {
			with += `, key: "{{ secrets.KEY }}"`
		}
		if fails {
			with += `, fail: 1`
		}
		text := "steps:\n  - {id: pay, call: act, with: {" + with + "}, approve: {edit: [/amount]}}\n  - {id: after, call: act, with: {n: last}}\n"
		a := &actor{}
		r := schedulertest.Run(t, text, journaled(t), schedulertest.With(a.definition()), schedulertest.Secret("KEY", "s3cret"), schedulertest.Resolver(counting{&n}, "x"))
		seen := approvalOf(rt, r)
		want := seen.Params
		with2 := decide(operator, "pay", true)
		if isEdited {
			with2 = decide(operator, "pay", true, journal.EditsPlace, map[string]any{"/amount": amount + 1})
			want = editedParams(rt, want, amount+1)
		}
		if changesFlow {
			r = r.Resume(scheduler.Resumption{Flow: schedulertest.Load(t, strings.Replace(text, "n: last", "n: other", 1), schedulertest.With(a.definition()), schedulertest.Secret("KEY", "s3cret"), schedulertest.Resolver(counting{&n}, "x"))})
		}
		r = r.Resume(with2)
		shown := func(used string) string { return strings.ReplaceAll(used, "s3cret", "***") }
		if len(a.used) == 0 || shown(a.used[0]) != want.JSON() {
			rt.Fatalf("a person saw %s, and it ran with %v: %v", want.JSON(), a.used, r.Err)
		}
		if !fails {
			if r.Err != nil {
				rt.Fatal(r.Err)
			}
			return
		}
		r = r.Resume(scheduler.Resumption{}) // its parameters are found again, and are others
		again := approvalOf(rt, r)
		if len(a.used) != 1 || again.Digest == seen.Digest {
			rt.Fatalf("it ran with %v, and nobody has seen that", a.used)
		}
	})
}

// approvalOf returns the approval that a run waits for.
func approvalOf(t *rapid.T, r *schedulertest.Result) *journal.Approval {
	waiting := r.State().Waiting
	if len(waiting) != 1 || waiting[0].Approval == nil {
		t.Fatalf("it waits for %v: %v", waiting, r.Err)
	}
	return waiting[0].Approval
}

func editedParams(t *rapid.T, params value.Value, amount int) value.Value {
	changed, err := (&journal.Decision{Edits: value.Must(map[string]any{"/amount": amount})}).Edit(params)
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

// TestApprovalTime: the timeout of a step does not run while it waits, and that of its approval is told.
func TestApprovalTime(t *testing.T) {
	a := &actor{}
	r := schedulertest.Run(t, `steps: [{id: pay, call: act, timeout: 1h, approve: {timeout: 24h}}]`, journaled(t), schedulertest.With(a.definition()))
	approval := r.State().Waiting[0].Approval
	if left := time.Until(approval.Until); approval.Until.IsZero() || left > 24*time.Hour {
		t.Errorf("it waits until %s", approval.Until)
	}
	if again := r.Resume(scheduler.Resumption{}); !errors.As(again.Err, new(*scheduler.Waiting)) {
		t.Errorf("without a decision: %v", again.Err)
	}
}

// toolsAtOnce is a model that uses several tools in its first round, and tells their results in the second.
type toolsAtOnce struct{ uses []llm.ToolCallDelta }

func (m toolsAtOnce) Chat(_ context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		var told []string
		for _, raw := range req.Messages {
			message, err := value.ParseJSON(raw)
			if err != nil {
				yield(llm.Delta{}, err)
				return
			}
			role, _ := message.Get("role")
			content, _ := message.Get("content")
			if role.PlainText() == "tool" {
				told = append(told, content.PlainText())
			}
		}
		if told == nil {
			yield(llm.Delta{ToolCalls: m.uses}, nil)
			return
		}
		yield(llm.Delta{Text: strings.Join(told, " | ")}, nil)
	}
}

// TestApprovalOfTools: in a round of an agent the tools that need no approval run at once, those that need one are asked for together, and a
// denial is the result of the tool.
func TestApprovalOfTools(t *testing.T) {
	a := &actor{}
	model := toolsAtOnce{[]llm.ToolCallDelta{
		{Index: 0, ID: "1", Name: "pay", Arguments: `{"n": 50}`}, {Index: 1, ID: "2", Name: "act", Arguments: `{"n": 1}`}, {Index: 2, ID: "3", Name: "pay", Arguments: `{"n": 70}`},
	}}
	r := schedulertest.Run(t, `
steps:
  - id: clerk
    call: agent
    with:
      prompt: x
      tools:
        calls:
          - {call: act, parameters: {properties: {n: {type: integer}}}}
          - {call: act, name: pay, parameters: {properties: {n: {type: integer}}}, with: {to: Mei}, approve: {message: "Pay {{ params.n }} to {{ params.to }}?", edit: [/n], when: "{{ params.n >= 50 }}"}}
outputs: {text: "{{ clerk.text }}"}
`, journaled(t), schedulertest.With(a.definition(), agent.Definition()), schedulertest.LLM(model))
	waiting := r.State().Waiting
	if len(waiting) != 2 || waiting[0].Step != "clerk/pay-1" || waiting[1].Approval.Message != "Pay 70 to Mei?" || strings.Join(a.used, " ") != `{"n":1}` {
		t.Fatalf("it waits for %v, and used %v: %v", waiting, a.used, r.Err)
	}
	with := decide(operator, "clerk/pay-1", true, journal.EditsPlace, map[string]any{"/n": 49})
	with.Answers = append(with.Answers, decide(operator, "clerk/pay-2", false, journal.ReasonPlace, "not again").Answers...)
	r = r.Resume(with)
	text, _ := r.State().Outputs.Get("text")
	if r.Err != nil || text.PlainText() != `{"done":true} | {"done":true} | denied by a person: not again` {
		t.Errorf("it says %s: %v", text.PlainText(), r.Err)
	}
	if got := strings.Join(a.used, " "); got != `{"n":1} {"n":49,"to":"Mei"}` {
		t.Errorf("it used %s", got)
	}
	if len(r.State().Warnings) > 0 {
		t.Errorf("a denial is a warning: %v", r.State().Warnings)
	}
}

package scheduler_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/flow"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/calls/slot"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

// counting gives variables a higher number each time.
type counting struct{ n *int }

func (c counting) Resolve(_ context.Context, _ plugins.State, names []string) (map[string]json.RawMessage, error) {
	*c.n++
	return map[string]json.RawMessage{names[0]: json.RawMessage(strconv.Itoa(*c.n))}, nil
}

// TestFillingOfSecrets: a step's known values are restored with their secrets, and dates are read with slot's
// knowledge of them.
func TestFillingOfSecrets(t *testing.T) {
	narrow := schedulertest.Do("narrow", func(_ context.Context, _ *calls.Env, params value.Value) (any, error) { return params, nil })
	narrow.ParamsFor = func(_ context.Context, _ *calls.Env, known value.Value) (*schema.Schema, error) {
		if _, ok := known.Get("broken"); ok {
			return nil, calls.Errorf(calls.NotFound, "there is no such operation")
		}
		doc, err := value.ParseJSON([]byte(`{"type": "object", "required": ["day"], "properties": {
			"day": {"type": "string", "format": "date"}, "auth": {"type": "array"}}}`))
		if err != nil {
			return nil, err
		}
		return schema.Parse(doc)
	}
	const text = `
steps:
  - {id: a, call: narrow, enable_filling: true, with: {auth: [{key: "Bearer {{ secrets.KEY }}"}], n: 1}}
  - {id: b, call: unlock, with: {key: "{{ secrets.KEY }}"}}
`
	clear := ""
	look := schedulertest.Do("unlock", func(_ context.Context, env *calls.Env, _ value.Value) (any, error) {
		clear = env.Vars.History()[0].Output.JSON()
		return emptyValue, nil
	})
	r := schedulertest.Run(t, text, journaled(t), schedulertest.With(narrow, look, slot.Definition()), schedulertest.Secret("KEY", "s3cret"))
	wrong := r.Resume(scheduler.Resumption{}, "/day=no day at all")
	if calls.KindOf(wrong.Err) != calls.Invalid || len(wrong.Events) > 0 {
		t.Errorf("a wrong day is taken: %v\n%s", wrong.Err, wrong.Log())
	}
	r = wrong.Resume(scheduler.Resumption{}, "/day=tomorrow")
	if r.Err != nil || clear != `{"auth":[{"key":"Bearer s3cret"}],"n":1,"day":"2026-03-06"}` {
		t.Errorf("%v, %s", r.Err, clear)
	}
	if strings.Contains(r.Log(), "s3cret") {
		t.Error("a secret is in the events")
	}
	edited := strings.Replace(text, "secrets.KEY }}\"}]", "secrets.KEY }}!\"}], broken: 1", 1)
	r = schedulertest.Run(t, edited, schedulertest.With(narrow, look, slot.Definition()), schedulertest.Secret("KEY", "s3cret"))
	if calls.KindOf(r.Err) != calls.NotFound {
		t.Errorf("an unknown operation: %v", r.Err)
	}
}

// TestLostSecrets: known values whose source text has changed cannot be restored.
func TestLostSecrets(t *testing.T) {
	n := 0
	r := schedulertest.Run(t, `
steps: [{id: b, call: slot, with: {data: {key: "{{ vars.x }} {{ secrets.KEY }}"}, stages: [], current_schema: {type: object, required: [n]}}}]
`, journaled(t), schedulertest.With(slot.Definition()), schedulertest.Secret("KEY", "s3cret"), schedulertest.Resolver(counting{&n}, "x"))
	r = r.Resume(scheduler.Resumption{}, "/n=1")
	if calls.KindOf(r.Err) != calls.Invalid || !strings.Contains(r.Err.Error(), "the journal does not keep secrets") {
		t.Errorf("%v\n%s", r.Err, r.Log())
	}
}

// TestMaskedInputs: inputs that hold a secret cannot be used after a resume, nor
// can outputs in history and in the outputs of a flow inside; all is said.
func TestMaskedInputs(t *testing.T) {
	for name, test := range map[string]struct{ flow, err string }{
		"inputs":   {`steps: [{id: a, call: echo, with: {k: "{{ secrets.KEY }}"}}, {id: b, call: once, with: {x: "{{ inputs.note }}"}}, {id: c, call: echo, with: {x: "{{ inputs.other }}"}}]`, `a secret stood in inputs at "/note"`},
		"another":  {`steps: [{id: a, call: echo, with: {k: "{{ secrets.KEY }}"}}, {id: b, call: once, with: {x: "{{ inputs.other }}"}}]`, ""},
		"question": {`steps: [{id: a, call: echo, with: {k: "{{ secrets.KEY }}"}}, {id: b, call: once, with: {x: "{{ question }}"}}]`, "a secret stood in question"},
		"outputs":  {"steps: [{id: a, call: echo, with: {k: \"{{ secrets.KEY }}\"}}, {id: b, call: once}]\noutputs: {k: \"{{ a.k }}\"}", ""},
		"items":    {`steps: [{id: a, call: once, for_each: [1, 2], max_parallel: 1, with: {k: "{{ secrets.KEY }}"}}, {id: b, call: echo, with: {x: "{{ a[0].k }}"}}]`, `a secret stood in a at "/0/k"`},
		"inside": {`
steps: [{id: o, call: flow, with: {path: inner.yaml}}]
-- inner.yaml --
steps: [{id: a, call: echo, with: {k: "{{ secrets.KEY }}"}}, {id: b, call: once, needs: [], with: {wait: "{{ 1 }}"}}]
`, `a secret stood in a at "/k"`},
	} {
		t.Run(name, func(t *testing.T) {
			r := schedulertest.Run(t, "inputs: {type: object}\n"+test.flow, journaled(t), schedulertest.With(failOnce(), flow.Definition()),
				schedulertest.Secret("KEY", "s3cret"), schedulertest.Executor(func(e *scheduler.StepExecutor) { e.MaxParallel = 1 }),
				schedulertest.Inputs(`{"note": "my s3cret", "question": "what is s3cret?", "other": 1}`))
			for range 3 {
				if r.Err == nil || calls.KindOf(r.Err) == calls.Invalid {
					break
				}
				r = r.Resume(scheduler.Resumption{})
			}
			switch {
			case test.err == "" && r.Err != nil, test.err != "" && (r.Err == nil || !strings.Contains(r.Err.Error(), test.err)):
				t.Errorf("%v, want %q\n%s", r.Err, test.err, r.Log())
			case strings.Contains(r.Log(), "s3cret"):
				t.Errorf("a secret is in the events\n%s", r.Log())
			}
		})
	}
}

// TestSecretFoundBeforeQuestion: a secret that the model has found before the run asked for another value is asked for again, for the
// journal does not keep it; with all values in one answer the run continues.
func TestSecretFoundBeforeQuestion(t *testing.T) {
	const text = `
steps:
  - {id: a, call: echo, with: {k: "{{ secrets.KEY }}"}}
  - id: b
    call: slot
    with:
      stages: [llm]
      current_schema: {type: object, required: [REQUIRED], properties: {key: {type: string}, n: {type: integer}}}
`
	for name, c := range map[string]struct {
		required string
		answers  [][]string
		err      string
	}{
		"asked again":         {"key, n", [][]string{{"/n=1"}, {"/key=s3cret"}}, ""},
		"another secret":      {"key, n", [][]string{{"/n=1"}, {"/key=open"}}, ""},
		"no one would ask it": {"n", [][]string{{"/n=1"}}, "the journal does not keep secrets"},
	} {
		t.Run(name, func(t *testing.T) {
			model := scripted.Texts(`{"/key": "s3cret"}`)
			r := schedulertest.Run(t, strings.Replace(text, "REQUIRED", c.required, 1), journaled(t), schedulertest.With(slot.Definition()), schedulertest.Secret("KEY", "s3cret"),
				schedulertest.Executor(func(e *scheduler.StepExecutor) { e.Env.LLM = model }))
			for i, answers := range c.answers {
				var waiting *scheduler.Waiting
				if !errors.As(r.Err, &waiting) {
					t.Fatalf("before answer %d: %v", i+1, r.Err)
				}
				r = r.Resume(scheduler.Resumption{}, answers...)
			}
			isWrong := c.err == "" && r.Err != nil || c.err != "" && (r.Err == nil || !strings.Contains(r.Err.Error(), c.err))
			if isWrong || strings.Contains(r.Log(), "s3cret") {
				t.Errorf("%v\n%s", r.Err, r.Log())
			}
		})
	}
}

package flowtest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/scheduler/flowtest/result"
)

// The scripted answer that a step gets does not depend on which step is faster: steps that may run side by side
// have lists of their own, or nothing is decided.
func TestScriptsOfStepsSideBySide(t *testing.T) {
	archive := `
-- a.yaml --
name: a
inputs: {type: object, properties: {do: {type: string, default: two}}}
steps:
  - {id: plan, call: chat, with: {user: plan}}
  - {id: left, needs: [plan], when: "{{ inputs.do != 'each' }}", call: chat, with: {user: left}}
  - {id: right, needs: [plan], when: "{{ inputs.do != 'each' }}", call: flow, with: {path: inner.yaml}}
  - {id: each, needs: [plan], when: "{{ inputs.do == 'each' }}", for_each: [1, 2, 3], call: chat, with: {user: "item {{ item }}"}}
  - {id: last, needs: [left, right, each], call: chat, with: {user: last}}
outputs: {text: "{{ plan.text }} {% if inputs.do == 'two' %}{{ left.text }} {{ right.said }} {% endif %}{{ last.text }}"}
-- inner.yaml --
steps: [{id: k, call: chat, with: {user: right}}]
outputs: {said: "{{ k.text }}"}
-- a.test.yaml --
cases:
  - {name: one list, llm: [p, l, r, z], expect: [{output: text, equals: "p l r z"}]}
  - {name: alike, llm: [p, l, l, z], expect: [{output: text, equals: p l l z}]}
  - {name: by step, llm: {plan: [p], left: [l], right: [r], last: [z]}, expect: [{output: text, equals: "p l r z"}]}
  - {name: by inner step, llm: {plan: [p], left: [l], right/k: [r], last: [z]}, expect: [{output: text, equals: "p l r z"}]}
  - {name: one missing, llm: {plan: [p], left: [l], last: [z]}, expect: [{output: text, equals: "p l r z"}]}
  - {name: one too many, llm: {plan: [p], left: [l, m], right: [r], last: [z]}, expect: [{output: text, equals: "p l r z"}]}
  - {name: one too few, llm: {plan: [p], left: [], right: [r], last: [z]}, expect: [{output: text, equals: "p l r z"}]}
  - {name: items, inputs: {do: each}, llm: [p, a, b, c, z], expect: [{output: text, starts_with: p}]}
  - {name: items by number, inputs: {do: each}, llm: {plan: [p], "each[0]": [a], "each[1]": [b], each: [c], last: [z]}, expect: [{step: "each[1].text", equals: b}, {step: "each[2].text", equals: c}]}
`
	first := newWorld(t, nil).runArchive(t, archive)
	want := map[string]result.Outcome{
		"one list": result.Error, "alike": result.Pass, "by step": result.Pass, "by inner step": result.Pass, "one missing": result.Error,
		"one too many": result.Error, "one too few": result.Error, "items": result.Error, "items by number": result.Pass,
	}
	if diff := cmp.Diff(want, outcomes(first)); diff != "" {
		t.Error(diff, lines(t, first))
	}
	for name, message := range map[string]string{
		"one list":     "the steps left and right/k may run side by side",
		"one missing":  "llm has no answers for the step right/k",
		"one too many": "the step left asked for 1 of its 2 answers in llm",
		"one too few":  "the step left asks a model 1 times, and llm has 0 answers for it",
		"items":        "the steps each[0] and each[1] may run side by side",
	} {
		c := caseOf(t, first, name)
		problem := c.Problem
		if problem == nil {
			problem = c.Repeats[0].Problem
		}
		if problem == nil || !strings.Contains(problem.Message, message) {
			t.Errorf("%s: the problem is %v", name, problem)
		}
	}
	for range 5 {
		again := newWorld(t, nil).runArchive(t, archive)
		for _, name := range []string{"one list", "items"} {
			if diff := cmp.Diff(caseOf(t, first, name).Repeats[0].Problem, caseOf(t, again, name).Repeats[0].Problem); diff != "" {
				t.Fatal(diff)
			}
		}
	}
}

// Steps of a flow that a tool runs are side by side, or wait for each other, like the steps of any flow; if the
// flow is known only during the run, they count as side by side.
func TestScriptsOfToolsSideBySide(t *testing.T) {
	r := newWorld(t, nil).runArchive(t, `
-- a.yaml --
name: a
inputs: {type: object, properties: {path: {type: string, default: beside.yaml}}}
steps:
  - id: clerk
    when: "{{ inputs.path == 'beside.yaml' }}"
    call: agent
    with: {prompt: hello, tools: {flows: [{path: beside.yaml, description: two at once}, {path: chain.yaml, description: one by one}]}}
  - {id: any, needs: [], when: "{{ inputs.path != 'beside.yaml' }}", call: flow, with: {path: "{{ inputs.path }}"}}
-- beside.yaml --
description: two at once
steps: [{id: left, needs: [], call: chat, with: {user: left}}, {id: right, needs: [], call: chat, with: {user: right}}]
outputs: {said: "{{ left.text }} {{ right.text }}"}
-- chain.yaml --
description: one by one
steps: [{id: first, call: chat, with: {user: first}}, {id: second, call: chat, with: {user: second}}]
outputs: {said: "{{ first.text }} {{ second.text }}"}
-- a.test.yaml --
cases:
  - name: side by side
    llm: [{tool_calls: [{name: beside, arguments: {}}]}, l, r, done]
    expect: [{run: finished}]
  - name: alike
    llm: [{tool_calls: [{name: beside, arguments: {}}]}, l, l, done]
    expect: [{run: finished}]
  - name: lists of their own
    llm: {clerk: [{tool_calls: [{name: beside, arguments: {}}]}, done], clerk/beside-1/flow-1/left: [l], clerk/beside-1/flow-1/right: [r]}
    expect: [{run: finished}]
  - name: one by one
    llm: [{tool_calls: [{name: chain, arguments: {}}]}, f, s, {tool_calls: [{name: chain, arguments: {}}]}, g, t, done]
    expect: [{run: finished}, {tools: clerk, sequence: [chain, chain]}]
  - name: not known
    inputs: {path: chain.yaml}
    llm: [f, s]
    expect: [{run: finished}]
  - name: not known, by step
    inputs: {path: chain.yaml}
    llm: {any/first: [f], any/second: [s]}
    expect: [{run: finished}]
`)
	want := map[string]result.Outcome{
		"side by side": result.Error, "alike": result.Pass, "lists of their own": result.Pass, "one by one": result.Pass,
		"not known": result.Error, "not known, by step": result.Pass,
	}
	if diff := cmp.Diff(want, outcomes(r)); diff != "" {
		t.Error(diff, lines(t, r))
	}
	if p := caseOf(t, r, "side by side").Repeats[0].Problem; p == nil || !strings.Contains(p.Message, "the steps clerk/beside-1/flow-1/left and clerk/beside-1/flow-1/right may run side by side") {
		t.Errorf("%+v", p)
	}
}

package check

import (
	"context"
	"strings"
	"testing"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
)

func TestRunsThatStop(t *testing.T) {
	failed := runText(t, "steps:\n  - {id: ask, call: chat, with: {user: hello}}\n  - {id: note, call: template, with: {template: x}}\noutputs: {reply: \"{{ ask.text }}\"}\n", value.OfMap(nil),
		scripted.Answer{Error: &llm.Error{Message: "too busy"}})
	expectLines(t, failed, `
		pass {run: failed}
		pass {run: {error: {kind: provider, matches: too busy, step: ask}}}
		fail {run: {error: {kind: budget}}}
		fail {run: {error: {matches: too slow}}}
		fail {run: finished}
		fail {output: reply, contains: a}
		fail {output: reply, not: {contains: a}}
		fail {step: note.text, not: {contains: a}}
		pass {event: step.failed, step: ask, count: 1}
	`)
	waiting := runText(t, "steps:\n  - id: ask\n    call: slot\n    with: {stages: [], current_schema: {type: object, required: [city], properties: {city: {type: string}}}}\n", value.OfMap(nil))
	expectLines(t, waiting, `
		pass {run: {state: waiting, waits_for: /city}}
		pass {run: {waits_for: "ask:/city"}}
		fail {run: {waits_for: /day}}
		fail {run: finished}
	`)
}

// A failure that a run has survived is a warning: of a step, an item, a tool.
func TestSurvivedFailuresAreWarnings(t *testing.T) {
	e := runText(t, `
steps:
  - {id: read, call: template, on_error: continue, with: {template: "{{ 1 / n }}", values: {n: 0}}}
  - {id: each, call: template, for_each: [1, 0, 2, 0], on_error: continue, with: {template: "{{ 1 / n }}", values: {n: "{{ item }}"}}}
  - id: clerk
    call: agent
    with: {prompt: hello, tools: {calls: [{call: template, name: divide, with: {template: !raw "{{ 1 / n }}", values: {n: 0}}}]}}
outputs: {n: 1}
`, value.OfMap(nil), scripted.Answer{ToolCalls: []llm.ToolCall{{ID: "1", Name: "divide", Arguments: `{}`}}}, scripted.Answer{Text: "done"})
	expectLines(t, e, `
		pass {event: step.warning, count: 4}
		pass {event: step.warning, step: read, count: 1, data: {code: failed, text: division by zero}}
		pass {event: step.warning, step: "each[1]", count: 1}
		pass {event: step.warning, step: each, count: 2}
		pass {event: step.warning, step: read, before: flow.finished}
		pass {run: {state: finished, warnings: 4}}
		fail {event: step.warning, count: 0}
		fail {run: {state: finished, warnings: 0}}
		fail {that: run.warnings == 0}
	`)
	found := parseItem(t, "{run: {warnings: 0}}", &Scope{}).Evaluate(context.Background(), e)
	if found.Message != "the run has 4 warnings, not 0" || found.Hint != "clerk/divide-1: template:1:6: division by zero; each[1]: division by zero; each[3]: division by zero; and 1 more" {
		t.Errorf("%q, %q", found.Message, found.Hint)
	}
}

// A cost without a price, and a time that was not recorded, cannot be decided.
func TestUnknownCost(t *testing.T) {
	e := suiteEvidence(t)
	e.PriceKnown, e.MS = false, nil
	expectLines(t, e, "error {run: {cost: 1}}\nerror {run: {ms: 1}}\nerror {run: {not: {cost: 1}}}")
}

func TestWhenWeightAndNames(t *testing.T) {
	e := suiteEvidence(t)
	scope := &Scope{File: "a.test.yaml"}
	skipped := parseItem(t, `{output: reply, contains: nothing, when: "{{ outputs.number > 8 }}"}`, scope).Evaluate(context.Background(), e)
	if skipped.Outcome != "skip" || skipped.Weight != 0 {
		t.Errorf("%+v", skipped)
	}
	c := parseItem(t, `{output: reply, contains: Mei, name: names her, metric: warmth, weight: 2.5}`, scope)
	if found := c.Evaluate(context.Background(), e); found.Name != "names her" || found.Metric != "warmth" || found.Weight != 2.5 {
		t.Errorf("%+v", found)
	}
	if label := parseItem(t, `{output: reply, contains: Mei, not: {contains: Anna}}`, scope).Label(); label != "output reply contains, not contains" {
		t.Errorf("the label is %q", label)
	}
	expectProblem(t, scope, `{output: reply, contains: a, weight: -1}`, "weight")
	expectProblem(t, scope, `{output: reply}`, "matcher")
	expectProblem(t, scope, `{output: reply, prompt: answer, contains: a}`, "subject")
	expectProblem(t, scope, `[a]`, "map")
}

// A when is a boolean: any text is true to Python, "false" as well, and a check that was to be skipped would be asked.
func TestWhenIsBoolean(t *testing.T) {
	e := suiteEvidence(t)
	expectLines(t, e, `
		skip {output: reply, contains: Mei, when: false}
		skip {output: reply, contains: Mei, when: "false"}
		skip {output: reply, contains: Mei, when: "{{ outputs.number > 8 or false }}"}
		pass {output: reply, contains: Mei, when: "outputs.reply != ''"}
		pass {output: reply, contains: Mei, when: "{{ value is defined }}"}
		skip {output: reply, contains: Mei, when: "{{ value is not defined }}"}
		fail {output: reply, contains: nothing, when: "{{ 'Mei' in value }}"}
		skip {output: data.nothing, contains: Mei, when: "{{ value is defined }}"}
		pass {prompt: answer, contains: Mei, when: "{{ prompt.tokens > 0 and value is defined }}"}
		error {output: reply, contains: Mei, when: "{{ outputs.reply }}"}
		error {output: reply, contains: Mei, when: "{{ outputs.number }}"}
		error {output: reply, contains: Mei, when: "{{ outputs.data.nothing | default(none) }}"}
	`)
	unknown := parseItem(t, `{output: reply, contains: Mei, when: "{{ outputs.nothing }}"}`, &Scope{}).Evaluate(context.Background(), e)
	if unknown.Outcome != "error" || !strings.HasPrefix(unknown.Message, "when: ") {
		t.Errorf("%s: %s", unknown.Outcome, unknown.Message)
	}
	found := parseItem(t, `{output: reply, contains: Mei, when: "{{ outputs.number }}"}`, &Scope{}).Evaluate(context.Background(), e)
	if found.Message != "when must be true or false, not 7" || !strings.Contains(found.Hint, "row.kind == 'long'") {
		t.Errorf("%q, %q", found.Message, found.Hint)
	}
	for _, when := range []string{`"{{ 'false' }}"`, `"'false'"`, "1", "none", `"{{ [] }}"`, `"{{ 1 / 0 }}"`} {
		expectProblem(t, &Scope{File: "a.test.yaml"}, `{output: reply, contains: a, when: `+when+`}`, "")
	}
	expectProblem(t, &Scope{File: "a.test.yaml"}, `{output: reply, contains: a, when: "{{ prompt is defined }}"}`, "prompt: STEP")
}

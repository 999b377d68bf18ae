package check

import (
	"context"
	"strings"
	"testing"

	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// A check that no run can fail is a mistake in the file, and is reported when the file is read.
func TestChecksThatCannotFail(t *testing.T) {
	e := suiteEvidence(t)
	scope := &Scope{File: "a.test.yaml", Flows: []*flow.Flow{e.Flow}}
	for _, item := range []string{
		`{event: step.warning, count: {min: 0}}`,
		`{event: step.input, data: {}}`,
		`{output: reply, words: {min: 0}}`,
		`{output: reply, matches: ".*"}`,
		`{output: reply, matches: "(?s)^.*$"}`,
		`{output: reply, not: {matches: "x*"}}`,
		`{output: reply, schema: {}}`,
		`{output: reply, schema: {title: Anything}}`,
		`{output: reply, levenshtein: {to: x, min: 0}}`,
		`{output: reply, rouge_l: {to: x, min: 0}}`,
		`{output: reply, similar: {to: x, min: 0}}`,
		`{output: reply, judge: {criteria: [Is kind], min: 0}}`,
		`{output: reply, grounded: {kinds: [file], min: 0}}`,
		`{output: reply, prefer: {over: b.yaml, criteria: [Is kind], min: 0}}`,
		`{output: reply, equals: "{{ value }}"}`,
		`{output: reply, contains: "{{ outputs.reply }}"}`,
		`{step: answer.text, equals: "{{ steps.answer.text }}"}`,
		`{run: {tokens: {min: 0}}}`,
		`{run: {cost: {min: 0}}}`,
		`{run: {ms: {min: 0}}}`,
		`{run: {warnings: {min: 0}}}`,
		`{run: {error: {matches: "."}}}`,
		`{prompt: answer, tokens: {min: 0}}`,
		`{prompt: answer, tokens: {of: {kind: file}, share: 1}}`,
		`{prompt: answer, leaves_out: {kind: file}, because: "."}`,
		`{prompt: answer, confined: {source: inputs.question, roles: [system, user, assistant, tool]}}`,
		`{prompt: answer, includes: {name: "*"}}`,
	} {
		_, problems := tryParse(t, item, scope)
		if len(problems) != 1 {
			t.Errorf("%s: %v", item, problems)
		}
	}
	for _, item := range []string{
		`{event: step.warning, count: {min: 0, max: 3}}`, `{output: reply, matches: "^$"}`, `{output: reply, matches: "."}`, `{output: reply, not: {matches: "^\\s*$"}}`,
		`{output: reply, equals: "{{ value | trim }}"}`, `{output: reply, schema: {type: string}}`, `{prompt: answer, tokens: {min: 1}}`,
	} {
		if _, problems := tryParse(t, item, scope); problems != nil {
			t.Errorf("%s: %v", item, problems)
		}
	}
}

// A pass that says little says so: nothing that the check is about was there.
func TestNotesOfEmptyPasses(t *testing.T) {
	e := suiteEvidence(t)
	scope := &Scope{File: "a.test.yaml"}
	for item, want := range map[string]string{
		`{prompt: answer, confined: {source: http, roles: [user]}}`:                "nothing from http is in the prompt",
		`{prompt: answer, tokens: {of: {kind: file}, max: 10}}`:                    "file is not in the prompt",
		`{tools: clerk, none_of: [warehouse]}`:                                     `the step clerk has no tool "warehouse"`,
		`{tools: clerk, not: {used: [warehouse]}}`:                                 `the step clerk has no tool "warehouse"`,
		`{prompt: answer, confined: {source: "inputs.question", roles: [user]}}`:   "",
		`{prompt: answer, contains: tea, tokens: {of: {kind: file}, max: 10}}`:     "file is not in the prompt",
		`{tools: clerk, none_of: [greet], when: "{{ run.state == 'cancelled' }}"}`: "",
		`{run: {not: {error: {kind: budget}}}}`:                                    "the run did not fail",
		`{run: {not: {waits_for: /city}}}`:                                         "the run waits for nothing",
		`{output: number, equals: 7}`:                                              "the flow has it as it is: it is the same in every run",
		`{output: data.city, equals: Paris}`:                                       "the flow has it as it is: it is the same in every run",
		`{output: reply, not: {equals: 7}}`:                                        "it is string, and is never integer",
		`{output: reply, not: {equals: null}}`:                                     "",
		`{that: "{{ inputs.visitor == 'Mei' }}"}`:                                  "it looks at what the case gives, and at nothing that the run made",
		`{that: "{{ inputs.visitor in outputs.reply }}"}`:                          "",
	} {
		found := parseItem(t, item, scope).Evaluate(context.Background(), e)
		isIdle := found.Outcome == "pass" || found.Outcome == "skip"
		if !isIdle || found.Note != want {
			t.Errorf("%s: %s, %s, the note is %q, want %q", item, found.Outcome, found.Message, found.Note, want)
		}
	}
}

// The answer of a model that has read a text may pass it on, also through another model: neither pass nor fail, unless it is trusted.
func TestConfinedThroughModels(t *testing.T) {
	e := runWithQuestion(t, `
inputs: {type: object, properties: {question: {type: string}, other: {type: string}}}
steps:
  - {id: said, call: chat, with: {messages: [{role: user, content: "{{ inputs.question }}"}]}}
  - {id: calm, call: chat, with: {messages: [{role: user, content: "{{ inputs.other }}"}]}}
  - {id: again, call: chat, with: {messages: [{role: user, content: "{{ said.text | upper }}"}]}}
  - {id: each, for_each: [a, "{{ inputs.question }}"], call: chat, with: {messages: [{role: user, content: "{{ item }}"}]}}
  - {id: direct, call: chat, with: {messages: [{role: system, content: "{{ said.text }}"}, {role: user, content: "{{ inputs.question }}"}]}}
  - {id: quiet, call: chat, with: {messages: [{role: system, content: "{{ calm.text }}"}, {role: user, content: "{{ inputs.question }}"}]}}
  - {id: far, call: chat, with: {messages: [{role: system, content: "{{ again.text | lower }}"}, {role: user, content: x}]}}
  - {id: items, call: chat, with: {messages: [{role: system, content: "{{ each | tojson }}"}, {role: user, content: x}]}}
  - {id: first, call: chat, with: {messages: [{role: system, content: "{{ each[0].text }}"}, {role: user, content: x}]}}
  - {id: clerk, call: agent, with: {prompt: "{{ inputs.question }}"}}
outputs: {x: 1}
`)
	for _, step := range []string{"direct", "far", "items"} {
		expectOutcome(t, e, "error", "{prompt: "+step+", confined: {source: inputs.question, roles: [user]}}")
		expectOutcome(t, e, "pass", "{prompt: "+step+", confined: {source: inputs.question, roles: [user], through_models: trusted}}")
		expectOutcome(t, e, "pass", "{prompt: "+step+", confined: {source: inputs.question, roles: [user, system]}}")
		expectOutcome(t, e, "pass", "{prompt: "+step+", confined: {source: inputs.other, roles: [user]}}")
	}
	expectLines(t, e, `
		pass {prompt: quiet, confined: {source: inputs.question, roles: [user]}}
		error {prompt: quiet, confined: {source: inputs.other, roles: [user]}}
		pass {prompt: first, confined: {source: inputs.question, roles: [user]}}
		pass {prompt: clerk, confined: {source: inputs.question, roles: [user]}}
	`)
	found := parseItem(t, "{prompt: far, confined: {source: inputs.question, roles: [user]}}", &Scope{}).Evaluate(context.Background(), e)
	if !strings.Contains(found.Hint, "the model of the step again had read it") {
		t.Errorf("the hint is %q", found.Hint)
	}
}

// Only a check that is about such an end expects it.
func TestExpectedEnds(t *testing.T) {
	failed, waiting := End{State: journal.RunFailed}, End{State: journal.RunWaiting}
	missed := End{State: journal.RunFinished, Missed: "answer"}
	for _, c := range []struct {
		item string
		end  End
		want bool
	}{
		{"{run: failed}", failed, true},
		{"{run: {error: {kind: budget}}}", failed, true},
		{"{run: {not: {state: finished}}}", failed, true},
		{"{run: {not: {error: {kind: budget}}}}", failed, false},
		{"{run: {not: {state: waiting}}}", failed, false},
		{"{run: {not: {waits_for: /city}}}", failed, false},
		{"{run: {that: \"{{ value.error is defined }}\"}}", failed, true},
		{"{run: {that: \"{{ value.waiting == [] }}\"}}", failed, false},
		{"{event: flow.failed, count: 1}", failed, true},
		{"{event: step.failed, count: 1}", failed, false},
		{"{run: waiting}", waiting, true},
		{"{run: {waits_for: /city}}", waiting, true},
		{"{run: {not: {waits_for: /day}}}", waiting, false},
		{"{run: {not: {error: {kind: budget}}}}", waiting, false},
		{"{run: {tokens: {max: 5}}}", waiting, false},
		{"{event: step.waiting, count: 1}", waiting, true},
		{"{output: reply, contains: x}", waiting, false},
		{"{run: finished}", missed, true},
		{"{event: step.skipped, step: answer, count: 1}", missed, true},
		{"{event: step.skipped, step: other, count: 1}", missed, false},
		{"{event: step.failed, count: 0}", missed, false},
	} {
		if got := parseItem(t, c.item, &Scope{}).ExpectsEnd(c.end); got != c.want {
			t.Errorf("%s of %+v: %v", c.item, c.end, got)
		}
	}
}

// Events in results, and their difference from the wanted ones, do not depend on how long a step took.
func TestEventValuesHaveNoTimes(t *testing.T) {
	e := suiteEvidence(t)
	for _, item := range []string{"{event: step.finished, step: answer, count: 9}", "{event: step.finished, step: answer, data: {nothing: 1, output: {a: 2}}}"} {
		found := parseItem(t, item, &Scope{}).Evaluate(context.Background(), e)
		if found.Outcome != "fail" || found.Value == "" || strings.Contains(string(found.Value)+found.Diff+found.Message, "duration") {
			t.Errorf("%s: %s, %s, %s", item, found.Outcome, found.Value, found.Diff)
		}
	}
}

// A missing subject neither holds nor fails to hold: under not such checks fail too, or are noted if absence is
// wanted.
func TestAbsentUnderNot(t *testing.T) {
	e := suiteEvidence(t)
	for _, item := range []string{
		`{event: flow.cancelled, not: {before: flow.finished}}`,
		`{event: step.started, not: {before: flow.cancelled}}`,
		`{tools: clerk, not: {args: {warehouse: {type: object}}}}`,
		`{prompt: answer, not: {order: [{kind: file}, {kind: history}]}}`,
		`{prompt: answer, not: {text: nowhere, comes_from: {source: inputs.question}}}`,
		`{prompt: answer, not: {leaves_out: {kind: world_book}}}`,
		`{output: reply, not: {schema: {type: object, required: [price]}}}`,
		`{output: reply, not: {json: {a: 1}}}`,
	} {
		expectOutcome(t, e, "fail", item)
	}
	for item, note := range map[string]string{
		`{event: step.warning, not: {data: {code: cut}}}`:                  "there is no step.warning",
		`{prompt: answer, not: {includes: {name: AGENTSX.md}}}`:            "AGENTSX.md is unknown: it is neither in the prompt nor left out",
		`{prompt: answer, not: {includes: {kind: file}}}`:                  "",
		`{prompt: answer, not: {text: nowhere}}`:                           "",
		`{output: json, not: {schema: {type: object, required: [price]}}}`: "the flow has it as it is: it is the same in every run",
	} {
		found := parseItem(t, item, &Scope{}).Evaluate(context.Background(), e)
		if found.Outcome != "pass" || found.Note != note {
			t.Errorf("%s: %s, %s, the note is %q", item, found.Outcome, found.Message, found.Note)
		}
	}
}

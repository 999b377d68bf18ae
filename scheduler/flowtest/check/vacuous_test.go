package check

import (
	"slices"
	"strings"
	"testing"

	"github.com/callnode/scheduler/scheduler/flow"
)

// vacuousUse is a use of a matcher that passes whatever the run does.
type vacuousUse struct{ matcher, item string }

// vacuousUses lists uses of each matcher that must be reported when the file is read.
func vacuousUses() []vacuousUse {
	return []vacuousUse{
		{"contains", `{output: reply, contains: ""}`},
		{"contains", `{output: reply, contains: "{{ value }}"}`},
		{"contains", `{output: reply, contains: "{{ outputs['reply'] }}"}`},
		{"contains", `{step: answer.text, contains: "{{ steps.answer['text'] }}"}`},
		{"contains", `{output: reply, contains: "{{ value[:3] }}"}`},
		{"contains", `{prompt: answer, contains: ""}`},
		{"contains", `{prompt: answer, contains: "{{ prompt.messages[0].content }}"}`},
		{"contains_all", `{prompt: answer, contains_all: ["{{ value[0].content }}"]}`},
		{"contains_all", `{output: reply, contains_all: []}`},
		{"contains_all", `{output: reply, contains_all: [你好, ""]}`},
		{"contains_all", `{output: reply, contains_all: ["{{ value }}"]}`},
		{"contains_any", `{output: reply, contains_any: ["", 好]}`},
		{"contains_any", `{output: reply, contains_any: [好, "{{ value }}"], fold: true}`},
		{"starts_with", `{output: reply, starts_with: ""}`},
		{"starts_with", `{output: reply, starts_with: "{{ outputs.reply }}"}`},
		{"matches", `{output: reply, matches: "x*"}`},
		{"matches", `{output: reply, matches: "^"}`},
		{"matches", `{output: reply, matches: "$"}`},
		{"matches", `{output: reply, matches: "是|否|"}`},
		{"matches", `{output: reply, matches: "[\\s\\S]*"}`},
		{"matches", `{output: reply, matches: "(?i)(yes)?"}`},
		{"matches", `{output: reply, matches: "[\\p{Han}]*"}`},
		{"matches", `{output: reply, matches: "^(?:.|\\n)*$"}`},
		{"matches", `{output: reply, not: {matches: "[^\\s\\S]"}}`},
		{"matches", `{output: reply, not: {matches: "抱歉^"}}`},
		{"matches", `{output: reply, not: {matches: "(sorry)$x|a^"}}`},
		{"words", `{output: reply, not: {words: {min: 9999999999}}}`},
		{"words", `{output: reply, words: {min: 0}}`},
		{"words", `{output: reply, words: {min: 0, max: 99999999999}}`},
		{"equals", `{output: reply, equals: "{{ value }}"}`},
		{"equals", `{step: "answer:/text", equals: "{{ steps.answer.text }}"}`},
		{"equals", `{output: data.city, equals: "{{ outputs.data.city }}"}`},
		{"equals", `{output: data, equals: {city: "{{ value.city }}", days: "{{ value.days }}"}, not: {equals: "{{ outputs.data }}"}}`},
		{"json", `{output: data, json: {}}`},
		{"json", `{output: data, json: "{{ value }}"}`},
		{"schema", `{output: reply, schema: {}}`},
		{"schema", `{output: reply, schema: true}`},
		{"schema", `{output: reply, schema: {description: Anything at all}}`},
		{"schema", `{output: reply, schema: {type: [string, number, integer, object, array, boolean, "null"]}}`},
		{"schema", `{output: reply, schema: {anyOf: [{type: string}, {}]}}`},
		{"schema", `{output: reply, schema: {oneOf: [{}]}}`},
		{"schema", `{output: reply, schema: {allOf: [{}, {title: 名称}]}}`},
		{"schema", `{output: reply, schema: {not: {allOf: [{type: string}, {type: number}]}}}`},
		{"schema", `{output: reply, schema: {if: {type: string}, then: {}, else: true}}`},
		{"schema", `{output: reply, schema: {definitions: {a: {}}, $ref: "#/definitions/a"}}`},
		{"schema", `{output: reply, not: {schema: false}}`},
		{"schema", `{output: reply, not: {schema: {not: {}}}}`},
		{"schema", `{output: reply, not: {schema: {allOf: [{type: string}, {not: {title: 任意}}]}}}`},
		{"min", `{output: number, min: -1e300}`},
		{"min", `{output: number, not: {min: 1e300}}`},
		{"min", `{output: number, min: "{{ value }}"}`},
		{"max", `{output: number, max: 1e300}`},
		{"max", `{output: number, max: "{{ outputs.number }}"}`},
		{"that", `{output: reply, that: "{{ value == value }}"}`},
		{"that", `{output: reply, that: "{{ value == outputs.reply }}"}`},
		{"that", `{output: reply, that: "value | length >= 0"}`},
		{"that", `{output: reply, that: "{{ (value | length) > -1 }}"}`},
		{"that", `{output: reply, that: "{{ '' in value }}"}`},
		{"that", `{output: reply, that: "{{ value is defined }}"}`},
		{"that", `{output: reply, that: "{{ true or value == '好' }}"}`},
		{"that", `{output: reply, that: "{{ value == 'a' or value != 'a' }}"}`},
		{"that", `{output: reply, that: "{{ not (value and not value) }}"}`},
		{"that", `{output: reply, that: "{{ value in [value, 'x'] }}"}`},
		{"that", `{output: reply, that: "{{ (value | trim) == (value | trim) }}"}`},
		{"that", `{output: number, that: "{{ value > 3 or value <= 3 }}"}`},
		{"that", `{output: reply, that: "{{ value is string or value is not string }}"}`},
		{"that", `{output: reply, that: "{{ 1 == 1 if value else true }}"}`},
		{"that", `{output: reply, that: "{{ value.startswith('') }}"}`},
		{"that", `{output: reply, that: "{{ value[:2] in value }}"}`},
		{"that", `{output: reply, that: "{{ value.count('好') >= 0 }}"}`},
		{"that", `{output: reply, that: "{{ value == 'x' }}", when: "{{ value == 'x' }}"}`},
		{"that", `{output: number, that: "{{ value > 2 }}", when: "{{ outputs.number > 3 }}"}`},
		{"that", `{output: reply, not: {that: "{{ value != value }}"}}`},
		{"that", `{output: reply, not: {that: "{{ value | length < 0 }}"}}`},
		{"that", `{that: "{{ outputs.reply == outputs.reply }}"}`},
		{"that", `{that: "{{ run.tokens >= 0 }}"}`},
		{"that", `{that: "{{ run.state in ['running', 'waiting', 'failed', 'cancelled', 'finished'] }}"}`},
		{"that", `{that: "{{ run.warnings is number }}"}`},
		{"that", `{run: {that: "{{ value.tokens >= 0 }}"}}`},
		{"that", `{that: "{{ steps is defined }}"}`},
		{"that", `{step: answer, that: "{{ value.text == steps.answer.text }}"}`},
		{"levenshtein", `{output: reply, levenshtein: {to: yes it is, max: 40}}`},
		{"levenshtein", `{output: reply, levenshtein: {to: 是的, max: 2}}`},
		{"levenshtein", `{output: reply, levenshtein: {to: x, min: 0}}`},
		{"levenshtein", `{output: reply, levenshtein: {to: "{{ value }}", max: 3}}`},
		{"rouge_l", `{output: reply, rouge_l: {to: x, min: 0}}`},
		{"rouge_l", `{output: reply, rouge_l: {to: "{{ value }}", min: 0.9}}`},
		{"similar", `{output: reply, similar: {to: x, min: 0}}`},
		{"similar", `{output: reply, similar: {to: "{{ value }}", min: 0.9}}`},
		{"similar", `{output: reply, similar: {to: [你好, "{{ value }}"], min: 0.9}}`},
		{"judge", `{output: reply, judge: {criteria: [Is kind], min: 0}}`},
		{"judge", `{output: reply, judge: {preset: correctness, reference: "{{ value }}"}}`},
		{"grounded", `{output: reply, grounded: {kinds: [file], min: 0}}`},
		{"prefer", `{output: reply, prefer: {over: b.yaml, criteria: [Is kind], min: 0}}`},
		{"includes", `{prompt: answer, includes: {name: "*"}}`},
		{"includes", `{prompt: answer, includes: {source: "*"}}`},
		{"includes", `{prompt: answer, includes: {kind: "*"}}`},
		{"includes", `{prompt: answer, includes: {name: "**"}}`},
		{"includes", `{prompt: answer, includes: {}}`},
		{"leaves_out", `{prompt: answer, leaves_out: {kind: file}, because: "."}`},
		{"leaves_out", `{prompt: answer, leaves_out: {kind: file}, because: "budget|.*"}`},
		{"leaves_out", `{prompt: answer, leaves_out: {name: "*"}}`},
		{"order", `{prompt: answer, order: [{name: "*"}, {kind: file}]}`},
		{"order", `{prompt: answer, order: [{kind: file}]}`},
		{"tokens", `{prompt: answer, tokens: {min: 0}}`},
		{"tokens", `{prompt: answer, tokens: {max: 99999999999}}`},
		{"tokens", `{prompt: answer, tokens: {of: {kind: file}, share: 1}}`},
		{"tokens", `{prompt: answer, tokens: {share: 0.9}}`},
		{"tokens", `{run: {tokens: {min: 0}}}`},
		{"tokens", `{run: {tokens: {max: 99999999999}}}`},
		{"text", `{prompt: answer, text: ""}`},
		{"text", `{prompt: answer, text: tea, comes_from: {name: "*"}}`},
		{"text", `{prompt: answer, text: tea, comes_from: {source: "*"}}`},
		{"confined", `{prompt: answer, confined: {source: inputs.question, roles: [system, user, assistant, tool]}}`},
		{"stable_prefix", `{prompt: answer, stable_prefix: {with: other, min_tokens: 0}}`},
		{"count", `{event: step.warning, count: {min: 0}}`},
		{"count", `{event: flow.started, count: 1}`},
		{"count", `{event: step.warning, count: {max: 99999999999}}`},
		{"data", `{event: step.input, data: {}}`},
		{"used", `{tools: clerk, used: []}`},
		{"sequence", `{tools: clerk, sequence: []}`},
		{"args", `{tools: clerk, args: {}}`},
		{"args", `{tools: clerk, args: {greet: {}}}`},
		{"args", `{tools: clerk, args: {greet: true}}`},
		{"args", `{tools: clerk, args: {greet: {anyOf: [{type: object}, {}]}}}`},
		{"none_of", `{tools: clerk, none_of: []}`},
		{"recall_at", `{retrieved: recall, recall_at: {k: 3, min: 0}, relevant: [m1]}`},
		{"mrr", `{retrieved: recall, mrr: 0, relevant: [m1]}`},
		{"ndcg", `{retrieved: recall, ndcg: {min: 0}, relevant: [m1]}`},
		{"error", `{run: {error: {matches: ".*"}}}`},
		{"warnings", `{run: {warnings: {min: 0}}}`},
		{"warnings", `{run: {warnings: {max: 99999999999}}}`},
		{"cost", `{run: {cost: {min: 0}}}`},
		{"cost", `{run: {cost: {max: 5000000}}}`},
		{"ms", `{run: {ms: {min: 0, max: 1e13}}}`},
	}
}

// neverVacuous are the matchers that no value makes pass for every run, with the reason.
func neverVacuous() map[string]string {
	return map[string]string{
		"before":    "an event that is not there fails",
		"snapshot":  "it compares with a file, and CI does not write it",
		"state":     "it is one state of five",
		"waits_for": "a run that waits for nothing fails",
		"plugin":    "the plugin alone knows",
	}
}

// Each matcher has an entry: the uses with which it cannot fail, each of which is reported, or the reason why
// there are no such uses.
func TestVacuousUses(t *testing.T) {
	scope := &Scope{File: "a.test.yaml", Flows: []*flow.Flow{suiteEvidence(t).Flow}}
	answered := map[string]bool{}
	for _, use := range vacuousUses() {
		answered[use.matcher] = true
		if !strings.Contains(use.item, use.matcher+":") {
			t.Errorf("%s is no use of %s", use.item, use.matcher)
		}
		if _, problems := tryParse(t, use.item, scope); len(problems) == 0 {
			t.Errorf("%s is not reported", use.item)
		}
	}
	for _, m := range matchers() {
		_, isNever := neverVacuous()[m.name]
		if answered[m.name] == isNever {
			t.Errorf("the matcher %s: add uses that cannot fail to vacuousUses, or the reason why there are none to neverVacuous", m.name)
		}
	}
}

// Checks that are weak, or look odd, and can fail are taken as they are.
func TestChecksThatCanFail(t *testing.T) {
	scope := &Scope{File: "a.test.yaml", Flows: []*flow.Flow{suiteEvidence(t).Flow}}
	for _, item := range []string{
		`{output: reply, matches: "^[^#]*$"}`,
		`{output: reply, matches: "^.*$"}`,
		`{output: reply, matches: "(?s)^.{0,500}$"}`,
		`{output: reply, not: {matches: "[\\p{Han}]"}}`,
		`{output: reply, not: {contains: 抱歉}}`,
		`{output: reply, not: {matches: "^抱歉$"}}`,
		`{output: reply, not: {matches: "(?m)a$\nb^c|d"}}`,
		`{output: reply, not: {schema: {not: {type: string}}}}`,
		`{output: reply, not: {words: {min: 500}}}`,
		`{prompt: answer, contains: "{{ steps.note.text }}"}`,
		`{output: reply, that: "{{ value == 'x' }}", when: "{{ inputs.question == 'x' }}"}`,
		`{output: reply, schema: {type: [string, "null"]}}`,
		`{output: reply, schema: {not: {type: string}}}`,
		`{output: reply, schema: {anyOf: [{type: object}, {type: string, minLength: 1}]}}`,
		`{output: reply, levenshtein: {to: yes it is, max: 8}}`,
		`{output: reply, levenshtein: {to: yes it is, max: 40, min: 0.2}}`,
		`{output: reply, words: {min: 0, max: 500}}`,
		`{output: number, min: -5}`,
		`{output: reply, equals: "{{ steps.answer.text }}"}`,
		`{output: reply, equals: "{{ value | trim }}"}`,
		`{output: reply, contains: "{{ value[:3] }}{{ inputs.visitor }}"}`,
		`{output: data, json: {city: "{{ row.want }}"}}`,
		`{output: reply, that: "{{ value != '好' }}"}`,
		`{output: reply, that: "{{ '抱歉' not in value }}"}`,
		`{output: reply, that: "{{ 'a' not in value or 'b' not in value }}"}`,
		`{output: reply, that: "{{ value | length < 500 }}"}`,
		`{output: reply, that: "{{ value | length != 3 }}"}`,
		`{output: reply, that: "{{ value is string }}"}`,
		`{output: number, that: "{{ value is not divisibleby 7 }}"}`,
		`{output: reply, that: "{{ (value | fromjson).price != 3 }}"}`,
		`{output: reply, that: "{{ value | upper != 'ABC' }}"}`,
		`{output: reply, that: "{{ not value.startswith('x') }}"}`,
		`{output: data, that: "{{ value.city is defined }}"}`,
		`{output: data, that: "{{ value.city != 'a' or value.days != 1 }}"}`,
		`{that: "{{ outputs.reply != outputs.json }}"}`,
		`{that: "{{ run.state == 'finished' }}"}`,
		`{that: "{{ run.state != 'failed' }}"}`,
		`{that: "{{ run.tokens < 100 }}"}`,
		`{that: "{{ run.cost is defined }}"}`,
		`{that: "{{ row is defined }}"}`,
		`{run: {cost: {max: 5}}}`,
		`{event: flow.started, count: 2}`,
		`{prompt: answer, includes: {name: "*.md"}}`,
		`{prompt: answer, confined: {source: "*", roles: [user]}}`,
	} {
		_, problems := tryParse(t, item, scope)
		if slices.ContainsFunc(problems, func(p flow.Problem) bool { return !strings.Contains(p.Message, "no column") }) {
			t.Errorf("%s: %v", item, problems)
		}
	}
}

package check

import (
	"strings"
	"testing"

	"github.com/callnode/scheduler/llm/value"
)

func TestProvenanceOfQuickstart(t *testing.T) {
	e := quickstart(t)
	expectLines(t, e, `
		pass {prompt: answer, includes: {kind: world_book, name: The keeper}, in: {role: system}}
		fail {prompt: answer, includes: {kind: world_book, name: The keeper}, in: {role: user}}
		fail {prompt: answer, includes: {kind: world_book, name: The whale skeleton}}
		pass {prompt: answer, leaves_out: {kind: preset, name: winter-notice}, because: season}
		pass {prompt: answer, leaves_out: {kind: preset, name: winter-notice}, because: condition}
		fail {prompt: answer, leaves_out: {kind: preset, name: winter-notice}, because: budget}
		fail {prompt: answer, leaves_out: {kind: preset, name: summer-notice}}
		fail {prompt: answer, leaves_out: {kind: preset, name: voice}}
		pass {prompt: answer, order: [{name: AGENTS.md}, {name: SOUL.md}, {kind: history}, {name: voice}]}
		fail {prompt: answer, order: [{name: SOUL.md}, {name: AGENTS.md}]}
		pass {prompt: answer, tokens: {max: 2000}}
		fail {prompt: answer, tokens: {max: 20}}
		pass {prompt: answer, confined: {source: inputs.question, roles: [user]}}
		fail {prompt: answer, confined: {source: inputs.visitor, roles: [user]}}
		pass {prompt: answer, text: "143 steps", comes_from: {kind: world_book, name: The stairs}}
		fail {prompt: answer, text: "143 steps", comes_from: {name: AGENTS.md}}
		pass {output: reply, contains: Sunday}
		pass {output: reply, not: {contains: Monday}}
		fail {output: reply, not: {contains: Sunday}}
		pass {step: answer.text, matches: "1[01]:00"}
		pass {run: finished}
		pass {event: step.finished, step: answer, count: 1}
		pass {that: "{{ outputs.reply is string }}"}
	`)
}

// The difference of a part of data leaves out members that were not asked for, but shows all if a name is missing.
func TestDifferenceOfAPart(t *testing.T) {
	got := value.OfMap(value.Pairs("a", value.Pairs("b", 1, "c", "not asked for"), "list", value.OfList(value.OfMap(value.Pairs("x", 1, "y", 2)))))
	want := value.OfMap(value.Pairs("a", value.Pairs("b", 2), "list", value.OfList(value.OfMap(value.Pairs("x", 1)))))
	if diff := subsetVerdict(got, want).diff; diff == "" || strings.Contains(diff, "not asked for") || strings.Contains(diff, "y: 2") {
		t.Errorf("the difference is\n%s", diff)
	}
	want = value.OfMap(value.Pairs("a", value.Pairs("bb", 2)))
	if diff := subsetVerdict(got, want).diff; !strings.Contains(diff, "b: 1") {
		t.Errorf("without what there is:\n%s", diff)
	}
}

package flowtest_test

import (
	"maps"
	"testing"

	"github.com/callnode/scheduler/scheduler/flowtest/result"
)

// TestDecisionsAsAnswers: a case approves or denies a use of a call by its step; without an answer its run waits.
func TestDecisionsAsAnswers(t *testing.T) {
	r := newWorld(t, nil).runArchive(t, `
-- a.yaml --
name: a
steps:
  - id: refund
    call: template
    with: {template: "{{ amount }} paid", values: {amount: 150}}
    approve: {edit: [/values/amount], on_deny: continue}
outputs: {reply: "{{ refund.text if refund.text is defined else refund.error.message }}"}
-- a.test.yaml --
defaults: {until: end}
cases:
  - {name: approved, answers: {refund: {approve: true}}, expect: [{output: reply, equals: 150 paid}]}
  - {name: changed, answers: {refund: {approve: true, edits: {/values/amount: 20}}}, expect: [{output: reply, equals: 20 paid}]}
  - {name: denied, answers: {refund: {deny: too much}}, expect: [{output: reply, equals: "denied by a person: too much"}]}
  - {name: refused, answers: {refund: {approve: false}}, expect: [{output: reply, equals: denied by a person}]}
  - {name: in turns, answers: [{refund: {approve: true}}], expect: [{output: reply, equals: 150 paid}]}
  - {name: waits, expect: [{run: {waits_for: "refund:/approved"}}]}
  - {name: unexpected wait, expect: [{output: reply, equals: 150 paid}]}
  - {name: another place, answers: {refund: {approve: true, edits: {/template: x}}}, expect: [{output: reply, equals: x}]}
`)
	want := map[string]result.Outcome{
		"approved": result.Pass, "changed": result.Pass, "denied": result.Pass, "refused": result.Pass, "in turns": result.Pass,
		"waits": result.Pass, "unexpected wait": result.Fail, "another place": result.Error,
	}
	if got := outcomes(r); !maps.Equal(got, want) {
		t.Errorf("%v, want %v\n%s", got, want, lines(t, r))
	}
}

package flowtest_test

import (
	"maps"
	"testing"

	"github.com/callnode/scheduler/scheduler/flowtest/result"
)

// Answers of a list are given one after the other, and sentences are read as in a chat: as a value if they are one, else by the model.
func TestAnswersAsSentences(t *testing.T) {
	r := newWorld(t, nil).runArchive(t, `
-- a.yaml --
name: a
steps:
  - id: order
    call: slot
    with:
      stages: [llm]
      current_schema:
        type: object
        required: [number, days]
        properties: {number: {type: string, pattern: '^[A-Z]-\d+$'}, days: {type: integer}}
  - {id: answer, call: template, with: {template: "{{ order.slot_data.number }} for {{ order.slot_data.days }}"}}
outputs: {reply: "{{ answer.text }}"}
-- a.test.yaml --
defaults: {until: end}
cases:
  - name: a value and a sentence
    llm: ['{}', '{"/number": "A-1042"}']
    answers: [It is A-1042., "7"]
    expect: [{output: reply, equals: A-1042 for 7}]
  - name: both in a sentence
    llm: ['{}', '{"/number": "B-2", "/days": 3}']
    answers: [B-2 please and for three days]
    expect: [{output: reply, equals: B-2 for 3}]
  - name: sentences and pointers
    llm: ['{}', '{}']
    answers: [I do not know., {/number: C-3, /days: 1}]
    expect: [{output: reply, equals: C-3 for 1}]
  - name: one is left over
    llm: ['{}', '{"/number": "B-2", "/days": 3}']
    answers: [B-2 please and for three days, thanks]
    expect: [{output: reply, equals: B-2 for 3}]
  - name: does not fit
    llm: ['{}']
    answers: [{/days: soon}]
    expect: [{output: reply, equals: x}]
`)
	want := map[string]result.Outcome{
		"a value and a sentence": result.Pass, "both in a sentence": result.Pass, "sentences and pointers": result.Pass, "one is left over": result.Error, "does not fit": result.Error,
	}
	if got := outcomes(r); !maps.Equal(got, want) {
		t.Errorf("%v, want %v\n%s", got, want, lines(t, r))
	}
}

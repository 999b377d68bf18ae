package check

import "testing"

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

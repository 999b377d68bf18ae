package flowtest_test

import (
	"strings"
	"testing"

	"github.com/callnode/scheduler/scheduler/flowtest/result"
	"github.com/callnode/scheduler/scheduler/flowtest/suite"
)

// A part of a case that none of its runs asks for makes the case undecided, at the place of the part. Parts of the
// defaults are exempt, and so are parts that a run does not reach because it fails on purpose.
func TestLeftovers(t *testing.T) {
	const archive = `
-- a.yaml --
name: a
inputs: {type: object, properties: {question: {type: string, default: hello}}}
steps:
  - {id: fetch, call: http, when: "{{ inputs.question == 'fetch' }}", with: {url: "https://example.com"}}
  - {id: note, call: template, with: {template: note}}
  - {id: size, call: slot, when: "{{ inputs.question != 'skip' }}", with: {stages: [], current_schema: {type: object, required: [size], properties: {size: {type: string}}}}}
  - {id: answer, call: chat, when: "{{ inputs.question != 'skip' }}", with: {user: "{{ inputs.question }}"}}
outputs: {reply: "{{ answer.text | default('none') }}"}
-- a.test.yaml --
defaults:
  llm: [hi, ho]
  answers: {/size: small}
  mocks: {fetch: {status: 200, body: x}, note: {text: hey}}
  expect: [{that: "{{ run.state != 'waiting' }}"}]
cases:
  - {name: defaults alone}
  - {name: used, llm: [hi], answers: {size:/size: large}, mocks: {note: {text: ho}}}
  - {name: mock, mocks: {fetch: {status: 200, body: y}}}
  - {name: call, mocks: {"call:http": {status: 200, body: y}}}
  - {name: answer, inputs: {question: skip}, answers: {/size: small}}
  - {name: script, llm: [hi, ho, he]}
  - {name: all of them, inputs: {question: skip}, llm: [hi], answers: {size:/size: small}, mocks: {fetch: {status: 200, body: y}}}
  - {name: failed too, llm: [hi, ho], expect: [{output: reply, equals: ho}]}
  - {name: values, llm: [hi], mocks: {note: [{text: a}, {text: b}]}}
  - {name: until, until: answer, llm: [hi], answers: {/size: small}, mocks: {fetch: {status: 200, body: y}}}
  - {name: fails on purpose, llm: [hi], mocks: {note: {error: {kind: plugin, message: no}}}, expect: [{run: {error: {matches: "no"}}}]}
`
	w := newWorld(t, nil)
	r := w.runArchive(t, archive)
	want := map[string]string{
		"defaults alone":   "",
		"used":             "",
		"mock":             `a.test.yaml:9:26 nothing asked for the mock "fetch"`,
		"call":             `a.test.yaml:10:26 nothing asked for the mock "call:http"`,
		"answer":           `a.test.yaml:11:56 the run did not wait for the answer "/size"`,
		"script":           `a.test.yaml:12:30 the run asked for 1 of the 3 answers in llm`,
		"all of them":      `a.test.yaml:13:72 the run did not wait for the answer "size:/size"; a.test.yaml:13:100: nothing asked for the mock "fetch"; a.test.yaml:13:57: the run asked for 0 of the 1 answers in llm`,
		"failed too":       `a.test.yaml:14:34 the run asked for 1 of the 2 answers in llm`,
		"values":           `a.test.yaml:15:57 the run asked for 1 of the 2 values of the mock "note"`,
		"until":            `a.test.yaml:16:78 nothing asked for the mock "fetch"; a.test.yaml:16:40: the run asked for 0 of the 1 answers in llm`,
		"fails on purpose": "",
	}
	for name, text := range want {
		c := caseOf(t, r, name)
		got := ""
		if c.Problem != nil {
			got = c.Problem.Position.String() + " " + c.Problem.Message
		}
		if got != text {
			t.Errorf("%s: %q, not %q", name, got, text)
		}
		outcome := result.Pass
		switch {
		case name == "failed too":
			outcome = result.Fail
		case text != "":
			outcome = result.Error
		}
		if c.Outcome != outcome {
			t.Errorf("%s is %s, not %s", name, c.Outcome, outcome)
		}
	}
	if t.Failed() {
		t.Log(lines(t, r))
	}
	w.options.Language = "zh"
	if c := caseOf(t, w.runArchive(t, archive), "all of them"); !strings.Contains(c.Problem.Message, "运行没有等待回答") || !strings.Contains(c.Problem.Message, "；") {
		t.Errorf("in Chinese: %+v", c.Problem)
	}
}

// A run that waits has made all its requests. A failed run may have been about to make more, so its leftovers are
// mentioned with the failure.
func TestLeftoversOfRunsThatStop(t *testing.T) {
	const archive = `
-- a.yaml --
name: a
steps:
  - {id: note, call: template, with: {template: note}}
  - {id: size, call: slot, needs: [note], with: {stages: [], current_schema: {type: object, required: [size], properties: {size: {type: string}}}}}
  - {id: fetch, call: http, needs: [size], with: {url: "https://example.com"}}
outputs: {reply: "{{ fetch.body }}"}
-- a.test.yaml --
cases:
  - {name: waits, mocks: {fetch: {status: 200, body: x}}, expect: [{run: {waits_for: /size}}]}
  - {name: fails, answers: {/size: small}, mocks: {note: {error: {kind: plugin, message: no}}, fetch: {status: 200, body: x}}, expect: [{event: step.retrying, count: 0}]}
  - {name: fails a check, mocks: {note: {error: {kind: plugin, message: no}}, fetch: {status: 200, body: x}}, expect: [{run: {error: {matches: "yes"}}}]}
  - {name: on purpose, mocks: {note: {error: {kind: plugin, message: no}}, fetch: {status: 200, body: x}}, expect: [{run: {error: {matches: "no"}}}]}
`
	r := newWorld(t, nil).runArchive(t, archive)
	if c := caseOf(t, r, "waits"); c.Outcome != result.Error || c.Problem.Message != `nothing asked for the mock "fetch"` {
		t.Errorf("waits: %s: %+v", c.Outcome, c.Problem)
	}
	c := caseOf(t, r, "fails")
	want := `until then: a.test.yaml:3:29: the run did not wait for the answer "/size"; a.test.yaml:3:96: nothing asked for the mock "fetch"`
	if c.Outcome != result.Error || c.Problem != nil || c.Repeats[0].Problem.Hint != want {
		t.Errorf("fails: %s: %+v, want %q", c.Outcome, c.Repeats[0].Problem, want)
	}
	c = caseOf(t, r, "fails a check")
	want = `until then: a.test.yaml:4:79: nothing asked for the mock "fetch"`
	if c.Outcome != result.Fail || c.Repeats[0].Checks[0].Hint != want {
		t.Errorf("fails a check: %s: %+v, want %q", c.Outcome, c.Repeats[0].Checks, want)
	}
	if c := caseOf(t, r, "on purpose"); c.Outcome != result.Pass {
		t.Errorf("on purpose: %s: %s", c.Outcome, lines(t, r))
	}
}

// A part that one row, variant or repeat asks for is used. If not all of them run, nothing is reported.
func TestLeftoversOfRows(t *testing.T) {
	const archive = `
-- a.yaml --
name: a
inputs: {type: object, properties: {question: {type: string}}}
steps:
  - {id: fetch, call: http, when: "{{ inputs.question == 'fetch' }}", with: {url: "https://example.com"}}
  - {id: answer, call: chat, when: "{{ inputs.question != 'fetch' }}", with: {user: "{{ inputs.question }}"}}
outputs: {x: 1}
-- rows.csv --
question
fetch
hello
again
-- a.test.yaml --
dataset: {file: rows.csv}
cases:
  - {name: used, repeat: 2, llm: [hi], mocks: {fetch: {status: 200, body: x}}, expect: [{output: x, equals: 1}]}
  - {name: curtailed, repeat: 4, pass: {rate: 0.5}, llm: [hi, ho], mocks: {fetch: {status: 200, body: x}}, expect: [{output: x, equals: 1}]}
  - {name: not used, llm: [hi, ho], mocks: {fetch: {status: 200, body: x}}, expect: [{output: x, equals: 1}]}
`
	w := newWorld(t, nil)
	for _, parallel := range []int{1, 4} {
		w.options.Parallel = parallel
		r := w.runArchive(t, archive)
		for id, outcome := range outcomes(r) {
			isLast := id == "not used #3" || id == "curtailed #3"
			if (outcome == result.Error) != isLast {
				t.Errorf("%s is %s", id, outcome)
			}
		}
	}
	w.options.Parallel = 0
	if c := caseOf(t, w.runArchive(t, archive), "curtailed #3"); !c.Curtailed() || c.Problem.Kind != result.KindUnused {
		t.Errorf("curtailed: %+v", c)
	}
	w.options.Select = func(_ *suite.Suite, c *suite.Case) bool { return c.Row.Number != 2 }
	for id, outcome := range outcomes(w.runArchive(t, archive)) {
		if outcome != result.Pass {
			t.Errorf("of some rows, %s is %s", id, outcome)
		}
	}
}

package flowtest_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callnode/scheduler/scheduler/flowtest/report"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
	"github.com/callnode/scheduler/scheduler/flowtest/suite"
)

// A failed run is an error, unless a check that counts is about how the run ended.
func TestFailedRunNeedsCheckOfItsEnd(t *testing.T) {
	r := newWorld(t, nil).runArchive(t, `
-- a.yaml --
name: a
steps: [{id: broken, call: template, with: {template: !expr "1 // 0"}}]
-- a.test.yaml --
cases:
  - {name: not asked, expect: [{run: failed, when: "{{ false }}"}]}
  - {name: of no weight, expect: [{run: finished, weight: 0}]}
  - {name: of tokens, expect: [{run: {tokens: {max: 1000}}}]}
  - {name: of tokens by expression, expect: [{run: {that: "{{ value.tokens < 1000 }}"}}]}
  - {name: of other things, expect: [{that: "{{ steps.nothing is undefined }}"}]}
  - {name: state, expect: [{run: failed}]}
  - {name: error, expect: [{run: {error: {step: broken}}}]}
  - {name: not state, expect: [{run: {not: {state: finished}}}]}
  - {name: state by expression, expect: [{run: {that: "{{ value.state == 'failed' }}"}}]}
  - {name: wrong state, expect: [{run: finished}]}
`)
	want := map[string]result.Outcome{
		"not asked": "error", "of no weight": "error", "of tokens": "error", "of tokens by expression": "error", "of other things": "error",
		"state": "pass", "error": "pass", "not state": "pass", "state by expression": "pass", "wrong state": "fail",
	}
	if got := outcomes(r); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the outcomes are %v\nwant %v\n%s", got, want, lines(t, r))
	}
}

const surePass = `
-- a.yaml --
name: a
steps: [{id: answer, call: chat, with: {user: hello}}]
-- a.test.yaml --
cases: [{name: sure, repeat: 16, pass: {rate: 0.8, sure: true}, expect: [{output: answer, contains: a}]}]
`

// A pass that the repeats cannot meet is an error when the file is read, or with the repeats of the options, and
// never a fail.
func TestPassThatCannotBeMet(t *testing.T) {
	w := newWorld(t, nil)
	c := caseOf(t, w.runArchive(t, surePass), "sure")
	if c.Outcome != result.Error || c.Repeats[0].Problem == nil {
		t.Errorf("without a recording: %s", c.Outcome)
	}
	w.options.Repeat = 5
	c = caseOf(t, w.runArchive(t, surePass), "sure")
	if c.Outcome != result.Error || c.Problem == nil || !strings.Contains(c.Problem.Message, "5 repeats") || len(c.Repeats) > 0 {
		t.Errorf("with five repeats: %s, %+v", c.Outcome, c.Problem)
	}
	dir := unpack(t, surePass)
	loader := &suite.Loader{Flows: w.loader, Root: dir, Repeat: 5}
	s, problems := loader.Load(t.Context(), filepath.Join(dir, "a.test.yaml"))
	if s != nil || len(problems) != 1 || problems[0].Pos.Line != 1 || !strings.Contains(problems[0].Message, "at least 16 repeats") {
		t.Errorf("the problems are %v", problems)
	}
}

// TestCasesWithoutChecks: a case in which no check counts tests nothing, and does not pass. A case with some
// checked rows passes, and so does a case that another one looks at; a row that is not checked is counted.
func TestCasesWithoutChecks(t *testing.T) {
	const flow = `
-- a.yaml --
name: a
inputs: {type: object, properties: {n: {type: integer, default: 0}}}
steps: [{id: say, call: template, with: {template: hello}}, {id: answer, call: chat, with: {system: Be kind., user: hi}}]
`
	tests := map[string]struct {
		archive string
		counts  result.Counts
		english []string
		chinese string
	}{
		"cases": {
			archive: `
-- a.test.yaml --
defaults: {until: answer}
cases:
  - {name: none}
  - {name: not asked, expect: [{step: say.text, contains: x, when: "{{ false }}"}]}
  - {name: of no weight, expect: [{step: say.text, contains: x, weight: 0}]}
  - {name: checked, expect: [{step: say.text, contains: hello}]}
  - {name: looked at}
  - {name: looks, expect: [{prompt: answer, stable_prefix: {with: looked at, min_tokens: 1}}]}
  - {name: skipped, skip: true}
`,
			counts: result.Counts{Passed: 3, Skipped: 1, Errors: 3, Unchecked: 1},
			english: []string{
				": none: nothing is tested: the case has no checks\n", ": not asked: nothing is tested: no check was asked",
				": of no weight: nothing is tested: no check counts", ": looked at: no checks\n",
			},
			chinese: ": looked at: 没有检查\n",
		},
		"rows": {
			archive: `
-- a.test.yaml --
dataset: {file: rows.jsonl}
defaults: {until: answer}
cases:
  - {name: some, expect: [{step: say.text, contains: hello, when: "{{ inputs.n == 1 }}"}]}
  - {name: no row, expect: [{step: say.text, contains: hello, when: "{{ inputs.n == 3 }}"}]}
-- rows.jsonl --
{"n": 1}
{"n": 2}
`,
			counts:  result.Counts{Passed: 2, Errors: 2, Unchecked: 1},
			english: []string{": some #2: no checks\n", "2 passed, 2 not decided, 1 without checks", ": no row #1: nothing is tested"},
			chinese: "1 个没有检查",
		},
	}
	for name, test := range tests {
		r := newWorld(t, nil).runArchive(t, flow+test.archive)
		if got := r.Counts(); got != test.counts {
			t.Errorf("%s: %+v, want %+v\n%s", name, got, test.counts, lines(t, r))
		}
		for language, texts := range map[string][]string{"en": test.english, "zh": {test.chinese}} {
			text := printed(r, language)
			for _, want := range texts {
				if !strings.Contains(text, want) {
					t.Errorf("%s: %q is not in:\n%s", name, want, text)
				}
			}
			if strings.Contains(text, ": checked:") || strings.Contains(text, ": skipped:") {
				t.Error(text)
			}
		}
	}
}

// printed returns a run as a terminal shows it.
func printed(r *result.Run, language string) string {
	var out bytes.Buffer
	for _, s := range r.Suites {
		report.NewPrinter(&out, report.Options{Language: language}).PrintSuite(s)
	}
	return out.String()
}

// A threshold that no check counts towards is not reached, and that is reported.
func TestThresholdWithoutScore(t *testing.T) {
	r := newWorld(t, nil).runArchive(t, `
-- a.yaml --
name: a
steps: [{id: say, call: template, with: {template: hello}}]
-- a.test.yaml --
cases:
  - {name: weightless, threshold: 0.5, expect: [{step: say.text, equals: bye, weight: 0}]}
  - {name: counts, threshold: 0.5, expect: [{step: say.text, equals: bye, weight: 0}, {step: say.text, equals: hello}]}
`)
	if got := outcomes(r); got["weightless"] != result.Error || got["counts"] != result.Pass {
		t.Errorf("the outcomes are %v", got)
	}
	if p := caseOf(t, r, "weightless").Repeats[0].Problem; p == nil || !strings.Contains(p.Message, "no check counts") {
		t.Errorf("the problem is %+v", p)
	}
}

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

// A run that failed is only what a check makes of it where the check counts, and is about how the run ended.
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
  - {name: of other things, expect: [{that: "{{ steps is defined }}"}]}
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

// A pass that the repeats cannot meet is an error where the file is read, or with the repeats of the options, and never a fail.
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

// A case in which no check counts passes, and is counted as such.
func TestCasesWithoutChecks(t *testing.T) {
	r := newWorld(t, nil).runArchive(t, `
-- a.yaml --
name: a
steps: [{id: say, call: template, with: {template: hello}}]
-- a.test.yaml --
cases:
  - {name: none}
  - {name: not asked, expect: [{output: say, contains: x, when: "{{ false }}"}]}
  - {name: of no weight, expect: [{output: say, contains: x, weight: 0}]}
  - {name: checked, expect: [{output: say, contains: hello}]}
  - {name: skipped, skip: true}
`)
	want := result.Counts{Passed: 4, Skipped: 1, Unchecked: 3}
	if got := r.Counts(); got != want {
		t.Errorf("%+v, want %+v\n%s", got, want, lines(t, r))
	}
	for language, texts := range map[string][]string{"en": {"4 passed, 1 skipped, 3 without checks", ": none: no checks\n"}, "zh": {"3 个没有检查", ": none: 没有检查\n"}} {
		var out bytes.Buffer
		report.NewPrinter(&out, report.Options{Language: language}).PrintSuite(r.Suites[0])
		for _, text := range texts {
			if !strings.Contains(out.String(), text) {
				t.Errorf("%q is not in:\n%s", text, out.String())
			}
		}
		weightless := map[string]string{"en": ": of no weight: no check counts: their weight is 0\n", "zh": ": of no weight: 没有计入的检查：权重都为 0\n"}[language]
		if !strings.Contains(out.String(), weightless) || strings.Contains(out.String(), "output say contains") {
			t.Error(out.String())
		}
		out.Reset()
		p := report.NewPrinter(&out, report.Options{Language: language})
		p.Verbose = true
		p.PrintSuite(r.Suites[0])
		if n := strings.Count(out.String(), "output say contains"); n != 1 {
			t.Errorf("%d checks are told, not that of no weight alone:\n%s", n, out.String())
		}
		if strings.Contains(out.String(), "checked:") || strings.Contains(out.String(), "skipped:") {
			t.Error(out.String())
		}
	}
}

// A threshold that no check counts towards is not reached, and that is told.
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

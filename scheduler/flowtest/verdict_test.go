package flowtest_test

import (
	"fmt"
	"testing"

	"github.com/callnode/scheduler/scheduler/flowtest/result"
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
  - {name: of other things, expect: [{that: "{{ true }}"}]}
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

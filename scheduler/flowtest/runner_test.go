package flowtest_test

import (
	"strings"
	"testing"

	"github.com/callnode/scheduler/scheduler/flowtest/result"
)

const quickstartTests = `
defaults: {until: answer}
cases:
  - name: the keeper
    expect:
      - {prompt: answer, includes: {kind: world_book, name: The keeper}, in: {role: system}}
      - {prompt: answer, confined: {source: inputs.question, roles: [user]}}
  - name: wrong
    expect:
      - {prompt: answer, includes: {kind: world_book, name: The sailor}}
`

// The prompt of the quickstart is tested without a model.
func TestQuickstart(t *testing.T) {
	dir, path := copyFlows(t, quickstartTests)
	w := newWorld(t, nil)
	r := w.run(t, w.load(t, dir, path))
	if got := outcomes(r); got["the keeper"] != result.Pass || got["wrong"] != result.Fail {
		t.Errorf("the outcomes are %v\n%s", got, lines(t, r))
	}
	if !strings.HasPrefix(lines(t, r), `{"type":"case","file":"quickstart.test.yaml","name":"the keeper"`) {
		t.Error(lines(t, r))
	}
}

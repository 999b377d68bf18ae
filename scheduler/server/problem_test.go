package server

import (
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/scheduler/flow"
)

// TestProblemOfWrappedFlowErrors: the text of an error around the errors of a flow stays in the detail.
func TestProblemOfWrappedFlowErrors(t *testing.T) {
	problems := flow.Problems{{Message: "unknown call", Pos: flow.Position{File: "a.yaml", Line: 2, Col: 3}}}
	wrapped := problemOf(calls.Errorf(calls.Invalid, "the run cannot go on: %w", problems))
	if want := "the run cannot go on: " + problems.Error(); wrapped.Detail != want || len(wrapped.Errors) != 1 || wrapped.Errors[0].Line != 2 {
		t.Errorf("the problem is %+v, want the detail %q", wrapped, want)
	}
	if bare := problemOf(problems); bare.Detail != problems.Error() {
		t.Errorf("the detail is %q", bare.Detail)
	}
}

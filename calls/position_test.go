package calls_test

import (
	"errors"
	"testing"

	"github.com/callnode/scheduler/calls"
)

func TestAt(t *testing.T) {
	below := errors.New("unexpected end")
	err := calls.Errorf(calls.Invalid, "rendering: %w", &calls.PositionError{Pointer: "/template", Offset: 9, Line: 2, Col: 3, Err: below})
	if got, want := err.Error(), "rendering: template:2:3: unexpected end"; got != want || !errors.Is(err, below) {
		t.Errorf("got %q", got)
	}
}

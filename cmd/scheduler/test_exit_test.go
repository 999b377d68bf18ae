package main

import (
	"errors"
	"testing"
)

// A report that cannot be written is reported, whatever the results, and never leaves the exit code of a run that
// passed.
func TestWithFailure(t *testing.T) {
	failed := errors.New("the report was not written")
	for verdict, want := range map[error]int{
		nil: exitFailed, exitError{code: exitFailed}: exitFailed, exitError{code: exitUndecided}: exitFailed, exitError{code: exitInterrupted}: exitInterrupted,
	} {
		var exit exitError
		if err := withFailure(verdict, failed); !errors.As(err, &exit) || exit.code != want || !errors.Is(err, failed) {
			t.Errorf("%v: %v, want the exit code %d", verdict, err, want)
		}
		if err := withFailure(verdict, nil); !errors.Is(err, verdict) {
			t.Errorf("%v without a failure: %v", verdict, err)
		}
	}
}

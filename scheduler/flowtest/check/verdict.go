package check

import (
	"errors"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
)

// errorOf returns that something could not be decided because of an error.
func errorOf(err error) *verdict {
	var wrong *prompt.Error
	if errors.As(err, &wrong) {
		message, hint := wrong.Text()
		return &verdict{outcome: result.Error, message: message, hint: hint}
	}
	return &verdict{
		outcome: result.Error, message: wording.Text{En: calls.MessageIn(err, "en"), Zh: calls.MessageIn(err, "zh")},
		hint: wording.Text{En: calls.HintOf(err), Zh: calls.HintIn(err, "zh")},
	}
}

// failOf is errorOf for an error that means that the run went another way than was expected.
func failOf(err error) *verdict {
	v := errorOf(err)
	v.outcome = result.Fail
	return v
}

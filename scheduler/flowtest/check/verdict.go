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

// verdict is the decision of a matcher on a subject.
type verdict struct {
	outcome       result.Outcome
	score         *float64 // nil: 1 or 0
	message, hint wording.Text
	piece         pieceRef // nil: none
	diff          string
	note          wording.Text // of a pass that says little, see [result.Check]
	judge         *result.Judge
	// isUnfit: the subject is nothing that the matcher can look at, so that its opposite does not hold either.
	isUnfit bool
}

func pass() *verdict { return &verdict{outcome: result.Pass} }

// withNote adds why a pass says little.
func (v *verdict) withNote(format string, args ...any) *verdict {
	v.note = wording.Say(format, args...)
	return v
}

// failf returns a fail with a fact.
func failf(format string, args ...any) *verdict {
	return &verdict{outcome: result.Fail, message: wording.Say(format, args...)}
}

// unfitf returns a fail of a subject that the matcher cannot look at. It fails below not too.
func unfitf(format string, args ...any) *verdict {
	v := failf(format, args...)
	v.isUnfit = true
	return v
}

// errorf returns that something could not be decided.
func errorf(format string, args ...any) *verdict {
	return &verdict{outcome: result.Error, message: wording.Say(format, args...)}
}

// withHint adds the remedy.
func (v *verdict) withHint(format string, args ...any) *verdict {
	v.hint = wording.Say(format, args...)
	return v
}

// inCase adds that a verdict is on another case.
func (v *verdict) inCase(name string) *verdict {
	v.message = wording.Say("the case %q: %s", name, v.message)
	return v
}

func (v *verdict) withScore(score float64) *verdict {
	v.score = &score
	return v
}

// fill returns the result with the verdict in it.
func (v *verdict) fill(found result.Check, language string) result.Check {
	found.Outcome, found.Score, found.Judge = v.outcome, v.score, v.judge
	if v.outcome == result.Pass { // its message is for not
		found.Note = v.note.In(language)
		return found
	}
	if v.piece != nil {
		found.Piece = v.piece(language)
	}
	found.Diff = v.diff
	found.Message, found.Hint = v.message.In(language), v.hint.In(language)
	return found
}

// pieceRef names a piece in the reader's language.
type pieceRef func(language string) *result.PieceRef

// maxShown bounds how much of a text a message shows.
const maxShown = 120

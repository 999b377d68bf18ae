package scheduler

import (
	"cmp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/scheduler/journal"
)

// maxWarnings bounds how many warnings an attempt of a step may give.
const maxWarnings = 100

// warner makes events of the warnings of a task.
type warner struct{ task *task }

var _ calls.Warner = warner{}

// Warn tells the warning. Its source is a place in the flow where the call names none.
func (w warner) Warn(warning calls.Warning) {
	t := w.task
	switch n := t.warned.Add(1); {
	case n > maxWarnings:
		return
	case n == maxWarnings:
		warning = calls.Warning{Code: "more", Text: "there are more warnings"}
	}
	n := newPendingEvent(journal.StepWarning)
	n.data.Code, n.data.Text = warning.Code, t.run.secrets.maskText(warning.Text)
	n.data.Source = t.run.secrets.maskText(cmp.Or(warning.Source, t.placeOf(warning.Pointer)))
	t.emit(n)
}

// placeOf returns the place in the flow of a parameter, by its JSON pointer; "" is the
// step. What a step runs inside itself has parameters that no flow has.
func (t *task) placeOf(pointer string) string {
	if pointer != "" && t.around == nil && t.step.With != nil {
		return t.step.With.PosAt(pointer).String()
	}
	return t.step.Pos.String()
}

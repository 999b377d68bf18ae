package scheduler

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

const (
	// maxWarnings bounds how many warnings an attempt of a step may give.
	maxWarnings = 100
	// maxWarnedPaths bounds the characters of the paths in the message of a strict run.
	maxWarnedPaths = 300
)

// Warn makes an event of a warning. Its source is a place in the flow if the call names none.
func (t *task) Warn(warning calls.Warning) {
	count := t.warned.Add(1)
	if count > maxWarnings {
		return
	}
	if count == maxWarnings {
		warning = calls.Warning{Code: "more", Text: "there are more warnings"}
	}
	t.run.warned.add(t.path())
	n := newPendingEvent(journal.StepWarning)
	n.data.Code, n.data.Text = warning.Code, t.run.secrets.maskText(warning.Text)
	n.data.Source = t.run.secrets.maskText(cmp.Or(warning.Source, t.placeOf(warning.Pointer)))
	t.emit(n)
}

// forgetWarnings begins an attempt: an earlier one's warnings do not count.
func (t *task) forgetWarnings() {
	t.warned.Store(0)
	t.run.warned.remove(t.path())
}

// ErrStrict is the failure of a strict run that has done all its steps. Resuming it cannot help: finished steps do
// not run again.
var ErrStrict = wording.Errorf("the run is strict")

// strictFailure returns why a strict run fails that has done all its steps; nil if none has given a warning or
// failed, or the run is not strict.
func (r *run) strictFailure() *Failure {
	if !r.exec.Strict || r.outer != nil {
		return nil
	}
	w := &r.warned
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.paths) == 0 {
		return nil
	}
	paths := strings.Join(slices.Sorted(maps.Keys(w.paths)), ", ")
	err := calls.Errorf(calls.Invalid, "%w, and steps gave warnings: %s", ErrStrict, value.Truncate(paths, maxWarnedPaths)).
		WithHint("mend what they warn of, or begin the run without --strict")
	return r.failureOf(err, flow.Position{File: r.flow.File, Line: 1, Col: 1})
}

// placeOf returns the place in the flow of a parameter, by its JSON pointer; "" is the step. Parts that a step
// runs inside itself have parameters that no flow contains.
func (t *task) placeOf(pointer string) string {
	if pointer != "" && t.around == nil && t.step.With != nil {
		return t.run.placeText(t.step.With.PosAt(pointer))
	}
	return t.run.placeText(t.step.Pos)
}

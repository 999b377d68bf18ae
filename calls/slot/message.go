package slot

import (
	"slices"

	"github.com/callnode/scheduler/llm/value"
)

// defaultStage takes the defaults of the schema.
const defaultStage = "default"

// takeMessage is the [calls.Definition.TakeMessage] of the call: params without a stage only check.
func takeMessage(params value.Value, asked, message string) (value.Value, bool) {
	stages, given := params.Get("stages")
	if given && !slices.ContainsFunc(stages.List(), isModelStage) {
		return params, false
	}
	m := params.Map().Clone()
	m.Delete("message")
	m.Delete("asked")
	if message != "" {
		m.Set("message", value.OfString(message))
	}
	if message != "" && asked != "" {
		m.Set("asked", value.OfString(asked))
	}
	return value.OfMap(m), true
}

// isModelStage reports whether a stage is not the default one.
func isModelStage(stage value.Value) bool {
	name, _ := stage.Str()
	return name != defaultStage
}

// stagesToRun returns the stages in turn; the default one comes last by itself. A message of the
// user is read by the first stage only.
func (p Params) stagesToRun() []string {
	if len(p.Stages) == 0 {
		return nil
	}
	switch {
	case p.Message != "":
		return []string{p.Stages[0], defaultStage}
	case p.Resumed:
		return []string{defaultStage}
	}
	return append(slices.Clip(p.Stages), defaultStage)
}

// maxTrials returns how often the model may correct itself: a message of the user is read once.
func (w *Work) maxTrials() int {
	if w.params.Message != "" {
		return 1
	}
	return maxAttempts
}

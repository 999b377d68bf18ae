package check

import (
	"strconv"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/journal"
)

// subjectKind is the kind of thing that a check is about: the key of its item.
type subjectKind string

// The subjects. An item with that alone has none.
const (
	noSubject        subjectKind = ""
	outputSubject    subjectKind = "output"
	stepSubject      subjectKind = "step"
	promptSubject    subjectKind = "prompt"
	requestSubject   subjectKind = "request"
	eventSubject     subjectKind = "event"
	toolsSubject     subjectKind = "tools"
	retrievedSubject subjectKind = "retrieved"
	runSubject       subjectKind = "run"
)

// subjectKinds lists the subjects. step, which is also a key beside others, comes last.
func subjectKinds() []subjectKind {
	return []subjectKind{outputSubject, promptSubject, requestSubject, eventSubject, toolsSubject, retrievedSubject, runSubject, stepSubject}
}

// The subjects that matchers are for.
var (
	dataSubjects = []subjectKind{outputSubject, stepSubject, requestSubject}
	textSubjects = []subjectKind{outputSubject, stepSubject, promptSubject, requestSubject}
	anySubject   = []subjectKind{noSubject, outputSubject, stepSubject, promptSubject, requestSubject, eventSubject, toolsSubject, retrievedSubject, runSubject}
)

// label returns the subject as messages name it.
func (k subjectKind) label() wording.Text {
	if k == noSubject {
		return wording.Say("a check without a subject")
	}
	return wording.Same(string(k))
}

// subjectKeys are the keys beside a subject that belong to it.
func (k subjectKind) keys() []string {
	switch k { //nolint:exhaustive // the others have none
	case promptSubject, requestSubject:
		return []string{"round"}
	case eventSubject:
		return []string{"step"}
	}
	return nil
}

// parsedSubject is the subject of an item. It does not change.
type parsedSubject struct {
	kind subjectKind
	text string // as the item names it
	// step is the id of the step, path leads to a value below it, or below the outputs.
	step string
	path []string
	// round is the round of an agent, from 1; 0 is not given.
	round int
	event journal.EventType
	// runKeys are the matchers below run, runNot is the not there.
	runKeys []member
	runNot  *yaml.Node
}

// String returns the subject as people write it.
func (s *parsedSubject) String() string {
	if s.kind == noSubject || s.kind == runSubject {
		return string(s.kind)
	}
	if s.round > 0 {
		return string(s.kind) + " " + s.text + " round " + strconv.Itoa(s.round)
	}
	return string(s.kind) + " " + s.text
}

// subject is the thing in an evidence that a check looks at. Each evaluation makes its own.
type subject struct {
	*parsedSubject
	of *Evidence
	// value is the value of an output or a step.
	value value.Value
	// prompts are those that the check is about: one, or all that the step sent, oldest first.
	prompts []*explain.Explanation
	// sent are all prompts of the step, if the check is about the prompt of one round.
	sent   []*explain.Explanation
	events []*journal.Event
	uses   []toolUse
	ids    []string
}

// lastPrompt returns the prompt that was sent last, which has the whole conversation.
func (s *subject) lastPrompt() *explain.Explanation { return s.prompts[len(s.prompts)-1] }

// absentStep says why a run has nothing of a step: a fail if the run took another way, an error if the step does
// not exist.
func absentStep(e *Evidence, id string) *verdict {
	if run := e.Record.Error; run != nil {
		return failf("the step %s has no output: the run failed: %s", id, run.Message).withHint("%s", wording.Of(run.Hint))
	}
	if len(e.Record.Waiting) > 0 {
		return failf("the step %s has no output: the run waits for %s", id, e.Record.Waiting[0].Step)
	}
	if _, ok := explain.MayRun(e.Flow, id); !ok {
		return errorOf(calls.Errorf(calls.NotFound, "the flow %s has no step %q", e.Flow.Name, id))
	}
	return failf("the step %s has not run", id)
}

// toolUse is one use of a tool by an agent.
type toolUse struct {
	name      string
	arguments string // as the model wrote them
	err       string
	isNotRun  bool // it was asked for, and refused, or could not be run
}

// args returns the arguments as a value; a text if they are not JSON.
func (u toolUse) args() value.Value { return parsedOrText([]byte(u.arguments)) }

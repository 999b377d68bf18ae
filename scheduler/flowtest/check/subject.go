package check

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/journal"
)

// subjectKind is what a check is about: the key of its item.
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

// subjectKinds lists the subjects. One that another has as a key beside it comes after that.
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
	// step is the id of the step, path what is looked at below it, or below the outputs.
	step string
	path []string
	// round is the round of an agent, from 1; 0 is not given.
	round int
	event journal.EventType
	// runKeys are the matchers that stand under run, runNot is the not there.
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

// matcherNodes lists the members of the item that are matchers, or belong to one, in the order of the file.
func (s *parsedSubject) matcherNodes(p *parser) (list []member) {
	own := append(slices.Clone(itemKeys), string(s.kind))
	own = append(own, s.kind.keys()...)
	for i := 0; i+1 < len(p.item.Content); i += 2 {
		name := yaml.Resolve(p.item.Content[i]).Value
		if !slices.Contains(own, name) {
			list = append(list, member{name, p.item.Content[i], p.item.Content[i+1]})
		}
	}
	return append(s.runKeys, list...)
}

// parseSubject finds the subject of the item; nil where it has none that can be read.
func (p *parser) parseSubject(keys map[string]member) *parsedSubject {
	var found []member
	kind := noSubject
	for _, k := range subjectKinds() {
		m, ok := keys[string(k)]
		if belongs := slices.Contains(kind.keys(), string(k)); belongs || !ok {
			continue
		}
		found = append(found, m)
		if kind == noSubject {
			kind = k
		}
	}
	if len(found) > 1 {
		p.report(found[1].key, wording.Say("a check has one subject, and %s is one already", found[0].name), wording.Say("write a check of its own for %s", found[1].name))
		return nil
	}
	_, hasThat := keys["that"]
	if len(found) == 0 && !hasThat {
		p.reportNoSubject()
		return nil
	}
	s := &parsedSubject{kind: kind}
	before := len(p.problems)
	p.readSubject(s, keys)
	if len(p.problems) > before {
		return nil
	}
	return s
}

// reportNoSubject reports an item without a subject, and a key that was probably meant to be one.
func (p *parser) reportNoSubject() {
	names := make([]string, 0, len(subjectKinds()))
	for _, k := range subjectKinds() {
		names = append(names, string(k))
	}
	for i := 0; i+1 < len(p.item.Content); i += 2 {
		key := yaml.Resolve(p.item.Content[i])
		if near := value.Nearest(key.Value, names); near != "" && len(subjectsOf(key.Value)) == 0 && !slices.Contains(itemKeys, key.Value) {
			p.report(p.item.Content[i], wording.Say("unknown subject %q", key.Value), nearHint(key.Value, names))
			return
		}
	}
	p.report(p.item, wording.Say("the check has no subject"), wording.Say("there are %s; or write that: with an expression", strings.Join(names, ", ")))
}

// readSubject reads what the key of the subject, and those beside it, have.
func (p *parser) readSubject(s *parsedSubject, keys map[string]member) {
	if s.kind == noSubject {
		return
	}
	m := keys[string(s.kind)]
	if s.kind == runSubject {
		p.readRun(s, m)
		return
	}
	text, ok := p.valueOf(m.value).Str()
	if !ok || text == "" {
		p.report(m.value, wording.Say("%s must name what it is about, as a text", string(s.kind)), wording.Text{})
		return
	}
	s.text = text
	switch s.kind {
	case outputSubject:
		p.readOutputPath(s, m.value)
	case stepSubject:
		p.readStepPath(s, m.value)
	case requestSubject:
		p.readRequest(s, m.value)
	case eventSubject:
		p.readEvent(s, m.value, keys)
	default:
		s.step = text
		p.checkStep(m.value, text)
	}
	if round, ok := keys["round"]; ok && slices.Contains(s.kind.keys(), "round") {
		p.readRound(s, round.value)
	}
}

func (p *parser) readRound(s *parsedSubject, n *yaml.Node) {
	v := p.valueOf(n)
	number, ok := v.Int()
	if !ok || number < 1 {
		p.report(n, wording.Say("round must be a whole number from 1, not %s", value.Truncate(v.JSON(), 40)), wording.Text{})
	}
	s.round = int(number)
}

// checkStep reports a step that a flow does not have.
func (p *parser) checkStep(n *yaml.Node, id string) {
	for _, f := range p.scope.Flows {
		if known, ok := explain.MayRun(f, id); !ok {
			p.problems = append(p.problems, newProblem(p.positionIn(n, 0), wording.Say("the flow %s has no step %q", f.Name, id), nearHint(id, known)))
			return
		}
	}
}

// subject is what a check looks at in an evidence. Each evaluation makes its own.
type subject struct {
	*parsedSubject
	of *Evidence
	// value is that of an output or a step.
	value value.Value
	// prompts are those that the check is about: one, or all that the step sent, oldest first.
	prompts []*explain.Explanation
	// sent are all prompts of the step, where the check is about one of a round.
	sent   []*explain.Explanation
	events []*journal.Event
	uses   []toolUse
	ids    []string
}

// lastPrompt returns the prompt that was sent last, which has the whole conversation.
func (s *subject) lastPrompt() *explain.Explanation { return s.prompts[len(s.prompts)-1] }

// asText returns the subject as matchers of text, judges and plugins see it: JSON where it is not a text.
func (s *subject) asText() string {
	switch s.kind { //nolint:exhaustive // the others are values
	case promptSubject:
		return promptText(s.lastPrompt())
	case eventSubject, toolsSubject, retrievedSubject, runSubject:
		return s.asValue().JSON()
	}
	return textOf(s.value)
}

// asValue returns the subject as expressions and matchers of data see it.
func (s *subject) asValue() value.Value {
	switch s.kind { //nolint:exhaustive // the others are values
	case promptSubject:
		return messagesValue(s.lastPrompt())
	case eventSubject:
		return eventsValue(s.events)
	case toolsSubject:
		return usesValue(s.uses)
	case retrievedSubject:
		return idsValue(s.ids)
	case runSubject:
		return runValue(s.of)
	}
	return s.value
}

// resolve finds the subject in an evidence; failed tells why it is not there. That it is not
// there is never a pass, not under not either.
func (s *parsedSubject) resolve(ctx context.Context, e *Evidence) (of *subject, failed *verdict) {
	of = &subject{parsedSubject: s, of: e}
	return of, of.find(ctx)
}

// find sets what the subject is in its evidence.
func (s *subject) find(ctx context.Context) *verdict {
	switch s.kind {
	case outputSubject:
		return s.resolveOutput()
	case stepSubject:
		return s.resolveStep()
	case promptSubject:
		return s.resolvePrompt(ctx)
	case requestSubject:
		return s.resolveRequest(ctx)
	case eventSubject:
		return s.resolveEvents()
	case toolsSubject:
		return s.resolveTools()
	case retrievedSubject:
		return s.resolveRetrieved()
	case runSubject, noSubject:
	}
	return nil
}

// absentStep tells why a run has nothing of a step: a fail if the run took another way, an error if the
// step does not exist.
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

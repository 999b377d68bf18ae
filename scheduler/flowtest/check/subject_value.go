package check

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// readOutputPath reads a path into the outputs: reply, answer.items[0].name, or a JSON pointer.
func (p *parser) readOutputPath(s *parsedSubject, n *yaml.Node) {
	path, ok := splitPath(s.text)
	if !ok {
		p.reportPath(n, s.text)
		return
	}
	s.path = path
	for _, f := range p.scope.Flows {
		known, isKnown := outputNames(f)
		if isKnown && len(path) > 0 && !slices.Contains(known, path[0]) {
			p.problems = append(p.problems, flow.NewProblem(p.positionIn(n, 0), wording.Say("the flow %s has no output %q", f.Name, path[0]), nearHint(path[0], known)))
			return
		}
	}
}

// readStepPath reads a path into the output of a step: answer.text, each[3].name, outer/inner.text, or a step and
// a JSON pointer: answer:/text.
func (p *parser) readStepPath(s *parsedSubject, n *yaml.Node) {
	id, rest := cutStep(s.text)
	path, ok := splitPath(rest)
	if !ok {
		p.reportPath(n, s.text)
		return
	}
	s.step, s.path = id, path
	p.checkStep(n, id)
}

func (p *parser) reportPath(n *yaml.Node, path string) {
	p.report(n, wording.Say("%q is not a path", value.Truncate(path, 60)), wording.Say("write it as items[0].name, or as a JSON pointer: /items/0/name"))
}

// outputNames lists the outputs of a flow; ok is false if they are only known after a run.
func outputNames(f *flow.Flow) (names []string, ok bool) {
	if f.Outputs == nil || f.Outputs.Map == nil {
		return nil, false
	}
	for _, m := range f.Outputs.Map {
		names = append(names, m.Key)
	}
	return names, true
}

// cutStep cuts the id of a step, which may have / and [3] in it, off the path after it.
func cutStep(text string) (id, path string) {
	if id, pointer, ok := strings.Cut(text, ":/"); ok {
		return id, "/" + pointer
	}
	slash := strings.LastIndexByte(text, '/') + 1
	end := strings.IndexByte(text[slash:], '.')
	if end < 0 {
		return text, ""
	}
	return text[:slash+end], text[slash+end+1:]
}

// splitPath returns the keys and numbers of a path, or of a JSON pointer. "" is the whole.
func splitPath(text string) (path []string, ok bool) {
	if text == "" {
		return nil, true
	}
	if strings.HasPrefix(text, "/") {
		return flow.PointerTokens(text), true
	}
	for part := range strings.SplitSeq(text, ".") {
		name, indexes, isIndexed := strings.Cut(part, "[")
		if name == "" {
			return nil, false
		}
		path = append(path, name)
		if !isIndexed {
			continue
		}
		if !strings.HasSuffix(indexes, "]") {
			return nil, false
		}
		for index := range strings.SplitSeq(strings.TrimSuffix(indexes, "]"), "][") {
			if index == "*" {
				path = append(path, anyItem)
				continue
			}
			if index == "" || strings.Trim(index, "0123456789") != "" {
				return nil, false
			}
			path = append(path, index)
		}
	}
	return path, true
}

// resolveOutput finds the output of the flow.
func (s *subject) resolveOutput() *verdict {
	outputs := s.of.Record.Outputs
	if outputs.IsNull() {
		return absentOutputs(s.of)
	}
	return s.descend(outputs, wording.Say("the outputs"))
}

// absentOutputs says why a run has no outputs.
func absentOutputs(e *Evidence) *verdict {
	r := e.Record
	if r.Error != nil {
		return failf("the flow has no outputs: it failed: %s", r.Error.Message).withHint("%s", wording.Of(r.Error.Hint))
	}
	if len(r.Waiting) > 0 {
		return failf("the flow has no outputs: it waits for values of the step %s", r.Waiting[0].Step).withHint("give them under answers, or check run: {waits_for: ...}")
	}
	return failf("the flow has no outputs: it did not come to its end").withHint("set until: end, or check the step")
}

// resolveStep finds the output of a step or of an item.
func (s *subject) resolveStep() *verdict {
	got := s.of.Record.Step(s.step)
	if got == nil {
		return absentStep(s.of, s.step)
	}
	switch got.State { //nolint:exhaustive // the others may have no output yet
	case journal.StepStatusSkipped:
		return failf("the step %s was skipped: %s", s.step, wording.Of(got.Reason))
	case journal.StepStatusFailed, journal.StepStatusCancelled:
		if got.Error != nil {
			return failf("the step %s failed: %s", s.step, got.Error.Message).withHint("%s", wording.Of(got.Error.Hint))
		}
	case journal.StepStatusFinished:
		return s.descend(got.Output, wording.Same(s.step))
	}
	if got.Output.IsNull() {
		return absentStep(s.of, s.step)
	}
	return s.descend(got.Output, wording.Same(s.step))
}

// descend sets the value that the path leads to from a value.
func (s *subject) descend(v value.Value, of wording.Text) *verdict {
	at := ""
	for _, token := range s.path {
		next, ok := v.At("/" + value.Escape(token))
		if !ok {
			return absentMember(v, at, token, of)
		}
		v, at = next, at+"/"+value.Escape(token)
	}
	s.value = v
	return nil
}

// absentMember says that a value has no such member.
func absentMember(v value.Value, at, token string, of wording.Text) *verdict {
	where := of
	if at != "" {
		where = wording.Say("%s %s", of, at)
	}
	switch v.Kind() {
	case value.Object:
		failed := failf("%s has no %q", where, token)
		failed.hint = nearHint(token, v.Map().Keys())
		return failed
	case value.List:
		return failf("%s has %s, and no %q", where, wording.Count(len(v.List()), "item"), token)
	}
	return failf("%s is %s, and has no %q", where, wording.TypeName(v.Kind().String()), token)
}

// stepOutputs returns the outputs of all steps by their ids.
func stepOutputs(record *journal.RunState) value.Value {
	m := value.NewMap(len(record.Steps))
	for _, s := range record.Steps {
		if !s.Output.IsNull() {
			m.Set(s.ID, s.Output)
		}
	}
	return value.OfMap(m)
}

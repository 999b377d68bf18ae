package suite

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flowtest/files"
	"github.com/callnode/scheduler/scheduler/journal"
)

// readState reads the steps that have ended before the run begins: their outputs, or the events of a run.
func (c *caseReader) readState() {
	pointer := c.place("state")
	if file, isFile := c.settings.State.Str(); isFile {
		c.readStateFile(pointer, file)
	}
	for id, output := range c.settings.State.Map().All() {
		c.readEnded(pointer+"/"+value.Escape(id), id, output)
	}
	c.checkUntilHasNotEnded()
}

// readEnded reads one step and its output.
func (c *caseReader) readEnded(pointer, id string, output value.Value) {
	pos := c.keyAt(pointer)
	if strings.ContainsAny(id, "/[") {
		c.reportOnce(pos, wording.Say("the step %s cannot have ended alone: the step around it has not", id), wording.Say("give the output of the whole step, or mocks: {%s: ...}", id))
		return
	}
	steps := c.stepsCalled(id)
	if len(steps) == 0 {
		c.checkStep(pos, id)
		return
	}
	for _, s := range steps {
		if doc := wholeOutputOf(s); !doc.IsNull() {
			output = c.checkEnded(pointer, output, doc)
		}
	}
	pos.File = c.file
	c.state = append(c.state, EndedStep{Pos: pos, Step: id, Output: output})
}

// wholeOutputOf returns the schema of a step's output as other steps see it.
func wholeOutputOf(s *flow.Step) value.Value {
	if s.ForEach == nil {
		return outputOf(s)
	}
	return s.Output
}

// readStateFile reads the events of a run: steps that had ended in it have ended here, and its inputs become the
// case's.
func (c *caseReader) readStateFile(pointer, file string) {
	path, content, err := c.folder().Read(file)
	if err != nil {
		hint := files.Hint(err)
		if hint.En == "" {
			hint = wording.Say("write it with: scheduler runs events RUN > %s", file)
		}
		c.reportOnce(c.at(pointer), wording.Say("cannot read %s: %w", file, calls.WithoutPath(err)), hint)
		return
	}
	c.otherFiles[path] = true
	if !c.checkText(path, content) {
		return
	}
	record, ok := c.foldEvents(path, content)
	if !ok {
		return
	}
	c.recorded = record.Inputs.Map()
	for _, s := range record.Steps {
		hasEnded := s.State == journal.StepStatusFinished || s.State == journal.StepStatusSkipped
		if !hasEnded || strings.Contains(s.ID, "/") {
			continue
		}
		pos := c.at(pointer)
		if len(c.stepsCalled(s.ID)) == 0 {
			c.reportOnce(pos, wording.Say("the run in %s has a step %q, and the flow has none", file, s.ID), wording.Say("record a run of the flow as it is now: scheduler runs events RUN > %s", file))
			continue
		}
		pos.File = c.file
		c.state = append(c.state, EndedStep{
			Pos: pos, Step: s.ID, Input: s.Input, Output: s.Output, IsSkipped: s.State == journal.StepStatusSkipped, Reason: s.Reason,
		})
	}
}

// foldEvents returns the state of a run from the lines of a file of events.
func (r *reader) foldEvents(path string, content []byte) (record *journal.RunState, ok bool) {
	record = journal.NewRunState()
	hint := wording.Say("write it with: scheduler runs events RUN > %s", filepath.Base(path))
	line := 0
	for text := range bytes.Lines(value.WithoutMark(content)) {
		line++
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		pos := flow.Position{File: path, Line: line, Col: 1}
		ev := &journal.Event{}
		if err := json.Unmarshal(text, ev); err != nil {
			r.reportOnce(pos, wording.Say("the line is not an event of a run: %w", err), hint)
			return nil, false
		}
		if record.LastSeq == 0 && ev.Type != journal.FlowStarted {
			r.reportOnce(pos, wording.Say("the events do not begin with %s", string(journal.FlowStarted)), hint)
			return nil, false
		}
		record.Add(ev)
	}
	if record.LastSeq == 0 {
		r.reportOnce(flow.Position{File: path, Line: 1, Col: 1}, wording.Say("the file has no events"), hint)
	}
	return record, record.LastSeq > 0
}

// checkUntilHasNotEnded reports a case that stops at a step which does not run.
func (c *caseReader) checkUntilHasNotEnded() {
	first, _, _ := strings.Cut(c.settings.Until, "/")
	first, _, _ = strings.Cut(first, "[")
	has := slices.ContainsFunc(c.state, func(ended EndedStep) bool { return ended.Step == first })
	if has {
		c.reportOnce(c.at(c.place("until")), wording.Say("the run cannot stop at %s, which has ended in state", c.settings.Until), wording.Say("take %s out of state", first))
	}
}

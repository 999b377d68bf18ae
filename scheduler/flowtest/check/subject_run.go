package check

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler/journal"
)

// readRun reads run: {state: failed, ...}, whose members are matchers, or the short form run: failed.
func (p *parser) readRun(s *parsedSubject, m member) {
	node := yaml.Resolve(m.value)
	switch {
	case node.Kind == yaml.Mapping:
		s.runKeys = membersOf(node)
		if i := slices.IndexFunc(s.runKeys, func(m member) bool { return m.name == "not" }); i >= 0 {
			s.runNot = s.runKeys[i].value
			s.runKeys = slices.Delete(s.runKeys, i, i+1)
		}
	case p.valueOf(m.value).Kind() == value.String:
		s.runKeys = []member{{"state", m.key, m.value}}
	default:
		p.report(m.value, wording.Say("run takes a state, or a map of matchers"), wording.Say("write run: finished, or run: {state: failed, error: {kind: budget}}"))
	}
}

// runValue returns a run as expressions see it.
func runValue(e *Evidence) value.Value {
	r := e.Record
	m := value.Pairs("state", string(r.State), "tokens", r.Usage.Total(), "input_tokens", r.Usage.InputTokens, "output_tokens", r.Usage.OutputTokens,
		"warnings", len(r.Warnings))
	if e.PriceKnown {
		m.Set("cost", value.OfFloat(r.Usage.Cost))
	}
	if e.MS != nil {
		m.Set("ms", value.OfFloat(*e.MS))
	}
	if r.Error != nil {
		m.Set("error", value.OfMap(value.Pairs("kind", string(r.Error.Kind), "message", r.Error.Message, "step", r.Error.Step)))
	}
	waiting := make([]value.Value, len(r.Waiting))
	for i, w := range r.Waiting {
		waiting[i] = value.OfMap(value.Pairs("step", w.Step, "pointers", w.Pointers()))
	}
	m.Set("waiting", value.OfList(waiting...))
	return value.OfMap(m)
}

// resolveTools lists the tool requests of an agent, or a chat, in order.
func (s *subject) resolveTools() *verdict {
	got := s.of.Record.Step(s.step)
	if got == nil || got.State == journal.StepStatusSkipped {
		return absentStep(s.of, s.step)
	}
	rounds, isAgent := got.Output.Get("rounds")
	list, isChat := got.Output.Get("tool_calls")
	switch {
	case isAgent:
		for _, round := range rounds.List() {
			used, _ := round.Get("tool_calls")
			s.uses = append(s.uses, usesOf(used)...)
		}
	case isChat:
		s.uses = usesOf(list)
	default:
		s.uses = s.usesOnRecord(got)
		if s.uses == nil && got.State != journal.StepStatusFinished {
			return absentStep(s.of, s.step)
		}
		if s.uses == nil && !s.of.usesTools(got) {
			return errorOf(calls.Errorf(calls.Invalid, "the step %s (%s) has no tools", s.step, got.Call).WithHint("name a step of agent, or of chat with tools"))
		}
	}
	return nil
}

// usesTools reports whether the step has run a call that offers tools to its model.
func (e *Evidence) usesTools(got *journal.StepState) bool {
	def, isKnown := e.Flow.FindCall(got.Call)
	return isKnown && def.Tools != nil
}

// usesOnRecord lists the tools that an agent, which did not come to its end, had asked for. Those that ran are steps inside it.
func (s *subject) usesOnRecord(got *journal.StepState) (uses []toolUse) {
	counts := map[string]int{}
	for _, inside := range s.of.Record.StepsInside(got) {
		list, ok := inside.Output.Get("tool_calls")
		if !ok || !strings.Contains(inside.ID, "/round-") {
			continue
		}
		for _, u := range usesOf(list) {
			name := calls.ToolSubstep(u.name)
			counts[name]++
			use := s.of.Record.Step(got.ID + "/" + name + "-" + strconv.Itoa(counts[name]))
			u.isNotRun = use == nil || isTrue(use.Output, "not_run")
			uses = append(uses, u)
		}
	}
	return uses
}

// usesOf reads tool calls in the form of agent, or of chat.
func usesOf(list value.Value) (uses []toolUse) {
	for _, v := range list.List() {
		if inner, ok := v.Get("function"); ok {
			v = inner
		}
		uses = append(uses, toolUse{name: textMember(v, "name"), arguments: textMember(v, "arguments"), err: textMember(v, "error"), isNotRun: isTrue(v, "not_run")})
	}
	return uses
}

// usesValue returns uses of tools as expressions see them.
func usesValue(uses []toolUse) value.Value {
	items := make([]value.Value, len(uses))
	for i, u := range uses {
		items[i] = value.OfMap(value.Pairs("name", u.name, "args", u.args(), "error", u.err, "ran", !u.isNotRun))
	}
	return value.OfList(items...)
}

// resolveRetrieved lists the ids of the memories that a step has found, best first.
func (s *subject) resolveRetrieved() *verdict {
	got := s.of.Record.Step(s.step)
	if got == nil || got.State == journal.StepStatusSkipped {
		return absentStep(s.of, s.step)
	}
	list, ok := got.Output.Get("relevant_memories")
	if !ok {
		if got.State != journal.StepStatusFinished {
			return absentStep(s.of, s.step)
		}
		return errorOf(calls.Errorf(calls.Invalid, "the step %s (%s) retrieves no memories", s.step, got.Call).WithHint("name a step of memory-retrieve"))
	}
	s.ids = []string{}
	for _, m := range list.List() {
		id := textMember(m, "memory_id")
		s.ids = append(s.ids, cmp.Or(s.of.MemoryNames[id], id))
	}
	return nil
}

func idsValue(ids []string) value.Value {
	items := make([]value.Value, len(ids))
	for i, id := range ids {
		items[i] = value.OfString(id)
	}
	return value.OfList(items...)
}

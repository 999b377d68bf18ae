package scheduler

import (
	"slices"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
)

// adopt holds an edited flow against the one that the run had. Steps that finished
// must be the same; what has become of the others is forgotten where they changed.
func (s *RunState) adopt(before, after *Flow) error { return s.adoptIn("", before, after) }

func (s *RunState) adoptIn(prefix string, before, after *Flow) error {
	for _, was := range before.Steps {
		id := prefix + was.ID
		is, ok := after.Step(was.ID)
		st := s.Step(id)
		if st == nil {
			continue
		}
		same := ok && value.Equal(was.canon(before), is.canon(after))
		switch {
		case st.State == StepStatusFinished:
			if !same || was.Sub != nil && !value.Equal(was.Sub.canon(), is.Sub.canon()) {
				return calls.Errorf(calls.Invalid, "the step %s has finished, and the edited flow changes it", id).
					WithHint("leave it as it was, or run the flow anew")
			}
		case !same:
			s.forget(id)
		case was.Sub != nil:
			for _, path := range s.running(id) {
				if err := s.adoptIn(path+"/", was.Sub, is.Sub); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// running are the tasks of a step: itself, and its items.
func (s *RunState) running(id string) []string {
	paths := []string{id}
	for _, item := range s.Step(id).Items {
		paths = append(paths, item.ID)
	}
	return paths
}

// canon is all of a step that decides about its output, without positions.
func (s *Step) canon(f *Flow) value.Value {
	needs := make([]string, len(s.Needs))
	for i, n := range s.Needs {
		needs[i] = f.Steps[n].ID
	}
	slices.Sort(needs)
	return value.OfMap(value.Pairs(
		"id", s.ID, "call", s.Call, "needs", needs, "implicit", s.Implicit,
		"when", s.When.canon(), "with", s.With.canon(), "for_each", s.ForEach.canon(),
		"filling", s.EnableFilling, "override", s.OverrideInput, "missing", s.OnMissing, "continue", s.Continue,
	))
}

// canon is all of a flow that decides about its outputs.
func (f *Flow) canon() value.Value {
	if f == nil {
		return value.Value{}
	}
	steps := make([]value.Value, len(f.Steps))
	for i, s := range f.Steps {
		steps[i] = value.OfList(s.canon(f), s.Sub.canon())
	}
	return value.OfMap(value.Pairs(
		"inputs", f.Inputs.Doc(), "steps", value.OfList(steps...), "outputs", f.Outputs.canon(),
		"user", f.User.canon(), "session", f.Session.canon(), "language", f.Language, "llm", f.LLM,
	))
}

// canon is what a param says.
func (p *Param) canon() value.Value {
	switch {
	case p == nil:
		return value.Value{}
	case p.Expr != nil:
		return value.OfMap(value.Pairs("expression", p.source))
	case p.Text != nil:
		return value.OfMap(value.Pairs("template", p.source))
	case p.Map != nil:
		m := value.NewMap(len(p.Map))
		for _, member := range p.Map {
			m.Set(member.Key, member.canon())
		}
		return value.OfMap(value.Pairs("map", m))
	case p.List != nil:
		items := make([]value.Value, len(p.List))
		for i, item := range p.List {
			items[i] = item.canon()
		}
		return value.OfMap(value.Pairs("list", value.OfList(items...)))
	}
	return value.OfMap(value.Pairs("literal", p.Literal))
}

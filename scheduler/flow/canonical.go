package flow

import (
	"slices"

	"github.com/callnode/scheduler/llm/value"
)

// Canonical returns all of a step that decides about its output, without positions.
func (s *Step) Canonical(f *Flow) value.Value {
	needs := make([]string, len(s.Needs))
	for i, n := range s.Needs {
		needs[i] = f.Steps[n].ID
	}
	slices.Sort(needs)
	return value.OfMap(value.Pairs(
		"id", s.ID, "call", s.Call, "needs", needs, "implicit", s.Implicit,
		"when", s.When.Canonical(), "with", s.With.Canonical(), "for_each", s.ForEach.Canonical(),
		"filling", s.EnableFilling, "override", s.OverrideInput, "missing", s.OnMissing, "continue", s.Continue,
	))
}

// Canonical returns all of a flow that decides about its outputs.
func (f *Flow) Canonical() value.Value {
	if f == nil {
		return value.Value{}
	}
	steps := make([]value.Value, len(f.Steps))
	for i, s := range f.Steps {
		steps[i] = value.OfList(s.Canonical(f), s.Sub.Canonical())
	}
	return value.OfMap(value.Pairs(
		"inputs", f.Inputs.Doc(), "steps", value.OfList(steps...), "outputs", f.Outputs.Canonical(),
		"user", f.User.Canonical(), "session", f.Session.Canonical(), "all_sessions", f.AllSessions, "language", f.Language, "llm", f.LLM,
	))
}

// Canonical returns the content of a param, without positions.
func (p *Param) Canonical() value.Value {
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
			m.Set(member.Key, member.Canonical())
		}
		if p.Over != nil {
			return value.OfMap(value.Pairs("map", m, "over", p.Over.Canonical()))
		}
		return value.OfMap(value.Pairs("map", m))
	case p.List != nil:
		items := make([]value.Value, len(p.List))
		for i, item := range p.List {
			items[i] = item.Canonical()
		}
		return value.OfMap(value.Pairs("list", value.OfList(items...)))
	}
	return value.OfMap(value.Pairs("literal", p.Literal))
}

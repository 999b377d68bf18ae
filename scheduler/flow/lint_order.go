package flow

import (
	"errors"
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// languageWords are words that an expression does not read as the name of a step.
var languageWords = []string{
	"true", "false", "none", "null", "and", "or", "not", "in", "is", "if", "else", "elif", "for", "loop", "self", "set",
	"range", "dict", "namespace", "cycler", "joiner",
}

// lintOrder checks ids and needs, and finds steps that cannot run because of them.
func (u *unit) lintOrder() {
	u.lintIDs()
	for s := range u.eachStep() {
		u.needsOf(s)
	}
	for s := range u.eachStep() {
		for _, n := range s.Needs {
			u.steps[n].Next = append(u.steps[n].Next, s.Index)
		}
	}
	u.order = newStepOrder(u.flow.Steps)
	for _, circle := range u.order.circles {
		u.reportCircle(circle)
	}
	u.lintNever()
}

func (u *unit) lintIDs() {
	for s := range u.eachStep() {
		k := s.keys.ID
		if !k.isSet() {
			continue
		}
		at := u.idPlace(s)
		if slices.Contains(reservedNames, s.ID) || slices.Contains(languageWords, s.ID) {
			u.add(at, "no step may have the id %q: templates use it for something else", s.ID).hint("call it %s_step", s.ID)
		}
		if first, twice := u.byID[s.ID]; twice {
			u.add(at, "duplicate step id %q (first at %s)", s.ID, u.idPlace(u.steps[first])).hint("ids are unique in a flow")
			continue
		}
		u.byID[s.ID] = s.Index
	}
}

// idPlace returns the place at which a step gets its id: for one that is an alias (- *step) the alias.
func (u *unit) idPlace(s *stepUnit) Position {
	if itself := s.keys.itself.node; itself.Kind == yaml.Alias {
		return u.positionOf(itself)
	}
	return u.positionOf(s.keys.ID.node)
}

// needsOf sets Needs: the steps that the flow lists, or the step before.
func (u *unit) needsOf(s *stepUnit) {
	if !s.keys.Needs.isSet() {
		s.Implicit = true
		if s.Index > 0 {
			s.Needs, s.needKeys = []int{s.Index - 1}, []*yaml.Node{nil}
		}
		return
	}
	for _, name := range s.keys.Needs.names {
		i, known := u.byID[name.text]
		switch {
		case !known:
			p := u.add(u.positionOf(name.node), "needs names %q, but there is no such step", name.text)
			if near := u.nearStep(name.text, nil); near != "" {
				p.hint("did you mean %q?", near)
			} else {
				p.hint("there are %s", value.ListNames(u.stepIDs()))
			}
		case i == s.Index:
			u.add(u.positionOf(name.node), "the step %q needs itself", s.ID).hint("take it out of needs")
		case u.steps[i].neededBy == s.Index+1:
			u.add(u.positionOf(name.node), "needs names %q twice", name.text).hint("take one of them out")
		default:
			u.steps[i].neededBy = s.Index + 1
			s.Needs = append(s.Needs, i)
			s.needKeys = append(s.needKeys, name.node)
		}
	}
}

// maxCompared limits the names that are compared with mistyped ones: in a flow of thousands of faults the later
// ones get no suggestion.
const maxCompared = 1_000_000

// nearStep returns the step, or other name, that a mistyped name was meant to be, ""
// for none.
func (u *unit) nearStep(name string, others []string) string {
	names := slices.Clone(others)
	u.compared += len(u.steps)
	if u.compared <= maxCompared {
		for _, s := range u.steps {
			names = append(names, s.ID)
		}
	}
	return value.Nearest(name, names)
}

func (u *unit) stepIDs() []string {
	ids := make([]string, len(u.steps))
	for i, s := range u.steps {
		ids[i] = s.ID
	}
	return ids
}

// reportCircle reports steps each of which needs the next, and the last the first, at the need of the first one in
// the file.
func (u *unit) reportCircle(circle []int) {
	first := slices.Min(circle)
	i := slices.Index(circle, first)
	circle = append(slices.Clone(circle[i:]), circle[:i]...)
	var path strings.Builder
	var at *yaml.Node
	implicit := ""
	for j, step := range circle {
		s := u.steps[step]
		next := circle[(j+1)%len(circle)]
		path.WriteString(s.ID + " -> ")
		if key := s.needKeys[slices.Index(s.Needs, next)]; key == nil {
			implicit = s.ID
		} else if at == nil {
			at = key
		}
	}
	p := u.add(u.positionOf(at), "steps need each other in a circle: %s%s", path.String(), u.steps[first].ID)
	if implicit != "" {
		p.hint("%s has no needs, so it comes after the step before it; give it needs of its own", implicit)
	} else {
		p.hint("take one of them out of needs")
	}
}

// lintNever finds steps that no run ever reaches.
func (u *unit) lintNever() {
	never := make([]bool, len(u.steps))
	for s := range u.eachStep() {
		u.lintWhen(s)
	}
	for _, i := range u.order.sorted {
		s := u.steps[i]
		if yes, known := constantCondition(s.When); known && !yes {
			never[i] = true
			u.warn(s.When.Pos, "the step %q never runs: its condition is always false", s.ID)
			continue
		}
		if s.Implicit || len(s.Needs) == 0 {
			continue
		}
		if !slices.ContainsFunc(s.Needs, func(n int) bool { return !never[n] }) {
			never[i] = true
			u.warn(u.positionOf(s.keys.Needs.node), "the step %q never runs: all that it needs never runs", s.ID)
		}
	}
}

// lintWhen checks the shape of a condition: text around an expression would make it true for any value of the
// expression.
func (u *unit) lintWhen(s *stepUnit) {
	if s.When == nil || s.When.Expr != nil {
		return
	}
	if text, isText := s.When.Literal.Str(); isText {
		p := u.add(s.When.Pos, "when must be one {{ expression }}; any other text counts as true")
		_, err := prompt.ParseExpr(prompt.Source{Text: text}, nil)
		var bad *prompt.Error
		switch shown := clipText(text); {
		case err == nil && shown == strings.TrimSpace(text):
			p.hint(`write when: "{{ %s }}"`, shown)
		case err == nil:
			p.hint("put the whole condition between {{ and }}")
		case errors.As(err, &bad) && text != "":
			p.hint("and %q is not an expression: %s", shown, bad.Msg)
		}
	} else if s.When.Text != nil {
		u.add(s.When.Pos, "when must be one {{ expression }}; any other text counts as true").
			hint("put the whole condition between one {{ and }}")
	}
}

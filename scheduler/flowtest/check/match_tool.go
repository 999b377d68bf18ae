package check

import (
	"context"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// toolMatchers lists the matchers of the tools that an agent has used.
func toolMatchers() []matcher {
	on := []subjectKind{toolsSubject}
	return []matcher{
		define("used", wording.Text{En: "Each of these tools was used. One that was refused, or that did not run for another reason, was not.", Zh: "其中每个工具都用过；被拒绝或因其他原因没有运行的不算。"}, on, buildUsed),
		define("sequence", wording.Text{En: "The tools were used in this order; others may be between.", Zh: "工具按此顺序使用；中间可有其他工具。"}, on, buildSequence),
		define("args", wording.Text{En: "The arguments of every use of a tool fit a JSON Schema, by the name of the tool.", Zh: "每次使用工具的参数都符合 JSON Schema，按工具名列出。"}, on, buildArgs),
		define("none_of", wording.Text{En: "None of these tools was used, or asked for.", Zh: "其中没有任何工具被用过或被要求使用。"}, on, buildNoneOf),
	}
}

// toolNames lists the names of the tools that ran, or that were asked for and did not run, in order.
func (s *subject) toolNames(ran bool) (names []string) {
	for _, u := range s.uses {
		if u.isNotRun != ran {
			names = append(names, u.name)
		}
	}
	return names
}

// usedText lists the tools that were used, and the ones that were asked for and not run.
func (s *subject) usedText() wording.Text {
	used, notRun := s.toolNames(true), s.toolNames(false)
	text := wording.Say("no tool was used")
	if len(used) > 0 {
		text = wording.Say("used were %s", quoteList(used))
	}
	if len(notRun) > 0 {
		text = wording.Say("%s; asked for, and not run, were %s", text, quoteList(notRun))
	}
	return text
}

func buildUsed(want []string, a *argument) test {
	if !areGiven(a, want) || !checkTools(a, want) {
		return nil
	}
	return func(_ context.Context, of *subject) *verdict {
		if failed := of.misspeltTool(want); failed != nil {
			return failed
		}
		for _, name := range want {
			if !slices.Contains(of.toolNames(true), name) {
				return of.noteUnknownTool(failf("the tool %q was not used; %s", name, of.usedText()), want)
			}
		}
		return pass()
	}
}

func buildSequence(want []string, a *argument) test {
	if !areGiven(a, want) || !checkTools(a, want) {
		return nil
	}
	return func(_ context.Context, of *subject) *verdict {
		if failed := of.misspeltTool(want); failed != nil {
			return failed
		}
		rest := want
		for _, name := range of.toolNames(true) {
			if len(rest) > 0 && rest[0] == name {
				rest = rest[1:]
			}
		}
		if len(rest) == 0 {
			return pass()
		}
		return failf("the tool %q does not come in its place; %s", rest[0], of.usedText())
	}
}

func buildNoneOf(want []string, a *argument) test {
	if !areGiven(a, want) || !checkTools(a, want) {
		return nil
	}
	return func(_ context.Context, of *subject) *verdict {
		if failed := of.misspeltTool(want); failed != nil {
			return failed
		}
		for _, u := range of.uses {
			switch {
			case !slices.Contains(want, u.name):
			case u.isNotRun:
				return failf("the tool %q was asked for, with %s, and was not run", u.name, value.Truncate(u.arguments, maxShown))
			default:
				return failf("the tool %q was used, with %s", u.name, value.Truncate(u.arguments, maxShown))
			}
		}
		return of.noteUnknownTool(pass(), want)
	}
}

// misspeltTool returns an error for a name that is nearly the name of a tool of the step, because such a name is
// never used; nil if there is no such name.
func (s *subject) misspeltTool(want []string) *verdict {
	known, isWhole := s.offeredTools()
	if i := indexOfMisspelt(want, known); isWhole && i >= 0 {
		err := calls.Errorf(calls.Invalid, "the step %s has no tool %q", s.step, want[i])
		return errorOf(err.WithHint("%s", wording.Of(value.DidYouMean(want[i], known))))
	}
	return nil
}

// noteUnknownTool adds to a verdict that no use was found of a name that the step has no tool of: nothing else could be found.
func (s *subject) noteUnknownTool(v *verdict, want []string) *verdict {
	known, isWhole := s.offeredTools()
	i := slices.IndexFunc(want, func(name string) bool { return !slices.Contains(known, name) })
	if isWhole && i >= 0 {
		return v.withNote("the step %s has no tool %q", s.step, want[i])
	}
	return v
}

// checkTools reports a name that is nearly the name of a tool of the step, if the flows name all of its tools.
func checkTools(a *argument, names []string) bool {
	known, isWhole := a.scope.toolsOf(a.subject.step)
	i := indexOfMisspelt(names, known)
	if !isWhole || i < 0 {
		return true
	}
	below := "/" + value.OfInt(int64(i)).JSON()
	if a.value.Kind() == value.Object { // the names are its keys
		below = "/" + value.Escape(names[i])
	}
	a.report(below, wording.Say("the step %s has no tool %q", a.subject.step, names[i]), wording.Of(value.DidYouMean(names[i], known)))
	return false
}

// indexOfMisspelt returns the index of the first name that is not known but nearly equal to a known one; -1 if
// there is none.
func indexOfMisspelt(names, known []string) int {
	return slices.IndexFunc(names, func(name string) bool { return !slices.Contains(known, name) && value.Nearest(name, known) != "" })
}

// toolsOf lists the tools of a step in the flows; isWhole is false if there may be others.
func (s *Scope) toolsOf(id string) (names []string, isWhole bool) {
	isWhole = len(s.Flows) > 0
	for _, f := range s.Flows {
		step := stepAt(f, id)
		if step == nil {
			return nil, false
		}
		tools, isAll := toolNamesOf(step.Def, step.With.Written())
		names, isWhole = append(names, tools...), isWhole && isAll
	}
	return names, isWhole
}

// stepAt returns the step of a flow, or of a flow in it, that an id names; nil if it is only known in a run.
func stepAt(f *flow.Flow, id string) *flow.Step {
	segment, rest, isInside := strings.Cut(firstItem(id), "/")
	name, _ := journal.SplitPath(segment)
	step, ok := f.Step(name)
	switch {
	case !ok:
		return nil
	case !isInside:
		return step
	case step.Sub == nil:
		return nil
	}
	return stepAt(step.Sub, rest)
}

// offeredTools lists the tools of the step, as it ran; isWhole is false if there may be others.
func (s *subject) offeredTools() (names []string, isWhole bool) {
	got := s.of.Record.Step(s.step)
	def, isKnown := s.of.Flow.FindCall(got.Call)
	if !isKnown {
		return nil, false
	}
	return toolNamesOf(def, got.Params)
}

// toolNamesOf lists the tools that a call has with these parameters; isWhole is false if there may be others.
func toolNamesOf(def calls.Definition, params value.Value) (names []string, isWhole bool) {
	if def.Tools == nil {
		return nil, true
	}
	tools, isWhole := def.Tools(params)
	for _, t := range tools {
		names = append(names, t.Name)
	}
	return names, isWhole
}

func buildArgs(want *value.Map, a *argument) test {
	schemas := map[string]*schema.Schema{}
	for name, doc := range want.All() {
		s, err := schema.Parse(doc)
		if err != nil {
			a.report("/"+value.Escape(name), wording.OfError(err), wording.Text{})
			return nil
		}
		if typos := schema.UnknownKeywords(doc); len(typos) > 0 {
			message, hint := typos[0].Text()
			a.report("/"+value.Escape(name)+typos[0].Pointer, message, hint)
			return nil
		}
		if isOpenSchema(s) {
			a.reportIdle("/"+value.Escape(name), "every value fits a schema that asks for nothing")
			return nil
		}
		schemas[name] = s
	}
	if len(schemas) == 0 {
		a.reportf("", "the map is empty")
		return nil
	}
	if !checkTools(a, want.Keys()) {
		return nil
	}
	return func(_ context.Context, of *subject) *verdict {
		if failed := of.misspeltTool(want.Keys()); failed != nil {
			return failed
		}
		for _, name := range want.Keys() {
			if !slices.Contains(of.toolNames(true), name) {
				return unfitf("the tool %q was not used; %s", name, of.usedText())
			}
		}
		for _, u := range of.uses {
			s := schemas[u.name]
			if s == nil {
				continue
			}
			if problems := s.Check(u.args()); problems != nil {
				return failf("the arguments %s of the tool %q do not fit: %w", value.Truncate(u.arguments, maxShown), u.name, problems)
			}
		}
		return pass()
	}
}

package check

import (
	"context"
	"slices"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// toolMatchers lists the matchers of the tools that an agent has used.
func toolMatchers() []matcher {
	on := []subjectKind{toolsSubject}
	return []matcher{
		define("used", wording.Text{En: "Each of these tools was used.", Zh: "其中每个工具都用过。"}, on, buildUsed),
		define("sequence", wording.Text{En: "The tools were used in this order; others may be between.", Zh: "工具按此顺序使用；中间可有其他工具。"}, on, buildSequence),
		define("args", wording.Text{En: "The arguments of every use of a tool fit a JSON Schema, by the name of the tool.", Zh: "每次使用工具的参数都符合 JSON Schema，按工具名列出。"}, on, buildArgs),
		define("none_of", wording.Text{En: "None of these tools was used.", Zh: "其中没有任何工具被用过。"}, on, buildNoneOf),
	}
}

// toolNames lists the names of the tools that were used, in order.
func (s *subject) toolNames() []string {
	names := make([]string, len(s.uses))
	for i, u := range s.uses {
		names[i] = u.name
	}
	return names
}

// usedText tells what was used.
func (s *subject) usedText() wording.Text {
	if len(s.uses) == 0 {
		return wording.Say("no tool was used")
	}
	return wording.Say("used were %s", quoteList(s.toolNames()))
}

func buildUsed(want []string, a *argument) test {
	if !areGiven(a, want) {
		return nil
	}
	return func(_ context.Context, of *subject) *verdict {
		for _, name := range want {
			if !slices.Contains(of.toolNames(), name) {
				return failf("the tool %q was not used; %s", name, of.usedText())
			}
		}
		return pass()
	}
}

func buildSequence(want []string, a *argument) test {
	if !areGiven(a, want) {
		return nil
	}
	return func(_ context.Context, of *subject) *verdict {
		rest := want
		for _, name := range of.toolNames() {
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
	if !areGiven(a, want) {
		return nil
	}
	return func(_ context.Context, of *subject) *verdict {
		if failed := of.misspeltTool(want); failed != nil {
			return failed
		}
		for _, u := range of.uses {
			if slices.Contains(want, u.name) {
				return failf("the tool %q was used, with %s", u.name, value.Truncate(u.arguments, maxShown))
			}
		}
		return pass()
	}
}

// misspeltTool returns an error for a name that is nearly that of a tool of the step: that nothing of that name was used tells
// nothing. nil: none is.
func (s *subject) misspeltTool(want []string) *verdict {
	known := s.offeredTools()
	for _, name := range want {
		near := value.DidYouMean(name, known)
		if near == "" || slices.Contains(known, name) {
			continue
		}
		return errorOf(calls.Errorf(calls.Invalid, "the step %s has no tool %q", s.step, name).WithHint("%s", wording.Of(near)))
	}
	return nil
}

// offeredTools lists the tools of the step by its parameters; nil where these do not name them all, as for those of a server.
func (s *subject) offeredTools() (names []string) {
	params := s.of.Record.Step(s.step).Params
	groups, _ := params.Get("tools")
	lists := []value.Value{groups}
	if groups.Kind() == value.Object {
		lists = nil
		for _, list := range groups.Map().All() {
			lists = append(lists, list)
		}
	}
	for _, list := range lists {
		for _, tool := range list.List() {
			if function, ok := tool.Get("function"); ok {
				tool = function
			}
			named, _ := tool.Get("name")
			name, ok := named.Str()
			if !ok {
				return nil
			}
			names = append(names, name)
		}
	}
	return names
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
		schemas[name] = s
	}
	if len(schemas) == 0 {
		a.reportf("", "the map is empty")
		return nil
	}
	return func(_ context.Context, of *subject) *verdict {
		for _, name := range want.Keys() {
			if !slices.Contains(of.toolNames(), name) {
				return failf("the tool %q was not used; %s", name, of.usedText())
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

package suite

import (
	"slices"
	"strconv"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flowtest/check"
)

// parseChecks reads all items of expect.
func (r *reader) parseChecks(doc value.Value) {
	scope := &check.Scope{File: r.file, Dir: r.dir, Root: r.loader.Root, Cases: []string{}, Columns: slices.Concat([]string{}, r.data.columns)}
	scope.At = func(n *yaml.Node, offset int) flow.Position {
		pos := r.position(n, offset)
		pos.File = r.file // as results name it
		return pos
	}
	for _, f := range r.flows {
		scope.Flows = append(scope.Flows, f.flow)
	}
	scope.Registry = r.loader.Flows.Registry
	scope.PluginChecks = slices.Concat([]string{}, r.loader.Flows.Registry.TestCheckNames())
	cases, _ := doc.Get("cases")
	for _, c := range cases.List() {
		name, _ := c.Get("name")
		if text, ok := name.Str(); ok {
			scope.Cases = append(scope.Cases, text)
		}
	}
	r.defaults = r.parseItems("/defaults/"+checkMark, scope)
	for i, c := range cases.List() {
		checks := r.parseItems("/cases/"+strconv.Itoa(i)+"/"+checkMark, scope)
		name, _ := c.Get("name")
		if text, ok := name.Str(); ok {
			r.checkSelf(checks, text)
		}
		r.cases = append(r.cases, checks)
	}
}

// parseItems reads the items of one list.
func (r *reader) parseItems(pointer string, scope *check.Scope) (all []*check.Check) {
	list, _, found := yaml.Walk(r.root, pointer)
	if !found || yaml.Resolve(list).Kind != yaml.Sequence {
		return nil
	}
	if len(yaml.Resolve(list).Content) == 0 {
		r.report(pointer, wording.Say("expect has no check"), wording.Say("write expect: [{output: reply, contains: hello}], or take it out"))
	}
	for _, n := range yaml.Resolve(list).Content {
		c, problems := check.Parse(n, scope)
		for _, p := range problems {
			if p.Pos.File == r.file {
				p.Pos.File = r.shown
			}
			r.problems = append(r.problems, p)
		}
		if c == nil {
			continue
		}
		r.checkNeeds(c)
		if first := slices.IndexFunc(all, c.Repeats); first >= 0 {
			pos := c.Pos
			pos.File = r.shown
			r.problems = append(r.problems, flow.NewProblem(pos, wording.Say("the check repeats the one in line %d, and would count twice", all[first].Pos.Line),
				wording.Say("take one out; weight: 2 makes a check count twice")))
		}
		all = append(all, c)
	}
	return all
}

// checkSelf reports checks of a case that compare it with itself: they would pass for ever.
func (r *reader) checkSelf(checks []*check.Check, name string) {
	for _, c := range checks {
		if name == "" || !slices.Contains(c.Needs(), check.Need{Case: name}) {
			continue
		}
		pos := c.Pos
		pos.File = r.shown
		r.problems = append(r.problems, flow.NewProblem(pos, wording.Say("the check compares the case %q with itself", name), wording.Say("name another case of the file")))
	}
}

// checkNeeds reports flows that a check compares with and that no case runs.
func (r *reader) checkNeeds(c *check.Check) {
	for _, need := range c.Needs() {
		known := slices.ContainsFunc(r.flows, func(f *loadedFlow) bool { return f.name == need.Flow })
		if need.Flow == "" || known {
			continue
		}
		pos := c.Pos
		pos.File = r.shown
		r.problems = append(r.problems, flow.NewProblem(pos, wording.Say("the file does not run the flow %s", need.Flow), wording.Say("list both: flows: [A.yaml, B.yaml]")))
	}
}

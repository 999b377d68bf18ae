package input

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/plugins"
)

// The variables that come from memory: short_term_history_content and
// long_term_memory_content.
const (
	shortTerm = "short_term_history_content"
	longTerm  = "long_term_memory_content"
)

// state computes the variables that every build has beside the memory variables, for example current_user_input.
// They take precedence over registered ones.
var state = map[string]func(in Input, vars *calls.Vars) value.Value{
	"current_user_input": func(in Input, _ *calls.Vars) value.Value { return value.OfString(in.UserInput) },
	"question":           func(_ Input, vars *calls.Vars) value.Value { return value.OfString(vars.Question) },
	"user":               func(_ Input, vars *calls.Vars) value.Value { return value.OfString(vars.Scope.User) },
	"session":            func(_ Input, vars *calls.Vars) value.Value { return value.OfString(vars.Scope.Session) },
	"language":           func(in Input, _ *calls.Vars) value.Value { return value.OfString(in.Language) },
	"now":                func(in Input, _ *calls.Vars) value.Value { return value.OfString(in.Now.Format("2006-01-02 15:04:05")) },
	"summary":            func(_ Input, vars *calls.Vars) value.Value { return value.OfString(vars.Summary()) },
	"facts":              func(_ Input, vars *calls.Vars) value.Value { return value.OfString(strings.Join(vars.Facts(), "\n")) },
	"inputs":             func(_ Input, vars *calls.Vars) value.Value { return vars.Inputs },
}

// variableNames finds the source of a variable's value.
type variableNames struct {
	given    *value.Map // by the parameter variables
	registry *calls.Registry
	// The data of the step; vars is nil before a flow runs.
	in   Input
	vars *calls.Vars
}

// source is the source of a variable's value: known, or else the resolver of root, or else memory.
type source struct {
	root     string
	path     string // JSON pointer of a member in root's value
	known    *value.Value
	resolver plugins.Resolver
}

// find looks for the name as a whole, then for its beginning before a dot, with the rest as a path to a member of
// its value. A name may have the prefix vars. of templates.
func (n variableNames) find(name string) (source, bool) {
	if s, ok := n.findRoot(name); ok {
		return s, true
	}
	for end := strings.LastIndexByte(name, '.'); end > 0; end = strings.LastIndexByte(name[:end], '.') {
		if s, ok := n.findRoot(name[:end]); ok {
			for member := range strings.SplitSeq(name[end+1:], ".") {
				s.path += "/" + value.Escape(member)
			}
			if s.known != nil && n.vars != nil { // before a run, values may have holes
				_, ok = s.known.At(s.path)
			}
			return s, ok
		}
	}
	return source{}, false
}

func (n variableNames) findRoot(name string) (source, bool) {
	if v, ok := n.given.Get(name); ok {
		return source{root: name, known: &v}, true
	}
	if isMemoryVariable(name) {
		return source{root: name}, true
	}
	if of, ok := state[name]; ok {
		if n.vars == nil {
			return source{root: name}, true
		}
		v := of(n.in, n.vars)
		return source{root: name, known: &v}, true
	}
	name = strings.TrimPrefix(name, "vars.")
	if n.vars != nil {
		if v, ok := n.vars.Resolved[name]; ok {
			return source{root: name, known: &v}, true
		}
	}
	if r, ok := n.registry.Resolver(name); ok {
		return source{root: name, resolver: r}, true
	}
	return source{}, false
}

func isMemoryVariable(name string) bool { return name == shortTerm || name == longTerm }

// allNames lists the variables that can be named, for hints.
func (n variableNames) allNames() []string {
	list := append(slices.Sorted(maps.Keys(state)), shortTerm, longTerm)
	list = append(list, n.given.Keys()...)
	if n.vars != nil {
		list = append(list, slices.Sorted(maps.Keys(n.vars.Resolved))...)
		for _, key := range n.vars.Inputs.Map().Keys() {
			list = append(list, "inputs."+key)
		}
	}
	return append(list, n.registry.VariableNames()...)
}

// unknownName is a name in a template that has no source.
type unknownName struct {
	problem  schema.Problem
	variable string // "" for an importance function
}

// findUnknown looks every name of the template up, in order.
func (n variableNames) findUnknown(modules []module) (list []unknownName) {
	for i, m := range modules {
		if f := m.Importance.name; f != "" {
			if p := n.importanceProblem(f); p != nil {
				p.Pointer = fmt.Sprintf("/context_template/%d/importance_func", i)
				list = append(list, unknownName{problem: *p})
			}
		}
		for j, s := range m.Segments {
			if !s.isVariable() {
				continue
			}
			if p := n.variableProblem(s.Value); p != nil {
				p.Pointer = fmt.Sprintf("/context_template/%d/segments/%d/value", i, j)
				list = append(list, unknownName{variable: s.Value, problem: *p})
			}
		}
	}
	return list
}

// importanceProblem returns the problem with the name of an importance function; nil if it can be asked: it is
// one, or a variable.
func (n variableNames) importanceProblem(name string) *schema.Problem {
	if err := n.registry.CheckPlugin(name); err != nil {
		return unusableProblem("importance function", name, err)
	}
	if _, ok := n.registry.Importance(name); ok {
		return nil
	}
	if s, ok := n.find(name); ok {
		return n.pluginProblem(name, s)
	}
	hint := value.DidYouMean(name, append(n.registry.ImportanceNames(), n.allNames()...))
	p := schema.Problem{
		Keyword: "unknown", Hint: cmp.Or(hint, wording.Say("there are %s", strings.Join(n.registry.ImportanceNames(), ", ")).En),
	}.WithMessage("unknown importance function %q", name)
	return &p
}

// variableProblem returns the problem with the name of a variable; nil if it has a value.
func (n variableNames) variableProblem(name string) *schema.Problem {
	if s, ok := n.find(name); ok {
		return n.pluginProblem(name, s)
	}
	p := schema.Problem{
		Keyword: "unknown", Hint: cmp.Or(value.DidYouMean(name, n.allNames()), "give it under variables, or trust a plugin that gives it"),
	}.WithMessage("unknown variable %q", name)
	return &p
}

// pluginProblem returns why the plugin of a variable cannot be asked.
func (n variableNames) pluginProblem(name string, s source) *schema.Problem {
	if s.resolver != nil {
		if err := n.registry.CheckPlugin("vars." + s.root); err != nil {
			return unusableProblem("variable", name, err)
		}
	}
	return nil
}

func unusableProblem(what, name string, err error) *schema.Problem {
	p := calls.ProblemOf("", err).WithMessage("the %s %q cannot be used: %v", wording.Of(what), name, err)
	p.Keyword = "unusable"
	return &p
}

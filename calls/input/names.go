package input

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/plugins"
)

// The variables that come from memory.
const (
	shortTerm = "short_term_history_content"
	longTerm  = "long_term_memory_content"
)

// state gives the variables that every build has beside those of memory. They
// win over registered ones.
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

// names finds where the value of a variable comes from.
type names struct {
	given     *value.Map // by the parameter variables
	functions calls.Functions
	// What the step sees; vars is nil before a flow runs.
	in   Input
	vars *calls.Vars
}

// source is where the value of a variable comes from: known, or else the
// resolver of root, or else memory.
type source struct {
	root     string
	path     string // JSON pointer of a member in root's value
	known    *value.Value
	resolver plugins.Resolver
}

// find looks for the name as a whole, then for its beginning before a dot, whose
// value has the rest as members. The prefix vars. of templates may stand before
// a name.
func (n names) find(name string) (source, bool) {
	if s, ok := n.root(name); ok {
		return s, true
	}
	for end := strings.LastIndexByte(name, '.'); end > 0; end = strings.LastIndexByte(name[:end], '.') {
		if s, ok := n.root(name[:end]); ok {
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

func (n names) root(name string) (source, bool) {
	if v, ok := n.given.Get(name); ok {
		return source{root: name, known: &v}, true
	}
	if memoryVariable(name) {
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
	if r, ok := n.functions.Resolver(name); ok {
		return source{root: name, resolver: r}, true
	}
	return source{}, false
}

func memoryVariable(name string) bool { return name == shortTerm || name == longTerm }

// all lists the variables that can be named, for hints.
func (n names) all() []string {
	list := append(slices.Sorted(maps.Keys(state)), shortTerm, longTerm)
	list = append(list, n.given.Keys()...)
	if n.vars != nil {
		list = append(list, slices.Sorted(maps.Keys(n.vars.Resolved))...)
		for _, key := range n.vars.Inputs.Map().Keys() {
			list = append(list, "inputs."+key)
		}
	}
	return append(list, n.functions.VariableNames()...)
}

// unknown is what a template names and nobody gives.
type unknown struct {
	problem  schema.Problem
	variable string // "" for an importance function
}

// unknowns looks every name of the template up, in order.
func (n names) unknowns(modules []module) (list []unknown) {
	for i, m := range modules {
		if f := m.Importance.name; f != "" && !n.judges(f) {
			near := value.Nearest(f, append(n.functions.ImportanceNames(), n.all()...))
			list = append(list, unknown{problem: schema.Problem{
				Pointer: fmt.Sprintf("/context_template/%d/importance_func", i), Keyword: "unknown",
				Message: fmt.Sprintf("unknown importance function %q", f), Hint: didYouMean(near, "there are "+strings.Join(n.functions.ImportanceNames(), ", ")),
			}})
		}
		for j, s := range m.Segments {
			if _, ok := n.find(s.Value); ok || !s.variable() {
				continue
			}
			list = append(list, unknown{variable: s.Value, problem: schema.Problem{
				Pointer: fmt.Sprintf("/context_template/%d/segments/%d/value", i, j), Keyword: "unknown",
				Message: fmt.Sprintf("unknown variable %q", s.Value),
				Hint:    didYouMean(value.Nearest(s.Value, n.all()), "give it under variables, or register a resolver"),
			}})
		}
	}
	return list
}

// judges says whether an importance_func of that name can be asked: it is an
// importance function, or a variable.
func (n names) judges(name string) bool {
	if _, ok := n.functions.Importance(name); ok {
		return true
	}
	_, ok := n.find(name)
	return ok
}

func didYouMean(near, otherwise string) string {
	if near == "" {
		return otherwise
	}
	return fmt.Sprintf("did you mean %q?", near)
}

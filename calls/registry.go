package calls

import (
	"maps"
	"slices"

	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/plugins"
)

// Registry is everything a flow can name: calls, importance functions and
// variables. The program makes one when it starts and gives it to the loader and the
// engine. Fill it before use; reading is then safe for concurrent use. A nil Registry
// is an empty one.
type Registry struct {
	calls      map[string]Definition
	importance map[string]plugins.Importance
	resolvers  map[string]plugins.Resolver
	testChecks map[string]plugins.Importance
	checks     []func(name string) error
	tape       Tape // nil: functions are asked themselves
	// isAllowed reports the calls that confined users may use freely; nil: no user is confined. See
	// [Registry.Confined].
	isAllowed func(name string) bool
}

// NewRegistry returns a Registry of calls. Two of one name are an error.
func NewRegistry(defs ...Definition) (*Registry, error) {
	r := &Registry{
		calls:      make(map[string]Definition, len(defs)),
		importance: map[string]plugins.Importance{},
		resolvers:  map[string]plugins.Resolver{},
		testChecks: map[string]plugins.Importance{},
	}
	for _, def := range defs {
		if err := add(r.calls, "call", def.Info.Name, def); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// AddCall registers a call. A name that is taken is an error.
func (r *Registry) AddCall(def Definition) error {
	return add(r.calls, "call", def.Info.Name, def)
}

// AddImportance registers an importance function. A name that is taken is an
// error.
func (r *Registry) AddImportance(name string, f plugins.Importance) error {
	return add(r.importance, "importance function", name, f)
}

// AddTestCheck registers a function that test files check runs with. A name that is taken is an
// error.
func (r *Registry) AddTestCheck(name string, f plugins.Importance) error {
	return add(r.testChecks, "check", name, f)
}

// AddResolver registers a resolver for variable names. A name that is taken is
// an error.
func (r *Registry) AddResolver(f plugins.Resolver, variables ...string) error {
	for _, name := range variables {
		if err := add(r.resolvers, "variable", name, f); err != nil {
			return err
		}
	}
	return nil
}

// AddCheck adds a check for [Registry.CheckPlugin]; hosts of foreign programs use it. A check returns nil for
// names that are not its own.
func (r *Registry) AddCheck(check func(name string) error) { r.checks = append(r.checks, check) }

// WithoutChecks returns a copy without checks: for flows that are displayed and not run, or played from
// recordings.
func (r *Registry) WithoutChecks() *Registry {
	c := *r
	c.checks = nil
	return &c
}

// CheckPlugin returns why a part of a plugin or a server cannot be used now, registered or not: it is not trusted,
// has changed, or is gone. name is the name of a plugin, plugin.function, vars.name, or mcp.server.tool. The
// result is nil if it can be used, or belongs to the program.
func (r *Registry) CheckPlugin(name string) error {
	if r == nil {
		return nil
	}
	for _, check := range r.checks {
		if err := check(name); err != nil {
			return err
		}
	}
	return nil
}

func add[T any](m map[string]T, what, name string, x T) error {
	if _, taken := m[name]; taken {
		return wording.Errorf("the %s %q is registered twice", wording.Of(what), name)
	}
	m[name] = x
	return nil
}

// Call finds a call by name.
func (r *Registry) Call(name string) (Definition, bool) {
	if r == nil {
		return Definition{}, false
	}
	d, ok := r.calls[name]
	return r.Confine(d), ok
}

// CallOf returns the call whose work is an operation, the first by name.
func (r *Registry) CallOf(operation string) (def Definition, ok bool) {
	for _, name := range r.CallNames() {
		if def, _ := r.Call(name); def.Info.Operation == operation {
			return def, true
		}
	}
	return Definition{}, false
}

// OperationOf returns [Info.Operation] of a call, "" also for one that is not there.
func (r *Registry) OperationOf(call string) string {
	def, ok := r.Call(call)
	if !ok {
		return ""
	}
	return def.Info.Operation
}

// CallNames lists the calls, sorted.
func (r *Registry) CallNames() []string {
	if r == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(r.calls))
}

// Importance finds an importance function by name.
func (r *Registry) Importance(name string) (plugins.Importance, bool) {
	if r == nil {
		return nil, false
	}
	f, ok := r.importance[name]
	if ok && r.hides(name, f) {
		return nil, false
	}
	if ok && r.isTaped(f) {
		return tapedImportance{f, name, r.tape}, true
	}
	return f, ok
}

// ImportanceNames lists the importance functions, sorted.
func (r *Registry) ImportanceNames() []string {
	if r == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(r.importance))
}

// TestCheck finds a function that test files check runs with, by name.
func (r *Registry) TestCheck(name string) (plugins.Importance, bool) {
	if r == nil {
		return nil, false
	}
	f, ok := r.testChecks[name]
	return f, ok
}

// TestCheckNames lists the functions that test files check runs with, sorted.
func (r *Registry) TestCheckNames() []string {
	if r == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(r.testChecks))
}

// Resolver finds the resolver of a variable.
func (r *Registry) Resolver(variable string) (plugins.Resolver, bool) {
	if r == nil {
		return nil, false
	}
	f, ok := r.resolvers[variable]
	if ok && r.hides(variable, f) {
		return nil, false
	}
	if ok && r.isTaped(f) {
		return tapedResolver{f, r.tape}, true
	}
	return f, ok
}

// WithResolver returns a copy of the Registry in which the variables are resolved by f, registered or not.
func (r *Registry) WithResolver(f plugins.Resolver, variables ...string) *Registry {
	c := &Registry{}
	if r != nil {
		*c = *r
	}
	c.resolvers = maps.Clone(c.resolvers)
	if c.resolvers == nil {
		c.resolvers = map[string]plugins.Resolver{}
	}
	for _, name := range variables {
		c.resolvers[name] = f
	}
	return c
}

// WithImportance returns a copy of the Registry in which f judges instead of the importance functions that work
// outside of the program, for example in plugins.
func (r *Registry) WithImportance(f plugins.Importance) *Registry {
	c := &Registry{}
	if r != nil {
		*c = *r
	}
	c.importance = maps.Clone(c.importance)
	for name, known := range c.importance {
		if o, ok := known.(plugins.Outsider); ok && o.IsOutside() {
			c.importance[name] = f
		}
	}
	return c
}

// VariableNames lists the variables that have a resolver, sorted.
func (r *Registry) VariableNames() []string {
	if r == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(r.resolvers))
}

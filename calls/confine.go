package calls

import (
	"context"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/plugins"
)

// Confined returns a copy of the Registry for parameters from a user who may not access files and other programs:
// the user of a server, outside of flows. Calls that isAllowed does not name and that are not contained ([Info]
// IsContained) are refused when they are constructed, and so are parameters of other calls that name files.
// Functions of plugins that it does not name are missing.
func (r *Registry) Confined(isAllowed func(name string) bool) *Registry {
	c := &Registry{}
	if r != nil {
		*c = *r
	}
	c.isAllowed = isAllowed
	return c
}

// isConfined reports whether users of the Registry may not use the call of a name unless it is contained.
func (r *Registry) isConfined(name string) bool { return r.isAllowed != nil && !r.isAllowed(name) }

// Confine returns a definition as [Registry.Call] does, whether it is registered or not.
func (r *Registry) Confine(d Definition) Definition {
	if d.Info == nil || !r.isConfined(d.Info.Name) {
		return d
	}
	return d.confined()
}

// hides reports whether an importance function or a resolver of a plugin is hidden from the users of the Registry.
func (r *Registry) hides(name string, function any) bool {
	o, ok := function.(plugins.Outsider)
	return ok && o.IsOutside() && r.isConfined(name)
}

// confined returns a definition whose use is refused if it could access more than its parameters.
func (d Definition) confined() Definition {
	construct, narrow := d.New, d.ParamsFor
	d.New = func(params value.Value) (CoreCall, error) {
		if err := d.Info.checkConfined(params); err != nil {
			return nil, err
		}
		return construct(params)
	}
	if narrow != nil {
		d.ParamsFor = func(ctx context.Context, env *Env, params value.Value) (*schema.Schema, error) {
			if err := d.Info.checkConfined(params); err != nil {
				return nil, err
			}
			return narrow(ctx, env, params)
		}
	}
	return d
}

// checkConfined returns an error of kind Invalid if a use of the call with params could access more than these.
func (i *Info) checkConfined(params value.Value) error {
	if !i.IsContained {
		return Errorf(Invalid, "the call %s reaches files or other programs, and is not open to the token of a user", i.Name).
			WithHint("run a flow that uses it, or let serve.bound_calls name it")
	}
	for _, name := range i.Files {
		if v, ok := params.Get(name); ok && !isEmptyParam(v) {
			return Errorf(Invalid, "%s: the files of the server are not open to the token of a user", name).
				WithHint("run a flow that reads them, or give the text itself")
		}
	}
	return nil
}

// isEmptyParam reports whether a parameter that could name files names none.
func isEmptyParam(v value.Value) bool {
	text, isText := v.Str()
	switch {
	case v.IsNull():
		return true
	case isText:
		return text == ""
	}
	return v.Kind() == value.List && len(v.List()) == 0
}

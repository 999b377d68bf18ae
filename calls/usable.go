package calls

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/value"
)

// Usability is implemented by [Functions] that know why something cannot be used,
// as [Registry.Unusable] does.
type Usability interface {
	Unusable(name string) error
}

// Unusable asks functions that know, about the function of a plugin or vars.name.
func Unusable(functions Functions, name string) error {
	if u, ok := functions.(Usability); ok {
		return u.Unusable(name)
	}
	return nil
}

// Catalog is implemented by [Functions] that know the calls too, as a [Registry] does.
type Catalog interface {
	Call(name string) (Definition, bool)
	CallNames() []string
}

// UnknownCall says why a flow cannot name a call; nil where it can, or nobody knows.
func UnknownCall(functions Functions, name string) error {
	if err := Unusable(functions, name); err != nil {
		return Errorf(KindOf(err), "the call %q cannot be used: %w", name, err)
	}
	catalog, ok := functions.(Catalog)
	if !ok {
		return nil
	}
	if _, ok := catalog.Call(name); ok {
		return nil
	}
	err := Errorf(NotFound, "there is no call %q", name)
	if _, ok := functions.Importance(name); ok {
		return err.WithHint("it is an importance function")
	}
	plugin, _, dotted := strings.Cut(name, ".")
	names := catalog.CallNames()
	siblings := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !strings.HasPrefix(n, plugin+".") })
	switch near := value.Nearest(name, names); {
	case near != "":
		return err.WithHint("did you mean %q?", near)
	case !dotted:
		return err.WithHint("`scheduler calls` lists them")
	case len(siblings) == 0:
		return err.WithHint("the plugin %q is not installed, or has no calls; `scheduler plugins list` shows what there is", plugin)
	}
	return err.WithHint("the plugin has %s", strings.Join(siblings, ", "))
}

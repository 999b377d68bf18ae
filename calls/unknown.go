package calls

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/value"
)

// CheckCall returns why a flow cannot use the call of that name, with a hint; nil if it can.
func (r *Registry) CheckCall(name string) error {
	if err := r.CheckPlugin(name); err != nil {
		return Errorf(KindOf(err), "the call %q cannot be used: %w", name, err)
	}
	if _, ok := r.Call(name); ok {
		return nil
	}
	err := Errorf(NotFound, "there is no call %q", name)
	if _, ok := r.Importance(name); ok {
		return err.WithHint("it is an importance function")
	}
	names := r.CallNames()
	if hint := value.DidYouMean(name, names); hint != "" {
		return err.WithHint("%s", hint)
	}
	plugin, _, dotted := strings.Cut(name, ".")
	if !dotted {
		return err.WithHint("there are %s; `scheduler calls` describes them", value.ListNames(names))
	}
	siblings := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !strings.HasPrefix(n, plugin+".") })
	if len(siblings) == 0 {
		return err.WithHint("the plugin %q is not installed, or has no calls; `scheduler plugins list` shows the installed ones", plugin)
	}
	return err.WithHint("the plugin has %s", strings.Join(siblings, ", "))
}

// CheckImportance returns why the importance function of that name cannot be asked, with a hint; nil if it can.
func (r *Registry) CheckImportance(name string) error {
	if err := r.CheckPlugin(name); err != nil {
		return Errorf(KindOf(err), "the importance function %q cannot be used: %w", name, err)
	}
	if _, ok := r.Importance(name); ok {
		return nil
	}
	return Errorf(NotFound, "unknown importance function %q", name).WithHint("%s", value.DidYouMeanOrList(name, r.ImportanceNames()))
}

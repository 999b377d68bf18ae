package calls

import (
	"strings"
	"time"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// CheckParams finds all faults of parameters as far as they are known: by [Info.Check] and [Definition.Lint].
func (d Definition) CheckParams(params value.Value, env LintEnv) (problems []schema.Problem) {
	if d.Info.Check != nil {
		problems = d.Info.Check(params, env)
	}
	if d.Lint != nil {
		problems = append(problems, d.Lint(params, env)...)
	}
	return problems
}

// checkKnown returns the first problem of parameters that are all known, as an error of kind Invalid.
func (i *Info) checkKnown(params value.Value) error {
	if i.Check == nil {
		return nil
	}
	for _, p := range i.Check(params, LintEnv{}) {
		if p.Warning {
			continue
		}
		message, hint := p.Text()
		if name := strings.TrimPrefix(p.Pointer, "/"); name != "" {
			message = wording.Say("%s: %s", name, message)
		}
		return Errorf(Invalid, "%s", message).WithHint("%s", hint)
	}
	return nil
}

// IsGiven reports whether a parameter has a value, or gets one when the step runs: it is neither left out, nor null, nor an empty text.
func (e LintEnv) IsGiven(params value.Value, name string) bool {
	v, has := params.Get(name)
	text, isText := v.Str()
	isEmpty := v.IsNull() || isText && text == ""
	return has && (!isEmpty || e.IsComputed("/"+name))
}

// CheckExclusive finds a parameter that says the same as another one, for example prompt beside messages.
func (e LintEnv) CheckExclusive(params value.Value, name string, others ...string) []schema.Problem {
	if !e.IsGiven(params, name) {
		return nil
	}
	for _, other := range others {
		if e.IsGiven(params, other) {
			return []schema.Problem{
				schema.Problem{Pointer: "/" + other}.WithMessage("%s and %s are two ways to say the same: use one", name, other).WithHint("leave one of the two out"),
			}
		}
	}
	return nil
}

// CheckTogether finds one of two parameters that is given without the other, for example openapi without operation. One that is still
// to be filled in is not missing.
func (e LintEnv) CheckTogether(params value.Value, a, b string) []schema.Problem {
	if e.IsOpen || e.IsGiven(params, a) == e.IsGiven(params, b) {
		return nil
	}
	if !e.IsGiven(params, a) {
		a, b = b, a
	}
	return []schema.Problem{schema.Problem{Pointer: "/" + a}.WithMessage("it goes together with %s, which is missing", b).WithHint("give both, or none")}
}

// HasOneOf reports whether one of several parameters is given, or may still be filled in.
func (e LintEnv) HasOneOf(params value.Value, names ...string) bool {
	for _, name := range names {
		if e.IsGiven(params, name) {
			return true
		}
	}
	return e.IsOpen
}

// CheckDuration finds a text that is not a duration. The hint shows usual ones, for example "90s or 5m".
func (e LintEnv) CheckDuration(params value.Value, name, usual string) []schema.Problem {
	v, _ := params.Get(name)
	text, isText := v.Str()
	if !isText || text == "" {
		return nil
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return nil
	}
	return []schema.Problem{schema.Problem{Pointer: "/" + name}.WithMessage("invalid duration %q", text).WithHint("use %s", usual)}
}

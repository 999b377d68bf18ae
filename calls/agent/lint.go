package agent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// lint checks the tools; null is what is known only later.
func lint(params value.Value, env calls.LintEnv) []schema.Problem {
	var p Params
	if value.Decode(params, &p) != nil {
		return nil
	}
	problems := slices.DeleteFunc(p.toolProblems(), func(problem schema.Problem) bool {
		name, given := params.At(problem.Pointer + "/name")
		return given && name.IsNull()
	})
	if env.Registry == nil {
		return problems
	}
	for i, t := range p.Tools.Calls {
		if t.Call == "" {
			continue
		}
		if err := env.Registry.CheckCall(t.Call); err != nil {
			problems = append(problems, schema.Problem{
				Pointer: fmt.Sprintf("/tools/calls/%d/call", i), Message: err.Error(), Hint: calls.HintOf(err),
			})
		}
	}
	for _, t := range p.toolPlans() {
		if def, ok := env.Registry.Call(t.call); ok {
			problems = append(problems, t.lintFixed(def)...)
			problems = append(problems, t.lintOffered(def)...)
		}
	}
	return problems
}

// lintFixed holds what a tool fixes to the parameters of its call, as far as it is known.
func (t toolPlan) lintFixed(def calls.Definition) (problems []schema.Problem) {
	with := value.OfMap(t.with)
	for _, p := range def.Info.Params.Check(with) {
		at, _ := with.At(p.Pointer)
		missing := p.Keyword == "required" && strings.Count(p.Pointer, "/") == 1 // the model gives it
		named := p.Keyword == "required" || p.Keyword == "additionalProperties"  // whatever the value will be
		if p.Pointer == "" || missing || !named && isComputed(at) {
			continue
		}
		p.Pointer = "/" + t.place + "/with" + p.Pointer
		problems = append(problems, p)
	}
	return problems
}

// isComputed reports whether a part of v is known only later.
func isComputed(v value.Value) bool {
	if v.IsNull() || slices.ContainsFunc(v.List(), isComputed) {
		return true
	}
	for _, member := range v.Map().All() {
		if isComputed(member) {
			return true
		}
	}
	return false
}

// lintOffered holds the arguments that a tool spells out to the parameters of its call.
func (t toolPlan) lintOffered(def calls.Definition) (problems []schema.Problem) {
	if t.parameters == nil || def.ParamsFor != nil {
		return nil
	}
	found := func(at, hint, format string, args ...any) {
		problems = append(problems, schema.Problem{Pointer: "/" + t.place + "/parameters" + at, Message: fmt.Sprintf(format, args...), Hint: hint})
	}
	wanted := def.Info.Params.Doc()
	known, _ := wanted.Get("properties")
	given, _ := t.parameters.Get("properties")
	for name, property := range given.Map().All() {
		at := "/properties/" + value.Escape(name)
		place := def.Info.Params.Describe("/" + value.Escape(name))
		if !place.Known {
			hint := fmt.Sprintf("`scheduler calls %s` shows its parameters", t.call)
			if near := value.DidYouMean(name, known.Map().Keys()); near != "" {
				hint = near
			}
			found(at, hint, "%s has no parameter %q", t.call, name)
			continue
		}
		if have, want := typeOf(property), typeOf(place.All...); have != "" && want != "" && have != want && have+want != "integernumber" {
			found(at, "", "the model would give %s, %s wants %s", have, t.call, want)
		}
	}
	if _, more := t.parameters.Get("patternProperties"); more {
		return problems
	}
	required, _ := wanted.Get("required")
	for _, v := range required.List() {
		name, _ := v.Str()
		property, _ := known.Get(name)
		_, usual := property.Get("default")
		_, isGiven := given.Get(name)
		if _, isFixed := t.with.Get(name); !isGiven && !isFixed && !usual {
			found("", "fix it under with, or let the model give it", "%s needs the parameter %q", t.call, name)
		}
	}
	return problems
}

// typeOf returns the one type that schemas of a value allow; "" where there are several, or
// it is not known.
func typeOf(schemas ...value.Value) string {
	only := ""
	for _, s := range schemas {
		kind, _ := s.Get("type")
		name, ok := kind.Str()
		if !ok || only != "" && name != only {
			return ""
		}
		only = name
	}
	return only
}

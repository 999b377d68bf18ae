package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/ask"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// lintParams checks the tools; null is a value that is known only later.
func lintParams(params value.Value, env calls.LintEnv) []schema.Problem {
	var p Params
	if value.Decode(params, &p) != nil {
		return nil
	}
	problems := slices.DeleteFunc(p.toolProblems(), func(problem schema.Problem) bool {
		name, given := params.At(problem.Pointer + "/name")
		return given && name.IsNull()
	})
	answer, _ := params.Get("response_schema")
	problems = append(problems, schema.InvalidAt("/response_schema", answer)...)
	problems = append(problems, ask.LintExtra(params)...)
	problems = append(problems, env.LintDirs(params, "workspace", "builtin_skills")...)
	if env.Registry == nil {
		return problems
	}
	for i, t := range p.Tools.Calls {
		if t.Call == "" {
			continue
		}
		if err := env.Registry.CheckCall(t.Call); err != nil {
			problems = append(problems, calls.ProblemOf(fmt.Sprintf("/tools/calls/%d/call", i), err))
		}
	}
	for _, t := range p.toolPlans() {
		problems = append(problems, t.lintParameters(env)...)
		if t.callPlace != "" {
			if err := env.Registry.CheckCall(t.call); err != nil {
				problems = append(problems, calls.ProblemOf("/"+t.callPlace, err))
			}
		}
		if def, ok := env.Registry.Call(t.call); ok {
			problems = append(problems, t.lintFixed(def, env)...)
			problems = append(problems, t.askCall(def, env)...)
			problems = append(problems, t.lintOffered(def)...)
			problems = append(problems, t.lintFlat(def, env)...)
		}
	}
	return problems
}

// inside returns the calls and flows that are tools.
func inside(params value.Value) (list []calls.Inside) {
	var p Params
	if value.Decode(params, &p) != nil {
		return nil
	}
	for _, t := range p.toolPlans() {
		name := "/call"
		if t.flow != "" {
			name = "/path"
		} else if t.call == callHTTP {
			name = ""
		}
		at := "/" + t.place + name
		if t.callPlace != "" {
			at = "/" + t.callPlace
		}
		list = append(list, calls.Inside{Pointer: at, Call: t.call, Flow: t.flow, With: "/" + t.place + "/with",
			Asked: "/" + t.place + "/parameters", LLM: "/" + t.place + "/llm"})
	}
	return list
}

// lintFixed checks the fixed parameters of a tool against its call, as far as they are known.
func (t toolPlan) lintFixed(def calls.Definition, env calls.LintEnv) (problems []schema.Problem) {
	with := value.OfMap(t.with)
	for _, p := range def.Info.Params.Check(with) {
		missing := p.Keyword == "required" && strings.Count(p.Pointer, "/") == 1 // the model gives it
		named := p.Keyword == "required" || p.Keyword == "additionalProperties"  // whatever the value will be
		isUnknown := !named && env.IsComputed("/"+t.place+"/with"+p.Pointer)
		if p.Pointer == "" || missing || isUnknown {
			continue
		}
		p.Pointer = "/" + t.place + "/with" + p.Pointer
		problems = append(problems, p)
	}
	return problems
}

// askCall lets the call of a tool check the fixed parameters. The model may give the names that it misses.
func (t toolPlan) askCall(def calls.Definition, env calls.LintEnv) []schema.Problem {
	problems := slices.DeleteFunc(def.CheckParams(value.OfMap(t.with), env.OfTool("/"+t.place+"/with")), func(p schema.Problem) bool { return p.Keyword == calls.UndefinedName })
	for i := range problems {
		problems[i].Pointer = "/" + t.place + "/with" + problems[i].Pointer
	}
	return problems
}

// lintParameters checks the schema of arguments that a tool spells out. It only describes them to the model, so
// problems in it are warnings.
func (t toolPlan) lintParameters(env calls.LintEnv) []schema.Problem {
	return schema.LintAt("/"+t.place+"/parameters", value.OfMap(t.parameters), env.IsComputed).AsWarnings()
}

// lintOffered checks the arguments that a tool spells out against the parameters of its call.
func (t toolPlan) lintOffered(def calls.Definition) (problems []schema.Problem) {
	if t.parameters == nil || def.ParamsFor != nil {
		return nil
	}
	found := func(at string, hint wording.Text, format string, args ...any) {
		problems = append(problems, schema.Problem{Pointer: "/" + t.place + "/parameters" + at}.WithMessage(format, args...).WithHint("%s", hint))
	}
	wanted := def.Info.Params.Doc()
	known, _ := wanted.Get("properties")
	given, _ := t.parameters.Get("properties")
	for name, property := range given.Map().All() {
		at := "/properties/" + value.Escape(name)
		place := def.Info.Params.Describe("/" + value.Escape(name))
		if !place.Known {
			hint := wording.Say("`scheduler calls %s` shows its parameters", t.call)
			if near := value.DidYouMean(name, known.Map().Keys()); near != "" {
				hint = wording.Of(near)
			}
			found(at, hint, "%s has no parameter %q", t.call, name)
			continue
		}
		if slices.Contains(def.Info.AllUsers, name) {
			found(at, wording.Say("leave it out, or fix it under with"), "a model must not choose whose memories it reads")
			continue
		}
		have, want := typeOf(property), typeOf(place.All...)
		areKnown := have != "" && want != ""
		if areKnown && have != want && have+want != "integernumber" {
			found(at, wording.Text{}, "the model would give %s, %s wants %s", have, t.call, want)
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
			found("", wording.Of("fix it under with, or let the model give it"), "%s needs the parameter %q", t.call, name)
		}
	}
	return problems
}

// lintFlat checks the arguments that an HTTP tool lists by name against its operation, if that is known.
func (t toolPlan) lintFlat(def calls.Definition, env calls.LintEnv) (problems []schema.Problem) {
	operation, _ := t.with.Get("operation")
	isRequest := t.call == callHTTP && def.ParamsFor != nil
	isKnown := operation.Kind() == value.String && env.Dir != ""
	if !isRequest || !isKnown || t.parameters == nil {
		return nil
	}
	known := calls.NewEnv()
	known.Dir = env.Dir
	whole, err := def.ParamsFor(context.Background(), known, value.OfMap(t.with))
	if err != nil { // found when the call checks the fixed parameters
		return nil
	}
	flat := newFlatArguments(whole.Doc(), t.with)
	if t.writesGroups(flat) {
		return nil
	}
	given, _ := t.parameters.Get("properties")
	for name := range given.Map().All() {
		if err := flat.find(name); err != nil {
			problems = append(problems, calls.ProblemOf("/"+t.place+"/parameters/properties/"+value.Escape(name), err))
		}
	}
	return problems
}

// typeOf returns the one type that schemas of a value allow; "" if there are several or it is not known.
func typeOf(schemas ...value.Value) string {
	only := ""
	for _, s := range schemas {
		kind, _ := s.Get("type")
		name, ok := kind.Str()
		isOther := only != "" && name != only
		if !ok || isOther {
			return ""
		}
		only = name
	}
	return only
}

package flow

import (
	"errors"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// lintParams checks parameters against the schema of the call, as far as they are
// known, and asks the call itself.
func (u *unit) lintParams(s *stepUnit) {
	with := s.With
	if with == nil {
		with = &Param{Pos: u.positionOf(s.keys.Call.node), Literal: value.OfMap(nil)}
	}
	if with.Expr != nil {
		return
	}
	var holes []hole
	v := sketchParam(with, "", &holes)
	problems := paramProblems(u.checkSketch(s.Def.Info.Params, v, holes))
	if s.EnableFilling {
		problems = slices.DeleteFunc(problems, func(p paramProblem) bool { return p.Keyword == "required" })
	}
	if s.Call == CallFlow {
		problems = append(problems, u.lintSubFlow(s, v, holes)...)
	}
	if v.Kind() == value.Object {
		problems = append(problems, u.askCall(s, with, holes)...)
	}
	good := !slices.ContainsFunc(problems, func(p paramProblem) bool { return !p.Warning })
	if good && len(holes) == 0 && !s.EnableFilling {
		if err := tryConstruct(s.Def, v); err != nil {
			u.reportConstruct(s, with, err)
		}
	}
	u.reportParams(s, u.explainLiterals(s, problems))
}

// maxParamProblems limits the problems of one step's parameters that are reported: to find the place of each, all
// parameters are walked.
const maxParamProblems = 100

// reportParams reports problems of the parameters of a step, the errors first if there are too many to report all.
func (u *unit) reportParams(s *stepUnit, problems []paramProblem) {
	more := len(problems) - maxParamProblems
	if more > 0 {
		slices.SortStableFunc(problems, func(a, b paramProblem) int { return compareBools(a.Warning, b.Warning) })
		problems = problems[:maxParamProblems]
	}
	for _, p := range problems {
		u.reportParam(s, p)
	}
	if more > 0 {
		u.add(u.positionOf(s.keys.Call.node), "%s has %d more problems in its parameters", s.Call, more).Warning = true
	}
}

// compareBools orders false before true.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// reportConstruct reports that the call cannot be made of its parameters.
func (u *unit) reportConstruct(s *stepUnit, with *Param, err error) {
	pos := with.Pos
	err = Locate(err, s.With)
	var at *LocatedError
	if errors.As(err, &at) {
		pos = at.Pos
	}
	u.add(pos, "%s: %v", s.Call, err).hintOf(err)
}

// askCall lets the call check its known parameters.
func (u *unit) askCall(s *stepUnit, with *Param, holes []hole) (problems []paramProblem) {
	defer func() {
		if r := recover(); r != nil {
			problems = []paramProblem{{message: say("%s panicked while it looked at its parameters: %v", s.Call, r)}}
		}
	}()
	env := u.lintEnv()
	env.IsOpen, env.Beginnings = s.EnableFilling, map[string]string{}
	env.Tries = max(s.Retry.MaxAttempts, 1)
	for _, h := range holes {
		env.Computed = append(env.Computed, h.pointer)
		env.Beginnings[h.pointer] = h.beginning
	}
	problems = paramProblems(s.Def.CheckParams(with.Written(), env))
	if s.EnableFilling { // a name that is not there may be filled in
		problems = slices.DeleteFunc(problems, func(p paramProblem) bool { return p.Keyword == calls.UndefinedName })
	}
	return problems
}

func (u *unit) lintEnv() calls.LintEnv {
	env := calls.LintEnv{Registry: u.loading.Registry, Files: lintFiles{u}, CheckHost: u.loading.CheckHost}
	if u.loading.ReadFile == nil {
		env.Dir = u.dir
	}
	return env
}

// tryConstruct makes the call of parameters, to see whether it can be made.
func tryConstruct(def calls.Definition, params value.Value) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = calls.Errorf(calls.Internal, "%s", say("the call panicked: %v", r))
		}
	}()
	_, err = def.New(params)
	return err
}

// reportParam reports a problem of a parameter at the parameter's place.
func (u *unit) reportParam(s *stepUnit, p paramProblem) {
	name := strings.TrimPrefix(p.Pointer, "/")
	switch p.Keyword {
	case "required":
		p.message = say("%s needs the parameter %q", s.Call, name)
		if outer, inner, nested := cutLast(name); nested {
			p.message = say("%s of %s needs %q", outer, s.Call, inner)
		}
		p.hint = say("`scheduler calls %s` shows its parameters", s.Call)
	case "additionalProperties":
		p.message = say("%s has no parameter %q", s.Call, name)
		if outer, inner, nested := cutLast(name); nested {
			p.message = say("%s of %s has no %q", outer, s.Call, inner)
		}
		if p.hint.En == "" {
			p.hint = s.listMembers(p.Pointer)
		}
	default:
		if name != "" && p.File == "" {
			p.message = say("%s: %s", name, p.message)
		}
	}
	found := u.add(u.placeOfParam(s, p), "%s", p.message)
	found.setHint(p.hint)
	found.Warning = p.Warning
}

// placeOfParam returns the place of a problem of a parameter: at its key or value, in its text, or in the file
// that it is read from.
func (u *unit) placeOfParam(s *stepUnit, p paramProblem) Position {
	if p.File != "" {
		return Position{p.File, p.Line, p.Col}
	}
	if s.with == nil {
		return u.positionOf(s.keys.Call.node)
	}
	if exact, ok := s.With.Place(p.Pointer, p.Offset); ok && p.Offset > 0 {
		return exact
	}
	if _, _, isHere := yaml.Walk(s.with, p.Pointer); !isHere {
		if inData, _, ok := s.With.DataPlace(p.Pointer, ""); ok {
			return inData
		}
	}
	if p.Keyword == "additionalProperties" || p.Keyword == schema.UnknownKeyword {
		return u.positionOf(keyAt(s.with, p.Pointer))
	}
	if p.Keyword == "required" && strings.Count(p.Pointer, "/") <= 1 {
		return u.positionOf(s.keys.With.key)
	}
	return u.positionOf(nodeAt(s.with, p.Pointer))
}

// listMembers returns the hint that lists the members beside an unknown one.
func (s *stepUnit) listMembers(pointer string) wording.Text {
	path := PointerTokens(pointer)
	around := lookUpPath(s.Def.Info.Params.Doc(), path[:len(path)-1]).schema
	if names := memberOf(around, "properties").Map().Keys(); len(names) > 0 {
		return say("it has %s", value.ListNames(names))
	}
	return wording.Text{}
}

// cutLast cuts the last member off a pointer.
func cutLast(pointer string) (outer, last string, nested bool) {
	i := strings.LastIndexByte(pointer, '/')
	if i < 0 {
		return "", pointer, false
	}
	return pointer[:i], pointer[i+1:], true
}

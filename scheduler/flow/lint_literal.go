package flow

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
)

// explainLiterals explains problems of literal parameters that were meant to be computed:
// a text that is one {{ expression }} is taken as it is written there. Where nothing else is
// wrong with one that names something of the flow, it is a warning of its own.
func (u *unit) explainLiterals(s *stepUnit, problems []paramProblem) []paramProblem {
	for _, name := range s.Def.Info.Literal {
		expr, whole := u.wholeExpression(s, name)
		if !whole {
			continue
		}
		pointer := "/" + value.Escape(name)
		hint := say("%s is taken as it is written; to let the flow compute it write %s: !expr %q", name, name, expr)
		found := false
		for i := range problems {
			if problems[i].Pointer == pointer {
				problems[i].hint = hint
				found = true
			}
		}
		if !found {
			problems = append(problems, paramProblem{
				Problem: schema.Problem{Pointer: pointer, Warning: true},
				message: say("{{ %s }} is not computed by the flow", expr), hint: hint,
			})
		}
	}
	return problems
}

// wholeExpression returns the expression that the text of a literal parameter is, if it
// names something of the flow that the step gives no value of its own for.
func (u *unit) wholeExpression(s *stepUnit, param string) (expr string, whole bool) {
	if s.With == nil {
		return "", false
	}
	at, rest := Descend(s.With, "/"+value.Escape(param))
	literal, _ := at.Literal.At(rest)
	text, _ := literal.Str()
	node := nodeAt(s.with, "/"+value.Escape(param))
	expr, _, whole = prompt.SingleExpr(text)
	if !whole || node == nil || ownTag(node) != "" {
		return "", false
	}
	e, err := prompt.ParseExpr(prompt.Source{Text: expr}, nil)
	if err != nil || len(e.Refs()) == 0 {
		return "", false
	}
	root := e.Refs()[0].Path[0]
	_, isStep := u.byID[root]
	isName := isStep || slices.Contains(reservedNames, root)
	return strings.TrimSpace(expr), isName && !givesValue(s.With, root)
}

// givesValue reports whether a map among the parameters has a member of that name.
func givesValue(with *Param, name string) bool {
	for _, m := range with.Map {
		if slices.ContainsFunc(m.Map, func(inner Member) bool { return inner.Key == name }) {
			return true
		}
		if _, has := m.Literal.Get(name); has {
			return true
		}
	}
	for _, v := range with.Literal.Map().All() {
		if _, has := v.Get(name); has {
			return true
		}
	}
	return false
}

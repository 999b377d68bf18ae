package flow

import (
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
)

// explainLiterals explains problems of literal parameters that were meant to be computed: a text that is one {{
// expression }} is used there unchanged. If it names something of the flow and has no other fault, it gets a
// warning of its own.
func (u *unit) explainLiterals(s *stepUnit, problems []paramProblem) []paramProblem {
	for _, name := range s.Def.Info.Literal {
		if slices.Contains(s.Def.Info.Templates, name) { // it sees the step's names
			continue
		}
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

// A call may render a template that the flow gives it as a literal parameter ([calls.Info] Templates). Such a
// template sees its step's names, as if the flow had written for each name that it mentions
//
//	values: {inputs: {question: !expr inputs.question}, recall: !expr recall}
//
// beside the values that the flow gives, which win. So all that is known of parameters holds for these
// names too: lint, secrets, and the places that --explain shows.

// shareNames gives the templates that calls render the names that their steps see.
func (u *unit) shareNames() {
	for s := range u.eachStep() {
		if s.known && s.Def.Templates != nil && s.With != nil && s.With.Expr == nil {
			for _, t := range u.askTemplates(s) {
				u.shareNamesOf(s, t)
			}
		}
	}
}

// askTemplates asks the call of a step for its templates.
func (u *unit) askTemplates(s *stepUnit) (templates []calls.Template) {
	defer func() { _ = recover() }() // calls are third parties; askCall reports the like
	return s.Def.Templates(s.With.Written())
}

func (u *unit) shareNamesOf(s *stepUnit, t calls.Template) {
	given := s.With.member(t.Values)
	node := nodeAt(s.with, "/"+value.Escape(t.Param))
	with := s.With
	within := func(offset int) Position { pos, _ := with.Place("/"+value.Escape(t.Param), offset); return pos }
	var names []calls.TemplateName
	for _, name := range t.Names {
		root := name.Path[0]
		_, isStep := u.byID[root]
		isVisible := isStep || slices.Contains(reservedNames, root)
		if isVisible && !given.gives(root) {
			names = append(names, name)
			s.uses = append(s.uses, nameUse{Ref: prompt.Ref{Path: name.Path, Offset: name.Offset, Guarded: name.Guarded}, within: within, template: node})
		}
	}
	values := given.asMap(within(0))
	for _, name := range names {
		values.addName(name.Path, within(name.Offset), isWhole(names, name.Path[0]))
	}
	if len(values.Map) > 0 || values.Over != nil {
		s.With = s.With.withMember(t.Values, values)
	}
}

// isWhole reports whether a template mentions all that a name has, and not only members of it.
func isWhole(names []calls.TemplateName, root string) bool {
	return slices.ContainsFunc(names, func(n calls.TemplateName) bool {
		if n.Path[0] != root || root == "vars" || root == "secrets" { // the parts of these are fetched by their names
			return false
		}
		if len(n.Path) == 1 {
			return true
		}
		_, err := strconv.Atoi(n.Path[1])
		return err == nil // an item of a list
	})
}

// addName adds the value that a template mentions by a path: of the whole name, or of its member.
func (p *Param) addName(path []string, pos Position, whole bool) {
	root := path[0]
	if whole {
		p.addOptional(root, root, pos)
		return
	}
	if len(path) == 1 { // all of vars or secrets, which lint refuses
		return
	}
	i := slices.IndexFunc(p.Map, func(m Member) bool { return m.Key == root })
	if i < 0 {
		i = len(p.Map)
		p.Map = append(p.Map, Member{Key: root, Pos: pos, Param: &Param{Pos: pos, Map: []Member{}}})
	}
	source := joinPath(path[:2])
	if _, err := prompt.ParseExpr(prompt.Source{Text: source}, nil); err != nil { // a key that is not a name
		source = root + "[" + value.OfString(path[1]).JSON() + "]"
	}
	p.Map[i].addOptional(path[1], source, pos)
}

// addOptional adds a member with the value of an expression, which is left out if that is undefined.
func (p *Param) addOptional(key, source string, pos Position) {
	if slices.ContainsFunc(p.Map, func(m Member) bool { return m.Key == key }) {
		return
	}
	e, err := prompt.ParseExpr(prompt.Source{File: pos.File, Text: source, At: func(int) (line, col int) { return pos.Line, pos.Col }}, nil)
	if err != nil {
		return // it is a path that the template has, too
	}
	p.Map = append(p.Map, Member{Key: key, Pos: pos, Optional: true, Param: &Param{Pos: pos, Expr: e, source: source}})
}

// member returns a member of a map; nil if there is none.
func (p *Param) member(name string) *Param {
	for _, m := range p.Map {
		if m.Key == name {
			return m.Param
		}
	}
	v, ok := p.Literal.Get(name)
	if !ok {
		return nil
	}
	return &Param{Pos: p.Pos, Literal: v}
}

// gives reports whether a map has a member of that name.
func (p *Param) gives(name string) bool { return p != nil && p.member(name) != nil }

// asMap returns a param with the members of a map, to which more can be added. An expression's members override
// them.
func (p *Param) asMap(pos Position) *Param {
	made := &Param{Pos: pos, Map: []Member{}}
	if p == nil {
		return made
	}
	made.Pos = p.Pos
	if p.Expr != nil || p.Text != nil || p.Over != nil {
		made.Over = p
	}
	made.Map = append(made.Map, p.Map...)
	for k, v := range p.Literal.Map().All() {
		made.Map = append(made.Map, Member{Key: k, Pos: p.Pos, Param: &Param{Pos: p.Pos, Literal: v}})
	}
	return made
}

// withMember returns a map with one member replaced, or added.
func (p *Param) withMember(name string, member *Param) *Param {
	made := p.asMap(p.Pos)
	made.origin = p.origin
	for i := range made.Map {
		if made.Map[i].Key == name {
			made.Map[i].Param = member
			return made
		}
	}
	made.Map = append(made.Map, Member{Key: name, Pos: member.Pos, Param: member})
	return made
}

// ComputedTemplate returns the place of a template text that is computed when the flow runs, which no call may
// render: a text from a model, a user or a tool would be read as a template. found is false if there is none.
func (s *Step) ComputedTemplate() (pos Position, pointer string, found bool) {
	if s.With == nil || s.Def.Info == nil {
		return Position{}, "", false
	}
	for _, name := range s.Def.Info.Templates {
		pointer := "/" + value.Escape(name)
		at, _ := Descend(s.With, pointer)
		if at.isComputed() {
			return at.Pos, pointer, true
		}
	}
	return Position{}, "", false
}

// isComputed reports whether the value depends on something that is known only when the flow runs.
func (p *Param) isComputed() bool {
	isConstant := p.Expr != nil && len(p.Expr.Refs()) == 0
	return p.Text != nil || p.Expr != nil && !isConstant && !p.unknown
}

const computedTemplate = "%s: the text of a template is not computed when the flow runs: what a model, a user or a tool wrote would be read as a template"

// lintTemplates refuses template texts that are computed: of the step's own call, and of the calls that it runs.
func (u *unit) lintTemplates(s *stepUnit) {
	if pos, pointer, found := s.ComputedTemplate(); found {
		u.add(pos, computedTemplate, pointer[1:]).
			hint("write the template in the flow, or take it with !file PATH; it sees the names that the step sees, as in {{ inputs.name }}")
	}
	if s.EnableFilling {
		for _, name := range s.Def.Info.Templates {
			if s.With == nil || s.With.Expr == nil && !s.With.gives(name) {
				u.add(u.positionOf(s.keys.Call.node), "%s needs the parameter %q: the text of a template is not filled in", s.Call, name).hint("write it under with")
			}
		}
	}
	for _, in := range u.askInside(s) {
		def, ok := u.loading.Registry.Call(in.Call)
		if !ok || in.With == "" {
			continue
		}
		for _, name := range def.Info.Templates {
			pointer := in.With + "/" + value.Escape(name)
			at, rest := Descend(s.With, pointer)
			v, _ := at.Literal.At(rest)
			if at.isComputed() {
				u.add(at.Pos, computedTemplate, pointer[1:]).hint("write !raw before the text, so that the tool gets it as it is, and give the values under values")
				continue
			}
			if !v.IsNull() || at.Map != nil || at.Expr != nil {
				continue
			}
			asked, rest := Descend(s.With, in.Asked+"/properties/"+value.Escape(name))
			if _, isAsked := asked.Written().At(rest); in.Asked != "" && isAsked {
				u.warn(u.positionOf(nodeAt(s.with, in.Pointer)), "a model does not write templates: the %s that it gives is taken as it is", name)
			} else {
				u.add(u.positionOf(nodeAt(s.with, in.Pointer)), "the tool needs %q under with: a model does not write templates", name)
			}
		}
	}
}

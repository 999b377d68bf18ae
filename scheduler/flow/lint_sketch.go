package flow

import (
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// hole is a place in parameters that is only known when the flow runs.
type hole struct {
	pointer string
	text    bool // in any case it is a text
	// beginning is the part of a text before its first expression.
	beginning string
}

// sketchParam returns the value of parameters with a text in each hole.
func sketchParam(p *Param, at string, holes *[]hole) value.Value {
	switch {
	case p.Expr != nil || p.Text != nil:
		h := hole{pointer: at, text: p.Text != nil}
		if h.text {
			h.beginning = literalBeginning(p.source)
		}
		*holes = append(*holes, h)
		return value.OfString("")
	case p.Over != nil:
		return sketchParam(p.Over, at, holes)
	case p.Map != nil:
		m := value.NewMap(len(p.Map))
		for _, member := range p.Map {
			m.Set(member.Key, sketchParam(member.Param, at+"/"+value.Escape(member.Key), holes))
		}
		return value.OfMap(m)
	case p.List != nil:
		items := make([]value.Value, len(p.List))
		for i, item := range p.List {
			items[i] = sketchParam(item, at+"/"+strconv.Itoa(i), holes)
		}
		return value.OfList(items...)
	}
	return p.Literal
}

// paramProblem is a problem of a parameter with its texts in the built-in languages, which are used instead of the
// texts of the schema's problem.
type paramProblem struct {
	schema.Problem
	message, hint wording.Text
}

func paramProblems(problems []schema.Problem) []paramProblem {
	list := make([]paramProblem, len(problems))
	for i, p := range problems {
		list[i].Problem = p
		list[i].message, list[i].hint = p.Text()
	}
	return list
}

// checkSketch checks a value with holes: a part that depends on a hole is not known.
func (u *unit) checkSketch(s *schema.Schema, v value.Value, holes []hole) []schema.Problem {
	if len(holes) > 0 {
		s = u.loading.withoutConditions(s)
	}
	problems := s.Check(v)
	if len(holes) == 0 {
		return problems
	}
	at, above := map[string]hole{}, map[string]bool{}
	for _, h := range holes {
		at[h.pointer] = h
		for p := h.pointer; p != ""; {
			p = p[:strings.LastIndexByte(p, '/')]
			above[p] = true
		}
	}
	return slices.DeleteFunc(problems, func(p schema.Problem) bool {
		h, isHole := at[p.Pointer]
		if isHole {
			isTypeOfText := p.Keyword == "type" && h.text
			return p.Keyword != "additionalProperties" && !isTypeOfText
		}
		if above[p.Pointer] {
			return !slices.Contains([]string{"required", "additionalProperties", "type", "minItems", "maxItems", "minProperties", "maxProperties", "propertyNames"}, p.Keyword)
		}
		return false
	})
}

// withoutConditions returns a schema without the parts that depend on other parts of the value,
// which may be holes.
func (ld *loading) withoutConditions(s *schema.Schema) *schema.Schema {
	if l, ok := ld.leniently[s]; ok {
		return l
	}
	l := s
	if doc := dropConditions(s.Doc()); !value.Equal(doc, s.Doc()) {
		var err error
		l, err = schema.Parse(doc)
		if err != nil {
			l, _ = schema.Parse(keySchema())
		}
	}
	ld.leniently[s] = l
	return l
}

// dropConditions removes the keywords of a schema that depend on other parts of the value.
func dropConditions(doc value.Value) value.Value {
	switch doc.Kind() {
	case value.List:
		items := make([]value.Value, len(doc.List()))
		for i, item := range doc.List() {
			items[i] = dropConditions(item)
		}
		return value.OfList(items...)
	case value.Object:
		m := value.NewMap(doc.Map().Len())
		for keyword, v := range doc.Map().All() {
			switch keyword {
			case "if", "then", "else", "dependencies", "dependentSchemas", "dependentRequired":
				continue
			case "enum", "const", "default", "examples": // data
			case "properties", "patternProperties", "definitions", "$defs": // their keys are names, be they then or else
				v = eachUnconditional(v)
			default:
				v = dropConditions(v)
			}
			m.Set(keyword, v)
		}
		return value.OfMap(m)
	}
	return doc
}

func eachUnconditional(schemas value.Value) value.Value {
	m := value.NewMap(schemas.Map().Len())
	for name, s := range schemas.Map().All() {
		m.Set(name, dropConditions(s))
	}
	return value.OfMap(m)
}

// literalBeginning returns the part of a template before its first tag, for example "https://" of "https://{{ host }}/".
func literalBeginning(template string) string {
	for at := range len(template) - 1 {
		if tag := template[at : at+2]; tag == "{{" || tag == "{%" || tag == "{#" {
			return template[:at]
		}
	}
	return template
}

package builtins

import (
	"strconv"
	"strings"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/lettercase"
	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
	"github.com/callnode/scheduler/llm/value/wording"
)

// getter is the attribute= of a filter: a.b.0, or a number.
type getter struct {
	parts    []pyvalue.Val
	name     string
	fallback pyvalue.Val
}

func newGetter(attribute, fallback pyvalue.Val) (*getter, error) {
	if attribute.IsAbsent() || attribute.IsNone() {
		return nil, nil
	}
	g := &getter{fallback: fallback}
	s, ok := attribute.AsString()
	if !ok {
		if _, err := pyvalue.AsInt(attribute); err != nil {
			return nil, err
		}
		g.parts, g.name = []pyvalue.Val{attribute}, pyvalue.Text(attribute.V)
		return g, nil
	}
	g.name = s
	for part := range strings.SplitSeq(s, ".") {
		if n, err := strconv.Atoi(part); err == nil && n >= 0 {
			g.parts = append(g.parts, pyvalue.OfInt(n))
		} else {
			g.parts = append(g.parts, pyvalue.OfStr(part))
		}
	}
	return g, nil
}

func (g *getter) memberOf(m *pyvalue.Run, item pyvalue.Val) (pyvalue.Val, error) {
	if g == nil {
		return item, nil
	}
	for i, part := range g.parts {
		if err := item.CheckDefined(); err != nil {
			return pyvalue.None, err
		}
		v, ok, err := GetItem(item, part)
		if err == nil && !ok {
			if s, isStr := part.AsString(); isStr {
				v, ok, err = GetAttribute(m, item, s)
			}
		}
		if err != nil {
			return pyvalue.None, err
		}
		if !ok {
			if !g.fallback.IsAbsent() && !g.fallback.IsNone() {
				return g.fallback, nil
			}
			missing := MissingMember(item, g.name, pyvalue.LastName(pyvalue.ItemPath("", part)), m.Here)
			if m.Soft && i < len(g.parts)-1 { // an empty value there has no members
				return pyvalue.None, missing.ToError()
			}
			return m.Undefined(missing), nil
		}
		item = v
	}
	return item, nil
}

// foldCase makes strings compare without case.
func foldCase(v pyvalue.Val, sensitive bool) pyvalue.Val {
	if s, ok := v.AsString(); ok && !sensitive {
		return pyvalue.OfStr(lettercase.Lower(s))
	}
	return v
}

// newGenerator returns the result of a filter that Python computes when it is walked.
func newGenerator(name string, run func() ([]pyvalue.Val, error)) (pyvalue.Val, error) {
	return pyvalue.OfPython(&pyvalue.Generator{Name: name, Run: run}), nil
}

func noElement(m *pyvalue.Run, what string) pyvalue.Val {
	return m.Undefined(&pyvalue.UndefinedValue{Class: fault.Undefined, Format: "the list is empty: it has no %s element", Args: []any{wording.Of(what)}, Off: m.Here})
}

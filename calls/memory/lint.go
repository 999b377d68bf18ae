package memory

import (
	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// LintTimes reports the parameters of these names that are not times.
func LintTimes(params value.Value, names ...string) (problems []schema.Problem) {
	for _, name := range names {
		v, _ := params.Get(name)
		text, _ := v.Str()
		if text == "" {
			continue // a template, or not given
		}
		if _, err := ParseTime(text); err != nil {
			problems = append(problems, formatProblem(name, err))
		}
	}
	return problems
}

// LintID reports a parameter that is not an id of that kind.
func LintID(params value.Value, name string, kind Kind) []schema.Problem {
	v, _ := params.Get(name)
	text, _ := v.Str()
	if text == "" {
		return nil
	}
	if _, err := CheckID(kind, text); err != nil {
		return []schema.Problem{formatProblem(name, err)}
	}
	return nil
}

// formatProblem makes the problem of a parameter whose text has the wrong format.
func formatProblem(name string, err error) schema.Problem {
	p := calls.ProblemOf("/"+name, err)
	p.Keyword = "format"
	return p
}

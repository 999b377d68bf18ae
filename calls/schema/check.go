package schema

import (
	"errors"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Check returns all the places where v does not fit, sorted by pointer; nil if it fits. A union that does not fit
// is one problem at its place, because the user meant at most one of its branches: for example an anyOf of a
// string and a number, given a list.
func (s *Schema) Check(v value.Value) Problems {
	s.compileOnce()
	if s.err != nil {
		return Problems{uncheckable(s.err)}
	}
	if s.everyday && certainlyFits(s.compiled, v) {
		return nil
	}
	return s.explainProblems(v)
}

// uncheckable returns the problem of a value that could not be checked.
func uncheckable(err error) Problem { return newProblem("", "", wording.OfError(err)) }

// explainProblems asks the library for the problems.
func (s *Schema) explainProblems(v value.Value) (problems Problems) {
	for _, f := range s.checkWithLibrary(v) {
		problems = append(problems, f.Problem)
	}
	return slices.Compact(problems)
}

// checkWithLibrary has the library check v.
func (s *Schema) checkWithLibrary(v value.Value) (problems []problem) {
	alone := func(p Problem) []problem { return []problem{{p, nil}} }
	var c converter
	x, p := c.convert(v, 0)
	if p != nil {
		return alone(*p)
	}
	mayBeCostly := s.branching || c.long
	if mayBeCostly && !s.isAffordable(v, c.nodes) {
		return alone(newProblem("", "", wordingf("the value takes too long to check: the schema's unions multiply, or its regular expressions are too costly")))
	}
	defer func() {
		if r := recover(); r != nil { // the library panics on values it did not expect
			problems = alone(newProblem("", "", wordingf("the value cannot be checked: %v", r)))
		}
	}()
	err := s.compiled.Validate(x)
	if err == nil {
		return nil
	}
	var invalid *jsonschema.ValidationError
	if errors.As(err, &invalid) {
		problems = sortByPointer(s.flattenError(invalid, v))
	}
	if problems == nil { // a value that the library refuses never passes
		return alone(newProblem("", "", wordingf("the value cannot be checked: %v", err)))
	}
	return problems
}

package schema

import (
	"cmp"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Problem is one place where a value does not fit its schema. [Schema.Check] and the
// lints of calls create problems; they are only data.
type Problem struct {
	// Pointer is the RFC 6901 pointer of the place in the value. For a missing or
	// an unknown property it is the pointer that the property has or would have.
	Pointer string
	// Keyword is the schema keyword that failed: required, type, enum ...; "false"
	// for a value where the schema allows none, "" where the value could not be
	// checked.
	Keyword string
	// Message is what is wrong, without the place; [Problem.In] has it in another
	// language.
	Message string
	// Hint is what was probably meant, or what to do; often "".
	Hint string
	// Warning is set when the value can be used all the same; [Schema.Check] has no
	// warnings, what a call finds beyond it may.
	Warning bool
	// Offset is the byte in the text at Pointer, where a call knows it.
	Offset int
	// File, with Line and Col from 1, is the place of a problem in a file that a
	// parameter names; File is "" for one in the value itself.
	File      string
	Line, Col int

	chinese, chineseHint string // "" for texts that were set by themselves
}

// Error returns the place and the message.
func (p Problem) Error() string {
	s := p.Message
	if p.Pointer != "" {
		s = p.Pointer + ": " + s
	}
	if p.Hint != "" {
		s += " (" + p.Hint + ")"
	}
	return s
}

// WithMessage returns the problem with a message in the built-in languages.
func (p Problem) WithMessage(format string, args ...any) Problem {
	text := wording.Say(format, args...)
	p.Message, p.chinese = text.En, text.Zh
	return p
}

// WithHint returns the problem with a hint in the built-in languages.
func (p Problem) WithHint(format string, args ...any) Problem {
	text := wording.Say(format, args...)
	p.Hint, p.chineseHint = text.En, text.Zh
	return p
}

// Text returns the message and the hint in the built-in languages.
func (p Problem) Text() (message, hint wording.Text) {
	message, hint = wording.Of(p.Message), wording.Of(p.Hint)
	message.Zh, hint.Zh = cmp.Or(p.chinese, message.Zh), cmp.Or(p.chineseHint, hint.Zh)
	return message, hint
}

// In returns the place, the message and the hint in a language.
func (p Problem) In(language string) string {
	if !wording.IsChinese(language) {
		return p.Error()
	}
	message, hint := p.Text()
	s := message.Zh
	if p.Pointer != "" {
		s = p.Pointer + "：" + s
	}
	if hint.Zh != "" {
		s += "（" + hint.Zh + "）"
	}
	return s
}

// Problems are the places where a value does not fit, as one error.
type Problems []Problem

// maxListed bounds the problems that one text lists.
const maxListed = 100

// Error lists the first of them, separated by semicolons, and tells how many more there are.
func (p Problems) Error() string { return p.list("en", Problem.Error) }

// In is Error in a language.
func (p Problems) In(language string) string {
	return p.list(language, func(one Problem) string { return one.In(language) })
}

// list joins the texts of the problems that are listed.
func (p Problems) list(language string, format func(Problem) string) string {
	var texts []string
	for i := range p {
		if i == maxListed {
			texts = append(texts, wordingf("and %d more", len(p)-i).In(language))
			break
		}
		texts = append(texts, format(p[i]))
	}
	if wording.IsChinese(language) {
		return strings.Join(texts, "；")
	}
	return strings.Join(texts, "; ")
}

// Check returns all the places where v does not fit, sorted by pointer; nil where
// it fits. A union that does not fit is one problem at its place: the user
// meant at most one of its branches.
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

// problem is a Problem and the subschema that it is about, nil where it is not
// known.
type problem struct {
	Problem
	sub *jsonschema.Schema
}

// sortByPointer puts problems in order: by pointer, then message.
func sortByPointer(problems []problem) []problem {
	slices.SortStableFunc(problems, func(a, b problem) int {
		if c := strings.Compare(a.Pointer, b.Pointer); c != 0 {
			return c
		}
		return strings.Compare(a.Message, b.Message)
	})
	return problems
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
	if problems == nil { // what the library refuses never passes
		return alone(newProblem("", "", wordingf("the value cannot be checked: %v", err)))
	}
	return problems
}

// flattenError flattens the library's tree of errors. root is the whole value.
func (s *Schema) flattenError(e *jsonschema.ValidationError, root value.Value) (all []problem) {
	switch k := e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		for _, cause := range e.Causes {
			all = append(all, s.flattenError(cause, root)...)
		}
		return all
	case *kind.PropertyNames: // the causes are about the name: the problem is the object's
		for _, cause := range e.Causes {
			for _, p := range s.flattenError(cause, value.OfString(k.Property)) {
				message, _ := p.Text()
				p.Problem = newProblem(pointerOf(e), "propertyNames", wordingf("the property name %q: %s", k.Property, message))
				all = append(all, p)
			}
		}
		return all
	}
	return s.problemsOf(e, root)
}

// pointerOf returns the place that an error is about.
func pointerOf(e *jsonschema.ValidationError) string {
	return value.FormatPointer(e.InstanceLocation...)
}

// problemsOf words an error of the library that has no others inside that matter.
func (s *Schema) problemsOf(e *jsonschema.ValidationError, root value.Value) (all []problem) {
	pointer := pointerOf(e)
	have, _ := root.At(pointer)
	f := failure{s, e, s.at[e.SchemaURL], root, have}
	add := func(p Problem) { all = append(all, problem{p, f.sub}) }
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			add(missingProblem(pointer+value.FormatPointer(name), name))
		}
	case *kind.AdditionalProperties:
		return f.unknownProblems(pointer, k.Properties)
	case *kind.Dependency:
		for _, name := range k.Missing {
			add(newProblem(pointer, "dependencies", missingBeside(name, k.Prop)))
		}
	case *kind.DependentRequired:
		for _, name := range k.Missing {
			add(newProblem(pointer, "dependentRequired", missingBeside(name, k.Prop)))
		}
	default:
		p := newProblem(pointer, keywordOf(e.ErrorKind), f.message())
		p.Hint = f.hint()
		add(p)
	}
	return all
}

// keywordOf returns the keyword that failed; "false" for a schema that allows no value.
func keywordOf(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.FalseSchema:
		return "false"
	case *kind.Not:
		return "not"
	case *kind.MinContains:
		if k.Want == 1 {
			return "contains"
		}
	}
	return strings.Join(k.KeywordPath(), "/")
}

// cutLast parts the last token, without its escapes, from a pointer.
func cutLast(pointer string) (parent, token string) {
	i := strings.LastIndexByte(pointer, '/')
	if i < 0 {
		return "", pointer
	}
	return pointer[:i], value.Unescape(pointer[i+1:])
}

// decodeLocation undoes the percent-encoding that the library lays over JSON pointers.
func decodeLocation(location string) string {
	if plain, err := url.PathUnescape(location); err == nil {
		return plain
	}
	return location
}

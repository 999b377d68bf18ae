package check

import (
	"context"
	"slices"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
)

// test decides on a subject. It is safe for concurrent use.
type test func(ctx context.Context, of *subject) *verdict

// matcher is a word for a requirement on a subject, for example contains. [matchers] lists them; they do not
// change.
type matcher struct {
	name string
	doc  wording.Text
	// on are the subjects that it is for.
	on []subjectKind
	// with are the keys beside it that belong to it.
	with []modifier
	// schema is the schema of its value.
	schema *schema.Schema
	// build makes the test of an argument that has not been checked yet: it reports all faults of it, and returns
	// nil then.
	build func(a *argument) test
	// isExpression: the value is an expression, not data.
	isExpression bool
	// isTryable: the test looks at the value of the subject and nothing else, so that it can be tried with others.
	isTryable bool
	// asksModel: two answers to it may differ.
	asksModel bool
	// cannotNegate is set if the matcher makes no sense under not.
	cannotNegate bool
	// takesName: the value is a name, which nothing is compared with.
	takesName bool
}

// modifier is a key beside a matcher.
type modifier struct {
	name   string
	schema *schema.Schema
}

// define returns a matcher whose value is read as a Go type.
func define[T any](name string, doc wording.Text, on []subjectKind, build func(want T, a *argument) test) matcher {
	s := schema.MustFor[T]()
	return matcher{name: name, doc: doc, on: on, schema: s, build: func(a *argument) test {
		want, ok := decode[T](a, s)
		if !ok {
			return nil
		}
		return build(want, a)
	}}
}

// withKeys returns the matcher with keys beside it.
func (m matcher) withKeys(keys ...modifier) matcher {
	m.with = keys
	return m
}

// parsedMatcher is a matcher of an item. It does not change.
type parsedMatcher struct {
	*matcher
	negated bool
	// test is set if the value has no templates.
	test test
	// value and beside are the compiled value and keys beside it, for values with templates.
	value  *tree
	beside map[string]*tree
	arg    argument
	// refs are the names in the value of a matcher that is an expression.
	refs []prompt.Ref
}

// String returns the name as the item has it.
func (m *parsedMatcher) String() string {
	if m.negated {
		return "not " + m.name
	}
	return m.name
}

// decide returns the verdict of the matcher on a subject.
func (m *parsedMatcher) decide(ctx context.Context, of *subject) *verdict {
	do, arg := m.test, &m.arg
	if do == nil {
		var failed *verdict
		do, arg, failed = m.buildTest(ctx, of)
		if failed != nil {
			return failed
		}
	}
	if !m.takesName && arg.hasSecret(of.of.Services.Mask) {
		return errorf("%s cannot be decided: it names a secret, and results have a mask in its place", m.name).
			withHint("check where texts come from instead: confined: {source: secrets.NAME, roles: []}")
	}
	v := do(ctx, of)
	if ctx.Err() != nil && v.outcome != result.Pass {
		return errorOf(ctx.Err())
	}
	if !m.negated || v.outcome == result.Error || v.isUnfit {
		return v
	}
	return m.negate(v, of)
}

// negate returns the opposite of a verdict on a subject.
func (m *parsedMatcher) negate(v *verdict, of *subject) *verdict {
	if v.outcome == result.Fail {
		opposite := &verdict{outcome: result.Pass, note: v.note}
		if looksIntoText := slices.Contains([]string{"contains", "contains_all", "contains_any", "starts_with", "matches"}, m.name); !looksIntoText {
			return opposite
		}
		if of.value.IsNull() && of.isValue() {
			return unfitf("it is null: nothing can be in it")
		}
		if of.isEmpty() {
			return opposite.withNote("it is empty: nothing can be in it")
		}
		return opposite
	}
	opposite := failf("%s holds, but must not", m.name)
	if v.message.En != "" {
		opposite.message = wording.Say("%s holds, but must not: %s", m.name, v.message)
	} else if of.kind != noSubject && of.kind != promptSubject {
		opposite.message = wording.Say("%s holds, but must not: %s", m.name, wording.Say("it is %s", value.Truncate(of.asText(), maxShown)))
	}
	opposite.piece = v.piece
	return opposite
}

// buildTest makes the test of a value with templates, and returns its argument; failed is an error if it cannot be
// made.
func (m *parsedMatcher) buildTest(ctx context.Context, of *subject) (do test, arg *argument, failed *verdict) {
	names := newScope(ctx, of.of, of)
	rendered := m.arg
	arg = &rendered
	var problems flow.Problems
	var needs []Need
	arg.problems, arg.needs, arg.memories, arg.beside = &problems, &needs, &[]Memory{}, value.NewMap(len(m.beside))
	var err error
	arg.value, err = m.value.render(ctx, names)
	if err != nil {
		return nil, nil, errorOf(err)
	}
	arg.isRendered = m.value.text != nil
	for _, mod := range m.with {
		t, ok := m.beside[mod.name]
		if !ok {
			continue
		}
		v, err := t.render(ctx, names)
		if err != nil {
			return nil, nil, errorOf(err)
		}
		arg.beside.Set(mod.name, v)
	}
	do = m.build(arg)
	if len(problems) == 0 && m.isVacuous(ctx, do) {
		arg.reportIdle("", "values of every kind pass")
	}
	if len(problems) > 0 {
		return nil, nil, &verdict{outcome: result.Error, message: wording.Text{En: problems.In("en"), Zh: problems.In("zh")}}
	}
	return do, arg, nil
}

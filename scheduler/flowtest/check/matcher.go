package check

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
)

// test decides on a subject. It is safe for concurrent use.
type test func(ctx context.Context, of *subject) *verdict

// matcher is a word that tells what a subject must be. [matchers] lists them; they do not change.
type matcher struct {
	name string
	doc  wording.Text
	// on are the subjects that it is for.
	on []subjectKind
	// with are the keys beside it that belong to it.
	with []modifier
	// schema is that of its value.
	schema *schema.Schema
	// build makes the test of an argument that fits nothing yet: it reports all that is wrong with it, and
	// returns nil then.
	build func(a *argument) test
	// isExpression: the value is an expression, not data.
	isExpression bool
	// cannotNegate: not makes no sense of it.
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

// matchers lists all matchers, in the order of the documentation.
var matchers = sync.OnceValue(func() []matcher {
	return slices.Concat(
		textMatchers(), valueMatchers(), distanceMatchers(), modelMatchers(), provenanceMatchers(), snapshotMatchers(),
		eventMatchers(), toolMatchers(), retrievalMatchers(), runMatchers(), pluginMatchers(),
	)
})

// findMatcher returns the matcher of a name for a kind of subject; nil where there is none.
func findMatcher(name string, kind subjectKind) *matcher {
	for i, m := range matchers() {
		if m.name == name && slices.Contains(m.on, kind) {
			return &matchers()[i]
		}
	}
	return nil
}

// matcherNames lists the matchers of a kind of subject.
func matcherNames(kind subjectKind) (names []string) {
	for _, m := range matchers() {
		if slices.Contains(m.on, kind) {
			names = append(names, m.name)
		}
	}
	return names
}

// subjectsOf lists the subjects that have a matcher or a modifier of a name.
func subjectsOf(name string) (subjects []string) {
	for _, m := range matchers() {
		if m.name == name {
			for _, kind := range m.on {
				subjects = append(subjects, string(kind))
			}
		}
	}
	return subjects
}

// parsedMatcher is a matcher of an item. It does not change.
type parsedMatcher struct {
	*matcher
	negated bool
	// test is set where the value has no templates.
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

// parseMatchers reads the matchers of a list of members.
func (p *parser) parseMatchers(of *parsedSubject, list []member, negated bool) (all []*parsedMatcher) {
	beside := map[string]member{}
	for _, m := range list {
		beside[m.name] = m
	}
	owners := map[string]bool{}
	for _, m := range list {
		def := findMatcher(m.name, of.kind)
		if def == nil {
			continue
		}
		for _, mod := range def.with {
			owners[mod.name] = true
		}
		if parsed := p.parseMatcher(of, def, m, beside, negated); parsed != nil {
			all = append(all, parsed)
		}
	}
	for _, m := range list {
		if findMatcher(m.name, of.kind) == nil && !owners[m.name] {
			p.reportUnknownKey(of.kind, m)
		}
	}
	return all
}

// reportUnknownKey reports a key that is neither a matcher of the subject nor belongs to one that is there.
func (p *parser) reportUnknownKey(kind subjectKind, m member) {
	at := p.positionIn(m.key, 0)
	for _, def := range matchers() {
		if slices.ContainsFunc(def.with, func(mod modifier) bool { return mod.name == m.name }) && slices.Contains(def.on, kind) {
			p.problems = append(p.problems, newProblem(at, wording.Say("%s belongs to %s, which the check does not have", m.name, def.name),
				wording.Say("add %s, or take %s out", def.name, m.name)))
			return
		}
	}
	if others := subjectsOf(m.name); len(others) > 0 {
		p.problems = append(p.problems, newProblem(at, wording.Say("%s is not a matcher of %s", m.name, kind.label()),
			wording.Say("it is a matcher of %s", strings.Join(others, ", "))))
		return
	}
	known := append(matcherNames(kind), itemKeys...)
	p.problems = append(p.problems, unknownName(at, "unknown matcher %q", m.name, known))
}

// parseMatcher reads one matcher; nil where something is wrong.
func (p *parser) parseMatcher(of *parsedSubject, def *matcher, m member, beside map[string]member, negated bool) *parsedMatcher {
	parsed := &parsedMatcher{matcher: def, negated: negated, beside: map[string]*tree{}}
	if negated && def.cannotNegate {
		p.report(m.key, wording.Say("%s cannot stand under not", def.name), wording.Text{})
		return nil
	}
	prefix := ""
	if negated {
		prefix = "/not"
	}
	parsed.arg = argument{
		pointer: prefix + "/" + value.Escape(m.name), prefix: prefix, scope: p.scope, subject: of, needs: &p.needs, memories: &p.memories, beside: value.NewMap(len(def.with)),
		at: p.positionsFrom(m.value, beside, prefix, false), keyAt: p.positionsFrom(m.value, beside, prefix, true), problems: &p.problems,
	}
	if def.isExpression {
		e := p.compileExpression(m.value)
		if e == nil {
			return nil
		}
		parsed.refs = e.expr.Refs()
		if len(parsed.refs) == 0 {
			p.report(m.value, wording.Say("the expression names nothing of the run: it comes out the same for each"),
				wording.Say("there are %s", value.ListNames(templateNames())))
			return nil
		}
		parsed.arg.value = value.OfString(yaml.Resolve(m.value).Value)
		parsed.test = expressionTest(e, yaml.Resolve(m.value).Value)
		return parsed
	}
	isDynamic := false
	parsed.value, isDynamic = p.compileTree(m.value)
	for _, mod := range def.with {
		other, ok := beside[mod.name]
		if !ok {
			continue
		}
		t, dynamic := p.compileTree(other.value)
		parsed.beside[mod.name], isDynamic = t, isDynamic || dynamic
		parsed.arg.beside.Set(mod.name, p.valueOf(other.value))
	}
	if isDynamic {
		return parsed
	}
	parsed.arg.value = p.valueOf(m.value)
	before := len(p.problems)
	parsed.test = def.build(&parsed.arg)
	if parsed.test == nil && len(p.problems) == before {
		p.report(m.value, wording.Say("%s cannot be read", def.name), wording.Text{})
	}
	return parsed
}

// positionsFrom returns what finds the places of pointers into a matcher and the keys beside it: of values, or of their keys.
func (p *parser) positionsFrom(value *yaml.Node, beside map[string]member, prefix string, ofKeys bool) func(pointer string) flow.Position {
	return func(pointer string) flow.Position {
		name, rest, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(pointer, prefix), "/"), "/")
		node := value
		if m, ok := beside[name]; ok {
			node = m.value
		}
		if rest == "" {
			return p.positionIn(node, 0)
		}
		at, key, found := yaml.Walk(node, "/"+rest)
		if isKey := !found || ofKeys; isKey && key != nil {
			at = key
		}
		return p.positionIn(at, 0)
	}
}

// decide returns what the matcher finds of a subject.
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
	return m.negate(v)
}

// negate returns the opposite of a verdict.
func (m *parsedMatcher) negate(v *verdict) *verdict {
	if v.outcome == result.Fail {
		return pass()
	}
	opposite := failf("%s holds, but must not", m.name)
	if v.message.En != "" {
		opposite.message = wording.Say("%s holds, but must not: %s", m.name, v.message)
	}
	opposite.piece = v.piece
	return opposite
}

// buildTest makes the test of a value with templates, and returns what it is given; failed is an error where it cannot be made.
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
	if len(problems) > 0 {
		return nil, nil, &verdict{outcome: result.Error, message: wording.Text{En: problems.In("en"), Zh: problems.In("zh")}}
	}
	return do, arg, nil
}

package check

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler/flow"
)

// matchers lists all matchers, in the order of the documentation.
var matchers = sync.OnceValue(func() []matcher {
	ofValues := slices.Concat(textMatchers(), valueMatchers(), distanceMatchers())
	for i := range ofValues {
		ofValues[i].isTryable = !ofValues[i].isExpression && ofValues[i].name != "words" // no text to try has as many as a bound may allow
	}
	ofModels := modelMatchers()
	for i := range ofModels {
		ofModels[i].asksModel = true
	}
	return slices.Concat(ofValues, ofModels, provenanceMatchers(), snapshotMatchers(),
		eventMatchers(), toolMatchers(), retrievalMatchers(), runMatchers(), pluginMatchers(),
	)
})

// findMatcher returns the matcher of a name for a kind of subject; nil if there is none.
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

// parseMatchers reads the matchers of a list of members.
func (p *parser) parseMatchers(of *parsedSubject, list []member, negated bool) (all []*parsedMatcher) {
	beside := byName(list)
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

// reportUnknownKey reports a key that is neither a matcher of the subject nor belongs to a matcher of the item.
func (p *parser) reportUnknownKey(kind subjectKind, m member) {
	at := p.positionIn(m.key, 0)
	for _, def := range matchers() {
		if slices.ContainsFunc(def.with, func(mod modifier) bool { return mod.name == m.name }) && slices.Contains(def.on, kind) {
			p.problems = append(p.problems, flow.NewProblem(at, wording.Say("%s belongs to %s, which the check does not have", m.name, def.name),
				wording.Say("add %s, or take %s out", def.name, m.name)))
			return
		}
	}
	if others := subjectsOf(m.name); len(others) > 0 {
		p.problems = append(p.problems, flow.NewProblem(at, wording.Say("%s is not a matcher of %s", m.name, kind.label()),
			wording.Say("it is a matcher of %s", strings.Join(others, ", "))))
		return
	}
	known := append(matcherNames(kind), itemKeys...)
	p.problems = append(p.problems, unknownMatcher(at, m.name, known))
}

// otherWords are names that matchers have in other programs, or that people try first.
var otherWords = map[string]string{
	"has": "contains", "include": "contains", "icontains": "contains", "is": "equals", "eq": "equals", "regex": "matches", "regexp": "matches", "pattern": "matches",
	"rubric": "judge", "llm_rubric": "judge", "excludes": "leaves_out", "omits": "leaves_out", "only_in": "confined", "in_role": "confined", "role": "confined", "from": "includes", "source": "includes",
}

// unknownMatcher reports a name that no matcher has, with the one that was probably meant.
func unknownMatcher(at flow.Position, name string, known []string) flow.Problem {
	opposite, isNegated := strings.CutPrefix(strings.ReplaceAll(name, "-", "_"), "not_")
	meant := otherWords[strings.ReplaceAll(name, "-", "_")]
	switch {
	case isNegated && slices.Contains(known, opposite):
		return flow.NewProblem(at, wording.Say("unknown matcher %q", name), wording.Say("write not: {%s: ...}", opposite))
	case slices.Contains(known, meant):
		return flow.NewProblem(at, wording.Say("unknown matcher %q", name), wording.Say("did you mean %q?", meant))
	case value.DidYouMean(name, known) != "":
		return unknownName(at, "unknown matcher %q", name, known)
	}
	return flow.NewProblem(at, wording.Say("unknown matcher %q", name), wording.Say("there are %s; scheduler help tests explains them", strings.Join(known, ", ")))
}

// parseMatcher reads one matcher; nil if it has a problem.
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
		parsed.reportConstant(e, p.when)
		return parsed
	}
	isDynamic := false
	parsed.value, isDynamic = p.compileTree(m.value)
	if isDynamic && def.name != namePlugin && of.namesItself(parsed.value) {
		parsed.arg.reportIdle("", "the expression is the subject itself")
		return nil
	}
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
		if parsed.mirrorsSubject(context.Background()) || parsed.mirrorsPrompt() {
			parsed.arg.reportIdle("", "the expression is made of the subject itself")
		}
		return parsed
	}
	parsed.arg.value = p.valueOf(m.value)
	before := len(p.problems)
	parsed.test = def.build(&parsed.arg)
	switch {
	case parsed.test == nil && len(p.problems) == before:
		p.report(m.value, wording.Say("%s cannot be read", def.name), wording.Text{})
	case parsed.isVacuous(context.Background(), parsed.test):
		parsed.arg.reportIdle("", "values of every kind pass")
	}
	return parsed
}

// positionsFrom returns a function that finds the places of pointers into a matcher and the keys beside it: of
// values, or of their keys.
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

package check

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler/flow"
)

// Parse reads an item of expect. It returns all problems of it, each with its place; the check is nil then. Values
// of matchers may have templates over the names value, outputs, steps, prompt, row, inputs and run; their results
// are checked when they are evaluated. !raw takes a value as it is written, !file the value of a file.
func Parse(item *yaml.Node, scope *Scope) (*Check, flow.Problems) {
	p := &parser{scope: scope, item: yaml.Resolve(item), literals: map[*yaml.Node]value.Value{}}
	c := p.parse()
	if len(p.problems) > 0 {
		return nil, p.problems
	}
	c.needs, c.memories, c.content = p.needs, p.memories, p.contentOf()
	return c, nil
}

// contentOf returns all that the item asks for. Keys in another order ask for the same.
func (p *parser) contentOf() string {
	content := p.valueOf(p.item).Map().Clone()
	for _, key := range []string{"name", "metric", "weight"} {
		content.Delete(key)
	}
	parts := make([]string, 0, content.Len())
	for key, v := range content.All() {
		parts = append(parts, value.OfString(key).JSON()+":"+v.JSON())
	}
	slices.Sort(parts)
	return strings.Join(parts, ",")
}

func (p *parser) parse() *Check {
	c := &Check{Pos: p.positionIn(p.item, 0), Weight: 1}
	if p.item.Kind != yaml.Mapping {
		p.report(p.item, wording.Say("a check is a map of a subject and matchers"), wording.Say("write {output: reply, contains: hello}"))
		return nil
	}
	if !p.readValues() {
		return nil
	}
	keys := byName(membersOf(p.item))
	c.subject = p.parseSubject(keys)
	if c.subject == nil {
		return nil
	}
	p.subject = c.subject
	p.parseCommon(c, keys)
	c.matchers = p.parseMatchers(c.subject, c.subject.matcherNodes(p), false)
	if node, ok := keys["not"]; ok {
		c.matchers = append(c.matchers, p.parseNot(c.subject, node.value)...)
	}
	if c.subject.runNot != nil {
		c.matchers = append(c.matchers, p.parseNot(c.subject, c.subject.runNot)...)
	}
	if len(c.matchers) == 0 && len(p.problems) == 0 {
		p.report(p.item, wording.Say("the check says nothing about its subject"),
			wording.Say("add a matcher: there are %s", value.ListNames(matcherNames(c.subject.kind))))
	}
	return c
}

// parseCommon reads name, metric, weight and when.
func (p *parser) parseCommon(c *Check, keys map[string]member) {
	c.Name, c.Metric = p.text(keys, "name"), p.text(keys, "metric")
	if m, ok := keys["weight"]; ok {
		v := p.valueOf(m.value)
		weight, isNumber := v.Float()
		if !isNumber || weight < 0 {
			p.report(m.value, wording.Say("weight must be a number of at least 0, not %s", value.Truncate(v.JSON(), 40)), wording.Text{})
		}
		c.Weight = weight
	}
	if m, ok := keys["when"]; ok {
		c.when = p.compileCondition(m.value)
		p.when = c.when
	}
}

// parseNot reads the matchers under not.
func (p *parser) parseNot(of *parsedSubject, n *yaml.Node) []*parsedMatcher {
	node := yaml.Resolve(n)
	if node.Kind != yaml.Mapping || len(node.Content) == 0 {
		p.report(n, wording.Say("not takes a map of matchers"), wording.Say("write not: {contains: hello}"))
		return nil
	}
	return p.parseMatchers(of, membersOf(node), true)
}

// matcherNodes lists the members of the item that are matchers, or belong to one, in the order of the file.
func (s *parsedSubject) matcherNodes(p *parser) (list []member) {
	own := append(slices.Clone(itemKeys), string(s.kind))
	own = append(own, s.kind.keys()...)
	list = slices.DeleteFunc(membersOf(p.item), func(m member) bool { return slices.Contains(own, m.name) })
	return slices.Concat(s.runKeys, list)
}

// parseSubject finds the subject of the item; nil if it has none that can be read.
func (p *parser) parseSubject(keys map[string]member) *parsedSubject {
	var found []member
	kind := noSubject
	for _, k := range subjectKinds() {
		m, ok := keys[string(k)]
		if belongs := slices.Contains(kind.keys(), string(k)); belongs || !ok {
			continue
		}
		found = append(found, m)
		if kind == noSubject {
			kind = k
		}
	}
	if len(found) > 1 {
		p.report(found[1].key, wording.Say("a check has one subject, and %s is one already", found[0].name), wording.Say("write a check of its own for %s", found[1].name))
		return nil
	}
	_, hasThat := keys["that"]
	if len(found) == 0 && !hasThat {
		p.reportNoSubject()
		return nil
	}
	s := &parsedSubject{kind: kind}
	before := len(p.problems)
	p.readSubject(s, keys)
	if len(p.problems) > before {
		return nil
	}
	return s
}

// reportNoSubject reports an item without a subject, and a key that was probably meant to be one.
func (p *parser) reportNoSubject() {
	names := make([]string, 0, len(subjectKinds()))
	for _, k := range subjectKinds() {
		names = append(names, string(k))
	}
	for _, m := range membersOf(p.item) {
		if near := value.Nearest(m.name, names); near != "" && len(subjectsOf(m.name)) == 0 && !slices.Contains(itemKeys, m.name) {
			p.report(m.key, wording.Say("unknown subject %q", m.name), nearHint(m.name, names))
			return
		}
	}
	p.report(p.item, wording.Say("the check has no subject"), wording.Say("there are %s; or write that: with an expression", strings.Join(names, ", ")))
}

// readSubject reads the values of the subject's key and of the keys beside it.
func (p *parser) readSubject(s *parsedSubject, keys map[string]member) {
	if s.kind == noSubject {
		return
	}
	m := keys[string(s.kind)]
	if s.kind == runSubject {
		p.readRun(s, m)
		return
	}
	text, ok := p.valueOf(m.value).Str()
	if !ok || text == "" {
		p.report(m.value, wording.Say("%s must name what it is about, as a text", string(s.kind)), wording.Text{})
		return
	}
	s.text = text
	switch s.kind {
	case outputSubject:
		p.readOutputPath(s, m.value)
	case stepSubject:
		p.readStepPath(s, m.value)
	case requestSubject:
		p.readRequest(s, m.value)
	case eventSubject:
		p.readEvent(s, m.value, keys)
	default:
		s.step = text
		p.checkStep(m.value, text)
	}
	if round, ok := keys["round"]; ok && slices.Contains(s.kind.keys(), "round") {
		p.readRound(s, round.value)
	}
}

func (p *parser) readRound(s *parsedSubject, n *yaml.Node) {
	v := p.valueOf(n)
	number, ok := v.Int()
	if !ok || number < 1 {
		p.report(n, wording.Say("round must be a whole number from 1, not %s", value.Truncate(v.JSON(), 40)), wording.Text{})
	}
	s.round = int(number)
}

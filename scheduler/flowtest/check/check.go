package check

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
	"github.com/callnode/scheduler/scheduler/journal"
)

// Check is one item of expect, ready to be evaluated. [Parse] makes it; it is immutable, and safe for
// concurrent use.
type Check struct {
	// Pos is the start of the item.
	Pos flow.Position
	// Name, Metric and Weight are taken from the item, else "", "" and 1.
	Name, Metric string
	Weight       float64

	content  string      // all that it asks for, as JSON: without its name, metric and weight
	when     *expression // nil: always
	subject  *parsedSubject
	matchers []*parsedMatcher
	needs    []Need
	memories []Memory
}

// Needs lists the evidence of other cases, and of other flows, that the check compares with: they must
// have ended before it is evaluated.
func (c *Check) Needs() []Need { return slices.Clone(c.needs) }

// Repeats reports whether another check asks for the same. One that asks a model may be asked again: it may get another answer.
func (c *Check) Repeats(other *Check) bool {
	asksModel := slices.ContainsFunc(c.matchers, func(m *parsedMatcher) bool { return m.asksModel })
	return !asksModel && c.content == other.content
}

// Memories lists the memories that the check names, for a row and inputs, as the ones that a step should find: the reader of the file
// compares them with those that a case has.
func (c *Check) Memories(row, inputs value.Value) []Memory {
	all := slices.Clone(c.memories)
	for _, m := range c.matchers {
		all = append(all, m.givenMemories(row, inputs)...)
	}
	return all
}

// Label returns the label of the check in reports: its name, else its subject and matchers.
func (c *Check) Label() string {
	if c.Name != "" {
		return c.Name
	}
	return strings.TrimSpace(c.subject.String() + " " + c.matcherNames())
}

// End is how a run ended.
type End struct {
	State journal.RunStatus
	// Missed is the step at which the case stops and to which the run did not come; "" for none.
	Missed string
}

// ExpectsEnd reports whether the check, which passed or failed, is about a run that ends in this way. A case with
// such an end, for example a failed run, can only pass with such a check: run: failed expects a failure, and run:
// {not: {error: {kind: budget}}} does not.
func (c *Check) ExpectsEnd(end End) bool {
	switch c.subject.kind { //nolint:exhaustive // the others tell nothing of the end
	case runSubject:
		return slices.ContainsFunc(c.matchers, func(m *parsedMatcher) bool { return m.expectsEnd(end) })
	case eventSubject:
		return expectsEvent(c.subject, end)
	}
	return false
}

func (c *Check) matcherNames() string {
	names := make([]string, len(c.matchers))
	for i, m := range c.matchers {
		names[i] = m.String()
	}
	return strings.Join(names, ", ")
}

// Evaluate decides on the evidence. The outcome is skip, with a weight of 0, if the when of the item is false, or
// if it compares a flow with itself.
func (c *Check) Evaluate(ctx context.Context, e *Evidence) result.Check {
	found := result.Check{
		Name: c.Label(), Subject: c.subject.String(), Matcher: c.matcherNames(), Metric: c.Metric, Weight: c.Weight,
		Position: result.Position{File: c.Pos.File, Line: c.Pos.Line, Col: c.Pos.Col},
	}
	asked, failed := c.isAsked(ctx, e)
	if failed != nil {
		return failed.fill(found, e.Language)
	}
	if !asked || c.comparesWithItself(e) {
		found.Outcome, found.Weight = result.Skip, 0
		return found
	}
	if c.subject.isMany() {
		v, values := c.decideEach(ctx, e)
		found.Value = result.NewData(values).Shortened()
		return v.fill(found, e.Language)
	}
	of, failed := c.subject.resolve(ctx, e)
	if failed != nil {
		return failed.fill(found, e.Language)
	}
	if c.subject.kind != noSubject {
		found.Value = result.NewData(of.shownValue()).Shortened()
	}
	v := c.decide(ctx, of)
	if v.note.En == "" {
		v.note = of.idleNote()
		if c.subject.kind == noSubject {
			v.note = c.givenNote(e)
		}
	}
	return v.fill(found, e.Language)
}

// comparesWithItself reports whether the check compares the flow that ran with itself, which proves nothing.
func (c *Check) comparesWithItself(e *Evidence) bool {
	return slices.ContainsFunc(c.needs, func(n Need) bool { return n.Flow != "" && n.Flow == e.FlowName })
}

// isAsked evaluates the when of the item; failed is an error if the result is not a boolean. A subject that the
// run does not have is undefined there.
func (c *Check) isAsked(ctx context.Context, e *Evidence) (asked bool, failed *verdict) {
	if c.when == nil {
		return true, nil
	}
	var of *subject
	if slices.ContainsFunc(c.when.expr.Refs(), isOfSubject) && !c.subject.isMany() {
		of, failed = c.subject.resolve(ctx, e)
		if failed != nil {
			if failed.outcome == result.Error {
				return false, failed
			}
			of = nil
		}
	}
	v, err := c.when.eval(ctx, newScope(ctx, e, of))
	if err != nil {
		failed = errorOf(err)
		failed.message = wording.Say("when: %s", failed.message)
		return false, failed
	}
	asked, isBool := v.Bool()
	if !isBool {
		message, hint := notBooleanText(v)
		return false, &verdict{outcome: result.Error, message: message, hint: hint}
	}
	return asked, nil
}

// decide returns the joint verdict of all matchers: the first that failed, else the first that could not be
// decided, else a pass. Its score is the lowest.
func (c *Check) decide(ctx context.Context, of *subject) *verdict {
	worst := pass()
	for i, m := range c.matchers {
		v := m.decide(ctx, of)
		score := lowest(worst.score, v.score)
		isWorse := result.Worse(worst.outcome, v.outcome) != worst.outcome
		note := worst.note
		if i == 0 || isWorse {
			worst = v
		}
		if worst.note.En == "" {
			worst.note = cmp.Or(note, v.note)
		}
		worst.score = score
	}
	if worst.outcome == result.Error {
		worst.score = nil
	}
	return worst
}

func lowest(a, b *float64) *float64 {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}

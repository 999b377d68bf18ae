package inchat

import (
	"context"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls/inchat/keyword"
	"github.com/callnode/scheduler/calls/inchat/macro"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// conditionText returns the text of a condition field.
func conditionText(v value.Value) string {
	if v.IsNull() {
		return ""
	}
	return plainText(v)
}

// conditionOf returns the one of an entry.
func (b *builder) conditionOf(c *candidate) *condition {
	v, _ := c.entry.Get("condition")
	text := conditionText(v)
	if cond := b.conditions[text]; cond != nil {
		return cond
	}
	cond := &condition{text: text, parsed: macro.Parse(text), user: c.name, kind: c.kind}
	b.conditions[text] = cond
	return cond
}

// evaluateConditions decides about the entries that are conditional. The words of all
// conditions are searched in one pass, and an importance function is asked once about
// all of them; a condition that many entries share is evaluated once, unless it may
// give each another answer.
func (b *builder) evaluateConditions(ctx context.Context, in Input) error {
	if len(b.conditions) == 0 {
		return nil
	}
	vars := in.Variables.Map()
	if _, given := vars.Get(macro.HistoryVar); !given {
		vars = vars.Clone()
		vars.Set(macro.HistoryVar, value.OfString(scanText(in.History, in.ScanDepth)))
	}
	text, _ := vars.Get(macro.HistoryVar)
	history, _ := text.Str()
	var words []string
	for _, cond := range b.conditions {
		words = append(words, cond.parsed.Words()...)
	}
	machine := &macro.Machine{
		Now: b.env.Clock(), Rand: b.env.Rand, History: history, Found: keyword.Find(history, words),
	}
	judge := &importanceJudge{builder: b, in: in}
	machine.Judge = judge.askFunction
	for i := range b.candidates {
		c := &b.candidates[i]
		if c.cond == nil {
			continue
		}
		if !c.cond.done || c.cond.parsed.Volatile() {
			judge.about = i
			if err := b.evaluateCondition(ctx, machine, c.cond, vars); err != nil {
				return judge.causeOfEnd(err)
			}
		}
		c.out, c.reason, c.code = !c.cond.holds, wording.Same(c.cond.reason), codeCondition
	}
	return nil
}

// evaluateCondition evaluates a condition on variables of its own: _eval_condition_text in
// the documents.
func (b *builder) evaluateCondition(ctx context.Context, m *macro.Machine, cond *condition, vars *value.Map) error {
	got, err := m.Expand(ctx, cond.parsed, macro.NewVars(vars))
	if err != nil {
		return err
	}
	if problems := slices.Concat(got.Errors, cond.parsed.Warnings()); len(problems) > 0 && !cond.done {
		kind := wording.Of(strings.ReplaceAll(cond.kind, "_", " "))
		b.warn("the condition of %s %q: %s", kind, value.Truncate(cond.user, 80), wording.Join(problems, "; ", "；"))
	}
	cond.done = true
	cond.holds = len(got.Errors) == 0 && strings.ToLower(strings.TrimSpace(got.Text)) == "true"
	cond.reason = b.reasonOf(cond, got)
	return nil
}

// reasonOf describes the result of a condition in one line, in the language of the run.
func (b *builder) reasonOf(cond *condition, got macro.Result) string {
	if strings.TrimSpace(cond.text) == "" {
		return b.env.Say("conditional, but without a condition")
	}
	text := value.Truncate(cond.text, 80)
	reason := ""
	gave := strings.TrimSpace(got.Text)
	switch {
	case cond.holds:
		reason = b.env.Say("condition %s is true", text)
	case len(got.Errors) > 0:
		return b.env.Say("condition %s is false: %s", text, wording.Join(got.Errors, "; ", "；"))
	case strings.EqualFold(gave, "false"):
		reason = b.env.Say("condition %s is false", text)
	default:
		reason = b.env.Say("condition %s gave %q, not true", text, value.Truncate(gave, 80))
	}
	switch {
	case len(got.Verdicts) > 0:
		return b.env.Say("%s: %s", reason, strings.Join(got.Verdicts, "; "))
	case len(got.Hits) > 0:
		return b.env.Say("%s: found %s", reason, strings.Join(got.Hits, ", "))
	case len(cond.parsed.Words()) > 0:
		return b.env.Say("%s: found none of its keywords", reason)
	}
	return reason
}

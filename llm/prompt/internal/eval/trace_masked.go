package eval

import (
	"slices"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
	"github.com/callnode/scheduler/llm/prompt/internal/trace"
	"github.com/callnode/scheduler/llm/value"
)

// Steps of a run that look at its record, in which masks stand for secrets, trace with the masks in their place (package
// guess). The result differs wherever the template computes with a secret or decides by one. So a trace with masks
// continues when an expression fails with a mask, and marks the spans that may differ in the run: [Span] Secret.

// maskText is the result of an expression that fails with a mask.
const maskText = "***"

// traceMasked makes the evaluator trace, with masks in place of the secrets of the scope.
func (m *evaluator) traceMasked(scope Scope) { m.Trace, m.Masked = true, holdsSecrets(scope) }

// isOfMask reports whether an expression may have failed only because a mask replaces the secret that it mentions.
func (m *evaluator) isOfMask(v pyvalue.Val, err error) bool {
	if !m.Masked || err == nil && v.CheckRead() == nil {
		return false
	}
	e, ok := err.(*fault.Error) //nolint:errorlint // the package's own
	if err != nil && (!ok || e.Class == fault.Limit || e.Err != nil) {
		return false
	}
	return slices.ContainsFunc(m.Touched, (*trace.Origin).UsesSecret)
}

// noteDecision notes, if secrets are masks, that a condition decides about the evaluation from here on; since is
// the length that touched had before the condition.
func (m *evaluator) noteDecision(since int) {
	for _, o := range m.Touched[since:] {
		m.noteDecider(o)
	}
}

// noteDecider notes that a value of this origin decides about the evaluation from here on.
func (m *evaluator) noteDecider(o *trace.Origin) {
	if m.Masked && o.UsesSecret() && !slices.Contains(m.Decided, o) {
		m.Decided = append(slices.Clip(m.Decided), o)
	}
}

// noteItems notes that a loop over v, which has these items, may have other items if secrets are
// known: for example more items than a mask has.
func (m *evaluator) noteItems(v pyvalue.Val, items pyvalue.Elements) {
	if !m.Masked {
		return
	}
	isOfScope := v.Origin().IsReference() && !pyvalue.IsText(v)
	for i := range items.Len() {
		if o := items.At(i).Origin(); len(trace.DecidersOf(o)) > 0 {
			m.noteDecider(o)
			return
		}
	}
	_, isList := v.Py().(*pyvalue.PyList)
	_, isTuple := v.Py().(pyvalue.Tuple)
	if isMadeOfItems := (isList || isTuple || v.IsDict()) && items.Len() > 0; !isMadeOfItems && !isOfScope {
		m.noteDecider(v.Origin())
	}
}

// markDecided marks the place at which a statement writes something, or nothing, because of the decisions since
// decided had the length since.
func (m *evaluator) markDecided(since int, place value.ByteRange) {
	if len(m.Decided) > since {
		m.addPart(trace.Part{From: trace.ComputedOrigin(nil), Start: place.Start, Stop: place.End})
	}
}

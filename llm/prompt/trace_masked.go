package prompt

import (
	"slices"

	"github.com/callnode/scheduler/llm/value"
)

// A run keeps no secrets. Who wants to know later where a text of it came from renders again, with
// masks in their place, and that goes otherwise wherever the template computes with a secret or
// decides by one. So a trace with masks goes on where an expression fails with a mask, and marks
// what may be otherwise in the run: [Span] Secret. [AlignSpans] finds the rest of it in the text
// of the run.

// maskText is what an expression makes that fails with a mask.
const maskText = "***"

// traceMasked makes the evaluator trace, with masks in the place of the secrets of the scope.
func (m *evaluator) traceMasked(scope Scope) { m.trace, m.masked = true, holdsSecrets(scope) }

// isOfMask reports whether an expression may have failed only because a mask is in the place of
// the secret that it mentions.
func (m *evaluator) isOfMask(v val, err error) bool {
	if !m.masked || err == nil && v.checkRead() == nil {
		return false
	}
	e, ok := err.(*Error) //nolint:errorlint // the package's own
	if err != nil && (!ok || e.Class == Limit || e.Err != nil) {
		return false
	}
	return slices.ContainsFunc(m.touched, (*origin).usesSecret)
}

// usesSecret reports whether a value of this origin may be another one where secrets are known.
func (o *origin) usesSecret() bool {
	switch {
	case o == nil:
		return false
	case len(o.decided) > 0:
		return true
	case o.kind == Reference:
		v, _ := o.valueOf()
		return v.HasSecret()
	}
	return slices.ContainsFunc(o.from, (*origin).usesSecret) ||
		slices.ContainsFunc(o.parts, func(p part) bool { return p.from.usesSecret() })
}

// splitAt returns the spans of a stretch of a value with those of the masks in it apart: the text
// around them is as it is on record. The ranges count from the beginning of the stretch.
func (s Span) splitAt(masks []value.ByteRange) (split []Span) {
	add := func(from, to int, isSecret bool) {
		if from < to {
			cut := s
			cut.Start, cut.End, cut.Secret = from, to, isSecret
			cut.Sources = slices.Clone(s.Sources)
			cut.Sources[0].Start += from - s.Start
			cut.Sources[0].End = cut.Sources[0].Start + to - from
			split = append(split, cut)
		}
	}
	at := s.Start
	for _, mask := range masks {
		add(at, s.Start+mask.Start, false)
		at = s.Start + mask.End
		add(s.Start+mask.Start, at, true)
	}
	add(at, s.End, false)
	return split
}

// noteDecision notes that a condition, which has mentioned what was touched since a length of
// it, decides what is evaluated from here on.
func (m *evaluator) noteDecision(since int) {
	if !m.masked {
		return
	}
	for _, o := range m.touched[since:] {
		m.noteDecider(o)
	}
}

// noteDecider notes that a value of this origin decides what is evaluated from here on.
func (m *evaluator) noteDecider(o *origin) {
	if m.masked && o.usesSecret() && !slices.Contains(m.decided, o) {
		m.decided = append(slices.Clip(m.decided), o)
	}
}

// itemOfText returns one of the texts that the text of v was split into. How many there are depends
// on all of it.
func (m *evaluator) itemOfText(v val, offset int, text string) val {
	item := val{v: value.OfString(text)}.withOrigin(sliceOrigin(v.origin(), offset, len(text)))
	if m.masked && v.origin().usesSecret() {
		item = item.withOrigin(item.origin().decidedBy([]*origin{v.origin()}))
	}
	return item
}

// noteItems notes that a loop over v, which has these items, may be over others where secrets are
// known: there may be more or fewer than of a mask.
func (m *evaluator) noteItems(v val, items elements) {
	if !m.masked {
		return
	}
	isOfScope := v.origin() != nil && v.origin().kind == Reference && !isText(v)
	for i := range items.len() {
		if o := items.at(i).origin(); o != nil && len(o.decided) > 0 {
			m.noteDecider(o)
			return
		}
	}
	_, isList := v.py().(*pyList)
	_, isTuple := v.py().(tuple)
	if isMadeOfItems := (isList || isTuple || v.isDict()) && items.len() > 0; !isMadeOfItems && !isOfScope {
		m.noteDecider(v.origin())
	}
}

// markDecided marks where a statement writes something, or nothing, by what was decided since a
// length of decided.
func (m *evaluator) markDecided(since int, place byteRange) {
	if len(m.decided) > since {
		m.addPart(part{from: computedOrigin(nil), start: place.from, stop: place.to})
	}
}

// decidedBy returns the origin of a value that is this one because others decided it.
func (o *origin) decidedBy(by []*origin) *origin {
	if o == nil || len(by) == 0 {
		return o
	}
	c := *o
	if o.kind == "" {
		c.parts = slices.Clone(o.parts)
		for i, p := range c.parts {
			c.parts[i].from = p.from.decidedBy(by)
		}
		return &c
	}
	c.decided = slices.Clip(c.decided)
	for _, decider := range by {
		if !slices.Contains(c.decided, decider) {
			c.decided = append(c.decided, decider)
		}
	}
	return &c
}

// decidersOf returns what has decided that there is a value of this origin.
func decidersOf(o *origin) []*origin {
	if o == nil {
		return nil
	}
	return o.decided
}

// decidedParts returns the values that decided one of this origin.
func decidedParts(o *origin) (parts []part) {
	if o == nil {
		return nil
	}
	for _, decider := range o.decided {
		parts = append(parts, part{from: decider})
	}
	return parts
}

package trace

import (
	"slices"

	"github.com/callnode/scheduler/llm/value"
)

// UsesSecret reports whether a value of this origin may be a different one when secrets are known.
func (o *Origin) UsesSecret() bool {
	switch {
	case o == nil:
		return false
	case len(o.decided) > 0:
		return true
	case o.kind == Reference:
		v, _ := o.valueOf()
		return v.HasSecret()
	}
	return slices.ContainsFunc(o.from, (*Origin).UsesSecret) ||
		slices.ContainsFunc(o.parts, func(p Part) bool { return p.From.UsesSecret() })
}

// DecidedBy returns the origin of a value that is this one because others decided it.
func (o *Origin) DecidedBy(by []*Origin) *Origin {
	if o == nil || len(by) == 0 {
		return o
	}
	c := *o
	if o.kind == "" {
		c.parts = slices.Clone(o.parts)
		for i, p := range c.parts {
			c.parts[i].From = p.From.DecidedBy(by)
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

// DecidersOf returns the origins that decided that there is a value of this origin, for example those in the
// condition of an if.
func DecidersOf(o *Origin) []*Origin {
	if o == nil {
		return nil
	}
	return o.decided
}

// decidedParts returns the values that decided one of this origin.
func decidedParts(o *Origin) (parts []Part) {
	if o == nil {
		return nil
	}
	for _, decider := range o.decided {
		parts = append(parts, Part{From: decider})
	}
	return parts
}

// SecretRanges returns which bytes of a text are secret.
func SecretRanges(parts []Part) (ranges []value.ByteRange) {
	start := 0
	for _, p := range parts {
		for _, r := range p.secretRanges() {
			r.Start, r.End = r.Start+start, r.End+start
			if last := len(ranges) - 1; last >= 0 && ranges[last].End == r.Start {
				ranges[last].End = r.End
				continue
			}
			ranges = append(ranges, r)
		}
		start += p.Length
	}
	return ranges
}

// secretRanges returns which bytes of the part are secret: of a text of the scope those
// that are secret there, of anything else all.
func (p Part) secretRanges() []value.ByteRange {
	o, all := p.From, []value.ByteRange{{Start: 0, End: p.Length}}
	if o != nil && o.kind == "" {
		return SecretRanges(o.parts)
	}
	if !o.IsSecret() {
		return nil
	}
	if o.kind != Reference {
		return all
	}
	v, ok := o.valueOf()
	if !ok || v.Kind() != value.String {
		return all
	}
	var ranges []value.ByteRange
	for _, r := range v.SecretParts() {
		r.Start, r.End = max(r.Start-o.offset, 0), min(r.End-o.offset, p.Length)
		if r.Start < r.End {
			ranges = append(ranges, r)
		}
	}
	return ranges
}

// IsSecret reports whether a secret has gone into a value of this origin.
func (o *Origin) IsSecret() bool {
	switch {
	case o == nil || o.kind == Literal || o.harmless:
		return false
	case o.kind == Reference:
		v, _ := o.valueOf()
		return v.HasSecret()
	case o.kind == Computed:
		return slices.ContainsFunc(o.from, (*Origin).IsSecret)
	}
	return slices.ContainsFunc(o.parts, func(p Part) bool { return p.From.IsSecret() })
}

// valueOf returns the value of a reference; ok is false if the value only contains the reference's, for example
// the text of a character.
func (o *Origin) valueOf() (v value.Value, ok bool) {
	if o.parent == nil {
		return o.value, true
	}
	around, ok := o.parent.valueOf()
	if !ok {
		return around, false
	}
	v, ok = around.At("/" + value.Escape(o.key))
	if ok {
		return v, true
	}
	return around, false
}

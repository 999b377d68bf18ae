package prompt

import (
	"context"
	"slices"

	"github.com/callnode/scheduler/llm/value"
)

// SecretScope is a Scope whose values may be secrets ([value.OfSecret]). What
// [Expr.Eval] and [Template.RenderValue] make of them is a secret too: a text in the
// bytes that are the secret's or were computed from it, a number as a whole. Some things
// are not, for they tell next to nothing, and flows are checked with them: true and false,
// a length, the keys of a dict, and the template's own text that a condition chose. It lives
// and is used as a [Scope].
type SecretScope interface {
	Scope
	// HoldsSecrets reports whether any value may be, or hold, a secret.
	HoldsSecrets() bool
}

// SecretValues are [Values] that may hold secrets.
type SecretValues struct{ Values }

var _ SecretScope = SecretValues{}

// HoldsSecrets reports whether one of the values is, or holds, a secret.
func (v SecretValues) HoldsSecrets() bool { return value.OfMap(v.Map).HasSecret() }

func holdsSecrets(scope Scope) bool {
	s, ok := scope.(SecretScope)
	return ok && s.HoldsSecrets()
}

// RenderValue renders like [Template.Render]. In the text that it returns, what comes from
// secrets of a [SecretScope] is secret.
func (t *Template) RenderValue(ctx context.Context, scope Scope) (value.Value, error) {
	trace := holdsSecrets(scope)
	m, err := t.evaluate(ctx, scope, func(m *evaluator) { m.trace = trace })
	defer m.release()
	if err != nil {
		return value.Value{}, m.hideSecrets(err, func(masked Scope) error {
			m, err := t.evaluate(ctx, masked, nil)
			m.release()
			return err
		})
	}
	text := value.OfString(string(m.out))
	if !trace {
		return text, nil
	}
	return markRanges(text, secretRanges(m.parts)), nil
}

// maskedScope is a scope without its secrets.
type maskedScope struct{ Scope }

var _ LenientScope = maskedScope{}

// Lookup returns the value of the name with stars in the place of secrets.
func (s maskedScope) Lookup(name string) (value.Value, bool, error) {
	v, ok, err := s.Scope.Lookup(name)
	return v.MaskedDeep("***"), ok, err
}

// IsAbsent asks the scope.
func (s maskedScope) IsAbsent(name string) bool {
	lenient, ok := s.Scope.(LenientScope)
	return ok && lenient.IsAbsent(name)
}

// hideSecrets returns the error of an evaluation that used secrets as it is without them,
// for a message may show what was computed from one. again evaluates in another scope;
// where it fails otherwise, the message is not told.
func (m *evaluator) hideSecrets(err error, again func(Scope) error) error {
	e, ok := err.(*Error) //nolint:errorlint // the package's own
	if !ok || e.Err != nil {
		return err
	}
	if e.Class == Limit || e.Msg == secretKey { // they tell nothing
		return err
	}
	used := m.trace && slices.ContainsFunc(m.slots, func(s slot) bool { return s.seen && s.v.v.HasSecret() })
	if !used {
		return err
	}
	masked, ok := again(maskedScope{m.scope}).(*Error) //nolint:errorlint // the package's own
	if ok && masked.Class == e.Class && masked.Offset == e.Offset {
		return masked
	}
	hidden := *e
	hidden.Name, hidden.Hint = "", "look at what it makes of the secret"
	hidden.setMessage("it fails, and how is not told: the message may show a secret")
	return &hidden
}

// markRanges returns v with the ranges secret; without ranges it returns v.
func markRanges(v value.Value, ranges []value.ByteRange) value.Value {
	if len(ranges) == 0 {
		return v
	}
	return value.OfSecret(v, ranges...)
}

// exportMarked is exportValue with what comes from secrets marked in a traced evaluation.
func (m *evaluator) exportMarked(v val) (value.Value, error) {
	out, err := m.exportValue(v)
	if err != nil || !m.trace {
		return out, err
	}
	return markSecrets(v, out)
}

// markSecrets returns out, as which v left the template, with all in it secret that comes
// from a secret.
func markSecrets(v val, out value.Value) (value.Value, error) {
	isShared := v.py() == nil && v.origin() != nil && v.origin().kind == Reference
	if isShared && out.Kind() >= value.List {
		return out, nil // the scope's own
	}
	switch out.Kind() {
	case value.String:
		text, _ := out.Str()
		return markRanges(out, secretRanges(partsOf(v.origin(), len(text)))), nil
	case value.Int, value.Float:
		if v.origin().isSecret() {
			return value.OfSecret(out), nil
		}
	case value.List:
		return markList(v, out)
	case value.Object:
		return markDict(v, out)
	}
	return out, nil
}

func markList(v val, out value.Value) (value.Value, error) {
	known := (&evaluator{}).listElements(v)
	items := make([]value.Value, len(out.List()))
	for i, x := range out.List() {
		item := val{v: x}.withOrigin(v.origin())
		if i < known.len() {
			item = known.at(i)
		}
		var err error
		items[i], err = markSecrets(item, x)
		if err != nil {
			return value.Value{}, err
		}
	}
	return value.OfList(items...), nil
}

const secretKey = "a secret cannot be the key of a dict that leaves the template: keys are not masked"

func markDict(v val, out value.Value) (value.Value, error) {
	members := value.NewMap(out.Map().Len())
	for i := range out.Map().Len() {
		name, x := out.Map().Entry(i)
		member := val{v: x}.withOrigin(v.origin())
		if v.isDict() {
			var key val
			key, member = dictAt(v, i)
			if _, ok := v.py().(*pyDict); ok && key.origin().isSecret() {
				return value.Value{}, errorf(Security, secretKey)
			}
		}
		marked, err := markSecrets(member, x)
		if err != nil {
			return value.Value{}, err
		}
		members.Set(name, marked)
	}
	return value.OfMap(members), nil
}

// secretRanges returns which bytes of a text are secret.
func secretRanges(parts []part) (ranges []value.ByteRange) {
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
		start += p.length
	}
	return ranges
}

// secretRanges returns which bytes of the part are secret: of a text of the scope those
// that are secret there, of anything else all.
func (p part) secretRanges() []value.ByteRange {
	o, all := p.from, []value.ByteRange{{Start: 0, End: p.length}}
	if o != nil && o.kind == "" {
		return secretRanges(o.parts)
	}
	if !o.isSecret() {
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
		r.Start, r.End = max(r.Start-o.offset, 0), min(r.End-o.offset, p.length)
		if r.Start < r.End {
			ranges = append(ranges, r)
		}
	}
	return ranges
}

// isSecret reports whether a secret has gone into a value of this origin.
func (o *origin) isSecret() bool {
	switch {
	case o == nil || o.kind == Literal || o.harmless:
		return false
	case o.kind == Reference:
		v, _ := o.valueOf()
		return v.HasSecret()
	case o.kind == Computed:
		return slices.ContainsFunc(o.from, (*origin).isSecret)
	}
	return slices.ContainsFunc(o.parts, func(p part) bool { return p.from.isSecret() })
}

// lengthFilter is length.
func lengthFilter(m *evaluator, c *call) (val, error) {
	n, err := m.lengthOf(c.in)
	v := ofInt(n)
	if !m.trace || err != nil {
		return v, err
	}
	from, known := m.originsOf(c.in)
	if !known {
		from = m.touched
	}
	o := computedOrigin(from)
	o.harmless = true
	return v.withOrigin(o), nil
}

// valueOf returns the value of a reference; ok is false where it is only a value that has
// the reference's in it, such as the text of a character.
func (o *origin) valueOf() (v value.Value, ok bool) {
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

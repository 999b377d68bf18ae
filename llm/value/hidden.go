package value

import (
	"slices"
	"strings"
)

// ByteRange is the bytes of a text from Start up to End.
type ByteRange struct{ Start, End int }

// hidden is a text or a number that is secret, or has secret parts. Code that reads a [Value] sees its content;
// [Value.Masked] shows only the public part.
type hidden struct {
	v      any         // a string, int64, float64 or raw
	ranges []ByteRange // of a text: the secret parts, in order and apart; nil for all of it
}

// OfSecret returns the text or number v as a secret; of a text, the given ranges of it, which are in order and do
// not overlap, or all of it if none are given. The mark goes wherever the Value goes, and is lost with it: in a Go
// string, in JSON. Values of other kinds are returned unchanged: true, false or null reveals nothing about a
// secret from which it was computed, and a list or an object is as secret as its members.
func OfSecret(v Value, ranges ...ByteRange) Value {
	switch inner := v.unhide(); x := inner.v.(type) {
	case string:
		if x == "" {
			return inner
		}
		return Value{&hidden{x, ranges}}
	case int64, float64, raw:
		return Value{&hidden{v: x}}
	}
	return v
}

// unhide returns v without its mark.
func (v Value) unhide() Value {
	if h, ok := v.v.(*hidden); ok {
		return Value{h.v}
	}
	return v
}

// SecretParts returns which bytes of a text, or of the JSON text of a number, are secret: none if v is not marked
// as a secret. They must not be changed.
func (v Value) SecretParts() []ByteRange {
	h, ok := v.v.(*hidden)
	if !ok {
		return nil
	}
	if h.ranges != nil {
		return h.ranges
	}
	return []ByteRange{{0, len(v.PlainText())}}
}

const (
	// nearby is how many bytes may be between two secret parts of one stretch.
	nearby = 4
	// short is below how many bytes a part may not be found in a text by itself.
	short = 4
)

// EachSecret visits the secret texts in v: the secret parts of texts, and the JSON text of numbers. It also visits
// each stretch of short parts with only a few bytes between them, for example a secret printed with a space after
// each character, and that stretch's short parts alone, because a text may have them without the others.
func (v Value) EachSecret(visit func(text string)) {
	switch x := v.v.(type) {
	case []Value:
		for _, item := range x {
			item.EachSecret(visit)
		}
	case *Map:
		for _, member := range x.vals {
			member.EachSecret(visit)
		}
	case *hidden:
		x.eachPart(v.PlainText(), visit)
	}
}

func (h *hidden) eachPart(text string, visit func(string)) {
	for _, stretch := range (Value{h}).secretStretches() {
		for _, r := range stretch {
			visit(text[r.Start:r.End])
		}
		if last := len(stretch) - 1; last > 0 {
			visit(text[stretch[0].Start:stretch[last].End])
		}
		first := 0 // of the short parts in a row
		for i := range len(stretch) + 1 {
			if i < len(stretch) && stretch[i].End-stretch[i].Start < short {
				continue
			}
			if n := i - first; n > 1 && n < len(stretch) {
				visit(text[stretch[first].Start:stretch[i-1].End])
			}
			first = i + 1
		}
	}
}

// secretStretches returns the secret parts of v, joining two with only a few bytes between them if one of them is
// short.
func (v Value) secretStretches() (all [][]ByteRange) {
	for i, r := range v.SecretParts() {
		if i > 0 {
			last := len(all) - 1
			before := all[last][len(all[last])-1]
			isShort := min(r.End-r.Start, before.End-before.Start) < short
			if isShort && r.Start <= before.End+nearby {
				all[last] = append(all[last], r)
				continue
			}
		}
		all = append(all, []ByteRange{r})
	}
	return all
}

// ShortSecrets visits the secret texts of v, a text or a number, that are too short to be found in
// other texts, and not near others.
func (v Value) ShortSecrets(visit func(text string)) {
	text := v.PlainText()
	for _, stretch := range v.secretStretches() {
		part := text[stretch[0].Start:stretch[len(stretch)-1].End]
		if len(part) < short && strings.TrimSpace(part) != "" {
			visit(part)
		}
	}
}

// HasSecret reports whether v, or anything in it, is marked as a secret.
func (v Value) HasSecret() bool {
	switch x := v.v.(type) {
	case []Value:
		return slices.ContainsFunc(x, Value.HasSecret)
	case *Map:
		return x != nil && slices.ContainsFunc(x.vals, Value.HasSecret)
	case *hidden:
		return true
	}
	return false
}

// Masked returns a secret text or number as the text that may be shown, with mask in the place of each part that
// is secret. Any other value is returned unchanged.
func (v Value) Masked(mask string) Value {
	if _, ok := v.v.(*hidden); !ok {
		return v
	}
	var shown strings.Builder
	text, end := v.PlainText(), 0
	for _, r := range v.SecretParts() {
		shown.WriteString(text[end:r.Start])
		shown.WriteString(mask)
		end = r.End
	}
	shown.WriteString(text[end:])
	return OfString(shown.String())
}

// MaskedDeep is Masked for all that is in v too.
func (v Value) MaskedDeep(mask string) Value {
	if !v.HasSecret() {
		return v
	}
	switch x := v.v.(type) {
	case []Value:
		items := make([]Value, len(x))
		for i, item := range x {
			items[i] = item.MaskedDeep(mask)
		}
		return OfList(items...)
	case *Map:
		m := NewMap(x.Len())
		for k, member := range x.All() {
			m.Set(k, member.MaskedDeep(mask))
		}
		return OfMap(m)
	}
	return v.Masked(mask)
}

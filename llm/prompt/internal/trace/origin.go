// Package trace records where text comes from: the origins that values carry while a rendering is traced, the
// spans of a text that are made from origins, and which bytes are secret. For example {{ name }}! has a span for
// the value of name and a literal span for the "!". Values carry origins (package pyvalue), the evaluator turns
// them into spans (package eval), and package prompt shows the spans. It knows neither templates nor how values
// are computed.
package trace

import (
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/llm/value"
)

// Origin is the source of a value. Values have origins only while a rendering is traced; inside an expression, nil
// is an origin that is not known yet. Origins are immutable.
type Origin struct {
	kind SpanKind // "" for a text that was joined from parts
	// Of a reference: the value that it is a member of, or nil for a name of the scope; its key there; and the
	// offset at which a part of it begins in its text.
	parent *Origin
	key    string
	offset int
	value  value.Value // of a name of the scope
	// Of a literal: its bytes in the template; exact if they are the text itself.
	start, stop int
	exact       bool

	from     []*Origin // references that a value was computed from
	decided  []*Origin // values made of secrets that decided on this value
	harmless bool      // a length, a truth value or a key: see SecretScope of package prompt
	parts    []Part    // of a joined text
}

// Part is a stretch of a text that is being written or joined.
type Part struct {
	Length int
	From   *Origin
	// The bytes of the template that inserted it; both 0 until it is printed.
	Start, Stop int
}

// NameOrigin returns the origin of the value of a name of the scope.
func NameOrigin(name string, v value.Value) *Origin {
	return &Origin{kind: Reference, key: name, value: v}
}

// JoinedOrigin returns the origin of a text that was joined from parts.
func JoinedOrigin(parts []Part) *Origin { return &Origin{parts: parts} }

// HarmlessOrigin is ComputedOrigin for a length, a truth value or a key, which reveal next to nothing about a
// secret.
func HarmlessOrigin(from []*Origin, isHarmless bool) *Origin {
	o := ComputedOrigin(from)
	o.harmless = isHarmless
	return o
}

// IsReference reports whether the value is one of the scope, or a member of one.
func (o *Origin) IsReference() bool { return o != nil && o.kind == Reference }

// LiteralOrigin returns the origin of the template's bytes; exact if they are the text itself.
func LiteralOrigin(start, stop int, exact bool) *Origin {
	return &Origin{kind: Literal, start: start, stop: stop, exact: exact}
}

// ChildOrigin returns the origin of a member of a value.
func ChildOrigin(o *Origin, key string) *Origin {
	if o == nil || o.kind == Computed {
		return o
	}
	if o.kind == Reference {
		return &Origin{kind: Reference, parent: o, key: key, decided: o.decided}
	}
	return ComputedOrigin([]*Origin{o})
}

// ElementOrigin returns the origin of an element of a list.
func ElementOrigin(o *Origin, i int) *Origin {
	if o == nil {
		return nil
	}
	return ChildOrigin(o, strconv.Itoa(i))
}

// ComputedOrigin returns the origin of a value that was computed from others.
func ComputedOrigin(from []*Origin) *Origin {
	c := &Origin{kind: Computed}
	if isSingle := len(from) == 1 && from[0] != nil && from[0].kind == Reference; isSingle { // as most are
		c.from, c.decided = []*Origin{from[0]}, from[0].decided
		return c
	}
	seen := map[*Origin]bool{}
	var add func(o *Origin)
	add = func(o *Origin) {
		if o == nil || seen[o] {
			return
		}
		seen[o] = true
		if o.kind == Reference {
			c.from = append(c.from, o)
		}
		c.decided = append(c.decided, o.decided...)
		for _, x := range o.from {
			add(x)
		}
		for _, p := range o.parts {
			add(p.From)
		}
	}
	for _, o := range from {
		add(o)
	}
	return c
}

// KeyOrigin returns the origin of a key of a dict.
func KeyOrigin(dict *Origin) *Origin {
	return HarmlessOrigin([]*Origin{dict}, true)
}

// SliceOrigin returns the origin of a part of a text.
func SliceOrigin(o *Origin, offset, length int) *Origin {
	if o == nil || o.kind == Computed {
		return o
	}
	if o.kind == "" {
		return &Origin{parts: cutParts(o.parts, offset, offset+length)}
	}
	c := *o
	if o.kind == Reference {
		c.offset += offset
	} else if o.exact {
		c.start += offset
		c.stop = c.start + length
	}
	return &c
}

// cutParts returns the parts of text[from:to].
func cutParts(parts []Part, from, to int) (cut []Part) {
	begin := 0
	for _, p := range parts {
		end := begin + p.Length
		if start, stop := max(begin, from), min(end, to); start < stop {
			p.From = SliceOrigin(p.From, start-begin, stop-start)
			p.Length = stop - start
			cut = append(cut, p)
		}
		begin = end
	}
	return cut
}

// PartsOf returns the parts of a text of that length.
func PartsOf(o *Origin, length int) []Part {
	if o != nil && o.kind == "" {
		return o.parts
	}
	if length == 0 {
		return nil
	}
	return []Part{{Length: length, From: o}}
}

// AppendParts adds the parts of a text of that length to others; a part that continues the one before is joined
// with it.
func AppendParts(parts []Part, o *Origin, length int) []Part {
	for _, p := range PartsOf(o, length) {
		if last := len(parts) - 1; last >= 0 && parts[last].continuesIn(p) {
			parts[last].Length += p.Length
			continue
		}
		parts = append(parts, p)
	}
	return parts
}

// continuesIn reports whether next is the text right after p in the same value.
func (p Part) continuesIn(next Part) bool {
	a, b := p.From, next.From
	isSameSpan := p.Start == next.Start && p.Stop == next.Stop
	if a == nil || b == nil || !isSameSpan {
		return false
	}
	if a.kind != Reference || b.kind != Reference {
		return a == b && a.kind == Computed
	}
	return a.parent == b.parent && a.key == b.key && a.offset+p.Length == b.offset
}

// IsUnknown reports whether a value, or a part of a joined text, has no origin yet.
func (o *Origin) IsUnknown() bool {
	return o == nil || slices.ContainsFunc(o.parts, func(p Part) bool { return p.From == nil })
}

// Completed returns the origin with computed in place of its unknown parts.
func (o *Origin) Completed(computed *Origin) *Origin {
	if o == nil {
		return computed
	}
	parts := slices.Clone(o.parts)
	for i := range parts {
		if parts[i].From == nil {
			parts[i].From = computed
		}
	}
	return &Origin{parts: parts}
}

// ref returns the name and the pointer of a reference.
func (o *Origin) ref() ValueRef {
	var room [8]string
	keys, size := room[:0], 0
	for ; o.parent != nil; o = o.parent {
		key := value.Escape(o.key)
		keys = append(keys, key)
		size += 1 + len(key)
	}
	var pointer strings.Builder
	pointer.Grow(size)
	for _, key := range slices.Backward(keys) {
		pointer.WriteByte('/')
		pointer.WriteString(key)
	}
	return ValueRef{Name: o.key, Pointer: pointer.String()}
}

// SourcesOf returns the values that a value was taken or computed from.
func SourcesOf(o *Origin) (all []ValueRef) {
	for _, from := range ComputedOrigin([]*Origin{o}).from {
		all = append(all, from.ref())
	}
	return all
}

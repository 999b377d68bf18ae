package prompt

import (
	"slices"
	"strconv"

	"github.com/callnode/scheduler/llm/value"
)

// origin is where a value comes from. Values have origins only while a rendering is
// traced, and inside of an expression nil is one that is not known yet. Origins are
// immutable.
type origin struct {
	kind SpanKind // "" for a text that was joined from parts
	// Of a reference: the value that it is a member of, or nil for a name of the
	// scope, its key there, and where in its text a part of it begins.
	parent *origin
	key    string
	offset int
	value  value.Value // of a name of the scope
	// Of a literal: its bytes in the template; exact where they are the text itself.
	start, stop int
	exact       bool

	from     []*origin // references that a value was computed from
	decided  []*origin // what is made of secrets and has decided that it is this value
	harmless bool      // a length, a truth value or a key: see [SecretScope]
	parts    []part    // of a joined text
}

// part is a stretch of a text that is being written or joined.
type part struct {
	length int
	from   *origin
	// The bytes of the template that inserted it; both 0 until it is printed.
	start, stop int
}

// nameOrigin returns the origin of the value of a name of the scope.
func nameOrigin(name string, v value.Value) *origin {
	return &origin{kind: Reference, key: name, value: v}
}

// joinedOrigin returns the origin of a text that was joined from parts.
func joinedOrigin(parts []part) *origin { return &origin{parts: parts} }

// harmlessOrigin is computedOrigin of a length, a truth value or a key, which tell next to nothing
// of a secret.
func harmlessOrigin(from []*origin, isHarmless bool) *origin {
	o := computedOrigin(from)
	o.harmless = isHarmless
	return o
}

// isReference reports whether the value is one of the scope, or a member of one.
func (o *origin) isReference() bool { return o != nil && o.kind == Reference }

func literalOrigin(start, stop int, exact bool) *origin {
	return &origin{kind: Literal, start: start, stop: stop, exact: exact}
}

// childOrigin returns the origin of a member of a value.
func childOrigin(o *origin, key string) *origin {
	if o == nil || o.kind == Computed {
		return o
	}
	if o.kind == Reference {
		return &origin{kind: Reference, parent: o, key: key, decided: o.decided}
	}
	return computedOrigin([]*origin{o})
}

// elementOrigin returns the origin of an element of a list.
func elementOrigin(o *origin, i int) *origin {
	if o == nil {
		return nil
	}
	return childOrigin(o, strconv.Itoa(i))
}

// computedOrigin returns the origin of a value that was computed from others.
func computedOrigin(from []*origin) *origin {
	c := &origin{kind: Computed}
	seen := map[*origin]bool{}
	var add func(o *origin)
	add = func(o *origin) {
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
			add(p.from)
		}
	}
	for _, o := range from {
		add(o)
	}
	return c
}

// keyOrigin returns the origin of a key of a dict.
func keyOrigin(dict *origin) *origin {
	return harmlessOrigin([]*origin{dict}, true)
}

// sliceOrigin returns the origin of a part of a text.
func sliceOrigin(o *origin, offset, length int) *origin {
	if o == nil || o.kind == Computed {
		return o
	}
	if o.kind == "" {
		return &origin{parts: cutParts(o.parts, offset, offset+length)}
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
func cutParts(parts []part, from, to int) (cut []part) {
	begin := 0
	for _, p := range parts {
		end := begin + p.length
		if start, stop := max(begin, from), min(end, to); start < stop {
			p.from = sliceOrigin(p.from, start-begin, stop-start)
			p.length = stop - start
			cut = append(cut, p)
		}
		begin = end
	}
	return cut
}

// partsOf returns the parts of a text of that length.
func partsOf(o *origin, length int) []part {
	if o != nil && o.kind == "" {
		return o.parts
	}
	if length == 0 {
		return nil
	}
	return []part{{length: length, from: o}}
}

// appendParts adds the parts of a text of that length to others; what continues the
// part before becomes one with it.
func appendParts(parts []part, o *origin, length int) []part {
	for _, p := range partsOf(o, length) {
		if last := len(parts) - 1; last >= 0 && parts[last].continuesIn(p) {
			parts[last].length += p.length
			continue
		}
		parts = append(parts, p)
	}
	return parts
}

// continuesIn reports whether next is the text right after p in the same value.
func (p part) continuesIn(next part) bool {
	a, b := p.from, next.from
	isSameSpan := p.start == next.start && p.stop == next.stop
	if a == nil || b == nil || !isSameSpan {
		return false
	}
	if a.kind != Reference || b.kind != Reference {
		return a == b && a.kind == Computed
	}
	return a.parent == b.parent && a.key == b.key && a.offset+p.length == b.offset
}

// isUnknown reports whether a value, or a part of a joined text, has no origin yet.
func (o *origin) isUnknown() bool {
	return o == nil || slices.ContainsFunc(o.parts, func(p part) bool { return p.from == nil })
}

// completed returns the origin with computed in place of what is unknown.
func (o *origin) completed(computed *origin) *origin {
	if o == nil {
		return computed
	}
	parts := slices.Clone(o.parts)
	for i := range parts {
		if parts[i].from == nil {
			parts[i].from = computed
		}
	}
	return &origin{parts: parts}
}

// ref returns the name and the pointer of a reference.
func (o *origin) ref() ValueRef {
	pointer := ""
	for ; o.parent != nil; o = o.parent {
		pointer = "/" + value.Escape(o.key) + pointer
	}
	return ValueRef{Name: o.key, Pointer: pointer}
}

// sourcesOf returns the values that a value was taken or computed from.
func sourcesOf(o *origin) (all []ValueRef) {
	for _, from := range computedOrigin([]*origin{o}).from {
		all = append(all, from.ref())
	}
	return all
}

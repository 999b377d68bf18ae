package prompt

import (
	"context"
	"slices"
	"strconv"

	"github.com/callnode/scheduler/llm/value"
)

// SpanKind is how a template made a span of its text.
type SpanKind string

// The kinds of spans.
const (
	Literal   SpanKind = "literal"   // the template's own text, or a string constant in an expression
	Reference SpanKind = "reference" // a value of the scope, or a part of its text, as it is
	Computed  SpanKind = "computed"  // what filters, operators and functions made
)

// Span is a stretch of a rendered text with where it comes from. The spans of a
// text are in order, cover each of its bytes once and are not empty.
type Span struct {
	Start int      `json:"start"` // bytes of the rendered text
	End   int      `json:"end"`
	Kind  SpanKind `json:"kind"`
	// TemplateStart and TemplateEnd are the bytes of Source.Text that made the span:
	// the literal text itself, else the expression without its braces. An expression
	// in a macro or a {% set %} block is the one there, not the one that uses it.
	TemplateStart int `json:"template_start"`
	TemplateEnd   int `json:"template_end"`
	// Sources is the one value of a Reference, and what a Computed span was computed
	// from: nothing, where only constants and loop counters went in.
	Sources []ValueRef `json:"sources,omitempty"`
	// Secret is set in the trace of a [SecretScope] where a secret has gone into the span, or
	// has decided whether it is there, or what is; Decided are the values that did. Only such a
	// span may be empty: it stands where a statement, from TemplateStart on, wrote nothing.
	Secret  bool       `json:"secret,omitempty"`
	Decided []ValueRef `json:"decided,omitempty"`
}

// ValueRef names a value below a name of the scope.
type ValueRef struct {
	Name    string `json:"name"`    // the name that the scope was asked for
	Pointer string `json:"pointer"` // the RFC 6901 pointer below it; "" for all of it
	// Start and End are the bytes of the value's printed text that a Reference shows;
	// both 0 in the sources of a Computed span.
	Start int `json:"start,omitempty"`
	End   int `json:"end,omitempty"`
}

// Member is a text, or a whole value, inside what an expression made. Pointer is its
// place in the result. A text has spans that cover it; anything else has one span of
// length 0, whose Reference stands for everything below the pointer.
type Member struct {
	Pointer string `json:"pointer"`
	Spans   []Span `json:"spans"`
	// Keys are the values that keys in Pointer were computed from.
	Keys []ValueRef `json:"keys,omitempty"`
}

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
	o := computedOrigin([]*origin{dict})
	o.harmless = true
	return o
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

// joinedText returns the text of several, each with its origin.
func (m *evaluator) joinedText(text string, parts []part) val {
	v := ofStr(text)
	if m.trace {
		v = v.withOrigin(&origin{parts: parts})
	}
	return v
}

// subText returns a part of the text of v that begins at offset.
func (v val) subText(offset int, text string) val {
	if whole, _ := v.v.Str(); v.py() == nil && len(whole) == len(text) {
		return v
	}
	return val{v: value.OfString(text)}.withOrigin(sliceOrigin(v.origin(), offset, len(text)))
}

// evalTraced evaluates an expression whose result is printed, joined or assigned:
// when a rendering is traced, a result without an origin is computed from its elements
// or else from what the expression mentions.
func (m *evaluator) evalTraced(n node) (val, error) {
	if !m.trace {
		return n.eval(m)
	}
	outer, decided := m.touched, m.decided
	m.touched = nil
	v, err := n.eval(m)
	if m.isOfMask(v, err) {
		v, err = ofStr(maskText), nil
	}
	if v.origin().isUnknown() {
		from, known := m.originsOf(v)
		if !known {
			from = m.touched
		}
		v = v.computedFrom(from)
	}
	if by := m.decided[len(decided):]; len(by) > 0 {
		v = v.withOrigin(v.origin().decidedBy(by))
	}
	m.touched, m.decided = outer, decided
	m.touch(v.origin())
	return v, err
}

// computedFrom returns v with what is unknown of its origin computed from others.
func (v val) computedFrom(from []*origin) val {
	computed := computedOrigin(from)
	computed.harmless = v.py() == nil && v.v.Kind() == value.Bool
	return v.withOrigin(v.origin().completed(computed))
}

// computeResult returns what a filter, a test or a method made of its operands, with an
// origin that names them and nothing else that the expression mentions. Where the origin
// of an operand is not known, that of an unknown result stays so.
func (m *evaluator) computeResult(result, in val, args callArgs) (val, error) {
	if !m.trace || !result.origin().isUnknown() {
		return result, nil
	}
	operands := append([]val{in}, args.pos...)
	for _, kw := range args.kw {
		operands = append(operands, kw.v)
	}
	var from []*origin
	for _, operand := range operands {
		of, known := m.originsOf(operand)
		if !known {
			return result, nil
		}
		from = append(from, of...)
	}
	return result.computedFrom(from), m.countSteps(len(from) >> 4)
}

// originsOf returns the origins of the elements of a list, tuple or dict that an
// expression made, and else that of the value. A value in a template that is neither
// from the scope nor made of operands with origins has none.
func (m *evaluator) originsOf(v val) (from []*origin, known bool) {
	var elements []val
	switch x := v.py().(type) {
	case tuple:
		elements = x
	case *pyList:
		elements = x.items
	case *pyDict:
		elements = append(slices.Clone(x.keys), x.vals...)
	}
	for _, element := range elements {
		of, known := m.originsOf(element)
		if !known {
			elements = nil
			break
		}
		from = append(from, of...)
	}
	if len(elements) > 0 {
		return from, true
	}
	return []*origin{v.origin()}, !v.origin().isUnknown()
}

// keepUsed forgets what an expression has mentioned since a length of touched, but for
// what its value v comes from.
func (m *evaluator) keepUsed(since int, v val) {
	if m.trace && !v.origin().isUnknown() {
		m.touched = append(m.touched[:since], v.origin())
	}
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

// touch records that an expression mentions a value of this origin.
func (m *evaluator) touch(o *origin) {
	if m.trace && o != nil {
		m.touched = append(m.touched, o)
	}
}

// printedOrigin returns the origin of the text that a value prints as. The text of
// a list or a dict is computed from it.
func printedOrigin(v val) *origin {
	if v.origin() == nil || isText(v) || !isIterable(v) {
		return v.origin()
	}
	return computedOrigin([]*origin{v.origin()})
}

// tracePrinted records where a text of that length, just written, comes from.
func (m *evaluator) tracePrinted(v val, length, start, stop int) {
	if !m.trace || length == 0 {
		return
	}
	for _, p := range partsOf(printedOrigin(v), length) {
		if p.stop == 0 {
			p.start, p.stop = start, stop
		}
		m.addPart(p)
	}
}

// addPart records where the text that was just written comes from.
func (m *evaluator) addPart(p part) {
	p.from = p.from.decidedBy(m.decided)
	m.parts = append(m.parts, p)
}

// spans turns parts into spans; start and stop count where a part has no place in
// the template.
func (m *evaluator) spans(parts []part, start, stop int) []Span {
	list := make([]Span, 0, len(parts))
	end := 0
	for _, p := range parts {
		s := Span{Start: end, End: end + p.length, Kind: Computed, TemplateStart: p.start, TemplateEnd: p.stop}
		end = s.End
		if p.stop == 0 {
			s.TemplateStart, s.TemplateEnd = start, stop
		}
		switch o := p.from; {
		case o == nil:
		case o.kind == Literal:
			s.Kind, s.TemplateStart, s.TemplateEnd = Literal, o.start, o.stop
		case o.kind == Reference:
			ref := o.ref()
			ref.Start, ref.End = o.offset, o.offset+p.length
			s.Kind, s.Sources = Reference, []ValueRef{ref}
		default:
			for _, from := range o.from {
				s.Sources = append(s.Sources, from.ref())
			}
		}
		if m.masked {
			s.Secret, s.Decided = p.from.usesSecret(), sourcesOf(&origin{parts: decidedParts(p.from)})
		}
		if s.Secret && s.Kind == Reference && len(s.Decided) == 0 {
			list = append(list, s.splitAt(p.secretRanges())...)
			continue
		}
		list = append(list, s)
	}
	return list
}

// ref returns the name and the pointer of a reference.
func (o *origin) ref() ValueRef {
	pointer := ""
	for ; o.parent != nil; o = o.parent {
		pointer = "/" + value.Escape(o.key) + pointer
	}
	return ValueRef{Name: o.key, Pointer: pointer}
}

// Trace renders like [Template.Render] and returns where every byte of the text
// comes from. It takes about twice the time; Render pays nothing for it. The secrets of a
// [SecretScope] are taken for masks in their place: what fails with a mask is a mask.
func (t *Template) Trace(ctx context.Context, scope Scope) (string, []Span, error) {
	m, err := t.evaluate(ctx, scope, func(m *evaluator) { m.traceMasked(scope) })
	defer m.release()
	if err != nil {
		return "", nil, err
	}
	return string(m.out), m.spans(m.parts, 0, 0), nil
}

// Trace evaluates like [Expr.Eval] and returns where the texts and values in the
// result come from, in the order of the result.
func (e *Expr) Trace(ctx context.Context, scope Scope) (value.Value, []Member, error) {
	m := newEvaluator(ctx, scope, e.slots)
	defer m.release()
	m.traceMasked(scope)
	v, err := m.evalTraced(e.root)
	if err != nil {
		return value.Value{}, nil, e.src.locate(err)
	}
	out, err := m.exportValue(v)
	if err != nil {
		return value.Value{}, nil, e.src.locate(withPosition(err, e.root.pos()))
	}
	t := memberTracer{m: m, stop: len(e.src.Text)}
	t.add("", v, out, nil)
	return out, t.list, nil
}

// memberTracer lists the members of a result.
type memberTracer struct {
	m    *evaluator
	list []Member
	stop int // bytes of the expression
}

// add adds v, which left the template as out, below keys that were computed.
func (t *memberTracer) add(pointer string, v val, out value.Value, keys []ValueRef) {
	if text, ok := out.Str(); ok {
		if text != "" || len(keys) > 0 {
			t.list = append(t.list, Member{pointer, t.m.spans(partsOf(v.origin(), len(text)), 0, t.stop), keys})
		}
		return
	}
	isWhole := v.origin() != nil && v.origin().kind == Reference
	isEmpty := out.Map().Len()+len(out.List()) == 0
	switch {
	case isWhole, isEmpty && len(keys) > 0:
	case out.Map() != nil && v.isDict():
		for i := range dictLen(v) {
			name, member := dictAt(v, i)
			key, x := out.Map().Entry(i)
			t.add(pointer+"/"+value.Escape(key), member, x, slices.Concat(keys, sourcesOf(name.origin())))
		}
		return
	case out.List() != nil:
		e := (&evaluator{}).listElements(v)
		for i, x := range out.List() {
			member := val{v: x}.withOrigin(v.origin())
			if i < e.len() {
				member = e.at(i)
			}
			t.add(pointer+"/"+strconv.Itoa(i), member, x, keys)
		}
		return
	}
	t.list = append(t.list, Member{pointer, t.m.spans([]part{{from: v.origin()}}, 0, t.stop), keys})
}

// sourcesOf returns the values that a value was taken or computed from.
func sourcesOf(o *origin) (all []ValueRef) {
	for _, from := range computedOrigin([]*origin{o}).from {
		all = append(all, from.ref())
	}
	return all
}

package span

import (
	"strconv"
	"strings"

	"github.com/callnode/scheduler/llm/value/wording"
)

// Record is the compact form of members, as events keep them. The last text has the spans; the ones before are the
// names that the spans refer to by their index, in which "#" replaces a number.
//
// The spans are marks of one letter with numbers after it, separated by commas; an empty number is 0:
//
//	m name numbers                             the next member, by its pointer
//	k name numbers                             a value that a key of its pointer was computed from
//	t gap, length                              a literal that is a copy of the template
//	l gap, length in the template, length      any other literal
//	r gap, length in the template, length, first byte, name numbers   a reference
//	c gap, length in the template, length      a computed span, followed by its sources:
//	s name numbers
//
// The gap counts the bytes of the template from the end of the span before. For example the text of "Hi {{ inputs.name }}"
// with the name Ann is ["", "inputs/name", "mt,3r2,13,3,,1"].
type Record []string

// EncodeMembers returns the record of members; nil for none.
func EncodeMembers(members []Member) Record {
	if len(members) == 0 {
		return nil
	}
	e := encoder{shapes: map[string]int{}}
	for i := range members {
		e.addMember(&members[i])
	}
	return append(e.names, string(e.body))
}

// encoder writes a record.
type encoder struct {
	shapes  map[string]int // the index in names
	names   []string
	body    []byte
	numbers []int // of the name being written
	at      int   // the end, in the template, of the span before
}

func (e *encoder) addMember(m *Member) {
	e.addName('m', m.Pointer)
	for _, key := range m.Keys {
		e.addName('k', key.Name+key.Pointer)
	}
	e.at = 0
	for i := range m.Spans {
		e.addSpan(&m.Spans[i])
	}
}

func (e *encoder) addSpan(s *Span) {
	gap, inTemplate, length := s.TemplateStart-e.at, s.TemplateEnd-s.TemplateStart, s.End-s.Start
	e.at = s.TemplateEnd
	switch {
	case s.Kind == Literal && s.isCopy():
		e.addMark('t', gap, length)
	case s.Kind == Literal:
		e.addMark('l', gap, inTemplate, length)
	case s.Kind == Reference:
		from := s.Sources[0]
		index := e.indexOf(from.Name + from.Pointer)
		e.addMark('r', gap, inTemplate, length, from.Start, index)
		e.addNumbers(e.numbers)
	default:
		e.addMark('c', gap, inTemplate, length)
		for _, from := range s.Sources {
			e.addName('s', from.Name+from.Pointer)
		}
	}
}

func (e *encoder) addName(mark byte, name string) {
	e.addMark(mark, e.indexOf(name))
	e.addNumbers(e.numbers)
}

// addMark writes a mark with its numbers.
func (e *encoder) addMark(mark byte, numbers ...int) {
	e.body = append(e.body, mark)
	e.addNumber(numbers[0])
	e.addNumbers(numbers[1:])
}

func (e *encoder) addNumbers(numbers []int) {
	for _, n := range numbers {
		e.body = append(e.body, ',')
		e.addNumber(n)
	}
}

func (e *encoder) addNumber(n int) {
	if n != 0 {
		e.body = strconv.AppendInt(e.body, int64(n), 10)
	}
}

// indexOf returns the index of a name without its numbers, and keeps these.
func (e *encoder) indexOf(name string) int {
	e.numbers = e.numbers[:0]
	shape := name
	if strings.ContainsAny(name, "/#") {
		tokens := strings.Split(name, "/")
		for i, token := range tokens {
			if n, ok := indexOfToken(token); ok && i > 0 {
				tokens[i] = "#"
				e.numbers = append(e.numbers, n)
			} else if strings.HasPrefix(token, "#") {
				tokens[i] = "#" + token
			}
		}
		shape = strings.Join(tokens, "/")
	}
	index, isKnown := e.shapes[shape]
	if !isKnown {
		index = len(e.names)
		e.shapes[shape] = index
		e.names = append(e.names, shape)
	}
	return index
}

// indexOfToken returns the number that a token is, if it is written as numbers are.
func indexOfToken(token string) (n int, ok bool) {
	const mostDigits = 9
	if token == "" || len(token) > mostDigits || token[0] < '0' || token[0] > '9' {
		return 0, false
	}
	n, err := strconv.Atoi(token)
	return n, err == nil && strconv.Itoa(n) == token
}

var errRecord = wording.Errorf("the record of spans is damaged")

// Members returns the members of a record; the error is of a record that EncodeMembers has not made.
func (r Record) Members() ([]Member, error) {
	if len(r) == 0 {
		return nil, nil
	}
	d := decoder{names: r[:len(r)-1], body: r[len(r)-1]}
	for d.body != "" {
		if err := d.readMark(); err != nil {
			return nil, wording.Errorf("%w: %d bytes before its end", err, len(d.body))
		}
	}
	return d.members, nil
}

// decoder reads a record.
type decoder struct {
	names   []string
	body    string // not read yet
	numbers []int  // of the mark
	members []Member
	at      int // the end, in the template, of the span before
}

// readMark reads the next mark.
func (d *decoder) readMark() error {
	mark := d.body[0]
	rest := d.body[1:]
	end := strings.IndexFunc(rest, func(c rune) bool { return c >= 'a' && c <= 'z' })
	if end < 0 {
		end = len(rest)
	}
	d.numbers = d.numbers[:0]
	for number := range strings.SplitSeq(rest[:end], ",") {
		n := 0
		if number != "" {
			var err error
			n, err = strconv.Atoi(number)
			if err != nil {
				return errRecord
			}
		}
		d.numbers = append(d.numbers, n)
	}
	d.body = rest[end:]
	if mark == 'm' {
		pointer, err := d.nameFrom(0)
		d.members, d.at = append(d.members, Member{Pointer: pointer}), 0
		return err
	}
	if len(d.members) == 0 {
		return errRecord
	}
	m := &d.members[len(d.members)-1]
	if mark == 'k' || mark == 's' {
		return d.readSource(m, mark)
	}
	return d.readSpan(m, mark)
}

// readSource reads a value that the last span, or a key, was computed from.
func (d *decoder) readSource(m *Member, mark byte) error {
	ref, err := d.refFrom(0)
	if err != nil {
		return err
	}
	if mark == 'k' {
		m.Keys = append(m.Keys, ref)
		return nil
	}
	if len(m.Spans) == 0 {
		return errRecord
	}
	s := &m.Spans[len(m.Spans)-1]
	s.Sources = append(s.Sources, ref)
	return nil
}

// readSpan reads a span.
func (d *decoder) readSpan(m *Member, mark byte) error {
	numbersOf := map[byte]int{'t': 2, 'l': 3, 'c': 3, 'r': 5}
	least := numbersOf[mark]
	isRight := least > 0 && len(d.numbers) >= least && (mark == 'r' || len(d.numbers) == least)
	if !isRight {
		return errRecord
	}
	start := 0
	if last := len(m.Spans) - 1; last >= 0 {
		start = m.Spans[last].End
	}
	inTemplate, length := d.numbers[1], d.numbers[1]
	if mark != 't' {
		length = d.numbers[2]
	}
	s := Span{Start: start, End: start + length, Kind: Literal, TemplateStart: d.at + d.numbers[0]}
	s.TemplateEnd = s.TemplateStart + inTemplate
	if length < 0 || inTemplate < 0 || s.TemplateStart < 0 {
		return errRecord
	}
	d.at = s.TemplateEnd
	switch mark {
	case 'c':
		s.Kind = Computed
	case 'r':
		const nameAt = 4
		ref, err := d.refFrom(nameAt)
		if err != nil {
			return err
		}
		ref.Start, ref.End = d.numbers[3], d.numbers[3]+length
		s.Kind, s.Sources = Reference, []ValueRef{ref}
	}
	m.Spans = append(m.Spans, s)
	return nil
}

// refFrom returns the value whose name is at an index of the numbers.
func (d *decoder) refFrom(at int) (ref ValueRef, err error) {
	name, err := d.nameFrom(at)
	ref.Name = name
	if i := strings.IndexByte(name, '/'); i >= 0 {
		ref.Name, ref.Pointer = name[:i], name[i:]
	}
	return ref, err
}

// nameFrom returns the name at an index of the numbers, with the numbers after it.
func (d *decoder) nameFrom(at int) (string, error) {
	index, numbers := d.numbers[at], d.numbers[at+1:]
	if index < 0 || index >= len(d.names) {
		return "", errRecord
	}
	name := d.names[index]
	if strings.Contains(name, "#") {
		tokens := strings.Split(name, "/")
		for i, token := range tokens {
			switch {
			case token == "#" && len(numbers) > 0:
				tokens[i], numbers = strconv.Itoa(numbers[0]), numbers[1:]
			case token == "#":
				return "", errRecord
			case strings.HasPrefix(token, "##"):
				tokens[i] = token[1:]
			}
		}
		name = strings.Join(tokens, "/")
	}
	if len(numbers) > 0 {
		return "", errRecord
	}
	return name, nil
}

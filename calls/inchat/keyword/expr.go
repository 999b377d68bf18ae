package keyword

import (
	"strings"

	"github.com/callnode/scheduler/llm/value/wording"
)

// Limits of one condition. They are far above conditions that people write, and keep generated ones from crashing
// the program.
const (
	maxBytes = 64 << 10
	maxDepth = 100
)

// Expr is a parsed keyword condition. [Parse] creates it; it is immutable and safe for
// concurrent use.
type Expr struct {
	root     node
	words    []string
	warnings []wording.Text
}

type op uint8

const (
	opWord  op = iota // the word occurs
	opAnd             // all of kids; none is true
	opOr              // any of kids; none is false
	opXor             // an odd number of kids
	opOne             // exactly one of kids
	opNot             // not the only kid
	opTrue            // always
	opFalse           // never
)

type node struct {
	op   op
	word string
	kids []node
}

// Parse reads the parameter of a keywords macro. It is one of
//
//	any::a,b   some::a,b   all::a,b   none::a,b   xor::a,b (exactly one)
//	include::a,b::exclude::c,d
//	expr::E, or E alone, where E is made of words, & | ^ ! ( ) and the comma,
//	which means or; ^ binds tighter than !, that tighter than &, that tighter
//	than |
//
// Words may contain spaces, and anything else when they are quoted. The full-width forms of the operators mean the
// same. An empty parameter is never true. [Expr.Warnings] reports odd parts that still have a meaning.
func Parse(param string) (*Expr, error) {
	if len(param) > maxBytes {
		return nil, wording.Errorf("the keywords take %d bytes, more than %d", len(param), maxBytes)
	}
	e := &Expr{}
	if strings.TrimSpace(param) == "" {
		e.root = node{op: opFalse}
		return e, nil
	}
	if mode, rest, ok := strings.Cut(param, "::"); ok {
		mode = strings.ToLower(strings.TrimSpace(mode))
		if mode == "expr" {
			param = rest
		} else if known, err := e.parseMode(mode, rest); err != nil {
			return nil, err
		} else if known {
			return e, nil
		} else {
			e.addWarning("unknown mode %q of keywords; the whole is taken as an expression", mode)
		}
	}
	p := &parser{expr: e, text: param}
	e.root = p.parseOr(0)
	if p.err == nil && p.skipBlanks() != "" {
		p.fail("unexpected %q", p.peek())
	}
	if p.err != nil {
		return nil, p.err
	}
	return e, nil
}

func (e *Expr) addWarning(format string, args ...any) {
	e.warnings = append(e.warnings, wording.Say(format, args...))
}

// Words returns the words that the condition asks for, in its order.
func (e *Expr) Words() []string { return e.words }

// Warnings are about parts of the condition that were ignored or are probably not
// meant.
func (e *Expr) Warnings() []wording.Text { return e.warnings }

// Eval evaluates the condition; has reports whether a word occurs. Words
// that cannot change the result any more are not asked for.
func (e *Expr) Eval(has func(word string) bool) bool { return e.root.eval(has) }

func (n *node) eval(has func(string) bool) bool {
	switch n.op {
	case opWord:
		return has(n.word)
	case opAnd:
		for i := range n.kids {
			if !n.kids[i].eval(has) {
				return false
			}
		}
		return true
	case opOr:
		for i := range n.kids {
			if n.kids[i].eval(has) {
				return true
			}
		}
		return false
	case opXor, opOne:
		count := 0
		for i := range n.kids {
			if n.kids[i].eval(has) {
				count++
			}
		}
		isOddXor := n.op == opXor && count%2 == 1
		return count == 1 || isOddXor
	case opNot:
		return !n.kids[0].eval(has)
	case opTrue:
		return true
	case opFalse:
		return false
	}
	return false
}

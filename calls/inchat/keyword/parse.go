package keyword

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/callnode/scheduler/llm/value/wording"
)

// parseMode reads the modes that take lists; known is false for any other mode.
func (e *Expr) parseMode(mode, rest string) (known bool, err error) {
	switch mode {
	case "any", "some":
		e.root, err = e.parseItems(mode, rest, opOr)
	case "all":
		e.root, err = e.parseItems(mode, rest, opAnd)
	case "xor":
		e.root, err = e.parseItems(mode, rest, opOne)
	case "none":
		var any node
		any, err = e.parseItems(mode, rest, opOr)
		e.root = node{op: opNot, kids: []node{any}}
	case "include", "exclude":
		e.root, err = e.includeExclude(mode, rest)
	default:
		return false, nil
	}
	return true, err
}

func (e *Expr) includeExclude(mode, rest string) (node, error) {
	root := node{op: opAnd}
	for {
		list, more, again := strings.Cut(rest, "::")
		switch {
		case mode == "include":
			kid, err := e.parseItems(mode, list, opAnd)
			if err != nil {
				return root, err
			}
			root.kids = append(root.kids, kid)
		case strings.TrimSpace(list) == "":
			e.addWarning("exclude has no words; nothing is excluded")
		default:
			kid, err := e.parseItems(mode, list, opOr)
			if err != nil {
				return root, err
			}
			root.kids = append(root.kids, node{op: opNot, kids: []node{kid}})
		}
		if !again {
			return root, nil
		}
		next, list, _ := strings.Cut(more, "::")
		mode = strings.ToLower(strings.TrimSpace(next))
		if mode != "include" && mode != "exclude" {
			return root, wording.Errorf("unexpected mode %q (use include or exclude)", next)
		}
		rest = list
	}
}

// parseItems reads a list of words. A list without any word matches every text.
func (e *Expr) parseItems(mode, list string, how op) (node, error) {
	n := node{op: how}
	if strings.TrimSpace(list) == "" {
		e.addWarning("%s has no words; it is taken to match every text", mode)
		return node{op: opTrue}, nil
	}
	p := &parser{expr: e, text: list}
	for p.err == nil {
		comma, _ := p.skipCommas(len(n.kids) == 0)
		switch c := p.peek(); {
		case c == "" && len(n.kids) == 0:
			return node{op: opTrue}, nil
		case c == "":
			return n, nil
		case len(n.kids) > 0 && !comma:
			p.fail("unexpected %q after a quoted keyword", c)
		}
		n.kids = append(n.kids, p.parseWord(commas))
	}
	return n, p.err
}

// endsKeyword reports whether a character ends a keyword that is not quoted; only the
// characters of end can.
func endsKeyword(r rune, end string) bool {
	switch r {
	case ',', '，', '、':
		return true
	case '&', '|', '^', '(', ')', '＆', '｜', '＾', '（', '）':
		return end == operators
	}
	return false
}

const (
	commas    = ",，、"
	operators = commas + "&＆|｜^＾()（）"
)

// parser reads an expression. The first error stops it: from then on all methods
// do nothing.
type parser struct {
	expr *Expr
	text string
	at   int
	err  error
}

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = wording.Errorf(format, args...)
	}
}

// skipBlanks skips blanks and returns the remaining text.
func (p *parser) skipBlanks() string {
	left := strings.TrimLeftFunc(p.text[p.at:], unicode.IsSpace)
	p.at = len(p.text) - len(left)
	return left
}

// peek returns the next character after blanks, without taking it; "" at the end.
func (p *parser) peek() string {
	left := p.skipBlanks()
	_, size := utf8.DecodeRuneInString(left)
	return left[:size]
}

// accept takes the operator if one of its forms comes next; a doubled && or ||
// counts once.
func (p *parser) accept(forms string) bool {
	c := p.peek()
	if p.err != nil || c == "" || !strings.Contains(forms, c) {
		return false
	}
	p.at += len(c)
	canBeDoubled := c == "&" || c == "|"
	if canBeDoubled && strings.HasPrefix(p.text[p.at:], c) {
		p.at += len(c)
	}
	return true
}

// skipCommas skips the commas before an item. It reports whether there were any and whether no item follows. It
// warns once of commas with nothing between them, or beside the end.
func (p *parser) skipCommas(first bool) (comma, end bool) {
	count := 0
	for c := p.peek(); c != "" && strings.Contains(commas, c); c = p.peek() {
		p.at += len(c)
		count++
	}
	c := p.peek()
	end = c == "" || strings.Contains(")）", c)
	isAtEdge := first || end
	hasNoWord := count == 1 && isAtEdge
	if count > 1 || hasNoWord {
		p.expr.addWarning("a comma without a word beside it is ignored")
	}
	return count > 0, end
}

func (p *parser) parseOr(depth int) node {
	if p.err != nil {
		return node{op: opOr}
	}
	p.skipCommas(true)
	n := p.parseAnd(depth)
	for count := 1; p.err == nil; count++ {
		comma, end := p.skipCommas(false)
		if end || !comma && !p.accept("|｜") {
			break
		}
		n = n.join(opOr, p.parseAnd(depth), count)
	}
	return n
}

// join adds a kid to a node of count kids so far; a single one is not wrapped.
func (n node) join(how op, kid node, count int) node {
	if count == 1 {
		return node{op: how, kids: []node{n, kid}}
	}
	n.kids = append(n.kids, kid)
	return n
}

func (p *parser) parseAnd(depth int) node {
	n := p.parseNot(depth)
	for count := 1; p.accept("&＆"); count++ {
		n = n.join(opAnd, p.parseNot(depth), count)
	}
	return n
}

func (p *parser) parseNot(depth int) node {
	negate := false
	for p.accept("!！") {
		negate = !negate
	}
	n := p.parseXor(depth)
	if negate {
		return node{op: opNot, kids: []node{n}}
	}
	return n
}

func (p *parser) parseXor(depth int) node {
	n := p.parseAtom(depth)
	for count := 1; p.accept("^＾"); count++ {
		n = n.join(opXor, p.parseAtom(depth), count)
	}
	return n
}

func (p *parser) parseAtom(depth int) node {
	if depth > maxDepth {
		p.fail("the parentheses are nested deeper than %d", maxDepth)
		return node{}
	}
	if p.accept("(（") {
		n := p.parseOr(depth + 1)
		if !p.accept(")）") {
			p.fail("a closing parenthesis is missing")
		}
		return n
	}
	c := p.peek()
	if c == "" {
		p.fail("a keyword is missing at the end")
		return node{}
	}
	if strings.Contains(operators+"!！", c) {
		p.fail("a keyword is missing before %q (put a keyword that contains %q in quotes)", c, c)
		return node{}
	}
	return p.parseWord(operators)
}

var errQuote = wording.Errorf("a quotation mark is not closed")

// parseWord reads a keyword, quoted or up to one of the characters of end.
func (p *parser) parseWord(end string) node {
	rest := p.skipBlanks()
	var word string
	if c := p.peek(); c == `"` || c == `'` || c == "“" {
		closing := c
		if c == "“" {
			closing = "”"
		}
		inner, _, ok := strings.Cut(rest[len(c):], closing)
		if !ok {
			p.err = errQuote
			return node{}
		}
		p.at += len(c) + len(inner) + len(closing)
		word = inner
	} else {
		stop := strings.IndexFunc(rest, func(r rune) bool { return endsKeyword(r, end) })
		if stop < 0 {
			stop = len(rest)
		}
		word = strings.TrimRightFunc(rest[:stop], unicode.IsSpace)
		p.at += stop
		if end == operators && strings.Contains(word, "!") {
			p.fail("! must stand before a keyword, not inside it (put a keyword that contains ! in quotes)")
			return node{}
		}
	}
	if word == "" {
		return node{op: opTrue} // "" occurs in every text
	}
	p.expr.words = append(p.expr.words, word)
	return node{op: opWord, word: word}
}

package prompt

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// program is what the numbers in the structure stand for.
type program struct {
	runs  []run
	stmts []stmt
	slots *slots
}

func (p *program) slot(name string) int { return p.slots.names[name] }

// run is a piece of a template without statements: text and expressions.
type run []segment

type segment struct {
	text string // where x is nil
	off  int
	x    node
	expr string
	path []string
}

// exec writes a run.
func (r run) exec(m *machine) error {
	for i := range r {
		s := &r[i]
		start := len(m.out)
		if s.x == nil {
			if err := m.write(s.text); err != nil {
				return at(err, s.off)
			}
		} else if err := m.print(s.x); err != nil {
			return err
		}
		if m.trace && len(m.out) > start {
			m.pieces = append(m.pieces, Piece{start, len(m.out), s.off, s.path, s.expr})
		}
	}
	return nil
}

// print writes the text of an expression.
func (m *machine) print(x node) error {
	if err := m.spend(1); err != nil {
		return at(err, x.pos())
	}
	v, err := x.eval(m)
	if err != nil {
		return err
	}
	s, err := m.printed(v)
	if err != nil {
		return at(err, x.pos())
	}
	if err := m.write(s); err != nil {
		return at(err, x.pos())
	}
	return nil
}

// compiler turns the source into a program and the structure for pongo2.
type compiler struct {
	src   string
	pos   int
	trim  bool // the tag before ends with -
	prog  *program
	tree  treeWriter
	run   run
	open  []block
	slots *slots
	refs  refs
	// faults, where not nil, collects errors: the compiler goes on after them. Once a
	// statement was wrong it is lost in the others, and broken.
	faults *faults
	broken bool
}

// block is a statement whose end has not come yet.
type block struct {
	word   string // if, for ...
	off    int
	parts  []string // what divided it so far: elif, else
	guards int      // of refs, before it
	end    func() error
	branch func(word string, p *parser) error
}

func newCompiler(src string) *compiler {
	names := newSlots()
	c := &compiler{src: src, prog: &program{slots: names}, slots: names}
	c.refs.push()
	return c
}

var endraw = regexp.MustCompile(`\{%([-+]?)\s*endraw\s*([-+]?)%\}`)

func (c *compiler) compile() error {
	for c.pos < len(c.src) {
		i, kind := nextTag(c.src, c.pos)
		c.addText(c.pos, i, i < len(c.src) && i+2 < len(c.src) && c.src[i+2] == '-')
		if i >= len(c.src) {
			break
		}
		start := i + 2
		if start < len(c.src) && (c.src[start] == '-' || c.src[start] == '+' && kind != '{') {
			start++
		}
		var err error
		switch kind {
		case '#':
			err = c.comment(i, start)
		case '{':
			err = c.output(start)
		default:
			err = c.statement(i, start)
		}
		if err != nil && !c.goesOn(err, kind, start) {
			return err
		}
	}
	c.flush()
	if n := len(c.open); n > 0 && !c.broken {
		b := c.open[n-1]
		return syntaxAt(b.off, "{%% %s %%} has no {%% end%s %%}", b.word, b.word)
	}
	return nil
}

// nextTag finds where the next tag begins, and which one.
func nextTag(s string, from int) (at int, kind byte) {
	for {
		i := strings.IndexByte(s[from:], '{')
		if i < 0 || from+i+1 >= len(s) {
			return len(s), 0
		}
		from += i
		switch k := s[from+1]; k {
		case '{', '%', '#':
			return from, k
		}
		from++
	}
}

// addText adds src[from:to] as text, without what the tags around it trim.
// Every line break becomes \n, as Jinja2 has it.
func (c *compiler) addText(from, to int, trimRight bool) {
	if c.trim {
		for from < to {
			r, n := utf8.DecodeRuneInString(c.src[from:to])
			if !isSpace(r) {
				break
			}
			from += n
		}
	}
	c.trim = false
	text := c.src[from:to]
	if trimRight {
		text = strings.TrimRightFunc(text, isSpace)
	}
	for text != "" {
		i := strings.IndexByte(text, '\r')
		if i < 0 {
			c.run = append(c.run, segment{text: text, off: from})
			return
		}
		if i > 0 {
			c.run = append(c.run, segment{text: text[:i], off: from})
		}
		if !strings.HasPrefix(text[i+1:], "\n") {
			c.run = append(c.run, segment{text: "\n", off: from + i})
		}
		text, from = text[i+1:], from+i+1
	}
}

// flush ends a run of text and expressions.
func (c *compiler) flush() {
	if len(c.run) > 0 {
		c.tree.tag(tagOut, len(c.prog.runs))
		c.prog.runs, c.run = append(c.prog.runs, c.run), nil
	}
}

func (c *compiler) comment(at, start int) error {
	i := strings.Index(c.src[start:], "#}")
	if i < 0 {
		return syntaxAt(at, "this comment has no #}")
	}
	c.trim = i > 0 && c.src[start+i-1] == '-'
	c.pos = start + i + 2
	return nil
}

// lex reads a tag and makes a parser of it.
func (c *compiler) lex(start int, closer string) (*parser, error) {
	toks, next, trim, err := lexExpr(c.src, start, closer)
	if err != nil {
		return nil, err
	}
	c.pos, c.trim = next, trim == '-'
	return &parser{toks: toks, slots: c.slots}, nil
}

func (c *compiler) output(start int) error {
	p, err := c.lex(start, "}}")
	if err != nil {
		return err
	}
	first := p.cur().off
	x, err := p.whole()
	if err == nil {
		c.addExpr(p, x, first)
	}
	return err
}

// addExpr adds an expression that began at first and has been read.
func (c *compiler) addExpr(p *parser, x node, first int) {
	s := segment{x: x, off: first, expr: strings.TrimSpace(c.src[first:p.cur().off])}
	if path, ok := constPath(x); ok && !c.refs.declared(path[0]) {
		s.path = path
	}
	c.run = append(c.run, s)
	c.refs.expr(x)
}

// statement reads {% ... %}.
func (c *compiler) statement(at, start int) error {
	p, err := c.lex(start, "%}")
	if err != nil {
		return err
	}
	word, err := p.name()
	if err != nil {
		return err
	}
	if word.text == "raw" && p.atEnd() {
		return c.raw(at)
	}
	if c.broken {
		return nil
	}
	c.flush()
	if n := len(c.open); n > 0 {
		b := &c.open[n-1]
		if word.text == "end"+b.word {
			return c.close(b, p)
		}
		if b.branch != nil && (word.text == "else" || word.text == "elif") {
			if err := b.branch(word.text, p); err != nil {
				return err
			}
			return p.done()
		}
	}
	parse, ok := c.statements()[word.text]
	if !ok {
		return c.unknownTag(word)
	}
	if len(c.open) >= maxBlocks {
		return limitAt(at, "statements nested deeper than %d", maxBlocks)
	}
	if err := parse(p, at); err != nil {
		return err
	}
	return p.done()
}

// done checks that nothing is left of a statement; a colon at the end is let
// pass, as in Jinja2.
func (p *parser) done() error {
	p.op(":")
	if !p.atEnd() {
		return p.unexpected("expected %}")
	}
	return nil
}

func (c *compiler) close(b *block, p *parser) error {
	end := b.end
	c.refs.unguard(b.guards)
	c.open = c.open[:len(c.open)-1]
	c.tree.tag(tagEnd)
	if end != nil {
		if err := end(); err != nil {
			return err
		}
	}
	return p.done()
}

func (c *compiler) unknownTag(word *token) error {
	switch word.text {
	case "include", "import", "from", "extends":
		e := syntaxAt(word.off, "{%% %s %%} is refused: templates read no files", word.text)
		e.Class = Security
		return e
	}
	var inner *block
	if n := len(c.open); n > 0 {
		inner = &c.open[n-1]
	}
	if word.text == "else" || word.text == "elif" || strings.HasPrefix(word.text, "end") {
		if inner == nil {
			return syntaxAt(word.off, "{%% %s %%} has no statement that it belongs to", word.text)
		}
		line := 1 + strings.Count(c.src[:inner.off], "\n")
		return syntaxAt(word.off, "unexpected {%% %s %%}: {%% %s %%} of line %d is still open", word.text, inner.word, line)
	}
	return unknownName("tag", word, append(sortedKeys(c.statements()), "raw"))
}

// raw takes everything up to {% endraw %} as text.
func (c *compiler) raw(at int) error {
	loc := endraw.FindStringSubmatchIndex(c.src[c.pos:])
	if loc == nil {
		return syntaxAt(at, "{%% raw %%} has no {%% endraw %%}")
	}
	from := c.pos
	sign := func(i int) byte {
		if loc[i] == loc[i+1] {
			return 0
		}
		return c.src[from+loc[i]]
	}
	c.addText(from, from+loc[0], sign(2) == '-')
	c.pos, c.trim = from+loc[1], sign(4) == '-'
	return nil
}

// begin opens a statement with a body.
func (c *compiler) begin(word, tag string, off int, s stmt, end func() error) *block {
	c.tree.tag(tag, len(c.prog.stmts))
	c.prog.stmts = append(c.prog.stmts, s)
	c.open = append(c.open, block{word: word, off: off, guards: len(c.refs.guards), end: end})
	return &c.open[len(c.open)-1]
}

// add adds a statement without a body.
func (c *compiler) add(s stmt) {
	c.tree.tag(tagSet, len(c.prog.stmts))
	c.prog.stmts = append(c.prog.stmts, s)
}

func (b *block) had(word string) bool { return slices.Contains(b.parts, word) }

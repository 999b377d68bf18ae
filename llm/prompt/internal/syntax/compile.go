package syntax

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/callnode/scheduler/llm/prompt/internal/ast"
	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/pongo2tree"
	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
	"github.com/callnode/scheduler/llm/prompt/internal/refs"
	"github.com/callnode/scheduler/llm/value/wording"
)

// compiler turns the source into a program and the structure for pongo2.
type compiler struct {
	src   string
	pos   int
	opts  Options
	funcs map[string]pyvalue.Func
	trim  bool // the tag before ends with -
	// lineStart is true if the text after the previous tag begins a line; only chat templates ask.
	lineStart bool
	prog      *ast.Program
	tree      pongo2tree.Builder
	run       ast.OutputRun
	open      []block
	slots     *ast.NameTable
	refs      refs.RefCollector
	// faults, if not nil, collects errors: the compiler continues after them. Once a statement was wrong, the nesting
	// of the others is unknown, and broken is set.
	faults *errorCollector
	broken bool
}

// block is a statement whose end has not come yet.
type block struct {
	word   string // if, for ...
	off    int
	parts  []string // the tags that divided it so far: elif, else
	guards int      // of refs, before it
	end    func() error
	branch func(word string, p *parser) error
}

func newCompiler(src string, opts Options) *compiler {
	names := ast.NewSlots()
	c := &compiler{
		src: opts.prepare(src), opts: opts, funcs: opts.funcs(), prog: &ast.Program{Slots: names, Lenient: opts.Transformers}, slots: names, lineStart: true,
	}
	c.refs.PushScope()
	return c
}

// The ends of statements in which nothing is read, by their words: raw and pongo2's verbatim are text,
// and pongo2's comment is nothing.
var unreadEnds = sync.OnceValue(func() map[string]*regexp.Regexp {
	ends := map[string]*regexp.Regexp{}
	for _, word := range []string{"raw", "verbatim", "comment"} {
		ends[word] = regexp.MustCompile(`\{%([-+]?)\s*end` + word + `\s*([-+]?)%\}`)
	}
	return ends
})

func (c *compiler) compileTemplate() error {
	for c.pos < len(c.src) {
		i, kind := nextTag(c.src, c.pos)
		c.addText(c.pos, i, kind, signAt(c.src, i+2))
		if i >= len(c.src) {
			break
		}
		c.lineStart = false
		start := i + 2
		signs := "-+" // {{+ is an expression
		if kind == '{' {
			signs = "-"
		}
		if start < len(c.src) && strings.IndexByte(signs, c.src[start]) >= 0 {
			start++
		}
		var err error
		switch kind {
		case '#':
			err = c.skipComment(i, start)
		case '{':
			err = c.compileOutput(start)
		default:
			err = c.compileStatement(i, start)
		}
		if err != nil && !c.skipBrokenTag(err, kind, start) {
			return err
		}
		if c.opts.Transformers && kind != '{' {
			c.trimLineBreak()
		}
	}
	c.flushRun()
	if n := len(c.open); n > 0 && !c.broken {
		b := c.open[n-1]
		e := fault.SyntaxAt(b.off, "{%% %s %%} is not closed", b.word)
		fault.SetHint(e, wording.Say("add {%% end%s %%}", b.word))
		return e
	}
	return nil
}

// signAt returns the sign of a tag that is at src[i], or 0.
func signAt(src string, i int) byte {
	if i < len(src) && strings.IndexByte("-+", src[i]) >= 0 {
		return src[i]
	}
	return 0
}

// addText adds src[from:to] as text, without the white space that the tags around it trim: the next one is of that
// kind and has that sign. Every line break becomes \n, as in Jinja2.
func (c *compiler) addText(from, to int, kind, sign byte) {
	if c.trim {
		from = to - len(strings.TrimLeftFunc(c.src[from:to], pyvalue.IsSpace))
	}
	c.trim = false
	text := c.src[from:to]
	if sign == '-' {
		text = strings.TrimRightFunc(text, pyvalue.IsSpace)
	} else if isBlock := kind == '%' || kind == '#'; isBlock && sign == 0 && c.opts.Transformers {
		text = trimIndent(text, c.lineStart)
	}
	for text != "" {
		i := strings.IndexByte(text, '\r')
		if i < 0 {
			c.run = append(c.run, ast.TextSegment(text, from))
			return
		}
		if i > 0 {
			c.run = append(c.run, ast.TextSegment(text[:i], from))
		}
		if !strings.HasPrefix(text[i+1:], "\n") {
			c.run = append(c.run, ast.TextSegment("\n", from+i))
		}
		text, from = text[i+1:], from+i+1
	}
}

// flushRun ends a run of text and expressions.
func (c *compiler) flushRun() {
	if len(c.run) > 0 {
		c.tree.WriteTag(pongo2tree.TagOut, len(c.prog.Runs))
		c.prog.Runs, c.run = append(c.prog.Runs, c.run), nil
	}
}

func (c *compiler) skipComment(at, start int) error {
	i := strings.Index(c.src[start:], "#}")
	if i < 0 {
		return fault.SyntaxAt(at, "the comment is not closed: #} is missing")
	}
	c.trim = i > 0 && c.src[start+i-1] == '-'
	c.pos = start + i + 2
	return nil
}

// lexTag reads a tag and makes a parser of it.
func (c *compiler) lexTag(start int, closer string) (*parser, error) {
	toks, next, trim, err := lexExpr(c.src, start, closer)
	if err != nil {
		return nil, err
	}
	c.pos, c.trim = next, trim == '-'
	return &parser{toks: toks, slots: c.slots, funcs: c.funcs, lenient: c.opts.Transformers}, nil
}

func (c *compiler) compileOutput(start int) error {
	p, err := c.lexTag(start, "}}")
	if err != nil {
		return err
	}
	first := p.current().off
	x, err := p.parseWhole()
	if err == nil {
		c.addExpr(p, x, first)
	}
	return err
}

// addExpr adds an expression that began at first and has been read.
func (c *compiler) addExpr(p *parser, x ast.Node, first int) {
	c.run = append(c.run, ast.Segment{X: x, Off: first, Stop: c.trimmedEnd(first, p)})
	c.refs.AddExpr(x)
}

// trimmedEnd returns the end of the expression that begins at first, before the white space there.
func (c *compiler) trimmedEnd(first int, p *parser) int {
	return first + len(strings.TrimRightFunc(c.src[first:p.current().off], pyvalue.IsSpace))
}

// compileStatement reads {% ... %}.
func (c *compiler) compileStatement(at, start int) error {
	p, err := c.lexTag(start, "%}")
	if err != nil {
		return err
	}
	word, err := p.expectName()
	if err != nil {
		return err
	}
	if end, isUnread := unreadEnds()[word.text]; isUnread && (p.isAtEnd() || word.text == "comment") {
		return c.compileUnread(at, word.text, end)
	}
	if c.broken {
		return nil
	}
	if word.text == "firstof" { // it is output, not a statement of the tree
		return c.compileFirstOf(p)
	}
	c.flushRun()
	if n := len(c.open); n > 0 {
		b := &c.open[n-1]
		if word.text == "end"+b.word {
			return c.closeStatement(b, p)
		}
		isBranch := word.text == "else" || word.text == "elif" || word.text == "empty"
		if b.branch != nil && isBranch {
			if err := b.branch(word.text, p); err != nil {
				return err
			}
			return p.finishStatement()
		}
	}
	parse, ok := c.statementParsers()[word.text]
	if !ok {
		return c.unknownTagError(word)
	}
	if len(c.open) >= fault.MaxBlocks {
		return fault.LimitAt(at, "statements nested deeper than %d", fault.MaxBlocks)
	}
	if err := parse(p, at); err != nil {
		return err
	}
	return p.finishStatement()
}

// finishStatement checks that nothing is left of a statement; a colon at the end is let
// pass, as in Jinja2.
func (p *parser) finishStatement() error {
	p.acceptOp(":")
	if !p.isAtEnd() {
		return p.unexpectedError("expected %%}")
	}
	return nil
}

func (c *compiler) closeStatement(b *block, p *parser) error {
	end := b.end
	c.refs.DropGuards(b.guards)
	c.open = c.open[:len(c.open)-1]
	c.tree.WriteTag(pongo2tree.TagEnd)
	if end != nil {
		if err := end(); err != nil {
			return err
		}
	}
	return p.finishStatement()
}

func (c *compiler) unknownTagError(word *token) error {
	switch word.text {
	case "include", "import", "from", "extends":
		e := fault.SyntaxAt(word.off, "{%% %s %%} is refused: templates read no files", word.text)
		e.Class = fault.Security
		return e
	}
	var inner *block
	if n := len(c.open); n > 0 {
		inner = &c.open[n-1]
	}
	if slices.Contains([]string{"else", "elif", "empty"}, word.text) || strings.HasPrefix(word.text, "end") {
		if inner == nil {
			return fault.SyntaxAt(word.off, "unexpected {%% %s %%}: no statement is open", word.text)
		}
		line := 1 + strings.Count(c.src[:inner.off], "\n")
		return fault.SyntaxAt(word.off, "unexpected {%% %s %%}: {%% %s %%} of line %d is still open", word.text, inner.word, line)
	}
	known := append(slices.Sorted(maps.Keys(c.statementParsers())), "firstof")
	known = append(known, slices.Sorted(maps.Keys(unreadEnds()))...)
	return unknownName("tag", word, known)
}

// compileUnread takes everything up to the end of {% raw %} and its like as text; the text in {% comment %} is
// dropped.
func (c *compiler) compileUnread(at int, word string, end *regexp.Regexp) error {
	loc := end.FindStringSubmatchIndex(c.src[c.pos:])
	if loc == nil {
		e := fault.SyntaxAt(at, "{%% %s %%} is not closed", word)
		fault.SetHint(e, wording.Say("add {%% end%s %%}", word))
		return e
	}
	from := c.pos
	c.lineStart = false
	if word != "comment" {
		c.addText(from, from+loc[0], '%', signAt(c.src, from+loc[2]))
	}
	c.pos, c.trim = from+loc[1], c.src[from+loc[4]] == '-'
	return nil
}

// openStatement opens a statement with a body.
func (c *compiler) openStatement(word, tag string, off int, s ast.Stmt, end func() error) *block {
	c.tree.WriteTag(tag, len(c.prog.Stmts))
	c.prog.Stmts = append(c.prog.Stmts, s)
	c.open = append(c.open, block{word: word, off: off, guards: len(c.refs.Guards), end: end})
	return &c.open[len(c.open)-1]
}

// addStatement adds a statement without a body.
func (c *compiler) addStatement(s ast.Stmt) {
	c.tree.WriteTag(pongo2tree.TagSet, len(c.prog.Stmts))
	c.prog.Stmts = append(c.prog.Stmts, s)
}

func (b *block) hasPart(word string) bool { return slices.Contains(b.parts, word) }

// trimLineBreak drops the line break after a statement or a comment that ends at pos.
func (c *compiler) trimLineBreak() {
	if c.trim || c.src[c.pos-3] == '+' {
		return
	}
	rest := c.src[c.pos:]
	after := strings.TrimPrefix(strings.TrimPrefix(rest, "\r"), "\n")
	c.pos += len(rest) - len(after)
	c.lineStart = len(after) < len(rest)
}

// maxFaults limits the errors that [CheckText] lists.
const maxFaults = 20

// errorCollector has the errors found so far in a template, with the names that it mentioned before it was broken.
type errorCollector struct {
	list []error
	refs int // how many of the compiler's are sure; -1 for all
}

// skipBrokenTag notes an error of the tag that begins before start, and reports whether the compiler can continue
// behind it.
func (c *compiler) skipBrokenTag(err error, kind byte, start int) bool {
	e, ok := err.(*fault.Error) //nolint:errorlint // the package's own errors are never wrapped on their way up
	if c.faults == nil || len(c.faults.list) >= maxFaults-1 {
		return false
	}
	if !ok || e.Class == fault.Limit || kind == '#' {
		return false
	}
	if c.pos < start { // not even its words could be read
		closer := "}}"
		if kind == '%' {
			closer = "%}"
		}
		if !hasCloser(c.src[start:], closer) {
			return false
		}
		c.pos, c.trim = start+strings.Index(c.src[start:], closer)+len(closer), false
	}
	if kind == '%' && !c.broken {
		c.broken, c.faults.refs = true, len(c.refs.List)
	}
	c.faults.list = append(c.faults.list, e)
	return true
}

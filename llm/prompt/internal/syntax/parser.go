package syntax

import (
	"github.com/callnode/scheduler/llm/prompt/internal/ast"
	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
	"github.com/callnode/scheduler/llm/value/wording"
)

// parser reads expressions by Jinja2's grammar.
type parser struct {
	toks    []token
	i       int
	depth   int
	noColon int // above 0 in subscripts and dicts, in which a colon begins no argument of a filter
	slots   *ast.NameTable
	funcs   map[string]pyvalue.Func
	lenient bool // unknown filters and tests are errors only when they are reached
}

func (p *parser) current() *token { return &p.toks[p.i] }

func (p *parser) peekNext() *token { return &p.toks[min(p.i+1, len(p.toks)-1)] }

func (p *parser) advance() *token {
	t := &p.toks[p.i]
	if t.kind != tokEnd {
		p.i++
	}
	return t
}

func (p *parser) acceptOp(text string) bool {
	if p.current().matches(tokOp, text) {
		p.i++
		return true
	}
	return false
}

func (p *parser) acceptWord(text string) bool {
	if p.current().matches(tokName, text) {
		p.i++
		return true
	}
	return false
}

func (p *parser) expect(text string) error {
	if !p.acceptOp(text) {
		return p.unexpectedError("expected %s", pyvalue.QuoteText(text))
	}
	return nil
}

func (p *parser) expectName() (*token, error) {
	if p.current().kind != tokName {
		return nil, p.unexpectedError("expected a name")
	}
	return p.advance(), nil
}

// unexpectedError returns the error of the current token, which does not belong there. The format names the
// expected token; "" if none was expected.
func (p *parser) unexpectedError(format string, args ...any) error {
	t := p.current()
	what := wording.Same(pyvalue.QuoteText(t.text))
	switch {
	case t.kind == tokEnd && t.text == "":
		what = wording.Say("the end of the expression")
	case t.kind == tokEnd:
		what = wording.Same(t.text)
	case t.kind == tokString:
		what = wording.Say("the string %s", what)
	}
	if format == "" {
		return fault.SyntaxAt(t.off, "unexpected %s", what)
	}
	return fault.SyntaxAt(t.off, "unexpected %s: %s", what, wording.Say(format, args...))
}

func (p *parser) isAtEnd() bool { return p.current().kind == tokEnd }

func (p *parser) enterLevel() error {
	p.depth++
	if p.depth > fault.MaxNesting {
		return fault.LimitAt(p.current().off, "an expression nested deeper than %d", fault.MaxNesting)
	}
	return nil
}

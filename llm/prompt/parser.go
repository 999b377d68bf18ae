package prompt

// parser reads expressions by Jinja2's grammar.
type parser struct {
	toks    []token
	i       int
	depth   int
	noColon int // inside subscripts and dicts a colon is no pongo2 argument
	slots   *slots
	funcs   map[string]Func
}

// slots numbers the outer names of a template, so that each is looked up once in
// a rendering.
type slots struct {
	names    map[string]int
	mentions []string // every mention, in order
}

func newSlots() *slots { return &slots{names: map[string]int{}} }

func (s *slots) of(name string) int {
	s.mentions = append(s.mentions, name)
	i, ok := s.names[name]
	if !ok {
		i = len(s.names)
		s.names[name] = i
	}
	return i
}

func (p *parser) cur() *token { return &p.toks[p.i] }

func (p *parser) look() *token { return &p.toks[min(p.i+1, len(p.toks)-1)] }

func (p *parser) advance() *token {
	t := &p.toks[p.i]
	if t.kind != tokEnd {
		p.i++
	}
	return t
}

func (t *token) is(kind tokenKind, text string) bool { return t.kind == kind && t.text == text }

func (p *parser) op(text string) bool {
	if p.cur().is(tokOp, text) {
		p.i++
		return true
	}
	return false
}

func (p *parser) word(text string) bool {
	if p.cur().is(tokName, text) {
		p.i++
		return true
	}
	return false
}

func (p *parser) expect(text string) error {
	if !p.op(text) {
		return p.unexpected("expected " + quoted(text))
	}
	return nil
}

func (p *parser) name() (*token, error) {
	if p.cur().kind != tokName {
		return nil, p.unexpected("expected a name")
	}
	return p.advance(), nil
}

// unexpected is the error of the token that stands where it should not.
func (p *parser) unexpected(want string) error {
	t := p.cur()
	what := quoted(t.text)
	switch {
	case t.kind == tokEnd && t.text == "":
		what = "the end of the expression"
	case t.kind == tokEnd:
		what = t.text
	case t.kind == tokString:
		what = "the string " + what
	}
	if want == "" {
		return syntaxAt(t.off, "unexpected %s", what)
	}
	return syntaxAt(t.off, "unexpected %s: %s", what, want)
}

func (p *parser) atEnd() bool { return p.cur().kind == tokEnd }

func (p *parser) deeper() error {
	if p.depth++; p.depth > maxNesting {
		return limitAt(p.cur().off, "an expression nested deeper than %d", maxNesting)
	}
	return nil
}

package macro

// parseBlock reads the statements of lines that are moved in by indent.
func (t *translator) parseBlock(indent int) []stmt {
	t.depth++
	if t.depth > maxPyNested {
		t.fail("the code is nested deeper than %d", maxPyNested)
	}
	defer func() { t.depth-- }()
	var stmts []stmt
	for t.err == nil && t.peek().kind != 0 {
		if t.nextIs("if") {
			stmts = append(stmts, t.parseIf(indent))
		} else {
			stmts = append(stmts, t.parseLine()...)
		}
		if next := t.peek(); next.kind != 'l' || next.indent != indent {
			break
		}
		t.at++
	}
	return stmts
}

// parseLine reads simple statements with semicolons between them.
func (t *translator) parseLine() []stmt {
	var stmts []stmt
	for {
		stmts = append(stmts, t.parseSimple())
		if !t.accept(";") || t.peek().kind == 0 || t.peek().kind == 'l' {
			return stmts
		}
	}
}

// isFollowedBy reports whether an operator follows the next token.
func (t *translator) isFollowedBy(operator string) bool {
	rest := t.tokens[t.at:]
	return len(rest) > 1 && rest[1].kind == 'o' && rest[1].text == operator
}

func (t *translator) parseSimple() stmt {
	if t.peek().kind == 'n' && t.isFollowedBy("=") {
		name := t.peek().text
		t.at += 2
		s := stmt{name: "v_" + name, expr: t.compileExpr()}
		t.locals[name] = true
		return s
	}
	tuple := t.isTuple()
	return stmt{expr: t.compileExpr(), tuple: tuple}
}

// isTuple looks ahead and reports whether the whole rest is in one pair of parentheses with a comma in it.
func (t *translator) isTuple() bool {
	depth, comma := 0, false
	for i := t.at; i < len(t.tokens); i++ {
		if t.tokens[i].kind != 'o' {
			if i == t.at {
				return false
			}
			continue
		}
		switch t.tokens[i].text {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			depth--
		case ",":
			comma = comma || depth == 1
		}
		if depth == 0 {
			isTuple := comma || i == t.at+1
			return isTuple && t.tokens[t.at].text == "(" && i == len(t.tokens)-1
		}
	}
	return false
}

// parseIf reads an if, with its blocks in the line or on lines of their own.
func (t *translator) parseIf(indent int) stmt {
	t.at++ // if, elif
	s := stmt{isIf: true, expr: t.compileExpr()}
	s.body = t.parseSuite()
	next := t.at
	if t.peek().kind == 'l' && t.peek().indent == indent {
		t.at++
	}
	switch {
	case t.nextIs("elif"):
		s.rest = []stmt{t.parseIf(indent)}
	case t.accept("else"):
		s.rest = t.parseSuite()
	default:
		if t.err == nil {
			t.at = next
		}
	}
	return s
}

func (t *translator) parseSuite() []stmt {
	t.expect(":")
	if tok := t.peek(); tok.kind == 'l' {
		t.at++
		return t.parseBlock(tok.indent)
	}
	return t.parseLine()
}

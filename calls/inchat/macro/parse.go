package macro

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls/inchat/keyword"
	"github.com/callnode/scheduler/llm/value"
)

// Parse reads a text. It never fails: a macro that cannot be read expands
// to nothing, and its error is among [Text.Errors].
func Parse(text string) *Text { return ParseOnly(text, nil) }

// ParseOnly is Parse that knows only the macros of those names, "//" being comments; nil is for all. The others
// stay as they are written, without a warning.
func ParseOnly(text string, names []string) *Text {
	t := &Text{}
	if len(text) > maxText {
		t.nodes = []node{{call: &call{expand: t.addError("the text has %d bytes, more than %d", len(text), maxText)}}}
		return t
	}
	p := parser{out: t, only: names}
	t.nodes = p.parseText(text)
	return t
}

// parser reads a text from left to right. A closer belongs to the nearest opener
// of its kind; the two kinds do not see each other.
type parser struct {
	out    *Text
	only   []string // the names of the macros that are known; nil for all
	source string
	frames []frame // frames[0] is the text itself
	open   [2]int  // how many openers of a kind are among frames, by openerIndex
	macros int
}

// frame is an opener and the pieces read since.
type frame struct {
	opener int // its offset in the source
	// pieces are texts and macros, which get their own text when the frame ends. Neighbouring texts
	// are one piece, for they are neighbours in the source as well.
	pieces []node
	depth  int // how many macros are inside each other in pieces
}

// openerIndex returns the place of an opener, { or <, in [parser.open].
func openerIndex(opener byte) int {
	if opener == '{' {
		return 0
	}
	return 1
}

func (p *parser) parseText(text string) []node {
	p.source, p.frames = text, make([]frame, 1, 4)
	start := 0
	for i := 0; i+1 < len(text); i++ {
		if text[i] != text[i+1] || strings.IndexByte("{}<>", text[i]) < 0 {
			continue
		}
		p.addText(start, i)
		if text[i] == '{' || text[i] == '<' {
			p.frames = append(p.frames, frame{opener: i})
			p.open[openerIndex(text[i])]++
		} else if !p.closeMacro(text[i]-2, i) { // in ASCII, } is two behind { and > behind <
			p.addText(i, i+2)
		}
		i++
		start = i + 1
	}
	p.addText(start, len(text))
	p.collapseFrames(0)
	return p.toNodes(p.frames[0].pieces)
}

func (p *parser) addText(start, end int) {
	if start == end {
		return
	}
	top := &p.frames[len(p.frames)-1]
	if n := len(top.pieces); n > 0 && top.pieces[n-1].call == nil {
		top.pieces[n-1].end = end
		return
	}
	top.pieces = append(top.pieces, node{start: start, end: end})
}

// collapseFrames makes the openers above frame at plain text.
func (p *parser) collapseFrames(at int) {
	above := p.frames[at+1:]
	p.frames = p.frames[:at+1]
	for _, f := range above {
		p.open[openerIndex(p.source[f.opener])]--
		p.addText(f.opener, f.opener+2)
		for _, x := range f.pieces {
			if x.call == nil {
				p.addText(x.start, x.end)
				continue
			}
			p.frames[at].pieces = append(p.frames[at].pieces, x)
		}
		p.frames[at].depth = max(p.frames[at].depth, f.depth)
	}
}

// toNodes gives the pieces of a frame their text.
func (p *parser) toNodes(pieces []node) []node {
	for i, x := range pieces {
		pieces[i].text = p.source[x.start:x.end]
	}
	return pieces
}

// closeMacro ends the nearest opener of that kind. It is false if there is none, or if the macro is not known and
// so stays text.
func (p *parser) closeMacro(opener byte, end int) bool {
	if p.open[openerIndex(opener)] == 0 {
		return false
	}
	at := len(p.frames) - 1
	for p.source[p.frames[at].opener] != opener {
		at--
	}
	p.collapseFrames(at)
	inner := p.frames[at]
	c := p.newCall(p.toNodes(inner.pieces), inner.depth)
	if c == nil {
		p.collapseFrames(at - 1)
		return false
	}
	p.frames = p.frames[:at]
	p.open[openerIndex(opener)]--
	top := &p.frames[at-1]
	top.pieces = append(top.pieces, node{start: inner.opener, end: end + 2, call: c})
	top.depth = max(top.depth, inner.depth+1)
	return true
}

const (
	blanks  = " \t\r\n\u3000"
	maxName = 40 // bytes of a macro's name, more than the longest has
)

// newCall makes a macro from the text between its delimiters; nil if it is unknown. A name never comes from
// another macro.
func (p *parser) newCall(nodes []node, depth int) *call {
	if len(nodes) == 0 || nodes[0].call != nil {
		return nil
	}
	head := strings.TrimLeft(nodes[0].text, blanks)
	if len(nodes) == 1 {
		head = strings.TrimRight(head, blanks)
	}
	c := &call{}
	rest := head
	if strings.HasPrefix(head, "//") && p.knows("//") {
		c.name, c.expand, c.hasParam = "//", expandNothing, true
	} else {
		colon := strings.IndexByte(head[:min(len(head), maxName)], ':')
		c.hasParam = colon >= 0
		if !c.hasParam && len(head) >= maxName {
			return nil
		}
		c.name, rest = head, ""
		if c.hasParam {
			c.name, rest = head[:colon], head[colon+1:]
		}
		c.name = strings.ToLower(strings.TrimSpace(c.name))
		c.expand = findBuiltin(c.name)
		nameIsWhole := c.hasParam || len(nodes) == 1
		if c.expand == nil || !nameIsWhole || !p.knows(c.name) {
			p.warnUnknown(c.name, nameIsWhole)
			return nil
		}
	}
	if depth >= maxNested || p.macros >= maxMacros {
		p.out.addWarning("too many macros, or too many inside each other; %q stays as it is", value.Truncate(head, 60))
		return nil
	}
	p.macros++
	c.param = nodes[1:]
	if rest != "" {
		nodes[0] = node{text: rest}
		c.param = nodes
	}
	if n := len(c.param); n > 0 && c.param[n-1].call == nil {
		c.param[n-1].text = strings.TrimRight(c.param[n-1].text, blanks)
	}
	p.compileCall(c, len(nodes) == 1, rest)
	return c
}

// knows reports whether a macro of that name may be used.
func (p *parser) knows(name string) bool { return p.only == nil || slices.Contains(p.only, name) }

// warnUnknown notes a macro that people may have mistyped.
func (p *parser) warnUnknown(name string, whole bool) {
	isFull := len(p.out.warnings) == maxWarnings
	isName := whole && name != "" && !strings.ContainsAny(name, "{}<>\n")
	isKnown := p.only != nil || findBuiltin(name) != nil
	if isFull || !isName || isKnown {
		return
	}
	if near := value.Nearest(name, names()); near != "" {
		p.out.addWarning("unknown macro %q stays as it is; did you mean %q?", value.Truncate(name, 60), near)
		return
	}
	p.out.addWarning("unknown macro %q stays as it is", value.Truncate(name, 60))
}

// compileCall prepares the parts that can be read before the text is expanded.
func (p *parser) compileCall(c *call, static bool, param string) {
	switch c.name {
	case "random", "pick", "roll":
		p.out.volatile = true
	case "importance":
		p.out.volatile = true // each entry has a verdict of its own
		if static {
			p.out.functions = append(p.out.functions, functionName(param))
		} else {
			p.out.unnamed = true
		}
	case "keywords":
		if !static {
			return
		}
		e, err := keyword.Parse(param)
		if err != nil {
			c.expand = p.out.addError("keywords %q: %v", value.Truncate(param, 60), err)
			return
		}
		c.expr = e
		p.out.words = append(p.out.words, e.Words()...)
		for _, w := range e.Warnings() {
			p.out.addWarning("keywords %q: %s", value.Truncate(param, 60), w)
		}
	case "python":
		if !static {
			p.out.volatile = true // its calls are known only when it runs
			c.dynamic = true
			return
		}
		program, err := compilePython(param, nil)
		if err != nil {
			c.expand = p.out.addError("python %q: %v", value.Truncate(param, 60), err)
			return
		}
		c.program = program
		p.out.volatile = p.out.volatile || program.volatile
	}
}

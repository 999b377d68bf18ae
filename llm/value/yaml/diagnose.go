package yaml

import (
	"bytes"
	"errors"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/callnode/scheduler/llm/value/wording"
)

// The library names a line with a fault, often the first line of the map around it, and no column. The code below
// finds the place at which a person would look: the line after the longest readable beginning of the text, and in
// it the usual faults.

// maxDiagnosed bounds the texts that are read again and again for that, in bytes.
const maxDiagnosed = 64 << 10

// diagnoseSyntax returns the fault of a text that is not YAML with its place and remedy; wrong is the library's
// error.
func diagnoseSyntax(src []byte, wrong *Error) *Error {
	if len(src) > maxDiagnosed || !utf8.Valid(src) {
		return wrong
	}
	d := &diagnosis{lines: strings.Split(strings.ReplaceAll(string(src), "\r\n", "\n"), "\n"), wrong: wrong.library}
	d.line = d.firstBadLine()
	if d.line < 0 {
		return wrong
	}
	for _, look := range []func(*diagnosis) *finding{
		(*diagnosis).findControl, (*diagnosis).findTab, (*diagnosis).findAlias, (*diagnosis).findSpace, (*diagnosis).findText, (*diagnosis).findBrackets, (*diagnosis).findBlock,
		(*diagnosis).findIndent, (*diagnosis).findMark, (*diagnosis).findColon,
	} {
		if f := look(d); f != nil {
			return f.asError(d)
		}
	}
	line := d.lines[d.line]
	e := *wrong
	e.Line, e.Col = d.line+1, indentOf(line)+1
	return &e
}

// diagnosis is the search for one fault.
type diagnosis struct {
	lines []string
	line  int    // the first that cannot be read, from 0
	wrong string // the library's error
}

// finding is a fault with its place: a line from 0 and a byte in it.
type finding struct {
	line, col  int
	text, hint wording.Text
}

func (f *finding) asError(d *diagnosis) *Error {
	col := utf8.RuneCountInString(d.lines[f.line][:f.col]) + 1
	return newError(f.line+1, col, f.text).withHint(f.hint)
}

func newFinding(line, at int, text, hint wording.Text) *finding {
	return &finding{line, at, text, hint}
}

// spanned is how many lines a value in quotes or brackets is expected to have at most.
const spanned = 40

// firstBadLine returns the line after the longest beginning that can be read; -1 if unknown. A beginning that ends
// inside of brackets cannot be read, while a longer one can: so several are tried.
func (d *diagnosis) firstBadLine() int {
	good, bad := 0, len(d.lines)
	for bad-good > 1 {
		middle := (good + bad) / 2
		if last := d.readableBefore(middle, good); last > good {
			good = last
		} else {
			bad = middle
		}
	}
	for good < len(d.lines) && isBlankLine(d.lines[good]) {
		good++
	}
	if good >= len(d.lines) {
		return -1
	}
	return good
}

// readableBefore returns the largest number of lines, at most n, that can be read; floor if none above it can.
func (d *diagnosis) readableBefore(n, floor int) int {
	for k := n; k > max(floor, n-spanned); k-- {
		if _, err := parseYAML([]byte(strings.Join(d.lines[:k], "\n") + "\n")); !isSyntaxError(err) {
			return k
		}
	}
	return floor
}

// isSyntaxError reports whether the library refuses a text; its error has no column then.
func isSyntaxError(err error) bool {
	var wrong *Error
	return errors.As(err, &wrong) && wrong.Col == 0
}

func isBlankLine(line string) bool {
	text := strings.TrimSpace(line)
	return text == "" || strings.HasPrefix(text, "#")
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

var (
	gluedKey   = regexp.MustCompile(`^\s*(?:- +)*([\w-]+:)[^\s:/\\]`)
	gluedDash  = regexp.MustCompile(`^\s*-([A-Za-z_]\w*):(?:\s|$)`)
	keyLine    = regexp.MustCompile(`^\s*(?:- +)*(?:[\w.-]+|"[^"]*"|'[^']*'):(?:\s+|$)`)
	dashLine   = regexp.MustCompile(`^\s*-(?:\s|$)`)
	bareWord   = regexp.MustCompile(`^\s*(?:- +)?([a-z_]+) +\S`)
	badEscape  = regexp.MustCompile(`^\\[^0abt\tnvfre "/\\N_LPxuU\n]`)
	opensBlock = regexp.MustCompile(`[:-]\s*(?:[&!]\S+\s*)?(?:\s#.*)?$`)
	blockHead  = regexp.MustCompile(`^(?:.*[:-])?\s*(?:!\S+\s+)?[|>][-+0-9]*\s*(?:#.*)?$`)
)

// lineBefore returns the last line before the bad one that is not blank; -1 for none.
func (d *diagnosis) lineBefore() int {
	for i := d.line - 1; i >= 0; i-- {
		if !isBlankLine(d.lines[i]) {
			return i
		}
	}
	return -1
}

// findControl finds a control character, which YAML has nowhere.
func (d *diagnosis) findControl() *finding {
	for at, r := range d.lines[d.line] {
		if unicode.IsControl(r) && r != '\t' && r != '\u0085' {
			return newFinding(d.line, at, wording.Say("the control character %U", r), wording.Say(`take it out, or write it in double quotes as \u%04X`, r))
		}
	}
	return nil
}

// findTab finds a tab in the indentation of a line.
func (d *diagnosis) findTab() *finding {
	line := d.lines[d.line]
	indentation := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	at := strings.IndexByte(indentation, '\t')
	if at < 0 || at == len(line) {
		return nil
	}
	return newFinding(d.line, at, wording.Say("a tab in the indentation"), wording.Say("indent with spaces"))
}

var (
	unknownAnchor = regexp.MustCompile(`unknown anchor '(.*)' referenced`)
	aliasBefore   = regexp.MustCompile(`(?:^|[\s{\[,])$`)
)

// findAlias finds an alias whose anchor is not before it; most of them were meant as texts.
func (d *diagnosis) findAlias() *finding {
	m := unknownAnchor.FindStringSubmatch(d.wrong)
	if m == nil {
		return nil
	}
	line, alias := d.lines[d.line], "*"+m[1]
	at := strings.Index(line, alias)
	if at < 0 || !aliasBefore.MatchString(line[:at]) {
		return nil
	}
	return newFinding(d.line, at, wording.Say("%s names no anchor that stands before it", alias), wording.Say("put a text that begins with * in quotes, or define it with &%s", m[1]))
}

// findSpace finds a dash or a colon without the space after it, on this line or the one before, if YAML treats it
// as a part of a word.
func (d *diagnosis) findSpace() *finding {
	for _, i := range []int{d.lineBefore(), d.line} {
		if i < 0 || isBlankLine(d.lines[i]) {
			continue
		}
		if m := gluedDash.FindStringSubmatchIndex(d.lines[i]); m != nil {
			return newFinding(i, m[2]-1, wording.Say("a space is missing after the dash"), wording.Say("write - %s:", d.lines[i][m[2]:m[3]]))
		}
		if m := gluedKey.FindStringSubmatchIndex(d.lines[i]); m != nil {
			return newFinding(i, m[3], wording.Say("a space is missing after the colon"), wording.Say("write %s and a space, then the value", d.lines[i][m[2]:m[3]]))
		}
	}
	return nil
}

// valueColumn returns the first column of the value on the bad line.
func (d *diagnosis) valueColumn() int {
	line := d.lines[d.line]
	if m := keyLine.FindString(line); m != "" {
		return len(m)
	}
	if dashLine.MatchString(line) {
		at := strings.IndexByte(line, '-') + 1
		return at + indentOf(line[at:])
	}
	return indentOf(line)
}

// findText finds the fault of a text in quotes.
func (d *diagnosis) findText() *finding {
	line, at := d.lines[d.line], d.valueColumn()
	if at >= len(line) || !isQuote(line[at]) {
		return nil
	}
	text := strings.Join(d.lines[d.line:], "\n")
	end := endOfQuotes(text, at)
	if line[at] == '"' {
		within := line[at:]
		if end >= 0 {
			within = text[at:end]
		}
		if f := d.findEscape(d.line, at, within); f != nil {
			return f
		}
	}
	if end < 0 || strings.Contains(text[at:end], "\n") {
		return newFinding(d.line, at, wording.Say("the quote that opens here is not closed"), wording.Say("close it at the end of the text"))
	}
	if rest := strings.TrimSpace(line[end:]); rest != "" && rest[0] != '#' {
		return newFinding(d.line, end-1, wording.Say("the text in quotes ends here, and more follows"), quoteHint(line[at]))
	}
	return nil
}

// findEscape finds an escape that YAML does not know in a text, which begins at a byte of a line.
func (d *diagnosis) findEscape(line, at int, text string) *finding {
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' {
			if escape := badEscape.FindString(text[i:]); escape != "" {
				return newFinding(line, at+i, wording.Say("%s is not an escape that YAML knows", escape),
					wording.Say(`write \%s, or put the text in single quotes`, escape))
			}
			i++
		}
		if i < len(text) && text[i] == '\n' {
			line, at = line+1, -i-1
		}
	}
	return nil
}

func quoteHint(quote byte) wording.Text {
	if quote == '\'' {
		return wording.Say("write '' for a ' inside, or put the whole text in double quotes")
	}
	return wording.Say(`write \" for a " inside, or put the whole text in single quotes`)
}

// endOfQuotes returns the byte after the quote that closes the one at start; -1 for none.
func endOfQuotes(text string, start int) int {
	quote := text[start]
	for i := start + 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote == '"':
			i++
		case quote == '\'' && strings.HasPrefix(text[i:], "''"):
			i++
		case text[i] == quote:
			return i + 1
		}
	}
	return -1
}

// findBrackets finds the fault of a value in { } or [ ].
func (d *diagnosis) findBrackets() *finding {
	at := d.valueColumn()
	line := d.lines[d.line]
	if at >= len(line) || !isOpening(line[at]) {
		return nil
	}
	s := &bracketScan{diagnosis: d, line: d.line, at: at}
	return s.scan()
}

// findMark finds a plain text that begins with a character of YAML's own, or has ": " in it.
func (d *diagnosis) findMark() *finding {
	line, at := d.lines[d.line], d.valueColumn()
	if at >= len(line) {
		return nil
	}
	rest := line[at:]
	if strings.IndexByte("@`%*&", rest[0]) >= 0 {
		return mustBeQuoted(d.line, at, rest)
	}
	isBlock := rest[0] == '|' || rest[0] == '>'
	if isBlock && !blockHead.MatchString(rest) {
		return newFinding(d.line, at, wording.Say("the text after %s begins on the next line", rest[:1]), wording.Say("put the text in quotes, or on lines of its own that are indented deeper"))
	}
	isPlain := strings.IndexByte(`{["'`, rest[0]) < 0
	if i := strings.Index(rest, ": "); i >= 0 && isPlain && keyLine.MatchString(line) {
		return newFinding(d.line, at+i, wording.Say(`a text with ": " in it must be quoted`), wording.Say("put the whole value in quotes"))
	}
	return nil
}

func mustBeQuoted(line, at int, text string) *finding {
	return newFinding(line, at, wording.Say("a text that begins with %s must be quoted", text[:1]), wording.Say("put it in quotes"))
}

// findColon finds a key without its colon.
func (d *diagnosis) findColon() *finding {
	line := d.lines[d.line]
	isItem := dashLine.MatchString(line) && !bareWord.MatchString(line)
	if isItem || strings.Contains(line, ":") {
		return nil
	}
	if m := bareWord.FindStringSubmatchIndex(line); m != nil {
		return newFinding(d.line, m[3], wording.Say("a colon is missing after the key"), wording.Say("write %s: and the value", line[m[2]:m[3]]))
	}
	return nil
}

// findBlock finds a line that is indented less than the block of text which it belongs to.
func (d *diagnosis) findBlock() *finding {
	here := indentOf(d.lines[d.line])
	for i := d.line - 1; i >= 0; i-- {
		if isBlankLine(d.lines[i]) || indentOf(d.lines[i]) > here {
			continue
		}
		if !blockHead.MatchString(d.lines[i]) || i+1 >= d.line {
			return nil
		}
		return newFinding(d.line, here, wording.Say("a line of a block of text is indented less than its first line"),
			wording.Say("indent all its lines by %d spaces at least", indentOf(d.lines[i+1])))
	}
	return nil
}

// findIndent finds a line whose indentation fits none of the lines above.
func (d *diagnosis) findIndent() *finding {
	line, before := d.lines[d.line], d.lineBefore()
	if before < 0 {
		return nil
	}
	here, last := indentOf(line), d.columnsOf(before)
	deepest := last[len(last)-1]
	if here > deepest {
		if opensBlock.MatchString(d.lines[before]) {
			return nil
		}
		return newFinding(d.line, here, wording.Say("this line is indented deeper than the one above, which has a value already"), wording.Say("indent it by %d spaces, like the line above", deepest))
	}
	open := []int{}
	level := deepest + 1
	for i := before; i >= 0 && level > 0; i-- {
		if isBlankLine(d.lines[i]) {
			continue
		}
		columns := d.columnsOf(i)
		if dashLine.MatchString(line) { // it continues a list
			columns = slices.DeleteFunc(columns, func(column int) bool { return !strings.HasPrefix(d.lines[i][column:], "-") })
		}
		for j := len(columns) - 1; j >= 0; j-- {
			if columns[j] < level {
				open, level = append(open, columns[j]), columns[j]
			}
		}
	}
	if len(open) == 0 || slices.Contains(open, here) {
		return nil
	}
	near := -1
	for _, column := range open {
		if near < 0 || abs(column-here) < abs(near-here) {
			near = column
		}
	}
	return newFinding(d.line, here, wording.Say("the indentation of %d fits none of the lines above", here), wording.Say("indent it by %d spaces", near))
}

// columnsOf returns the first columns of the dashes and the key of a line, outermost first.
func (d *diagnosis) columnsOf(i int) []int {
	line := d.lines[i]
	at := indentOf(line)
	columns := []int{at}
	for strings.HasPrefix(line[at:], "- ") {
		at += 1 + indentOf(line[at+1:])
		columns = append(columns, at)
	}
	return columns
}

func abs(n int) int { return max(n, -n) }

// Snippet returns the line of a text that a fault is in, with a caret below the place; "" if there is no such
// line. line and col count from 1, as editors show them.
func Snippet(src []byte, line, col int) string {
	lines := bytes.Split(src, []byte("\n"))
	if line < 1 || line > len(lines) {
		return ""
	}
	text := []rune(strings.TrimRight(string(lines[line-1]), "\r"))
	from := max(0, min(col-40, len(text)-80))
	shown := strings.ReplaceAll(string(text[from:min(from+80, len(text))]), "\t", " ")
	return shown + "\n" + strings.Repeat(" ", max(0, col-1-from)) + "^"
}

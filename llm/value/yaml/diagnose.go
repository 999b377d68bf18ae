package yaml

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/callnode/scheduler/llm/value/wording"
)

// The library names a line with a fault, often that where the map around it begins, and no
// column. What follows finds the place that a person would look at: the line after the
// longest beginning of the text that can be read, and in it what is usually wrong.

// maxDiagnosed bounds the texts that are read again and again for that, in bytes.
const maxDiagnosed = 64 << 10

// diagnose returns the fault of a text that is not YAML with its place and remedy; wrong is
// what the library found.
func diagnose(src []byte, wrong *Error) *Error {
	if len(src) > maxDiagnosed || !utf8.Valid(src) {
		return wrong
	}
	d := &diagnosis{lines: strings.Split(strings.ReplaceAll(string(src), "\r\n", "\n"), "\n")}
	d.line = d.firstBadLine()
	if d.line < 0 {
		return wrong
	}
	for _, look := range []func(*diagnosis) *finding{
		(*diagnosis).findSpace, (*diagnosis).findText, (*diagnosis).findBrackets, (*diagnosis).findBlock,
		(*diagnosis).findIndent, (*diagnosis).findMark, (*diagnosis).findColon,
	} {
		if f := look(d); f != nil {
			return f.asError(d)
		}
	}
	line := d.lines[d.line]
	return &Error{Line: d.line + 1, Col: indentOf(line) + 1, Msg: wrong.Msg}
}

// diagnosis is the search for one fault.
type diagnosis struct {
	lines []string
	line  int // the first that cannot be read, from 0
}

// finding is a fault with its place: a line from 0 and a byte in it.
type finding struct {
	line, col  int
	text, hint wording.Text
}

func (f *finding) asError(d *diagnosis) *Error {
	col := utf8.RuneCountInString(d.lines[f.line][:f.col]) + 1
	return &Error{Line: f.line + 1, Col: col, Msg: f.text.En, Hint: f.hint.En, chinese: f.text.Zh, chineseHint: f.hint.Zh}
}

func found(line, at int, text, hint wording.Text) *finding { return &finding{line, at, text, hint} }

// spanned is how many lines a value in quotes or brackets is expected to have at most.
const spanned = 40

// firstBadLine returns the line after the longest beginning that can be read; -1 where that
// cannot be told. A beginning that ends inside of brackets cannot be read, while a longer
// one can: so several are tried.
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

// readableBefore returns the largest number of lines, at most n, that can be read; floor
// where none above it can.
func (d *diagnosis) readableBefore(n, floor int) int {
	for k := n; k > max(floor, n-spanned); k-- {
		if _, err := parseYAML([]byte(strings.Join(d.lines[:k], "\n") + "\n")); !isSyntaxError(err) {
			return k
		}
	}
	return floor
}

// isSyntaxError reports whether the library refuses a text, which gives no column then.
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
	badEscape  = regexp.MustCompile(`\\[^0abt\tnvfre "/\\N_LPxuU\n]`)
	opensBlock = regexp.MustCompile(`[:-]\s*(?:[&!]\S+\s*)?(?:\s#.*)?$`)
	blockHead  = regexp.MustCompile(`^(?:.*[:-])?\s*(?:!\S+\s+)?[|>][-+0-9]*\s*(?:#.*)?$`)
)

// before returns the last line before the bad one that is not blank; -1 for none.
func (d *diagnosis) before() int {
	for i := d.line - 1; i >= 0; i-- {
		if !isBlankLine(d.lines[i]) {
			return i
		}
	}
	return -1
}

// findSpace finds a dash or a colon without the space after it, on this line or the one
// before, where YAML takes it for a part of a word.
func (d *diagnosis) findSpace() *finding {
	for _, i := range []int{d.before(), d.line} {
		if i < 0 || isBlankLine(d.lines[i]) {
			continue
		}
		if m := gluedDash.FindStringSubmatchIndex(d.lines[i]); m != nil {
			return found(i, m[2]-1, say("a space is missing after the dash"), say("write - %s:", d.lines[i][m[2]:m[3]]))
		}
		if m := gluedKey.FindStringSubmatchIndex(d.lines[i]); m != nil {
			return found(i, m[3], say("a space is missing after the colon"), say("write %s and a space, then the value", d.lines[i][m[2]:m[3]]))
		}
	}
	return nil
}

// value returns where the value on the bad line begins.
func (d *diagnosis) value() int {
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

// findText finds what is wrong with a text in quotes.
func (d *diagnosis) findText() *finding {
	line, at := d.lines[d.line], d.value()
	if at >= len(line) || line[at] != '"' && line[at] != '\'' {
		return nil
	}
	text := strings.Join(d.lines[d.line:], "\n")
	if line[at] == '"' {
		if m := badEscape.FindStringIndex(line[at:]); m != nil {
			escape := line[at+m[0] : at+m[1]]
			return found(d.line, at+m[0], say("%s is not an escape that YAML knows", escape),
				say(`write \%s, or put the text in single quotes`, escape))
		}
	}
	end := endOfQuotes(text, at)
	if end < 0 || strings.Contains(text[at:end], "\n") {
		return found(d.line, at, say("the quote that opens here is not closed"), say("close it at the end of the text"))
	}
	if rest := strings.TrimSpace(line[end:]); rest != "" && rest[0] != '#' {
		return found(d.line, end-1, say("the text in quotes ends here, and more follows"), quoteHint(line[at]))
	}
	return nil
}

func quoteHint(quote byte) wording.Text {
	if quote == '\'' {
		return say("write '' for a ' inside, or put the whole text in double quotes")
	}
	return say(`write \" for a " inside, or put the whole text in single quotes`)
}

// endOfQuotes returns the byte after the quote that closes the one at start; -1 for none.
func endOfQuotes(text string, start int) int {
	quote := text[start]
	for i := start + 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote == '"':
			i++
		case text[i] == quote && quote == '\'' && i+1 < len(text) && text[i+1] == quote:
			i++
		case text[i] == quote:
			return i + 1
		}
	}
	return -1
}

// findBrackets finds what is wrong with a value in { } or [ ].
func (d *diagnosis) findBrackets() *finding {
	at := d.value()
	line := d.lines[d.line]
	if at >= len(line) || line[at] != '{' && line[at] != '[' {
		return nil
	}
	s := &bracketScan{diagnosis: d, line: d.line, at: at}
	return s.scan()
}

// findMark finds a plain text that begins with a character of YAML's own, or has ": " in it.
func (d *diagnosis) findMark() *finding {
	line, at := d.lines[d.line], d.value()
	if at >= len(line) {
		return nil
	}
	rest := line[at:]
	switch first := rest[0]; {
	case strings.IndexByte("@`%*&", first) >= 0:
		return found(d.line, at, say("a text that begins with %s must be quoted", rest[:1]), say("put it in quotes"))
	case first == '|' || first == '>':
		if !blockHead.MatchString(rest) {
			return found(d.line, at, say("the text after %s begins on the next line", rest[:1]), say("put the text in quotes, or on lines of its own that are indented deeper"))
		}
	}
	if i := strings.Index(rest, ": "); i >= 0 && keyLine.MatchString(line) {
		return found(d.line, at+i, say(`a text with ": " in it must be quoted`), say("put the whole value in quotes"))
	}
	return nil
}

// findColon finds a key without its colon.
func (d *diagnosis) findColon() *finding {
	line := d.lines[d.line]
	if strings.Contains(line, ":") || dashLine.MatchString(line) && !bareWord.MatchString(line) {
		return nil
	}
	if m := bareWord.FindStringSubmatchIndex(line); m != nil {
		return found(d.line, m[3], say("a colon is missing after the key"), say("write %s: and the value", line[m[2]:m[3]]))
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
		return found(d.line, here, say("a line of a block of text is indented less than its first line"),
			say("indent all its lines by %d spaces at least", indentOf(d.lines[i+1])))
	}
	return nil
}

// findIndent finds a line whose indentation fits none of the lines above.
func (d *diagnosis) findIndent() *finding {
	line, before := d.lines[d.line], d.before()
	if before < 0 {
		return nil
	}
	here, last := indentOf(line), d.columnsOf(before)
	deepest := last[len(last)-1]
	if here > deepest {
		if opensBlock.MatchString(d.lines[before]) {
			return nil
		}
		return found(d.line, here, say("this line is indented deeper than the one above, which has a value already"), say("indent it by %d spaces, like the line above", deepest))
	}
	open := []int{}
	level := deepest + 1
	for i := before; i >= 0 && level > 0; i-- {
		if isBlankLine(d.lines[i]) {
			continue
		}
		columns := d.columnsOf(i)
		for j := len(columns) - 1; j >= 0; j-- {
			if columns[j] < level {
				open, level = append(open, columns[j]), columns[j]
			}
		}
	}
	near := -1
	for _, column := range open {
		if column == here {
			return nil
		}
		if near < 0 || abs(column-here) < abs(near-here) {
			near = column
		}
	}
	return found(d.line, here, say("the indentation of %d fits none of the lines above", here), say("indent it by %d spaces", near))
}

// columnsOf returns where the dashes and the key of a line begin, outermost first.
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

// Snippet returns the line of a text that a fault is in, with a caret below the place; ""
// where there is no such line. line and col count from 1, as editors show them.
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

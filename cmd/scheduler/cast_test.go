package main

import (
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/callnode/scheduler/test/golden"
)

//go:generate go test . -run ^TestCast$ -update

// castScript are the commands of the cast in README, in the order they are typed. lines is how many lines of the output are
// shown; 0 shows all.
var castScript = []struct {
	command string
	lines   int
}{
	{`scheduler init my-app`, 3},
	{`cd my-app`, 0},
	{`scheduler run flows/hello.yaml --question "Who are you?" --explain`, 21},
	{`scheduler test`, 1},
	{`scheduler lint flows`, 0},
}

// TestCast holds docs/cast.svg to the program: it is a recording of the commands of castScript as they run now, each duration
// written as 1.0 ms. Run with -update to record it again.
func TestCast(t *testing.T) {
	file, err := filepath.Abs("../../docs/cast.svg")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "SCHEDULER_") {
			t.Setenv(name, "") // set back at the end
			os.Unsetenv(name)
		}
	}
	t.Setenv("SCHEDULER_LANGUAGE", "en")
	c := &cast{}
	for _, step := range castScript {
		c.typeCommand(step.command)
		words := wordsOf(step.command)
		if words[0] == "cd" {
			t.Chdir(words[1])
			continue
		}
		code, output := runDocs(words[1:]...)
		if code != exitDone {
			t.Fatalf("%s: exit code %d\n%s", step.command, code, output)
		}
		c.print(output, step.lines)
	}
	picture := c.draw()
	if len(picture) > 100_000 {
		t.Errorf("the cast has %d bytes, more than 100,000", len(picture))
	}
	golden.Check(t, file, picture)
}

// cast is a recording of a terminal: words of it, and when each appears.
type cast struct {
	words []castWord
	row   int
	clock float64 // seconds
	// rows are the times at which each row is begun.
	rows []float64
}

type castWord struct {
	row, column int
	class, text string
	at          float64
}

const (
	castColumns, castRows        = 92, 24
	castRowHeight, castCharWidth = 18, 8
	castSeconds                  = 20.0
)

// typeCommand adds a line that is typed word by word.
func (c *cast) typeCommand(command string) {
	c.clock += 0.6
	c.add("prompt", 0, "$")
	column := 2
	for word := range strings.SplitSeq(command, " ") {
		c.clock += 0.22
		c.add("command", column, word)
		column += utf8.RuneCountInString(word) + 1
	}
	c.clock += 0.5
	c.endRow()
}

// castClasses are the kinds of lines of an output.
var castClasses = []struct {
	class   string
	pattern *regexp.Regexp
}{
	{"source", regexp.MustCompile(`^  from `)},
	{"good", regexp.MustCompile(`^(ok|✓)`)},
	{"head", regexp.MustCompile(`^(\[\d+\]|Prompt of)`)},
	{"piece", regexp.MustCompile(`^  \|`)},
}

// castTime matches a duration, which differs from run to run.
var castTime = regexp.MustCompile(`\b[0-9.]+ ?m?s\b`)

// print adds the lines of an output.
func (c *cast) print(output string, limit int) {
	lines := strings.Split(strings.TrimRight(output, "\n"), "\n")
	if output == "" {
		return
	}
	if limit > 0 && len(lines) > limit {
		lines = append(lines[:limit:limit], "…")
	}
	for _, line := range lines {
		class := "text"
		for _, kind := range castClasses {
			if kind.pattern.MatchString(line) {
				class = kind.class
				break
			}
		}
		line = castTime.ReplaceAllString(line, "1.0 ms")
		if runes := []rune(line); len(runes) > castColumns {
			line = string(runes[:castColumns-1]) + "…"
		}
		c.clock += 0.09
		c.add(class, 0, line)
		c.endRow()
	}
	c.clock += 0.9
}

func (c *cast) add(class string, column int, text string) {
	c.words = append(c.words, castWord{c.row, column, class, text, c.clock})
}

func (c *cast) endRow() {
	c.rows = append(c.rows, c.clock)
	c.row++
}

// draw returns the recording as an animated SVG, which plays again and again. Its text is text, and it has the
// colours of the reader's theme; a reader who wants no motion sees the end of it.
func (c *cast) draw() string {
	width, height := castColumns*castCharWidth+32, castRows*castRowHeight+28
	share := func(at float64) float64 { return 100 * at / castSeconds }
	var style, body strings.Builder
	scroll := "0%{transform:none}"
	for row, at := range c.rows {
		if over := row + 1 - castRows; over > 0 {
			scroll += fmt.Sprintf("%.1f%%{transform:translateY(-%dpx)}", share(at), over*castRowHeight)
		}
	}
	last := max(0, c.row-castRows) * castRowHeight
	fmt.Fprintf(&style, "@keyframes s{%s100%%{transform:translateY(-%dpx)}}", scroll, last)
	times := map[string]int{}
	for _, w := range c.words {
		key := fmt.Sprintf("%.1f", share(w.at))
		n, known := times[key]
		if !known {
			n = len(times)
			times[key] = n
			fmt.Fprintf(&style, "@keyframes k%d{0%%{opacity:0}%s%%,100%%{opacity:1}}.t%d{animation-name:k%d}", n, key, n, n)
		}
		fmt.Fprintf(&body, "<text class=\"%s t%d\" x=\"%d\" y=\"%d\">%s</text>\n", w.class, n, w.column*castCharWidth, (w.row+1)*castRowHeight, html.EscapeString(w.text))
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="A terminal: scheduler init, run --explain, test and lint">
<style>
svg{--back:#f6f8fa;--text:#1f2328;--dim:#59636e;--good:#1a7f37;--source:#0550ae;--piece:#8250df}
@media(prefers-color-scheme:dark){svg{--back:#161b22;--text:#e6edf3;--dim:#9198a1;--good:#3fb950;--source:#79c0ff;--piece:#d2a8ff}}
text{font:13.3px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;white-space:pre;fill:var(--text);animation:%gs steps(1) infinite}
.prompt,.good{fill:var(--good)}.command,.head{font-weight:600}.source{fill:var(--source)}.piece{fill:var(--piece)}
.rows{animation:s %gs steps(1) infinite}
@media(prefers-reduced-motion:reduce){text{animation:none}.rows{animation:none;transform:translateY(-%dpx)}}
%s
</style>
<rect width="%d" height="%d" rx="8" fill="var(--back)"/>
<svg x="16" y="10" width="%d" height="%d"><g class="rows">
%s</g></svg>
</svg>
`, width, height, castSeconds, castSeconds, last, style.String(), width, height, width-32, castRows*castRowHeight+8, body.String())
}

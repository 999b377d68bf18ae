package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/flowtest/compare"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
)

//go:embed page.html
var pageHTML string

// colours is how many colours the page has for sources.
const colours = 12

// The page is one static file: it loads nothing, runs no script, and its template escapes every text.
type (
	page struct {
		Language   string
		Title      string
		Words      map[string]string
		Suites     []pageSuite
		Comparison []string
		Usage      string
		Wrong      []string // problems of files that did not run
	}
	pageSuite struct {
		File, Counts string
		// Variants are the columns, and Rows the cases.
		Variants []string
		Rows     []pageRow
		Cases    []pageCase
	}
	pageRow struct {
		Name        string
		Cells       []pageCell
		Differences []pageDifference
	}
	// pageDifference is how two variants differ: in their answers, and in their prompts by source.
	pageDifference struct {
		Title  string
		Answer []pageLine
		Prompt []string
	}
	// pageCell is a case in the table; Anchor is "" if the case has no such variant.
	pageCell struct {
		Anchor, Word, Rate, Answer, Measures string
		Outcome                              result.Outcome
	}
	pageCase struct {
		Anchor, Word, ID, Place, Rate, Skipped, Outputs string
		Outcome                                         result.Outcome
		IsOpen                                          bool
		Findings                                        []pageFinding
		Prompts                                         []pagePrompt
		Judged                                          []pageJudged
		Checks                                          []pageCheck
		Notes                                           []string
	}
	// pageCheck is a check with the value that it looked at.
	pageCheck struct {
		Name, Word, Score, Value string
		Outcome                  result.Outcome
	}
	pageFinding struct {
		Place, Title string
		Details      []pageLine
	}
	// pageLine is a line of details; Class colours the lines of a diff.
	pageLine struct{ Class, Text string }
	// pageJudged is the verdict of a judge, and how far people have agreed with it.
	pageJudged struct {
		Name, Trust string
		Criteria    []result.Criterion
	}
	pagePrompt struct {
		Title    string
		Legend   []pageSource
		Messages []pageMessage
		LeftOut  []explain.LeftOut
	}
	pageSource struct {
		Colour int
		Name   string
		Tokens int
	}
	pageMessage struct {
		Role   string
		Tokens int
		Pieces []pagePiece
	}
	pagePiece struct {
		Colour    int
		Text, Way string
	}
)

// writeHTML writes the page of a run.
func writeHTML(w io.Writer, run *result.Run, c *compare.Comparison, o *Options) error {
	p := page{Language: o.Language, Title: o.countsLine(run.Counts()), Words: o.pageWords(), Usage: o.usageLine(run)}
	for i := range run.Wrong {
		p.Wrong = append(p.Wrong, o.place(run.Wrong[i].Position)+": "+run.Wrong[i].Message)
	}
	if p.Language == "" {
		p.Language = "en"
	}
	if c != nil {
		p.Comparison = o.comparisonLines(c)
	}
	for i, s := range run.Suites {
		p.Suites = append(p.Suites, o.pageSuite(s, i))
	}
	t, err := template.New("page").Funcs(template.FuncMap{"inc": func(n int) int { return n + 1 }}).Parse(pageHTML)
	if err != nil {
		return err
	}
	return t.Execute(w, p)
}

// pageWords are the words of the page.
func (o *Options) pageWords() map[string]string {
	words := map[string]string{}
	for _, word := range []string{"case", "prompt", "left out", "outputs", "judged", "tokens", "comparison", "reason", "difference", "answer", "checks", "value"} {
		words[strings.ReplaceAll(word, " ", "_")] = o.say(word)
	}
	words["wrong"] = o.say("test files that are wrong, and did not run")
	return words
}

// pageSuite returns the table and the cases of a suite.
func (o *Options) pageSuite(s *result.Suite, number int) pageSuite {
	table := NewTable(s, *o)
	page := pageSuite{File: o.path(s.File), Counts: o.countsLine(s.Counts()), Variants: table.Variants}
	anchors := map[string]string{}
	for i, c := range s.Cases {
		anchor := fmt.Sprintf("c%d-%d", number, i)
		anchors[c.ID()] = anchor
		page.Cases = append(page.Cases, o.pageCase(c, anchor))
	}
	for i := range table.Rows {
		page.Rows = append(page.Rows, o.pageRow(&table.Rows[i], anchors))
	}
	return page
}

// pageRow returns a row of the table, with links to its cases.
func (o *Options) pageRow(row *TableRow, anchors map[string]string) pageRow {
	page := pageRow{Name: row.Name}
	for _, cell := range row.Cells {
		shown := pageCell{}
		if cell != nil {
			shown = pageCell{
				Anchor: anchors[cell.ID], Word: o.outcomeWord(cell.Outcome), Outcome: cell.Outcome,
				Rate: o.rateText(cell), Answer: cell.answerText(), Measures: o.measureText(cell),
			}
		}
		page.Cells = append(page.Cells, shown)
	}
	for _, d := range row.Differences {
		shown := pageDifference{Title: o.say("%s against %s", d.To, d.From), Prompt: d.Prompt}
		for line := range strings.SplitSeq(d.Answer, "\n") {
			if line != "" {
				shown.Answer = append(shown.Answer, pageLine{lineClass(line), line})
			}
		}
		page.Differences = append(page.Differences, shown)
	}
	return page
}

// outcomeWord returns an outcome in the language of the page.
func (o *Options) outcomeWord(outcome result.Outcome) string {
	switch outcome {
	case result.Pass:
		return o.say("passed")
	case result.Fail:
		return o.say("failed")
	case result.Skip:
		return o.say("skipped")
	default:
		return o.say("not decided")
	}
}

// pageCase returns the details of a case.
func (o *Options) pageCase(c *result.Case, anchor string) pageCase {
	page := pageCase{
		Anchor: anchor, ID: c.ID(), Place: o.place(c.Position), Rate: o.rateLine(c), Skipped: c.Skipped, Word: o.outcomeWord(c.Outcome), Outcome: c.Outcome,
		IsOpen: c.Outcome == result.Fail || c.Outcome == result.Error,
	}
	for _, f := range findings(c) {
		shown := pageFinding{Place: o.place(f.at), Title: f.title()}
		for _, line := range o.details(c, f) {
			shown.Details = append(shown.Details, pageLine{diffClass(f, line), line})
		}
		page.Findings = append(page.Findings, shown)
	}
	if names := c.Tolerated(); len(names) > 0 {
		page.Notes = append(page.Notes, o.toleratedLine(c, names))
	}
	for _, note := range o.noteLines(c) {
		page.Notes = append(page.Notes, note.message)
	}
	if r := repeatToShow(c); r != nil {
		page.Outputs = r.Outputs.Text()
		for _, e := range r.Prompts {
			page.Prompts = append(page.Prompts, o.pagePrompt(e))
		}
		for i := range r.Checks {
			page.Checks = append(page.Checks, o.pageCheck(&r.Checks[i]))
			if r.Checks[i].Judge != nil {
				page.Judged = append(page.Judged, o.pageJudged(&r.Checks[i]))
			}
		}
	}
	return page
}

// diffClass returns the class of a line of a finding's diff; "" for other lines.
func diffClass(f *finding, line string) string {
	if f.diff == "" || line == "" || !slices.Contains(strings.Split(f.diff, "\n"), line) {
		return ""
	}
	return lineClass(line)
}

// lineClass returns the class of a line of a diff, which may be indented; "" for a line that is in both.
func lineClass(line string) string {
	switch rest := strings.TrimLeft(line, " "); {
	case strings.HasPrefix(rest, "-"):
		return "minus"
	case strings.HasPrefix(rest, "+"):
		return "plus"
	}
	return ""
}

// repeatToShow returns the first repeat that did not pass, else the first; nil if none ran.
func repeatToShow(c *result.Case) *result.Repeat {
	i := slices.IndexFunc(c.Repeats, func(r result.Repeat) bool { return r.Outcome != result.Pass })
	if i >= 0 {
		return &c.Repeats[i]
	}
	if len(c.Repeats) > 0 {
		return &c.Repeats[0]
	}
	return nil
}

// pageCheck returns a check as the page shows it.
func (o *Options) pageCheck(c *result.Check) pageCheck {
	page := pageCheck{Name: c.Name, Word: o.outcomeWord(c.Outcome), Outcome: c.Outcome, Value: value.Truncate(c.Value.Text(), maxAnswerShown)}
	if c.Score != nil {
		page.Score = showShare(*c.Score)
	}
	return page
}

func (o *Options) pageJudged(c *result.Check) pageJudged {
	page := pageJudged{Name: c.Name, Criteria: c.Judge.Criteria}
	if c.Judge.Labels > 0 {
		page.Trust = o.say("agrees with people in %s %% of %d answers (kappa %s; passes %s %% of what people fail)",
			percent(c.Judge.Agreement), c.Judge.Labels, fmt.Sprintf("%.2f", c.Judge.Kappa), percent(c.Judge.FalsePass))
	}
	return page
}

// pagePrompt returns a prompt with its pieces coloured by source.
func (o *Options) pagePrompt(e *explain.Explanation) pagePrompt {
	page := pagePrompt{Title: o.say("%s: %d tokens", e.Step, e.Total), LeftOut: e.LeftOut}
	for i := range e.Messages {
		m := &e.Messages[i]
		message := pageMessage{Role: m.Role, Tokens: m.Tokens}
		for j := range m.Pieces {
			piece := &m.Pieces[j]
			kind, name := result.NameOf(piece.Sources)
			source := strings.TrimSpace(explain.PartName(kind).In(o.Language) + " " + name)
			message.Pieces = append(message.Pieces, pagePiece{page.colourOf(source, piece.Tokens), piece.Text, piece.Way().In(o.Language)})
		}
		page.Messages = append(page.Messages, message)
	}
	return page
}

// colourOf returns the colour of a source, and counts its tokens in the legend.
func (p *pagePrompt) colourOf(source string, tokens int) int {
	i := slices.IndexFunc(p.Legend, func(s pageSource) bool { return s.Name == source })
	if i < 0 {
		i = len(p.Legend)
		p.Legend = append(p.Legend, pageSource{Colour: i % colours, Name: source})
	}
	p.Legend[i].Tokens += tokens
	return p.Legend[i].Colour
}

package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

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
	}
	pageSuite struct {
		File, Counts string
		// Variants are the columns, and Rows the cases.
		Variants []string
		Rows     []pageRow
		Cases    []pageCase
	}
	pageRow struct {
		Name  string
		Cells []pageCell
	}
	// pageCell is a case in the table; Anchor is "" where the case has no such variant.
	pageCell struct {
		Anchor, Word, Rate string
		Outcome            result.Outcome
	}
	pageCase struct {
		Anchor, Word, ID, Place, Rate, Skipped, Outputs string
		Outcome                                         result.Outcome
		IsOpen                                          bool
		Findings                                        []pageFinding
		Prompts                                         []pagePrompt
		Judged                                          []pageJudged
	}
	pageFinding struct {
		Place, Title string
		Details      []pageLine
	}
	// pageLine is a line of details; Class colours those of a diff.
	pageLine struct{ Class, Text string }
	// pageJudged is what a judge found, and how far people have found it right.
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
	if p.Language == "" {
		p.Language = "en"
	}
	if c != nil {
		p.Comparison = o.comparisonLines(c)
	}
	for i, s := range run.Suites {
		p.Suites = append(p.Suites, o.pageSuite(s, i))
	}
	t, err := template.New("page").Parse(pageHTML)
	if err != nil {
		return err
	}
	return t.Execute(w, p)
}

// pageWords are the words of the page.
func (o *Options) pageWords() map[string]string {
	words := map[string]string{}
	for _, word := range []string{"case", "prompt", "left out", "outputs", "judged", "tokens", "comparison", "reason"} {
		words[strings.ReplaceAll(word, " ", "_")] = o.say(word)
	}
	return words
}

// pageSuite returns the table and the cases of a suite.
func (o *Options) pageSuite(s *result.Suite, number int) pageSuite {
	page := pageSuite{File: o.path(s.File), Counts: o.countsLine(s.Counts())}
	rows := map[string]int{}
	for i, c := range s.Cases {
		anchor := fmt.Sprintf("c%d-%d", number, i)
		page.Cases = append(page.Cases, o.pageCase(c, anchor))
		variant := c.VariantName()
		column := slices.Index(page.Variants, variant)
		if column < 0 {
			column = len(page.Variants)
			page.Variants = append(page.Variants, variant)
		}
		name := rowName(c)
		row, ok := rows[name]
		if !ok {
			row = len(page.Rows)
			rows[name] = row
			page.Rows = append(page.Rows, pageRow{Name: name})
		}
		for len(page.Rows[row].Cells) <= column {
			page.Rows[row].Cells = append(page.Rows[row].Cells, pageCell{})
		}
		cell := pageCell{Anchor: anchor, Word: o.outcomeWord(c.Outcome), Outcome: c.Outcome}
		if passed, decided := c.Passed(); c.Planned > 1 {
			cell.Rate = fmt.Sprintf(" %d/%d", passed, decided)
		}
		page.Rows[row].Cells[column] = cell
	}
	for i := range page.Rows { // a variant that came up later is a column of all rows
		for len(page.Rows[i].Cells) < len(page.Variants) {
			page.Rows[i].Cells = append(page.Rows[i].Cells, pageCell{})
		}
	}
	return page
}

// rowName is what a case is called without its variant.
func rowName(c *result.Case) string {
	plain := *c
	plain.Variant = nil
	return plain.ID()
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
	if r := repeatToShow(c); r != nil {
		page.Outputs = r.Outputs
		for _, e := range r.Prompts {
			page.Prompts = append(page.Prompts, o.pagePrompt(e))
		}
		for i := range r.Checks {
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
	return map[byte]string{'-': "minus", '+': "plus"}[line[0]]
}

// repeatToShow returns the first repeat that did not pass, else the first; nil where none ran.
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

func (o *Options) pageJudged(c *result.Check) pageJudged {
	page := pageJudged{Name: c.Name, Criteria: c.Judge.Criteria}
	if c.Judge.Labels > 0 {
		page.Trust = o.say("agrees with people in %s %% of %d answers (kappa %s; passes %s %% of what people fail)",
			percent(c.Judge.Agreement), c.Judge.Labels, fmt.Sprintf("%.2f", c.Judge.Kappa), percent(c.Judge.FalsePass))
	}
	return page
}

// pagePrompt returns a prompt whose pieces have the colour of their source.
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

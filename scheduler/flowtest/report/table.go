package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/linediff"
	"github.com/callnode/scheduler/scheduler/flowtest/compare"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
	"github.com/callnode/scheduler/scheduler/flowtest/stat"
)

// Table has the cases of a test file by variant, with their answers side by side. [NewTable] makes it; it is only data.
type Table struct {
	// Variants are the columns, in the order of the file; one that is "" without a matrix.
	Variants []string   `json:"variants" nullable:"false" doc:"The columns: settings of the matrix."`
	Rows     []TableRow `json:"rows" nullable:"false"`
}

// TableRow is a case with a row of the dataset, in all variants.
type TableRow struct {
	Name string `json:"name" doc:"The case and its row of the dataset."`
	// Cells has one for each variant; nil if the case has no such variant.
	Cells []*TableCell `json:"cells" nullable:"false" doc:"One for each variant; null where the case has none."`
	// Differences compare the other variants with the first one present.
	Differences []Difference `json:"differences,omitempty"`
}

// TableCell is the result of a case in a variant.
type TableCell struct {
	ID      string         `json:"id"`
	Outcome result.Outcome `json:"outcome"`
	// Passed of Decided repeats passed, Low and High are the 95 % interval of their share. Repeats with the same
	// answers count as one.
	Passed  int     `json:"passed"`
	Decided int     `json:"decided"`
	Low     float64 `json:"low" doc:"The lower end of the 95 % interval of the share that passes."`
	High    float64 `json:"high"`
	// Answer is the answer of the first repeat that did not pass, else of the first.
	Answer string `json:"answer,omitempty" doc:"The outputs of the first repeat that did not pass, else of the first."`
	// Tokens, Cost, MS and Score are means over the repeats; nil if they are not known.
	Tokens *float64 `json:"tokens,omitempty"`
	Cost   *float64 `json:"cost,omitempty"`
	MS     *float64 `json:"ms,omitempty" doc:"How long a repeat took; in a replay, how long its models took when they were recorded."`
	Score  *float64 `json:"score,omitempty"`
}

// Difference is how a variant differs from another one of the same case.
type Difference struct {
	From   string   `json:"from" doc:"The variant that it is compared with."`
	To     string   `json:"to"`
	Answer string   `json:"answer,omitempty" doc:"The difference of the answers: lines with -, + or a space before them."`
	Prompt []string `json:"prompt,omitempty" doc:"What differs in the prompts, by source."`
}

// NewTable returns the cases of a suite side by side.
func NewTable(s *result.Suite, o Options) *Table {
	t := &Table{Variants: []string{}, Rows: []TableRow{}}
	rows := map[string]int{}
	cases := map[string][]*result.Case{}
	for _, c := range s.Cases {
		variant := c.VariantName()
		column := slices.Index(t.Variants, variant)
		if column < 0 {
			column = len(t.Variants)
			t.Variants = append(t.Variants, variant)
		}
		name := rowName(c)
		row, ok := rows[name]
		if !ok {
			row = len(t.Rows)
			rows[name] = row
			t.Rows = append(t.Rows, TableRow{Name: name})
		}
		for len(t.Rows[row].Cells) <= column {
			t.Rows[row].Cells = append(t.Rows[row].Cells, nil)
		}
		t.Rows[row].Cells[column] = newCell(c)
		cases[name] = append(cases[name], c)
	}
	for i := range t.Rows { // a variant that came up later is a column of all rows
		row := &t.Rows[i]
		for len(row.Cells) < len(t.Variants) {
			row.Cells = append(row.Cells, nil)
		}
		of := cases[row.Name]
		for _, other := range of[1:] {
			if d := o.differenceOf(of[0], other); d != nil {
				row.Differences = append(row.Differences, *d)
			}
		}
	}
	return t
}

// rowName returns the name of a case without its variant.
func rowName(c *result.Case) string {
	plain := *c
	plain.Variant = nil
	return plain.ID()
}

// newCell returns the result of a case.
func newCell(c *result.Case) *TableCell {
	cell := &TableCell{ID: c.ID(), Outcome: c.Outcome, High: 1}
	cell.Passed, cell.Decided = c.Observed()
	if cell.Decided > 0 {
		in := stat.Wilson(cell.Passed, cell.Decided)
		cell.Low, cell.High = in.Low, in.High
	}
	if r := repeatToShow(c); r != nil {
		cell.Answer = r.Outputs.Text()
	}
	kept := compare.NewBaseline(&result.Run{Suites: []*result.Suite{{Cases: []*result.Case{c}}}})
	if len(kept.Suites[0].Cases) == 1 { // a skipped case is not kept
		means := kept.Suites[0].Cases[0]
		cell.Tokens, cell.Cost, cell.MS, cell.Score = means.Tokens, means.Cost, means.MS, means.Score
	}
	return cell
}

// differenceOf returns how a case differs from the same case in another variant; nil if neither answer nor prompt
// does.
func (o *Options) differenceOf(from, to *result.Case) *Difference {
	was, is := repeatToShow(from), repeatToShow(to)
	if was == nil || is == nil {
		return nil
	}
	d := &Difference{From: from.VariantName(), To: to.VariantName()}
	if was.Outputs != is.Outputs {
		d.Answer = linediff.Show(strings.Split(was.Outputs.Text(), "\n"), strings.Split(is.Outputs.Text(), "\n"))
	}
	for _, change := range compare.DiffPieces(was.Pieces, is.Pieces) {
		d.Prompt = append(d.Prompt, o.pieceChangeLine(&change))
	}
	if d.Answer == "" && d.Prompt == nil {
		return nil
	}
	return d
}

// rateText returns the share of repeats that passed, with its interval: "3/5 (95 %: 23 to 88 %)"; "" for a single
// observation.
func (o *Options) rateText(cell *TableCell) string {
	if cell.Decided < 2 {
		return ""
	}
	return o.say("%d/%d (95 %%: %s to %s %%)", cell.Passed, cell.Decided, percent(cell.Low), percent(cell.High))
}

// measureText returns the measures of a cell: score, tokens, cost and time, as far as they are known.
func (o *Options) measureText(cell *TableCell) string {
	var parts []string
	if cell.Score != nil {
		parts = append(parts, o.say("score %s", showShare(*cell.Score)))
	}
	if cell.Tokens != nil && *cell.Tokens > 0 {
		parts = append(parts, o.say("%.0f tokens", *cell.Tokens))
	}
	if cell.Cost != nil && *cell.Cost > 0 {
		parts = append(parts, o.Currency.Text(*cell.Cost))
	}
	if cell.MS != nil && *cell.MS > 0 {
		parts = append(parts, fmt.Sprintf("%.0f ms", *cell.MS))
	}
	return strings.Join(parts, " · ")
}

// maxAnswerShown bounds the characters of an answer in a cell; the case has the whole.
const maxAnswerShown = 400

// answerText returns the answer of a cell, shortened.
func (cell *TableCell) answerText() string { return value.Truncate(cell.Answer, maxAnswerShown) }

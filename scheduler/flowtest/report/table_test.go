package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
)

// twoVariants returns a case that ran with two models: the second answers otherwise, from another prompt.
func twoVariants() *result.Suite {
	repeat := func(outcome result.Outcome, answer string, tokens int) result.Repeat {
		score := 0.5
		return result.Repeat{
			Number: 1, Outcome: outcome, Outputs: result.Data(`{"reply":"` + answer + `"}`), Usage: llm.Usage{InputTokens: 10, OutputTokens: 5, Cost: 0.02}, PriceKnown: true, Score: &score,
			Checks: []result.Check{{Name: "output reply contains", Weight: 1, Outcome: outcome, Value: result.Data(`"` + answer + `"`)}},
			Pieces: []result.Piece{{Step: "answer", Kind: "file", Name: "AGENTS.md", Role: "system", Tokens: tokens, Digest: answer}},
		}
	}
	of := func(model string, repeats ...result.Repeat) *result.Case {
		return &result.Case{Name: "hours", Variant: []result.Setting{{Key: "llm", Value: model}}, Outcome: repeats[0].Outcome, Planned: len(repeats), Repeats: repeats}
	}
	return &result.Suite{File: "a.test.yaml", Cases: []*result.Case{
		of("small", repeat(result.Pass, "at nine", 12), repeat(result.Pass, "at nine", 12)),
		of("large", repeat(result.Fail, "at ten", 20), repeat(result.Pass, "at nine", 20)),
		{Name: "alone", Outcome: result.Skip},
	}}
}

// The table has answers, rates with their intervals, costs, and how the second variant differs from the first.
func TestTable(t *testing.T) {
	table := NewTable(twoVariants(), Options{})
	if diff := cmp.Diff([]string{"llm=small", "llm=large", ""}, table.Variants); diff != "" {
		t.Error(diff)
	}
	row := table.Rows[0]
	first, second := row.Cells[0], row.Cells[1]
	if first.Answer != "at nine" || first.Passed != 2 || first.Low < 0.34 || first.Low > 0.35 || *first.Cost != 0.02 || *first.Score != 0.5 {
		t.Errorf("the first cell is %+v", first)
	}
	if second.Answer != "at ten" || second.Passed != 1 || second.Decided != 2 || row.Cells[2] != nil {
		t.Errorf("the second cell is %+v, and there is %v", second, row.Cells[2])
	}
	want := []Difference{{From: "llm=small", To: "llm=large", Answer: "  - at nine\n  + at ten\n", Prompt: []string{"AGENTS.md: +8 tokens [file of answer; ]"}}}
	if diff := cmp.Diff(want, row.Differences); diff != "" {
		t.Error(diff)
	}
	var page bytes.Buffer
	if err := Write(&page, "html", &result.Run{Suites: []*result.Suite{twoVariants()}}, nil, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"passed 2/2 (95 %: 34 to 100 %)", "<div class=\"text\">at ten</div>", "score 0.500 · 15 tokens · $0.0200", "llm=large against llm=small",
		"<span class=\"minus\">  - at nine</span>", "AGENTS.md: &#43;8 tokens", "<td class=\"text\">at ten</td>",
	} {
		if !strings.Contains(page.String(), text) {
			t.Errorf("%q is not in the page:\n%s", text, page.String())
		}
	}
}

// A pass of a judge that people have found to be no better than chance is noted, in lines and on the page.
func TestNotesOfJudges(t *testing.T) {
	s := &result.Suite{File: "a.test.yaml", Cases: []*result.Case{{Name: "judged", Outcome: result.Pass, Repeats: []result.Repeat{{Outcome: result.Pass, Checks: []result.Check{
		{Name: "a", Weight: 1, Outcome: result.Pass, Judge: &result.Judge{Labels: 20, Kappa: -0.1}},
		{Name: "b", Weight: 1, Outcome: result.Pass, Judge: &result.Judge{Labels: 20, Kappa: 0.8}},
		{Name: "c", Weight: 1, Outcome: result.Pass, Judge: &result.Judge{}},
	}}}}}}
	var lines, page bytes.Buffer
	NewPrinter(&lines, Options{}).PrintSuite(s)
	if err := Write(&page, "html", &result.Run{Suites: []*result.Suite{s}}, nil, Options{}); err != nil {
		t.Fatal(err)
	}
	const want = "note: a: the judge agrees with people no more than chance does (kappa -0.10 of 20 answers)"
	for name, text := range map[string]string{"lines": lines.String(), "page": page.String()} {
		if strings.Count(text, "note: ") != 1 || !strings.Contains(text, want) {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}

package result_test

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
)

// sample is a run with every kind of field that JSON has a place for.
func sample() *result.Run {
	half, ms := 0.5, int64(120)
	at := result.Position{File: "flows/a.test.yaml", Line: 3, Col: 5}
	return &result.Run{Mode: result.Replay, Suites: []*result.Suite{
		{File: "flows/a.test.yaml", Cases: []*result.Case{
			{
				Name: "opens", Position: at, Outcome: result.Fail, Rate: 1, Planned: 2, Tags: []string{"fast"}, Flow: "flows/a.yaml",
				Row: &result.Row{Number: 2, Name: "north", Position: result.Position{File: "flows/a.csv", Line: 3}}, Variant: []result.Setting{{Key: "llm", Value: "small"}},
				Repeats: []result.Repeat{{
					Number: 1, Outcome: result.Fail, Score: &half, RecordedMS: &ms, Usage: llm.Usage{InputTokens: 7, Cost: 0.01}, PriceKnown: true, EmbeddingUsage: llm.Usage{InputTokens: 5},
					Checks: []result.Check{
						{Name: "says <b>&", Weight: 1, Outcome: result.Fail, Position: at, Message: "not in", Hint: "add it", Diff: "-a\n+b", Piece: &result.PieceRef{Step: "answer", Kind: "file", Name: "a.md"}},
						{Name: "judged", Weight: 1, Outcome: result.Pass, Position: at, Judge: &result.Judge{Provider: "big", Criteria: []result.Criterion{{Text: "is true", Reason: "it is", Met: true}}}},
					},
					Pieces: []result.Piece{{Step: "answer", Prompt: 1, Kind: "file", Name: "a.md", Role: "system", Tokens: 4, Digest: "00"}},
				}},
			},
			{Name: "later", Position: at, Outcome: result.Skip, Skipped: "not yet"},
		}},
		{File: "flows/empty.test.yaml"},
	}}
}

func TestLinesKeepARun(t *testing.T) {
	var out bytes.Buffer
	if err := result.WriteLines(&out, sample()); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "\n"); n != 3 {
		t.Errorf("%d lines instead of 3:\n%s", n, out.String())
	}
	got, err := result.ReadLines(bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, sample()) {
		t.Errorf("read back differs:\n%+v\n%+v", got.Suites[0].Cases[0], sample().Suites[0].Cases[0])
	}
	half := out.String()[:strings.Index(out.String(), "\n")+1]
	got, err = result.ReadLines(strings.NewReader(half))
	if err != nil || !got.Interrupted || len(got.Suites) != 1 {
		t.Errorf("lines without a summary: %+v, %v", got, err)
	}
	_, err = result.ReadLines(strings.NewReader("{}\n{]\n"))
	if err == nil || !strings.HasPrefix(err.Error(), "line 2:") {
		t.Errorf("broken line: %v", err)
	}
}

// TestTimedLines: lines that are kept have times, and printed lines have none.
func TestTimedLines(t *testing.T) {
	run := sample()
	c := run.Suites[0].Cases[0]
	c.At, c.Elapsed = time.Date(2026, 11, 25, 9, 0, 0, 0, time.UTC), 3*time.Millisecond
	var printed, kept bytes.Buffer
	if err := errors.Join(result.WriteLines(&printed, run), result.WriteTimedLines(&kept, run)); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(printed.String(), "2026") {
		t.Errorf("printed with times:\n%s", printed.String())
	}
	got, err := result.ReadLines(&kept)
	if err != nil || !reflect.DeepEqual(got, run) {
		t.Errorf("read back differs: %v\n%+v\n%+v", err, got.Suites[0].Cases[0], c)
	}
}

func TestCountsAndScores(t *testing.T) {
	run := sample()
	if got := run.Counts(); got != (result.Counts{Failed: 1, Skipped: 1}) || got.Total() != 2 {
		t.Errorf("counts %+v", got)
	}
	if got, embedded := run.Usage(); got.InputTokens != 7 || got.Cost != 0.01 || embedded.Total() != 5 {
		t.Errorf("usage %+v, of embeddings %+v", got, embedded)
	}
	c := run.Suites[0].Cases[0]
	if got := c.ID(); got != "opens #north [llm=small]" {
		t.Errorf("id %q", got)
	}
	if passed, decided := c.Passed(); passed != 0 || decided != 1 || !c.Curtailed() {
		t.Errorf("%d of %d, curtailed %v", passed, decided, c.Curtailed())
	}
	quarter := 0.25
	checks := []result.Check{
		{Outcome: result.Pass, Weight: 3}, {Outcome: result.Fail, Weight: 1, Score: &quarter}, {Outcome: result.Error, Weight: 9}, {Outcome: result.Fail, Weight: 0},
	}
	if got := result.MeanScore(checks); got == nil || *got != 3.25/4 {
		t.Errorf("score %v", got)
	}
	if got := result.MeanScore(checks[2:]); got != nil {
		t.Errorf("score of what was not decided: %v", *got)
	}
	if result.Worse(result.Pass, result.Error) != result.Error || result.Worse(result.Fail, result.Error) != result.Fail {
		t.Error("a fail comes before an error, an error before a pass")
	}
}

func TestPiecesOf(t *testing.T) {
	own := []explain.Source{{Kind: explain.SourceFlow, File: "a.yaml", Line: 2}}
	book := []explain.Source{{Kind: explain.SourceFile, Path: "book.json", Line: 7}, {Kind: explain.SourcePart, Part: "world_book", Name: "The keeper"}}
	prompts := []*explain.Explanation{{
		Step: "answer",
		Messages: []explain.ExplainedMessage{
			{Role: "system", Pieces: []explain.Piece{{Text: "Be ", Tokens: 1, Sources: own}, {Text: "kind.", Tokens: 2, Sources: own}, {Text: "K", Tokens: 1, Sources: book}}},
			{Role: "user", Pieces: []explain.Piece{{Text: "Be kind.", Tokens: 3, Sources: []explain.Source{{Kind: explain.SourceInput, Name: "inputs.question"}}}}},
		},
		LeftOut: []explain.LeftOut{{Step: "book", Kind: "world_book", Name: "Winter", Reason: "out of season", Code: "season", Tokens: 9}},
	}}
	got := result.PiecesOf(prompts)
	if len(got) != 4 {
		t.Fatalf("%d pieces: %+v", len(got), got)
	}
	if got[0].Tokens != 3 || got[0].Digest != got[2].Digest || got[0].Digest == got[1].Digest {
		t.Errorf("neighbours of one source are one piece, equal texts have equal digests: %+v", got)
	}
	wantSources := [][]string{{"flow"}, {"file"}, {"inputs.question"}, nil}
	for i, p := range got {
		if !slices.Equal(p.Sources, wantSources[i]) {
			t.Errorf("%s comes from %q, want %q", p.Name, p.Sources, wantSources[i])
		}
	}
	if got[1].Kind != "world_book" || got[1].Name != "The keeper" || got[1].Role != "system" || got[2].Name != "inputs.question" {
		t.Errorf("names: %+v", got[1:3])
	}
	if out := got[3]; out.IsIn() || out.Code != "season" || out.Tokens != 9 {
		t.Errorf("left out: %+v", out)
	}
}

// A log of GitHub Actions contains no commands from the texts, and the texts stay as they are.
func TestLinesHaveNoCommands(t *testing.T) {
	run := sample()
	const evil = "a ##[stop-commands]x ###[error]\n::error::y \\##[add-mask]z"
	run.Suites[0].Cases[0].Name = evil
	var out bytes.Buffer
	if err := result.WriteLines(&out, run); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if strings.Contains(line, "##[") || !strings.HasPrefix(line, "{") {
			t.Errorf("a command is in %s", line)
		}
	}
	got, err := result.ReadLines(&out)
	if err != nil || got.Suites[0].Cases[0].Name != evil {
		t.Errorf("%v: %q", err, got.Suites[0].Cases[0].Name)
	}
}

package check

import (
	"context"
	"strings"

	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// distanceMatchers lists the matchers of how near a text is to another.
func distanceMatchers() []matcher {
	return []matcher{
		define("levenshtein", wording.Text{En: "So many characters must be changed at most to come to a text; or their likeness, from 0 to 1, is at least min.", Zh: "改成某文本最多需改这么多字符；或相似度（0 到 1）不小于 min。"}, textSubjects, buildLevenshtein),
		define("rouge_l", wording.Text{En: "The longest common sequence of words with a text, as an F1 score from 0 to 1, is at least min.", Zh: "与某文本的最长公共词序列的 F1 分数（0 到 1）不小于 min。"}, textSubjects, buildRougeL),
	}
}

// levenshteinWant is a text, and how far from it another may be.
type levenshteinWant struct {
	To  string   `json:"to" doc:"The text to compare with."`
	Max *int     `json:"max,omitempty" min:"0" doc:"How many characters must be inserted, deleted or replaced at most."`
	Min *float64 `json:"min,omitempty" min:"0" max:"1" doc:"How alike they are at least: 1 is the same."`
}

// maxCompared bounds the characters of each text in a distance: computing it costs the product of both lengths.
const maxCompared = 20_000

func buildLevenshtein(want levenshteinWant, a *argument) test {
	if want.Max == nil && want.Min == nil {
		a.report("", wording.Say("levenshtein has no bound"), wording.Say("give max, a number of characters, or min, a likeness from 0 to 1"))
		return nil
	}
	if want.Max == nil && !a.isBound("/min", *want.Min) {
		return nil
	}
	to := []rune(want.To)
	if want.Max != nil && *want.Max >= len(to) && (want.Min == nil || *want.Min <= 0) {
		a.reportIdle("/max", "%d changes turn the text into any other of its length", *want.Max)
		return nil
	}
	return func(_ context.Context, of *subject) *verdict {
		got := []rune(of.asText())
		if len(got) > maxCompared || len(to) > maxCompared {
			return errorf("a text has more than %d characters, too many for levenshtein", maxCompared).withHint("use rouge_l or similar")
		}
		distance := levenshtein(got, to)
		likeness := 1 - float64(distance)/float64(max(len(got), len(to), 1))
		if want.Max != nil && distance > *want.Max {
			return failf("%d characters differ, more than %d: %q", distance, *want.Max, value.Truncate(of.asText(), maxShown)).withScore(likeness)
		}
		if want.Min != nil && likeness < *want.Min {
			return failf("the likeness is %.3f, less than %.3f: %q", likeness, *want.Min, value.Truncate(of.asText(), maxShown)).withScore(likeness)
		}
		return pass().withScore(likeness)
	}
}

// levenshtein returns how many characters must be inserted, deleted or replaced.
func levenshtein(a, b []rune) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j, y := range b {
			cost := diagonal
			if x != y {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

// likeWant is a text, and how alike another must be.
type likeWant struct {
	To  string  `json:"to" min:"1" doc:"The text to compare with."`
	Min float64 `json:"min" min:"0" max:"1" doc:"The score must be at least this."`
}

func buildRougeL(want likeWant, a *argument) test {
	to := rank.Words(want.To)
	if len(to) == 0 {
		a.reportf("/to", "the text has no words")
		return nil
	}
	if !a.isBound("/min", want.Min) {
		return nil
	}
	return func(_ context.Context, of *subject) *verdict {
		got := rank.Words(of.asText())
		if len(got) > maxCompared || len(to) > maxCompared {
			return errorf("a text has more than %d words, too many for rouge_l", maxCompared).withHint("use similar")
		}
		score := rougeL(got, to)
		if score >= want.Min {
			return pass().withScore(score)
		}
		return failf("rouge_l is %.3f, less than %.3f: %q", score, want.Min, value.Truncate(strings.TrimSpace(of.asText()), maxShown)).withScore(score)
	}
}

// rougeL returns the F1 score of the longest common subsequence of words.
func rougeL(got, want []string) float64 {
	row := make([]int, len(want)+1)
	for _, x := range got {
		diagonal := 0
		for j, y := range want {
			longest := max(row[j], row[j+1])
			if x == y {
				longest = diagonal + 1
			}
			diagonal, row[j+1] = row[j+1], longest
		}
	}
	common := float64(row[len(want)])
	if common == 0 {
		return 0
	}
	return 2 * common / float64(len(got)+len(want))
}

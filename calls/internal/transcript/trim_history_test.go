package transcript_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/callnode/scheduler/calls/internal/transcript"
	"github.com/callnode/scheduler/plugins"
)

// chars counts a token per character.
type chars struct{ calls int }

func (c *chars) Count(text string) int { c.calls++; return utf8.RuneCountInString(text) }

func contents(w *transcript.Trimmer) []string {
	var texts []string
	for _, turn := range w.Turns() {
		texts = append(texts, turn.Content)
	}
	return texts
}

func fill(w *transcript.Trimmer, roles string, text string) {
	for i, role := range roles {
		name := map[rune]string{'u': "user", 'a': "assistant", 's': "system"}[role]
		w.Add(plugins.Turn{Role: name, Content: fmt.Sprintf(text, i)})
	}
}

func TestTrimmer(t *testing.T) {
	for name, c := range map[string]struct {
		turns, tokens int
		roles         string
		want          []string
	}{
		"fits":                     {4, 100, "uaua", []string{"0", "1", "2", "3"}},
		"exactly the tokens":       {9, 4, "uaua", []string{"0", "1", "2", "3"}},
		"one too many":             {4, 100, "uauau", []string{"2", "3", "4"}},
		"unknown roles go by one":  {4, 100, "?????", []string{"1", "2", "3", "4"}},
		"an answer without a user": {4, 100, "auaua", []string{"1", "2", "3", "4"}},
		"two answers":              {3, 100, "uaau", []string{"2", "3"}},
		"tokens":                   {9, 3, "uaua", []string{"2", "3"}},
		"the newest stays":         {1, 100, "ua", []string{"1"}},
		"bounds below one":         {0, 0, "uau", []string{"2"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := transcript.NewTrimmer(c.turns, c.tokens, &chars{})
			fill(w, c.roles, "%d")
			if diff := cmp.Diff(c.want, contents(w)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// cost is the total cost of the utterances of a window.
func cost(w *transcript.Trimmer, counter interface{ Count(string) int }) (tokens int) {
	for _, turn := range w.Turns() {
		tokens += counter.Count(turn.Content)
	}
	return tokens
}

func TestTheRule(t *testing.T) {
	w := transcript.NewTrimmer(transcript.DefaultMaxTurns, transcript.DefaultMaxTokens, &chars{})
	for range 200 {
		w.Add(plugins.Turn{Content: strings.Repeat("x", 25)})
	}
	if n := cost(w, &chars{}); w.Len() != 200 || n != 5000 {
		t.Fatalf("200 utterances and 5,000 tokens are allowed, got %d and %d", w.Len(), n)
	}
	w.Add(plugins.Turn{Content: "y"})
	if n := cost(w, &chars{}); w.Len() != 200 || n != 4976 {
		t.Errorf("got %d utterances and %d tokens", w.Len(), n)
	}
}

func TestCut(t *testing.T) {
	for name, c := range map[string]struct {
		tokens int
		text   string
		want   string
	}{
		"exact":              {5, "12345", "12345"},
		"one over":           {8, "123456789", "1234 […]"},
		"blanks at the cut":  {8, "123  6789", "123 […]"},
		"characters":         {6, "一二三四五六七八", "一二 […]"},
		"no room for marker": {2, "12345", "12"},
		"room for it alone":  {4, "12345", " […]"},
	} {
		t.Run(name, func(t *testing.T) {
			w := transcript.NewTrimmer(9, c.tokens, &chars{})
			w.Add(plugins.Turn{Content: "before"})
			w.Add(plugins.Turn{Content: c.text})
			got := contents(w)
			if got[len(got)-1] != c.want {
				t.Errorf("got %q, want %q", got[len(got)-1], c.want)
			}
		})
	}
}

func TestCutIsCheap(t *testing.T) {
	counter := &chars{}
	w := transcript.NewTrimmer(9, 100, counter)
	w.Add(plugins.Turn{Content: strings.Repeat("字", 1_000_000)})
	if counter.calls > 30 {
		t.Errorf("cutting one utterance took %d counts", counter.calls)
	}
}

// words counts a token per word, so that texts without tokens exist too.
type words struct{}

func (words) Count(text string) int { return len(strings.Fields(text)) }

func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		maxTurns := rapid.IntRange(1, 8).Draw(t, "turns")
		maxTokens := rapid.IntRange(1, 30).Draw(t, "tokens")
		said := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) plugins.Turn {
			return plugins.Turn{
				Role:    rapid.SampledFrom([]string{"", "user", "assistant", "tool"}).Draw(t, "role"),
				Content: rapid.StringN(0, 40, 120).Draw(t, "content"),
			}
		}), 1, 40).Draw(t, "said")
		counter := rapid.SampledFrom([]interface{ Count(string) int }{&chars{}, words{}}).Draw(t, "counter")

		w := transcript.NewTrimmer(maxTurns, maxTokens, counter)
		for _, turn := range said {
			w.Add(turn)
			if w.Len() < 1 || w.Len() > maxTurns {
				t.Fatalf("%d utterances of at most %d", w.Len(), maxTurns)
			}
			if n := cost(w, counter); n > maxTokens {
				t.Fatalf("%d tokens of at most %d", n, maxTokens)
			}
		}
		got := w.Turns()
		// The result is the end of the dialogue, in order.
		tail := said[len(said)-len(got):]
		for i, turn := range got {
			if turn.Role != tail[i].Role || turn.Content != tail[i].Content && counter.Count(tail[i].Content) <= maxTokens {
				t.Fatalf("utterance %d is %+v, want %+v", i, turn, tail[i])
			}
		}
	})
}

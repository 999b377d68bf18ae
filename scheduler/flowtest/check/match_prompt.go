package check

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
)

// tokensWant bounds the tokens of a prompt, or of its pieces of a kind.
type tokensWant struct {
	Of    selector `json:"of,omitzero" doc:"The pieces that count. Default: the whole prompt."`
	Min   *int     `json:"min,omitempty" min:"0" doc:"How many tokens it has at least."`
	Max   *int     `json:"max,omitempty" min:"0" doc:"How many tokens it has at most."`
	Share *float64 `json:"share,omitempty" min:"0" max:"1" doc:"What part of the prompt it is at most."`
}

func buildPromptTokens(want tokensWant, a *argument) test {
	if want.Min == nil && want.Max == nil && want.Share == nil {
		a.report("", wording.Say("tokens has no bound"), wording.Say("give min, max or share"))
		return nil
	}
	if err := checkBounds(want.Min, want.Max); err != nil {
		a.report("", wording.OfError(err), wording.Text{})
		return nil
	}
	isMost := want.Max != nil && want.Share == nil && (want.Min == nil || *want.Min == 0)
	if isMost && !a.isReached("/max", float64(*want.Max), maxCount) {
		return nil
	}
	isLeast := want.Min != nil && want.Max == nil && want.Share == nil
	if isLeast && !a.isBound("/min", float64(*want.Min)) {
		return nil
	}
	if want.Share != nil && *want.Share >= 1 {
		a.reportIdle("/share", "no part of the prompt is more than all of it")
		return nil
	}
	if want.Share != nil && want.Of.isEmpty() {
		a.report("/share", wording.Say("the whole prompt is always all of it"), wording.Say("say of which pieces: of: {kind: memory}"))
		return nil
	}
	if !want.Of.isEmpty() && !checkSelector(a, "/of", want.Of) {
		return nil
	}
	return func(_ context.Context, of *subject) *verdict {
		var open *verdict
		for _, e := range of.prompts {
			switch v := want.verdictOf(e); {
			case v == nil:
			case v.outcome == result.Fail:
				return v
			case open == nil:
				open = v
			}
		}
		if open == nil && !want.Of.isEmpty() && !slices.ContainsFunc(of.prompts, func(e *explain.Explanation) bool { return len(want.Of.find(e)) > 0 }) {
			return pass().withNote("%s is not in the prompt", want.Of.text())
		}
		return cmp.Or(open, pass())
	}
}

// verdictOf returns a fail if a prompt is out of the bounds, an error if it may be, else nil.
func (w tokensWant) verdictOf(e *explain.Explanation) *verdict {
	if w.Of.isEmpty() {
		return w.outOfBounds(e, wording.Say("the prompt"), e.Total)
	}
	pieces, possible := w.Of.find(e), w.Of.findPossible(e)
	if failed := w.outOfBounds(e, w.Of.text(), tokensOf(pieces)); failed != nil {
		isShort := w.Min != nil && tokensOf(pieces) < *w.Min
		if most := tokensOf(pieces) + tokensOf(possible); isShort && len(possible) > 0 && most >= *w.Min {
			return possible[0].undecided(w.Of.Source)
		}
		if len(pieces) > 0 {
			largest := slices.MaxFunc(pieces, func(a, b found) int { return a.piece.Tokens - b.piece.Tokens })
			failed.piece = largest.ref()
		}
		return failed
	}
	if len(possible) > 0 && w.outOfBounds(e, wording.Text{}, tokensOf(pieces)+tokensOf(possible)) != nil {
		return possible[0].undecided(w.Of.Source)
	}
	return nil
}

// tokensOf returns the tokens of pieces.
func tokensOf(pieces []found) (tokens int) {
	for _, f := range pieces {
		tokens += f.piece.Tokens
	}
	return tokens
}

// outOfBounds returns a fail if tokens of a prompt are out of the bounds, else nil.
func (w tokensWant) outOfBounds(e *explain.Explanation, name wording.Text, tokens int) *verdict {
	share := float64(tokens) / float64(max(e.Tokens, 1))
	switch {
	case w.Max != nil && tokens > *w.Max:
		return failf("%s has %d tokens, more than %d", name, tokens, *w.Max)
	case w.Min != nil && tokens < *w.Min:
		return failf("%s has %d tokens, less than %d", name, tokens, *w.Min)
	case w.Share != nil && share > *w.Share:
		return failf("%s is %.1f%% of the prompt (%d of %d tokens), more than %.1f%%", name, 100*share, tokens, e.Tokens, 100**w.Share)
	}
	return nil
}

func buildSourcedText(want string, a *argument) test {
	if !isGiven(a, want) {
		return nil
	}
	place, ok := placeOf(a)
	if !ok {
		return nil
	}
	var from *selector
	if other, given := a.take("comes_from"); given {
		s, ok := decode[selector](other, schema.MustFor[selector]())
		if !ok || !checkSelector(other, "", s) {
			return nil
		}
		from = &s
	}
	return func(_ context.Context, of *subject) *verdict {
		e := of.lastPrompt()
		isFound := false
		var open *verdict
		for m := range len(e.Messages) + len(e.Beside) {
			if !place.holds(e, m) {
				continue
			}
			for _, at := range occurrences(textAt(e, m), want) {
				isFound = true
				if from == nil {
					continue
				}
				wrong, possible := from.elsewhere(e, m, at, at+len(want))
				if possible != nil && open == nil {
					open = possible.undecided(from.Source)
				}
				if wrong != nil {
					failed := failf("%q in %s comes from %s, not from %s", value.Truncate(want, maxShown), placeText(e, m), wrong.piece.Way(), from.text())
					failed.piece = wrong.ref()
					return failed
				}
			}
		}
		if isFound {
			return cmp.Or(open, pass())
		}
		absent := failf("%q is not in the prompt", value.Truncate(want, maxShown))
		if place != (placeWant{}) {
			absent = failf("%q is not in %s", value.Truncate(want, maxShown), place.text())
		}
		absent.isUnfit = from != nil // a text that is not there comes from nowhere
		return absent
	}
}

// occurrences lists the offsets at which a text occurs in another.
func occurrences(in, text string) (starts []int) {
	for from := 0; ; {
		i := strings.Index(in[from:], text)
		if i < 0 {
			return starts
		}
		starts = append(starts, from+i)
		from += i + 1
	}
}

// elsewhere returns the first piece in the bytes [start, end) of a message that the selector does not cover, and
// the first that it may cover; nil if there is none.
func (s selector) elsewhere(e *explain.Explanation, message, start, end int) (wrong, possible *found) {
	for _, f := range piecesOf(e) {
		overlaps := f.message == message && f.start < end && f.start+len(f.piece.Text) > start
		switch {
		case !overlaps || s.covers(f.piece):
		case !s.mayCover(f.piece):
			return &f, possible
		case possible == nil:
			possible = &f
		}
	}
	return nil, possible
}

// confinedWant is a source, and the roles whose messages may contain its text.
type confinedWant struct {
	Source        string   `json:"source" min:"1" doc:"Where the text comes from: inputs.question, inputs.*, a file, a step, the name of a tool, or http, tool, model, memory, user."`
	Roles         []string `json:"roles" doc:"The roles whose messages may have it; tools stands for the definitions of tools."`
	ThroughModels string   `json:"through_models,omitempty" enum:"trusted" doc:"trusted: an answer of a model that has read the source does not pass it on. Without it such an answer in another role cannot be decided."`
}

func buildConfined(want confinedWant, a *argument) test {
	if !a.holds("/source", a.scope.knownNames().CheckSource(a.subject.step, want.Source)) {
		return nil
	}
	for i, role := range want.Roles {
		if !a.holds("/roles/"+value.OfInt(int64(i)).JSON(), a.scope.knownNames().CheckRole(role)) {
			return nil
		}
	}
	if !slices.ContainsFunc([]string{"system", "user", "assistant", "tool"}, func(role string) bool { return !slices.Contains(want.Roles, role) }) {
		a.reportIdle("/roles", "messages of all roles may have it")
		return nil
	}
	return func(ctx context.Context, of *subject) *verdict {
		var pieces []found
		for _, e := range of.prompts {
			pieces = append(pieces, piecesOf(e)...)
		}
		isThere := false
		for _, f := range pieces {
			isOfSource := f.piece.Text != "" && comesFrom(f.piece.Sources, want.Source)
			isThere = isThere || isOfSource
			if !isOfSource || slices.Contains(want.Roles, f.role()) {
				continue
			}
			failed := failf("text from %s is in %s: %q", want.Source, f.place(), value.Truncate(f.piece.Text, maxShown))
			failed.hint = f.wayFrom(want.Source)
			failed.piece = f.ref()
			return failed
		}
		for _, f := range pieces {
			if open := want.undecided(ctx, of, &f); open != nil {
				return open
			}
		}
		if !isThere {
			return pass().withNote("nothing from %s is in the prompt", want.Source)
		}
		return pass()
	}
}

// undecided returns an error for a piece that may come from the source and is in another role; nil for any other.
func (w confinedWant) undecided(ctx context.Context, of *subject, f *found) *verdict {
	if slices.Contains(w.Roles, f.role()) || f.piece.Text == "" {
		return nil
	}
	if (selector{Source: w.Source}).mayCover(f.piece) {
		return f.undecided(w.Source)
	}
	if w.ThroughModels != "" {
		return nil
	}
	readers := modelReaders{of: of.of, source: w.Source, own: f.prompt.Step, known: map[string]bool{}}
	step := readers.find(ctx, f.piece.Sources)
	if step == "" {
		return nil
	}
	open := f.undecided(w.Source)
	open.hint = wording.Say("the model of the step %s had read it; if it may pass that on, add through_models: trusted", step)
	return open
}

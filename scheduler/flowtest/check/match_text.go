package check

import (
	"context"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// textMatchers lists the matchers that look at the subject as a text.
func textMatchers() []matcher {
	return []matcher{
		define("contains", wording.Text{En: "The text has this text in it.", Zh: "文本包含此文本。"}, textSubjects, buildContains).withKeys(foldKey()),
		define("contains_all", wording.Text{En: "The text has each of these texts in it.", Zh: "文本包含其中每一个文本。"}, textSubjects, buildContainsAll).withKeys(foldKey()),
		define("contains_any", wording.Text{En: "The text has at least one of these texts in it.", Zh: "文本至少包含其中一个文本。"}, textSubjects, buildContainsAny).withKeys(foldKey()),
		define("starts_with", wording.Text{En: "The text begins with this text.", Zh: "文本以此文本开头。"}, textSubjects, buildStartsWith).withKeys(foldKey()),
		define("matches", wording.Text{En: "The regular expression (RE2) matches somewhere in the text.", Zh: "正则表达式（RE2）能匹配文本中的某处。"}, textSubjects, buildMatches),
		define("words", wording.Text{En: "The text has so many words; of Chinese and Japanese, characters count.", Zh: "文本有这么多词；中文和日文按字计算。"}, textSubjects, buildWords),
	}
}

// foldKey is the key that makes matchers of texts take upper and lower case as the same.
func foldKey() modifier { return modifier{"fold", schema.MustFor[bool]()} }

// foldOf reads the key fold, and returns the function that folds texts before they are compared.
func foldOf(a *argument) (func(string) string, bool) {
	other, ok := a.take("fold")
	if !ok {
		return func(s string) string { return s }, true
	}
	fold, ok := decode[bool](other, foldKey().schema)
	if !fold {
		return func(s string) string { return s }, ok
	}
	return foldText, true
}

// foldText returns a text in lower case, with full-width letters and digits as ASCII.
func foldText(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '！' && r <= '～' {
			r -= '！' - '!'
		}
		return unicode.ToLower(r)
	}, s)
}

func buildContains(want string, a *argument) test {
	if !isGiven(a, want) {
		return nil
	}
	return containsTest(a, []string{want}, true)
}

func buildContainsAll(want []string, a *argument) test {
	if !areGiven(a, want) {
		return nil
	}
	return containsTest(a, want, true)
}

func buildContainsAny(want []string, a *argument) test {
	if !areGiven(a, want) {
		return nil
	}
	return containsTest(a, want, false)
}

// containsTest looks for all, or any, of the texts.
func containsTest(a *argument, want []string, all bool) test {
	fold, ok := foldOf(a)
	if !ok {
		return nil
	}
	return func(_ context.Context, of *subject) *verdict {
		text := fold(of.asText())
		var missing, there []string
		for _, w := range want {
			if strings.Contains(text, fold(w)) {
				there = append(there, w)
			} else {
				missing = append(missing, w)
			}
		}
		if all && len(missing) == 0 || !all && len(there) > 0 {
			return of.located(pass(), there[0], fold)
		}
		failed := failf("missing %s in %q", quoteList(missing), value.Truncate(of.asText(), maxShown))
		if !all {
			failed = failf("none of %s in %q", quoteList(missing), value.Truncate(of.asText(), maxShown))
		}
		if fold("A") == "A" && strings.Contains(foldText(text), foldText(missing[0])) {
			return failed.withHint("it is there in other letters: add fold: true if case does not matter")
		}
		return failed
	}
}

// located adds the place of a found text to a verdict: the message of the prompt and the piece, or the text around
// it. It is shown if the check is under not.
func (s *subject) located(v *verdict, text string, fold func(string) string) *verdict {
	if s.kind != promptSubject {
		v.message = wording.Say("%q is in %q", value.Truncate(text, maxShown), value.Truncate(s.asText(), maxShown))
		return v
	}
	e := s.lastPrompt()
	for m := range e.Messages {
		at := strings.Index(fold(textAt(e, m)), fold(text))
		if at < 0 {
			continue
		}
		v.message = wording.Say("%q is in %s", value.Truncate(text, maxShown), placeText(e, m))
		for _, f := range piecesOf(e) {
			if f.message == m && f.start <= at && at < f.start+len(f.piece.Text) {
				v.piece = f.ref()
				return v
			}
		}
		return v
	}
	return v
}

func buildStartsWith(want string, a *argument) test {
	if !isGiven(a, want) {
		return nil
	}
	fold, ok := foldOf(a)
	if !ok {
		return nil
	}
	return func(_ context.Context, of *subject) *verdict {
		if strings.HasPrefix(fold(of.asText()), fold(want)) {
			return of.located(pass(), want, fold)
		}
		return failf("it begins with %q, not %q", value.Truncate(of.asText(), max(utf8.RuneCountInString(want)+3, 20)), value.Truncate(want, maxShown))
	}
}

func buildMatches(want string, a *argument) test {
	re, err := regexp.Compile(want)
	if err != nil {
		a.report("", wording.Say("%q is not a regular expression: %w", value.Truncate(want, 60), err), wording.Say("it is RE2: no lookahead, no backreferences; quote . and ( with \\"))
		return nil
	}
	if !isGiven(a, want) {
		return nil
	}
	if parsed, err := syntax.Parse(want, syntax.Perl); err == nil && matchesNothing(parsed) {
		a.report("", wording.Say("%q matches no text", value.Truncate(want, 60)), wording.Say("^ is the beginning of the text, and $ its end"))
		return nil
	}
	if re.MatchString("") && matchesAll(re) {
		a.reportIdle("", "%q matches every text", value.Truncate(want, 60))
		return nil
	}
	return func(_ context.Context, of *subject) *verdict {
		if found := re.FindString(of.asText()); found != "" {
			return of.located(pass(), found, func(text string) string { return text })
		}
		if re.MatchString(of.asText()) {
			return pass()
		}
		return failf("%s does not match %q", want, value.Truncate(of.asText(), maxShown))
	}
}

// matchesAll reports whether an expression matches every text that is not empty, judging by texts of very
// different kinds.
func matchesAll(re *regexp.Regexp) bool {
	isOther := func(text string) bool { return strings.TrimSpace(text) != "" && !re.MatchString(text) }
	return !slices.ContainsFunc(sampleTexts(), isOther)
}

// matchesNothing reports whether no text can match: an empty class, or text before ^ or after $.
func matchesNothing(re *syntax.Regexp) bool {
	switch re.Op { //nolint:exhaustive // the others match something
	case syntax.OpNoMatch:
		return true
	case syntax.OpCharClass:
		return len(re.Rune) == 0
	case syntax.OpCapture, syntax.OpPlus:
		return matchesNothing(re.Sub[0])
	case syntax.OpAlternate:
		return !slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return !matchesNothing(sub) })
	case syntax.OpConcat:
		hasText, hasEnded := false, false
		for _, sub := range re.Sub {
			isText := sub.Op == syntax.OpLiteral || sub.Op == syntax.OpCharClass || sub.Op == syntax.OpAnyChar || sub.Op == syntax.OpAnyCharNotNL
			if matchesNothing(sub) || hasText && sub.Op == syntax.OpBeginText || hasEnded && isText {
				return true
			}
			hasText, hasEnded = hasText || isText, hasEnded || sub.Op == syntax.OpEndText
		}
	}
	return false
}

func buildWords(want countWant, a *argument) test {
	if !want.isBound(a) {
		return nil
	}
	return func(_ context.Context, of *subject) *verdict {
		n := len(rank.Words(of.asText()))
		if want.holds(n) {
			return pass()
		}
		return failf("it has %d words, not %s", n, want.text())
	}
}

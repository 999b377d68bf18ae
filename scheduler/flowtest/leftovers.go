package flowtest

import (
	"cmp"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
	"github.com/callnode/scheduler/scheduler/flowtest/suite"
)

// leftover is something that a case has written and that none of its runs has asked for.
type leftover struct {
	at   flow.Position
	what *calls.Error
}

// reportLeftovers marks the cases of the file whose answers, mocks or scripted answers no run has asked for: they
// do not test what they seem to. Rows and variants of a case share these; the last of them gets the problem.
func (s *suiteRun) reportLeftovers() {
	entries := map[flow.Position][]*caseRun{}
	for _, c := range s.cases {
		entries[c.Pos] = append(entries[c.Pos], c)
	}
	for _, c := range s.cases {
		runs := entries[c.Pos]
		if runs[len(runs)-1] != c {
			continue
		}
		left := s.leftoversOf(runs)
		if len(left) == 0 {
			continue
		}
		if haveEnded := !slices.ContainsFunc(runs, func(c *caseRun) bool { return !c.hasEnded }); haveEnded {
			c.found.Outcome = result.Worse(c.found.Outcome, result.Error)
			c.found.Problem = s.runner.leftoverProblem(left, c.Until)
			continue
		}
		for _, c := range runs {
			s.runner.mentionLeftovers(c.found, left)
		}
	}
}

// reportUnchecked marks the cases of the file in which no check counts: they pass whatever the flow does. There
// are two exceptions: a row whose checks are skipped, if another row of its case is checked, and a case that
// another is compared with.
func (s *suiteRun) reportUnchecked() {
	entries := map[flow.Position][]*caseRun{}
	for _, c := range s.cases {
		entries[c.Pos] = append(entries[c.Pos], c)
	}
	for _, runs := range entries {
		isChecked := slices.ContainsFunc(runs, func(c *caseRun) bool {
			isLeftOut := c.found == nil && len(c.Expect) > 0
			return isLeftOut || c.isNeeded || c.found != nil && c.found.Outcome != result.Skip && !c.found.IsUnchecked()
		})
		for _, c := range runs {
			if !isChecked && c.found != nil && c.found.Outcome == result.Pass {
				c.found.Problem = s.runner.problemOf(uncheckedProblem(c.found))
				c.found.Outcome = result.Error
			}
		}
	}
}

// uncheckedProblem returns why a case that passed tested nothing.
func uncheckedProblem(c *result.Case) *calls.Error {
	hasChecks := slices.ContainsFunc(c.Repeats, func(r result.Repeat) bool { return len(r.Checks) > 0 })
	err := calls.Errorf(calls.Invalid, "nothing is tested: the case has no checks")
	switch {
	case c.IsWeightless():
		err = calls.Errorf(calls.Invalid, "nothing is tested: no check counts, as their weight is 0")
	case hasChecks:
		err = calls.Errorf(calls.Invalid, "nothing is tested: no check was asked, as their when is false")
	}
	return err.WithHint("write under expect what must hold; {run: finished} is enough if the run only has to end")
}

// notes returns parts of the file that no case has used although all of them ran: mocks of the defaults, and
// checks whose when is false in every row and variant. Both may be intended, and test nothing.
func (s *suiteRun) notes() (all []result.Problem) {
	isWhole := !slices.ContainsFunc(s.cases, func(c *caseRun) bool { return !c.hasRun() || !c.hasEnded })
	if !isWhole {
		return nil
	}
	used, asked := map[flow.Position]bool{}, map[result.Position]bool{}
	for _, c := range s.cases {
		for pos := range c.used.at {
			used[pos] = true
		}
		for i := range c.found.Repeats {
			for _, check := range c.found.Repeats[i].Checks {
				asked[check.Position] = asked[check.Position] || check.Outcome != result.Skip
			}
		}
	}
	seen := map[result.Position]bool{}
	note := func(at result.Position, isUsed bool, message *calls.Error) {
		if !isUsed && !seen[at] {
			p := s.runner.problemOf(message)
			p.Kind, p.Position = result.KindUnused, at
			all = append(all, *p)
		}
		seen[at] = true
	}
	for _, c := range s.cases {
		for _, m := range c.Mocks {
			if m.IsDefault && !s.isLive() {
				note(positionOf(m.Pos), used[m.Pos], calls.Errorf(calls.Invalid, "no case uses the mock %q of the defaults", m.Name()))
			}
		}
		for _, expected := range c.Expect {
			at := positionOf(expected.Pos)
			note(at, asked[at], calls.Errorf(calls.Invalid, "the check %q was never asked: its when is false in every case", expected.Label()))
		}
	}
	return all
}

// maxMentioned bounds how many leftovers the failure of a run mentions.
const maxMentioned = 3

// mentionLeftovers adds to the failures of a case the leftovers of its runs up to the failure.
func (r *runner) mentionLeftovers(found *result.Case, left []leftover) {
	if found.Outcome == result.Pass {
		return
	}
	var texts []wording.Text
	for _, one := range left[:min(len(left), maxMentioned)] {
		texts = append(texts, wording.Say("%s: %s", one.at.String(), wording.OfError(one.what)))
	}
	text := wording.Say("until then: %s", wording.Join(texts, "; ", "；")).In(r.options.Language)
	for i := range found.Repeats {
		if hint := hintOf(&found.Repeats[i]); hint != nil {
			*hint = strings.TrimPrefix(*hint+"; "+text, "; ")
		}
	}
}

// hintOf returns the hint of the first problem or failure in a repeat, or nil if there was none.
func hintOf(r *result.Repeat) *string {
	if r.Problem != nil {
		return &r.Problem.Hint
	}
	for i := range r.Checks {
		if r.Checks[i].Outcome != result.Pass && r.Checks[i].Weight > 0 {
			return &r.Checks[i].Hint
		}
	}
	return nil
}

// leftoversOf returns the parts that no run of a case has asked for; nothing if not all of them have run.
func (s *suiteRun) leftoversOf(runs []*caseRun) (all []leftover) {
	used := newUsedParts()
	for _, c := range runs {
		if c.found == nil || c.found.Problem != nil || len(c.found.Repeats) == 0 {
			return nil
		}
		used.add(c.used.at, c.used.scripted)
	}
	seen := map[flow.Position]bool{}
	add := func(at flow.Position, isUsed bool, what *calls.Error) {
		if !isUsed && !seen[at] {
			all = append(all, leftover{at, what})
		}
		seen[at] = true
	}
	for _, c := range runs {
		for _, one := range c.Answers {
			add(one.Pos, one.IsDefault || used.at[one.Pos] > 0 || s.isLive(), unusedAnswer(&one))
		}
		for _, m := range c.Mocks {
			n := used.at[m.Pos]
			at := m.Pos
			if n > 0 && n < len(m.Replies) {
				at = m.Replies[n].Pos
			}
			add(at, m.IsDefault || n >= len(m.Replies) || s.isLive(), unusedMock(&m, n))
		}
		for i := range c.Scripts {
			n := 0
			if i < len(used.scripted) {
				n = used.scripted[i]
			}
			if at := c.Scripts[i].At; n < len(at) {
				add(at[n], false, unusedScript(&c.Scripts[i], n))
			}
		}
	}
	return all
}

func unusedAnswer(one *suite.Answer) *calls.Error {
	name := one.Pointer
	if one.Step != "" {
		name = one.Step + ":" + one.Pointer
	}
	if one.Message != "" {
		name = one.Message
	}
	return calls.Errorf(calls.Invalid, "the run did not wait for the answer %q", name).
		WithHint("take it out of answers, or find out why the run does not wait for it")
}

func unusedScript(script *suite.Script, n int) *calls.Error {
	err := calls.Errorf(calls.Invalid, "the run asked for %d of the %d answers in llm", n, len(script.At))
	if script.Step != "" {
		err = calls.Errorf(calls.Invalid, "the step %s asked for %d of its %d answers in llm", script.Step, n, len(script.At))
	}
	return err.WithHint("take out the answers that are not asked for, or find out why the run does not ask for them")
}

func unusedMock(m *suite.Mock, n int) *calls.Error {
	name := m.Name()
	if n > 0 {
		return calls.Errorf(calls.Invalid, "the run asked for %d of the %d values of the mock %q", n, len(m.Replies), name).
			WithHint("take out the values that are not asked for, or find out why there are no more attempts or items")
	}
	return calls.Errorf(calls.Invalid, "nothing asked for the mock %q", name).
		WithHint("take it out of mocks, or find out why nothing asks for it")
}

// leftoverProblem reports the leftovers as a problem, at the place of the first. until is the step at which the
// case stops; "" is its end.
func (r *runner) leftoverProblem(left []leftover, until string) *result.Problem {
	p := r.problemOf(left[0].what)
	p.Kind, p.Position = result.KindUnused, positionOf(left[0].at)
	messages := make([]wording.Text, len(left))
	for i, one := range left {
		messages[i] = wording.OfError(one.what)
		if i > 0 {
			messages[i] = wording.Say("%s: %s", one.at.String(), messages[i])
		}
	}
	if until != "" {
		p.Hint = wording.Say("the case stops at %s: take it out, or set until: end", until).In(r.options.Language)
	}
	p.Message = cmp.Or(wording.Join(messages, "; ", "；").In(r.options.Language), p.Message)
	return p
}

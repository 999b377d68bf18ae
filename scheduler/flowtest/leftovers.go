package flowtest

import (
	"cmp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
	"github.com/callnode/scheduler/scheduler/flowtest/suite"
	"github.com/callnode/scheduler/scheduler/journal"
)

// usedParts are the answers, mocks and scripted answers of a case that its runs have asked for.
type usedParts struct {
	at map[flow.Position]int // how often answers, and how many replies of mocks
	// scripted is how many answers of the script were given.
	scripted int
}

func newUsedParts() usedParts { return usedParts{at: map[flow.Position]int{}} }

// add adds what another run has asked for.
func (u *usedParts) add(at map[flow.Position]int, scripted int) {
	for pos, n := range at {
		u.at[pos] = max(u.at[pos], n)
	}
	u.scripted = max(u.scripted, scripted)
}

// hasEnded reports whether the run came to its end, so that it has asked for all that it ever would.
func (a *attempt) hasEnded() bool {
	return a.problem == nil && a.of.Until == "" && a.record.State == journal.RunFinished
}

// leftover is something that a case has written and that none of its runs has asked for.
type leftover struct {
	at   flow.Position
	what *calls.Error
}

// reportLeftovers marks the cases of the file whose answers, mocks or scripted answers no run has asked for: they do not
// test what they seem to. Rows and variants of a case have these in common; the problem is that of the last of them.
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
		if left := s.leftoversOf(runs); len(left) > 0 {
			c.found.Outcome = result.Worse(c.found.Outcome, result.Error)
			c.found.Problem = s.runner.leftoverProblem(left)
		}
	}
}

// leftoversOf returns what no run of a case has asked for; none where a run has not come to its end.
func (s *suiteRun) leftoversOf(runs []*caseRun) (all []leftover) {
	used := newUsedParts()
	for _, c := range runs {
		if c.found == nil || c.found.Problem != nil || len(c.found.Repeats) == 0 || !c.hasEnded {
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
		if n := len(c.ScriptAt); n > used.scripted {
			err := calls.Errorf(calls.Invalid, "the run asked for %d of the %d answers in llm", used.scripted, n).
				WithHint("take out the answers that are not asked for, or find out why the run does not ask for them")
			add(c.ScriptAt[used.scripted], false, err)
		}
	}
	return all
}

// isLive reports whether models decide in each run anew what is asked for.
func (s *suiteRun) isLive() bool { return s.runner.options.Mode == result.Live }

func unusedAnswer(one *suite.Answer) *calls.Error {
	name := one.Pointer
	if one.Step != "" {
		name = one.Step + ":" + one.Pointer
	}
	return calls.Errorf(calls.Invalid, "the run did not wait for the answer %q", name).
		WithHint("take it out of answers, or find out why the run does not wait for it")
}

func unusedMock(m *suite.Mock, n int) *calls.Error {
	name := m.Step
	switch {
	case m.Call != "":
		name = "call:" + m.Call
	case m.Variable != "":
		name = "vars." + m.Variable
	}
	if n > 0 {
		return calls.Errorf(calls.Invalid, "the run asked for %d of the %d values of the mock %q", n, len(m.Replies), name).
			WithHint("take out the values that are not asked for, or find out why there are no more attempts or items")
	}
	return calls.Errorf(calls.Invalid, "nothing asked for the mock %q", name).
		WithHint("take it out of mocks, or find out why nothing asks for it")
}

// leftoverProblem returns what is left over as a problem, at the place of the first.
func (r *runner) leftoverProblem(left []leftover) *result.Problem {
	p := r.problemOf(left[0].what)
	p.Kind, p.Position = result.KindUnused, positionOf(left[0].at)
	messages := make([]wording.Text, len(left))
	for i, one := range left {
		messages[i] = wording.OfError(one.what)
		if i > 0 {
			messages[i] = wording.Say("%s: %s", one.at.String(), messages[i])
		}
	}
	p.Message = cmp.Or(wording.Join(messages, "; ", "；").In(r.options.Language), p.Message)
	return p
}

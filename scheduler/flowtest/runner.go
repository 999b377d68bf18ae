package flowtest

import (
	"sync"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flowtest/check"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
	"github.com/callnode/scheduler/scheduler/flowtest/suite"
	"github.com/callnode/scheduler/scheduler/journal"
)

// runner is the state of one [Run]. It is safe for concurrent use while cases run.
type runner struct {
	options Options
	suites  []*suiteRun
	spent   *budget

	mu sync.Mutex // held while Done is called
}

// problemOf returns an error as results have it.
func (r *runner) problemOf(err error) *result.Problem {
	return &result.Problem{
		Kind: string(calls.KindOf(err)), Message: calls.MessageIn(err, r.options.Language), Hint: calls.HintIn(err, r.options.Language),
	}
}

// suiteRun is a test file being run.
type suiteRun struct {
	*suite.Suite
	runner    *runner
	cases     []*caseRun
	models    *models
	snapshots *check.SnapshotFile
	spent     *budget
	places    chan struct{} // limits.parallel; nil without a limit
}

// isLive reports whether models are asked in each run again.
func (s *suiteRun) isLive() bool { return s.runner.options.Mode == result.Live }

// limitProblem returns which limit is reached; nil: none.
func (s *suiteRun) limitProblem() *result.Problem {
	if err := s.spent.check(); err != nil {
		p := s.runner.problemOf(err)
		p.Position = positionOf(s.Limits.Pos)
		return p
	}
	if err := s.runner.spent.check(); err != nil {
		return s.runner.problemOf(err)
	}
	return nil
}

// caseRun is a case being run, by one worker; others may ask for its first attempt.
type caseRun struct {
	*suite.Case
	suite    *suiteRun
	index    int
	selected bool
	// isNeeded is set if checks of other cases look at the run of this one.
	isNeeded bool
	// found is the result of the case; nil: it has not run. Its worker sets it.
	found *result.Case
	began time.Time // set with found

	// used lists the parts that its runs have asked for, and hasEnded is set if each of them came to its end. Its
	// worker sets both.
	used     usedParts
	hasEnded bool
	// hasAsked is set once a repeat asked a model, or played a recorded answer. Its worker sets it.
	hasAsked bool

	once sync.Once
	kept *attempt // the first attempt, if other cases need it; set by once
}

// attempt is one run of the flow of a case. newAttempt makes it; when run has returned it is only read.
type attempt struct {
	of     *caseRun
	number int

	events   []*journal.Event
	record   *journal.RunState
	err      error // how the run ended
	evidence *check.Evidence
	elapsed  time.Duration
	sessions *sessions
	meter    *meter
	judges   *spending // of its checks
	requests requestHeads
	// used lists the parts of the case that the run has asked for.
	used usedParts
	// problem is why nothing can be said of the run, whatever its events are: a take that is missing, a call that is
	// denied. nil: it ran as it was to.
	problem error
}

// usedParts are the answers, mocks and scripted answers of a case that its runs have asked for.
type usedParts struct {
	at map[flow.Position]int // how often answers, and how many replies of mocks
	// scripted is how many answers of each script were given.
	scripted []int
}

func newUsedParts() usedParts { return usedParts{at: map[flow.Position]int{}} }

// add adds the parts that another run has asked for.
func (u *usedParts) add(at map[flow.Position]int, scripted []int) {
	for pos, n := range at {
		u.at[pos] = max(u.at[pos], n)
	}
	for i, n := range scripted {
		if i == len(u.scripted) {
			u.scripted = append(u.scripted, 0)
		}
		u.scripted[i] = max(u.scripted[i], n)
	}
}

// positionOf returns a place as results have it.
func positionOf(p flow.Position) result.Position {
	return result.Position{File: p.File, Line: p.Line, Col: p.Col}
}

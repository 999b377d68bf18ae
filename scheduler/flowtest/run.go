package flowtest

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/callnode/scheduler/scheduler/flowtest/check"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
	"github.com/callnode/scheduler/scheduler/flowtest/suite"
)

// Run runs test files. Cases run side by side; the results are in the order of the files. When ctx ends, cases at work are
// stopped and not reported, and the run is marked as interrupted. The error is of files that cannot be read or written: snapshots and
// cassettes. With a result, that is complete all the same.
func Run(ctx context.Context, suites []*suite.Suite, options *Options) (*result.Run, error) {
	began := time.Now()
	r := &runner{options: *options, spent: newBudget(options.Limits, options.Models.Currency)}
	if r.options.Mode == "" {
		r.options.Mode = result.Replay
	}
	ctx, cancel := r.spent.within(ctx)
	defer cancel()
	for _, s := range suites {
		one, err := r.newSuiteRun(s)
		if err != nil {
			return nil, err
		}
		r.suites = append(r.suites, one)
	}
	r.runCases(ctx)
	found := &result.Run{Mode: r.options.Mode, Interrupted: r.isInterrupted(ctx), Currency: r.options.Models.Currency}
	var failed error
	for _, s := range r.suites {
		s.reportLeftovers()
		s.reportUnchecked()
		of := s.result()
		of.Notes = s.notes()
		found.Suites = append(found.Suites, of)
		failed = errors.Join(failed, s.close())
	}
	found.Elapsed = time.Since(began)
	return found, failed
}

// newSuiteRun opens the files that belong to a test file.
func (r *runner) newSuiteRun(s *suite.Suite) (*suiteRun, error) {
	snapshots, err := check.OpenSnapshots(besideFile(s.Path, suite.SnapshotSuffix), r.options.Update)
	if err != nil {
		return nil, err
	}
	run := &suiteRun{Suite: s, runner: r, snapshots: snapshots, spent: newBudget(s.Limits, r.options.Models.Currency)}
	run.models = newModels(s, &r.options)
	if s.Limits.Parallel > 0 {
		run.places = make(chan struct{}, s.Limits.Parallel)
	}
	for i, c := range s.Cases {
		selected := r.options.Select == nil || r.options.Select(s, c)
		run.cases = append(run.cases, &caseRun{Case: c, suite: run, index: i, selected: selected})
	}
	run.findNeeds()
	return run, nil
}

// runCases runs all cases, as many at a time as the options allow.
func (r *runner) runCases(ctx context.Context) {
	parallel := r.options.Parallel
	if parallel <= 0 {
		parallel = runtime.GOMAXPROCS(0)
	}
	jobs := make(chan *caseRun)
	var working sync.WaitGroup
	for range parallel {
		working.Go(func() {
			for c := range jobs {
				r.runCase(ctx, c)
			}
		})
	}
	for _, s := range r.suites {
		for _, c := range s.cases {
			if c.selected {
				jobs <- c
			}
		}
	}
	close(jobs)
	working.Wait()
}

// runCase runs a case, once its file has a place for it.
func (r *runner) runCase(ctx context.Context, c *caseRun) {
	if places := c.suite.places; places != nil {
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
		case <-ctx.Done():
		}
	}
	within, cancel := c.suite.spent.within(ctx)
	defer cancel()
	found := c.run(within)
	if found == nil {
		return
	}
	c.found = found
	if r.options.Done != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.options.Done(c.suite.Suite, found)
	}
}

// isInterrupted reports whether the run was ended from outside, and not by its own limits.
func (r *runner) isInterrupted(ctx context.Context) bool {
	return ctx.Err() != nil && r.spent.check() == nil
}

// result returns the results of the file's cases, in their order.
func (s *suiteRun) result() *result.Suite {
	found := &result.Suite{File: s.File}
	var began, ended time.Time
	for _, c := range s.cases {
		if c.found == nil {
			continue
		}
		found.Cases = append(found.Cases, c.found)
		if began.IsZero() || c.began.Before(began) {
			began = c.began
		}
		if end := c.began.Add(c.found.Elapsed); end.After(ended) {
			ended = end
		}
	}
	found.Elapsed = ended.Sub(began) // cases run side by side
	return found
}

// close writes the files that the cases have changed: snapshots and cassettes.
func (s *suiteRun) close() error {
	isWhole := !slices.ContainsFunc(s.cases, func(c *caseRun) bool { return !c.hasRun() })
	prune := s.runner.options.Prune && isWhole
	return errors.Join(s.snapshots.Close(prune), s.models.close(prune))
}

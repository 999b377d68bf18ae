package server

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/dispatch"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flowtest/compare"
	"github.com/callnode/scheduler/scheduler/flowtest/report"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
	"github.com/callnode/scheduler/scheduler/flowtest/suite"
	"github.com/callnode/scheduler/scheduler/server/store"
	"github.com/callnode/scheduler/scheduler/service"
)

// registerTests adds the endpoints for tests of flows.
func (s *Server) registerTests() {
	const all = base + "/tests"
	gone := []int{http.StatusNotFound}
	addEndpoint(s, endpoint{method: http.MethodGet, path: all, id: "list-tests", summary: "List the test files of flows, with what their cases gave last", scope: store.FlowsRead}, s.listTests)
	addEndpoint(s, endpoint{method: http.MethodGet, path: all + "/source", id: "get-test-source", summary: "Get the text of a test file", scope: store.FlowsRead, errors: gone}, s.getTestSource)
	addEndpoint(s, endpoint{method: http.MethodGet, path: all + "/results", id: "get-test-results", summary: "Get what the cases of a test file gave last, with the answers of variants side by side, and its earlier runs", scope: store.FlowsRead, errors: gone}, s.getTestResults)
	addEndpoint(s, endpoint{
		method: http.MethodPost, path: all + "/run", id: "run-tests", summary: "Run the cases of a test file with recorded answers, and wait for what they give", scope: store.RunsWrite,
		errors: []int{http.StatusNotFound, http.StatusConflict},
	}, s.runTests)
}

// maxListedCases bounds the cases of a file in a list.
const maxListedCases = 500

// testFile is a test file with its cases.
type testFile struct {
	File     string            `json:"file" doc:"Its path from the folder of the project."`
	Problems []testFileProblem `json:"problems" nullable:"false" doc:"What is wrong in it and its flows; with an error it has no cases."`
	Counts   testFileCounts    `json:"counts"`
	Cases    []testCase        `json:"cases" nullable:"false"`
	LeftOut  int               `json:"left_out,omitempty" doc:"How many further cases there are that the list leaves out."`
}

// testFileProblem is something wrong in a test file or one of its flows.
type testFileProblem struct {
	ProblemBody
	Flow string `json:"flow,omitempty" doc:"The id of the flow that it is in."`
}

// testFileCounts count the cases by their last result.
type testFileCounts struct {
	Cases  int `json:"cases"`
	NotRun int `json:"not_run" doc:"How many cases have not run yet."`
	result.Counts
}

// testCase is a case of a test file.
type testCase struct {
	ID       string           `json:"id" doc:"What it is known by in its file: its name, row and variant."`
	Name     string           `json:"name"`
	Row      *result.Row      `json:"row,omitempty" doc:"The row of the dataset."`
	Variant  []result.Setting `json:"variant,omitempty" doc:"The settings of the matrix."`
	Position result.Position  `json:"position"`
	Tags     []string         `json:"tags,omitempty"`
	Skip     string           `json:"skip,omitempty" doc:"Why it does not run."`
	Flow     string           `json:"flow,omitempty" doc:"The id of the flow that it runs, where GET /flows lists it."`
	FlowFile string           `json:"flow_file" doc:"The file of the flow."`
	Last     *testResult      `json:"last,omitempty" doc:"What it gave when it last ran, without the checks that passed."`
}

// testResult is the result of a case: the line of scheduler test --json, with times.
type testResult struct {
	ID        string    `json:"id"`
	At        time.Time `json:"at,omitzero" doc:"When it ended."`
	ElapsedMS float64   `json:"elapsed_ms,omitempty"`
	result.Case
	Prompts []*explain.Explanation `json:"prompts,omitempty" doc:"The prompts of the first repeat that did not pass, with their sources."`
}

// listTests lists the test files by their names.
func (s *Server) listTests(ctx context.Context, in *Listing) (*body[page[testFile]], error) {
	names, err := s.tests.Names()
	if err != nil {
		return nil, err
	}
	last, err := s.tests.Last()
	if err != nil {
		return nil, err
	}
	var items []testFile
	for _, name := range names {
		if name <= in.Cursor && in.Cursor != "" {
			continue
		}
		if len(items) == in.Limit {
			return newPage(items, items[len(items)-1].File), nil
		}
		file, err := s.tests.File(ctx, name, s.languageOf(ctx))
		if calls.KindOf(err) == calls.NotFound {
			continue // gone in the meantime
		}
		if err != nil {
			return nil, err
		}
		items = append(items, s.describeTests(ctx, file, last))
	}
	return newPage(items, ""), nil
}

// describeTests returns a test file as lists have it.
func (s *Server) describeTests(ctx context.Context, file *service.TestFile, last *service.LastResults) testFile {
	item := testFile{File: file.Name, Problems: []testFileProblem{}, Cases: []testCase{}}
	for i, p := range s.problemBodies(ctx, file.Problems) {
		id, _ := s.library.IDOf(s.tests.PathOf(file.Problems[i].Pos.File))
		item.Problems = append(item.Problems, testFileProblem{p, id})
	}
	if file.Suite == nil {
		return item
	}
	item.Counts.Cases = len(file.Suite.Cases)
	item.LeftOut = max(0, len(file.Suite.Cases)-maxListedCases)
	ran := &result.Suite{}
	for _, c := range file.Suite.Cases {
		one := s.describeCase(c)
		if found := last.Of(file.Name, one.ID); found != nil {
			ran.Cases = append(ran.Cases, found)
			one.Last = briefResult(found)
		}
		if len(item.Cases) < maxListedCases {
			item.Cases = append(item.Cases, one)
		}
	}
	item.Counts.NotRun = len(file.Suite.Cases) - len(ran.Cases)
	item.Counts.Counts = ran.Counts()
	return item
}

// describeCase returns a case that may not have run.
func (s *Server) describeCase(c *suite.Case) testCase {
	r := c.Result()
	one := testCase{
		ID: r.ID(), Name: r.Name, Row: r.Row, Variant: r.Variant, Position: r.Position, Tags: r.Tags, Skip: c.Skip, FlowFile: r.Flow,
	}
	one.Flow, _ = s.library.IDOf(c.Flow.File)
	return one
}

// briefResult returns the result of a case without pieces of prompts, and without the checks that passed and have
// no note.
func briefResult(c *result.Case) *testResult {
	brief := newTestResult(c)
	brief.Repeats = nil
	for _, r := range c.Repeats {
		var checks []result.Check
		for _, one := range r.Checks {
			if one.Outcome != result.Pass || one.Note != "" {
				checks = append(checks, one)
			}
		}
		r.Checks, r.Pieces = checks, nil
		brief.Repeats = append(brief.Repeats, r)
	}
	return brief
}

// newTestResult returns the result of a case.
func newTestResult(c *result.Case) *testResult {
	return &testResult{ID: c.ID(), At: c.At, ElapsedMS: float64(c.Elapsed) / float64(time.Millisecond), Case: *c}
}

type getTestSourceInput struct {
	File string `query:"file" required:"true" minLength:"1" doc:"The test file, as GET /tests lists it."`
}

// testSource is the text of a test file.
type testSource struct {
	File string `json:"file"`
	Text string `json:"text"`
}

// getTestSource returns the text of a test file.
func (s *Server) getTestSource(_ context.Context, in *getTestSourceInput) (*body[testSource], error) {
	text, err := s.tests.Source(in.File)
	if err != nil {
		return nil, err
	}
	return &body[testSource]{testSource{in.File, string(text)}}, nil
}

type getTestResultsInput struct {
	File string `query:"file" required:"true" minLength:"1" doc:"The test file, as GET /tests lists it."`
	Runs int    `query:"runs" default:"50" minimum:"1" maximum:"200" doc:"How many earlier runs at most."`
}

// testResults are the last results of a test file side by side, and its earlier runs.
type testResults struct {
	File    string         `json:"file"`
	Table   *report.Table  `json:"table" doc:"The cases that have run, by variant."`
	History []compare.Past `json:"history" nullable:"false" doc:"The earlier runs, the newest first."`
}

// getTestResults returns the last results of a test file side by side.
func (s *Server) getTestResults(ctx context.Context, in *getTestResultsInput) (*body[testResults], error) {
	language := s.languageOf(ctx)
	file, err := s.tests.File(ctx, in.File, language)
	if err != nil {
		return nil, err
	}
	last, err := s.tests.Last()
	if err != nil {
		return nil, err
	}
	past, err := s.tests.History(file.Name, in.Runs)
	if err != nil {
		return nil, err
	}
	ran := &result.Suite{File: file.Name}
	if file.Suite != nil {
		for _, c := range file.Suite.Cases {
			if found := last.Of(file.Name, c.ID()); found != nil {
				ran.Cases = append(ran.Cases, found)
			}
		}
	}
	return &body[testResults]{testResults{file.Name, report.NewTable(ran, report.Options{Language: language, Currency: s.options.Currency}), append([]compare.Past{}, past...)}}, nil
}

type runTestsInput struct {
	Body struct {
		File  string   `json:"file" minLength:"1" doc:"The test file, as GET /tests lists it."`
		Cases []string `json:"cases,omitempty" maxItems:"1000" doc:"The ids of the cases to run; all by default."`
	}
}

// testRun has the results of the cases of a test file.
type testRun struct {
	File      string        `json:"file"`
	Mode      result.Mode   `json:"mode" enum:"replay" doc:"Where the answers of models come from: replay is from cassettes only."`
	Counts    result.Counts `json:"counts"`
	ElapsedMS float64       `json:"elapsed_ms"`
	Cases     []*testResult `json:"cases" nullable:"false" doc:"What each case gave: of those that did not pass with the pieces of their prompts."`
	Notes     []string      `json:"notes,omitempty" doc:"What may be wrong beside the cases."`
}

// runTests runs cases of a test file, until the client leaves or the server stops.
func (s *Server) runTests(ctx context.Context, in *runTestsInput) (*body[testRun], error) {
	file, err := s.tests.File(ctx, in.Body.File, s.languageOf(ctx))
	if err != nil {
		return nil, err
	}
	if file.Suite == nil {
		return nil, brokenTests(file.Problems)
	}
	ctx, cancel := s.withStop(ctx)
	defer cancel()
	found, notes, err := s.tests.Run(ctx, file, in.Body.Cases)
	if err != nil {
		return nil, err
	}
	out := testRun{File: file.Name, Mode: result.Replay, Counts: found.Counts(), ElapsedMS: float64(found.Elapsed) / float64(time.Millisecond), Cases: []*testResult{}}
	for _, c := range found.Cases {
		if c.Outcome == result.Pass {
			out.Cases = append(out.Cases, briefResult(c))
			continue
		}
		one := newTestResult(c)
		one.Prompts = promptsToShow(c, s.languageOf(ctx))
		out.Cases = append(out.Cases, one)
	}
	for _, n := range notes {
		out.Notes = append(out.Notes, n.Text.In(s.languageOf(ctx)))
	}
	return &body[testRun]{out}, nil
}

// promptsToShow returns the prompts of the first repeat of a case that did not pass, in the language of their reader.
func promptsToShow(c *result.Case, language string) (prompts []*explain.Explanation) {
	i := slices.IndexFunc(c.Repeats, func(r result.Repeat) bool { return r.Outcome != result.Pass })
	if i < 0 {
		return nil
	}
	for _, one := range c.Repeats[i].Prompts {
		prompts = append(prompts, one.InLanguage(language))
	}
	return prompts
}

// withStop returns a context that ends when the server stops, too.
func (s *Server) withStop(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-s.bye:
			cancel(dispatch.ErrStopping)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// brokenTests is the answer if a test file has errors.
func brokenTests(problems flow.Problems) *Problem {
	p := newProblem(http.StatusUnprocessableEntity, string(calls.Invalid), wording.Say("the test file has errors"), wording.Say("correct the test file or its flow at these places"))
	p.Errors = flowFaults(problems)
	return p
}

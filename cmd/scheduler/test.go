package main

import (
	"cmp"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/cmd/scheduler/terminal"
	"github.com/callnode/scheduler/cmd/scheduler/wire"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flowtest"
	"github.com/callnode/scheduler/scheduler/flowtest/compare"
	"github.com/callnode/scheduler/scheduler/flowtest/files"
	"github.com/callnode/scheduler/scheduler/flowtest/report"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
	"github.com/callnode/scheduler/scheduler/flowtest/suite"
)

// testFlags are the flags of a test run.
type testFlags struct {
	selection testSelection
	repeat    int
	hasRepeat bool // --repeat is given
	// hasBless, hasAgainst, hasLimitCost and hasFailOn are true if their flags were given.
	hasBless, hasAgainst bool
	hasLimitCost         bool
	hasFailOn            bool
	record               bool
	live                 bool
	against              string
	failOn               string
	bless                string
	update               bool
	prune                bool
	limitCost            float64
	reports              []string
	asJSON               bool
	verbose              bool
	allowSkipped         bool
	watch                bool
	wrong                []result.Problem // of test files that have errors
}

func newTest(a *app) *cobra.Command {
	var f testFlags
	cmd := &cobra.Command{
		Use:   "test [PATH | DIR/...]...",
		Short: "Test what is in prompts, and what models answer",
		Long: `Run test files: NAME.test.yaml beside NAME.yaml has cases with inputs and what is
expected of the run. PATH is a test file, its flow, or a folder; DIR/... is a folder with
all below it, and ./... is what is tested where no path is given.

A case that stops before the model (until: STEP) looks at the prompt: what is in it,
where each piece comes from, and what was left out and why. It needs no model and no key.
Other cases play recorded answers: of models in NAME.test.PROVIDER.cassette.yaml, of
servers, tools and plugins in NAME.test.cassette.yaml. --record asks for those that are
missing, for real: a tool that sends a mail sends it. --live asks for all. Otherwise tests
reach no network, run no calls of plugins and write nothing, unless a case mocks or allows it.

Where run --record has kept a run with the inputs of the case, in NAME.cassette.yaml, the
case plays it: its time and seed, unless the case gives others, and all answers that the
case does not mock, of models, servers, tools, plugins and the memory.

Exit code 0: all passed. 1: a case failed, or got worse than --against. 2: settings, flows or
test files are wrong; the other files ran. 4: something could not be decided, such as an answer
that is not recorded, a case has no check that counts, or all cases of a file are skipped, and
nothing failed. 130: interrupted; --rerun goes on.`,
		Example: strings.Trim(`
  scheduler test                                          # all test files below this folder
  scheduler test flows/hello.yaml --filter 'winter' -v
  scheduler test ./... --against main --report junit=out/junit.xml,html=out/tests.html
  scheduler test ./... --bless main                       # what later runs are compared with
  scheduler test flows/hello.yaml --live --repeat 10 --limit-cost 5
  scheduler test --rerun failed`, "\n"),
		RunE: func(cmd *cobra.Command, paths []string) error {
			f.hasRepeat = cmd.Flags().Changed("repeat")
			f.hasBless, f.hasAgainst = cmd.Flags().Changed("bless"), cmd.Flags().Changed("against")
			f.hasLimitCost, f.hasFailOn = cmd.Flags().Changed("limit-cost"), cmd.Flags().Changed("fail-on")
			if f.watch {
				return a.watchTests(cmd.Context(), paths, &f)
			}
			return a.runTests(cmd.Context(), paths, &f)
		},
	}
	flags := cmd.Flags()
	f.selection.addFlags(flags)
	flags.IntVar(&f.repeat, "repeat", 0, "run each case `N` times, whatever the files say")
	flags.BoolVar(&f.record, "record", false, "ask models, servers, tools and plugins for answers that are not recorded, and record them")
	flags.BoolVar(&f.live, "live", false, "ask the models for all answers, and record none; cases may reach the network")
	flags.StringVar(&f.against, "against", "", "compare with an earlier `run`: a name given to --bless, a file, or last")
	flags.StringVar(&f.failOn, "fail-on", string(compare.FailOnSignificant), "what of --against is a failure: significant, any or none")
	flags.StringVar(&f.bless, "bless", "", "keep the run as the baseline of that `name`")
	flags.BoolVar(&f.update, "update", false, "write snapshots that differ or are missing")
	flags.BoolVar(&f.prune, "prune", false, "drop snapshots and recorded answers that nothing asks for")
	flags.Float64Var(&f.limitCost, "limit-cost", 0, "stop when the models have cost that `amount`, in the setting llm.currency")
	flags.StringArrayVar(&f.reports, "report", nil, "write reports: `kind=FILE`, with kind junit, json, html or md; several with commas")
	flags.BoolVar(&f.asJSON, "json", false, "print a JSON line for each case, and one that sums up")
	flags.BoolVar(&f.watch, "watch", false, "run again whenever a file that the tests read changes, until Ctrl-C")
	flags.BoolVar(&f.allowSkipped, "allow-skipped", false, "take a file whose cases are all skipped as passed")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "print a line for every case")
	cmd.MarkFlagsMutuallyExclusive("record", "live")
	for flag, words := range map[string][]string{
		"rerun":   {rerunFailed, rerunErrors},
		"fail-on": {string(compare.FailOnSignificant), string(compare.FailOnAny), string(compare.FailOnNone)},
		"report":  {"junit=", "json=", "html=", "md="},
		"against": {compare.Last},
	} {
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)) // fails only for a flag that is not there
	}
	return cmd
}

// runTests runs the test files of paths, and returns the error with the exit code.
func (a *app) runTests(ctx context.Context, paths []string, f *testFlags) error {
	targets, err := f.check()
	if err != nil {
		return usageError(err)
	}
	suites, wrong, err := a.loadTests(ctx, paths, f.repeat)
	if err != nil {
		return err
	}
	f.wrong = wrong
	kept := a.runtime.TestParts().Files
	if err := a.checkReportFiles(targets, suites, kept.Paths(f.against, f.bless)); err != nil {
		return usageError(err)
	}
	last, err := kept.ReadLast()
	if err != nil {
		return usageError(err)
	}
	before, err := f.findBaseline(kept)
	if err != nil {
		return usageError(err)
	}
	selects, count, err := f.selection.prepare(suites, last)
	if err != nil {
		return usageError(err)
	}
	if count == 0 {
		a.Tellf("no case is due: the last run has none of these that failed or was not decided")
	}
	run, runErr := a.carryOutTests(ctx, suites, selects, count, f)
	if run == nil {
		return a.beforeRun(runErr)
	}
	if err := a.service.AnnotateJudges(run, suites); err != nil {
		return usageError(err)
	}
	run.Wrong = f.wrong
	run = report.MaskRun(run, a.runtime.MaskText) // before it is kept anywhere
	var comparison *compare.Comparison
	if before != nil {
		before = before.Without(casesOf(suites, func(s *suite.Suite, c *suite.Case) bool { return !selects(s, c) }))
		comparison = compare.Compare(before, compare.NewBaseline(run), f.against, 1)
		comparison.AddGoneFiles(before, kept.Has)
	}
	failed := errors.Join(a.tellTests(run, comparison, f, targets), a.keepTests(run, last, kept, suites, f), runErr)
	return withFailure(a.testVerdict(run, comparison, f), failed)
}

// watchPause is how long a watch waits between checks of the files.
const watchPause = 300 * time.Millisecond

// watchTests runs the test files of paths, and again whenever a file of the project or of paths changes, until ctx ends. Exit codes of
// runs are not passed on: each run prints its result.
func (a *app) watchTests(ctx context.Context, paths []string, f *testFlags) error {
	folders := []string{cmp.Or(a.settings.Root, ".")}
	for _, path := range paths {
		folders = append(folders, filepath.Clean(strings.TrimSuffix(path, "...")))
	}
	targets, _ := f.check() // each run reports their errors
	isWritten := func(path string) bool {
		return slices.ContainsFunc(targets, func(t report.Target) bool { return flowtest.IsSameFile(t.File, path) })
	}
	for {
		before := files.Watch(folders, isWritten) // a change during the run is seen after it
		once := *f
		err := a.runTests(ctx, paths, &once)
		if exit := (exitError{}); errors.As(err, &exit) {
			err = exit.err
		}
		if err != nil {
			a.PrintError(err)
		}
		a.Tellf("watching for changes; stop with Ctrl-C")
		for before.Equal(files.Watch(folders, isWritten)) {
			select {
			case <-ctx.Done():
				return exitError{code: exitInterrupted}
			case <-time.After(watchPause):
			}
		}
	}
}

// withFailure returns the error of a run with that verdict after a failed write: the failure is printed, and the
// exit code is the verdict's, or 1.
func withFailure(verdict, failed error) error {
	if failed == nil {
		return verdict
	}
	var exit exitError
	if !errors.As(verdict, &exit) || exit.code == exitUndecided {
		exit.code = exitFailed
	}
	return exitError{exit.code, failed}
}

// check returns the reports that the flags ask for, and an error if the flags are wrong.
func (f *testFlags) check() ([]report.Target, error) {
	if f.hasRepeat && (f.repeat < 1 || f.repeat > suite.MaxRepeat) {
		return nil, wording.Errorf("--repeat must be between 1 and %d", suite.MaxRepeat)
	}
	isAmount := f.limitCost > 0 && !math.IsInf(f.limitCost, 1) // NaN is not
	if f.hasLimitCost && !isAmount {
		return nil, wording.Errorf("--limit-cost must be a number more than 0")
	}
	switch compare.FailOn(f.failOn) {
	case compare.FailOnSignificant, compare.FailOnAny, compare.FailOnNone:
	default:
		return nil, wording.Errorf("--fail-on is significant, any or none, not %q", f.failOn)
	}
	if f.hasFailOn && !f.hasAgainst {
		return nil, wording.Errorf("--fail-on says what of --against is a failure, and there is no --against")
	}
	if f.hasAgainst && f.against == "" {
		return nil, wording.Errorf("--against names no run: give a name of --bless, a file, or last")
	}
	if f.hasBless {
		if err := compare.CheckName(f.bless); err != nil {
			return nil, err
		}
	}
	if f.update && wire.IsContinuous() {
		return nil, calls.Errorf(calls.Invalid, "--update makes snapshots fit whatever came, and is refused in CI").
			WithHint("write them on your machine, look at them, and commit them; CI is set in the environment")
	}
	return report.ParseTargets(f.reports)
}

// checkReportFiles returns an error if a report would replace a file that the run reads, or one of the results
// that it keeps.
func (a *app) checkReportFiles(targets []report.Target, suites []*suite.Suite, results []string) error {
	for _, t := range targets {
		isRead := flowtest.IsSameFile(t.File, a.settings.File())
		isRead = isRead || slices.ContainsFunc(results, func(path string) bool { return flowtest.IsSameFile(t.File, path) })
		isRead = isRead || slices.ContainsFunc(suites, func(s *suite.Suite) bool { return flowtest.Reads(s, t.File) })
		if isRead {
			return calls.Errorf(calls.Invalid, "the report %s would replace %s, which the tests read", t.Kind, t.File).
				WithHint("give the report a file of its own, as in %s=out/report.%s", t.Kind, t.Extension())
		}
	}
	return nil
}

// findBaseline returns the results that --against names; nil without it.
func (f *testFlags) findBaseline(kept compare.Files) (*compare.Baseline, error) {
	if f.against == "" {
		return nil, nil
	}
	return kept.Find(f.against)
}

// mode returns the source of answers.
func (f *testFlags) mode() result.Mode {
	if f.record {
		return result.Record
	}
	if f.live {
		return result.Live
	}
	return result.Replay
}

// carryOutTests runs the selected cases, count of them, and shows its progress.
func (a *app) carryOutTests(ctx context.Context, suites []*suite.Suite, selects func(*suite.Suite, *suite.Case) bool, count int, f *testFlags) (*result.Run, error) {
	options := a.runtime.TestOptions(string(a.Language))
	options.Mode, options.Repeat, options.Update, options.Prune = f.mode(), f.repeat, f.update, f.prune
	options.Limits.Cost = f.limitCost
	options.Select = selects
	bar := terminal.NewBar(a.Terminal, a.Language.Say("testing"))
	done := 0
	options.Done = func(*suite.Suite, *result.Case) {
		done++
		bar.Show(done, count)
	}
	run, err := flowtest.Run(ctx, suites, options)
	bar.Close()
	return run, err
}

// reportOptions are the options that all reports share.
func (a *app) reportOptions() report.Options {
	return report.Options{
		Language: string(a.Language),
		Path:     func(file string) string { return shownPath(filepath.Join(a.settings.Root, filepath.FromSlash(file))) },
		Mask:     a.runtime.MaskText,

		InActions: os.Getenv("GITHUB_ACTIONS") == "true", Currency: a.settings.LLM.Currency,
	}
}

// repositoryPath returns a function that names a file of a result by its path in the repository, as GitHub knows it: from the folder of the
// workflow, else from the nearest one with .git. A file outside of it keeps its path.
func (a *app) repositoryPath() func(file string) string {
	project := realPath(a.settings.Root)
	repository := os.Getenv("GITHUB_WORKSPACE")
	if repository == "" {
		repository = gitFolder(project)
	}
	prefix, err := filepath.Rel(realPath(repository), project)
	if repository == "" || err != nil {
		return nil
	}
	return func(file string) string {
		path := filepath.Join(prefix, filepath.FromSlash(file))
		if !filepath.IsLocal(path) {
			return file
		}
		return filepath.ToSlash(path)
	}
}

// tellTests prints the results and writes the reports.
func (a *app) tellTests(run *result.Run, c *compare.Comparison, f *testFlags, targets []report.Target) error {
	o := a.reportOptions()
	var err error
	if f.asJSON {
		err = report.Write(a.Stdout, "json", run, c, o)
	} else {
		p := report.NewPrinter(a.Stdout, o)
		p.Verbose = f.verbose
		for _, s := range run.Suites {
			p.PrintSuite(s)
		}
		p.PrintEnd(run, c)
	}
	if o.InActions {
		out := a.Stdout
		if f.asJSON {
			out = a.Stderr
		}
		report.Annotate(out, run, report.Options{Language: o.Language, Mask: o.Mask, Path: a.repositoryPath()})
	}
	return errors.Join(err, report.WriteFiles(targets, run, c, o))
}

// keepTests keeps the results for --rerun and --against last, and as a baseline.
func (a *app) keepTests(run, last *result.Run, kept compare.Files, suites []*suite.Suite, f *testFlags) error {
	all := run
	if f.selection.rerun != "" {
		all = result.Merge(last, run)
	}
	err := errors.Join(kept.KeepLast(all), kept.KeepHistory(run, time.Now()))
	if f.bless == "" {
		return err
	}
	if run.Interrupted {
		return errors.Join(err, wording.Errorf("the run was interrupted: it is not kept as %s", f.bless))
	}
	if len(f.wrong) > 0 {
		return errors.Join(err, wording.Errorf("the run is not kept as %s: a test file is wrong", f.bless))
	}
	file, blessErr := kept.Bless(f.bless, run, casesOf(suites, func(*suite.Suite, *suite.Case) bool { return true }))
	if blessErr == nil {
		a.Tellf("kept as %s, in %s", f.bless, shownPath(file))
		if counts := run.Counts(); counts.Failed+counts.Errors > 0 {
			a.Tellf("note: cases of it failed or were not decided (%d): later runs that fail alike are no regressions", counts.Failed+counts.Errors)
		}
	}
	return errors.Join(err, blessErr)
}

// casesOf returns which cases of test files are reported by has.
func casesOf(suites []*suite.Suite, has func(*suite.Suite, *suite.Case) bool) func(file, id string) bool {
	known := map[[2]string]bool{}
	for _, s := range suites {
		for _, c := range s.Cases {
			if has(s, c) {
				known[[2]string{s.File, c.ID()}] = true
			}
		}
	}
	return func(file, id string) bool { return known[[2]string{file, id}] }
}

// testVerdict returns the exit code of a run.
func (a *app) testVerdict(run *result.Run, c *compare.Comparison, f *testFlags) error {
	counts := run.Counts()
	if len(f.wrong) > 0 {
		a.Tellf("test files that are wrong, and did not run: %d", countFiles(f.wrong))
	}
	switch {
	case run.Interrupted:
		a.Tellf("interrupted; to go on: scheduler test --rerun errors")
		return exitError{code: exitInterrupted}
	case len(f.wrong) > 0:
		return exitError{code: exitUsage}
	case counts.Failed > 0, c != nil && c.Regressed(compare.FailOn(f.failOn)):
		return exitError{code: exitFailed}
	case counts.Errors > 0:
		return exitError{code: exitUndecided}
	case c != nil && c.Pairs == 0:
		a.Tellf("nothing was compared with %s: it has no case of this run", f.against)
		return exitError{code: exitUndecided}
	case f.allowSkipped:
		return nil
	}
	return a.skippedVerdict(run)
}

// skippedVerdict returns the exit code of a run that passed: if all cases of a file are skipped, nothing of it was tested.
func (a *app) skippedVerdict(run *result.Run) error {
	isSkipped := false
	for _, s := range run.Suites {
		if s.Counts().IsAllSkipped() {
			isSkipped = true
			a.Tellf("no case of %s ran: that is no pass (--allow-skipped takes it as one)", s.File)
		}
	}
	if isSkipped {
		return exitError{code: exitUndecided}
	}
	return nil
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
	"github.com/callnode/scheduler/scheduler/flowtest/suite"
)

// The choices of --rerun.
const (
	rerunFailed = "failed"
	rerunErrors = "errors"
)

// testSelection is which cases are to run.
type testSelection struct {
	filter string
	tags   []string
	rerun  string
	matrix []string
}

func (s *testSelection) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&s.filter, "filter", "", "run cases whose name, row or variant matches a regular `expression`")
	flags.StringArrayVar(&s.tags, "tag", nil, "run cases with the `tag`; several are alternatives")
	flags.StringVar(&s.rerun, "rerun", "", "run cases that failed, or had errors, in the last run, and those that it did not come to: failed or errors")
	flags.StringArrayVar(&s.matrix, "matrix", nil, "run the variants with a setting of the matrix: `key=value`")
}

// prepare checks the selection against the existing cases. It returns the function that selects them, and their
// number.
func (s *testSelection) prepare(suites []*suite.Suite, last *result.Run) (selects func(*suite.Suite, *suite.Case) bool, count int, err error) {
	filter, err := regexp.Compile(s.filter)
	if err != nil {
		return nil, 0, wording.Errorf("--filter: %w", err)
	}
	settings, err := s.settings(suites)
	if err != nil {
		return nil, 0, err
	}
	isDue, err := s.due(last)
	if err != nil {
		return nil, 0, err
	}
	fits := func(c *suite.Case) bool {
		hasTag := len(s.tags) == 0 || slices.ContainsFunc(c.Tags, func(tag string) bool { return slices.Contains(s.tags, tag) })
		return hasTag && filter.MatchString(c.ID()) && fitsSettings(c, settings)
	}
	selects = func(file *suite.Suite, c *suite.Case) bool { return fits(c) && isDue(file.File, c.ID()) }
	isAnyFit := false // though none of them may be due, with --rerun
	for _, file := range suites {
		for _, c := range file.Cases {
			isAnyFit = isAnyFit || fits(c)
			if selects(file, c) {
				count++
			}
		}
	}
	if isAnyFit {
		return selects, count, nil
	}
	return nil, 0, calls.Errorf(calls.NotFound, "no case fits the flags").WithHint("%s", wording.Of(value.DidYouMeanOrList(strings.Join(s.tags, " "), tagsOf(suites))))
}

// tagsOf lists the tags of all cases.
func tagsOf(suites []*suite.Suite) (tags []string) {
	for _, file := range suites {
		for _, c := range file.Cases {
			tags = append(tags, c.Tags...)
		}
	}
	slices.Sort(tags)
	return slices.Compact(tags)
}

// settings reads --matrix. A key that no matrix has is an error.
func (s *testSelection) settings(suites []*suite.Suite) (all []result.Setting, err error) {
	known := map[string][]string{}
	var keys []string
	for _, file := range suites {
		for _, c := range file.Cases {
			for _, setting := range c.Variant {
				if !slices.Contains(keys, setting.Key) {
					keys = append(keys, setting.Key)
				}
				known[setting.Key] = append(known[setting.Key], setting.Value)
			}
		}
	}
	for _, text := range s.matrix {
		key, v, ok := strings.Cut(text, "=")
		if !ok {
			return nil, wording.Errorf("--matrix %s: write key=value", text)
		}
		if !slices.Contains(keys, key) {
			return nil, wording.Errorf("--matrix: no test file has %q%s", key, value.DidYouMeanOrListSuffix(key, keys))
		}
		if !slices.Contains(known[key], v) {
			slices.Sort(known[key])
			return nil, wording.Errorf("--matrix: no test file has %s=%s%s", key, v, value.DidYouMeanOrListSuffix(v, slices.Compact(known[key])))
		}
		all = append(all, result.Setting{Key: key, Value: v})
	}
	return all, nil
}

// fitsSettings reports whether the variant of a case has the settings. A case without an axis fits: it is the same with
// all its values.
func fitsSettings(c *suite.Case, settings []result.Setting) bool {
	for _, have := range c.Variant {
		isAsked, fits := false, false
		for _, want := range settings {
			isAsked = isAsked || want.Key == have.Key
			fits = fits || want == have
		}
		if isAsked && !fits {
			return false
		}
	}
	return true
}

// due returns which cases --rerun runs: all without it.
func (s *testSelection) due(last *result.Run) (func(file, id string) bool, error) {
	switch s.rerun {
	case "":
		return func(string, string) bool { return true }, nil
	case rerunFailed, rerunErrors:
	default:
		return nil, wording.Errorf("--rerun is failed or errors, not %q", s.rerun)
	}
	if last == nil {
		return nil, calls.Errorf(calls.NotFound, "there is no last run").WithHint("run scheduler test without --rerun")
	}
	outcomes := map[[2]string]result.Outcome{}
	for _, file := range last.Suites {
		for _, c := range file.Cases {
			outcomes[[2]string{file.File, c.ID()}] = c.Outcome
		}
	}
	return func(file, id string) bool {
		outcome, ran := outcomes[[2]string{file, id}]
		if !ran {
			return last.Interrupted
		}
		return outcome == result.Error || outcome == result.Fail && s.rerun == rerunFailed
	}, nil
}

// loadTests reads the test files of paths, whose cases will run so many times; 0 leaves it to them. All problems of all
// files are printed; wrong is how many files have errors and are left out. The error is of a run in which no file is right.
func (a *app) loadTests(ctx context.Context, paths []string, repeat int) (suites []*suite.Suite, wrong []result.Problem, err error) {
	files, err := a.findTests(paths)
	if err != nil {
		return nil, nil, usageError(err)
	}
	loader, notes, err := a.runtime.TestLoader(string(a.Language))
	a.printNotes(notes)
	if err != nil {
		return nil, nil, a.beforeRun(err)
	}
	loader.Repeat = repeat
	for _, file := range files {
		s, problems := loader.Load(ctx, file)
		if ctx.Err() != nil {
			return nil, nil, exitError{exitInterrupted, wording.Errorf("interrupted")}
		}
		for _, p := range problems {
			fmt.Fprintln(a.Stderr, p.WithSnippet())
		}
		if s == nil {
			wrong = append(wrong, problemsOf(problems, string(a.Language))...)
			continue
		}
		suites = append(suites, s)
	}
	if len(suites) == 0 {
		return nil, wrong, exitError{code: exitUsage}
	}
	return suites, wrong, nil
}

// problemsOf returns the errors of a test file as results have them.
func problemsOf(problems flow.Problems, language string) (all []result.Problem) {
	for _, p := range problems.Errors().Localized(language) {
		at := result.Position{File: p.Pos.File, Line: p.Pos.Line, Col: p.Pos.Col}
		all = append(all, result.Problem{Kind: string(calls.Invalid), Message: p.Message, Hint: p.Hint, Position: at})
	}
	return all
}

// countFiles returns how many files have problems.
func countFiles(problems []result.Problem) int {
	files := map[string]bool{}
	for _, p := range problems {
		files[p.Position.File] = true
	}
	return len(files)
}

// findTests returns the test files of paths, each once, in their order.
func (a *app) findTests(paths []string) (files []string, err error) {
	if len(paths) == 0 {
		paths = []string{"./..."}
	}
	var problems []error
	for _, path := range paths {
		found, err := a.testsAt(path)
		if err != nil {
			problems = append(problems, err)
		}
		files = append(files, found...)
	}
	files = uniqueFiles(files)
	if len(problems) == 1 {
		return nil, problems[0] // with its hint
	}
	return files, errors.Join(problems...)
}

// testsAt returns the test files of a path.
func (a *app) testsAt(path string) (files []string, err error) {
	isTest := func(name string) bool {
		if isMisnamed := strings.HasSuffix(name, ".test.yml") || strings.HasSuffix(name, ".test.json"); isMisnamed {
			a.Tellf("note: %s does not run: test files are called NAME.test.yaml", name)
		}
		return strings.HasSuffix(name, suite.Suffix)
	}
	dir, isTree := strings.CutSuffix(filepath.ToSlash(path), "...")
	info, statErr := os.Stat(path)
	switch {
	case isTree:
		files, err = filesBelow(cmp.Or(filepath.FromSlash(strings.TrimSuffix(dir, "/")), "."), isTest)
	case statErr != nil:
		if near := flow.SimilarFile(path); near != "" {
			return nil, calls.Errorf(calls.NotFound, "there is no %s", path).WithHint("did you mean %s?", near)
		}
		return nil, calls.Errorf(calls.NotFound, "there is no %s", path).WithHint("name a test file, a flow, a folder, or DIR/... for all below it")
	case info.IsDir():
		files, err = filesIn(path, isTest)
	case isTest(path):
		return []string{path}, nil
	default:
		beside := strings.TrimSuffix(path, filepath.Ext(path)) + suite.Suffix
		if _, err := os.Stat(beside); err != nil {
			return nil, calls.Errorf(calls.NotFound, "the flow %s has no test file", path).WithHint("write %s", beside)
		}
		return []string{beside}, nil
	}
	if err == nil && len(files) == 0 {
		err = calls.Errorf(calls.NotFound, "there are no test files in %s", path).WithHint("write NAME.test.yaml beside NAME.yaml, or name DIR/... for all below a folder")
	}
	return files, err
}

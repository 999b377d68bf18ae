package service

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flowtest"
	"github.com/callnode/scheduler/scheduler/flowtest/calibrate"
	"github.com/callnode/scheduler/scheduler/flowtest/compare"
	"github.com/callnode/scheduler/scheduler/flowtest/report"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
	"github.com/callnode/scheduler/scheduler/flowtest/suite"
)

// AnnotateJudges adds the known calibration of judges to their verdicts in a run of these test files.
func (s *Service) AnnotateJudges(run *result.Run, suites []*suite.Suite) error {
	parts := s.parts.Tests
	kept, err := calibrate.Load(filepath.Join(parts.Files.Root, calibrate.File))
	if err != nil {
		return err
	}
	usual := strings.Join(parts.Options("").Models.Default(), llm.NameSeparator)
	for _, found := range run.Suites {
		judge := usual
		for _, one := range suites {
			if one.File == found.File {
				judge = cmp.Or(one.JudgeLLM, usual)
			}
		}
		kept.Annotate(&result.Run{Suites: []*result.Suite{found}}, judge)
	}
	return nil
}

// Tests are the test files below some folders, and the last results of their cases. [Service.NewTests] makes one
// for the life of a process; it is safe for concurrent use.
type Tests struct {
	parts    *TestParts
	annotate func(*result.Run, []*suite.Suite) error
	roots    []string
	// kept names the files of the runs of [Tests.Run], beside the last run of the command line, which --rerun and
	// --against use.
	kept      compare.Files
	isRunning atomic.Bool

	mu   sync.Mutex
	read map[string]lastRun // by file; guarded by mu
}

// keptTests is the file of the runs of [Tests.Run].
const keptTests = "serve.jsonl"

// NewTests returns the test files below the folders, and none if the program has no [TestParts].
func (s *Service) NewTests(roots []string) *Tests {
	t := &Tests{parts: s.parts.Tests, annotate: s.AnnotateJudges, read: map[string]lastRun{}}
	if t.parts != nil {
		t.roots = roots
		t.kept = compare.Files{Root: t.parts.Files.Root, Last: filepath.Join(filepath.Dir(t.parts.Files.Last), keptTests)}
	}
	return t
}

// PathOf returns the path of a file by its name in problems and results.
func (t *Tests) PathOf(name string) string {
	if filepath.IsAbs(name) || t.parts == nil {
		return name
	}
	path := filepath.Join(t.parts.Files.Root, filepath.FromSlash(name))
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return path
}

// TestFile is a test file as read. It does not change.
type TestFile struct {
	// Name is its path from the folder of the project, with slashes; Path is its actual path.
	Name, Path string
	// Language is the language of its problems and results.
	Language string
	// Suite is nil if errors are among the problems, which name files in the form of Name.
	Suite    *suite.Suite
	Problems flow.Problems
}

// Case returns the case with an id. The error of an unknown one is of kind NotFound.
func (f *TestFile) Case(id string) (*suite.Case, error) {
	if f.Suite == nil {
		return nil, calls.Errorf(calls.Invalid, "%s has errors", f.Name).WithHint("scheduler lint shows them")
	}
	selected, err := selectCases(f, []string{id})
	for c := range selected {
		return c, nil
	}
	return nil, err
}

// Names returns the names of all test files, sorted. Hidden folders are passed over, and links.
func (t *Tests) Names() ([]string, error) {
	files, err := t.paths()
	return slices.Sorted(maps.Keys(files)), err
}

// paths returns the paths of all test files by their names.
func (t *Tests) paths() (map[string]string, error) {
	files := map[string]string{}
	if len(t.roots) == 0 {
		return files, nil
	}
	loader, _, err := t.parts.Loader("")
	if err != nil {
		return nil, err
	}
	for _, root := range t.roots {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			isHidden := strings.HasPrefix(entry.Name(), ".") || entry.Name() == "node_modules"
			if entry.IsDir() && isHidden && path != root {
				return filepath.SkipDir
			}
			if entry.Type().IsRegular() && strings.HasSuffix(entry.Name(), suite.Suffix) {
				files[loader.NameOf(path)] = path
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

// find returns the path of a test file. The error of an unknown name is of kind NotFound.
func (t *Tests) find(name string) (string, error) {
	files, err := t.paths()
	if err != nil {
		return "", err
	}
	path, ok := files[name]
	if !ok {
		return "", calls.Errorf(calls.NotFound, "there is no test file %q", value.Truncate(name, 80)).
			WithHint("%s", wording.Of(value.DidYouMean(name, slices.Sorted(maps.Keys(files)))))
	}
	return path, nil
}

// File reads a test file and its flows, with problems in a language. The error of an unknown name is of kind NotFound.
func (t *Tests) File(ctx context.Context, name, language string) (*TestFile, error) {
	path, err := t.find(name)
	if err != nil {
		return nil, err
	}
	loader, _, err := t.parts.Loader(language)
	if err != nil {
		return nil, err
	}
	one := &TestFile{Name: name, Path: path, Language: language}
	one.Suite, one.Problems = loader.Load(ctx, path)
	for i := range one.Problems {
		one.Problems[i].Pos.File = loader.NameOf(one.Problems[i].Pos.File)
	}
	return one, nil
}

// Source returns the text of a test file. The error of an unknown name is of kind NotFound.
func (t *Tests) Source(name string) ([]byte, error) {
	path, err := t.find(name)
	if err != nil {
		return nil, err
	}
	return calls.ReadFile(path, maxFlowBytes)
}

// LastResults are the results of cases when they last ran. [Tests.Last] makes them; they do not change.
type LastResults struct{ cases map[[2]string]*result.Case }

// Of returns the result of a case of a test file; nil if it has not run.
func (l *LastResults) Of(file, id string) *result.Case { return l.cases[[2]string{file, id}] }

// Last returns the results of cases when they last ran, on the command line or by [Tests.Run].
func (t *Tests) Last() (*LastResults, error) {
	found := &LastResults{cases: map[[2]string]*result.Case{}}
	if t.parts == nil {
		return found, nil
	}
	for _, files := range []compare.Files{t.parts.Files, t.kept} {
		run, err := t.readLast(files)
		if err != nil {
			return nil, err
		}
		found.add(run)
	}
	return found, nil
}

// add adds the results of a run, if they are newer.
func (l *LastResults) add(run *result.Run) {
	for _, s := range run.Suites {
		for _, c := range s.Cases {
			if old := l.Of(s.File, c.ID()); old == nil || c.At.After(old.At) {
				l.cases[[2]string{s.File, c.ID()}] = c
			}
		}
	}
}

// History returns the results of a test file in earlier runs, on the command line or by [Tests.Run], the newest
// first, at most so many.
func (t *Tests) History(file string, limit int) ([]compare.Past, error) {
	if t.parts == nil {
		return nil, nil
	}
	return t.parts.Files.History(file, limit)
}

// lastRun is a run that was read, of a file that was written then and had that size.
type lastRun struct {
	written time.Time
	size    int64
	run     *result.Run
}

// readLast returns the last run of files; one without a case if there was none. It is read again when its file has
// changed, and its caller must not change it.
func (t *Tests) readLast(files compare.Files) (*result.Run, error) {
	info, err := os.Stat(files.Last)
	if errors.Is(err, fs.ErrNotExist) {
		return &result.Run{}, nil
	}
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if known := t.read[files.Last]; known.run != nil && known.written.Equal(info.ModTime()) && known.size == info.Size() {
		return known.run, nil
	}
	run, err := files.ReadLast()
	if err != nil {
		return nil, err
	}
	if run == nil { // it is gone since
		return &result.Run{}, nil
	}
	for _, s := range run.Suites {
		for _, c := range s.Cases {
			if c.At.IsZero() { // an earlier version of the program kept it
				c.At = info.ModTime()
			}
		}
	}
	t.read[files.Last] = lastRun{info.ModTime(), info.Size(), run}
	return run, nil
}

// ErrTestsRunning is the error of a test run beside another.
var ErrTestsRunning = wording.Errorf("tests are running already")

// maxTestTime is the default time limit of a test run.
const maxTestTime = 2 * time.Minute

// Run runs the cases with these ids of a test file without errors, or all. Models answer from cassettes, and only
// the results are written, which are kept for [Tests.Last]. Only one run at a time is possible: another returns
// [ErrTestsRunning]. Cases for which the time was too short have that as their problem. The error for an unknown
// id is of kind NotFound; if ctx ends, the error is its cause.
func (t *Tests) Run(ctx context.Context, file *TestFile, ids []string) (*result.Suite, []Note, error) {
	selected, err := selectCases(file, ids)
	if err != nil {
		return nil, nil, err
	}
	if !t.isRunning.CompareAndSwap(false, true) {
		return nil, nil, ErrTestsRunning
	}
	defer t.isRunning.Store(false)
	options := t.parts.Options(file.Language)
	options.Mode = result.Replay
	if options.Limits.Time == 0 {
		options.Limits.Time = maxTestTime
	}
	if len(ids) > 0 {
		options.Select = func(_ *suite.Suite, c *suite.Case) bool { return selected[c] }
	}
	suites := []*suite.Suite{file.Suite}
	run, err := flowtest.Run(ctx, suites, options)
	if run == nil {
		return nil, nil, calls.Errorf(calls.Invalid, "%w", err)
	}
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	var notes []Note
	if err := errors.Join(err, t.annotate(run, suites)); err != nil {
		notes = append(notes, newWarning("%w", err))
	}
	if options.Hidden != nil {
		run = report.MaskRun(run, options.Hidden.MaskText)
	}
	if err := errors.Join(t.keep(file, run), t.parts.Files.KeepHistory(run, time.Now())); err != nil {
		notes = append(notes, newWarning("%w", err))
	}
	return run.Suites[0], notes, nil
}

// selectCases returns the cases with these ids. The error of an unknown one is of kind NotFound.
func selectCases(file *TestFile, ids []string) (map[*suite.Case]bool, error) {
	byID := map[string]*suite.Case{}
	for _, c := range file.Suite.Cases {
		byID[c.ID()] = c
	}
	selected := map[*suite.Case]bool{}
	for _, id := range ids {
		c, ok := byID[id]
		if !ok {
			return nil, calls.Errorf(calls.NotFound, "there is no case %q in %s", value.Truncate(id, 80), file.Name).
				WithHint("%s", wording.Of(value.DidYouMean(id, slices.Sorted(maps.Keys(byID)))))
		}
		selected[c] = true
	}
	return selected, nil
}

// keep keeps a run of a test file beside the runs of other files, without cases that the files no longer have.
func (t *Tests) keep(file *TestFile, run *result.Run) error {
	last, err := t.readLast(t.kept)
	if err != nil {
		return err
	}
	names, err := t.Names()
	if err != nil {
		return err
	}
	all := result.Merge(last, run)
	all.Suites = slices.DeleteFunc(all.Suites, func(s *result.Suite) bool { return !slices.Contains(names, s.File) })
	known := map[string]bool{}
	for _, c := range file.Suite.Cases {
		known[c.ID()] = true
	}
	for _, s := range all.Suites {
		if s.File == file.Name {
			s.Cases = slices.DeleteFunc(slices.Clone(s.Cases), func(c *result.Case) bool { return !known[c.ID()] })
		}
	}
	err = t.kept.KeepLast(all)
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.read, t.kept.Last)
	return err
}

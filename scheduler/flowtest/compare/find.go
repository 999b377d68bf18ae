package compare

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/atomicfile"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
)

// Last is the name of the run before, for --against.
const Last = "last"

var baselineName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// Files names the files that keep runs to compare with.
type Files struct {
	// Root is the folder of the project, which holds the baselines.
	Root string
	// Last is the file of the lines of the run before.
	Last string
}

// Find returns the run that --against names: the run before for last, a baseline by its name, or any file
// that --bless or --json wrote.
func (f Files) Find(against string) (*Baseline, error) {
	file := f.resultPath(against)
	data, err := calls.ReadFile(file, calls.AnyLength)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, f.notFound(against)
	}
	if err != nil {
		return nil, err
	}
	b, err := parseRun(data)
	if err != nil {
		return nil, calls.Errorf(calls.Invalid, "%s: %w", file, err)
	}
	return b, nil
}

// resultPath returns the file of the run that --against names.
func (f Files) resultPath(against string) string {
	if against == Last {
		return f.Last
	}
	if baselineName.MatchString(against) && filepath.Ext(against) == "" {
		return filepath.Join(f.Root, against+Suffix)
	}
	return against
}

// Paths lists the files that a test run reads and keeps: the run before, and the baselines of the names given; the
// name "" is ignored.
func (f Files) Paths(names ...string) []string {
	paths := []string{f.Last}
	for _, name := range names {
		if name != "" {
			paths = append(paths, f.resultPath(name))
		}
	}
	return paths
}

// notFound returns the error of a run that is not there.
func (f Files) notFound(against string) error {
	if against == Last {
		return calls.Errorf(calls.NotFound, "there is no test run before this one").WithHint("run scheduler test once without --against")
	}
	names := f.names()
	err := calls.Errorf(calls.NotFound, "there is no baseline and no file %q", against)
	if hint := value.DidYouMeanOrList(against, names); hint != "" {
		return err.WithHint("%s", hint)
	}
	return err.WithHint("write one with scheduler test --bless %s", against)
}

// names returns the names of the baselines of the project.
func (f Files) names() (names []string) {
	entries, err := os.ReadDir(f.Root)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), Suffix); ok && name != "" {
			names = append(names, name)
		}
	}
	return names
}

// parseRun reads a baseline, or the lines of a run.
func parseRun(data []byte) (*Baseline, error) {
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte(`{"type"`)) {
		return ReadBaseline(data)
	}
	run, err := result.ReadLines(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return NewBaseline(run), nil
}

// Bless keeps a run as the baseline of that name, together with an earlier baseline's results of other test files,
// and of cases that did not run now but still exist, as keeps reports. It returns its file.
func (f Files) Bless(name string, run *result.Run, keeps func(file, id string) bool) (file string, err error) {
	if err := CheckName(name); err != nil {
		return "", err
	}
	file = filepath.Join(f.Root, name+Suffix)
	b := NewBaseline(run)
	data, err := calls.ReadFile(file, calls.AnyLength)
	if err == nil {
		old, err := ReadBaseline(data)
		if err != nil {
			return "", calls.Errorf(calls.Invalid, "%s: %w", file, err)
		}
		b = old.Replace(b, keeps)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	var out bytes.Buffer
	if err := b.Write(&out); err != nil {
		return "", err
	}
	if err := atomicfile.Write(file, out.Bytes(), 0o644); err != nil {
		return file, wording.Errorf("writing %s: %w", file, err)
	}
	return file, nil
}

// Has reports whether a test file of results is still in the project.
func (f Files) Has(file string) bool {
	_, err := os.Stat(filepath.Join(f.Root, filepath.FromSlash(file)))
	return !errors.Is(err, fs.ErrNotExist)
}

// CheckName returns an error if a baseline cannot have the name.
func CheckName(name string) error {
	if name == Last || !baselineName.MatchString(name) || filepath.Ext(name) != "" {
		return calls.Errorf(calls.Invalid, "a baseline cannot be called %q", name).
			WithHint("use letters, digits, - and _, as in main; last is the run before")
	}
	return nil
}

package flowtest_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/sqlmemory"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/tokens"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flowtest"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
	"github.com/callnode/scheduler/scheduler/flowtest/suite"
	"github.com/callnode/scheduler/scheduler/journal"
	journalmemory "github.com/callnode/scheduler/scheduler/journal/memory"
)

// world is a program with all that is built in, and with the calls of a test.
type world struct {
	loader  *flow.Loader
	options *flowtest.Options
}

// newWorld returns a world whose models are opened by a function; nil: it has no models.
func newWorld(t testing.TB, open func(name string) (llm.Provider, error), defs ...calls.Definition) *world {
	t.Helper()
	registry, err := builtin.Registry()
	if err != nil {
		t.Fatal(err)
	}
	for _, def := range defs {
		if err := registry.AddCall(def); err != nil {
			t.Fatal(err)
		}
	}
	loader := &flow.Loader{Registry: registry, Providers: []string{"main", "judge"}}
	return &world{loader, &flowtest.Options{
		Executor: func(*flow.Flow) (*scheduler.StepExecutor, error) {
			return &scheduler.StepExecutor{Env: calls.NewEnv(), Loader: loader}, nil
		},
		Memory: func(ctx context.Context, clock func() time.Time) (*memory.SnapshotProcessor, error) {
			store, err := sqlmemory.OpenTemporary(ctx, sqlmemory.FileOptions{Clock: clock})
			if err != nil {
				return nil, err
			}
			return &memory.SnapshotProcessor{Store: store, Clock: clock}, nil
		},
		Journal: func() journal.Journal { return journalmemory.New(time.Now) },
		Models: flowtest.Models{
			Default: func() []string { return []string{"main"} },
			Open:    open,
			Model:   func(string) string { return "" },
			Tokens:  func(string) llm.Counter { return tokens.For("") },
			Priced:  func(string) bool { return false },
		},
		Language: "en",
	}}
}

// unpack writes the files of an archive to a folder.
func unpack(t testing.TB, archive string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		path := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// load reads a test file.
func (w *world) load(t testing.TB, root, path string) *suite.Suite {
	t.Helper()
	s, problems := (&suite.Loader{Flows: w.loader, Root: root}).Load(t.Context(), path)
	if s == nil {
		t.Fatal(problems)
	}
	return s
}

// run runs test files.
func (w *world) run(t testing.TB, suites ...*suite.Suite) *result.Run {
	t.Helper()
	return runWith(context.Background(), t, w, suites...)
}

// runWith runs test files until ctx ends.
func runWith(ctx context.Context, t testing.TB, w *world, suites ...*suite.Suite) *result.Run {
	t.Helper()
	found, err := flowtest.Run(ctx, suites, w.options)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// runArchive runs the file a.test.yaml of an archive.
func (w *world) runArchive(t testing.TB, archive string) *result.Run {
	t.Helper()
	dir := unpack(t, archive)
	return w.run(t, w.load(t, dir, filepath.Join(dir, "a.test.yaml")))
}

// lines returns the output of --json.
func lines(t testing.TB, r *result.Run) string {
	t.Helper()
	var b bytes.Buffer
	if err := result.WriteLines(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// outcomes returns how each case ended, by its id.
func outcomes(r *result.Run) map[string]result.Outcome {
	found := map[string]result.Outcome{}
	for _, s := range r.Suites {
		for _, c := range s.Cases {
			found[c.ID()] = c.Outcome
		}
	}
	return found
}

// caseOf returns a case by its id.
func caseOf(t testing.TB, r *result.Run, id string) *result.Case {
	t.Helper()
	for _, s := range r.Suites {
		for _, c := range s.Cases {
			if c.ID() == id {
				return c
			}
		}
	}
	t.Fatalf("there is no case %q", id)
	return nil
}

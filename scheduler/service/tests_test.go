package service_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/sqlmemory"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/tokens"
	"github.com/callnode/scheduler/llm/value/secret"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flowtest"
	"github.com/callnode/scheduler/scheduler/flowtest/compare"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
	"github.com/callnode/scheduler/scheduler/flowtest/suite"
	"github.com/callnode/scheduler/scheduler/journal"
	journalmemory "github.com/callnode/scheduler/scheduler/journal/memory"
	"github.com/callnode/scheduler/scheduler/service"
)

// newTests returns the tests of a folder with one test file of two cases, with options that change may change.
func newTests(t *testing.T, change func(*flowtest.Options)) *service.Tests {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.yaml":      "steps: [{id: say, call: template, with: {template: x}}]\noutputs: {reply: \"{{ say.text }}\"}\n",
		"a.test.yaml": "cases:\n  - {name: first, expect: [{output: reply, equals: x}]}\n  - {name: second, expect: [{output: reply, equals: x}]}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	flows := &flow.Loader{Registry: registry(t)}
	s := service.New(service.Parts{Tests: &service.TestParts{
		Loader: func(language string) (*suite.Loader, []service.Note, error) {
			return &suite.Loader{Flows: flows, Root: dir, Language: language}, nil, nil
		},
		Options: func(language string) *flowtest.Options {
			o := &flowtest.Options{
				Executor: func(*flow.Flow) (*scheduler.StepExecutor, error) {
					return &scheduler.StepExecutor{Env: calls.NewEnv(), Loader: flows}, nil
				},
				Memory: func(ctx context.Context, clock func() time.Time) (*memory.SnapshotProcessor, error) {
					store, err := sqlmemory.OpenTemporary(ctx, sqlmemory.FileOptions{Clock: clock})
					return &memory.SnapshotProcessor{Store: store, Clock: clock}, err
				},
				Journal: func() journal.Journal { return journalmemory.New(time.Now) },
				Models: flowtest.Models{
					Default: func() []string { return nil }, Model: func(string) string { return "" }, Priced: func(string) bool { return false },
					Tokens: func(string) llm.Counter { return tokens.For("") },
				},
				Language: language,
			}
			change(o)
			return o
		},
		Files: compare.Files{Root: dir, Last: filepath.Join(dir, "state", "last.jsonl")},
	}})
	return s.NewTests([]string{dir})
}

// TestTestsRunOneAtATime: a second run is refused, and a run ends with its context, without results.
func TestTestsRunOneAtATime(t *testing.T) {
	began, goOn := make(chan struct{}, 2), make(chan struct{})
	tests := newTests(t, func(o *flowtest.Options) {
		whole := o.Executor
		o.Executor = func(f *flow.Flow) (*scheduler.StepExecutor, error) {
			began <- struct{}{}
			<-goOn
			return whole(f)
		}
	})
	file, err := tests.File(t.Context(), "a.test.yaml", "en")
	if err != nil {
		t.Fatal(err)
	}
	left := errors.New("the client has left")
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error)
	go func() {
		_, _, err := tests.Run(ctx, file, nil)
		ended <- err
	}()
	<-began
	if _, _, err := tests.Run(t.Context(), file, nil); !errors.Is(err, service.ErrTestsRunning) {
		t.Errorf("a second run: %v", err)
	}
	cancel(left)
	close(goOn)
	if err := <-ended; !errors.Is(err, left) {
		t.Errorf("the run ended with %v", err)
	}
	last, err := tests.Last()
	if err != nil || last.Of("a.test.yaml", "first") != nil {
		t.Errorf("a run that was left is kept: %+v, %v", last, err)
	}
	found, notes, err := tests.Run(t.Context(), file, []string{"second"})
	if err != nil || len(notes) > 0 || len(found.Cases) != 1 || found.Cases[0].Outcome != result.Pass {
		t.Errorf("the next run: %+v, %v, %v", found, notes, err)
	}
}

// TestTestsAreBounded: cases that the time does not suffice for say so.
func TestTestsAreBounded(t *testing.T) {
	tests := newTests(t, func(o *flowtest.Options) { o.Limits.Time = time.Nanosecond })
	file, err := tests.File(t.Context(), "a.test.yaml", "en")
	if err != nil {
		t.Fatal(err)
	}
	found, _, err := tests.Run(t.Context(), file, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range found.Cases {
		if c.Outcome != result.Error || c.Problem == nil || c.Problem.Kind != string(calls.Budget) {
			t.Errorf("%s: %s, %+v", c.Name, c.Outcome, c.Problem)
		}
	}
	if len(found.Cases) != 2 {
		t.Errorf("%d cases have results", len(found.Cases))
	}
}

// TestKeptTestsAreThoseOfTheFile: a case that the file does not have any more has no result.
func TestKeptTestsAreThoseOfTheFile(t *testing.T) {
	tests := newTests(t, func(*flowtest.Options) {})
	run := func() {
		file, err := tests.File(t.Context(), "a.test.yaml", "en")
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := tests.Run(t.Context(), file, []string{"second"}); err != nil {
			t.Fatal(err)
		}
	}
	file, err := tests.File(t.Context(), "a.test.yaml", "en")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := tests.Run(t.Context(), file, nil); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file.Path, []byte("cases: [{name: second, expect: [{output: reply, equals: y}]}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run()
	last, err := tests.Last()
	if err != nil || last.Of("a.test.yaml", "first") != nil {
		t.Fatalf("the first case has %+v, %v", last.Of("a.test.yaml", "first"), err)
	}
	second := last.Of("a.test.yaml", "second")
	if second == nil || second.Outcome != result.Fail || second.At.IsZero() {
		t.Errorf("the second case has %+v", second)
	}
}

// TestSecretsInTests: the value of a secret is neither shown in results nor kept.
func TestSecretsInTests(t *testing.T) {
	hidden := secret.NewSet(nil)
	hidden.Add("hunter2")
	tests := newTests(t, func(o *flowtest.Options) { o.Hidden = hidden })
	file, err := tests.File(t.Context(), "a.test.yaml", "en")
	if err != nil {
		t.Fatal(err)
	}
	flowPath := filepath.Join(filepath.Dir(file.Path), "a.yaml")
	for path, text := range map[string]string{
		flowPath:  "steps: [{id: say, call: template, with: {template: it is hunter2}}]\noutputs: {reply: \"{{ say.text }}\"}\n",
		file.Path: "cases: [{name: first, expect: [{output: reply, equals: it is known}]}]\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file, err = tests.File(t.Context(), "a.test.yaml", "en")
	if err != nil {
		t.Fatal(err)
	}
	found, _, err := tests.Run(t.Context(), file, nil)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(filepath.Join(filepath.Dir(file.Path), "state", "serve.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	message := found.Cases[0].Repeats[0].Checks[0].Message
	if found.Cases[0].Outcome != result.Fail || !strings.Contains(message, "it is ") || strings.Contains(message, "hunter2") || strings.Contains(string(kept), "hunter2") {
		t.Errorf("%s: %s\n%s", found.Cases[0].Outcome, message, kept)
	}
}

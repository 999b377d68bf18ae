// Package chaos kills a process that runs a flow, at random moments, and has others
// continue the run until it is finished. For example, it checks that no finished step runs a second time.
package chaos

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	flowcall "github.com/callnode/scheduler/calls/flow"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/sqljournal"
	"github.com/callnode/scheduler/scheduler/schedulertest"
	"github.com/callnode/scheduler/test/slow"
)

const (
	runID = "chaos"
	// childDir makes the test binary the process to be killed.
	childDir = "CHAOS_DIR"
	// slowRounds is how many flows the slow tests kill to their end; the others kill one,
	// and make chaos sets CHAOS_ROUNDS.
	slowRounds = 3
	// parallel is how many items of a list may be at work.
	parallel = 2
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := child(context.Background(), dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// TestKilledRuns holds runs that were killed again and again to the undisturbed
// one: equal outputs, every end recorded once, nothing run again that was recorded
// as finished, no more of a list to run again than was at work, a sound database.
func TestKilledRuns(t *testing.T) {
	rounds, growth := 1, 50 // growth is by how many ms a process may live longer than the last
	if slow.Enabled() {
		rounds, growth = slowRounds, 10
	}
	if n, err := strconv.Atoi(os.Getenv("CHAOS_ROUNDS")); err == nil {
		rounds = n
	}
	want := undisturbed(t)
	kills := 0
	for round := range rounds {
		dir := t.TempDir()
		files(t, dir)
		done := map[string]bool{}
		// Each process may live a little longer than the last: a slow machine finishes too.
		for life := 120; ; life += growth {
			killed := oneProcess(t, dir, time.Duration(10+rand.IntN(life))*time.Millisecond)
			began := checkWork(t, dir, done)
			done = finished(t, dir)
			checkLists(t, began, done)
			if !killed {
				break
			}
			kills++
		}
		if got := outputs(t, dir); got != want {
			t.Fatalf("round %d: outputs\n%s, want\n%s", round, got, want)
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d runs, %d kills", rounds, kills)
}

// undisturbed are the outputs of the flow when it is not killed.
func undisturbed(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	files(t, dir)
	if err := child(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	return outputs(t, dir)
}

// files writes the flow: 200 steps, chains beside each other, fans, a list, a
// flow in the flow, steps that are recorded piece by piece.
func files(t *testing.T, dir string) {
	t.Helper()
	var b strings.Builder
	b.WriteString("name: chaos\nsteps:\n")
	for i := range 200 {
		needs, with := "[]", "{}"
		switch {
		case i >= 4 && i%20 == 0: // a join
			needs = fmt.Sprintf("[s%d, s%d, s%d, s%d]", i-1, i-2, i-3, i-4)
			with = fmt.Sprintf(`{a: "{{ s%d }}", b: "{{ s%d }}"}`, i-1, i-4)
		case i >= 4 && i%20 <= 10 && i%20 > 0: // a fan
			needs = fmt.Sprintf("[s%d]", i/20*20)
			with = fmt.Sprintf(`{a: "{{ s%d }}"}`, i/20*20)
		case i >= 4: // chains
			needs = fmt.Sprintf("[s%d]", i-4)
			with = fmt.Sprintf(`{a: "{{ s%d }}"}`, i-4)
		}
		switch {
		case i%50 == 7:
			fmt.Fprintf(&b, "  - {id: s%d, call: work, needs: %s, for_each: [1, 2, 3, 4, 5], max_parallel: %d, with: {a: '{{ item }}'}}\n", i, needs, parallel)
		case i%50 == 17:
			fmt.Fprintf(&b, "  - {id: s%d, call: pieces, needs: %s, with: %s}\n", i, needs, with)
		case i%50 == 13:
			fmt.Fprintf(&b, "  - {id: s%d, call: flow, needs: %s, with: {path: inner.yaml, inputs: {x: %d}}}\n", i, needs, i)
		default:
			fmt.Fprintf(&b, "  - {id: s%d, call: work, needs: %s, with: %s}\n", i, needs, with)
		}
	}
	inner := `
steps:
  - {id: one, call: work, with: {a: "{{ inputs.x }}"}}
  - {id: two, call: work, with: {a: "{{ one }}"}}
  - {id: three, call: work, needs: [one], with: {a: "{{ one }}"}}
outputs: {a: "{{ two }}", b: "{{ three }}"}
`
	for name, text := range map[string]string{"flow.yaml": b.String(), "inner.yaml": inner} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// oneProcess starts a process that begins or continues the run, and kills it after a while; false means that it
// reached the end of the run.
func oneProcess(t *testing.T, dir string, life time.Duration) (killed bool) {
	t.Helper()
	var said bytes.Buffer
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	killer := time.AfterFunc(life, func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	killer.Stop()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return false
	case errors.As(err, &exit) && !exit.Exited():
		return true
	}
	t.Fatalf("the process failed: %v\n%s", err, said.String())
	return false
}

// child is the process: it runs the flow, or continues it.
func child(ctx context.Context, dir string) error {
	j, err := sqljournal.OpenFile(ctx, dir, sqljournal.FileOptions{})
	if err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(dir, "work.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	work := schedulertest.Do("work", func(_ context.Context, env *calls.Env, params value.Value) (any, error) {
		if _, err := fmt.Fprintln(log, env.Path, env.IdempotencyKey()); err != nil {
			return nil, err
		}
		time.Sleep(time.Duration(rand.IntN(6)) * time.Millisecond)
		text := params.JSON()
		return map[string]any{"sum": len(text) + strings.Count(text, "sum"), "at": env.Path}, nil
	})
	pieces := schedulertest.Do("pieces", func(ctx context.Context, env *calls.Env, params value.Value) (any, error) {
		for range 4 {
			output, err := calls.Once(ctx, env, "piece", params, func(ctx context.Context, env *calls.Env) (value.Value, error) {
				if _, err := fmt.Fprintln(log, env.Path, env.IdempotencyKey()); err != nil {
					return value.Value{}, err
				}
				return env.Calls.RunCall(ctx, "work", params)
			})
			if err != nil {
				return nil, err
			}
			params = output
		}
		return params, nil
	})
	registry, err := calls.NewRegistry(work, pieces, flowcall.Definition())
	if err != nil {
		return err
	}
	loader := &flow.Loader{Registry: registry}
	exec := &scheduler.StepExecutor{
		Loader: loader, Journal: j, NewRunID: func() string { return runID },
	}
	var known *calls.Error
	_, err = scheduler.Collect(exec.Resume(ctx, runID, scheduler.Resumption{}))
	if errors.As(err, &known) && known.Kind == calls.NotFound {
		f, problems := loader.Load(filepath.Join(dir, "flow.yaml"))
		if f == nil {
			return problems
		}
		_, err = scheduler.Collect(exec.Run(ctx, f, value.Value{}))
	}
	if info, infoErr := j.Run(ctx, runID); infoErr == nil && info.State == journal.RunFinished {
		err = nil // it was killed after its last event
	}
	return errors.Join(err, j.Close())
}

// finished are the steps and items that the journal has as finished, each once.
func finished(t *testing.T, dir string) map[string]bool {
	t.Helper()
	done := map[string]bool{}
	read(t, dir, func(j *sqljournal.Journal) {
		if _, err := j.Run(t.Context(), runID); calls.KindOf(err) == calls.NotFound {
			return
		}
		seq := int64(0)
		for ev, err := range j.Events(t.Context(), runID, 1) {
			if err != nil {
				t.Fatal(err)
			}
			if seq++; ev.Seq != seq {
				t.Fatalf("event %d has seq %d", seq, ev.Seq)
			}
			if ev.Type != journal.StepFinished {
				continue
			}
			id := ev.Step
			if ev.Index != nil {
				id += fmt.Sprintf("[%d]", *ev.Index)
			}
			if done[id] {
				t.Errorf("%s finished twice", id)
			}
			done[id] = true
		}
		if err := j.Check(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return done
}

// checkWork checks that the last process began no work that was already done.
func checkWork(t *testing.T, dir string, done map[string]bool) (began []string) {
	t.Helper()
	name := filepath.Join(dir, "work.log")
	f, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		path, key, whole := strings.Cut(lines.Text(), " ")
		if whole && key != "" && key != runID+"/"+path {
			t.Errorf("%s has the idempotency key %s", path, key)
		}
		if done[path] {
			t.Errorf("%s was finished, and ran again", path)
		}
		began = append(began, path)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	return began
}

// checkLists checks the items that have begun and are not done: at most as many of a list as may be at work at
// once.
func checkLists(t *testing.T, began []string, done map[string]bool) {
	t.Helper()
	open := map[string]int{}
	for _, path := range began {
		if step, _, item := strings.Cut(path, "["); item && !done[path] {
			if open[step]++; open[step] > parallel {
				t.Errorf("%d items of %s have begun and are not done", open[step], step)
			}
		}
	}
}

func outputs(t *testing.T, dir string) (text string) {
	t.Helper()
	read(t, dir, func(j *sqljournal.Journal) {
		state, err := journal.Fold(j.Events(t.Context(), runID, 1))
		if err != nil {
			t.Fatal(err)
		}
		if state.State != journal.RunFinished {
			t.Errorf("the run is %s", state.State)
		}
		text = state.Outputs.JSON()
	})
	return text
}

func read(t *testing.T, dir string, look func(*sqljournal.Journal)) {
	t.Helper()
	j, err := sqljournal.OpenFile(t.Context(), dir, sqljournal.FileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	look(j)
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}

package flowtest_test

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
)

// counting is a model that numbers its answers.
type counting struct {
	name string

	mu    sync.Mutex
	asked int
}

func (c *counting) Chat(_ context.Context, _ *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		c.mu.Lock()
		c.asked++
		text := fmt.Sprintf("%s %d", c.name, c.asked)
		c.mu.Unlock()
		yield(llm.Delta{Text: text, FinishReason: "stop", Usage: &llm.Usage{InputTokens: 10, OutputTokens: 2, Cost: 0.5}}, nil)
	}
}

func (c *counting) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked
}

const recorded = `
-- a.yaml --
name: a
inputs: {type: object, properties: {question: {type: string, default: hello}}}
steps:
  - {id: first, call: chat, with: {user: "{{ inputs.question }}"}}
  - {id: again, call: chat, with: {user: "{{ inputs.question }}"}}
outputs: {reply: "{{ first.text }}, {{ again.text }}"}
-- a.test.yaml --
cases:
  - name: repeated
    repeat: 3
    pass: {rate: 0.9}
    expect:
      - {output: reply, matches: "^main [0-9]+, main [0-9]+$"}
      - {run: {tokens: {max: 24}, cost: {min: 0.99, max: 1.01}}}
  - name: other
    llm: judge
    inputs: {question: other}
    expect: [{output: reply, contains: judge}]
`

func TestRecordAndReplay(t *testing.T) {
	models := map[string]*counting{"main": {name: "main"}, "judge": {name: "judge"}}
	w := newWorld(t, func(name string) (llm.Provider, error) { return models[name], nil })
	dir := unpack(t, recorded)
	path := filepath.Join(dir, "a.test.yaml")
	s := w.load(t, dir, path)

	if got := outcomes(w.run(t, s)); got["repeated"] != result.Error || got["other"] != result.Error {
		t.Errorf("without a cassette the outcomes are %v", got)
	}
	w.options.Mode = result.Record
	r := w.run(t, s)
	if got := outcomes(r); got["repeated"] != result.Pass || got["other"] != result.Pass {
		t.Fatalf("recording: the outcomes are %v\n%s", got, lines(t, r))
	}
	if models["main"].count() != 6 || models["judge"].count() != 2 {
		t.Errorf("asked were %d and %d times", models["main"].count(), models["judge"].count())
	}
	for _, name := range []string{"main", "judge"} {
		if _, err := os.Stat(filepath.Join(dir, "a.test."+name+".cassette.yaml")); err != nil {
			t.Error(err)
		}
	}
	w.options.Mode = result.Replay
	first := w.run(t, s)
	if got := outcomes(first); got["repeated"] != result.Pass || got["other"] != result.Pass || models["main"].count() != 6 {
		t.Errorf("replay: the outcomes are %v\n%s", got, lines(t, first))
	}
	c := caseOf(t, first, "repeated")
	for i, r := range c.Repeats {
		if r.RecordedMS == nil || !r.PriceKnown || r.Usage.Total() != 24 || r.Usage.Cost != 1 {
			t.Errorf("repeat %d: %+v", i+1, r)
		}
	}
	if a, b := c.Repeats[0].Outputs, c.Repeats[1].Outputs; a == b {
		t.Errorf("two repeats play the same take: %s", a)
	}
	if second := w.run(t, s); lines(t, first) != lines(t, second) {
		t.Errorf("two replays differ:\n%s\n%s", lines(t, first), lines(t, second))
	}
}

// A take that is missing is an error, and not the last take again.
func TestMissingTake(t *testing.T) {
	model := &counting{name: "main"}
	w := newWorld(t, func(name string) (llm.Provider, error) {
		if name == "judge" {
			return llmFunc(func(*llm.Request) string { return "judge" }), nil
		}
		return model, nil
	})
	dir := unpack(t, recorded)
	path := filepath.Join(dir, "a.test.yaml")
	w.options.Mode = result.Record
	w.run(t, w.load(t, dir, path))
	w.options.Mode, w.options.Repeat = result.Replay, 4
	r := w.run(t, w.load(t, dir, path))
	c := caseOf(t, r, "repeated")
	if c.Outcome != result.Error || len(c.Repeats) != 4 {
		t.Fatalf("%s after %d repeats\n%s", c.Outcome, len(c.Repeats), lines(t, r))
	}
	p := c.Repeats[3].Problem
	if p == nil || !strings.Contains(p.Message, "take 4") || !strings.Contains(p.Hint, "--record") {
		t.Errorf("the problem is %+v", p)
	}
	asked := model.count()
	w.options.Mode = result.Record // missing takes
	if got := outcomes(w.run(t, w.load(t, dir, path))); got["repeated"] != result.Pass {
		t.Errorf("the outcomes are %v", got)
	}
	if more := model.count() - asked; more != 2 {
		t.Errorf("%d answers were recorded, of which 2 were missing", more)
	}
}

// Unused takes are dropped if that is asked for, and all cases have run.
func TestPrune(t *testing.T) {
	model := &counting{name: "main"}
	w := newWorld(t, func(name string) (llm.Provider, error) {
		if name == "judge" {
			return llmFunc(func(*llm.Request) string { return "judge" }), nil
		}
		return model, nil
	})
	dir := unpack(t, recorded)
	path := filepath.Join(dir, "a.test.yaml")
	w.options.Mode = result.Record
	w.run(t, w.load(t, dir, path))
	takes := func() int {
		text, err := os.ReadFile(filepath.Join(dir, "a.test.main.cassette.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(text), "key: ")
	}
	if takes() != 6 {
		t.Fatalf("%d takes", takes())
	}
	w.options.Repeat = 2
	w.run(t, w.load(t, dir, path))
	if takes() != 6 {
		t.Fatalf("without prune there are %d takes", takes())
	}
	w.options.Prune = true
	w.run(t, w.load(t, dir, path))
	if takes() != 4 {
		t.Errorf("%d takes are left, want 4", takes())
	}
}

// A case stops when no repeat can change its verdict.
func TestCurtailed(t *testing.T) {
	r := newWorld(t, nil).runArchive(t, `
-- a.yaml --
name: a
steps: [{id: start, call: template, with: {template: !raw "go"}}]
-- a.test.yaml --
defaults: {repeat: 10, pass: {rate: 0.8}}
cases:
  - {name: passes, expect: [{output: start, contains: go}]}
  - {name: fails, expect: [{output: start, contains: stop}]}
`)
	if c := caseOf(t, r, "passes"); c.Outcome != result.Pass || len(c.Repeats) != 8 {
		t.Errorf("%s after %d repeats", c.Outcome, len(c.Repeats))
	}
	if c := caseOf(t, r, "fails"); c.Outcome != result.Fail || len(c.Repeats) != 3 {
		t.Errorf("%s after %d repeats", c.Outcome, len(c.Repeats))
	}
}

// The judge is recorded beside the answers.
func TestJudgeIsRecorded(t *testing.T) {
	judge := llmFunc(func(*llm.Request) string { return `{"criteria":[{"reason":"it does","met":true}]}` })
	model := &counting{name: "main"}
	w := newWorld(t, func(name string) (llm.Provider, error) {
		if name == "judge" {
			return judge, nil
		}
		return model, nil
	})
	dir := unpack(t, `
-- a.yaml --
name: a
steps: [{id: answer, call: chat, with: {user: hello}}]
-- a.test.yaml --
judge: {llm: judge}
cases:
  - {name: judged, expect: [{output: answer, judge: {criteria: [Greets]}}]}
`)
	path := filepath.Join(dir, "a.test.yaml")
	w.options.Mode = result.Record
	r := w.run(t, w.load(t, dir, path))
	if outcomes(r)["judged"] != result.Pass {
		t.Fatal(lines(t, r))
	}
	w.options.Mode = result.Replay
	if r := w.run(t, w.load(t, dir, path)); outcomes(r)["judged"] != result.Pass || model.count() != 1 {
		t.Error(lines(t, r))
	}
	if err := os.Remove(filepath.Join(dir, "a.test.judge.cassette.yaml")); err != nil {
		t.Fatal(err)
	}
	if r := w.run(t, w.load(t, dir, path)); outcomes(r)["judged"] != result.Error {
		t.Errorf("without the judge's cassette:\n%s", lines(t, r))
	}
}

// llmFunc is a model that is a function.
type llmFunc func(req *llm.Request) string

func (f llmFunc) Chat(_ context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) { yield(llm.Delta{Text: f(req)}, nil) }
}

// A limit on the cost has no effect if prices are not known, and says so.
func TestCostIsNotKnown(t *testing.T) {
	const tests = `
-- a.yaml --
name: a
steps: [{id: first, call: chat, with: {user: hello}}]
outputs: {reply: "{{ first.text }}"}
-- a.test.yaml --
limits: {cost: 5}
cases:
  - {name: one, expect: [{output: reply, contains: hello}]}
  - {name: two, expect: [{output: reply, contains: hello}]}
`
	model := llmFunc(func(*llm.Request) string { return "hello" })
	for _, test := range []struct {
		isPriced bool
		want     result.Outcome
	}{{true, result.Pass}, {false, result.Error}} {
		w := newWorld(t, func(string) (llm.Provider, error) { return model, nil })
		w.options.Mode, w.options.Parallel = result.Live, 1
		w.options.Models.Priced = func(string) bool { return test.isPriced }
		dir := unpack(t, tests)
		r := w.run(t, w.load(t, dir, filepath.Join(dir, "a.test.yaml")))
		one := caseOf(t, r, "one")
		if one.Outcome != test.want {
			t.Errorf("priced %v: the outcome is %s\n%s", test.isPriced, one.Outcome, lines(t, r))
		}
		if p := one.Repeats[0].Problem; !test.isPriced && (p == nil || !strings.Contains(p.Message, "not known")) {
			t.Errorf("the problem is %+v", p)
		}
		if !test.isPriced && !strings.Contains(lines(t, r), "cannot be held") {
			t.Errorf("the other case says nothing:\n%s", lines(t, r))
		}
	}
}

// A failed check stays a failure even if the run has failed, too.
func TestFailedRunOfFailedCheck(t *testing.T) {
	w := newWorld(t, nil)
	r := w.runArchive(t, `
-- a.yaml --
name: a
steps: [{id: first, call: template, with: {template: "{{ 1 // inputs.by }}"}}]
inputs: {type: object, properties: {by: {type: integer, default: 0}}}
outputs: {reply: "{{ first.text }}"}
-- a.test.yaml --
cases:
  - {name: one, expect: [{event: step.finished, count: 1}]}
`)
	one := caseOf(t, r, "one")
	if one.Outcome != result.Fail || one.Repeats[0].Problem == nil {
		t.Errorf("the outcome is %s, the problem %+v\n%s", one.Outcome, one.Repeats[0].Problem, lines(t, r))
	}
}

// Results of a run do not depend on the working directory, nor on how the test file was named.
func TestResultsNameNoFolder(t *testing.T) {
	w := newWorld(t, nil)
	dir := unpack(t, recorded)
	first := lines(t, w.run(t, w.load(t, dir, filepath.Join(dir, "a.test.yaml"))))
	if !strings.Contains(first, "in a.test.main.cassette.yaml, and there is no such file;") {
		t.Errorf("the lines do not name the cassette from the project:\n%s", first)
	}
	below := filepath.Join(dir, "below")
	if err := os.Mkdir(below, 0o750); err != nil {
		t.Fatal(err)
	}
	for folder, path := range map[string]string{dir: "a.test.yaml", below: filepath.Join("..", "a.test.yaml")} {
		t.Chdir(folder)
		if got := lines(t, w.run(t, w.load(t, dir, path))); got != first {
			t.Errorf("in %s the lines are\n%s\nnot\n%s", folder, got, first)
		}
	}
}

// A judge that gives no verdict is asked again by the next recording, even if an older recording has kept its
// answer.
func TestJudgeWithoutVerdictIsNotKept(t *testing.T) {
	const verdict = `{"criteria": [{"reason": "well said", "met": true}]}`
	says, asked := "I cannot say.", 0
	w := newWorld(t, func(name string) (llm.Provider, error) {
		return llmFunc(func(*llm.Request) string {
			if name == "main" {
				return "hello"
			}
			asked++
			return says
		}), nil
	})
	dir := unpack(t, `
-- a.yaml --
name: a
steps: [{id: first, call: chat, with: {user: hello}}]
outputs: {reply: "{{ first.text }}"}
-- a.test.yaml --
judge: {llm: judge}
cases:
  - name: judged
    expect: [{output: reply, judge: {criteria: [it is friendly]}}]
`)
	path := filepath.Join(dir, "a.test.yaml")
	expect := func(mode result.Mode, want result.Outcome, times int) {
		t.Helper()
		w.options.Mode, asked = mode, 0
		r := w.run(t, w.load(t, dir, path))
		if got := outcomes(r)["judged"]; got != want || asked != times {
			t.Errorf("%s: %s after %d requests to the judge, want %s after %d\n%s", mode, got, asked, want, times, lines(t, r))
		}
	}
	expect(result.Record, result.Error, 2)
	expect(result.Replay, result.Error, 0)
	says = verdict
	expect(result.Record, result.Pass, 1)
	expect(result.Record, result.Pass, 0)
	expect(result.Replay, result.Pass, 0)

	cassette := filepath.Join(dir, "a.test.judge.cassette.yaml")
	kept, err := os.ReadFile(cassette)
	if err != nil {
		t.Fatal(err)
	}
	echo := strings.ReplaceAll(string(kept), "well said", "...")
	if err := os.WriteFile(cassette, []byte(echo), 0o600); err != nil {
		t.Fatal(err)
	}
	expect(result.Replay, result.Error, 0)
	expect(result.Record, result.Pass, 1)
	expect(result.Replay, result.Pass, 0)
}

// A threshold applies to decided checks: an undecided check leaves the case undecided, even if another has failed
// and the mean of the rest is enough.
func TestThresholdOfUndecided(t *testing.T) {
	r := newWorld(t, nil).runArchive(t, `
-- a.yaml --
name: a
steps: [{id: answer, call: chat, with: {user: hello}}]
outputs: {reply: "{{ answer.text }}"}
-- a.test.yaml --
defaults: {llm: [hi], threshold: 0.4}
cases:
  - {name: enough, expect: [{output: reply, equals: hi}, {output: reply, equals: ho}]}
  - {name: too few, expect: [{output: reply, equals: hi}, {output: reply, equals: ho}, {output: reply, equals: he}]}
  - {name: undecided, expect: [{output: reply, equals: hi}, {output: reply, equals: ho}, {output: reply, that: "{{ value.nope }}"}]}
`)
	want := map[string]result.Outcome{"enough": result.Pass, "too few": result.Fail, "undecided": result.Error}
	if got := outcomes(r); !maps.Equal(got, want) {
		t.Errorf("%v, want %v\n%s", got, want, lines(t, r))
	}
}

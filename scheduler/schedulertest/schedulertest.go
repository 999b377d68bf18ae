// Package schedulertest runs a flow given as text, with fakes for all that is
// outside:
//
//	r := schedulertest.Run(t, `
//	name: hello
//	steps: [{id: hi, call: say, with: {text: "Hello, {{ inputs.name }}!"}}]
//	`, schedulertest.Inputs(`{"name": "Ada"}`))
//	fmt.Println(r.Outputs) // {"hi":{"text":"Hello, Ada!"}}
//
// Files beside the flow follow it in the same text, in the txtar format. Time
// stands still, ids are known, waiting takes no time: the same flow gives the
// same events.
package schedulertest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// Now is the time of every run.
var Now = time.Date(2026, 3, 5, 9, 7, 0, 0, time.UTC)

// File is the name that flows have in messages.
const File = "flow.yaml"

// Result is what a run left.
type Result struct {
	*scheduler.Result
	// Flow is the flow as it was loaded.
	Flow *flow.Flow
	// Err is why the run failed, or nil.
	Err error
	// Slept are the waits before further attempts, in order.
	Slept []time.Duration

	setup   *setup
	slept   func() []time.Duration
	waiting []journal.WaitingFor
}

// Option changes how a flow is run.
type Option func(*setup)

type setup struct {
	ctx    context.Context
	inputs value.Value
	calls  []calls.Definition
	vars   []variables
	loader flow.Loader
	exec   scheduler.StepExecutor
	err    error
}

type variables struct {
	resolver plugins.Resolver
	names    []string
}

// With adds calls to those of [Fakes]; one of the same name takes the fake's
// place.
func With(defs ...calls.Definition) Option {
	return func(s *setup) { s.calls = append(s.calls, defs...) }
}

// Inputs returns the flow its inputs as JSON.
func Inputs(json string) Option {
	return func(s *setup) { s.inputs, s.err = value.ParseJSON([]byte(json)) }
}

// Resolver returns the flow variables.
func Resolver(r plugins.Resolver, names ...string) Option {
	return func(s *setup) { s.vars = append(s.vars, variables{r, names}) }
}

// LLM returns the calls a model.
func LLM(provider llm.Provider) Option {
	return func(s *setup) { s.exec.Env.LLM = provider }
}

// Context runs the flow under ctx.
func Context(ctx context.Context) Option {
	return func(s *setup) { s.ctx = ctx }
}

// Secret lets the flow use secrets.NAME.
func Secret(name, secret string) Option {
	return func(s *setup) {
		before := s.exec.Secrets
		s.loader.Secrets = append(s.loader.Secrets, name)
		s.exec.Secrets = func(n string) (string, bool) {
			if n == name {
				return secret, true
			}
			return before(n)
		}
	}
}

// Executor changes the executor before the run, and its Env.
func Executor(change func(*scheduler.StepExecutor)) Option {
	return func(s *setup) { change(&s.exec) }
}

// ChangeLoader changes how the flow is loaded, and those whose paths come up in the run.
func ChangeLoader(change func(*flow.Loader)) Option {
	return func(s *setup) { change(&s.loader) }
}

// Run loads the flow and runs it. A flow that does not load ends the test; a run
// that fails is in Result.Err. A flow with files beside it runs in a directory of
// its own, so that such a test cannot run in parallel with others.
func Run(t testing.TB, flow string, options ...Option) *Result {
	t.Helper()
	archive := txtar.Parse([]byte(flow))
	unpackArchive(t, archive)
	s := newSetup(t)
	for _, option := range options {
		option(s)
	}
	if s.err != nil {
		t.Fatalf("the inputs: %v", s.err)
	}
	r := &Result{setup: s, slept: s.newExecutor(t)}
	r.Flow = s.loadFlow(t, archive.Comment)
	r.collectEvents(s.exec.Run(s.ctx, r.Flow, s.inputs))
	return r
}

func (r *Result) collectEvents(events iter.Seq2[*journal.Event, error]) {
	before := len(r.slept())
	r.Result, r.Err = scheduler.Collect(events)
	r.Slept = r.slept()[before:]
	var w *scheduler.Waiting
	if errors.As(r.Err, &w) {
		r.waiting = w.For
	} else if len(r.Events) > 0 {
		r.waiting = nil
	}
}

// Resume goes on with a run that has a journal, by the same executor. Answers are
// STEP:/pointer=value, for the steps that the run waits for; one that cannot be
// read is the error of the result.
func (r *Result) Resume(with scheduler.Resumption, answers ...string) *Result {
	next := *r
	next.Result, next.Slept, next.Err = &scheduler.Result{}, nil, nil
	for _, text := range answers {
		answer, err := scheduler.ParseAnswer(text, r.waiting)
		if err != nil {
			next.Err = err
			return &next
		}
		with.Answers = append(with.Answers, answer)
	}
	next.collectEvents(r.setup.exec.Resume(r.setup.ctx, "run-1", with))
	return &next
}

// Load loads a flow with the fakes; one that does not load ends the test.
func Load(t testing.TB, flow string, options ...Option) *flow.Flow {
	t.Helper()
	s := newSetup(t)
	for _, option := range options {
		option(s)
	}
	s.newExecutor(t)
	return s.loadFlow(t, []byte(flow))
}

// Loader returns what [Load] loads with.
func Loader(t testing.TB, options ...Option) *flow.Loader {
	t.Helper()
	s := newSetup(t)
	for _, option := range options {
		option(s)
	}
	s.newExecutor(t)
	return &s.loader
}

func newSetup(t testing.TB) *setup {
	t.Helper()
	s := &setup{ctx: t.Context()}
	s.exec.Env = calls.NewEnv()
	s.exec.Env.Clock = func() time.Time { return Now }
	s.exec.Stopwatch = s.exec.Env.Clock
	s.exec.NewRunID = func() string { return "run-1" }
	s.exec.Secrets = func(string) (string, bool) { return "", false }
	s.loader.Secrets = []string{}
	return s
}

// newExecutor makes the registry, and lets the executor wait without waiting; slept
// tells how long it would have.
func (s *setup) newExecutor(t testing.TB) (slept func() []time.Duration) {
	t.Helper()
	named := map[string]calls.Definition{}
	for _, def := range append(Fakes(), s.calls...) {
		named[def.Info.Name] = def
	}
	defs := make([]calls.Definition, 0, len(named))
	for _, def := range named {
		defs = append(defs, def)
	}
	registry, err := calls.NewRegistry(defs...)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range s.vars {
		if err := registry.AddResolver(v.resolver, v.names...); err != nil {
			t.Fatal(err)
		}
	}
	s.loader.Registry, s.exec.Loader = registry, &s.loader
	var mu sync.Mutex
	var waits []time.Duration
	if s.exec.Sleep == nil {
		s.exec.Sleep = func(ctx context.Context, d time.Duration) error {
			mu.Lock()
			defer mu.Unlock()
			waits = append(waits, d)
			return ctx.Err()
		}
	}
	return func() []time.Duration { return waits }
}

func (s *setup) loadFlow(t testing.TB, src []byte) *flow.Flow {
	t.Helper()
	flow, problems := s.loader.Parse(File, src)
	if flow == nil {
		t.Fatalf("the flow does not load:\n%v", problems)
	}
	return flow
}

// unpackArchive writes the files of an archive into a directory and goes there.
func unpackArchive(t testing.TB, archive *txtar.Archive) {
	t.Helper()
	if len(archive.Files) == 0 {
		return
	}
	t.Chdir(t.TempDir())
	for _, f := range archive.Files {
		path := filepath.FromSlash(f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Log returns the events of the run as text, one line each: type, step and what
// matters of the data.
func (r *Result) Log() string {
	var b strings.Builder
	for _, ev := range r.Events {
		b.WriteString(Line(ev) + "\n")
	}
	return b.String()
}

// Line returns an event as a line of text.
func Line(ev *journal.Event) string {
	parts := []string{string(ev.Type)}
	if ev.Step != "" {
		step := ev.Step
		if ev.Index != nil {
			step += fmt.Sprintf("[%d]", *ev.Index)
		}
		parts = append(parts, step)
	}
	d := ev.Data
	if d == nil {
		return strings.Join(parts, " ")
	}
	if d.Message != "" {
		parts = append(parts, "message: "+d.Message)
	}
	for _, v := range []*value.Value{d.Inputs, d.Params, d.Output, d.Outputs, d.Answers} {
		if v != nil {
			parts = append(parts, v.JSON())
		}
	}
	if d.Params == nil && d.Input != nil {
		parts = append(parts, d.Input.JSON())
	}
	if d.RemainingSchema != nil {
		parts = append(parts, "for "+d.RemainingSchema.JSON())
	}
	for _, w := range d.Waiting {
		parts = append(parts, w.String())
	}
	for _, pointer := range d.Masked {
		parts = append(parts, "masked "+pointer)
	}
	if d.Attempt > 0 {
		parts = append(parts, fmt.Sprintf("attempt %d, next in %s", d.Attempt, time.Duration(d.DelayMS)*time.Millisecond))
	}
	if d.Reason != "" {
		parts = append(parts, d.Reason)
	}
	if d.Error != nil {
		parts = append(parts, fmt.Sprintf("%s: %s", d.Error.Kind, d.Error.Message))
	}
	if d.Usage != nil && d.Usage.Total() > 0 {
		parts = append(parts, fmt.Sprintf("(%d tokens in, %d out)", d.Usage.InputTokens, d.Usage.OutputTokens))
	}
	if d.Text != "" {
		parts = append(parts, fmt.Sprintf("%q", d.Text))
	}
	return strings.Join(parts, " ")
}

// State returns the run rebuilt from its events.
func (r *Result) State() *journal.RunState {
	state := journal.NewRunState()
	for _, ev := range r.Events {
		state.Add(ev)
	}
	return state
}

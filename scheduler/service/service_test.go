package service_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
	journalmemory "github.com/callnode/scheduler/scheduler/journal/memory"
	"github.com/callnode/scheduler/scheduler/service"
)

// newService is a service with a journal in memory and a model that repeats.
func newService() *service.Service {
	return newServiceOf(scripted.Echo{}, func(context.Context, bool) (journal.Journal, error) { return journalmemory.New(time.Now), nil })
}

// newServiceOf is a service with that model and journal, and further parts.
func newServiceOf(model llm.Provider, openJournal func(ctx context.Context, write bool) (journal.Journal, error), more ...func(*service.Parts)) *service.Service {
	loader := func(service.Surroundings) (*flow.Loader, []service.Note, error) {
		registry, err := builtin.Registry()
		return &flow.Loader{Registry: registry, Secrets: []string{"KEY"}}, nil, err
	}
	parts := service.Parts{
		Loader: loader,
		Viewer: func() (*flow.Loader, error) {
			l, _, err := loader(service.Surroundings{})
			return l, err
		},
		Executor: func(_ *flow.Flow, o service.ExecutorOptions) (*scheduler.StepExecutor, []service.Note, error) {
			l, _, err := loader(o.Surroundings)
			env := calls.NewEnv()
			env.LLM = model
			secrets := func(name string) (string, bool) { return "kj34hf87fhjdk2", name == "KEY" }
			return &scheduler.StepExecutor{Env: env, Loader: l, Secrets: secrets}, nil, err
		},
		Provider: func(name string) (llm.Provider, error) {
			if name != "second" {
				return nil, calls.Errorf(calls.Invalid, "unknown provider %q", name)
			}
			return scripted.Echo{}, nil
		},
		CallEnv: func(asksModel bool) (*calls.Env, error) {
			env := calls.NewEnv()
			if asksModel {
				env.LLM = scripted.Echo{}
			}
			var err error
			env.Registry, err = builtin.Registry()
			return env, err
		},
		Journal:   openJournal,
		Languages: func() *flow.Languages { return &flow.Languages{Default: "en"} },
	}
	for _, add := range more {
		add(&parts)
	}
	return service.New(parts)
}

// registry has the built-in calls.
func registry(t *testing.T) *calls.Registry {
	t.Helper()
	r, err := builtin.Registry()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Many runs at once share one service: each has its events, its text and its record.
func TestRunsAtOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "echo.yaml")
	const text = `
inputs: {type: object, required: [question], properties: {question: {type: string}}}
steps: [{id: answer, call: chat, with: {user: "{{ inputs.question }}"}, to_user: true}]
outputs: {reply: "{{ answer.text }}"}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newService()
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			question := fmt.Sprintf("question %d", i)
			if said, err := runOnce(t.Context(), s, file, question); err != nil || said != question+"\n" {
				t.Errorf("%q: %q, %v", question, said, err)
			}
		})
	}
	all.Wait()
	n := 0
	for info, err := range s.Runs(t.Context(), service.Principal{}, journal.RunFilter{}) {
		if err != nil || info.State != journal.RunFinished {
			t.Errorf("%+v, %v", info, err)
		}
		n++
	}
	if n != 16 {
		t.Errorf("%d runs are on record", n)
	}
}

// runOnce runs a flow and returns its text for the user; the record must agree.
func runOnce(ctx context.Context, s *service.Service, file, question string) (string, error) {
	f, problems, _, err := s.Load(ctx, file)
	if err != nil || f == nil {
		return "", fmt.Errorf("%w %w", err, problems.Err())
	}
	inputs, _, err := service.CheckInputs(f, value.Pairs("question", question))
	if err != nil {
		return "", err
	}
	session, _, err := s.NewSession(ctx, service.Principal{}, service.StartRequest{Flow: f, Inputs: inputs})
	if err != nil {
		return "", err
	}
	speech, said := service.NewSpeech("", nil), ""
	for event, err := range session.Events() {
		if err != nil {
			return said, err
		}
		said += speech.Add(event)
	}
	details, _, err := s.ShowRun(ctx, service.Principal{}, session.ID)
	if err != nil {
		return said, err
	}
	if reply, _ := details.State.Outputs.Get("reply"); !value.Equal(reply, value.OfString(question)) {
		return said, fmt.Errorf("the record has the reply %s", reply)
	}
	_, err = session.Close(ctx, 0)
	return said, err
}

// Errors of the inputs name the flags that give them.
func TestMissingInputs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "two.yaml")
	text := "inputs: {type: object, required: [question, city], properties: {question: {type: string}, city: {type: string}}}\n" +
		"steps: [{id: a, call: template, with: {template: x}}]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, problems, _, err := newService().Load(t.Context(), file)
	if err != nil || f == nil {
		t.Fatal(err, problems)
	}
	inputs := value.NewMap(1)
	missing := service.MissingInputs(f, inputs)
	if missing == nil || fmt.Sprint(missing.Pointers()) != "[/question /city]" {
		t.Fatalf("got %+v", missing)
	}
	_, _, err = service.CheckInputs(f, inputs)
	if hint := calls.HintOf(err); hint != "give it with --question TEXT -i city=VALUE" {
		t.Errorf("got %q", hint)
	}
	service.SetInput(inputs, "/question", value.OfString("q"))
	service.SetInput(inputs, "/city", value.OfString("Lyon"))
	if missing := service.MissingInputs(f, inputs); missing != nil {
		t.Errorf("got %+v", missing)
	}
}

// Looking up a run without a journal reports that the run does not exist.
func TestLookUpRunWithoutJournal(t *testing.T) {
	s := newServiceOf(nil, func(context.Context, bool) (journal.Journal, error) { return nil, service.ErrNoJournal })
	if info, err := s.LookUpRun(t.Context(), service.Principal{}, "r"); info != nil || err != nil {
		t.Errorf("got %v, %v", info, err)
	}
}

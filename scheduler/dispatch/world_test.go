package dispatch_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
	journalmemory "github.com/callnode/scheduler/scheduler/journal/memory"
	"github.com/callnode/scheduler/scheduler/service"
)

var (
	anyone = service.Principal{}
	lin    = service.Principal{User: "lin", Bound: true}
	bo     = service.Principal{User: "bo", Bound: true}
)

const waitsForCity = `
steps:
  - id: place
    call: slot
    with: {current_schema: {type: object, required: [city], properties: {city: {type: string}}}, stages: []}
`

// newService returns a service with a journal in memory and a model that repeats.
func newService() *service.Service {
	return newServiceOf(scripted.Echo{}, func(context.Context, bool) (journal.Journal, error) { return journalmemory.New(time.Now), nil })
}

// newServiceOf returns a service with that model and journal.
func newServiceOf(model llm.Provider, openJournal func(ctx context.Context, write bool) (journal.Journal, error)) *service.Service {
	loader := func(service.Surroundings) (*flow.Loader, []service.Note, error) {
		registry, err := builtin.Registry()
		return &flow.Loader{Registry: registry}, nil, err
	}
	return service.New(service.Parts{
		Loader: loader,
		Viewer: func() (*flow.Loader, error) {
			l, _, err := loader(service.Surroundings{})
			return l, err
		},
		Journal: openJournal,
		Executor: func(_ *flow.Flow, o service.ExecutorOptions) (*scheduler.StepExecutor, []service.Note, error) {
			l, _, err := loader(o.Surroundings)
			env := calls.NewEnv()
			env.LLM = model
			return &scheduler.StepExecutor{Env: env, Loader: l}, nil, err
		},
		Languages: func() *flow.Languages { return &flow.Languages{Default: "en"} },
	})
}

// loadText loads a flow from its text.
func loadText(t *testing.T, s *service.Service, text string) *flow.Flow {
	t.Helper()
	file := filepath.Join(t.TempDir(), "flow.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, problems, _, err := s.Load(t.Context(), file)
	if err != nil || f == nil {
		t.Fatal(err, problems)
	}
	return f
}

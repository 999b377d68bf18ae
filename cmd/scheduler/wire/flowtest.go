package wire

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/sqlmemory"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/replay"
	"github.com/callnode/scheduler/llm/tokens"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flowtest"
	"github.com/callnode/scheduler/scheduler/flowtest/check"
	"github.com/callnode/scheduler/scheduler/flowtest/compare"
	"github.com/callnode/scheduler/scheduler/flowtest/suite"
	"github.com/callnode/scheduler/scheduler/journal"
	journalmemory "github.com/callnode/scheduler/scheduler/journal/memory"
	"github.com/callnode/scheduler/scheduler/service"
)

// testLanguage is the language of flows under test if neither they nor the settings name one: prompts in tests
// must not depend on LANG.
const testLanguage = "en"

// TestParts returns the dependencies of tests of flows, for the command line and the server.
func (rt *Runtime) TestParts() *service.TestParts {
	return &service.TestParts{
		Loader: rt.TestLoader, Options: rt.TestOptions,
		Files: compare.Files{Root: rt.settings.Root, Last: filepath.Join(rt.settings.StateDir, "test", "last.jsonl")},
	}
}

// TestLoader returns a loader of test files that words problems in a language.
func (rt *Runtime) TestLoader(language string) (*suite.Loader, []service.Note, error) {
	loader, notes, err := rt.newLoader(service.Surroundings{Language: cmp.Or(rt.settings.Language, testLanguage)})
	return &suite.Loader{Flows: loader, Root: rt.settings.Root, Language: language, RefusesOnly: IsContinuous()}, notes, err
}

// IsContinuous reports whether the program runs in continuous integration: every service of that sets CI.
func IsContinuous() bool {
	return !slices.Contains([]string{"", "0", "false"}, strings.ToLower(os.Getenv("CI")))
}

// TestOptions returns the options for running tests. Every case has its own store of memories and its own journal.
func (rt *Runtime) TestOptions(language string) *flowtest.Options {
	rt.hideProviderSecrets()
	return &flowtest.Options{
		Executor: func(*flow.Flow) (*scheduler.StepExecutor, error) { return rt.newBareExecutor() },
		Memory: func(ctx context.Context, clock func() time.Time) (*memory.SnapshotProcessor, error) {
			store, err := sqlmemory.OpenTemporary(ctx, sqlmemory.FileOptions{Clock: clock, Facts: rt.factOptions()})
			if err != nil {
				return nil, err
			}
			p := rt.newProcessor(store, clock)
			p.Embeddings = nil // they would ask a provider
			return p, nil
		},
		Journal: func() journal.Journal { return journalmemory.New(time.Now) },
		Models: flowtest.Models{
			Default: func() []string { return rt.settings.LLM.Default },
			Open:    rt.openProvider,
			Model:   rt.settings.LLM.ModelOf,
			Tokens:  func(name string) llm.Counter { return tokens.For(rt.settings.LLM.ModelOf(name)) },
			Priced:  rt.settings.LLM.Priced,
			Cost:    rt.settings.LLM.Cost,
			Images:  rt.settings.LLM.TakesImages,

			Currency: rt.settings.LLM.Currency,
		},
		Recorded:  rt.recordedRun,
		SecretOf:  rt.secretOfPlayed,
		Places:    rt.placesOfMachine(""),
		Language:  language,
		Languages: rt.settings.FurtherLanguages().Files,
		Hidden:    rt.hidden,
		Secrets:   rt.namedSecrets,
		Parallel:  rt.settings.Run.MaxParallel,
	}
}

// hideProviderSecrets adds the keys of all configured providers to the hidden secrets: recorded answers need no
// provider, and texts of a test may still have its key. A provider whose key is not set cannot be opened, and has
// none to hide.
func (rt *Runtime) hideProviderSecrets() {
	for i := range rt.settings.LLM.Providers {
		p, err := rt.settings.LLM.Providers[i].Open()
		if err != nil {
			continue
		}
		for _, text := range secretsOf(p) {
			rt.hidden.Add(text)
		}
	}
}

// Judge names the provider that judges the answers of a file of labels, and the source of its verdicts.
type Judge struct {
	Labels, Provider string
	// Live asks the provider and records nothing; Record asks only for verdicts that the cassette beside the labels
	// lacks.
	Live, Record bool
}

// JudgeServices returns the services that a judge needs; closeJudge writes the recorded verdicts.
func (rt *Runtime) JudgeServices(j *Judge) (services *check.Services, closeJudge func() error, err error) {
	services = &check.Services{Tokens: tokens.For(rt.settings.LLM.ModelOf(j.Provider)), Languages: rt.settings.FurtherLanguages().Files}
	open := func() (llm.Provider, error) { return rt.openProvider(j.Provider) }
	if j.Live {
		p, err := open()
		services.Provider = func(string) (llm.Provider, error) { return p, nil }
		return services, func() error { return nil }, err
	}
	mode := replay.Replay
	if j.Record {
		mode = replay.Auto
	}
	takes, err := replay.OpenTakes(replay.TakesConfig{
		Name: j.Provider, Path: strings.TrimSuffix(j.Labels, filepath.Ext(j.Labels)) + "." + j.Provider + CassetteSuffix, Mode: mode, Open: open, Hidden: rt.hidden, Secrets: rt.namedSecrets,
		Hint: "run scheduler test calibrate --record to record it",
	})
	if err != nil {
		return nil, nil, err
	}
	player := takes.Play(1, 0)
	services.Provider = func(string) (llm.Provider, error) { return player, nil }
	return services, func() error { return takes.Close(false) }, nil
}

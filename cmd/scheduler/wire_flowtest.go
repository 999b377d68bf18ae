package main

import (
	"cmp"
	"context"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/sqlite"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/tokens"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flowtest"
	"github.com/callnode/scheduler/scheduler/flowtest/compare"
	"github.com/callnode/scheduler/scheduler/flowtest/suite"
	"github.com/callnode/scheduler/scheduler/journal"
	journalmemory "github.com/callnode/scheduler/scheduler/journal/memory"
	"github.com/callnode/scheduler/scheduler/service"
)

// testLanguage is that of flows under test which name none, where the settings name none either: prompts in tests must
// not depend on LANG.
const testLanguage = "en"

// testParts returns what tests of flows are made of, for the command line and the server.
func (rt *runtime) testParts() *service.TestParts {
	return &service.TestParts{
		Loader: rt.newTestLoader, Options: rt.testOptions,
		Files: compare.Files{Root: rt.settings.Root, Last: filepath.Join(rt.settings.StateDir, "test", "last.jsonl")},
	}
}

// newTestLoader returns what reads test files, with problems in a language.
func (rt *runtime) newTestLoader(language string) (*suite.Loader, []service.Note, error) {
	loader, notes, err := rt.newLoader(service.Surroundings{Language: cmp.Or(rt.settings.Language, testLanguage)})
	return &suite.Loader{Flows: loader, Root: rt.settings.Root, Language: language}, notes, err
}

// testOptions returns what tests run with. Every case has its own store of memories and its own journal.
func (rt *runtime) testOptions(language string) *flowtest.Options {
	rt.hideProviderSecrets()
	return &flowtest.Options{
		Executor: rt.newTestExecutor,
		Memory: func(ctx context.Context, clock func() time.Time) (*memory.SnapshotProcessor, error) {
			store, err := sqlite.OpenTemporary(ctx, sqlite.Options{Clock: clock})
			if err != nil {
				return nil, err
			}
			p := rt.newProcessor(store, clock)
			p.Embeddings = nil // they would ask a provider
			return p, nil
		},
		Journal: func() journal.Journal { return journalmemory.New(time.Now) },
		Models: flowtest.Models{
			Name:   func(name string) string { return cmp.Or(name, rt.settings.LLM.Default) },
			Open:   rt.openProvider,
			Model:  rt.settings.LLM.ModelOf,
			Tokens: func(name string) llm.Counter { return tokens.For(rt.settings.LLM.ModelOf(name)) },
			Priced: rt.settings.LLM.Priced,
			Cost:   rt.settings.LLM.Cost,
		},
		Language:  language,
		Languages: rt.settings.FurtherLanguages().Files,
		Hidden:    rt.hidden,
		Parallel:  rt.settings.Run.MaxParallel,
	}
}

// hideProviderSecrets adds the keys of all configured providers to what is hidden: recorded answers need no provider, and
// texts of a test may have its key all the same. A provider whose key is not set cannot be opened, and has none to hide.
func (rt *runtime) hideProviderSecrets() {
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

// newTestExecutor returns an executor of the settings, whose models, memory and clock the case brings.
func (rt *runtime) newTestExecutor(*flow.Flow) (*scheduler.StepExecutor, error) {
	env, err := rt.newEnv()
	if err != nil {
		return nil, err
	}
	env.Log = rt.newLog(slog.LevelWarn)
	return &scheduler.StepExecutor{
		Env:            env,
		Program:        buildVersion(),
		MaxParallel:    rt.settings.Run.MaxParallel,
		MaxSteps:       rt.settings.Run.MaxSteps,
		MaxOutputBytes: int64(rt.settings.Run.MaxOutputBytes),
		CancelGrace:    time.Duration(rt.settings.Run.CancelGrace),
		Secrets:        rt.secret,
		Hidden:         rt.hidden,
	}, nil
}

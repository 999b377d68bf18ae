// Package wire puts the program together from the settings: it is the only place where calls, providers, stores, plugins
// and the engine meet. For example, it gives the call generate the providers of the settings. The command line
// makes one [Runtime] for a process, and one service of it.
package wire

import (
	"cmp"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/cmd/scheduler/config"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/anthropic"
	"github.com/callnode/scheduler/llm/openai"
	"github.com/callnode/scheduler/llm/responses"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/tokens"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
	journalmemory "github.com/callnode/scheduler/scheduler/journal/memory"
	"github.com/callnode/scheduler/scheduler/service"
)

// ProviderTypes lists the kinds of model servers that llm.providers can name as type. A
// new one is a folder below llm and a line here.
func ProviderTypes() []config.ProviderType {
	return []config.ProviderType{
		config.NewProviderType("openai", openai.Open),
		config.NewProviderType("anthropic", anthropic.Open),
		config.NewProviderType("openai-responses", responses.Open),
	}
}

// NewService puts the use cases together.
func (rt *Runtime) NewService() *service.Service {
	return service.New(service.Parts{
		Loader:   rt.newLoader,
		Viewer:   rt.newViewLoader,
		Executor: rt.newExecutor,
		Provider: rt.providerOf,
		Counter: func(f *flow.Flow, step, provider string) llm.Counter {
			return tokens.For(rt.modelOf(f, step, provider))
		},
		Journal:          rt.openJournal,
		EphemeralJournal: func() journal.Journal { return journalmemory.New(time.Now) },
		Memory:           rt.OpenMemory,
		Snapshots:        rt.snapshotGenerator,
		CallEnv:          rt.callEnv,
		Hidden:           rt.hidden,
		BoundCalls:       rt.settings.Serve.BoundCalls,
		Remote:           rt.openRemote,
		RemoteAddress:    func() string { return rt.settings.On }, // the flag --on may come later
		Dir:              cmp.Or(rt.workerRoot, rt.settings.Root),
		Rooted:           rt.workerRoot != "",
		CancelWords:      rt.settings.CancelWords,
		UserZone:         rt.settings.ZoneOf,
		Languages:        rt.settings.KnownLanguages,
		Tests:            rt.TestParts(),
		Script: func(answers value.Value) (llm.Provider, error) {
			parsed, err := scripted.Parse(answers)
			if err != nil {
				return nil, err
			}
			return scripted.New(parsed...), nil
		},
	})
}

// newExecutor returns a StepExecutor wired from the settings.
func (rt *Runtime) newExecutor(f *flow.Flow, o service.ExecutorOptions) (*scheduler.StepExecutor, []service.Note, error) {
	o.IsReplay = o.IsReplay || o.Mode == modeReplay
	loader, _, err := rt.newLoader(o.Surroundings) // its notes were printed when the flow was loaded
	if err != nil {
		return nil, nil, err
	}
	e, err := rt.newBareExecutor()
	if err != nil {
		return nil, nil, err
	}
	if !o.Now.IsZero() {
		e.Env.Clock = func() time.Time { return o.Now }
	}
	chosen, notes, err := rt.chooseModels(f, &o)
	if err != nil {
		return nil, notes, err
	}
	if chosen.run != nil && o.Run != nil {
		rt.applyRun(e, chosen.run, &o)
	}
	usual, err := chosen.find(f.LLM)
	if err != nil {
		return nil, notes, err
	}
	e.Env.LLM, e.Env.Tokens = usual[0].Provider, usual[0].Tokens
	e.Loader, e.Durability, e.Models = loader, journal.Durability(rt.settings.Journal.Durability), chosen.find
	return e, notes, nil
}

// callEnv returns the Env of single calls.
func (rt *Runtime) callEnv(asksModel bool) (*calls.Env, error) {
	registry, err := rt.Registry("")
	if err != nil {
		return nil, err
	}
	env, err := rt.newEnv()
	if err != nil {
		return nil, err
	}
	env.Registry, env.Tokens = registry, tokens.For("")
	if !asksModel {
		return env, nil
	}
	chain, err := rt.openChain("")
	if err != nil || chain == nil {
		return env, err
	}
	env.LLM, env.Tokens = chain, chain.Candidates[0].Tokens
	return env, nil
}

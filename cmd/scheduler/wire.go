package main

import (
	"cmp"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/http/guard"
	"github.com/callnode/scheduler/cmd/scheduler/config"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/anthropic"
	"github.com/callnode/scheduler/llm/openai"
	"github.com/callnode/scheduler/llm/replay"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/tokens"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// This file is the only place where all parts meet: the registry of calls, the
// providers, the loader of flows and the executor.

// providerTypes lists the kinds of model servers that llm.providers can name as type. A
// new one is a folder below llm and a line here.
func providerTypes() []config.ProviderType {
	return []config.ProviderType{
		config.NewProviderType("openai", openai.Open),
		config.NewProviderType("anthropic", anthropic.Open),
	}
}

// cassetteSuffix ends the names of cassettes: flow.yaml has flow.cassette.yaml
// beside it.
const cassetteSuffix = ".cassette.yaml"

// loader gives what reads flows.
func (a *app) loader() (*flow.Loader, error) {
	registry, err := a.registry()
	if err != nil {
		return nil, err
	}
	h, err := a.openPlugins()
	if err != nil {
		return nil, err
	}
	languages := a.config.KnownLanguages()
	if languages.Files != nil {
		if _, err := fs.ReadDir(languages.Files, "."); err != nil {
			fmt.Fprintf(a.Stderr, "warning: the setting languages: %v\n", err)
		}
	}
	return &flow.Loader{
		Registry:  registry,
		Providers: a.config.LLM.Names(),
		Plugins:   h.Names(),
		Secrets:   slices.Clip(append([]string{}, a.config.Secrets...)),
		Languages: languages,
	}, nil
}

// load reads a flow; its problems are printed, and errors among them end the
// command.
func (a *app) load(path string) (*flow.Flow, error) {
	loader, err := a.loader()
	if err != nil {
		return nil, err
	}
	flow, problems := loader.Load(path)
	for _, p := range problems {
		fmt.Fprintln(a.Stderr, p)
	}
	if problems.HasErrors() {
		return nil, exitError{code: exitUsage}
	}
	return flow, nil
}

// executor gives what runs a flow, with a provider by name ("" is the flow's own
// choice) and a fixed clock unless now is zero.
func (a *app) executor(f *flow.Flow, provider string, now time.Time) (*scheduler.StepExecutor, error) {
	loader, err := a.loader()
	if err != nil {
		return nil, err
	}
	env := calls.NewEnv()
	env.MediaRoots = a.config.Media
	env.Languages = a.config.FurtherLanguages().Files
	if env.HTTP, err = guard.NewClient(a.config.HTTP.AllowHosts); err != nil {
		return nil, err
	}
	env.Log = slog.New(slog.NewTextHandler(a.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if !now.IsZero() {
		env.Clock = func() time.Time { return now }
	}
	chosen, err := a.choose(f, provider)
	if err != nil {
		return nil, err
	}
	env.LLM, env.Tokens = chosen.llm, tokens.For(chosen.model)
	return &scheduler.StepExecutor{
		Env:         env,
		Loader:      loader,
		Provider:    func(name string) (llm.Provider, error) { return a.other(chosen, name) },
		Durability:  journal.Durability(a.config.Journal.Durability),
		MaxParallel: a.config.Run.MaxParallel,
		CancelGrace: time.Duration(a.config.Run.CancelGrace),
		Secrets: func(name string) (string, bool) {
			if !slices.Contains(a.config.Secrets, name) {
				return "", false
			}
			return os.LookupEnv(name)
		},
	}, nil
}

// choice is who answers a flow.
type choice struct {
	llm   llm.Provider
	name  string // of the provider that was asked for; "" where nobody said
	model string // by which tokens are counted
	// all says that it answers sub-flows too, whatever they name.
	all       bool
	recording bool
}

// choose finds who answers: by name, the flow's word, the setting; and whether a
// cassette stands before or instead of it.
func (a *app) choose(f *flow.Flow, name string) (*choice, error) {
	c := &choice{name: a.providerName(f, name), all: name != ""}
	cassette := strings.TrimSuffix(f.File, filepath.Ext(f.File)) + cassetteSuffix
	mode := a.config.LLM.Mode
	if _, err := os.Stat(cassette); mode == "auto" && c.name == "" && err == nil {
		fmt.Fprintf(a.Stderr, "note: no model provider is configured; answers come from the recorded %s\n", cassette)
		mode = "replay"
	}
	var err error
	switch {
	case mode == "replay":
		c.all = true
		c.llm, err = openCassette(replay.Config{Path: cassette, Mode: replay.Replay, Secrets: a.secretTexts()})
		return c, err
	case c.name == "":
		if step := asking(f); step != nil {
			return nil, usageError(calls.Errorf(calls.Invalid, "%s: the step %s asks a model, but no model provider is configured", step.Pos, step.ID).
				WithHint("set llm.providers in scheduler.yaml, run with --llm echo, or keep a cassette beside the flow"))
		}
		c.llm = calls.NewEnv().LLM
		return c, nil
	}
	c.llm, err = a.openProvider(c.name)
	if err != nil {
		return nil, err
	}
	c.model = a.modelOf(f, name)
	if mode == "record" {
		c.recording = true
		secrets := append(secretsOf(c.llm), a.secretTexts()...)
		c.llm, err = openCassette(replay.Config{Name: c.name, Path: cassette, Mode: replay.Auto, Inner: c.llm, Secrets: secrets})
	}
	return c, err
}

// providerName is the provider of a flow: by name, the flow's word, the setting; "" is
// none.
func (a *app) providerName(f *flow.Flow, name string) string {
	return cmp.Or(name, f.LLM, a.config.LLM.Default)
}

// modelOf is the model by which the tokens of a flow are counted, as [app.choose] has
// it, whether or not it can be asked now.
func (a *app) modelOf(f *flow.Flow, name string) string {
	if a.config.LLM.Mode == "replay" {
		return ""
	}
	return a.config.LLM.ModelOf(a.providerName(f, name))
}

// asking is the first step that is sure to ask a model of the flow's own provider;
// nil where there is none.
func asking(f *flow.Flow) *flow.Step {
	for _, s := range f.Steps {
		switch info := s.Def.Info; {
		case s.When != nil || s.Continue:
		case info.UsesLLM && !info.LLMOptional:
			return s
		case s.Sub != nil && s.Sub.LLM == "" && asking(s.Sub) != nil:
			return s
		}
	}
	return nil
}

// secretTexts are the values of the secrets that the settings allow.
func (a *app) secretTexts() (texts []string) {
	for _, name := range a.config.Secrets {
		if text := os.Getenv(name); text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

// other gives the provider that a flow or a sub-flow names under llm.
func (a *app) other(c *choice, name string) (llm.Provider, error) {
	if c.all || name == c.name {
		return c.llm, nil
	}
	if c.recording {
		return nil, usageError(fmt.Errorf("recording %q: a cassette holds one provider, but a sub-flow names %q; run with --llm", c.name, name))
	}
	return a.openProvider(name)
}

// openCassette opens a cassette; one that cannot be read is found before the run.
func openCassette(c replay.Config) (llm.Provider, error) {
	c.Hint = "run with SCHEDULER_LLM_MODE=record and a provider (llm.providers in the settings) to record it"
	p, err := replay.New(c)
	if err != nil {
		return nil, usageError(err)
	}
	return p, nil
}

// openProvider makes the configured provider of that name.
func (a *app) openProvider(name string) (llm.Provider, error) {
	if name == config.EchoProvider {
		return scripted.Echo{}, nil
	}
	c := a.config.LLM.Find(name)
	if c == nil {
		return nil, usageError(fmt.Errorf("there is no model provider %q%s: llm.providers in the settings lists them",
			name, didYouMean(name, a.config.LLM.Names())))
	}
	p, err := c.Open()
	if err != nil {
		return nil, usageError(err)
	}
	return p, nil
}

// secretsOf returns the texts of a provider that no file may hold.
func secretsOf(p llm.Provider) []string {
	if holder, ok := p.(llm.SecretHolder); ok {
		return holder.Secrets()
	}
	return nil
}

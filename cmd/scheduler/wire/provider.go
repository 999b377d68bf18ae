package wire

import (
	"cmp"
	"os"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/cmd/scheduler/config"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/replay"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/service"
)

// choice is who answers a flow.
type choice struct {
	llm   llm.Provider
	name  string // of the provider that was asked for; "" where none was named
	model string // by which tokens are counted
	// all reports whether it answers sub-flows too, whatever they name.
	all bool
	// run is what is recorded or played; nil: neither.
	run *replay.Run
}

// chooseProvider finds who answers: by o.Provider, the flow's word, the setting; and whether a
// cassette stands before or instead of it.
func (rt *Runtime) chooseProvider(f *flow.Flow, o *service.ExecutorOptions) (*choice, []service.Note, error) {
	var notes []service.Note
	mode := cmp.Or(o.Mode, rt.settings.LLM.Mode)
	c := &choice{name: rt.providerName(f, o.Provider), all: o.Provider != ""}
	_, err := os.Stat(cassettePath(f))
	isFallback := mode == modeAuto && c.name == "" && err == nil
	if isFallback {
		notes = append(notes, service.Note{Level: service.LevelNote, Text: wording.Say("no model provider is configured; answers come from the recorded %s", cassettePath(f))})
	}
	if isFallback || mode == modeReplay {
		c.all = true
		c.run, err = rt.playRun(f, o, !isFallback)
		if err == nil {
			c.llm = c.run.Provider(c.name, nil)
			_, c.model = c.run.NamesOf("") // tokens are counted as they were
		}
		return c, notes, err
	}
	if mode == modeRecord && o.Run != nil {
		c.run, err = rt.recordRun(f, o)
		if err != nil {
			return nil, notes, err
		}
	}
	if c.name == "" {
		if step := firstModelStep(f); step != nil {
			return nil, notes, calls.Errorf(calls.Invalid, "%s: the step %s asks a model, but no model provider is configured", step.Pos, step.ID).
				WithHint("set llm.providers in scheduler.yaml, run with --llm echo, or keep a cassette beside the flow")
		}
		c.llm = calls.NewEnv().LLM
		return c, notes, nil
	}
	open, err := rt.providerNamed(c.name)
	if err != nil {
		return nil, notes, err
	}
	c.llm = llm.Lazy(open)
	if firstModelStep(f) != nil { // else the flow may need no key
		c.llm, err = open()
	}
	if err != nil {
		return nil, notes, err
	}
	c.model = rt.modelOf(f, o.Provider)
	c.llm = c.recorded(c.name, c.llm)
	return c, notes, nil
}

// The modes of cassettes: the setting llm.mode.
const (
	modeAuto   = "auto"
	modeRecord = "record"
	modeReplay = "replay"
)

// recorded returns a provider as the run asks it: by the recorder if there is one.
func (c *choice) recorded(name string, p llm.Provider) llm.Provider {
	if c.run == nil {
		return p
	}
	return c.run.Provider(name, p)
}

// providerName returns the provider of a flow: by name, the flow's word, the setting; "" is
// none.
func (rt *Runtime) providerName(f *flow.Flow, name string) string {
	return cmp.Or(name, f.LLM, rt.settings.LLM.Default)
}

// modelOf returns the model by which the tokens of a flow are counted, as [Runtime.chooseProvider] has
// it, whether or not it can be asked now.
func (rt *Runtime) modelOf(f *flow.Flow, name string) string {
	if rt.settings.LLM.Mode == modeReplay {
		return ""
	}
	return rt.settings.LLM.ModelOf(rt.providerName(f, name))
}

// firstModelStep returns the first step that is sure to ask a model of the flow's own provider;
// nil where there is none.
func firstModelStep(f *flow.Flow) *flow.Step {
	for _, s := range f.Steps {
		switch info := s.Def.Info; {
		case s.When != nil || s.Continue:
		case info.UsesLLM && !info.LLMOptional:
			return s
		case s.Sub != nil && s.Sub.LLM == "" && firstModelStep(s.Sub) != nil:
			return s
		}
	}
	return nil
}

// namesOf returns the names of a provider and of its model for the events: those of the recorded run if one is played.
func (rt *Runtime) namesOf(c *choice, name string) (provider, model string) {
	if c.run != nil && c.run.IsPlayed() {
		return c.run.NamesOf(name)
	}
	provider, model = c.name, c.model
	if !c.all && name != "" {
		provider, model = name, rt.settings.LLM.ModelOf(name)
	}
	if c.run != nil {
		c.run.NoteNames(name, provider, model)
	}
	return provider, model
}

// otherProvider returns the provider that a flow or a sub-flow names under llm.
func (rt *Runtime) otherProvider(c *choice, name string) (llm.Provider, error) {
	switch {
	case c.run != nil && c.run.IsPlayed():
		return c.run.Provider(name, nil), nil
	case c.all || name == c.name:
		return c.llm, nil
	}
	p, err := rt.openProvider(name)
	if err != nil {
		return nil, err
	}
	return c.recorded(name, p), nil
}

// openProvider makes the configured provider of that name.
func (rt *Runtime) openProvider(name string) (llm.Provider, error) {
	open, err := rt.providerNamed(name)
	if err != nil {
		return nil, err
	}
	return open()
}

// providerNamed returns what makes the configured provider of that name.
func (rt *Runtime) providerNamed(name string) (open func() (llm.Provider, error), err error) {
	if name == config.EchoProvider {
		return func() (llm.Provider, error) { return scripted.Echo{}, nil }, nil
	}
	c := rt.settings.LLM.Find(name)
	if c == nil {
		return nil, calls.Errorf(calls.Invalid, "there is no model provider %q%s: llm.providers in the settings lists them",
			name, value.DidYouMeanOrListSuffix(name, rt.settings.LLM.Names()))
	}
	return func() (llm.Provider, error) {
		p, err := c.Open()
		if err != nil {
			return nil, calls.Errorf(calls.Invalid, "%w", err)
		}
		for _, text := range secretsOf(p) {
			rt.hidden.Add(text)
		}
		if c.MaxConcurrent > 0 {
			p = llm.Limit(p, rt.placesOf(c))
		}
		return p, nil
	}, nil
}

// placesOf returns the places of a provider, which all that is opened of it shares.
func (rt *Runtime) placesOf(c *config.Provider) llm.Places {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	places := rt.places[c.Name]
	if places == nil {
		places = llm.NewPlaces(c.MaxConcurrent)
		rt.places[c.Name] = places
	}
	return places
}

// secretsOf returns the texts of a provider that no file may hold.
func secretsOf(p llm.Provider) []string {
	if holder, ok := p.(llm.SecretHolder); ok {
		return holder.Secrets()
	}
	return nil
}

package wire

import (
	"cmp"
	"os"
	"sync"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/cmd/scheduler/config"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/replay"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/tokens"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/service"
)

// models has the providers that answer the flows of an executor: [Runtime.chooseModels] makes one for a run. It is
// safe for concurrent use.
type models struct {
	rt *Runtime
	// usual names the default providers, used by flows and steps that name none; empty if none is configured.
	usual []string
	// only means that the usual ones answer regardless of names in flows and steps.
	only bool
	// run records or plays; nil does neither.
	run *replay.Run

	mu     sync.Mutex
	opened map[string]*llm.Candidate // by name; guarded by mu
}

// The modes of cassettes: the setting llm.mode.
const (
	modeAuto   = "auto"
	modeRecord = "record"
	modeReplay = "replay"
)

// chooseModels finds the providers: by o.Provider, the flow's word, the setting; and whether a cassette is asked
// before or instead of it.
func (rt *Runtime) chooseModels(f *flow.Flow, o *service.ExecutorOptions) (*models, []service.Note, error) {
	var notes []service.Note
	mode := cmp.Or(o.Mode, rt.settings.LLM.Mode)
	m := &models{rt: rt, usual: rt.settings.LLM.Default, opened: map[string]*llm.Candidate{}}
	if given := llm.ParseNames(o.Provider); len(given) > 0 {
		m.usual, m.only = given, true
	}
	isNamed := len(m.namesOf(f.LLM)) > 0
	_, err := os.Stat(cassettePath(f))
	isFallback := mode == modeAuto && !isNamed && err == nil
	if isFallback {
		notes = append(notes, service.Note{Level: service.LevelNote, Text: wording.Say("no model provider is configured; answers come from the recorded %s", cassettePath(f))})
	}
	if isFallback || mode == modeReplay {
		m.run, err = rt.playRun(f, o, !isFallback)
		if err == nil && !isFallback && o.Run != nil {
			err = checkPlayed(m.run)
		}
		if err != nil {
			return m, notes, err
		}
		return m, append(notes, notesOfPlayed(f, m.run)...), nil
	}
	if mode == modeRecord && o.Run != nil {
		m.run, err = rt.recordRun(f, o)
		if err != nil {
			return nil, notes, err
		}
	}
	if step := firstModelStep(f); step != nil && !isNamed {
		missing := calls.Errorf(calls.Invalid, "%s: the step %s asks a model, but no model provider is configured", step.Pos, step.ID)
		if file := rt.settings.OtherSettings(f.File); file != "" {
			return nil, notes, missing.WithHint("the settings of its project were not read: go to its folder, or add --config %s", file)
		}
		return nil, notes, missing.
			WithHint("set llm.providers in scheduler.yaml, run with --llm echo, or keep a cassette beside the flow")
	}
	return m, notes, m.checkKeys(f, f.LLM)
}

// namesOf returns the names to use for a flow or a step with these names under llm.
func (m *models) namesOf(named []string) []string {
	if m.only || len(named) == 0 {
		return m.usual
	}
	return named
}

// checkKeys opens the providers of the steps that are sure to ask one, so that a missing key is found before the
// run; a flow that asks none needs no key. named has the names of the flow, or of the flow around it.
func (m *models) checkKeys(f *flow.Flow, named []string) error {
	for _, s := range f.Steps {
		own := named
		if len(s.LLM) > 0 {
			own = s.LLM
		}
		isSure := s.When == nil && !s.Continue
		if isSure && s.Def.Info.UsesLLM && !s.Def.Info.LLMOptional {
			if err := m.checkNames(m.namesOf(own)); err != nil {
				return err
			}
		}
		if isSure && s.Sub != nil {
			if len(s.Sub.LLM) > 0 {
				own = s.Sub.LLM
			}
			if err := m.checkKeys(s.Sub, own); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkNames opens the providers of a list until one has its key. One without is passed over by the run, with a warning, as if
// its server had refused the key; only a list without a provider that has a key is an error, the first provider's.
func (m *models) checkNames(names []string) (first error) {
	for _, name := range names {
		err := m.check(name)
		if err == nil {
			return nil
		}
		first = cmp.Or(first, err)
	}
	return first
}

// firstModelStep returns the first step that is sure to ask a model although neither it nor its flow names one;
// nil if there is none.
func firstModelStep(f *flow.Flow) *flow.Step {
	if len(f.LLM) > 0 {
		return nil
	}
	for _, s := range f.Steps {
		switch info := s.Def.Info; {
		case s.When != nil || s.Continue || len(s.LLM) > 0:
		case info.UsesLLM && !info.LLMOptional:
			return s
		case s.Sub != nil && firstModelStep(s.Sub) != nil:
			return s
		}
	}
	return nil
}

// find returns the providers for flows and steps with these names under llm.
func (m *models) find(named []string) ([]llm.Candidate, error) {
	names := m.namesOf(named)
	if m.run != nil && m.run.IsPlayed() {
		return m.played(named, names), nil
	}
	if len(names) == 0 {
		return []llm.Candidate{{Provider: calls.NewEnv().LLM, Tokens: tokens.For("")}}, nil
	}
	candidates, asked := make([]llm.Candidate, len(names)), make([]replay.ModelName, len(names))
	for i, name := range names {
		found, err := m.candidate(name)
		if err != nil {
			return nil, err
		}
		candidates[i], asked[i] = *found, replay.ModelName{Provider: found.Name, Model: found.Model, Images: found.Images}
	}
	if m.run != nil {
		m.run.NoteModels(named, asked)
	}
	return candidates, nil
}

// played returns the providers that answered the recorded run for these names under llm; names has the providers
// that would be asked now.
func (m *models) played(named, names []string) []llm.Candidate {
	recorded := m.run.ModelsOf(named)
	candidates := make([]llm.Candidate, len(recorded))
	for i, n := range recorded {
		name := n.Provider
		if name == "" && len(names) > 0 {
			name = names[0] // for the message about an answer that is missing
		}
		candidates[i] = llm.Candidate{Name: n.Provider, Model: n.Model, Provider: m.run.Provider(name, nil), Tokens: tokens.For(n.Model), Images: n.Images}
	}
	return candidates
}

// candidate returns the provider of a name, which is opened when it is first asked.
func (m *models) candidate(name string) (*llm.Candidate, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.opened[name]; c != nil {
		return c, nil
	}
	c, err := m.rt.candidateNamed(name)
	if err != nil {
		return nil, err
	}
	m.opened[name] = c
	if m.run != nil {
		recorded := *c
		recorded.Provider = m.run.Provider(name, c.Provider)
		m.opened[name] = &recorded
	}
	return m.opened[name], nil
}

// check opens the provider of a name, which shows whether its key is set. Nothing is sent.
func (m *models) check(name string) error {
	_, err := m.rt.openProvider(name)
	return err
}

// modelOf returns the model used to count the tokens of a step, whether or not the model can be asked now; step is
// the step's path in the flow, "" for no step.
func (rt *Runtime) modelOf(f *flow.Flow, step, names string) string {
	if rt.settings.LLM.Mode == modeReplay {
		return ""
	}
	named := f.LLM
	if s, ok := f.FindStep(step); ok && len(s.LLM) > 0 {
		named = s.LLM
	}
	for _, list := range [][]string{llm.ParseNames(names), named, rt.settings.LLM.Default} {
		if len(list) > 0 {
			return rt.settings.LLM.ModelOf(list[0])
		}
	}
	return ""
}

// candidateNamed returns the configured provider of a name, which is opened when it is first asked.
func (rt *Runtime) candidateNamed(name string) (*llm.Candidate, error) {
	open, err := rt.providerNamed(name)
	if err != nil {
		return nil, err
	}
	model := rt.settings.LLM.ModelOf(name)
	return &llm.Candidate{Name: name, Model: model, Provider: llm.Lazy(open), Tokens: tokens.For(model), Images: rt.settings.LLM.TakesImages(name)}, nil
}

// openChain opens the configured providers of names, as [llm.ParseNames] reads them; "" is the setting. nil if
// there is none.
func (rt *Runtime) openChain(text string) (*llm.Chain, error) {
	names := llm.ParseNames(text)
	if len(names) == 0 {
		names = rt.settings.LLM.Default
	}
	if len(names) == 0 {
		return nil, nil
	}
	chain := &llm.Chain{}
	for _, name := range names {
		c, err := rt.candidateNamed(name)
		if err != nil {
			return nil, err
		}
		if c.Provider, err = rt.openProvider(name); err != nil {
			return nil, err
		}
		chain.Candidates = append(chain.Candidates, *c)
	}
	return chain, nil
}

// providerOf is [Runtime.openChain] as a provider.
func (rt *Runtime) providerOf(names string) (llm.Provider, error) {
	chain, err := rt.openChain(names)
	if err != nil {
		return nil, err
	}
	return chain, nil
}

// openProvider makes the configured provider of that name.
func (rt *Runtime) openProvider(name string) (llm.Provider, error) {
	open, err := rt.providerNamed(name)
	if err != nil {
		return nil, err
	}
	return open()
}

// providerNamed returns the function that opens the configured provider of that name.
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

package flowtest

import (
	"cmp"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/replay"
)

// providers returns the names of the providers for a flow or a step with these names under llm: the provider of
// the case, else the names given, else the defaults of the settings. There is at least one name; it is "" if none
// is configured.
func (a *attempt) providers(named []string) []string {
	names := named
	switch {
	case a.of.LLM != "":
		names = llm.ParseNames(a.of.LLM)
	case len(named) == 0:
		names = a.of.suite.runner.options.Models.Default()
	}
	if len(names) == 0 {
		return []string{""}
	}
	return names
}

// candidates returns the providers for a flow or a step with these names under llm.
func (a *attempt) candidates(named []string) ([]llm.Candidate, error) {
	names, o := a.providers(named), &a.of.suite.runner.options
	if a.of.HasScript { // one list answers for every provider
		p, err := a.sessions.script(a.of.Flow, a.of.Scripts)
		return []llm.Candidate{{Name: names[0], Model: o.Models.Model(names[0]), Provider: p, Tokens: a.of.suite.models.counter(names[0])}}, err
	}
	list := make([]llm.Candidate, len(names))
	for i, name := range names {
		list[i] = llm.Candidate{Name: name, Model: o.Models.Model(name), Provider: a.sessions.provider(name, i < len(names)-1), Tokens: a.of.suite.models.counter(name)}
		list[i].Images = o.Models.Images != nil && o.Models.Images(name)
	}
	if run := a.sessions.recorded; run != nil { // its prompts have the pictures that its models saw
		for i, recorded := range run.ModelsOf(named) {
			if i < len(list) && recorded.Provider == list[i].Name {
				list[i].Images = recorded.Images
			}
		}
	}
	return list, nil
}

// judge returns the judging provider: the names of a check, as [llm.ParseNames] reads them, else the names of the
// file, else the defaults of the settings.
func (a *attempt) judge(names string) (llm.Provider, error) {
	list := llm.ParseNames(cmp.Or(names, a.of.suite.JudgeLLM))
	if len(list) == 0 {
		list = a.of.suite.runner.options.Models.Default()
	}
	if len(list) == 0 {
		list = []string{""}
	}
	if len(list) == 1 {
		return a.openJudge(list[0], false)
	}
	chain := &judgeChain{}
	for i, name := range list {
		p, err := a.openJudge(name, i < len(list)-1)
		if err != nil {
			return nil, err
		}
		chain.Candidates = append(chain.Candidates, llm.Candidate{Name: name, Provider: p})
	}
	if embeddings, ok := chain.Candidates[0].Provider.(llm.EmbeddingProvider); ok {
		return &embeddingChain{chain, embeddings}, nil
	}
	return chain, nil
}

// openJudge returns one provider that judges; hasNext is set if another one is asked if it fails.
func (a *attempt) openJudge(name string, hasNext bool) (llm.Provider, error) {
	p, err := a.sessions.open(name)
	if err != nil {
		return nil, err
	}
	if player, ok := p.(*replay.Player); ok && hasNext {
		p = player.Fallible()
	}
	return observeProvider(name, p, a.judges), nil
}

// judgeChain lists several providers; the first that answers judges. It is for one check at a time.
type judgeChain struct{ llm.Chain }

// Checkpoint takes a checkpoint of every candidate: drop removes the answers that they keep from now on.
func (c *judgeChain) Checkpoint() (drop func() (again bool)) {
	var drops []func() bool
	for _, candidate := range c.Candidates {
		if k, ok := candidate.Provider.(interface{ Checkpoint() func() bool }); ok {
			drops = append(drops, k.Checkpoint())
		}
	}
	return func() (again bool) {
		for _, drop := range drops {
			again = drop() || again
		}
		return again
	}
}

// embeddingChain is a judgeChain whose first provider can embed texts. The other providers never replace it for
// that, because vectors of different models cannot be compared.
type embeddingChain struct {
	*judgeChain
	embeddings llm.EmbeddingProvider
}

// Embedder returns the embedder of the first provider.
func (c *embeddingChain) Embedder(model string, dimensions int) llm.Embedder {
	return c.embeddings.Embedder(model, dimensions)
}

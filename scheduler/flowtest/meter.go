package flowtest

import (
	"cmp"
	"sync"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
)

// meter observes the requests of one attempt that really reach models, from its flow and its checks. It charges
// each answer to the budgets as it comes, and refuses a request once a limit is reached. Recorded and scripted
// answers do not pass it: they cost nothing. newAttempt makes it; it is safe for concurrent use.
type meter struct {
	models  *models
	budgets []*budget

	mu         sync.Mutex
	refused    error // why a request was refused; guarded by mu
	isUnpriced bool  // there was a request whose cost is not known; guarded by mu
}

// problem returns why a request was refused; nil: none was.
func (m *meter) problem() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.refused
}

// hasUnknownCost reports whether there was a request whose cost is not known.
func (m *meter) hasUnknownCost() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.isUnpriced
}

// admit returns an error if a limit is reached.
func (m *meter) admit(provider string) error {
	var reached error
	for _, b := range m.budgets {
		reached = cmp.Or(reached, b.check())
	}
	if reached == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refused = reached
	return &llm.Error{Provider: provider, Err: reached, Unsent: true}
}

var _ usageObserver = (*meter)(nil)

// addAnswer charges an answer; if it reports no usage, by our estimate.
func (m *meter) addAnswer(provider string, req *llm.Request, a heardAnswer) {
	used := a.used
	if a.hasBegun && used.Total() == 0 {
		used = m.estimateUsage(provider, req, a.text)
	}
	m.charge(used, used.Cost > 0 || m.models.options.Models.Priced(provider))
}

// estimateUsage returns our estimate of the usage of an answer that reports none.
func (m *meter) estimateUsage(provider string, req *llm.Request, text string) llm.Usage {
	counter := m.models.counter(provider)
	u := llm.Usage{InputTokens: llm.RequestTokens(counter, req), OutputTokens: counter.Count(text)}
	if m.models.options.Models.Cost != nil {
		u.Cost, _ = m.models.options.Models.Cost(provider, req.Model, u)
	}
	return u
}

// charge counts a usage, and whether its cost is known.
func (m *meter) charge(u llm.Usage, isPriced bool) {
	for _, b := range m.budgets {
		b.charge(u, isPriced)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.isUnpriced = m.isUnpriced || !isPriced && u.Total() > 0
}

// addEmbeddings charges texts that were embedded.
func (m *meter) addEmbeddings(provider, model string, texts []string) {
	u, isPriced := m.models.embeddingUsage(provider, model, texts)
	m.charge(u, isPriced)
	for _, b := range m.budgets {
		b.noteEmbedded(u)
	}
}

// spending adds up the model requests of one attempt's checks, recorded answers included. It is safe for
// concurrent use.
type spending struct {
	models *models

	mu               sync.Mutex
	judges, embedded llm.Usage // of answers, and of texts that were embedded; guarded by mu
}

var _ usageObserver = (*spending)(nil)

// admit lets everything pass: meters hold the limits.
func (*spending) admit(string) error { return nil }

// addAnswer counts an answer of a judge.
func (s *spending) addAnswer(_ string, _ *llm.Request, a heardAnswer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.judges.Add(a.used)
}

// addEmbeddings counts embedded texts. The cost of recorded vectors is not known.
func (s *spending) addEmbeddings(name, model string, texts []string) {
	u, _ := s.models.embeddingUsage(name, model, texts)
	if s.models.options.Mode == result.Replay {
		u.Cost = 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.embedded.Add(u)
}

// used returns the usage so far.
func (s *spending) used() (judges, embedded llm.Usage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.judges, s.embedded
}

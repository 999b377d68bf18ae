package flowtest

import (
	"slices"
	"sync"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/replay"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
	"github.com/callnode/scheduler/scheduler/flowtest/suite"
)

// sessions are the models of one repeat: each plays the takes of its number. It is safe for concurrent use.
type sessions struct {
	models        *models
	meter         *meter
	number, order int
	// recorded is the run recorded beside the flow, or nil.
	recorded *replay.Run

	mu      sync.Mutex
	players map[string]*replay.Player // guarded by mu
	live    map[string]bool           // the providers that were asked themselves; guarded by mu
	scripts *script                   // guarded by mu
	failed  error                     // why a model that the flow asked could not be opened; guarded by mu
}

func (m *models) newSessions(index, number int, meter *meter) *sessions {
	return &sessions{models: m, meter: meter, number: number, order: index, players: map[string]*replay.Player{}, live: map[string]bool{}}
}

// provider returns the provider of a name; hasNext is set if another one is asked after it fails.
func (s *sessions) provider(name string, hasNext bool) llm.Provider {
	return llm.Lazy(func() (llm.Provider, error) {
		p, err := s.open(name)
		if player, ok := p.(*replay.Player); ok && hasNext {
			p = player.Fallible()
		}
		if err != nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.failed = err
		}
		return p, err
	})
}

// open returns the provider of a name, when a step asks for it.
func (s *sessions) open(name string) (llm.Provider, error) {
	if s.models.options.Mode == result.Live {
		s.mu.Lock()
		s.live[name] = true
		s.mu.Unlock()
		p, err := s.models.openLive(name)
		if err != nil {
			return nil, err
		}
		return observeProvider(name, p, s.meter), nil
	}
	if name == "" {
		var err error
		name, err = s.models.onlyRecorded()
		if err != nil && s.recorded == nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.players[name]; p != nil {
		return p, nil
	}
	takes, err := s.models.open(name)
	if err != nil {
		return nil, err
	}
	p := takes.Play(s.number, s.order)
	if s.number == 1 { // the run was recorded once
		p.Recorded = s.recorded
	}
	p.Wrap = func(inner llm.Provider) llm.Provider { return observeProvider(name, inner, s.meter) }
	s.players[name] = p
	return p, nil
}

// script returns the provider that answers from the lists of the case.
func (s *sessions) script(f *flow.Flow, lists []suite.Script) (llm.Provider, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.scripts == nil {
		var err error
		s.scripts, err = newScript(f, lists)
		if err != nil {
			return nil, err
		}
	}
	return s.scripts, nil
}

// scripted returns how many answers of each script were given.
func (s *sessions) scripted() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.scripts == nil {
		return nil
	}
	return s.scripts.countGiven()
}

// hasAsked reports whether a provider, or a cassette of one, was asked.
func (s *sessions) hasAsked() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.players)+len(s.live) > 0
}

// problem returns why a request of the run got no answer, or nil if each got one.
func (s *sessions) problem() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.scripts != nil {
		if err := s.scripts.problem(); err != nil {
			return err
		}
	}
	if s.failed != nil {
		return s.failed
	}
	for _, name := range s.names() {
		if err := s.players[name].Missed(); err != nil {
			return err
		}
	}
	return nil
}

// names lists the providers that were asked, sorted. The lock is held.
func (s *sessions) names() []string {
	names := make([]string, 0, len(s.players))
	for name := range s.players {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// ms returns how long the models took when they were recorded; nil if a take has no time.
func (s *sessions) ms() *float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.scripts != nil { // scripted answers take no time
		return nil
	}
	total := 0.0
	for _, p := range s.players {
		ms, known := p.RecordedMS()
		if !known {
			return nil
		}
		total += float64(ms)
	}
	return &total
}

// recordedMS returns ms for results; nil also if no model was asked.
func (s *sessions) recordedMS() *int64 {
	ms := s.ms()
	if ms == nil || len(s.players) == 0 {
		return nil
	}
	whole := int64(*ms)
	return &whole
}

// isPriced reports whether the cost of all requests is known: takes and servers report it, or the settings have
// prices.
func (s *sessions) isPriced(used llm.Usage) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.players {
		if !p.IsPriced() {
			return false
		}
	}
	for name := range s.live {
		if used.Cost == 0 && !s.models.options.Models.Priced(name) {
			return false
		}
	}
	return s.scripts == nil || s.scripts.isPriced()
}

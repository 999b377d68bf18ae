package flowtest

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/replay"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
	"github.com/callnode/scheduler/scheduler/flowtest/suite"
)

// models are those that the cases of a file ask, each behind the cassette that it has for the file. It is safe for
// concurrent use.
type models struct {
	suite   *suite.Suite
	options *Options

	mu       sync.Mutex
	takes    map[string]*replay.Takes // by the name of the provider; guarded by mu
	live     map[string]llm.Provider  // guarded by mu
	counters map[string]llm.Counter   // guarded by mu
}

func newModels(s *suite.Suite, o *Options) *models {
	return &models{suite: s, options: o, takes: map[string]*replay.Takes{}, live: map[string]llm.Provider{}, counters: map[string]llm.Counter{}}
}

// cassetteSuffix ends the names of cassettes: a.test.yaml has a.test.PROVIDER.cassette.yaml.
const cassetteSuffix = ".cassette.yaml"

// cassette returns the path of the cassette of a provider.
func (m *models) cassette(name string) string {
	return besideFile(m.suite.Path, "."+name+cassetteSuffix)
}

// onlyRecorded returns the provider of which there is a cassette: in a replay, it answers where the settings name none.
func (m *models) onlyRecorded() (string, error) {
	begin := besideFile(m.suite.Path, ".")
	found, err := filepath.Glob(escapeGlob(begin) + "*" + cassetteSuffix)
	if err != nil {
		return "", err
	}
	if len(found) == 1 {
		return strings.TrimSuffix(strings.TrimPrefix(found[0], begin), cassetteSuffix), nil
	}
	err = calls.Errorf(calls.Missing, "no model provider is configured, and %d cassettes are beside the test file", len(found)).
		WithHint("set llm.default in the settings, name one with llm: NAME, or stop before the model with until: STEP")
	return "", err
}

// escapeGlob returns a path that stands for itself in a pattern.
func escapeGlob(path string) string {
	return strings.NewReplacer("*", `[*]`, "?", `[?]`, "[", `[[]`).Replace(path)
}

// open returns the cassette of a provider.
func (m *models) open(name string) (*replay.Takes, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.takes[name]; t != nil {
		return t, nil
	}
	mode := replay.Replay
	if m.options.Mode == result.Record {
		mode = replay.Auto
	}
	t, err := replay.OpenTakes(replay.TakesConfig{
		Name: name, Path: m.cassette(name), ShownPath: besideFile(m.suite.File, "."+name+cassetteSuffix), Mode: mode, Hidden: m.options.Hidden,
		Open: func() (llm.Provider, error) { return m.options.Models.Open(name) },
		Hint: "run scheduler test --record to record it",
	})
	if err != nil {
		return nil, calls.Errorf(calls.Invalid, "%w", err)
	}
	m.takes[name] = t
	return t, nil
}

// openLive returns a provider that is asked.
func (m *models) openLive(name string) (llm.Provider, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := m.live[name]; p != nil {
		return p, nil
	}
	p, err := m.options.Models.Open(name)
	if err != nil {
		return nil, err
	}
	m.live[name] = p
	return p, nil
}

// counter returns what counts the tokens of a provider.
func (m *models) counter(name string) llm.Counter {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.counters[name]
	if c == nil {
		c = newCounter(m.options.Models.Tokens(name))
		m.counters[name] = c
	}
	return c
}

// counter remembers counts: the cases of a file have most texts of their prompts in common. It is safe for
// concurrent use.
type counter struct {
	inner llm.Counter

	mu    sync.Mutex
	known map[string]int // guarded by mu
}

// newCounter returns a counter that remembers, and counts images where the inner one does.
func newCounter(inner llm.Counter) llm.Counter {
	c := &counter{inner: inner}
	if images, ok := inner.(llm.ImageCounter); ok {
		return imageCounter{c, images}
	}
	return c
}

// imageCounter is a counter that counts images too.
type imageCounter struct {
	*counter
	images llm.ImageCounter
}

var _ llm.ImageCounter = imageCounter{}

// CountImage counts the tokens of an image.
func (c imageCounter) CountImage(url, detail string) int { return c.images.CountImage(url, detail) }

// maxCounts bounds how many counts are remembered.
const maxCounts = 10_000

// Count counts the tokens of a text.
func (c *counter) Count(text string) int {
	c.mu.Lock()
	n, ok := c.known[text]
	c.mu.Unlock()
	if ok {
		return n
	}
	n = c.inner.Count(text)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= maxCounts || c.known == nil {
		c.known = map[string]int{}
	}
	c.known[text] = n
	return n
}

// close writes what was recorded.
func (m *models) close(prune bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []error
	for _, t := range m.takes {
		all = append(all, t.Close(prune))
	}
	return errors.Join(all...)
}

// sessions are the models of one repeat: each plays the takes of its number. It is safe for concurrent use.
type sessions struct {
	models        *models
	meter         *meter
	number, order int

	mu      sync.Mutex
	players map[string]*replay.Player // guarded by mu
	live    map[string]bool           // the providers that were asked themselves; guarded by mu
	scripts *script                   // guarded by mu
	failed  error                     // why a model that the flow asked could not be opened; guarded by mu
}

func (m *models) newSessions(index, number int, meter *meter) *sessions {
	return &sessions{models: m, meter: meter, number: number, order: index, players: map[string]*replay.Player{}, live: map[string]bool{}}
}

// provider returns who answers by the name of a provider.
func (s *sessions) provider(name string) llm.Provider {
	return llm.Lazy(func() (llm.Provider, error) {
		p, err := s.open(name)
		if err != nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.failed = err
		}
		return p, err
	})
}

// open returns who answers by the name of a provider, when it is asked.
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
		if err != nil {
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
	p.Wrap = func(inner llm.Provider) llm.Provider { return observeProvider(name, inner, s.meter) }
	s.players[name] = p
	return p, nil
}

// script returns what answers by the lists of the case.
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

// problem returns why the run did not get what it asked for; nil: it did.
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

// ms returns how long the models took when they were recorded; nil where a take does not tell.
func (s *sessions) ms() *float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
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

// recordedMS returns ms for results; nil where no model was asked either.
func (s *sessions) recordedMS() *int64 {
	ms := s.ms()
	if ms == nil || len(s.players) == 0 {
		return nil
	}
	whole := int64(*ms)
	return &whole
}

// isPriced reports whether the cost of all that was asked is known: takes and servers tell it, or the settings have prices.
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

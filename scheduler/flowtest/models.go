package flowtest

import (
	"errors"
	"path/filepath"
	"strings"
	"sync"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/replay"
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
	outside  *replay.Takes            // of others than models, nil before it is needed; guarded by mu
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

// onlyRecorded returns the provider that has a cassette: a replay uses it if the settings name none.
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

// escapeGlob returns a pattern that matches exactly this path.
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
		Name: name, Path: m.cassette(name), ShownPath: besideFile(m.suite.File, "."+name+cassetteSuffix), Mode: mode, Hidden: m.options.Hidden, Secrets: m.options.Secrets,
		Open: func() (llm.Provider, error) { return m.options.Models.Open(name) },
		Hint: "run scheduler test --record to record it",
	})
	if err != nil {
		return nil, calls.Errorf(calls.Invalid, "%w", err)
	}
	m.takes[name] = t
	return t, nil
}

// openOutside returns the cassette of answers from other sources than models: for example, a.test.yaml has
// a.test.cassette.yaml. It returns nil if there is none, and none is to be recorded.
func (m *models) openOutside() (*replay.Takes, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	mode := replay.Replay
	if m.options.Mode == result.Record {
		mode = replay.Auto
	}
	if m.outside == nil {
		t, err := replay.OpenTakes(replay.TakesConfig{
			Path: besideFile(m.suite.Path, cassetteSuffix), ShownPath: besideFile(m.suite.File, cassetteSuffix), Mode: mode, Hidden: m.options.Hidden,
			Secrets: m.options.Secrets, Places: m.options.Places, Hint: "run scheduler test --record to record it",
		})
		if err != nil {
			return nil, calls.Errorf(calls.Invalid, "%w", err)
		}
		m.outside = t
	}
	if mode == replay.Replay && m.outside.IsEmpty() {
		return nil, nil
	}
	return m.outside, nil
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

// counter returns the token counter of a provider.
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

// newCounter returns a counter that remembers its counts; it counts images if the inner one does.
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

// close writes the recordings.
func (m *models) close(prune bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []error
	for _, t := range m.takes {
		all = append(all, t.Close(prune))
	}
	if m.outside != nil {
		all = append(all, m.outside.Close(prune))
	}
	return errors.Join(all...)
}

// besideFile returns the path of a file that belongs to a test file: a.test.yaml has a.test.snapshots.yaml.
func besideFile(path, suffix string) string {
	return strings.TrimSuffix(path, filepath.Ext(path)) + suffix
}

// embeddingUsage returns the usage of embedding texts, by our count: embedders report none. isPriced reports
// whether the settings have a price.
func (m *models) embeddingUsage(provider, model string, texts []string) (u llm.Usage, isPriced bool) {
	counter := m.counter(provider)
	for _, text := range texts {
		u.InputTokens += counter.Count(text)
	}
	if m.options.Models.Cost == nil {
		return u, false
	}
	u.Cost, isPriced = m.options.Models.Cost(provider, model, u)
	return u, isPriced
}

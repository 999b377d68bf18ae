package scheduler

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/callnode/scheduler/llm/value"
)

const masked = "***"

// secrets are the values that no event may show: every one that a template of the
// run has mentioned so far.
type secrets struct {
	mu    sync.Mutex
	known atomic.Pointer[secretList]
}

// secretList is immutable.
type secretList struct {
	values   []string // the longest first
	replacer *strings.Replacer
}

// add makes a value a secret from now on.
func (s *secrets) add(secret string) {
	if secret == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var values []string
	if l := s.known.Load(); l != nil {
		values = slices.Clone(l.values)
	}
	if slices.Contains(values, secret) {
		return
	}
	values = append(values, secret)
	slices.SortStableFunc(values, func(a, b string) int { return len(b) - len(a) })
	pairs := make([]string, 0, 2*len(values))
	for _, v := range values {
		pairs = append(pairs, v, masked)
	}
	s.known.Store(&secretList{values, strings.NewReplacer(pairs...)})
}

// text is the text with every secret in it masked.
func (s *secrets) text(text string) string {
	if l := s.known.Load(); l != nil {
		return l.replacer.Replace(text)
	}
	return text
}

// mask is the value with every secret in its strings and keys masked.
func (s *secrets) mask(v value.Value) value.Value {
	if s.known.Load() == nil {
		return v
	}
	switch v.Kind() {
	case value.String:
		text, _ := v.Str()
		return value.OfString(s.text(text))
	case value.List:
		items := make([]value.Value, len(v.List()))
		for i, item := range v.List() {
			items[i] = s.mask(item)
		}
		return value.OfList(items...)
	case value.Object:
		m := value.NewMap(v.Map().Len())
		for k, member := range v.Map().All() {
			m.Set(s.text(k), s.mask(member))
		}
		return value.OfMap(m)
	}
	return v
}

// textMask masks text that comes in pieces: a piece that ends in what may be the
// beginning of a secret is held back until more is known.
type textMask struct {
	secrets *secrets
	held    string
}

// next is what can be shown once piece has come.
func (m *textMask) next(piece string) string {
	l := m.secrets.known.Load()
	if l == nil {
		return piece
	}
	text := l.replacer.Replace(m.held + piece)
	keep := 0
	for _, secret := range l.values {
		for n := min(len(secret)-1, len(text)); n > keep; n-- {
			if strings.HasPrefix(secret, text[len(text)-n:]) {
				keep = n
			}
		}
	}
	m.held = text[len(text)-keep:]
	return text[:len(text)-keep]
}

// rest is what was held back, at the end of the text.
func (m *textMask) rest() string {
	held := m.held
	m.held = ""
	return m.secrets.text(held)
}

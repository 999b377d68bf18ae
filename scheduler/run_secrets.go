package scheduler

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/secret"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
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

// addSecret makes a value a secret from now on.
func (s *secrets) addSecret(text string) {
	if text == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var values []string
	if l := s.known.Load(); l != nil {
		values = slices.Clone(l.values)
	}
	if slices.Contains(values, text) {
		return
	}
	for _, form := range secret.Forms(text) {
		if !slices.Contains(values, form) {
			values = append(values, form)
		}
	}
	slices.SortStableFunc(values, func(a, b string) int { return len(b) - len(a) })
	pairs := make([]string, 0, 2*len(values))
	for _, v := range values {
		pairs = append(pairs, v, masked)
	}
	s.known.Store(&secretList{values, strings.NewReplacer(pairs...)})
}

// maskText returns the text with every secret in it masked.
func (s *secrets) maskText(text string) string {
	if l := s.known.Load(); l != nil {
		return l.replacer.Replace(text)
	}
	return text
}

// maskValue returns the value with every secret in its strings and keys masked.
func (s *secrets) maskValue(v value.Value) value.Value {
	if s.known.Load() == nil {
		return v
	}
	switch v.Kind() {
	case value.String:
		text, _ := v.Str()
		return value.OfString(s.maskText(text))
	case value.List:
		items := make([]value.Value, len(v.List()))
		for i, item := range v.List() {
			items[i] = s.maskValue(item)
		}
		return value.OfList(items...)
	case value.Object:
		m := value.NewMap(v.Map().Len())
		for k, member := range v.Map().All() {
			m.Set(s.maskText(k), s.maskValue(member))
		}
		return value.OfMap(m)
	}
	return v
}

// maskWithPointers is mask, and the JSON pointers of what it changed.
func (s *secrets) maskWithPointers(v value.Value) (clear value.Value, changed []string) {
	if s.known.Load() == nil {
		return v, nil
	}
	clear = s.maskValue(v)
	return clear, changedPointers(nil, v, clear, "")
}

// changedPointers appends the places where clear, the masked v, differs from it. A key
// that was masked is a change of its object.
func changedPointers(found []string, v, clear value.Value, pointer string) []string {
	switch v.Kind() {
	case value.List:
		for i, item := range v.List() {
			found = changedPointers(found, item, clear.List()[i], pointer+"/"+strconv.Itoa(i))
		}
	case value.Object:
		if !slices.Equal(v.Map().Keys(), clear.Map().Keys()) {
			return append(found, pointer)
		}
		for k, member := range v.Map().All() {
			other, _ := clear.Get(k)
			found = changedPointers(found, member, other, pointer+"/"+value.Escape(k))
		}
	case value.String:
		if !value.Equal(v, clear) {
			return append(found, pointer)
		}
	}
	return found
}

// restoreHidden puts back what was masked in v at the pointers hidden, from a value that
// is known again.
func (s *secrets) restoreHidden(v, from value.Value, hidden []string) (value.Value, error) {
	if len(hidden) == 0 {
		return v, nil
	}
	full := s.unmask(v, from)
	if _, found := s.maskWithPointers(full); len(found) < len(hidden) {
		return value.Value{}, calls.Errorf(calls.Invalid, "%w", journal.ErrSecretLost).
			WithHint("run the flow anew")
	}
	return full, nil
}

// unmask takes from where that is what v is the masked form of.
func (s *secrets) unmask(v, from value.Value) value.Value {
	if value.Equal(s.maskValue(from), v) {
		return from
	}
	switch v.Kind() {
	case value.List:
		items := slices.Clone(v.List())
		for i := range min(len(items), len(from.List())) {
			items[i] = s.unmask(items[i], from.List()[i])
		}
		return value.OfList(items...)
	case value.Object:
		m := v.Map().Clone()
		for k, member := range v.Map().All() {
			if other, ok := from.Get(k); ok {
				m.Set(k, s.unmask(member, other))
			}
		}
		return value.OfMap(m)
	}
	return v
}

// learnSecrets makes secrets of all that the flow mentions, before anything of it
// gets into an event. lookup returns the value of a secret; nil: there are none.
func (s *secrets) learnSecrets(f *flow.Flow, lookup func(name string) (string, bool)) {
	if lookup == nil {
		return
	}
	learn := func(params ...*flow.Param) {
		for _, p := range params {
			p.EachRef(func(ref prompt.Ref) {
				if len(ref.Path) < 2 || ref.Path[0] != "secrets" {
					return
				}
				if secret, ok := lookup(ref.Path[1]); ok {
					s.addSecret(secret)
				}
			})
		}
	}
	learn(f.User, f.Session, f.Outputs, f.OnError)
	for _, step := range f.Steps {
		learn(step.When, step.ForEach, step.With)
	}
}

// textMask masks text that comes in pieces: a piece that ends in what may be the
// beginning of a secret, or of an image, is held back until more is known.
type textMask struct {
	secrets *secrets
	held    string
	images  wholeImages
}

// next returns what can be shown once piece has come.
func (m *textMask) next(piece string) string {
	l := m.secrets.known.Load()
	if l == nil {
		return m.images.next(piece)
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
	return m.images.next(text[:len(text)-keep])
}

// rest returns what was held back, at the end of the text.
func (m *textMask) rest() string {
	held := m.held
	m.held = ""
	return m.images.next(m.secrets.maskText(held)) + m.images.rest()
}

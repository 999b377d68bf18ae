package secret

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/callnode/scheduler/llm/value"
)

// Mask is shown in place of a secret.
const Mask = "***"

const (
	// minDerived is how long a text must be that was computed from a secret to be searched
	// for by itself.
	minDerived = 4
	// maxDerived limits their number in a set: the oldest are forgotten.
	maxDerived = 256
	// maxFormed is how long they may be for their other forms to be searched for too.
	maxFormed = 4 << 10
)

// Set is texts that may not be shown, in all their [Forms]. [NewSet] makes one for a run,
// or for a process; it knows more and more. It is safe for concurrent use.
type Set struct {
	outer *Set

	mu      sync.Mutex // guards the fields below
	given   [][]string // each in all its forms, first unchanged
	derived [][]string

	known atomic.Pointer[forms]
}

// forms is immutable.
type forms struct {
	list     []string // the longest first
	has      map[string]bool
	formed   map[string]bool // the texts that all the forms of are in list
	replacer *strings.Replacer
}

// NewSet returns an empty set. Secrets added to it are also added to outer, unless that is nil.
func NewSet(outer *Set) *Set { return &Set{outer: outer} }

// SetOf returns a set of secrets; texts of only white space are left out.
func SetOf(texts ...string) *Set {
	s := NewSet(nil)
	for _, text := range texts {
		if strings.TrimSpace(text) != "" {
			s.Add(text)
		}
	}
	return s
}

// Add makes a text a secret from now on.
func (s *Set) Add(text string) {
	if s == nil || text == "" {
		return
	}
	s.outer.Add(text)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.ContainsFunc(s.given, func(forms []string) bool { return forms[0] == text }) {
		s.given = append(s.given, Forms(text))
		s.updateLocked()
	}
}

// AddDerived adds texts computed from a secret, if they are long enough not to be in other texts by chance.
func (s *Set) AddDerived(texts ...string) {
	if s == nil {
		return
	}
	texts = slices.DeleteFunc(slices.Clone(texts), func(text string) bool {
		return len(text) < minDerived || strings.TrimSpace(text) == "" || s.hasFormsOf(text)
	})
	if len(texts) == 0 {
		return
	}
	s.outer.AddDerived(texts...)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, text := range texts {
		forms := []string{text}
		if len(text) <= maxFormed {
			forms = Forms(text)
		}
		s.derived = append(s.derived, forms)
	}
	s.derived = s.derived[max(len(s.derived)-maxDerived, 0):]
	s.updateLocked()
}

func (s *Set) updateLocked() {
	f := &forms{has: map[string]bool{}, formed: map[string]bool{}}
	for _, list := range slices.Concat(s.given, s.derived) {
		f.formed[list[0]] = true
		for _, form := range list {
			if !f.has[form] {
				f.has[form] = true
				f.list = append(f.list, form)
			}
		}
	}
	f.replacer = newReplacer(f.list)
	s.known.Store(f)
}

// IsEmpty reports whether the set knows no secret.
func (s *Set) IsEmpty() bool { return s == nil || s.known.Load() == nil }

// Has reports whether the text is one of the secrets, in one of its forms.
func (s *Set) Has(text string) bool {
	return !s.IsEmpty() && s.known.Load().has[text]
}

// hasFormsOf reports whether all the forms of the text are searched for: that the text is a
// form of a secret itself is not enough, a URL may have it escaped.
func (s *Set) hasFormsOf(text string) bool {
	return !s.IsEmpty() && s.known.Load().formed[text]
}

// Forms returns the texts to search for, the longest first. They must not be changed.
func (s *Set) Forms() []string {
	if s.IsEmpty() {
		return nil
	}
	return s.known.Load().list
}

// MaskText returns the text with [Mask] in place of every secret, in any escapes: for example as JSON in HTML.
func (s *Set) MaskText(text string) string {
	if s.IsEmpty() {
		return text
	}
	f := s.known.Load()
	if !f.hasEscaped(text) {
		return f.replacer.Replace(text)
	}
	return maskRanges(text, f.findAll(text))
}

func maskRanges(text string, ranges []value.ByteRange) string {
	var b strings.Builder
	end := 0
	for _, r := range ranges {
		b.WriteString(text[end:r.Start])
		b.WriteString(Mask)
		end = r.End
	}
	b.WriteString(text[end:])
	return b.String()
}

// OpenEnd returns the offset of the end of a text that may be the beginning of a secret; len(text) if there is
// none.
func (s *Set) OpenEnd(text string) int {
	if s.IsEmpty() {
		return len(text)
	}
	return s.known.Load().openEnd(text)
}

// MaskValue returns the value without the parts marked as a secret ([value.OfSecret]), and without the secrets of
// the set in its texts, keys and numbers. A secret number becomes a text.
func (s *Set) MaskValue(v value.Value) value.Value {
	if s.IsEmpty() {
		return v
	}
	switch v.Kind() {
	case value.String:
		text, _ := v.Masked(Mask).Str()
		return value.OfString(s.MaskText(text))
	case value.Int, value.Float:
		if shown := v.Masked(Mask); shown.Kind() == value.String {
			return shown
		}
		if s.Has(v.JSON()) {
			return value.OfString(Mask)
		}
	case value.List:
		items := make([]value.Value, len(v.List()))
		for i, item := range v.List() {
			items[i] = s.MaskValue(item)
		}
		return value.OfList(items...)
	case value.Object:
		m := value.NewMap(v.Map().Len())
		for k, member := range v.Map().All() {
			m.Set(s.MaskText(k), s.MaskValue(member))
		}
		return value.OfMap(m)
	}
	return v
}

// Mark returns the value with a mark ([value.OfSecret]) on every secret of the set in its texts and numbers, so
// that values computed from them are known to be secret too.
func (s *Set) Mark(v value.Value) value.Value {
	if s.IsEmpty() || value.Equal(s.MaskValue(v), v) {
		return v
	}
	return s.markNested(v)
}

func (s *Set) markNested(v value.Value) value.Value {
	switch v.Kind() {
	case value.String:
		text, _ := v.Str()
		if ranges := s.find(text); v.SecretParts() == nil && ranges != nil {
			return value.OfSecret(v, ranges...)
		}
	case value.Int, value.Float:
		if s.Has(v.JSON()) {
			return value.OfSecret(v)
		}
	case value.List:
		items := make([]value.Value, len(v.List()))
		for i, item := range v.List() {
			items[i] = s.markNested(item)
		}
		return value.OfList(items...)
	case value.Object:
		m := value.NewMap(v.Map().Len())
		for k, member := range v.Map().All() {
			m.Set(k, s.markNested(member))
		}
		return value.OfMap(m)
	}
	return v
}

// MaskedRanges returns the stretches of a text that [Set.MaskValue] replaces by a mask, in order: the parts marked
// as secret, and the secrets in the text between them.
func (s *Set) MaskedRanges(v value.Value) (ranges []value.ByteRange) {
	text, _ := v.Str()
	if s.IsEmpty() || text == "" {
		return nil
	}
	end := 0
	for _, marked := range v.SecretParts() {
		ranges = append(s.appendMatches(ranges, text, end, marked.Start), marked)
		end = marked.End
	}
	return s.appendMatches(ranges, text, end, len(text))
}

// appendMatches adds the stretches of text[start:end] that are secrets.
func (s *Set) appendMatches(ranges []value.ByteRange, text string, start, end int) []value.ByteRange {
	text = text[:end]
	f := s.known.Load()
	if f.hasEscaped(text[start:]) {
		for _, r := range f.findAll(text[start:]) {
			ranges = append(ranges, value.ByteRange{Start: start + r.Start, End: start + r.End})
		}
		return ranges
	}
	if f.replacer.Replace(text[start:]) == text[start:] {
		return ranges
	}
	forms := f.list // the longest first, which is the one that is replaced
	for at := start; at < end; {
		i := slices.IndexFunc(forms, func(form string) bool { return strings.HasPrefix(text[at:], form) })
		if i < 0 {
			at++
			continue
		}
		ranges = append(ranges, value.ByteRange{Start: at, End: at + len(forms[i])})
		at += len(forms[i])
	}
	return ranges
}

// find returns the stretches of a text that are secrets, in order and apart.
func (s *Set) find(text string) []value.ByteRange {
	return s.known.Load().findAll(text)
}

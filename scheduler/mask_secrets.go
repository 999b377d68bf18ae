package scheduler

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/secret"
	"github.com/callnode/scheduler/scheduler/flow"
)

const masked = secret.Mask

// secrets has the texts that no event of a run may show: the secrets that its templates mention, and values
// computed from them. Values carry a mark ([value.OfSecret]) for their secret bytes; a set of texts is the second
// net, for values that lost their mark on the way through a call.
type secrets struct{ set *secret.Set }

// newSecrets returns the secrets of a run; outer gets to know them too.
func newSecrets(outer *secret.Set) *secrets { return &secrets{secret.NewSet(outer)} }

// maskText returns the text with every secret in it masked.
func (s *secrets) maskText(text string) string { return s.set.MaskText(text) }

// maskValue returns the value with every secret in it masked.
func (s *secrets) maskValue(v value.Value) value.Value { return s.set.MaskValue(v) }

// learnDerived makes secrets of the texts and numbers in v that are marked as such.
func (s *secrets) learnDerived(v value.Value) {
	if s.set.IsEmpty() || !v.HasSecret() {
		return
	}
	var texts []string
	v.EachSecret(func(text string) { texts = append(texts, text) })
	s.set.AddDerived(texts...)
}

// render returns the value of a param. Values that it computed from secrets are hidden in all further events.
func (s *secrets) render(ctx context.Context, p *flow.Param, names prompt.Scope) (value.Value, error) {
	v, err := p.Render(ctx, names)
	s.learnDerived(v)
	return v, err
}

// findUnmaskable returns the JSON pointer of a text or number in v that was computed from a secret, and is too
// short to be found, and masked, in the output of a call. For example, a template may have taken the first letter
// of a password.
func (s *secrets) findUnmaskable(v value.Value, pointer string) (at string, found bool) {
	switch {
	case !v.HasSecret():
	case v.Kind() == value.List:
		for i, item := range v.List() {
			if at, found := s.findUnmaskable(item, pointer+"/"+strconv.Itoa(i)); found {
				return at, true
			}
		}
	case v.Kind() == value.Object:
		for k, member := range v.Map().All() {
			if at, found := s.findUnmaskable(member, pointer+"/"+value.Escape(k)); found {
				return at, true
			}
		}
	default:
		v.ShortSecrets(func(text string) {
			// A secret that is short itself is masked too; a mask in a record is one already.
			found = found || text != masked && !s.set.Has(text)
		})
	}
	return pointer, found
}

// maskWithPointers is maskValue, and the JSON pointers of the changed values.
func (s *secrets) maskWithPointers(v value.Value) (clear value.Value, changed []string) {
	if s.set.IsEmpty() {
		return v, nil
	}
	clear = s.maskValue(v)
	return clear, changedPointers(nil, v, clear, "")
}

// changedPointers appends the places at which clear, the masked v, differs from it. A key that was masked is a
// change of its object. For example, /headers/token if only that member was masked.
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
	default:
		if !value.Equal(v, clear) {
			return append(found, pointer)
		}
	}
	return found
}

// restoreHidden puts back the secrets that were masked in v at the pointers hidden, from a value that is known
// again. lost has the pointers of secrets that it does not have.
func (s *secrets) restoreHidden(v, from value.Value, hidden []string) (full value.Value, lost []string) {
	if len(hidden) == 0 {
		return v, nil
	}
	full = s.unmask(v, from)
	_, found := s.maskWithPointers(full)
	for _, pointer := range hidden {
		if !slices.Contains(found, pointer) {
			lost = append(lost, pointer)
		}
	}
	return full, lost
}

// unmask returns v with the values of from at every place at which v has their masked form.
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
// gets into an event. lookup returns the value of a secret; nil without secrets.
func (s *secrets) learnSecrets(f *flow.Flow, lookup func(name string) (string, bool)) {
	if lookup == nil {
		return
	}
	for _, name := range f.SecretNames() {
		if secret, ok := lookup(name); ok {
			s.set.Add(secret)
		}
	}
}

// textMask masks text that comes in pieces. A piece whose end may be the beginning of a secret, or of an image, is
// held back until more is known. Text is shown in its original pieces, so that the events of a run do not depend
// on the letters of a secret: a replay has another text in its place. A secret that is spread over pieces is
// masked in the first of them.
type textMask struct {
	secrets *secrets
	held    []string
	images  wholeImages
}

// addPiece returns the pieces that can be shown once piece has come.
func (m *textMask) addPiece(piece string) []string {
	set := m.secrets.set
	if set.IsEmpty() {
		return []string{m.images.addPiece(piece)}
	}
	m.held = append(m.held, piece)
	text := strings.Join(m.held, "")
	ranges, open := set.MaskedRanges(value.OfString(text)), set.OpenEnd(text)
	ready, at := 0, 0
	for i, p := range m.held {
		at += len(p)
		isInSecret := slices.ContainsFunc(ranges, func(r value.ByteRange) bool { return r.Start < at && at < r.End })
		if at <= open && !isInSecret {
			ready = i + 1
		}
	}
	return m.showHeld(ready, text, ranges)
}

// flushAll returns the pieces that were held back, at the end of the text.
func (m *textMask) flushAll() []string {
	text := strings.Join(m.held, "")
	shown := m.showHeld(len(m.held), text, m.secrets.set.MaskedRanges(value.OfString(text)))
	return append(shown, m.images.flushAll())
}

// showHeld returns the first n pieces that are held back, masked. text is all of them, ranges are the secrets in it.
func (m *textMask) showHeld(n int, text string, ranges []value.ByteRange) (shown []string) {
	start := 0
	for _, piece := range m.held[:n] {
		end, at := start+len(piece), start
		var b strings.Builder
		for _, r := range ranges {
			if r.End <= start || r.Start >= end {
				continue
			}
			if r.Start >= start {
				b.WriteString(text[at:r.Start] + secret.Mask)
			}
			at = min(r.End, end)
		}
		b.WriteString(text[at:end])
		shown = append(shown, m.images.addPiece(b.String()))
		start = end
	}
	m.held = slices.Delete(m.held, 0, n)
	return shown
}

// wholeCounter is a counter of tokens by which no text is cut inside a secret of the run: the half of one could
// not be masked in the record of a prompt. It counts a text as the record has it, with a mask for each secret: so
// the numbers equal those in `runs show`, reveal nothing about the secret, and are the same in a replay without
// it.
type wholeCounter struct {
	llm.Counter
	secrets *secret.Set
}

// keepSecretsWhole returns a counter that keeps secrets whole, and counts images if the given one does.
func keepSecretsWhole(counter llm.Counter, secrets *secret.Set) llm.Counter {
	c := wholeCounter{counter, secrets}
	if images, ok := counter.(llm.ImageCounter); ok {
		return wholeImageCounter{c, images}
	}
	return c
}

// Count counts the masked text.
func (c wholeCounter) Count(text string) int { return c.Counter.Count(c.secrets.MaskText(text)) }

// Bound returns the counter with a context.
func (c wholeCounter) Bound(ctx context.Context) llm.Counter {
	return keepSecretsWhole(llm.BindCounter(ctx, c.Counter), c.secrets)
}

// KeepWhole returns end, or the beginning of a secret that a cut there would leave a part of.
func (c wholeCounter) KeepWhole(text string, end int) int { return c.secrets.KeepWhole(text, end) }

// wholeImageCounter is a wholeCounter that counts images.
type wholeImageCounter struct {
	wholeCounter
	images llm.ImageCounter
}

var (
	_ llm.WholeKeeper  = wholeImageCounter{}
	_ llm.ImageCounter = wholeImageCounter{}
	_ llm.BoundCounter = wholeImageCounter{}
)

// CountImage counts the tokens of an image.
func (c wholeImageCounter) CountImage(url, detail string) int {
	return c.images.CountImage(url, detail)
}

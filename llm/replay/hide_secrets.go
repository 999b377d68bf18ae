package replay

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/secret"
)

// hider takes secrets out of answers.
type hider struct {
	sets  secrets
	named []Secret
}

func newHider(sets secrets, named func() []Secret) *hider { return &hider{sets, listSecrets(named)} }

// listSecrets returns the secrets that are set; list may be nil.
func listSecrets(list func() []Secret) []Secret {
	if list == nil {
		return nil
	}
	return slices.DeleteFunc(list(), func(s Secret) bool { return s.Text == "" })
}

// hideDeltas returns an answer with marks in place of secrets, in the same pieces: if a secret is spread over
// several, each has the mark of its part.
func (h *hider) hideDeltas(deltas []llm.Delta) ([]llm.Delta, error) {
	texts := map[string]string{} // by the names of visitTexts
	for i := range deltas {
		visitTexts(&deltas[i], func(name string, piece *string) { texts[name] += *piece })
	}
	ranges, ends := map[string][]value.ByteRange{}, map[string]int{}
	for name, text := range texts {
		ranges[name] = h.sets.rangesIn(value.OfString(text))
	}
	hidden := make([]llm.Delta, len(deltas))
	for i, d := range deltas {
		d.ToolCalls, d.Extra = slices.Clone(d.ToolCalls), h.hideExtra(d.Extra)
		for k := range d.ToolCalls {
			call := &d.ToolCalls[k]
			call.ID, call.Name, call.Extra = h.hideText(value.OfString(call.ID)), h.hideText(value.OfString(call.Name)), h.hideExtra(call.Extra)
		}
		visitTexts(&d, func(name string, piece *string) {
			start := ends[name]
			ends[name] += len(*piece)
			*piece = h.hideRanges(texts[name], ranges[name], start, ends[name])
		})
		hidden[i] = d
	}
	if h.sets.occurInAnswer(hidden) {
		return nil, errSecret
	}
	return hidden, nil
}

// visitTexts visits the texts of a delta that go on in the next ones, each by a name.
func visitTexts(d *llm.Delta, visit func(name string, piece *string)) {
	visit("text", &d.Text)
	visit("reasoning", &d.Reasoning)
	for i := range d.ToolCalls {
		visit(fmt.Sprint("arguments ", d.ToolCalls[i].Index), &d.ToolCalls[i].Arguments)
	}
}

// hideExtra is hideValue for members of a vendor; members that are not JSON are left as they are, and found by
// occurInAnswer.
func (h *hider) hideExtra(members map[string]json.RawMessage) map[string]json.RawMessage {
	if len(members) == 0 {
		return members
	}
	hidden := make(map[string]json.RawMessage, len(members))
	for name, text := range members {
		if v, err := value.ParseJSON(text); err == nil {
			text = h.hideValue(v).AppendJSON(nil)
		}
		hidden[name] = text
	}
	return hidden
}

// hideValue returns v with marks in place of secrets: in texts, in numbers and in keys.
func (h *hider) hideValue(v value.Value) value.Value {
	switch v.Kind() {
	case value.String:
		return value.OfString(h.hideText(v))
	case value.Int, value.Float:
		isSecret := v.HasSecret() || slices.ContainsFunc(h.sets, func(s *secret.Set) bool { return s.Has(v.JSON()) })
		if isSecret {
			m := h.markOf(v.JSON())
			m.isNumber = true
			return value.OfString(m.String())
		}
		return v
	case value.List:
		return mapList(v, h.hideValue)
	case value.Object:
		m := value.NewMap(v.Map().Len())
		for key, member := range v.Map().All() {
			m.Set(h.hideText(value.OfString(key)), h.hideValue(member))
		}
		return value.OfMap(m)
	}
	return v
}

// hideText returns a text with marks in place of secrets.
func (h *hider) hideText(v value.Value) string {
	text := v.PlainText()
	return h.hideRanges(text, h.sets.rangesIn(v), 0, len(text))
}

// hideRanges returns text[start:end] with marks in place of the ranges of the text that are secrets; a range may
// go on before and after it.
func (h *hider) hideRanges(text string, ranges []value.ByteRange, start, end int) string {
	var b strings.Builder
	at := start
	plain := func(to int) { b.WriteString(strings.ReplaceAll(text[at:to], markStart, markStart+"]")) }
	for _, r := range ranges {
		from, to := max(r.Start, start), min(r.End, end)
		if from >= to {
			continue
		}
		plain(from)
		m := h.markOf(text[r.Start:r.End])
		if to-from < r.End-r.Start {
			m.from, m.size = from-r.Start, to-from
		}
		b.WriteString(m.String())
		at = to
	}
	plain(end)
	return b.String()
}

// markOf returns the mark of a secret: as a form of one that has a name, or a part of such a form.
func (h *hider) markOf(text string) mark {
	for _, isPart := range []bool{false, true} {
		for _, named := range h.named {
			for form, spelling := range secret.Spellings(named.Text) {
				if i := strings.Index(spelling, text); spelling == text || isPart && i >= 0 {
					if form == 0 && spelling == text {
						return mark{name: named.Name, shape: shapeOf(named.Text)}
					}
					return mark{name: named.Name, shape: shapeOf(named.Text), form: form, offset: i, length: len(text)}
				}
			}
		}
	}
	return mark{name: noName, shape: shapeOf(text)}
}

// rangesIn returns the stretches of a text that are secrets of one of the sets, in order and apart.
func (s secrets) rangesIn(v value.Value) (ranges []value.ByteRange) {
	all := v.SecretParts()
	for _, set := range s {
		all = slices.Concat(all, set.MaskedRanges(v))
	}
	slices.SortFunc(all, func(a, b value.ByteRange) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End))
	})
	for _, r := range all {
		if last := len(ranges) - 1; last >= 0 && r.Start < ranges[last].End {
			ranges[last].End = max(ranges[last].End, r.End)
			continue
		}
		ranges = append(ranges, r)
	}
	return ranges
}

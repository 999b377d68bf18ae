package replay

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/secret"
	"github.com/callnode/scheduler/llm/value/wording"
)

// mask replaces a secret in a cassette.
const mask = "[secret]"

var errSecret = wording.Errorf("the recording would still contain a secret after masking, so it is not written")

// secrets are sets of texts that must not be written.
type secrets []*secret.Set

func newSecrets(texts []string) secrets { return secrets{secret.SetOf(texts...)} }

// with returns the secrets and the ones of another set.
func (s secrets) with(set *secret.Set) secrets { return append(slices.Clone(s), set) }

func (s secrets) isEmpty() bool {
	return !slices.ContainsFunc(s, func(set *secret.Set) bool { return !set.IsEmpty() })
}

func (s secrets) maskValue(v value.Value) value.Value {
	if s.isEmpty() {
		return v
	}
	return mapStrings(v, s.maskText)
}

// maskText returns a text with mask in place of every secret.
func (s secrets) maskText(text string) string {
	for _, set := range s {
		var b strings.Builder
		end := 0
		for _, r := range set.MaskedRanges(value.OfString(text)) {
			b.WriteString(text[end:r.Start] + mask)
			end = r.End
		}
		text = b.String() + text[end:]
	}
	return text
}

// occurIn reports whether v has a secret anywhere: in a text, a key or a number.
func (s secrets) occurIn(v value.Value) bool {
	if s.isEmpty() {
		return false
	}
	switch v.Kind() {
	case value.List:
		return slices.ContainsFunc(v.List(), s.occurIn)
	case value.Object:
		for key, member := range v.Map().All() {
			if s.occurInText(key) || s.occurIn(member) {
				return true
			}
		}
		return false
	case value.String:
		text, _ := v.Str()
		return s.occurInText(text)
	default:
		return s.occurInText(v.JSON())
	}
}

func (s secrets) occurInText(text string) bool {
	text = markPattern.ReplaceAllLiteralString(strings.ReplaceAll(text, mask, "\x00"), "\x00")
	return slices.ContainsFunc(s, func(set *secret.Set) bool { return set.MaskText(text) != text })
}

// occurInAnswer looks at the pieces and at the whole text that they make.
func (s secrets) occurInAnswer(deltas []llm.Delta) bool {
	for _, d := range append([]llm.Delta{joinDeltas(deltas)}, deltas...) {
		if v, err := encodeDelta(d); err != nil || s.occurIn(v) {
			return true
		}
	}
	return false
}

// joinDeltas joins an answer to one delta.
func joinDeltas(deltas []llm.Delta) llm.Delta {
	var b llm.AnswerBuilder
	var usage *llm.Usage
	for _, d := range deltas {
		b.Add(d)
		if d.Usage != nil {
			usage = d.Usage
		}
	}
	a := b.Answer()
	d := llm.Delta{Text: a.Text, Reasoning: a.Reasoning, ReasoningMember: a.ReasoningMember, FinishReason: a.FinishReason, Usage: usage, Extra: a.Extra}
	for _, c := range a.ToolCalls {
		d.ToolCalls = append(d.ToolCalls, llm.ToolCallDelta(c))
	}
	return d
}

// mapStrings returns v with every string changed, but not the keys.
func mapStrings(v value.Value, change func(string) string) value.Value {
	switch v.Kind() {
	case value.String:
		s, _ := v.Str()
		return value.OfString(change(s))
	case value.List:
		items := make([]value.Value, len(v.List()))
		for i, item := range v.List() {
			items[i] = mapStrings(item, change)
		}
		return value.OfList(items...)
	case value.Object:
		m := value.NewMap(v.Map().Len())
		for k, member := range v.Map().All() {
			m.Set(k, mapStrings(member, change))
		}
		return value.OfMap(m)
	default:
		return v
	}
}

// StepsWithSecrets returns the paths of the steps of a played run whose recorded answers have [secret] in place of
// a secret, sorted, as earlier versions wrote it. A flow that looks at the secret, or at the length of the answer,
// may go another way than when it was recorded.
func (r *Run) StepsWithSecrets() []string {
	r.cassette.mu.Lock()
	defer r.cassette.mu.Unlock()
	if r.isRecording || r.recorded == nil {
		return nil
	}
	var steps []string
	for i := range r.recorded.recordings {
		if one := &r.recorded.recordings[i]; one.isAnswerMasked() {
			steps = append(steps, one.step)
		}
	}
	slices.Sort(steps)
	return slices.Compact(steps)
}

// isAnswerMasked reports whether the answer has a mark in place of a secret.
func (r *recording) isAnswerMasked() bool {
	answer := value.NewMap(1)
	if err := r.encodeAnswer(answer); err != nil {
		return false
	}
	isMasked := false
	mapStrings(value.OfMap(answer), func(text string) string {
		isMasked = isMasked || strings.Contains(text, mask)
		return text
	})
	return isMasked
}

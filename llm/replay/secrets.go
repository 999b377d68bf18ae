package replay

import (
	"errors"
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
)

// mask stands in a cassette where a secret was.
const mask = "[secret]"

var errSecret = errors.New("the recording would still contain a secret after masking, so it is not written")

// secrets are values that must not be written, the longest first.
type secrets struct {
	values   []string
	replacer *strings.Replacer
}

func newSecrets(values []string) secrets {
	values = slices.DeleteFunc(slices.Clone(values), func(s string) bool { return strings.TrimSpace(s) == "" })
	slices.SortFunc(values, func(a, b string) int { return len(b) - len(a) })
	pairs := make([]string, 0, 2*len(values))
	for _, s := range values {
		pairs = append(pairs, s, mask)
	}
	return secrets{values, strings.NewReplacer(pairs...)}
}

func (s secrets) mask(v value.Value) value.Value {
	if len(s.values) == 0 {
		return v
	}
	return mapStrings(v, s.replacer.Replace)
}

// in says whether a secret stands anywhere in v: in a text, a key or a number.
func (s secrets) in(v value.Value) bool {
	if len(s.values) == 0 {
		return false
	}
	switch v.Kind() {
	case value.List:
		return slices.ContainsFunc(v.List(), s.in)
	case value.Object:
		for key, member := range v.Map().All() {
			if s.inText(key) || s.in(member) {
				return true
			}
		}
		return false
	case value.String:
		text, _ := v.Str()
		return s.inText(text)
	default:
		return s.inText(v.JSON())
	}
}

func (s secrets) inText(text string) bool {
	return slices.ContainsFunc(s.values, func(secret string) bool {
		return strings.Contains(strings.ReplaceAll(text, mask, "\x00"), secret)
	})
}

// maskDeltas masks the secrets in an answer. Where one is spread over several
// pieces, the answer is kept in one piece.
func (s secrets) maskDeltas(deltas []llm.Delta) ([]llm.Delta, error) {
	if len(s.values) == 0 {
		return deltas, nil
	}
	masked, err := s.maskEach(deltas)
	if err != nil || !s.inAnswer(masked) {
		return masked, err
	}
	if masked, err = s.maskEach([]llm.Delta{whole(deltas)}); err == nil && s.inAnswer(masked) {
		err = errSecret
	}
	return masked, err
}

func (s secrets) maskEach(deltas []llm.Delta) ([]llm.Delta, error) {
	masked := make([]llm.Delta, len(deltas))
	for i, d := range deltas {
		v, err := encodeDelta(d)
		if err != nil {
			return nil, err
		}
		if masked[i], err = decodeDelta(s.mask(v)); err != nil {
			return nil, err
		}
	}
	return masked, nil
}

// inAnswer looks at the pieces and at what they make together.
func (s secrets) inAnswer(deltas []llm.Delta) bool {
	for _, d := range append([]llm.Delta{whole(deltas)}, deltas...) {
		if v, err := encodeDelta(d); err != nil || s.in(v) {
			return true
		}
	}
	return false
}

// whole joins an answer to one delta.
func whole(deltas []llm.Delta) llm.Delta {
	var b llm.AnswerBuilder
	var usage *llm.Usage
	for _, d := range deltas {
		b.Add(d)
		if d.Usage != nil {
			usage = d.Usage
		}
	}
	a := b.Answer()
	d := llm.Delta{Text: a.Text, Reasoning: a.Reasoning, FinishReason: a.FinishReason, Usage: usage, Extra: a.Extra}
	for _, c := range a.ToolCalls {
		d.ToolCalls = append(d.ToolCalls, llm.ToolCallDelta(c))
	}
	return d
}

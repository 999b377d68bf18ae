package replay

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/secret"
	"github.com/callnode/scheduler/llm/value/wording"
)

// mask is what a cassette has in the place of a secret.
const mask = "[secret]"

var errSecret = wording.Errorf("the recording would still contain a secret after masking, so it is not written")

// secrets are texts that must not be written, in all their forms.
type secrets struct {
	forms    []string // the longest first
	replacer *strings.Replacer
}

func newSecrets(texts []string) secrets {
	replacer, forms := secret.Replacer(texts, mask)
	return secrets{forms, replacer}
}

// with returns the secrets and further ones, which are given in all their forms.
func (s secrets) with(forms []string) secrets {
	if len(forms) == 0 {
		return s
	}
	forms = slices.Concat(s.forms, forms)
	return secrets{forms, secret.NewReplacer(forms, mask)}
}

func (s secrets) maskValue(v value.Value) value.Value {
	if len(s.forms) == 0 {
		return v
	}
	return mapStrings(v, s.replacer.Replace)
}

func (s secrets) maskText(text string) string {
	if len(s.forms) == 0 {
		return text
	}
	return s.replacer.Replace(text)
}

// occurIn reports whether v has a secret anywhere: in a text, a key or a number.
func (s secrets) occurIn(v value.Value) bool {
	if len(s.forms) == 0 {
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
	return slices.ContainsFunc(s.forms, func(form string) bool {
		return strings.Contains(strings.ReplaceAll(text, mask, "\x00"), form)
	})
}

// maskDeltas returns an answer with its secrets masked, in one piece where a secret is
// spread over several.
func (s secrets) maskDeltas(deltas []llm.Delta) ([]llm.Delta, error) {
	if len(s.forms) == 0 {
		return deltas, nil
	}
	masked, err := s.maskEach(deltas)
	if err != nil || !s.occurInAnswer(masked) {
		return masked, err
	}
	masked, err = s.maskEach([]llm.Delta{joinDeltas(deltas)})
	if err == nil && s.occurInAnswer(masked) {
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
		masked[i], err = decodeDelta(s.maskValue(v))
		if err != nil {
			return nil, err
		}
	}
	return masked, nil
}

// occurInAnswer looks at the pieces and at what they make together.
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

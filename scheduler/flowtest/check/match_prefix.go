package check

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/explain"
)

// prefixWant names another case whose prompt begins in the same way.
type prefixWant struct {
	With      string `json:"with" min:"1" doc:"The name of the other case."`
	MinTokens int    `json:"min_tokens" min:"1" doc:"How many tokens both begin with at least."`
}

func buildStablePrefix(want prefixWant, a *argument) test {
	if a.scope.Cases != nil && !slices.Contains(a.scope.Cases, want.With) {
		a.report("/with", wording.Say("there is no case %q", want.With), nearHint(want.With, a.scope.Cases))
		return nil
	}
	need := Need{Case: want.With}
	a.need(need)
	return func(ctx context.Context, of *subject) *verdict {
		other, failed := of.otherPrompt(ctx, need)
		if failed != nil {
			return failed
		}
		e := of.lastPrompt()
		if v := of.mockedPrompt(); v != nil {
			return v
		}
		if v := other.mockedPrompt(); v != nil {
			return v.inCase(want.With)
		}
		if differs := headDifference(of.of, other.of, e, other.lastPrompt()); differs.En != "" {
			return failf("nothing of the prompt is cached as that of %q: %s", want.With, differs).
				withHint("providers read the model and the definitions of tools before the messages: keep them the same, or compare with another case")
		}
		shared := explain.ComparePrompts(e, other.lastPrompt(), of.of.Services.Tokens)
		if shared.Tokens >= want.MinTokens {
			return pass()
		}
		v := failf("the prompt begins as that of %q for %d tokens, less than %d", want.With, shared.Tokens, want.MinTokens)
		if broken := shared.Broken; broken != nil {
			v.hint = wording.Say("they part in message %d, in text from %s", broken.Message, broken.Piece.Way())
			v.piece = pieceOf(e, broken.Message, &broken.Piece)
		}
		return v
	}
}

// otherPrompt returns the prompts of the same step in other evidence.
func (s *subject) otherPrompt(ctx context.Context, need Need) (*subject, *verdict) {
	other, failed := s.of.other(ctx, need)
	if failed != nil {
		return nil, failed
	}
	same := &subject{parsedSubject: s.parsedSubject, of: other}
	if failed := same.resolvePrompt(ctx); failed != nil {
		failed.outcome = "error"
		return nil, failed.inCase(need.Case)
	}
	return same, nil
}

// headDifference describes how the prompts of two pieces of evidence differ before their messages; "" if they do
// not.
func headDifference(e, other *Evidence, prompt, otherPrompt *explain.Explanation) wording.Text {
	if e.Provider != other.Provider {
		return wording.Say("the provider is %s, not %s", e.Provider, other.Provider)
	}
	return requestDifference(e.lastRequest(prompt.Step), other.lastRequest(otherPrompt.Step))
}

// requestDifference describes how a request differs from another before its messages; "" if it does not.
func requestDifference(r, other *llm.Request) wording.Text {
	if r.Model != other.Model {
		return wording.Say("the model is %q, not %q", r.Model, other.Model)
	}
	for i := range max(len(r.Tools), len(other.Tools)) {
		switch {
		case i >= len(r.Tools):
			return wording.Say("the definitions of tools differ: the tool %s is missing", nameOfTool(other.Tools[i]))
		case i >= len(other.Tools):
			return wording.Say("the definitions of tools differ: the tool %s is new", nameOfTool(r.Tools[i]))
		case !bytes.Equal(r.Tools[i], other.Tools[i]):
			return wording.Say("the definitions of tools differ, first in that of %s", nameOfTool(r.Tools[i]))
		}
	}
	if !bytes.Equal(r.ResponseSchema, other.ResponseSchema) {
		return wording.Say("the schemas of the answers differ")
	}
	return wording.Text{}
}

// nameOfTool returns the name in the definition of a tool, or its type if it has none, for example a tool that the
// provider runs.
func nameOfTool(definition json.RawMessage) string {
	v, err := value.ParseJSON(definition)
	if err != nil {
		return "?"
	}
	function, _ := v.Get("function")
	return cmp.Or(textMember(function, "name"), textMember(v, "type"), "?")
}

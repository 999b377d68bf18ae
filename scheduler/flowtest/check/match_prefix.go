package check

import (
	"context"
	"slices"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/journal"
)

// prefixWant is another case whose prompt begins in the same way.
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
		if differs := of.of.headOf(e).difference(other.of.headOf(other.lastPrompt())); differs.En != "" {
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
		failed.message = wording.Say("the case %q: %s", need.Case, failed.message)
		failed.outcome = "error"
		return nil, failed
	}
	return same, nil
}

// promptHead is what a provider reads before the messages of a prompt: what is cached of one prompt is of no use to another one that
// differs in it.
type promptHead struct {
	provider, model string
	// tools are their definitions as JSON, schema is that of the answer; "" without any.
	tools, schema string
}

// headOf returns the head of a prompt.
func (e *Evidence) headOf(p *explain.Explanation) promptHead {
	head := promptHead{provider: e.Provider}
	got := e.Record.Step(p.Step)
	for got != nil && journal.IsPseudoStep(got.ID) && got.Input.IsNull() { // a round has the parameters of its agent
		got = e.Record.Step(journal.OuterPath(got.ID))
	}
	if got == nil {
		return head
	}
	head.model = textMember(got.Params, "model")
	if tools, ok := got.Params.Get("tools"); ok {
		head.tools = definitionsOf(tools).JSON()
	}
	if _, hasFiles := got.Params.Get("workspace"); hasFiles {
		head.tools += " workspace"
	}
	if schema, ok := got.Params.Get("response_schema"); ok {
		head.schema = schema.JSON()
	}
	return head
}

// definitionsOf returns what the definitions of tools are made of: of the parameters that an agent fixes, their names.
func definitionsOf(tools value.Value) value.Value {
	if tools.Kind() != value.Object {
		return tools
	}
	groups := value.NewMap(tools.Map().Len())
	for group, list := range tools.Map().All() {
		entries := make([]value.Value, len(list.List()))
		for i, entry := range list.List() {
			entries[i] = entry
			if with, ok := entry.Get("with"); ok {
				changed := entry.Map().Clone()
				changed.Set("with", keysOf(with))
				entries[i] = value.OfMap(changed)
			}
		}
		groups.Set(group, value.OfList(entries...))
	}
	return value.OfMap(groups)
}

// keysOf returns a value in which null stands for all that is not a map.
func keysOf(v value.Value) value.Value {
	if v.Kind() != value.Object {
		return value.Value{}
	}
	keys := value.NewMap(v.Map().Len())
	for key, member := range v.Map().All() {
		keys.Set(key, keysOf(member))
	}
	return value.OfMap(keys)
}

// difference tells in what a head is not as another; "" where it is.
func (h promptHead) difference(other promptHead) wording.Text {
	switch {
	case h.provider != other.provider:
		return wording.Say("the provider is %s, not %s", h.provider, other.provider)
	case h.model != other.model:
		return wording.Say("the model is %q, not %q", h.model, other.model)
	case h.tools != other.tools:
		return wording.Say("the definitions of tools differ")
	case h.schema != other.schema:
		return wording.Say("the schemas of the answers differ")
	}
	return wording.Text{}
}

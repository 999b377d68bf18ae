package check

import (
	"context"
	"maps"
	"slices"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler/explain"
)

// readRequest reads the step of a request, and a path into that: answer, answer.temperature, clerk.tools[0].function.name.
func (p *parser) readRequest(s *parsedSubject, n *yaml.Node) {
	before := len(p.problems)
	p.readStepPath(s, n)
	if len(p.problems) > before {
		return
	}
	for _, f := range p.scope.Flows {
		step, ok := f.FindStep(s.step)
		if ok && step.Sub == nil && !step.Def.Info.UsesLLM && len(step.Inner) == 0 {
			p.report(n, wording.Say("the step %s (%s) asks no model", s.step, step.Call), wording.Say("name a step that does, as chat or agent"))
			return
		}
	}
}

// resolveRequest finds the request of the step, or of one of its rounds.
func (s *subject) resolveRequest(ctx context.Context) *verdict {
	if failed := s.resolvePrompt(ctx); failed != nil {
		return failed
	}
	if failed := s.mockedPrompt(); failed != nil {
		return failed
	}
	req := s.requestOf(s.lastPrompt())
	if req == nil {
		return errorOf(calls.Errorf(calls.Invalid, "the step %s asks no model", s.step).WithHint("name a step that does, as chat or agent"))
	}
	return s.descend(requestValue(req, s.of.Services.mask), wording.Say("the request of %s", s.step))
}

// lastRequest returns the last request of a step, or of something run inside one; an empty request if it asked no
// model.
func (e *Evidence) lastRequest(path string) *llm.Request {
	sent := e.Requests[path]
	if len(sent) == 0 {
		return &llm.Request{}
	}
	return sent[len(sent)-1]
}

// requestOf returns the request that one of the prompts of the step was sent with; nil if no model was asked. A
// step that began again has prompts of its last attempt alone: the last requests belong to the prompts.
func (s *subject) requestOf(p *explain.Explanation) *llm.Request {
	sent, later, isSeen := s.of.Requests[p.Step], 0, false
	for _, other := range s.sent {
		if isSeen && other.Step == p.Step {
			later++
		}
		isSeen = isSeen || other == p
	}
	if later >= len(sent) {
		return nil
	}
	return sent[len(sent)-1-later]
}

// requestValue returns a request without its messages, by the names of its body; mask hides secrets in texts.
func requestValue(req *llm.Request, mask func(text string) string) value.Value {
	m := value.NewMap(0)
	if req.Model != "" {
		m.Set("model", value.OfString(req.Model))
	}
	if req.Temperature != nil {
		m.Set("temperature", value.OfFloat(*req.Temperature))
	}
	if req.MaxTokens > 0 {
		m.Set("max_tokens", value.OfInt(int64(req.MaxTokens)))
	}
	if len(req.Tools) > 0 {
		tools := make([]value.Value, len(req.Tools))
		for i, tool := range req.Tools {
			tools[i] = parsedOrText(tool)
		}
		m.Set("tools", value.OfList(tools...))
	}
	if req.ResponseSchema != nil {
		m.Set("response_schema", parsedOrText(req.ResponseSchema))
	}
	for _, name := range slices.Sorted(maps.Keys(req.Extra)) {
		member := parsedOrText(req.Extra[name])
		if member.IsNull() {
			m.Delete(name)
			continue
		}
		m.Set(name, member)
	}
	return maskTexts(value.OfMap(m), mask)
}

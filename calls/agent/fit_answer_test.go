package agent_test

import (
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/scripted"
)

// The last answer is JSON that fits response_schema: the model's own, or one that it is asked for without tools.
func TestResponseSchema(t *testing.T) {
	const with = `{prompt: How is it, tools: {calls: [{call: weather}]}, response_schema: {type: object, required: [sky], properties: {sky: {type: string}}}}`
	use := uses("", "weather", `{"city": "x"}`)
	for name, c := range map[string]struct {
		answers []scripted.Answer
		asked   int
	}{
		"at once":        {[]scripted.Answer{use, says(`It is {"sky": "blue"}.`)}, 2},
		"asked again":    {[]scripted.Answer{use, says("The sky is blue."), says(`{"sky": "blue"}`)}, 3},
		"at the second":  {[]scripted.Answer{use, says("The sky is blue."), says(`{"sky": 3}`), says(`{"sky": "blue"}`)}, 4},
		"without a tool": {[]scripted.Answer{says("blue"), says(`{"sky": "blue"}`)}, 2},
	} {
		p := scripted.New(c.answers...)
		r := run(t.Context(), t, &world{t: t}, p, with)
		if r.err != nil || r.JSON == nil || r.JSON.JSON() != `{"sky":"blue"}` {
			t.Errorf("%s: got %v, %v", name, r.JSON, r.err)
			continue
		}
		requests := p.Requests()
		if len(requests) != c.asked {
			t.Errorf("%s: asked %d times", name, len(requests))
		}
		last := requests[len(requests)-1]
		if isAsked := c.asked > len(r.Rounds); isAsked && (len(last.ResponseSchema) == 0 || string(last.Extra["tool_choice"]) != `"none"` || !strings.Contains(string(last.Messages[len(r.Messages)]), "JSON")) {
			t.Errorf("%s: the last request has the schema %s, tool_choice %s, messages %s", name, last.ResponseSchema, last.Extra["tool_choice"], last.Messages)
		}
	}
	r := run(t.Context(), t, &world{t: t}, scripted.New(says("blue"), says("blue"), says("blue"), says("blue"), says("blue"), says("blue")), with)
	if calls.KindOf(r.err) != calls.Provider {
		t.Errorf("an answer that never fits: %v", r.err)
	}
	r = run(t.Context(), t, &world{t: t}, scripted.New(), "{prompt: x, response_schema: {type: strin}}")
	if calls.KindOf(r.err) != calls.Invalid {
		t.Errorf("a wrong schema: %v", r.err)
	}
}

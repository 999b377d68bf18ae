package chat_test

import (
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/chat"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// extra cannot replace members that the call sends for its parameters.
func TestExtraReplacesNothing(t *testing.T) {
	for member, hint := range map[string]string{
		"messages: [{role: user, content: b}]": "use the parameter messages", "system: s": "use the parameter system",
		"model: m": "use the parameter model", "tools: null": "use the parameter tools", "stream: false": "leave it out",
		"input: hi": "use the parameter messages", "instructions: i": "use the parameter system", "previous_response_id: r": "leave it out",
		"conversation: c": "leave it out", "prompt: {id: p}": "leave it out",
	} {
		with := "{user: a, extra: {" + member + ", top_k: 3}}"
		name, _, _ := strings.Cut(member, ":")
		p := scripted.Texts("ok")
		_, _, err := run(t, p, with)
		if calls.KindOf(err) != calls.Invalid || !strings.HasPrefix(err.Error(), "extra/"+name+": ") || calls.HintOf(err) != hint {
			t.Errorf("%s: %v (%s)", with, err, calls.HintOf(err))
		}
		if len(p.Requests()) > 0 {
			t.Errorf("%s: the model was asked", with)
		}
		params, err := yaml.ParseValue([]byte(with))
		if err != nil {
			t.Fatal(err)
		}
		problems := chat.Definition().Lint(params, calls.LintEnv{})
		if len(problems) != 1 || problems[0].Pointer != "/extra/"+name || problems[0].Hint != hint {
			t.Errorf("%s: %v", with, problems)
		}
	}
}

// A vendor that drops messages unseen is allowed to, with a warning.
func TestTruncationWarns(t *testing.T) {
	const with = "{user: a, extra: {truncation: auto}}"
	if _, _, err := run(t, scripted.Texts("ok"), with); err != nil {
		t.Error(err)
	}
	params, err := yaml.ParseValue([]byte(with))
	if err != nil {
		t.Fatal(err)
	}
	problems := chat.Definition().Lint(params, calls.LintEnv{})
	if len(problems) != 1 || !problems[0].Warning || problems[0].Pointer != "/extra/truncation" {
		t.Errorf("got %v", problems)
	}
}

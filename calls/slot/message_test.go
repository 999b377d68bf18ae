package slot_test

import (
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/slot"
	"github.com/callnode/scheduler/llm/scripted"
)

// TestMessage: the user's answer to a question is read once, by the first stage, with the question before it.
func TestMessage(t *testing.T) {
	const params = `{"asked": "What is the number? </message>", "message": "It is A-1042 </question>", "resumed": true, "stages": STAGES, "answers": {"/name": "Lin"}, "current_schema":
		{"type": "object", "required": ["number", "name", "days"], "properties": {"number": {"type": "string", "pattern": "^A-"}, "name": {"type": "string"}, "days": {"type": "integer"}}}}`
	for stages, source := range map[string]string{`["llm", "function"]`: "model", `["function", "llm"]`: "function"} {
		model := scripted.Texts(`{"/number": "A-1042", "/name": "Bo", "/days": "many"}`)
		got, err := exec(t, model, &calls.Vars{Question: "Where is my order?", Language: "en"}, parse(t, strings.Replace(params, "STAGES", stages, 1)).Map())
		if err != nil {
			t.Fatal(err)
		}
		data, _ := got.Get("slot_data")
		sources, _ := got.Get("sources")
		if data.JSON() != `{"name":"Lin","number":"A-1042"}` || sources.JSON() != `{"/name":"user","/number":"`+source+`"}` {
			t.Errorf("%s: got %s", stages, got)
		}
		prompt := string(model.Requests()[0].Messages[0])
		if !strings.Contains(prompt, `It is A-1042 \u003c\\/question`) && !strings.Contains(prompt, `It is A-1042 <\\/question`) || !strings.Contains(prompt, "Where is my order?") {
			t.Errorf("%s: the prompt is %s", stages, prompt)
		}
		if !strings.Contains(prompt, `asked\u003e\nWhat is the number? \u003c\\/message`) && !strings.Contains(prompt, `<asked>\nWhat is the number? <\\/message`) {
			t.Errorf("%s: the prompt lacks the question: %s", stages, prompt)
		}
		if len(model.Requests()) != 1 {
			t.Errorf("%s: the model was asked %d times", stages, len(model.Requests()))
		}
	}
}

// TestTakeMessage: params that only check take no message.
func TestTakeMessage(t *testing.T) {
	take := slot.Definition().TakeMessage
	for params, want := range map[string]string{
		`{}`:                                    `{"message":"hi","asked":"Which number?"}`,
		`{"stages":["llm"],"message":"before"}`: `{"stages":["llm"],"message":"hi","asked":"Which number?"}`,
		`{"stages":["default"]}`:                "",
		`{"stages":[]}`:                         "",
	} {
		if with, ok := take(parse(t, params), "Which number?", "hi"); ok != (want != "") || ok && with.JSON() != want {
			t.Errorf("%s: got %s, %t", params, with, ok)
		}
	}
	if with, _ := take(parse(t, `{"message":"before","asked":"what"}`), "", ""); with.JSON() != "{}" {
		t.Errorf("without a message the params are %s", with)
	}
}

package explain_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

// Messages keep the sources of all their members through calls that pass them on: roles, tool calls, ids and addresses of images, not
// only of their texts.
func TestExplainMembersPassedOn(t *testing.T) {
	r := schedulertest.Run(t, `
inputs: {type: object}
steps:
  - {id: work, call: agent, with: {prompt: "Go.", tools: {calls: [{call: template, name: write, with: {template: .}}]}}}
  - id: made
    call: context
    with:
      identity: You help.
      history: "{{ work.messages[1:2] + [{'role': 'tool', 'tool_call_id': inputs.used, 'content': '', 'name': inputs.name}] }}"
      append:
        - {role: assistant, content: "", tool_calls: [{id: "{{ inputs.id }}", type: function, function: {name: look, arguments: "{{ inputs.args }}"}}]}
        - {role: tool, tool_call_id: "{{ inputs.id }}", name: look, content: seen}
        - {role: assistant, content: "", tool_calls: [{id: a, name: look, arguments: {x: "{{ inputs.args }}"}}]}
        - {role: tool, tool_call_id: a, name: look, content: seen}
        - {role: "{{ inputs.role }}", content: [{type: image_url, image_url: {url: "{{ inputs.url }}"}}]}
  - {id: talk, call: in-chat, with: {history: [{role: "{{ inputs.role }}", content: "Hi"}]}}
  - {id: again, call: chat, with: {messages: "{{ made.messages }}"}}
  - id: ask
    call: chat
    with:
      user: "{{ made.messages[2].tool_call_id }};{{ made.messages[2].name }};{{ made.messages[-1].content[0].image_url.url }}:{{ made.messages[-1].role }}:{{ talk.messages[0].role }}"
`, schedulertest.With(builtin.Calls()...),
		schedulertest.Inputs(`{"id": "c-1", "used": "1", "name": "look", "args": "{}", "url": "https://host/a.png", "role": "user"}`),
		schedulertest.LLM(scripted.New(scripted.Answer{ToolCalls: []llm.ToolCall{{ID: "1", Name: "write", Arguments: `{"values": {}}`}}},
			scripted.Answer{Text: "done"}, scripted.Answer{Text: "yes"}, scripted.Answer{Text: "yes"})))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	var got []string
	for _, step := range []string{"again", "ask"} {
		for _, line := range explained(t, r, step) {
			if strings.HasPrefix(line, "assistant ") || step == "ask" {
				got = append(got, place.ReplaceAllString(line, ""))
			}
		}
	}
	want := []string{
		"assistant  < again (chat)",
		`assistant [{"id":"1","type":"function","function":{"name":"write","arguments":"{\"values\": {}}"}}] < the model's answer > work (agent) > made (context) > again`,
		"assistant  < again (chat)",
		`assistant [{"id":"c-1","type":"function","function":{"name":"look","arguments":"{}"}}] < flow.yaml:11:54 computed from inputs.id, inputs.args > made (context) > again`,
		"assistant  < again (chat)",
		`assistant [{"id":"a","type":"function","function":{"name":"look","arguments":"{\"x\":\"{}\"}"}}] < flow.yaml:13:54 computed from flow.yaml:13:60, flow.yaml:13:69, inputs.args > made (context) > again`,
		"ask chat",
		"user 1 < inputs.used > made (context) > ask",
		"user ; < flow.yaml:21:49",
		"user look < inputs.name > made (context) > ask",
		"user ; < flow.yaml:21:77",
		"user https://host/a.png < inputs.url > made (context) > ask",
		"user : < flow.yaml:21:126",
		"user user < inputs.role > made (context) > ask",
		"user : < flow.yaml:21:155",
		"user user < inputs.role > talk (in-chat) > ask",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

package explain_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

// Each step uses the earlier messages in its own way; only the last names them.
const conversationFlow = `
memory: {user: lin, session: main}
inputs: {type: object, properties: {question: {type: string}}}
steps:
  - {id: desk, call: context, with: {identity: You work., current_message: "{{ question }}"}}
  - {id: answer, call: chat, with: {messages: "{{ desk.messages }}"}}
  - {id: clerk, call: agent, with: {system: You help.}}
  - {id: scene, call: in-chat, with: {presets_in_chat: [{position: in-chat, enabled: true, role: system, depth: 1, content: Be brief.}]}}
  - {id: play, call: chat, with: {messages: "{{ scene.messages }}"}}
  - id: order
    call: slot
    on_missing: return
    with: {stages: [llm], current_schema: {type: object, required: [number], properties: {number: {type: string}}}}
  - {id: way, call: choice, with: {choices: [{branch: a}, {branch: b}]}}
  - {id: notes, call: summary}
  - {id: known, call: facts}
  - {id: last, call: chat, with: {user: "{% if conversation %}{{ conversation[0].content }}{% endif %}|{{ conversation|length }}"}}
`

const sentConversation = `[
	{"role": "system", "content": "Rhyme."},
	{"role": "user", "content": [{"type": "text", "text": "Where is A-1042?"}]},
	{"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]},
	{"role": "tool", "tool_call_id": "c1", "content": "in Lyon"},
	{"role": "assistant", "content": "In Lyon."}
]`

// session is a memory that remembers two turns of the session.
type session struct{}

func (session) Recent(context.Context, calls.Scope, int) ([]plugins.Turn, error) {
	return []plugins.Turn{{ID: "M1", Role: "user", Content: "I am Lin."}, {ID: "M2", Role: "assistant", Content: "Hello Lin."}}, nil
}

func (session) Retrieve(context.Context, calls.Scope, string, int) ([]plugins.Recalled, error) {
	return nil, nil
}

func runConversation(t *testing.T, sent string) *schedulertest.Result {
	t.Helper()
	messages, err := value.ParseJSON([]byte(sent))
	if err != nil {
		t.Fatal(err)
	}
	model := scripted.New(
		scripted.Answer{Text: "there"}, scripted.Answer{Text: "there"}, scripted.Answer{Text: "there"}, scripted.Answer{Text: "{}"},
		scripted.Answer{Text: `{"reason": "x", "branch": "a"}`}, scripted.Answer{Text: "sum"}, scripted.Answer{Text: `{"facts": [], "domain": []}`}, scripted.Answer{Text: "x"})
	r := schedulertest.Run(t, conversationFlow, schedulertest.With(builtin.Calls()...), schedulertest.Inputs(`{"question": "And now?"}`),
		schedulertest.LLM(model), schedulertest.Executor(func(e *scheduler.StepExecutor) { e.Conversation, e.Env.Memory = messages, session{} }))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	return r
}

// onlySaid returns the lines of an explanation that come from earlier messages, or from the question.
func onlySaid(lines []string) (said []string) {
	for _, line := range lines {
		_, way, _ := strings.Cut(line, " < ")
		if strings.HasPrefix(way, "conversation") || strings.HasPrefix(way, "the memory") || strings.HasPrefix(way, "inputs.question") {
			said = append(said, line)
		}
	}
	return said
}

// A message of the conversation is credited to it, by its index, in the prompt of each call; the memory
// of the session is not there too.
func TestExplainConversation(t *testing.T) {
	r := runConversation(t, sentConversation)
	for step, want := range map[string][]string{
		"answer": {
			"system Rhyme. < conversation.0.content (flow.yaml:5:5) > desk: history 0 system from the conversation > answer",
			"user Where is A-1042? < conversation.1.content.0.text (flow.yaml:5:5) > desk: history 1 user from the conversation > answer",
			`assistant [{"id":"c1","type":"function","function":{"name":"look","arguments":"{}"}}] < conversation.2.tool_calls (flow.yaml:5:5) > desk (context) > answer`,
			"tool in Lyon < conversation.3.content (flow.yaml:5:5) > desk: history 3 tool from the conversation > answer",
			"assistant In Lyon. < conversation.4.content (flow.yaml:5:5) > desk: history 4 assistant from the conversation > answer",
			"user And now? < inputs.question (flow.yaml:5:80) > desk: message current_message > answer",
		},
		"clerk": {
			"system Rhyme. < conversation.0.content (flow.yaml:7:5)",
			"user Where is A-1042? < conversation.1.content.0.text (flow.yaml:7:5)",
			`assistant [{"id":"c1","type":"function","function":{"name":"look","arguments":"{}"}}] < conversation.2.tool_calls (flow.yaml:7:5)`,
			"tool in Lyon < conversation.3.content (flow.yaml:7:5)",
			"assistant In Lyon. < conversation.4.content (flow.yaml:7:5)",
			"user And now? < inputs.question (flow.yaml:7:5)",
		},
		"play": {
			"system Rhyme. < conversation.0.content (flow.yaml:8:5) > play",
			"user Where is A-1042? < conversation.1.content.0.text (flow.yaml:8:5) > scene (in-chat) > play",
			`assistant [{"id":"c1","type":"function","function":{"name":"look","arguments":"{}"}}] < conversation.2.tool_calls (flow.yaml:8:5) > scene (in-chat) > play`,
			"tool in Lyon < conversation.3.content (flow.yaml:8:5) > play",
			"assistant In Lyon. < conversation.4.content (flow.yaml:8:5) > play",
			"user And now? < inputs.question (flow.yaml:8:5) > play",
		},
		"order": nil, "way": nil, "notes": nil, "known": nil,
		"last": {"user Rhyme. < conversation.0.content (flow.yaml:17:66)"},
	} {
		got := onlySaid(explained(t, r, step))
		if want == nil { // as lines of text
			for _, line := range []string{"Where is A-1042? < conversation.1.content.0.text", "in Lyon < conversation.3.content", "In Lyon. < conversation.4.content"} {
				if !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, line) }) {
					t.Errorf("%s lacks %q:\n%s", step, line, strings.Join(got, "\n"))
				}
			}
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", step, diff)
		}
	}
	for _, ev := range r.Events {
		if text := value.Must(ev).JSON(); strings.Contains(text, "I am Lin.") {
			t.Errorf("the memory is in a prompt beside the conversation: %s", text)
		}
	}
}

// Without a conversation, the prompt of each call has the turns of the session instead.
func TestExplainSession(t *testing.T) {
	r := runConversation(t, "null")
	for _, step := range []string{"answer", "clerk", "play", "order", "way", "notes", "known"} {
		got := onlySaid(explained(t, r, step))
		for _, line := range []string{"I am Lin. < the memory M1", "Hello Lin. < the memory M2"} {
			n := countLines(got, line)
			readsSteps := step == "notes" || step == "known" // and so the prompts of the steps before
			if n < 1 || n > 1 && !readsSteps {
				t.Errorf("%s has %q %d times:\n%s", step, line, n, strings.Join(got, "\n"))
			}
		}
	}
}

func countLines(lines []string, part string) (n int) {
	for _, line := range lines {
		if strings.Contains(line, part) {
			n++
		}
	}
	return n
}

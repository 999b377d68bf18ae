package server_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/server/store"
)

// promptFlow makes a prompt of an input, a number and the conversation, and asks another model first.
const promptFlow = `name: desk
description: Answer for a shop.
inputs:
  type: object
  required: [question, orders, user]
  properties:
    question: {type: string, minLength: 1, title: Question, description: What the customer says.}
    orders: {type: integer}
    user: {type: string}
    photo: {type: string, default: "data:image/gif;base64,R0lGODlhAQABAAAAACw="}
steps:
  - {id: topic, call: chat, with: {user: "Name the topic of: {{ question }}"}}
  - id: answer
    call: chat
    to_user: true
    with:
      messages:
        - {role: system, content: "You answer {{ inputs.user }}, who has {{ inputs.orders + 1 }} orders. Topic: {{ topic.text }}."}
        - !expr "conversation[0] | default({'role': 'assistant', 'content': ''})"
        - {role: user, content: [{type: text, text: "{{ question }}"}, {type: image_url, image_url: {url: "{{ inputs.photo }}"}}]}
  - {id: said, call: template, with: {template: after the answer}}
`

// promptText writes a prompt as role: text, a line each.
func promptText(messages []*sdk.PromptMessage) string {
	b := &strings.Builder{}
	for _, m := range messages {
		b.WriteString(string(m.Role) + ": ")
		if part, isText := m.Content.(*sdk.TextContent); isText {
			b.WriteString(part.Text)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// TestMCPPrompts: a flow whose last words are a model's is a prompt. Its run stops before that model is asked.
func TestMCPPrompts(t *testing.T) {
	inEachEra(t, nil, func(t *testing.T, f *fixture, era string) {
		if err := os.WriteFile(filepath.Join(f.dir, "flows", "desk.yaml"), []byte(promptFlow), 0o600); err != nil {
			t.Fatal(err)
		}
		token := f.token("lin", store.RunsRead, store.RunsWrite)
		s := f.connect(token, era, nil, nil)
		list, err := s.ListPrompts(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, p := range list.Prompts {
			names = append(names, p.Name)
		}
		if want := []string{"desk", "echo", "model", "sub__wait", "timed"}; !slices.Equal(names, want) {
			t.Errorf("the prompts are %v", names)
		}
		desk := value.Must(list.Prompts[0])
		for pointer, want := range map[string]string{
			"/title": "desk", "/description": "Answer for a shop.", "/arguments/0/name": "question", "/arguments/0/title": "Question",
			"/arguments/0/description": "What the customer says.", "/arguments/0/required": "true", "/arguments/1/required": "true",
			"/arguments/2/required": "null", "/arguments/3/required": "null", "/arguments/4/name": "conversation",
		} {
			if got := textAt(desk, pointer); got != want {
				t.Errorf("%s of the prompt is %s", pointer, got)
			}
		}
		const before = `[{"role": "assistant", "content": "How can I help?"}]`
		got, err := s.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "desk", Arguments: map[string]string{"question": "Where is it?", "orders": "2", "photo": "", "conversation": before}})
		if err != nil {
			t.Fatal(err)
		}
		const want = "user: You answer lin, who has 3 orders. Topic: Name the topic of: Where is it?.\nassistant: How can I help?\nuser: Where is it?\nuser: [image/gif, 14 bytes]\n"
		if text := promptText(got.Messages); text != want {
			t.Errorf("the prompt is\n%swanted\n%s", text, want)
		}
		run := f.do(token, "GET", "/api/v1/runs?flow=desk", "").at("/items/0/run")
		steps := f.do(token, "GET", "/api/v1/runs/"+run, "")
		if steps.at("/state") != "cancelled" || !strings.Contains(steps.text, `"id":"said","call":"template","state":"pending"`) || steps.at("/conversation/0/content") != "How can I help?" {
			t.Errorf("the run is %s", steps.text)
		}
		if events := f.do(token, "GET", "/api/v1/runs/"+run+"/events?types=flow.started", ""); !strings.Contains(events.text, "How can I help?") {
			t.Errorf("the conversation is not on record: %s", events.text)
		}
		for name, one := range map[string]struct {
			prompt string
			with   map[string]string
			says   string
		}{
			"no such prompt":         {"nothing", nil, "unknown prompt"},
			"an empty argument":      {"desk", map[string]string{"question": "", "orders": "2", "conversation": ""}, "question"},
			"not a flow with one":    {"edited", nil, "unknown prompt"},
			"a number that is none":  {"desk", map[string]string{"question": "x", "orders": "few"}, "the argument orders"},
			"a misspelt argument":    {"desk", map[string]string{"queston": "x", "orders": "1"}, `did you mean "question"?`},
			"a missing argument":     {"desk", map[string]string{"question": "x"}, "orders"},
			"a wrong conversation":   {"desk", map[string]string{"question": "x", "orders": "1", "conversation": "hello"}, "the argument conversation is not JSON"},
			"no list of messages":    {"desk", map[string]string{"question": "x", "orders": "1", "conversation": `[{"role": "robot"}]`}, "conversation[0]"},
			"a flow that asks first": {"sub__wait", nil, "What is the town?"},
		} {
			_, err := s.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: one.prompt, Arguments: one.with})
			if err == nil || !strings.Contains(err.Error(), one.says) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if waiting := f.do(token, "GET", "/api/v1/waiting", ""); waiting.at("/items") != "[]" {
			t.Errorf("a prompt left a run that waits: %s", waiting.text)
		}
	})
}

// TestMCPPromptAsks: the user is asked for the missing values of a prompt if the client can do that.
func TestMCPPromptAsks(t *testing.T) {
	inEachEra(t, nil, func(t *testing.T, f *fixture, era string) {
		p := &person{answers: []*sdk.ElicitResult{{Action: "accept", Content: map[string]any{"city": "Hangzhou", "days": 3}}}}
		s := f.connect(f.token("lin", store.RunsWrite), era, p, nil)
		got, err := s.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "sub__wait"})
		if err != nil {
			t.Fatal(err)
		}
		if text := promptText(got.Messages); text != "user: Rain in Hangzhou for 3\n" || len(p.asked) != 1 {
			t.Errorf("asked %d times for the prompt %s", len(p.asked), text)
		}
	})
}

package explain_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

const explainedFlow = `
name: outer
inputs: {type: object, properties: {question: {type: string}, town: {type: string}}}
steps:
  - id: greeting
    call: template
    with: {template: "Good day to {{ name }}", values: {name: "{{ inputs.town }}"}}
  - id: talk
    call: flow
    for_each: [1, 2]
    with:
      path: sub/inner.yaml
      inputs: {question: "{{ greeting.text }}", note: "Written {{ inputs.town }} note"}
outputs: {text: "{{ talk[1].reply }}"}
-- sub/inner.yaml --
name: inner
inputs: {type: object, properties: {question: {type: string}, note: {type: string}, tone: {type: string, default: gently and slowly}}}
steps:
  - id: greeting
    call: template
    with: {template: "The inner greeting, {{ tone }}", values: {tone: "{{ inputs.tone }}"}}
  - id: answer
    call: chat
    with:
      messages:
        - {role: system, content: "{{ greeting.text }}"}
        - {role: user, content: "Asked: {{ question }} / {{ inputs.note }}{% for greeting in ['looped'] %}{{ greeting }}{% endfor %}"}
outputs: {reply: "{{ answer.text }}"}
`

// bytesCounter counts bytes.
type bytesCounter struct{}

func (bytesCounter) Count(text string) int { return len(text) }

var _ llm.Counter = bytesCounter{}

func explained(t *testing.T, r *schedulertest.Result, step string) (lines []string) {
	t.Helper()
	record := r.State()
	if step == "" {
		step = explain.LastPrompt(r.Flow, record)
	}
	all, err := explain.Explain(context.Background(), r.Flow, record, step, bytesCounter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		lines = append(lines, e.Step+" "+e.Call)
		for _, m := range e.Messages[e.Shared:] {
			for _, p := range m.Pieces {
				lines = append(lines, m.Role+" "+p.Text+" < "+p.Way().En)
			}
		}
	}
	return lines
}

// The words of a step in a sub-flow are followed through the sub-flow's own file, and from its inputs to the
// parameters of the step around it.
func TestExplainSubFlow(t *testing.T) {
	r := schedulertest.Run(t, explainedFlow, schedulertest.With(builtin.Calls()...), schedulertest.Inputs(`{"town": "Lyon on the Rhone"}`),
		schedulertest.LLM(scripted.New(scripted.Answer{Text: "a"}, scripted.Answer{Text: "b"})))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	want := []string{
		"talk[1]/answer chat",
		"system The inner greeting,  < sub/inner.yaml:6:23 > talk[1]/greeting (template) > talk[1]/answer",
		"system gently and slowly < inputs.tone (sub/inner.yaml:6:75) > talk[1]/greeting (template) > talk[1]/answer",
		"user Asked:  < sub/inner.yaml:12:34",
		"user Good day to  < flow.yaml:7:23 > greeting (template) > talk > inputs.question (sub/inner.yaml:12:44)",
		"user Lyon on the Rhone < inputs.town (flow.yaml:7:67) > greeting (template) > talk > inputs.question (sub/inner.yaml:12:44)",
		"user  /  < sub/inner.yaml:12:55",
		"user Written  < flow.yaml:13:56 > inputs.note (sub/inner.yaml:12:61)",
		"user Lyon on the Rhone < inputs.town (flow.yaml:13:67) > inputs.note (sub/inner.yaml:12:61)",
		"user  note < flow.yaml:13:81 > inputs.note (sub/inner.yaml:12:61)",
		"user looped < sub/inner.yaml:12:96",
	}
	if diff := cmp.Diff(want, explained(t, r, "")); diff != "" {
		t.Error(diff)
	}
	if got := explained(t, r, "talk[0]/greeting"); !slices.Contains(got, "text gently and slowly < inputs.tone (sub/inner.yaml:6:75) > talk[0]/greeting (template)") {
		t.Errorf("got %q", got)
	}
	// The output of a sub-flow comes from the steps in it.
	if s, ok := r.Flow.FindStep("talk[1]/answer"); !ok || s.Call != "chat" {
		t.Errorf("found %v", s)
	}
	_, err := explain.Explain(context.Background(), r.Flow, r.State(), "talk/answer", bytesCounter{})
	if hint := calls.HintOf(err); !strings.HasPrefix(hint, "it ran for several items: name one, as in talk[") {
		t.Errorf("got %v (%s)", err, hint)
	}
	for _, id := range []string{"nobody", "talk/nobody", "greeting/answer", "nobody/answer"} {
		if _, ok := r.Flow.FindStep(id); ok {
			t.Errorf("there is no step %s", id)
		}
	}
}

// The outputs of a sub-flow are followed into it.
func TestExplainOutputOfSubFlow(t *testing.T) {
	r := schedulertest.Run(t, `
steps:
  - {id: inner, call: flow, with: {path: inner.yaml, inputs: {}}}
  - {id: ask, call: chat, with: {user: "So: {{ inner.reply }}"}}
-- inner.yaml --
steps: [{id: made, call: template, with: {template: Some words}}]
outputs: {reply: "Made: {{ made.text }}"}
`, schedulertest.With(builtin.Calls()...), schedulertest.LLM(scripted.New(scripted.Answer{Text: "a"})))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	want := []string{
		"ask chat",
		"user So:  < flow.yaml:4:41",
		"user Made:  < inner.yaml:2:19 > inner (flow) > ask",
		"user Some words < inner.yaml:1:53 > inner/made (template) > inner (flow) > ask",
	}
	if diff := cmp.Diff(want, explained(t, r, "")); diff != "" {
		t.Error(diff)
	}
}

// If only the run knew the path of a flow, its prompts are explained with the steps as sources.
func TestExplainDynamicFlow(t *testing.T) {
	r := schedulertest.Run(t, `
inputs: {type: object, properties: {path: {type: string}}}
steps: [{id: inner, call: flow, with: {path: "{{ inputs.path }}"}}]
-- inner.yaml --
steps: [{id: ask, call: chat, with: {user: Hello there}}]
`, schedulertest.With(builtin.Calls()...), schedulertest.LLM(scripted.New(scripted.Answer{Text: "a"})),
		schedulertest.Inputs(`{"path": "inner.yaml"}`))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	want := []string{"inner/ask chat", "user Hello there < inner/ask (chat)"}
	if diff := cmp.Diff(want, explained(t, r, "")); diff != "" {
		t.Error(diff)
	}
}

// clock resolves the variable clock.
type clock struct{}

func (clock) Resolve(context.Context, plugins.State, []string) (map[string]json.RawMessage, error) {
	return map[string]json.RawMessage{"clock": json.RawMessage(`"noon"`)}, nil
}

// Whatever a template mentions, its other names keep their sources; files have lines.
func TestExplainNames(t *testing.T) {
	r := schedulertest.Run(t, `
inputs: {type: object}
steps:
  - id: one
    call: chat
    with:
      system: !file rules.txt
      user: "{{ inputs.q }}, {{ run.id }}, {{ vars.clock }}, {{ secrets.key }}, {{ history | length }}, {{ inputs.q }}"
-- rules.txt --
Be kind.
Be brief.
`, schedulertest.With(builtin.Calls()...), schedulertest.Inputs(`{"q": "noon"}`), schedulertest.Secret("key", "noon-secret"),
		schedulertest.Resolver(clock{}, "clock"), schedulertest.LLM(scripted.Texts("a")))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	want := []string{
		"one chat",
		"system Be kind.\nBe brief.\n < file rules.txt (flow.yaml:7:15)",
		"user noon < inputs.q (flow.yaml:8:17)",
		"user ,  < flow.yaml:8:28",
		"user run-1 < run.id (flow.yaml:8:33)",
		"user ,  < flow.yaml:8:42",
		"user noon < vars.clock (flow.yaml:8:47)",
		"user ,  < flow.yaml:8:60",
		"user *** < secrets.key (flow.yaml:8:65)",
		"user ,  < flow.yaml:8:79",
		"user 0 < flow.yaml:8:84 {{ history | length }} computed from history",
		"user ,  < flow.yaml:8:103",
		"user noon < inputs.q (flow.yaml:8:108)",
	}
	if diff := cmp.Diff(want, explained(t, r, "one")); diff != "" {
		t.Error(diff)
	}
}

// A text that !file reads from a file of data has its line and column there, and its bytes if the file has it
// without escapes.
func TestExplainDataFiles(t *testing.T) {
	r := schedulertest.Run(t, `
steps:
  - id: lines
    call: template
    with:
      template: "{{ a.town }}, {{ a.note }}, {{ a.far }}, {{ a.n }}"
      values: {a: !file data.yaml}
  - id: one
    call: chat
    with:
      messages: !file said.json
  - id: two
    call: chat
    with: {user: "{{ lines.text }}"}
-- said.json --
[
  {"role": "user", "content": "Caf\u00e9?"},
  {"role": "user", "content": "Hello."}
]
-- data.yaml --
town: Mâcon
note: >-
  folded
  text
n: 7
far: Lyon
`, schedulertest.With(builtin.Calls()...), schedulertest.LLM(scripted.Texts("a", "b")))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	var got []string
	for _, step := range []string{"one", "two"} {
		all, err := explain.Explain(t.Context(), r.Flow, r.State(), step, bytesCounter{})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range all[0].Messages {
			for _, p := range m.Pieces {
				s := p.Sources[0]
				span := ""
				if s.Start != nil {
					span = fmt.Sprintf(" [%d, %d)", *s.Start, *s.End)
				}
				got = append(got, fmt.Sprintf("%q < %s%s", p.Text, s, span))
			}
		}
	}
	want := []string{
		`"Café?" < file said.json:2:31 (flow.yaml:11:17)`, // with an escape there
		`"Hello." < file said.json:3:31 (flow.yaml:11:17) [78, 84)`,
		`"Mâcon" < file data.yaml:1:7 (flow.yaml:7:19) [6, 12)`,
		`", " < flow.yaml:6:30 [12, 14)`,
		`"folded text" < file data.yaml:2:7 (flow.yaml:7:19)`,
		`", " < flow.yaml:6:44 [26, 28)`,
		`"Lyon" < file data.yaml:6:6 (flow.yaml:7:19) [48, 52)`,
		`", " < flow.yaml:6:57 [39, 41)`,
		`"7" < file data.yaml:5:4 (flow.yaml:7:19) [41, 42)`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

package explain_test

import (
	"context"
	"iter"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

const historyFlow = `
inputs: {type: object, properties: {who: {type: string}}}
steps:
  - {id: a, call: template, with: {template: "Hi {{ x }}", values: {x: "{{ inputs.who }}"}}}
  - {id: f, call: template, for_each: [one, "{{ inputs.who }}"], with: {template: "{{ x }}", values: {x: "{{ item }}"}}}
  - {id: c, call: chat, with: {messages: [{role: user, content: "Q {{ a.text }}"}]}}
  - {id: q, call: slot, with: {current_schema: {type: object}}}
  - id: ask
    call: chat
    needs: [a, f, c, q]
    with:
      user: >-
        {{ history[0].input['values'].x }}/{{ history[1].input[1]['values'].x }}/{{ history[2].input.messages[0].content
        }}/{{ history[0].input }}/{{ history[3].input.question }}
`

// The input of an earlier step comes from the sources of its parameters, not from the step.
func TestExplainHistory(t *testing.T) {
	r := schedulertest.Run(t, historyFlow, schedulertest.With(builtin.Calls()...), schedulertest.Inputs(`{"who": "Bo", "question": "T Bo"}`),
		schedulertest.LLM(scripted.New(scripted.Answer{Text: "a"}, scripted.Answer{Text: "b"})))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	want := []string{
		"ask chat",
		"user Bo < inputs.who (flow.yaml:4:76) > a (template) > ask",
		"user / < flow.yaml:13:43",
		"user Bo < inputs.who (flow.yaml:5:49) > item (flow.yaml:5:110) > f[1] (template) > ask",
		"user / < flow.yaml:13:81",
		"user Q  < flow.yaml:6:66 > c (chat) > ask",
		"user Hi  < flow.yaml:4:47 > a (template) > c (chat) > ask",
		"user Bo < inputs.who (flow.yaml:4:76) > a (template) > c (chat) > ask",
		"user / < flow.yaml:14:11",
		"user {'values': {'x': 'Bo'}} < flow.yaml:14:15 {{ history[0].input }} computed from history.0.input",
		"user / < flow.yaml:14:34",
		"user T Bo < inputs.question (flow.yaml:7:5) > q (slot) > ask",
	}
	if diff := cmp.Diff(want, explained(t, r, "ask")); diff != "" {
		t.Error(diff)
	}
	all, err := explain.Explain(t.Context(), r.Flow, r.State(), "ask", bytesCounter{})
	if err != nil {
		t.Fatal(err)
	}
	pieces := all[0].Messages[0].Pieces
	if origins := pieces[len(pieces)-3].Sources[0].Origins; !slices.ContainsFunc(origins, isVisitor) {
		t.Errorf("got %+v", origins)
	}
}

func isVisitor(s explain.Source) bool { return s.Name == "inputs.who" }

// stubborn is a call whose input is the question of the run, whatever it is given, and that does not report this.
type stubborn struct {
	Messages []map[string]string `json:"messages"`
}

type stubbornInput struct {
	Messages []map[string]string `json:"messages"`
}

func (stubborn) Init(_ context.Context, vars *calls.Vars) (stubbornInput, error) {
	return stubbornInput{[]map[string]string{{"role": "user", "content": vars.Question}}}, nil
}

func (stubborn) Exec(context.Context, *calls.Env, stubbornInput) iter.Seq2[calls.Chunk, error] {
	return calls.Do(func() (any, error) { return map[string]string{}, nil })
}

func stubbornCall() calls.Definition {
	return calls.Define[stubborn, stubbornInput, map[string]string](calls.Info{Name: "stubborn", Summary: calls.Text{En: "Asks the question.", Zh: "提问。"}})
}

// The input of a call that reports no sources is credited to the call, even if a parameter at the same place
// happens to be equal: it may come from anything that the call saw.
func TestExplainInputThatNothingTellsOf(t *testing.T) {
	use := scripted.Answer{ToolCalls: []llm.ToolCall{{ID: "1", Name: "stubborn", Arguments: `{}`}}}
	r := schedulertest.Run(t, `
inputs: {type: object}
steps:
  - {id: odd, call: stubborn, with: {messages: [{role: user, content: "{{ inputs.who }}"}]}}
  - {id: work, call: agent, with: {prompt: Go, tools: {calls: [{call: stubborn, with: {messages: [{role: user, content: "{{ inputs.who }}"}]}}]}}}
  - {id: ask, call: chat, with: {user: "{{ history[0].input.messages[0].content }}", system: "{{ work.text }}"}}
`, schedulertest.With(append(builtin.Calls(), stubbornCall())...), schedulertest.Inputs(`{"who": "same", "question": "same"}`),
		schedulertest.LLM(scripted.New(use, scripted.Answer{Text: "done"}, scripted.Answer{Text: "yes"})))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	for step, want := range map[string]string{
		"ask":                        "user same < odd (stubborn) > ask",
		"work/stubborn-1/stubborn-1": "user same < work/stubborn-1/stubborn-1 (stubborn)",
	} {
		if got := explained(t, r, step); got[len(got)-1] != want {
			t.Errorf("%s: got %q", step, got)
		}
	}
	all, err := explain.Explain(t.Context(), r.Flow, r.State(), "ask", bytesCounter{})
	if err != nil {
		t.Fatal(err)
	}
	messages := all[0].Messages
	if possible := messages[len(messages)-1].Pieces[0].Sources[0].Possible; !slices.ContainsFunc(possible, isVisitor) {
		t.Errorf("got %+v", possible)
	}
}

// Calls report which input they took from parameters, or from the values that they use in place of a parameter;
// also a call that an agent runs as a tool.
func TestExplainInputThatCallsTellOf(t *testing.T) {
	use := scripted.Answer{ToolCalls: []llm.ToolCall{{ID: "1", Name: "chat", Arguments: `{}`}}}
	r := schedulertest.Run(t, `
inputs: {type: object}
steps:
  - {id: sum, call: summary, with: {text: "{{ inputs.who }}"}}
  - {id: bare, call: slot, with: {current_schema: {type: object, required: [x], properties: {x: {type: string}}}}, on_missing: return}
  - {id: full, call: slot, with: {summary: "{{ inputs.who }}", facts: ["{{ inputs.who }}"], current_schema: {type: object, required: [x], properties: {x: {type: string}}}}, on_missing: return}
  - {id: pick, call: choice, with: {question: "{{ inputs.who }}", choices: [{branch: a, default: true, description: same}]}}
  - {id: own, call: choice, with: {choices: [{branch: a, default: true}]}}
  - {id: words, call: input, with: {user_input: "{{ inputs.who }}", config: {context_template: []}}}
  - {id: said, call: input, with: {config: {context_template: []}}}
  - {id: work, call: agent, with: {prompt: Go, tools: {calls: [{call: chat, with: {user: "{{ inputs.who }}"}}]}}}
  - id: ask
    call: chat
    needs: [sum, bare, full, pick, own, words, said, work]
    with:
      messages:
        - {role: user, content: "{{ history[1].input.summary }}{{ history[1].input.question }}{{ history[1].input.history[0].output.text }}"}
        - {role: user, content: "{{ history[2].input.summary }}{{ history[2].input.facts[0] }}{{ history[2].input.history[0].id }}"}
        - {role: user, content: "{{ history[3].input.question }}{{ history[3].input.choices[0].description }}{{ history[4].input.question }}"}
        - {role: user, content: "{{ history[5].input.user_input }}{{ history[6].input.user_input }}"}
`, schedulertest.With(builtin.Calls()...), schedulertest.Inputs(`{"who": "same", "question": "same"}`),
		schedulertest.LLM(answerer{use}))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	want := []string{
		"ask chat",
		"user same < sum (summary) > bare (slot) > ask",
		"user same < inputs.question (flow.yaml:5:5) > bare (slot) > ask",
		"user same < sum (summary) > bare (slot) > ask",
		"user same < inputs.who (flow.yaml:6:48) > full (slot) > ask",
		"user same < inputs.who (flow.yaml:6:76) > full (slot) > ask",
		"user bare < flow.yaml:5:5 > full (slot) > ask",
		"user same < inputs.who (flow.yaml:7:51) > pick (choice) > ask",
		"user same < flow.yaml:7:117 > pick (choice) > ask",
		"user same < inputs.question (flow.yaml:8:5) > own (choice) > ask",
		"user same < inputs.who (flow.yaml:9:53) > words (input) > ask",
		"user same < inputs.question (flow.yaml:10:5) > said (input) > ask",
	}
	if diff := cmp.Diff(want, explained(t, r, "ask")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"work/chat-1/chat-1 chat", "user same < inputs.who (flow.yaml:11:94)"}, explained(t, r, "work/chat-1/chat-1")); diff != "" {
		t.Error(diff)
	}
}

// answerer uses a tool if there is one that has not been used, and else answers the same to all.
type answerer struct{ use scripted.Answer }

func (a answerer) Chat(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	isLast := len(req.Messages) > 1
	if len(req.Tools) > 0 && !isLast && req.ResponseSchema == nil {
		return scripted.New(a.use).Chat(ctx, req)
	}
	return scripted.Texts("same").Chat(ctx, req)
}

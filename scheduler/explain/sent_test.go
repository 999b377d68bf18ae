package explain_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

// origins returns the pieces of a step's prompts that hold a text, with their sources.
func origins(t *testing.T, r *schedulertest.Result, step string, texts ...string) (found []string) {
	t.Helper()
	lines := explained(t, r, step)
	for _, text := range texts {
		hit := ""
		for _, line := range lines {
			if piece, source, ok := strings.Cut(line, " < "); ok && strings.Contains(piece, text) {
				hit = text + " < " + source
				break
			}
		}
		if hit == "" {
			hit = text + " is nowhere in\n" + strings.Join(lines, "\n")
		}
		found = append(found, hit)
	}
	return found
}

const sentFlow = `
inputs: {type: object, properties: {question: {type: string}}}
steps:
  - {id: notes, call: template, with: {template: Lyon has two rivers}}
  - id: sum
    call: summary
    with: {messages: [{role: user, content: "We talked about rivers at length."}], instructions: Mention the rivers}
  - {id: known, call: facts, with: {messages: [{role: user, content: "My cat is called Momo."}], known: [The user lives in Lyon.]}}
  - id: args
    call: slot
    on_missing: return
    with:
      step_num: 1
      data: {unit: metric}
      current_schema: {type: object, required: [city, day], properties: {city: {type: string}, day: {type: string}, unit: {type: string}}}
  - id: way
    call: choice
    with: {values: {town: "Lyon upon Rhone"}, choices: [{branch: a, description: The first way to go}, {branch: b, default: true}]}
outputs: {x: "{{ way.branch }}"}
`

// Prompts that calls make themselves are explained piece by piece.
func TestExplainSent(t *testing.T) {
	r := schedulertest.Run(t, sentFlow, schedulertest.With(builtin.Calls()...), schedulertest.Inputs(`{"question": "How is the weather?"}`),
		schedulertest.LLM(scripted.Texts("All about rivers.", `{"facts": ["The cat is called Momo."], "domain": []}`,
			`{"/city": "Lyon"}`, "no idea", "no idea", "no idea", `{"/day": null}`, `{"reason": "so", "branch": "a"}`)))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	got := origins(t, r, "sum", "Write the notes", "We talked about rivers", "Mention the rivers", "How is the weather?")
	got = append(got, origins(t, r, "known", "Read the conversation", "My cat is called Momo.", "The user lives in Lyon.")...)
	got = append(got, origins(t, r, "args", "You fill in the arguments", "How is the weather?", "All about rivers.", "The cat is called Momo.",
		"user metric", `"/city"`, "no idea", "That was no JSON object")...)
	got = append(got, origins(t, r, "way", "Decide which branch", "The first way to go", "Lyon upon Rhone", "How is the weather?", "All about rivers.")...)
	want := []string{
		"Write the notes < the text summary summary.txt > sum (summary)",
		"We talked about rivers < flow.yaml:7:46 > sum (summary): conversation",
		"Mention the rivers < flow.yaml:7:98 > sum (summary): instructions",
		"How is the weather? < inputs.question (flow.yaml:5:5) > sum (summary): question",
		"Read the conversation < the text facts facts.txt > known (facts)",
		"My cat is called Momo. < flow.yaml:8:71 > known (facts): conversation",
		"The user lives in Lyon. < flow.yaml:8:106 > known (facts): known",
		"You fill in the arguments < the text slot prompt.txt > args/ask-1 (ask)",
		"How is the weather? < inputs.question (flow.yaml:9:5) > args/ask-1 (ask): question",
		"All about rivers. < sum (summary) > args/ask-1 (ask): summary",
		"The cat is called Momo. < known (facts) > args/ask-1 (ask): facts",
		`user metric < flow.yaml:14:20 > args/ask-1 (ask): known`,
		`"/city" < flow.yaml:13:7 > args/ask-1 (ask): schema`,
		"no idea < the model's answer > args/ask-3 (ask)",
		"That was no JSON object < the text slot retry.txt > args/ask-3 (ask)",
		"Decide which branch < the text choice choice.txt > way (choice)",
		"The first way to go < flow.yaml:18:82 > way (choice): choices",
		"Lyon upon Rhone < flow.yaml:18:28 > way (choice): values",
		"How is the weather? < inputs.question (flow.yaml:16:5) > way (choice): question",
		"All about rivers. < sum (summary) > way (choice): summary",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	_, err := explain.Explain(context.Background(), r.Flow, r.State(), "wey", bytesCounter{})
	if calls.KindOf(err) != calls.NotFound || calls.HintOf(err) != `did you mean "way"?` {
		t.Errorf("got %v (%s)", err, calls.HintOf(err))
	}
}

const insideFlow = `
inputs: {type: object, properties: {question: {type: string}, tone: {type: string}}}
steps:
  - id: work
    call: agent
    enable_filling: true
    override_input: {prompt: {type: string}}
    with: {prompt: "{{ question }}", system: "Be {{ inputs.tone }} to all", tools: {calls: [{call: template, name: write, with: {template: !raw "{{ w }}"}}]}}
  - id: each
    call: slot
    for_each: [one, two]
    on_missing: ask
    with: {stages: [llm], current_schema: {type: object, required: [n], properties: {n: {type: integer}}}}
  - {id: never, call: chat, with: {user: "{{ each[0].slot_data.n }}!"}}
  - {id: off, call: template, when: "{{ false }}", needs: [], with: {template: x}}
  - {id: plain, call: choice, needs: [], with: {choices: [{branch: a, default: true, when: "{{ true }}"}]}}
`

// The rounds of an agent, and steps that wait, are explained as well; missing prompts get a reason.
func TestExplainInside(t *testing.T) {
	tool := scripted.Answer{Text: "I write.", ToolCalls: []llm.ToolCall{{ID: "1", Name: "write", Arguments: `{"values": {"w": "written words"}}`}}}
	r := schedulertest.Run(t, insideFlow, schedulertest.With(builtin.Calls()...), schedulertest.Inputs(`{"question": "What now, friend?", "tone": "kind and fair"}`),
		schedulertest.LLM(scripted.New(tool, scripted.Answer{Text: "Done."}, scripted.Answer{Text: "{}"}, scripted.Answer{Text: `{"/n": "x"}`})))
	var waiting *scheduler.Waiting
	if !errors.As(r.Err, &waiting) {
		t.Fatal(r.Err)
	}
	want := []string{
		"work/round-1 round",
		"system Be  < flow.yaml:8:47",
		"system kind and fair < inputs.tone (flow.yaml:8:53)",
		"system  to all < flow.yaml:8:67",
		"user What now, friend? < inputs.question (flow.yaml:8:24)",
		"work/round-2 round",
		"assistant I write. < the model's answer > work/round-2 (round)",
		`assistant [{"id":"1","type":"function","function":{"name":"write","arguments":"{\"values\": {\"w\": \"written words\"}}"}}] < the model's answer > work/round-2 (round)`,
		`tool written words < the tool write > work/round-2 (round)`,
	}
	if diff := cmp.Diff(want, explained(t, r, "work")); diff != "" {
		t.Error(diff)
	}
	if got := origins(t, r, "each[1]", "You fill in", `"/n"`); got[0] != "You fill in < the text slot prompt.txt > each[1]/ask-1 (ask)" {
		t.Errorf("got %q", got)
	}
	for step, want := range map[string]string{
		"each":         "asked no model and built no prompt|it ran for several items: name one, as in each[",
		"never":        "the step never has not run yet|",
		"off":          "the step off was skipped|",
		"plain":        "the step plain (choice) asked no model|",
		"nobody":       `the run has no step "nobody"|`,
		"work/round-9": `the run has no step "work/round-9"|did you mean "work/round-`,
	} {
		_, err := explain.Explain(context.Background(), r.Flow, r.State(), step, bytesCounter{})
		message, hint, _ := strings.Cut(want, "|")
		if err == nil || !strings.Contains(err.Error(), message) || !strings.HasPrefix(calls.HintOf(err), hint) {
			t.Errorf("%s: got %v (%s)", step, err, calls.HintOf(err))
		}
	}
}

// The steps that there are, in a hint, are named once each.
func TestUnknownStepOfAFlow(t *testing.T) {
	r := schedulertest.Run(t, `
steps: [{id: first, call: template, with: {template: a}}, {id: second, call: template, with: {template: b}}]
`, schedulertest.With(builtin.Calls()...))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	_, err := explain.Explain(context.Background(), r.Flow, r.State(), "nobody", bytesCounter{})
	if hint := calls.HintOf(err); hint != "there are first, second" {
		t.Errorf("got %q", hint)
	}
}

// The parts of messages that were recorded before are not recorded again with every round.
func TestSharedParts(t *testing.T) {
	tool := scripted.Answer{ToolCalls: []llm.ToolCall{{ID: "1", Name: "template", Arguments: `{}`}}}
	r := schedulertest.Run(t, `
inputs: {type: object}
steps: [{id: work, call: agent, with: {system: Be kind, prompt: Go on, max_repeats: 9, tools: {calls: [{call: template, with: {template: words}}]}}}]
`, schedulertest.With(builtin.Calls()...), schedulertest.LLM(scripted.New(tool, tool, tool, scripted.Answer{Text: "Done."})))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	var told []int
	for _, ev := range r.Events {
		if ev.Data != nil {
			for _, p := range ev.Data.Prompts {
				told = append(told, len(p.Parts))
			}
		}
	}
	var known []int
	for n := 1; n <= 4; n++ {
		known = append(known, len(r.State().Step(fmt.Sprintf("work/round-%d", n)).Prompts[0].Parts))
	}
	if diff := cmp.Diff([][]int{{2, 2, 2, 2}, {2, 4, 6, 8}}, [][]int{told, known}); diff != "" {
		t.Error(diff)
	}
}

// Tool calls that an agent sends differently from the model's text are computed from its answer, in its own
// prompts and wherever its messages go. Others are the answer.
func TestExplainAlteredToolCalls(t *testing.T) {
	const flow = `
inputs: {type: object}
steps:
  - {id: work, call: agent, with: {prompt: Go, tools: {calls: [{call: lookup}]}}}
  - {id: ask, call: chat, with: {messages: "{{ work.messages + [{'role': 'user', 'content': work.messages[1].tool_calls[0].function.arguments}] }}"}}
`
	lookup := calls.Func("lookup", calls.Text{En: "Looks up."}, func(context.Context, *calls.Env, struct {
		X string `json:"x"`
	},
	) (map[string]string, error) {
		return map[string]string{"text": "found"}, nil
	})
	for arguments, want := range map[string]string{
		`{"x": "y"}`: "the model's answer",
		`{"x": "y"`:  "flow.yaml:4:35 computed from the model's answer",
		``:           "flow.yaml:4:35 computed from the model's answer",
	} {
		use := scripted.Answer{ToolCalls: []llm.ToolCall{{ID: "1", Name: "lookup", Arguments: arguments}}}
		r := schedulertest.Run(t, flow, schedulertest.With(append(builtin.Calls(), lookup)...), schedulertest.Inputs(`{}`),
			schedulertest.LLM(scripted.New(use, scripted.Answer{Text: "done"}, scripted.Answer{Text: "yes"})))
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		got := origins(t, r, "work", "lookup")
		got = append(got, origins(t, r, "ask", "lookup", "user {")...)
		want := []string{"lookup < " + want + " > work/round-2 (round)", "lookup < " + want + " > work (agent) > ask", "user { < " + want + " > work (agent) > ask"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", arguments, diff)
		}
	}
}

// The last message is the utterance that the built-in variable has taken it from. The result of another resolver
// of the name is the resolver's, even if it is equal.
func TestExplainLastMessageOfInput(t *testing.T) {
	const flow = `memory: {user: ann}
inputs: {type: object}
steps:
  - {id: prompt, call: input, with: {config: {context_template: [{module_name: a, segments: [{type: text, value: "Before: "}, {type: variable, value: vars.last_user_message}]}]}%s}}
  - {id: ask, call: chat, with: {user: "{{ prompt.prompt }}"}}
`
	registry, err := builtin.Registry()
	if err != nil {
		t.Fatal(err)
	}
	last, _ := registry.Resolver("last_user_message")
	constant := plugins.ResolverFunc(func(context.Context, plugins.State, string) (any, error) { return "Hi there", nil })
	const given = `, memory: {short_term: ["one", {role: user, content: "Hi there"}, {role: assistant, content: "Hello"}]}`
	for _, test := range []struct {
		memory   string
		resolver plugins.Resolver
		want     string
	}{
		{"", last, "the memory memory_1 > prompt"},
		{given, last, "flow.yaml:4:232"},
		{"", constant, "vars.last_user_message (flow.yaml:4:5) > prompt"},
		{given, constant, "vars.last_user_message (flow.yaml:4:5) > prompt"},
	} {
		r := schedulertest.Run(t, fmt.Sprintf(flow, test.memory), schedulertest.With(builtin.Calls()...), schedulertest.LLM(scripted.Texts("yes")),
			schedulertest.Resolver(test.resolver, "last_user_message"),
			schedulertest.Executor(func(e *scheduler.StepExecutor) { e.Env.Memory = remembered{e.Env.Memory, "Hi there"} }))
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		if got := origins(t, r, "ask", "Hi there")[0]; !strings.HasPrefix(got, "Hi there < "+test.want) {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}

// In a tool's result, the note that it was cut is the agent's; so are the words with which it refuses a use. The
// messages keep these sources when they go on to another step.
func TestExplainWordsOfAgent(t *testing.T) {
	const flow = `
inputs: {type: object}
steps:
  - {id: work, call: agent, with: {prompt: Go, max_result_bytes: 256, max_repeats: 1, tools: {calls: [{call: template, with: {template: !raw "{{ w }}", values: {w: "{{ inputs.long }}"}}}]}}}
  - {id: ask, call: chat, with: {messages: "{{ work.messages + [{'role': 'user', 'content': work.rounds[0].tool_calls[0].result ~ work.rounds[1].tool_calls[0].result}] }}"}}
`
	long := strings.Repeat("x", 256)
	use := scripted.Answer{ToolCalls: []llm.ToolCall{{ID: "1", Name: "template", Arguments: `{}`}}}
	r := schedulertest.Run(t, flow, schedulertest.With(builtin.Calls()...), schedulertest.Inputs(`{"long": "`+long+`and more"}`),
		schedulertest.LLM(scripted.New(use, use, scripted.Answer{Text: "done"}, scripted.Answer{Text: "yes"})))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	tools := func(step string) (got []string) {
		for _, line := range explained(t, r, step) {
			if strings.HasPrefix(line, "tool ") {
				got = append(got, strings.Replace(line, long, "LONG", 1))
			}
		}
		return got
	}
	const refused = `{"error":{"kind":"invalid","message":"not run: it was used with the same arguments 1 times; use what it gave, or try something else"}}`
	want := []string{
		"tool LONG < the tool template > work/round-2 (round)",
		"tool \n[cut: these are the first 256 of 264 bytes] < work/round-2 (round)",
		"tool " + refused + " < work/round-3 (round)",
	}
	if diff := cmp.Diff(want, tools("work")); diff != "" {
		t.Error(diff)
	}
	want = []string{
		"tool LONG < the tool template > work (agent) > ask",
		"tool \n[cut: these are the first 256 of 264 bytes] < work (agent) > ask",
		"tool " + refused + " < work (agent) > ask",
	}
	if diff := cmp.Diff(want, tools("ask")); diff != "" {
		t.Error(diff)
	}
}

// relay asks with the messages that it is given, and lets an agent ask with the same.
type relay struct {
	Text string `json:"text"`
}

type relayInput struct {
	Messages []map[string]string `json:"messages"`
}

func (p relay) Init(context.Context, *calls.Vars) (relayInput, error) {
	return relayInput{[]map[string]string{{"role": "user", "content": p.Text}}}, nil
}

func (relay) Exec(ctx context.Context, env *calls.Env, in relayInput) iter.Seq2[calls.Chunk, error] {
	return calls.Do(func() (any, error) {
		for _, err := range env.LLM.Chat(ctx, &llm.Request{Messages: []llm.Message{llm.Message(value.Must(in.Messages[0]).JSON())}}) {
			if err != nil {
				return nil, err
			}
		}
		return env.Calls.RunCall(ctx, "agent", value.Must(map[string]any{"messages": in.Messages}))
	})
}

// A prompt that a step has sent is explained even if a call inside it has sent the same.
func TestExplainEqualPrompts(t *testing.T) {
	def := calls.Define[relay, relayInput, map[string]any](calls.Info{Name: "relay", Summary: calls.Text{En: "Asks twice.", Zh: "问两次。"}, UsesLLM: true})
	r := schedulertest.Run(t, "inputs: {type: object}\nsteps: [{id: twice, call: relay, with: {text: \"{{ inputs.who }}\"}}]\n",
		schedulertest.With(append(builtin.Calls(), def)...), schedulertest.Inputs(`{"who": "same"}`), schedulertest.LLM(scripted.Texts("one", "two")))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	want := []string{
		"twice/agent-1/round-1 round", "user same < twice/agent-1 (agent)",
		"twice relay", "user same < twice (relay)",
	}
	if diff := cmp.Diff(want, explained(t, r, "twice")); diff != "" {
		t.Error(diff)
	}
}

// A request that has more messages than the one before it, and no answer between them, is another one; a request
// that is repeated, or goes on after an answer, is one conversation.
func TestExplainLongerPrompts(t *testing.T) {
	ask := calls.Func("ask", calls.Text{En: "Asks."}, func(ctx context.Context, env *calls.Env, _ struct{}) (map[string]string, error) {
		user := func(text string) llm.Message { return llm.TextMessage("user", text) }
		for _, messages := range [][]llm.Message{
			{user("a")},
			{user("a")},
			{user("a"), user("b")},
			{user("a"), user("b"), llm.TextMessage("assistant", "c"), user("d")},
		} {
			if _, err := llm.Collect(env.LLM.Chat(ctx, &llm.Request{Messages: messages})); err != nil {
				return nil, err
			}
		}
		return map[string]string{}, nil
	})
	ask.Info.UsesLLM = true
	r := schedulertest.Run(t, "steps: [{id: s, call: ask}]\n", schedulertest.With(append(builtin.Calls(), ask)...), schedulertest.LLM(scripted.Texts("1", "2", "3", "4")))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	want := []string{
		"s ask", "user a < s (ask)",
		"s ask", "user b < s (ask)", "assistant c < s (ask)", "user d < s (ask)",
	}
	if diff := cmp.Diff(want, explained(t, r, "s")); diff != "" {
		t.Error(diff)
	}
}

// A part of a message in which a tool of an agent fixes some members, and the model gives others, names both.
func TestExplainObjectsFixedInPart(t *testing.T) {
	tool := scripted.Answer{ToolCalls: []llm.ToolCall{{ID: "1", Name: "look", Arguments: `{"part": {"image_url": {"url": "https://example.com/cat.png"}}}`}}}
	r := schedulertest.Run(t, `
inputs: {type: object, properties: {kind: {type: string, default: image_url}}}
steps:
  - id: work
    call: agent
    with:
      prompt: Go.
      tools: {flows: [{path: inner.yaml, name: look, with: {part: {type: "{{ inputs.kind }}"}}}]}
-- inner.yaml --
inputs: {type: object, properties: {part: {type: object, properties: {type: {type: string}, image_url: {type: object}}}}}
steps:
  - {id: t, call: template, with: {template: !raw "{{ p }}", values: {p: !expr inputs.part}}}
  - {id: ask, call: chat, with: {messages: [{role: user, content: [{type: text, text: "See {{ t.text }}"}, !expr inputs.part]}]}}
`, schedulertest.With(builtin.Calls()...), schedulertest.LLM(scripted.New(tool, scripted.Answer{Text: "A cat."}, scripted.Answer{Text: "Done."})))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	want := []string{
		"work/look-1/flow-1/ask chat",
		"user See  < inner.yaml:4:88",
		"user {'image_url': {'url': 'https://example.com/cat.png'}, 'type': 'image_url'} < inner.yaml:3:55 {{ p }} computed from the model's answer, inputs.kind > work/look-1/flow-1/t (template) > work/look-1/flow-1/ask",
		"user [image_url] < flow.yaml:8:67 computed from inputs.kind, the model's answer > inputs.part (inner.yaml:4:114)",
	}
	if diff := cmp.Diff(want, explained(t, r, "work/look-1/flow-1/ask")); diff != "" {
		t.Error(diff)
	}
}

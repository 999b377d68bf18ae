package builtin_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

// The call template sees what its step sees, with its values laid over it.
func TestTemplateSeesItsStep(t *testing.T) {
	for flow, want := range map[string]string{
		// inputs, steps, the question, items
		`steps:
  - {id: a, call: template, with: {template: "Hi {{ inputs.name }}: {{ question }}"}}
  - {id: b, call: template, for_each: "{{ inputs.list }}", with: {template: "{{ index }}{{ item }} {{ a.text | upper }}"}}
outputs: {x: "{{ b[1].text }}"}`: "1y HI ADA: WHAT?",
		// values win, whole names and members
		`steps:
  - {id: a, call: template, with: {template: "{{ inputs.name }} {{ inputs.list | length }}{% for k in inputs.keys() %} {{ k }}{% endfor %}", values: {question: mine}}}
outputs: {x: "{{ a.text }}"}`: "Ada 2 name list question",
		`steps:
  - {id: a, call: template, with: {template: "{{ question }} {{ inputs }}", values: {question: mine, inputs: "{{ inputs.name }}"}}}
outputs: {x: "{{ a.text }}"}`: "mine Ada",
		// values that are one expression
		`steps:
  - {id: a, call: template, with: {template: "{{ name }} {{ question }} {{ list[0] }}", values: "{{ inputs }}"}}
outputs: {x: "{{ a.text }}"}`: "Ada What? x",
		// a step that was skipped
		`steps:
  - {id: s, call: template, when: "{{ inputs.name == 'Bob' }}", with: {template: never}}
  - {id: a, call: template, with: {template: "{{ s.text | default('none') }} {% if s is defined %}ran{% else %}skipped{% endif %}"}}
outputs: {x: "{{ a.text }}"}`: "none skipped",
		// a file beside the flow, and a key that is no name
		`steps:
  - {id: a, call: template, with: {template: !file t.md}}
outputs: {x: "{{ a.text }}"}
-- t.md --
{{ inputs['name'] }} of {{ run.flow }}`: "Ada of names\n",
		// names that the template sets itself are its own
		`steps:
  - {id: a, call: template, with: {template: "{% set item = 'own' %}{{ item }}{% for index in [1] %}{{ index }}{% endfor %}"}}
outputs: {x: "{{ a.text }}"}`: "own1",
		// the chat template of a model sees its values alone
		`steps:
  - {id: tools, call: template, with: {template: x}}
  - {id: a, call: template, with: {dialect: transformers, template: "{{ 'tools' if tools is defined else 'no tools' }}"}}
outputs: {x: "{{ a.text }}"}`: "no tools",
	} {
		r := schedulertest.Run(t, "name: names\n"+flow, schedulertest.With(builtin.Calls()...), schedulertest.Inputs(`{"name": "Ada", "list": ["x", "y"], "question": "What?"}`))
		if r.Err != nil {
			t.Errorf("%s\n%v", flow, r.Err)
			continue
		}
		got, _ := r.Outputs.Get("x")
		if text, _ := got.Str(); text != want {
			t.Errorf("%s\nwant %q, got %q", flow, want, text)
		}
	}
}

// Lint knows the names that a template sees.
func TestTemplateNamesLint(t *testing.T) {
	const refused = "template: the text of a template is not computed when the flow runs: what a model, a user or a tool wrote would be read as a template (write the template in the flow, or take it with !file PATH; it sees the names that the step sees, as in {{ inputs.name }})"
	for step, want := range map[string]string{
		`{id: a, call: template, with: {template: "Hi {{ inputs.nme }}"}}`:                                                                           `flow.yaml:3:53: there is no input "nme" (did you mean "name"?)`,
		`{id: a, call: template, with: {template: "{{ b.text }}"}}`:                                                                                  `flow.yaml:3:50: the step "b" is not upstream of "a": its output may not be there yet ("b" comes after "a"; it cannot be used before)`,
		`{id: a, call: template, with: {template: "{{ nope }}"}}`:                                                                                    `flow.yaml:3:50: template: no value is given for the name "nope" (give it under values)`,
		`{id: a, call: template, with: {template: "{{ item }}"}}`:                                                                                    `flow.yaml:3:50: item is not known here (only with of a step with for_each sees it)`,
		`{id: a, call: template, with: {template: !expr inputs.name}}`:                                                                               `flow.yaml:3:46: ` + refused,
		`{id: a, call: template, with: "{{ inputs }}"}`:                                                                                              `flow.yaml:3:35: ` + refused,
		`{id: a, call: template, enable_filling: true, with: {values: {}}}`:                                                                          `flow.yaml:3:19: template needs the parameter "template": the text of a template is not filled in (write it under with)`,
		`{id: a, call: agent, with: {prompt: x, tools: {calls: [{call: template, name: t}]}}}`:                                                       `flow.yaml:3:67: the tool needs "template" under with: a model does not write templates`,
		`{id: a, call: agent, with: {prompt: x, tools: {calls: [{call: template, name: t, parameters: {properties: {template: {type: string}}}}]}}}`: `flow.yaml:3:67: warning: a model does not write templates: the template that it gives is taken as it is`,
		`{id: a, call: agent, with: {prompt: x, tools: {calls: [{call: template, with: {template: "{{ inputs.name }}"}}]}}}`:                         `flow.yaml:3:94: tools/calls/0/with/` + strings.Replace(refused, "(write the template in the flow, or take it with !file PATH; it sees the names that the step sees, as in {{ inputs.name }})", "(write !raw before the text, so that the tool gets it as it is, and give the values under values)", 1),
		`{id: a, call: template, with: {template: !expr "'a' ~ 'b'"}}`:                                                                               "",
		`{id: a, call: template, with: {template: "{{ inputs.name }}"}}`:                                                                             "",
	} {
		flow := "inputs: {type: object, properties: {name: {type: string}}}\nsteps:\n  - " + step + "\n  - {id: b, call: template, with: {template: x}}\n"
		_, problems := schedulertest.Loader(t, schedulertest.With(builtin.Calls()...)).Parse("flow.yaml", []byte(flow))
		if got := strings.TrimSpace(problems.Error()); got != want {
			t.Errorf("%s\nwant %s\ngot  %s", step, want, got)
		}
	}
}

// What a model writes is never read as a template.
func TestTemplateOfModel(t *testing.T) {
	use := scripted.Answer{ToolCalls: []llm.ToolCall{{ID: "1", Name: "greet", Arguments: `{"template": "{{ 6 * 7 }}", "values": {"who": "{{ 6 * 7 }}"}}`}}}
	r := schedulertest.Run(t, `
steps:
  - {id: work, call: agent, with: {prompt: Go, tools: {calls: [{call: template, name: greet, with: {template: !raw "Hi {{ who }}"}}]}}}
outputs: {x: "{{ work.rounds[0].tool_calls[0].result }}"}
`, schedulertest.With(builtin.Calls()...), schedulertest.LLM(scripted.New(use, scripted.Answer{Text: "done"})))
	var failure *scheduler.Failure
	if errors.As(r.Err, &failure) {
		t.Fatal(failure)
	}
	got, _ := r.Outputs.Get("x")
	if text, _ := got.Str(); strings.Contains(text, "42") {
		t.Error(cmp.Diff("no template of the model", text))
	}
}

// A text that the flow lets the model give as a template comes back as it is, without the values of any name.
func TestTextOfModelIsLiteral(t *testing.T) {
	const text = "{{ inputs.key }} {% raw %}{{ 6 * 7 }}\n"
	use := scripted.Answer{ToolCalls: []llm.ToolCall{{ID: "1", Name: "echo", Arguments: value.Must(map[string]string{"template": text}).JSON()}}}
	r := schedulertest.Run(t, `
inputs: {type: object, properties: {key: {type: string, default: hidden}}}
steps:
  - {id: work, call: agent, with: {prompt: Go, tools: {calls: [{call: template, name: echo, parameters: {properties: {template: {type: string}}}}]}}}
outputs: {x: "{{ work.rounds[0].tool_calls[0].result }}"}
`, schedulertest.With(builtin.Calls()...), schedulertest.LLM(scripted.New(use, scripted.Answer{Text: "done"})))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	got, _ := r.Outputs.Get("x")
	if diff := cmp.Diff(value.OfString(text).JSON(), got.JSON()); diff != "" {
		t.Error(diff)
	}
}

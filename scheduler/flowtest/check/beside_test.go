package check

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/plugins"
)

const besideFlow = `
memory: {user: Mei}
inputs: {type: object, properties: {question: {type: string}, who: {type: string}, town: {type: string}, field: {type: string}}}
steps:
  - {id: shape, call: template, with: {template: "{{ f }}", values: {f: "{{ inputs.field }}"}}}
  - id: clerk
    call: agent
    with:
      system: Help.
      prompt: "{{ inputs.question }}"
      tools:
        http:
          - name: prices
            description: "Prices in {{ inputs.town }}."
            parameters: "{{ {'type': 'object', 'properties': {'what': {'type': 'string', 'description': 'Which ' ~ shape.text}}} }}"
            with: {url: "https://example.com/{{ inputs.who }}"}
        calls: [{call: memory-retrieve, name: remember}]
  - {id: answer, call: chat, with: {messages: [{role: user, name: "{{ inputs.who }}", content: hello}, {role: system, name: guide, content: Be kind.}]}}
outputs: {x: 1}
`

// Names of messages and definitions of tools are sent to the model: checks see them beside the messages.
func TestTextsBesideMessages(t *testing.T) {
	inputs := value.OfMap(value.Pairs("question", "hello", "who", "Mei", "town", "Ningbo", "field", "bread"))
	e := runText(t, besideFlow, inputs, scripted.Answer{Text: "one"}, scripted.Answer{Text: "two"})
	expectLines(t, e, `
		pass {prompt: clerk, confined: {source: inputs.question, roles: [user]}}
		fail {prompt: clerk, confined: {source: inputs.town, roles: [user]}}
		pass {prompt: clerk, confined: {source: inputs.town, roles: [user, tools]}}
		fail {prompt: clerk, confined: {source: inputs.field, roles: [user]}}
		fail {prompt: clerk, confined: {source: shape, roles: [user]}}
		pass {prompt: clerk, confined: {source: inputs.who, roles: [user]}}
		pass {prompt: clerk, includes: {source: inputs.town}, in: {role: tools}}
		fail {prompt: clerk, includes: {source: inputs.town}, in: {role: system}}
		fail {prompt: clerk, includes: {source: inputs.town}, in: {message: -1}}
		fail {prompt: clerk, not: {includes: {source: inputs.town}}}
		fail {prompt: clerk, leaves_out: {source: inputs.town}}
		pass {prompt: clerk, text: Ningbo, comes_from: {source: inputs.town}, in: {role: tools}}
		fail {prompt: clerk, text: Ningbo, comes_from: {source: inputs.question}}
		fail {prompt: clerk, not: {text: Ningbo}}
		fail {prompt: clerk, tokens: {of: {source: inputs.town}, max: 0}}
		pass {prompt: clerk, order: [{source: inputs.question}, {source: inputs.town}, {source: shape}]}
		pass {prompt: answer, confined: {source: inputs.who, roles: [user]}}
		fail {prompt: answer, confined: {source: inputs.who, roles: [system]}}
		pass {prompt: answer, includes: {source: inputs.who}, in: {role: user}}
	`)
	_, message := outcome(t, e, "{prompt: clerk, confined: {source: inputs.town, roles: [user]}}")
	if want := `text from inputs.town is in /tools/http/0/description of the role tools, beside the messages: "Ningbo"`; message != want {
		t.Errorf("the message is %q, want %q", message, want)
	}
}

// A snapshot of a prompt has the definitions of tools.
func TestSnapshotOfTools(t *testing.T) {
	run := func(town string) *Evidence {
		inputs := value.OfMap(value.Pairs("question", "hello", "who", "Mei", "town", town, "field", "bread"))
		return runText(t, besideFlow, inputs, scripted.Answer{Text: "one"}, scripted.Answer{Text: "two"})
	}
	path := filepath.Join(t.TempDir(), "a.test.snapshots.yaml")
	for _, one := range []struct {
		town, want string
		update     bool
	}{{"Ningbo", "pass", true}, {"Ningbo", "pass", false}, {"Hangzhou", "fail", false}} {
		kept, err := OpenSnapshots(path, one.update)
		if err != nil {
			t.Fatal(err)
		}
		e := run(one.town)
		e.Services.Snapshots = kept
		expectOutcome(t, e, one.want, "{prompt: clerk, snapshot: prompt}")
		if err := kept.Close(false); err != nil {
			t.Fatal(err)
		}
	}
}

// The name of a tool is seen too; the name of a tool in a flow that was only known in the run may come from any
// source.
func TestNamesOfTools(t *testing.T) {
	const source = `
memory: {user: Mei}
inputs: {type: object, properties: {file: {type: string}, town: {type: string}}}
steps:
  - {id: clerk, call: agent, with: {prompt: hello, tools: {flows: [{path: inner.yaml, name: "about_{{ inputs.town }}"}]}}}
  - {id: sub, call: flow, with: {path: "{{ inputs.file }}", inputs: {town: "{{ inputs.town }}"}}}
outputs: {x: 1}
-- inner.yaml --
name: inner
memory: {user: Mei}
inputs: {type: object, properties: {town: {type: string}}}
steps: [{id: say, call: agent, with: {prompt: hello, tools: {calls: [{call: memory-retrieve, name: remember, description: "Of {{ inputs.town }}."}]}}}]
outputs: {said: "{{ say.text }}"}
`
	e := runText(t, source, value.OfMap(value.Pairs("file", "inner.yaml", "town", "Ningbo")), scripted.Answer{Text: "one"}, scripted.Answer{Text: "two"})
	expectLines(t, e, `
		pass {prompt: clerk, confined: {source: inputs.file, roles: [user]}}
		fail {prompt: clerk, confined: {source: inputs.town, roles: [user]}}
		error {prompt: sub/say, confined: {source: inputs.town, roles: [user]}}
	`)
}

// describedResolver declares the types of its variables.
type describedResolver struct{ plugins.Resolver }

// Schema returns the schema of the variable profile.
func (describedResolver) Schema(string) value.Value {
	v, _ := value.ParseJSON([]byte(`{"type": "object", "additionalProperties": false, "properties": {
		"town": {"type": "object", "properties": {"name": {"type": "string"}}}, "tags": {"type": "array", "items": {"type": "string"}}}}`))
	return v
}

// A variable that no plugin declares gives no text, and neither does a member that the schema of a variable lacks.
func TestVariablesOfPlugins(t *testing.T) {
	scope := loadScope(t, namesFlow)
	registry, err := builtin.Registry()
	if err != nil {
		t.Fatal(err)
	}
	scope.Registry = registry.WithResolver(describedResolver{}, "profile")
	for _, source := range []string{"vars.profile", "vars.prof*", "vars.profile.town", "vars.profile.town.zip", "vars.profile.tags[0]", "vars.profile.t*", "vars.last_user_message", "vars.weekday", "vars.*"} {
		if _, problems := tryParse(t, "{prompt: answer, confined: {source: '"+source+"', roles: [user]}}", scope); problems != nil {
			t.Errorf("%s: %v", source, problems)
		}
	}
	for source, want := range map[string]string{
		"vars.proifle":      `the flow has no variable "proifle" (did you mean "profile"?)`,
		"vars.elsewhere":    `the flow has no variable "elsewhere" (there are`,
		"vars.else*":        `the flow has no variable "else*" (there are`,
		"vars.profile.twon": `no text comes from "vars.profile.twon": the variable has no "twon" (did you mean "town"?)`,
	} {
		expectProblem(t, scope, "{prompt: answer, confined: {source: '"+source+"', roles: [user]}}", want)
	}
}

// A snapshot has no places in files, not even in its list of sources: each edit of a file moves them.
func TestSnapshotHasNoPlaces(t *testing.T) {
	texts := map[string]string{}
	for _, before := range []string{"", "# A comment.\n"} {
		e := runText(t, before+besideFlow, value.OfMap(value.Pairs("question", "hello", "who", "Mei", "town", "Ningbo", "field", "bread")), scripted.Answer{Text: "one"}, scripted.Answer{Text: "two"})
		c := parseItem(t, "{prompt: clerk, snapshot: prompt}", &Scope{})
		of, failed := c.subject.resolve(t.Context(), e)
		if failed != nil {
			t.Fatal(failed.message)
		}
		texts[before] = of.snapshotText()
	}
	if texts[""] != texts["# A comment.\n"] || !strings.Contains(texts[""], "inputs.field") {
		t.Errorf("the snapshots are %q", texts)
	}
}

package check

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
)

// loadScope returns the scope of a test file in a folder with the files of an archive, whose comment is the flow.
func loadScope(t *testing.T, source string) *Scope {
	t.Helper()
	dir := t.TempDir()
	archive := txtar.Parse([]byte(source))
	archive.Files = append(archive.Files, txtar.File{Name: "flow.yaml", Data: archive.Comment})
	for _, f := range archive.Files {
		path := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	registry, err := builtin.Registry()
	if err != nil {
		t.Fatal(err)
	}
	if err := registry.AddCall(searchServer()); err != nil {
		t.Fatal(err)
	}
	f, problems := (&flow.Loader{Registry: registry}).Load(filepath.Join(dir, "flow.yaml"))
	if f == nil {
		t.Fatal(problems)
	}
	return &Scope{File: "a.test.yaml", Dir: dir, Flows: []*flow.Flow{f}}
}

const namesFlow = `
memory: {user: Mei}
inputs: {type: object, properties: {question: {type: string}, things: {type: string}}}
steps:
  - {id: fetch, call: http, with: {url: "https://api.example.com/a"}}
  - {id: sub, call: flow, with: {path: inner.yaml, inputs: {text: "{{ inputs.question }}"}}}
  - {id: each, for_each: [a], call: template, with: {template: "item {{ x }}", values: {x: "{{ item }}"}}}
  - {id: scene, call: context, with: {workspace: ./desk, current_message: "{{ inputs.question }}"}}
  - id: clerk
    call: agent
    with:
      prompt: "{{ inputs.question }}"
      workspace: ./desk
      tools:
        http: [{name: price, with: {url: "https://api.example.com/prices"}}]
        calls: [{call: memory-retrieve, name: remember}]
        mcp: [{server: github, tools: [search.issues]}]
  - {id: answer, call: chat, with: {messages: [{role: function, content: "{{ sub.said }}"}, {role: user, content: "{{ vars.weekday }}"}]}}
outputs: {x: 1}
-- inner.yaml --
inputs: {type: object, properties: {text: {type: string}}}
steps:
  - {id: say, call: template, with: {template: "they said {{ t }}", values: {t: "{{ inputs.text }}"}}}
outputs: {said: "{{ say.text }}"}
-- desk/AGENTS.md --
Be kind.
-- desk/skills/tone/SKILL.md --
---
name: tone
description: How to speak.
---
Speak softly.
-- notes.txt --
A note.
`

// A source that no text can have is found when the file is read: it would always be confined, not included and
// below its bound.
func TestMisspeltNames(t *testing.T) {
	scope := loadScope(t, namesFlow)
	for _, source := range []string{
		"inputs", "inputs.question", "inputs.*", "inputs.q*", "inputs.*tion", "inputs.t*s.x", "inp*", "vars.town", "vars.week*", "vars.elsewhere", "item", "summary", "history[0].output",
		"http", "tool", "model", "memory", "user", "clock", "session", "world_book", "memory_6d0c7a52-5b1e-4f57-9d0e-0a8f1a1b2c3d",
		"fetch", "fetch.body", "fet*", "sub", "sub/say", "sub/say.text", "sub/*", "sub/s*", "sub/s*.text", "s*/say", "clerk/*", "clerk/round-*", "each", "each[0]", "each[0].text", "clerk/round-1",
		"price", "remember", "github_search_issues", "read_file", "memory-retrieve", "mcp.github.search.issues",
		"AGENTS.md", "desk/AGENTS.md", "./desk/AGENTS.md", "desk/*.md", "SKILL.md", "desk/skills/tone/SKILL.md", "notes.txt", "*.txt",
		"identity.txt", "context identity.txt", "de/context/identity.txt",
	} {
		for _, item := range []string{
			"{prompt: answer, confined: {source: '" + source + "', roles: [user]}}",
			"{prompt: answer, not: {includes: {source: '" + source + "'}}}",
		} {
			if _, problems := tryParse(t, item, scope); problems != nil {
				t.Errorf("%s: %v", item, problems)
			}
		}
	}
	for item, want := range map[string]string{
		"{prompt: answer, confined: {source: inputs.thigns, roles: [user]}}":   `1:37: the flow has no input "thigns" (did you mean "things"?)`,
		"{prompt: answer, confined: {source: inputs/things, roles: [user]}}":   `1:37: "inputs/things" is not a source (write inputs.things)`,
		"{prompt: answer, confined: {source: question, roles: [user]}}":        `1:37: no text comes from "question": no step, tool or file has that name (did you mean "inputs.question"?)`,
		"{prompt: answer, not: {includes: {source: things}}}":                  `1:43: no text comes from "things": no step, tool or file has that name (did you mean "inputs.things"?)`,
		"{prompt: answer, confined: {source: input.things, roles: [user]}}":    `1:37: no text comes from "input.things": no step, tool or file has that name (did you mean "inputs.things"?)`,
		"{prompt: answer, confined: {source: vars.weekdya, roles: [user]}}":    `1:37: the flow has no variable "weekdya" (did you mean "weekday"?)`,
		"{prompt: answer, confined: {source: 'inputs.thn*', roles: [user]}}":   `1:37: no input of the flow fits "thn*" (`,
		"{prompt: answer, not: {includes: {source: 'inputs.qestion*'}}}":       `no input of the flow fits "qestion*" (did you mean "question"?)`,
		"{prompt: answer, confined: {source: 'inputs.*stoin', roles: [user]}}": `no input of the flow fits "*stoin" (`,
		"{prompt: answer, confined: {source: 'vars.weekdya*', roles: [user]}}": `the flow has no variable "weekdya*" (did you mean "weekday"?)`,
		"{prompt: answer, confined: {source: 'sub/sya*', roles: [user]}}":      `no text comes from "sub/sya*"`,
		"{prompt: answer, confined: {source: 'fecht*', roles: [user]}}":        `no text comes from "fecht*"`,
		"{prompt: answer, confined: {source: prise, roles: [user]}}":           `1:37: no text comes from "prise": no step, tool or file has that name (did you mean "price"?)`,
		"{prompt: answer, confined: {source: warehouse, roles: [user]}}":       `(there are http, tool, model, memory, user, clock, fetch, sub, sub/say, each,`,
		"{prompt: answer, confined: {source: 'ware*', roles: [user]}}":         `no text comes from "ware*"`,
		"{prompt: answer, confined: {source: sub/sya, roles: [user]}}":         `(did you mean "sub/say"?)`,
		"{prompt: answer, confined: {source: AGENT.md, roles: [user]}}":        `(did you mean "AGENTS.md"?)`,
		"{prompt: answer, confined: {source: http, roles: [user, asistant]}}":  `1:57: there is no role "asistant" (did you mean "assistant"?)`,
		"{prompt: answer, includes: {source: prise}}":                          `1:37: no text comes from "prise"`,
		"{prompt: answer, includes: {kind: memroy}}":                           `1:35: there is no kind "memroy" of pieces (did you mean "memory"?)`,
		"{prompt: answer, includes: {kind: file}, in: {role: sytem}}":          `1:53: there is no role "sytem" (did you mean "system"?)`,
		"{prompt: answer, not: {includes: {kind: fiel}}}":                      `1:41: there is no kind "fiel" of pieces (did you mean "file"?)`,
		"{prompt: answer, not: {includes: {kind: file}, in: {role: usr}}}":     `1:59: there is no role "usr" (did you mean "user"?)`,
		"{prompt: answer, tokens: {of: {kind: memroy}, max: 5}}":               `1:38: there is no kind "memroy"`,
		"{prompt: answer, tokens: {of: {source: prise}, max: 5}}":              `1:40: no text comes from "prise"`,
		"{prompt: answer, order: [{kind: file}, {source: prise}]}":             `1:49: no text comes from "prise"`,
		"{prompt: answer, text: kind, comes_from: {source: prise}}":            `1:51: no text comes from "prise"`,
		"{prompt: answer, text: kind, comes_from: {kind: fiel}}":               `1:49: there is no kind "fiel"`,
		"{prompt: answer, leaves_out: {kind: fiel}}":                           `1:37: there is no kind "fiel"`,
		"{prompt: answer, leaves_out: {source: inputs.thigns}}":                `1:39: the flow has no input "thigns"`,
		"{step: answer.text, grounded: {kinds: [file, fiel]}}":                 `1:46: there is no kind "fiel"`,
	} {
		expectProblem(t, scope, item, want)
	}
	for _, item := range []string{
		"{prompt: answer, leaves_out: {source: a part}}",
		"{prompt: answer, confined: {source: http, roles: [function, developer]}}",
		"{prompt: answer, includes: {kind: world_book, source: 'inputs.*'}, in: {role: prompt}}",
	} {
		if _, problems := tryParse(t, item, scope); problems != nil {
			t.Errorf("%s: %v", item, problems)
		}
	}
}

// If a call puts the question into a text of its own, the part has that name; if there is a tool of the name, the
// tool is meant. Other steps do not matter for a prompt: the question of the user is inputs.question there.
func TestSourceQuestion(t *testing.T) {
	const summary, choice = "{id: answer, call: summary, with: {text: a}}", "{id: answer, call: choice, with: {choices: [{branch: a, description: A}, {branch: b, description: B}]}}"
	const chat = "{id: answer, call: chat, with: {user: hello}}"
	for steps, isKnown := range map[string]bool{
		chat: false, summary: true, choice: true,
		strings.Replace(summary, "answer", "sum", 1) + ", " + chat:                                                                  false,
		"{id: answer, call: chat, enable_filling: true, with: {}}":                                                                  false,
		"{id: answer, call: agent, with: {prompt: hello, tools: {calls: [{call: template, name: question, with: {template: a}}]}}}": true,
		"{id: answer, call: agent, with: {prompt: hello, tools: !expr 'inputs.tools'}}":                                             false,
	} {
		scope := loadScope(t, "inputs: {type: object, properties: {question: {type: string}, tools: {type: object}}}\nsteps: ["+steps+"]\n")
		for _, item := range []string{
			"{prompt: answer, confined: {source: question, roles: [user]}}", "{prompt: answer, confined: {source: 'quest*', roles: [user]}}",
			"{prompt: answer, not: {includes: {source: question}}}",
		} {
			_, problems := tryParse(t, item, scope)
			hasHint := strings.Contains(problems.In("en"), `did you mean "inputs.quest`)
			if got := problems == nil; got != isKnown || hasHint == isKnown {
				t.Errorf("%s with %s: %v", item, steps, problems)
			}
		}
	}
}

// An input may be called as a kind of parts is: its name alone is a source only in a prompt that has such a part.
func TestInputNamedLikePart(t *testing.T) {
	scope := loadScope(t, "inputs: {type: object, properties: {text: {type: string}, instructions: {type: string}}}\nsteps: [{id: sum, call: summary, with: {text: a}}, {id: answer, call: chat, with: {user: hello}}]\n")
	for _, name := range []string{"text", "instructions"} {
		expectProblem(t, scope, "{prompt: answer, confined: {source: "+name+", roles: [user]}}", `(did you mean "inputs.`+name+`"?)`)
	}
	for _, item := range []string{"{prompt: sum, confined: {source: instructions, roles: [user]}}", "{prompt: answer, confined: {source: world_book, roles: [user]}}"} {
		if _, problems := tryParse(t, item, scope); problems != nil {
			t.Errorf("%s: %v", item, problems)
		}
	}
}

// An input may have a name that templates use for earlier outputs: the name alone is not a source, unless a step
// has a call of that name.
func TestInputNamedLikeScope(t *testing.T) {
	const inputs = "inputs: {type: object, properties: {history: {type: array}, summary: {type: string}, facts: {type: array}}}\n"
	scope := loadScope(t, inputs+"steps: [{id: answer, call: chat, with: {user: hello}}]\n")
	for _, name := range []string{"history", "summary", "facts"} {
		expectProblem(t, scope, "{prompt: answer, confined: {source: "+name+", roles: [user]}}", `(did you mean "inputs.`+name+`"?)`)
	}
	steps := loadScope(t, inputs+"steps: [{id: sum, call: summary, with: {text: a}}, {id: answer, call: chat, with: {user: hello}}]\n")
	without := loadScope(t, "steps: [{id: answer, call: chat, with: {user: hello}}]\n")
	for name, scope := range map[string]*Scope{"summary": steps, "history": without} {
		if _, problems := tryParse(t, "{prompt: answer, confined: {source: "+name+", roles: [user]}}", scope); problems != nil {
			t.Errorf("%s: %v", name, problems)
		}
	}
}

// The flow of a tool is read with the flow: a name that is nowhere is a problem there too.
func TestNamesInFlowsOfTools(t *testing.T) {
	e := runText(t, `
steps:
  - {id: clerk, call: agent, with: {prompt: hello, tools: {flows: [{path: look.yaml, name: look}]}}}
  - {id: after, call: template, with: {template: bye}}
  - {id: all, call: agent, for_each: [a], with: {prompt: hello, tools: {http: [{name: price, with: {url: "https://example.com"}}]}}}
  - {id: fill, call: slot, with: {stages: [], current_schema: {type: object, properties: {city: {type: string}}}}}
  - {id: help, call: agent, with: {prompt: hello, tools: {calls: [{call: slot, name: Town, with: {stages: [], current_schema: {type: object, properties: {city: {type: string}}}}}]}}}
outputs: {x: 1}
-- look.yaml --
name: look
steps:
  - {id: load, call: http, with: {url: "https://api.example.com"}}
`, value.OfMap(nil), scripted.Answer{Text: "fine"})
	scope := &Scope{File: "a.test.yaml", Flows: []*flow.Flow{e.Flow}}
	expectProblem(t, scope, "{prompt: clerk, confined: {source: wether, roles: [user]}}", "no text comes from")
	for _, source := range []string{"look", "look.yaml", "http", "tool"} {
		expectFound(t, e, scope, "pass", "{prompt: clerk, confined: {source: "+source+", roles: [user]}}")
	}
	for _, source := range []string{
		"clerk/look-1/flow-1/load", "clerk/look-2/flow-1", "clerk/round-1", "clerk/*/load", "clerk/*/load.text", "*/load", "clerk/look-1*", "clerk/*-12/flow-*/l*d", "clerk/round-*",
		"all[2]/round-1", "all/round-1", "all[*]/price-1/http-1", "all*/http-*", "fill/ask-1", "help/tool-1/slot-1/ask-3",
	} {
		expectFound(t, e, scope, "pass", "{prompt: clerk, confined: {source: '"+source+"', roles: [user]}}")
	}
	for _, source := range []string{
		"clerk/look/load", "clerk/look-1/flow-1/laod", "clerk/nonsense", "after/nonsense/x", "clerk/nonsense-1", "clerk/*/lood", "clerk/look-1/http-1", "clerk/round-x", "clerk/round-1/*",
		"after/ask-1", "after/*", "all[2]/nonsense-1", "all[*]/price-1/chat-*", "fill/round-1", "clerk[1]/round-1", "*/lood", "help/tool-1/slot-1/round-3",
	} {
		expectProblem(t, scope, "{prompt: clerk, confined: {source: '"+source+"', roles: [user]}}", "no text comes from")
	}
	expectProblem(t, scope, "{step: clerk/look-1/flow-1/laod, equals: 1}", `did you mean "clerk/look-1/flow-1/load"?`)
	expectProblem(t, scope, "{event: step.failed, step: clerk/nonsense-1, count: 0}", "there are clerk/round-1, clerk/look-1,")
	expectProblem(t, scope, "{event: step.failed, step: 'after[1]', count: 0}", "no step")
}

// A star in a pattern also matches a path in an input that may hold more.
func TestPatternInsideOfInput(t *testing.T) {
	scope := loadScope(t, "inputs: {type: object, properties: {order: {type: object}, name: {type: string}}}\nsteps: [{id: answer, call: chat, with: {user: hello}}]\n")
	for _, source := range []string{"inputs.*town", "inputs.ord*town", "inputs.n*"} {
		if _, problems := tryParse(t, "{prompt: answer, confined: {source: '"+source+"', roles: [user]}}", scope); problems != nil {
			t.Errorf("%s: %v", source, problems)
		}
	}
	expectProblem(t, scope, "{prompt: answer, confined: {source: 'inputs.nam*town', roles: [user]}}", `no input of the flow fits "nam*town"`)
}

// If tools, steps or files are only known when the flow runs, only a name that is nearly a known one is refused.
func TestNamesOnlyKnownInARun(t *testing.T) {
	for name, steps := range map[string]string{
		"flow":  `{id: sub, call: flow, with: {path: "{{ inputs.question }}"}}`,
		"tools": `{id: clerk, call: agent, with: {prompt: go, tools: "{{ inputs.tools }}"}}`,
		"files": `{id: scene, call: context, with: {workspace: "{{ inputs.question }}", current_message: hello}}`,
	} {
		scope := loadScope(t, "inputs: {type: object, properties: {question: {type: string}, tools: {type: object}}}\nsteps:\n  - "+steps+"\n  - {id: answer, call: chat, with: {user: hello}}\n")
		if _, problems := tryParse(t, "{prompt: answer, confined: {source: warehouse, roles: [user]}}", scope); problems != nil {
			t.Errorf("%s: %v", name, problems)
		}
		expectProblem(t, scope, "{prompt: answer, confined: {source: answr, roles: [user]}}", `did you mean "answer"?`)
	}
}

// Tools that are only known in a run are looked at then: below not, a misspelt name is an error and no pass.
func TestMisspeltToolsOfARun(t *testing.T) {
	e := runText(t, `
inputs: {type: object, properties: {name: {type: string}}}
steps:
  - {id: clerk, call: agent, with: {prompt: go, tools: {calls: [{call: template, name: "{{ inputs.name }}", with: {template: hello}}], http: [{name: price, with: {url: "https://api.example.com"}}]}}}
outputs: {x: 1}
`, value.OfMap(value.Pairs("name", "greet")), scripted.Answer{Text: "done"})
	if e.Record.Error != nil {
		t.Fatal(e.Record.Error)
	}
	expectLines(t, e, `
		error {tools: clerk, not: {used: [gret]}}
		error {tools: clerk, not: {args: {gret: {type: object}}}}
		error {tools: clerk, not: {sequence: [gret]}}
		error {tools: clerk, none_of: [prise]}
		fail {tools: clerk, used: [greet]}
		pass {tools: clerk, not: {used: [greet]}}
		pass {tools: clerk, not: {used: [warehouse]}}
		pass {tools: clerk, none_of: [price, warehouse]}
	`)
}

// Under not, and in a share of the tokens, a name that no piece can have would never be noticed: it is reported,
// with the one that was probably meant. Names that occur in the flow or its files, and computed names, are left
// alone.
func TestMisspeltNamesOfPieces(t *testing.T) {
	const source = `
inputs: {type: object, properties: {question: {type: string}, books: {type: array}}}
steps:
  - {id: brief, call: input, with: {config_path: brief.jsonc, user_input: "{{ inputs.question }}"}}
  - {id: scene, call: in-chat, with: {history: [], world_books: BOOKS, presets_in_chat: [{identifier: winter_notice, position: in-chat, role: system, content: Closed.}]}}
  - {id: answer, call: chat, with: {messages: "{{ scene.messages }}"}}
outputs: {x: 1}
-- book.yaml --
entries:
  - {id: keeper, name: The keeper, content: She kept the light.}
  - {id: keepers, name: The keepers, content: They kept the light.}
-- brief.jsonc --
{"context_template": [{"module_name": "memories", "segments": []}], /* The memoriez are gone. */ "settings": {}}
-- a.test.yaml --
cases: [{name: The keper}]
`
	closed := loadScope(t, strings.Replace(source, "BOOKS", "!file book.yaml", 1))
	open := loadScope(t, strings.Replace(source, "BOOKS", `!expr inputs.books`, 1))
	for name, near := range map[string]string{
		"The keper": "The keeper", "winter-notice": "winter_notice", "memoris": "memories", "The keeper": "", "The keepers": "", "keeper": "",
		"winter_notice": "", "memories": "", "memoriez": "", "The k*per": "", "A whale": "", "book.yaml": "", "scene": "",
	} {
		for _, item := range []string{
			"{prompt: answer, not: {includes: {name: " + name + "}}}",
			"{prompt: answer, not: {leaves_out: {kind: world_book, name: " + name + "}}}",
			"{prompt: answer, not: {order: [{name: " + name + "}, {kind: preset}]}}",
			"{prompt: answer, not: {text: hello, comes_from: {name: " + name + "}}}",
			"{prompt: answer, tokens: {of: {name: " + name + "}, max: 10}}",
		} {
			if _, problems := tryParse(t, item, open); problems != nil {
				t.Errorf("%s: %v, where books are given in a run", item, problems)
			}
			_, problems := tryParse(t, item, closed)
			want := `no piece of the prompt can have the name "` + name + `" (did you mean "` + near + `"?)`
			if isWrong := near != ""; isWrong != (problems != nil) || isWrong && !strings.Contains(problems.In("en"), want) {
				t.Errorf("%s: %v", item, problems)
			}
		}
	}
	if _, problems := tryParse(t, "{prompt: answer, includes: {name: The keper}}", closed); problems != nil {
		t.Errorf("a check that would fail by itself: %v", problems)
	}
}

package flow_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/scheduler/flow"
)

func builtinLoader(t *testing.T) *flow.Loader {
	t.Helper()
	registry, err := builtin.Registry()
	if err != nil {
		t.Fatal(err)
	}
	return &flow.Loader{Registry: registry}
}

// unpackHere puts files into a new directory and works there.
func unpackHere(t *testing.T, archive string) (first []byte) {
	t.Helper()
	t.Chdir(t.TempDir())
	a := txtar.Parse([]byte(archive))
	for _, f := range a.Files {
		if err := os.MkdirAll(filepath.Dir(f.Name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(f.Name, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return a.Comment
}

// TestLintBuiltin lints flows with the calls that the program has.
func TestLintBuiltin(t *testing.T) {
	for name, c := range map[string]struct {
		flow string
		want []string
	}{
		"a member that only a parameter gives": {`steps:
  - {id: a, call: chat, with: {user: hi}}
  - {id: b, call: chat, with: {user: hi, response_schema: {type: object, additionalProperties: false, properties: {x: {type: string}}}}}
  - {id: c, call: chat, with: {user: hi, response_schema: !expr inputs.s}}
  - {id: d, call: chat, for_each: [1], with: {user: hi}}
inputs: {properties: {s: {type: object}}}
outputs: {a: "{{ a.json }}", b: "{{ b.json.x }}", b2: "{{ b.json.z }}", c: "{{ c.json.x }}", d: "{{ d[0].json.x }}", e: "{{ a.json | default('') }}"}
`, []string{
			`flow.yaml:7:18: the output of step "a" has no "json" without response_schema (add response_schema to the step a)`,
			`flow.yaml:7:59: b.json has no "z" (it has x)`,
			`flow.yaml:7:101: d[0] has no "json" without response_schema (add response_schema to the step d)`,
		}},
		"the slots of an in-chat": {`steps:
  - {id: ic, call: in-chat, with: {history: []}}
  - {id: p, call: context, with: {current_message: hi, identity: "{{ ic.slots.after_char }}", slots: "{{ ic.slots }}"}}
outputs: {z: "{{ ic.slots.zz }}"}
`, []string{`flow.yaml:4:18: ic.slots has no "zz" (it has after_char, before_char)`}},
		"types of names": {`inputs: {properties: {question: {type: string}}}
steps:
  - {id: a, call: chat, for_each: "{{ question }}", with: {user: hi, max_tokens: "{{ question }}"}}
  - {id: b, call: in-chat, with: {history: "{{ question }}"}}
  - {id: c, call: chat, for_each: [{a: 1, b: "{{ question }}"}, {a: 2}], with: {user: "{{ item.zz }} {{ item.b | default(item.a) }}"}}
  - {id: d, call: chat, for_each: [{a: 1}, "{{ inputs }}"], with: {user: "{{ item.zz }}"}}
  - {id: e, call: http, with: {url: "ftp://x/"}}
  - {id: f, call: http, with: {url: "https://x/{id}?a=b", path: {id: 1}}}
  - {id: g, call: http, with: {url: "{{ question }}/{id}", path: {id: 1}}}
  - {id: h, call: chat, enable_filling: true, with: {}, override_input: {usr: {type: string}, system: {type: string}}}
`, []string{
			`flow.yaml:3:35: for_each wants a list, but question is a text`,
			`flow.yaml:3:82: max_tokens: want number, but question is a text`,
			`flow.yaml:4:44: history: want array or null, but question is a text`,
			`flow.yaml:5:91: item has no "zz" (it has a, b)`,
			`flow.yaml:7:37: url: the url must begin with http:// or https:// and a host`,
			`flow.yaml:10:74: chat has no parameter "usr" (did you mean "user"?)`,
		}},
		"a wrong template": {`steps:
  - id: a
    call: template
    with:
      template: |
        Hello {{ name | uper }}
        and {{ b ! c }}, {{ nmae }}
      values: {name: "{{ inputs.name }}"}
`, []string{
			`flow.yaml:6:25: template: unknown filter 'uper' (did you mean "upper"?)`,
			`flow.yaml:7:18: template: unexpected character '!'`,
			`flow.yaml:7:29: template: no value is given for the name "nmae" (did you mean "name"?)`,
		}},
		"a template from a file": {`steps: [{id: a, call: template, with: {template: !file t.md, values: {name: x}}}]
-- t.md --
Hello
  {{ nam }}
`, []string{`t.md:2:6: template: no value is given for the name "nam" (did you mean "name"?)`}},
		"values that are not known": {`steps: [{id: a, call: template, with: {template: "{{ nam }}{{ x | default(1) }}", values: "{{ inputs.all }}"}}]`, nil},
		"a template of the flow": {`steps: [{id: a, call: chat, with: {user: "{{ a | nosuch }} {{ b }} {{ inputs.x | nope }}"}}]`, []string{
			`flow.yaml:1:50: template: unknown filter 'nosuch'`,
			`flow.yaml:1:63: unknown name "b" (names are the steps a, and inputs, question, conversation, history, summary, facts, vars, run, item, index, error, secrets)`,
			`flow.yaml:1:82: template: unknown filter 'nope'`,
		}},
		"no closing braces": {`steps: [{id: a, call: chat, with: {user: "{{ inputs.x }"}}]`, []string{
			`flow.yaml:1:45: template: }} is missing: the tag is not closed`,
		}},
		"a whole expression":               {`steps: [{id: a, call: template, with: {template: "{{ v }}", values: {v: 1}}}]`, nil},
		"a name of the flow that is given": {`steps: [{id: a, call: template, with: {template: "{{ question }}", values: {question: 1}}}]`, nil},
		"a whole expression of the flow": {`inputs: {type: object, properties: {t: {type: string}}}
steps:
  - {id: a, call: template, with: {template: "{{ inputs.t }}"}}
  - {id: b, call: template, with: {template: "{{ a.text }}", values: "{{ inputs }}"}}
  - {id: c, call: slot, with: {current_schema: "{{ b }}"}}
  - {id: d, call: template, with: {template: !expr "inputs.t"}}
  - {id: e, call: chat, with: {user: x, tools: [{type: function, function: !expr inputs.tool}]}}
`, []string{
			`flow.yaml:5:48: current_schema: want object, got string (current_schema is taken as it is written; to let the flow compute it write current_schema: !expr "b")`,
			`flow.yaml:6:46: template: the text of a template is not computed when the flow runs: what a model, a user or a tool wrote would be read as a template (write the template in the flow, or take it with !file PATH; it sees the names that the step sees, as in {{ inputs.name }})`,
			`flow.yaml:7:82: there is no input "tool" (there are t; declare it under properties of inputs)`,
		}},
		"expressions": {`steps:
  - {id: a, call: chat, when: !expr "question == 'x'", for_each: !expr "[1, 2]", with: {user: !expr "{{ question }}"}}
  - {id: b, call: chat, with: {user: x, extra: !raw {x: !expr a}}}
  - {id: c, call: chat, with: {user: !expr [a]}}
  - {id: d, call: chat, when: !expr "a is defined", with: !expr "{'user': a[0].txt}"}
outputs: {x: !expr "d.text +"}
`, []string{
			`flow.yaml:2:95: !expr wants the expression without {{ and }} (write !expr "question")`,
			`flow.yaml:3:57: !expr cannot stand here: this is data that is known before the run (!expr gives a value under with, when, for_each, outputs and memory, but not inside !raw)`,
			`flow.yaml:4:38: !expr wants an expression as a text, not a list (write !expr "step.text")`,
			`flow.yaml:5:75: a[0] has no "txt" (did you mean "text"?)`,
			`flow.yaml:6:29: template: unexpected the end of the expression: expected an expression`,
		}},
		"raw":    {`steps: [{id: a, call: template, with: {template: !raw "{{ v }}", values: {v: 1}}}]`, nil},
		"filled": {`steps: [{id: a, call: template, enable_filling: true, with: {template: "Hi {{ v }}"}}]`, nil},
		"when": {`steps:
  - {id: a, call: chat, with: {user: x}, when: "inputs.text =="}
  - {id: b, call: chat, with: {user: x}, when: "inputs.text == 1"}
`, []string{
			`flow.yaml:2:48: when must be one {{ expression }}; any other text counts as true (and "inputs.text ==" is not an expression: unexpected the end of the expression: expected an expression)`,
			`flow.yaml:3:48: when must be one {{ expression }}; any other text counts as true (write when: "{{ inputs.text == 1 }}")`,
		}},
		"an alias": {`steps:
  - &x {id: a, call: chat, with: {user: x}}
  - *x
`, []string{`flow.yaml:3:5: duplicate step id "a" (first at flow.yaml:2:13) (ids are unique in a flow)`}},
		"a config file": {`steps:
  - {id: a, call: input, with: {config_path: conf/c.jsonc}}
  - {id: b, call: input, with: {config_path: conf/none.jsonc}}
  - {id: c, call: input, with: {config_path: conf/bad.jsonc}}
  - {id: d, call: input, with: {config_path: conf/none.jsonc, on_invalid: default}}
  - {id: e, call: input, with: {config_path: /nonexistent/c.jsonc}}
-- conf/c.jsonc --
{"context_template": [ // modules
  {"module_name": "a", "importance_func": "is_relevnt",
   "segments": [{"type": "variable", "value": "current_user_inptu"}]}
]}
-- conf/bad.jsonc --
{"context_template": [}
`, []string{
			`flow.yaml:3:46: config_path: there is no file conf/none.jsonc (paths are relative to the flow file)`,
			`flow.yaml:5:46: warning: config_path: there is no file conf/none.jsonc (paths are relative to the flow file)`,
			`flow.yaml:6:46: config_path: there is no file /nonexistent/c.jsonc (paths are relative to the flow file)`,
			`conf/bad.jsonc:1:23: `,
			`conf/c.jsonc:2:43: context_template[0].importance_func: unknown importance function "is_relevnt" (did you mean "is_relevant"?)`,
			`conf/c.jsonc:3:47: context_template[0].segments[0].value: unknown variable "current_user_inptu" (did you mean "current_user_input"?)`,
		}},
		"an OpenAPI document": {`steps:
  - {id: a, call: http, with: {openapi: none.yaml, operation: get}}
  - {id: b, call: http, with: {openapi: sub, operation: get}}
  - {id: c, call: http, with: {openapi: ../up.yaml, operation: get}}
  - {id: d, call: http, with: {openapi: "https://h/api.json", operation: get}}
  - {id: e, call: http, with: {openapi: sub/api.yaml, operation: gte}}
  - {id: f, call: http, with: {openapi: sub/api.yaml, operation: "{{ question }}"}}
  - {id: g, call: http, with: {openapi: sub/api.yaml, operation: GET /x}}
  - {id: h, call: http, with: {openapi: sub/bad.yaml, operation: "{{ question }}"}}
  - {id: i, call: agent, with: {prompt: x, tools: {http: [{name: n, with: {openapi: none.yaml, operation: get}}, {with: {openapi: sub/api.yaml, operation: gte}}, {with: {openapi: sub/api.yaml, operation: get}}, {name: u, with: {url: "http://h/{x}"}}]}}}
  - {id: j, call: input, with: {config_path: sub}}
-- sub/api.yaml --
openapi: 3.0.3
servers: [{url: "https://h"}]
paths: {/x: {get: {operationId: get}}}
-- sub/bad.yaml --
openapi: 3.0.3
paths: [
`, []string{
			`flow.yaml:2:41: openapi: there is no file none.yaml (paths start at the folder of the flow)`,
			`flow.yaml:3:41: openapi: reading sub: open sub: it is not a regular file`,
			`flow.yaml:4:41: openapi: ../up.yaml is outside of the folder of the flow (keep the document beside the flow)`,
			`flow.yaml:5:41: openapi: https://h/api.json is not a file (keep the document beside the flow)`,
			`flow.yaml:6:66: operation: there is no operation "gte" (did you mean "get"?)`,
			`flow.yaml:10:85: tools/http/0/with/openapi: there is no file none.yaml (paths start at the folder of the flow)`,
			`flow.yaml:10:156: tools/http/1/with/operation: there is no operation "gte" (did you mean "get"?)`,
			`flow.yaml:11:46: config_path: sub is not a regular file (name a file)`,
			`sub/bad.yaml:2:8: the [ that opens here is not closed (close it with ])`,
		}},
		"where an operation goes": {`steps:
  - {id: a, call: http, with: {openapi: api.yaml, operation: host}}
  - {id: b, call: http, with: {openapi: api.yaml, operation: host, url: "{{ question }}"}}
  - {id: c, call: http, with: {openapi: api.yaml, operation: port}}
  - {id: d, call: http, with: {openapi: api.yaml, operation: nowhere}}
  - {id: e, call: http, with: {openapi: api.yaml, operation: open}}
  - {id: f, call: http, with: {openapi: api.yaml, operation: open, path: {z: "{{ question }}"}}}
  - {id: g, call: http, with: {openapi: api.yaml, operation: open, path: !expr inputs}}
  - {id: h, call: http, with: {openapi: api.yaml, operation: extra, path: {id: 1, city: x}}}
  - {id: i, call: http, with: {openapi: api.yaml, operation: good, path: {id: 1}}}
-- api.yaml --
openapi: 3.0.3
servers: [{url: "https://h"}]
paths:
  /host: {get: {operationId: host, servers: [{url: "https://{host}/v1", variables: {host: {enum: [a]}}}]}}
  /port: {get: {operationId: port, servers: [{url: "https://h:{port}/v1", variables: {port: {default: 8443}}}]}}
  /nowhere: {get: {operationId: nowhere, servers: [{url: /v1}]}}
  /x/{z}: {get: {operationId: open}}
  /y/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
    get: {operationId: good}
    put: {operationId: extra, parameters: [{name: city, in: path, required: true, schema: {type: string}}]}
`, []string{
			`flow.yaml:2:62: operation: the server https://{host}/v1 of the OpenAPI document has a {name} that no variable with a default fills in (give the server as url)`,
			`flow.yaml:5:62: operation: the OpenAPI document does not say on which server nowhere is (give the server as url)`,
			`flow.yaml:6:62: operation: the path /x/{z} has {z}, and the operation has no parameter of that name (give it under path, or add the parameter to the document)`,
			`flow.yaml:9:62: operation: the operation needs the path parameter "city", and its path /y/{id} has no {city} (mend the document)`,
		}},
		"a config file outside of the folder": {`steps: [{id: a, call: flow, with: {path: flows/f.yaml}}]
-- flows/f.yaml --
steps: [{id: a, call: input, with: {config_path: ../conf.jsonc}}]
-- conf.jsonc --
{"context_template": [{"module_name": "a", "segments": [], "importance_func": "is_relevnt"}]}
`, []string{`conf.jsonc:1:79: context_template[0].importance_func: unknown importance function "is_relevnt" (did you mean "is_relevant"?)`}},
		"messages and their short form": {`steps:
  - {id: a, call: chat, with: {messages: "{{ history }}", system: "{{ question }}"}}
  - {id: b, call: chat, with: {messages: [{role: user, content: x}], user: ""}}
`, []string{
			`flow.yaml:2:67: system: messages and system are two ways to say the same: use one (leave one of the two out)`,
		}},
		"a dollar sign": {`steps:
  - {id: a, call: chat, with: {user: "${{ question }}", system: "costs ${{ question }}", model: "$ {{ question }}"}}
  - {id: b, call: template, with: {template: "${{ x }} for ${{ x }}", values: {x: 1}}}
  - {id: c, call: template, with: {template: "${{ x }}", values: {x: 1}}}
  - {id: d, call: template, with: {template: "${{ x }}", dialect: transformers}}
`, []string{
			`flow.yaml:2:39: ${{ }} keeps the dollar sign: templates are written {{ }} (write {{ question }}, or {{ '$' ~ question }} where the text has a dollar sign)`,
			`flow.yaml:2:72: warning: ${{ }} keeps the dollar sign: templates are written {{ }} (write {{ name }}, or {{ '$' ~ name }} where the text has a dollar sign)`,
			`flow.yaml:3:46: warning: template: ${{ }} keeps the dollar sign: templates are written {{ }} (write {{ name }}, or {{ '$' ~ name }} where the text has a dollar sign)`,
			`flow.yaml:4:46: template: ${{ }} keeps the dollar sign: templates are written {{ }} (write {{ x }}, or {{ '$' ~ x }} where the text has a dollar sign)`,
		}},
		"a character of a secret": {`steps:
  - {id: a, call: chat, when: "{{ secrets.KEY[0] == 's' }}", with: {user: "{{ secrets.KEY }} {{ secrets.KEY[4] }} {{ secrets.KEY[:4] }} {{ secrets.KEY.upper() }}"}}
`, []string{
			`flow.yaml:2:97: warning: secrets.KEY[4] is one character of a secret: a step that is given it fails, for it could not be masked (give the whole secret, or four characters of it or more; to decide by a secret, compare it in a condition)`,
		}},
		"texts that a value never is": {`inputs: {type: object, properties: {mood: {enum: [good, bad]}, other: {type: string}}}
steps:
  - {id: route, call: choice, with: {choices: [{branch: buy, when: true}, {branch: sell, default: true}]}}
  - {id: open, call: choice, with: {choices: [{branch: "{{ inputs.other }}", when: true}, {branch: sell, default: true}]}}
  - {id: args, call: slot, with: {current_schema: {type: object, properties: {size: {type: string, enum: [s, m]}}}}}
  - {id: a, call: chat, when: "{{ route.branch == 'bye' }}", with: {user: x}}
  - {id: b, call: chat, when: "{{ 'x' != route.branch or inputs.mood in ['good', 'sad'] or open.branch == 'x' }}", with: {user: x}}
  - {id: c, call: chat, with: {user: "{% if args.slot_data.size == 'l' %}{{ inputs.other == 'x' }}{% endif %}{{ route.branch | upper == 'BUY' }}"}}
  - {id: d, call: chat, when: "{{ route.branch is eq('by') or route.branch is not in ['buy', 'zzz'] or 'xyz' is eq(route.branch) or route.branch is ne 'buy' }}", with: {user: x}}
`, []string{
			`flow.yaml:6:35: route.branch is never "bye" (it is one of buy, sell)`,
			`flow.yaml:7:42: route.branch is never "x" (it is one of buy, sell)`,
			`flow.yaml:7:58: inputs.mood is never "sad" (did you mean "bad"?)`,
			`flow.yaml:8:45: args.slot_data.size is never "l" (it is one of s, m)`,
			`flow.yaml:9:35: route.branch is never "by" (did you mean "buy"?)`,
			`flow.yaml:9:63: route.branch is never "zzz" (it is one of buy, sell)`,
			`flow.yaml:9:116: route.branch is never "xyz" (it is one of buy, sell)`,
		}},
		"a url without its path": {`steps:
  - {id: a, call: http, with: {url: "https://example.com/users/{id}/x"}}
  - {id: b, call: http, with: {url: "https://example.com/{a}/{b}", path: {a: "{{ question }}"}}}
  - {id: c, call: http, with: {url: "https://example.com/{a}", path: "{{ inputs }}"}}
  - {id: d, call: http, enable_filling: true, with: {url: "https://example.com/{a}"}}
`, []string{
			`flow.yaml:2:64: url: {id} is not filled in: path does not give it (write path: {id: ...}; a brace that the url really has is written %7B)`,
			`flow.yaml:3:62: url: {b} is not filled in: path does not give it (write path: {b: ...}; a brace that the url really has is written %7B)`,
		}},
		"references of another type": {`memory: {user: x}
steps:
  - {id: recall, call: memory-retrieve, with: {current_query: "{{ question }}"}}
  - {id: recent, call: memory-recent}
  - {id: a, call: in-chat, with: {history: "{{ recall.relevant_memories }}"}}
  - {id: b, call: in-chat, with: {history: "{{ recent.turns }}"}}
  - {id: c, call: context, with: {current_message: x, history: "{{ recall.relevant_memories }}", skill_names: "{{ recent.turns }}", memories: "{{ recall.relevant_memories }}"}}
  - {id: d, call: chat, with: {messages: "{{ c.messages }}"}}
`, []string{
			`flow.yaml:5:44: history: want objects with role, but recall.relevant_memories[0] has none (it has memory_id, relevance_score, reason, content, timestamp, snapshot_ids, context, mark)`,
			`flow.yaml:7:64: history: want objects with role, but recall.relevant_memories[0] has none (it has memory_id, relevance_score, reason, content, timestamp, snapshot_ids, context, mark)`,
			`flow.yaml:7:111: skill_names: want string, but recent.turns[0] is an object`,
		}},
		"types beside a wrong schema": {`inputs:
  type: object
  properties:
    n: {type: integer, default: three}
    lost: {$ref: "#/definitions/nosuch"}
    also: {items: {$ref: "#/definitions/other"}}
    bad: {type: sting}
  definitions: {word: {type: string}, broken: {minLength: x}}
steps:
  - {id: a, call: chat, with: {messages: "{{ inputs.n }}", model: "{{ inputs.bad }} {{ inputs.lost.x }}"}}
`, []string{
			`flow.yaml:4:33: inputs/properties/n/default: want integer, got string`,
			`flow.yaml:5:18: inputs/properties/lost/$ref: not a JSON Schema: #/definitions/nosuch not found`,
			`flow.yaml:6:26: inputs/properties/also/items/$ref: not a JSON Schema: #/definitions/other not found`,
			`flow.yaml:7:17: inputs/properties/bad/type: not a JSON Schema: value must be one of "array", "boolean", "integer", "null", "number", "object", "string" (did you mean "string"?)`,
			`flow.yaml:8:59: inputs/definitions/broken/minLength: not a JSON Schema: expected integer, but got string`,
			`flow.yaml:10:42: messages: want array or null, but inputs.n is a number`,
		}},
		"types through operators": {`memory: {user: x}
inputs: {properties: {turns: {type: array, items: {type: object}}, word: {type: string}, many: {}}}
steps:
  - {id: recall, call: memory-retrieve, with: {current_query: "{{ question }}"}}
  - {id: recent, call: memory-recent}
  - {id: a, call: in-chat, with: {history: "{{ recall.relevant_memories | list }}"}}
  - {id: b, call: in-chat, with: {history: "{{ recent.turns + recall.relevant_memories[:3] + [] }}"}}
  - {id: c, call: in-chat, with: {history: "{{ recall.relevant_memories | default([]) }}"}}
  - {id: d, call: in-chat, with: {history: "{{ recall.relevant_memories if recall is defined else [] }}"}}
  - {id: e, call: in-chat, with: {history: "{{ inputs.turns or recall.relevant_memories | selectattr('content') | list }}"}}
  - {id: f, call: in-chat, with: {history: "{{ [inputs.word] + recent.turns }}"}}
  - {id: g, call: chat, with: {user: "{{ inputs.many | list }}"}}
  - {id: h, call: in-chat, with: {history: "{{ recall.relevant_memories if inputs.many is mapping else recent.turns[1:] }}"}}
  - {id: i, call: in-chat, with: {history: "{{ (inputs.many + recent.turns[-5:]) | reverse | list }}"}}
  - {id: j, call: chat, for_each: "{{ recall.relevant_memories[:2] }}", with: {user: "{{ item.content }} {{ item.text }}"}}
`, []string{
			`flow.yaml:6:44: history: want objects with role, but (recall.relevant_memories | list)[0] has none (it has memory_id, relevance_score, reason, content, timestamp, snapshot_ids, context, mark)`,
			`flow.yaml:7:44: history: want objects with role, but (recent.turns + recall.relevant_memories[:3] + [])[0] has none (it has memory_id, relevance_score, reason, content, timestamp, snapshot_ids, context, mark)`,
			`flow.yaml:8:44: history: want objects with role, but (recall.relevant_memories | default([]))[0] has none (it has memory_id, relevance_score, reason, content, timestamp, snapshot_ids, context, mark)`,
			`flow.yaml:9:44: history: want objects with role, but (recall.relevant_memories if recall is defined else [])[0] has none (it has memory_id, relevance_score, reason, content, timestamp, snapshot_ids, context, mark)`,
			`flow.yaml:10:44: history: want objects with role, but (inputs.turns or recall.relevant_memories | selectattr('content') | list)[0] has none (it has memory_id, relevance_score, reason, content, timestamp, snapshot_ids, context, mark)`,
			`flow.yaml:11:44: history: want object, but ([inputs.word] + recent.turns)[0] is a text`,
			`flow.yaml:12:38: user: want string, but (inputs.many | list) is a list`,
			`flow.yaml:15:109: item has no "text" (it has content, context, mark, memory_id, reason, relevance_score, snapshot_ids, timestamp)`,
		}},
		"schemas without a type": {`inputs:
  properties:
    n: {type: integer}
    city: {properties: {name: {type: string}}, additionalProperties: false}
    list: {items: {properties: {a: {type: string}}, additionalProperties: false}}
steps:
  - {id: a, call: chat, with: {messages: "{{ inputs.n }}"}}
  - {id: b, call: chat, for_each: "{{ inputs.city }}", with: {user: "{{ inputs.city.zip }}"}}
  - {id: c, call: chat, for_each: "{{ inputs.list }}", with: {user: "{{ item.b }}"}}
  - {id: d, call: chat, for_each: "{{ inputs.list }}", with: {user: "{{ item.a }} {{ inputs.city.name }} {{ inputs.list[0].a }}"}}
`, []string{
			`flow.yaml:7:42: messages: want array or null, but inputs.n is a number`,
			`flow.yaml:8:35: for_each wants a list, but inputs.city is an object`,
			`flow.yaml:8:73: inputs.city has no "zip" (it has name)`,
			`flow.yaml:9:73: item has no "b" (it has a)`,
		}},
		"defaults that do not fit": {`inputs:
  type: object
  properties:
    n: {type: integer, default: three}
    mode: {enum: [a, b], default: b}
    city: {type: object, default: {}, required: [zip], properties: {zip: {type: string, default: ""}, name: {type: string, default: 5}}}
    area: {type: object, default: {size: 1}, required: [zip], properties: {size: {type: number}}}
    list: {default: [a, 1], items: {$ref: "#/definitions/word"}}
    "x/y z": {$ref: "#/definitions/word", default: 7}
  definitions: {word: {type: string}}
steps:
  - {id: a, call: slot, with: {current_schema: {type: object, properties: {size: {enum: [s, m], default: xl}, day: {type: date, default: soon}, when: {type: date, default: 2026-05-01}}}}}
  - {id: b, call: template, enable_filling: true, override_input: {dialect: {type: string, default: 5}}, with: {template: x}}
  - {id: c, call: chat, with: {user: x, response_schema: {type: object, properties: {n: {type: integer, default: x}}}}}
  - {id: d, call: agent, with: {prompt: x, tools: {calls: [{call: chat, parameters: {properties: {user: {type: string, default: 4}, system: {type: string, default: "{{ question }}"}}}}]}}}
`, []string{
			`flow.yaml:4:33: inputs/properties/n/default: want integer, got string`,
			`flow.yaml:6:133: inputs/properties/city/properties/name/default: want string, got integer`,
			`flow.yaml:7:35: inputs/properties/area/default/zip: the required property "zip" is missing`,
			`flow.yaml:8:25: inputs/properties/list/default/1: want string, got integer`,
			`flow.yaml:9:52: inputs/properties/x~1y z/default: want string, got integer`,
			`flow.yaml:12:106: current_schema/properties/size/default: "xl" is not one of s, m`,
			`flow.yaml:12:138: current_schema/properties/day/default: "soon" does not match the pattern ^\d{4}-\d{2}-\d{2}$`,
			`flow.yaml:13:101: override_input/dialect/default: want string, got integer`,
			`flow.yaml:14:114: warning: response_schema/properties/n/default: want integer, got string`,
			`flow.yaml:15:129: warning: tools/calls/0/parameters/properties/user/default: want string, got integer`,
		}},
		"places in the schema of inputs": {`inputs:
  type: object
  required: question
  properties:
    a: {type: strng}
    b:
      type: object
      properties: {c: {minLength: -1, enum: 5}}
steps: [{id: a, call: chat, with: {user: x}}]
`, []string{
			`flow.yaml:3:13: inputs/required: not a JSON Schema: expected array, but got string`,
			`flow.yaml:5:15: inputs/properties/a/type: not a JSON Schema: value must be one of "array", "boolean", "integer", "null", "number", "object", "string" (did you mean "string"?)`,
			`flow.yaml:8:35: inputs/properties/b/properties/c/minLength: not a JSON Schema: must be >= 0 but found -1`,
			`flow.yaml:8:45: inputs/properties/b/properties/c/enum: not a JSON Schema: expected array, but got number`,
		}},
		"a wrong pattern that only a reference reaches": {`inputs:
  type: object
  properties: {a: {$ref: "#/shared/named"}, b: {type: integer}}
  shared: {named: {patternProperties: {"(?!x)": {type: string}}}}
steps: [{id: a, call: chat, with: {user: x}}]
`, []string{
			`flow.yaml:4:49: inputs/shared/named/patternProperties/(?!x): not a JSON Schema: '(?!x)' is not a regular expression that can be used here (no lookaround, no back references, no repetition of more than 1000)`,
		}},
		"memory without a user": {`steps:
  - {id: a, call: memory-recent}
  - {id: b, call: flow, with: {path: sub.yaml}}
-- sub.yaml --
steps: [{id: a, call: memory-save, with: {content: x}}]
`, []string{
			`flow.yaml:2:19: memory-recent works in the memory of a user, and the flow names none (write memory: {user: "{{ run.user }}"} in the flow)`,
			`sub.yaml:1:23: memory-save works in the memory of a user, and the flow names none (write memory: {user: "{{ run.user }}"} in the flow)`,
		}},
		"memory of a user without a name": {`memory: {user: " "}
steps: [{id: a, call: memory-save, with: {content: x}}]
`, []string{
			`flow.yaml:1:9: memory names no user whose memory it is (write memory: {user: "{{ run.user }}"} in the flow)`,
		}},
		"memory of a session without a user": {`memory: {session: main, sessions: all}
steps: [{id: a, call: chat, with: {user: x}}]
`, []string{
			`flow.yaml:1:9: memory names no user whose memory it is (write memory: {user: "{{ run.user }}"} in the flow)`,
		}},
		"a trigger of another user": {`inputs: {type: object, properties: {who: {type: string, default: ann}, x: {type: string}}}
memory: {user: "{{ inputs.who }}"}
triggers:
  schedules:
    - {id: a, cron: "@daily", user: lin}
    - {id: b, cron: "@daily", user: lin, inputs: {who: lin}}
    - {id: c, cron: "@daily", user: lin, inputs: {who: "{{ schedule.id }}"}}
    - {id: d, cron: "@daily"}
  webhooks: [{id: e, verify: none, user: lin, inputs: {x: y}}, {id: f, verify: none, user: ann}]
steps: [{id: a, call: memory-recent}]
`, []string{
			`flow.yaml:5:7: the runs are bound to the user "lin", and the memory of the flow is that of "ann" (write memory: {user: "{{ run.user }}"} in the flow)`,
			`flow.yaml:9:14: the runs are bound to the user "lin", and the memory of the flow is that of "ann" (write memory: {user: "{{ run.user }}"} in the flow)`,
		}},
		"triggers of the user of the run": {`inputs: {type: object, properties: {who: {type: string, default: ann}}}
memory: {user: "{{ run.user or inputs.who }}"}
triggers: {schedules: [{id: a, cron: "@daily", user: lin}]}
steps: [{id: a, call: memory-recent}]
`, nil},
		"all sessions and others": {`memory: {user: ann, sessions: main}
steps: [{id: a, call: memory-recent}]
`, []string{
			`flow.yaml:1:31: sessions is all, not "main"`,
		}},
		"a flow around that names a user helps none that names nobody": {`memory: {user: ann}
steps: [{id: b, call: flow, with: {path: sub.yaml}}]
-- sub.yaml --
memory: {user: ""}
steps: [{id: a, call: memory-save, with: {content: x}}]
`, []string{
			`sub.yaml:1:9: memory names no user whose memory it is (write memory: {user: "{{ run.user }}"} in the flow)`,
		}},
		"tools of an agent": {`steps:
  - {id: a, call: agent, with: {prompt: x, tools: {calls: [{call: chat}, {call: memory-save}], flows: [{path: sub.yaml}, {path: none.yaml}, {path: flow.yaml, name: again}, {path: "{{ question }}", name: other}]}}}
  - {id: b, call: agent, with: {prompt: x, tools: {flows: [{path: sub.yaml}]}}}
-- sub.yaml --
steps: [{id: a, call: memory-save, with: {content: x, contnt: x}}]
`, []string{
			`flow.yaml:2:81: memory-save works in the memory of a user, and the flow names none (write memory: {user: "{{ run.user }}"} in the flow)`,
			`flow.yaml:2:129: there is no file none.yaml (paths are relative to the flow file)`,
			`sub.yaml:1:23: memory-save works in the memory of a user, and the flow names none (write memory: {user: "{{ run.user }}"} in the flow)`,
			`sub.yaml:1:55: memory-save has no parameter "contnt" (did you mean "content"?)`,
		}},
		"tools of an agent with the memory of its flow": {`memory: {user: ann}
steps: [{id: a, call: agent, with: {prompt: x, tools: {calls: [{call: memory-save}], flows: [{path: sub.yaml}]}}}]
-- sub.yaml --
steps: [{id: a, call: memory-save, with: {content: x}}]
`, []string{
			`sub.yaml:1:23: memory-save works in the memory of a user, and the flow names none (write memory: {user: "{{ run.user }}"} in the flow)`,
		}},
		"unknown keys of a configuration": {`steps:
  - {id: a, call: input, with: {config: {context_template: [{module_name: m, segment: [], segments: [{type: text, value: x}]}]}}}
  - {id: b, call: input, with: {config_path: c.jsonc}}
  - {id: c, call: input, with: {config_path: c.jsonc, strict: true}}
-- c.jsonc --
{"context_template": [{"module_name": "m", "segment": [], // a comment
  "segments": [{"type": "text", "value": "x"}]}]}
`, []string{
			`flow.yaml:2:78: warning: config/context_template/0 of input has no "segment" (did you mean "segments"?)`,
			`c.jsonc:1:55: warning: context_template[0].segment: unknown property "segment" is ignored (did you mean "segments"?)`,
			`c.jsonc:1:55: context_template[0].segment: unknown property "segment" is ignored (did you mean "segments"?)`,
		}},
		"memory of the flow around": {`memory: {user: ann}
steps: [{id: b, call: flow, with: {path: sub.yaml}}]
-- sub.yaml --
steps: [{id: a, call: memory-save, with: {content: x}}]
`, []string{
			`sub.yaml:1:23: memory-save works in the memory of a user, and the flow names none (write memory: {user: "{{ run.user }}"} in the flow)`,
		}},
		"a flow in JSON": {`{ // with a comment
	"inputs": {"type": "object"},
	"steps": [
		{"id": "a", "call": "template", "with": {"template": "\ud83d\ude00 <\/b> {{ x }}", "values": {"x": "\ud83d\ude00 {{ inptus }}", "d": !file d.json}}}
	]
}`, []string{`flow.yaml:4:136: not JSON: invalid character '!' at start of value`}},
		"a place in a flow in JSON": {`{
	"steps": [
		{"id": "a", "call": "template", "with": {"template": "x", "values": {"x": "\ud83d\ude00\/ {{ inptus }}"}}}
	]
}`, []string{`flow.yaml:3:96: unknown name "inptus" (did you mean "inputs"?)`}},
		"comments in a JSON file": {`steps: [{id: a, call: template, with: {template: x, values: !file d.json}}]
-- d.json --
{"a": "\ud83d\ude00", // a comment
}
`, nil},
		"invisible characters": {`name: "we\u202Eather"
description: "two\nlines\tare fine"
inputs: {type: object, properties: {"a\u200B": {}}}
steps:
  - {id: a, name: "\e[31m", call: context, description: "x\ny\u0085", with: {current_message: "\e", skill_names: ["tone\u2066"]}}
outputs: {"r\u009B": 1, 好: 2}
`, []string{
			`flow.yaml:1:7: name "we\u202eather" has the invisible character U+202E (take it out)`,
			`flow.yaml:3:37: the input "a\u200b" has the invisible character U+200B (take it out)`,
			`flow.yaml:5:19: name "\x1b[31m" has the invisible character U+001B (take it out)`,
			`flow.yaml:5:57: description "y\u0085" has the invisible character U+0085 (take it out)`,
			`flow.yaml:5:115: skill_names/0: the name "tone\u2066" has the invisible character U+2066 (take it out)`,
			`flow.yaml:6:11: the output "r\u009b" has the invisible character U+009B (take it out)`,
		}},
		"files that cannot be read": {`inputs: !file a.yaml
steps:
  - {id: b, call: chat, with: {user: !file b.txt}}
  - {id: c, call: template, for_each: !file c.json, with: {template: !file c.txt, values: !raw {x: !file d.json}}}
  - {id: e, call: chat, enable_filling: true, override_input: !file e.json, with: {}}
outputs: !file f.yaml
`, []string{
			`flow.yaml:1:9: there is no file a.yaml (paths are relative to the flow file)`,
			`flow.yaml:3:38: there is no file b.txt (paths are relative to the flow file)`,
			`flow.yaml:4:39: there is no file c.json (paths are relative to the flow file)`,
			`flow.yaml:4:70: there is no file c.txt (paths are relative to the flow file)`,
			`flow.yaml:4:100: there is no file d.json (paths are relative to the flow file)`,
			`flow.yaml:5:63: there is no file e.json (paths are relative to the flow file)`,
			`flow.yaml:6:10: there is no file f.yaml (paths are relative to the flow file)`,
		}},
		"keywords of other drafts": {`inputs: {type: object, properties: {p: {prefixItems: [{type: string}]}, q: {$ref: "#/definitions/q", minLength: 2}}, definitions: {q: {}}}
steps:
  - {id: a, call: chat, with: {user: "{{ inputs.p }}", response_schema: {type: object, dependentRequired: {a: [b]}}}}
  - {id: b, call: slot, with: {current_schema: {type: object, unevaluatedProperties: false}}}
  - {id: c, call: agent, with: {prompt: x, tools: {calls: [{call: chat, parameters: {properties: {user: {minContains: 2}}}}]}}}
  - {id: d, call: chat, enable_filling: true, override_input: {user: {prefixItems: []}}}
  - {id: e, call: slot, with: {current_schema: {$schema: "https://json-schema.org/draft/2020-12/schema", unevaluatedProperties: false}}}
  - {id: f, call: http, enable_filling: true, with: {url: "http://x"}, override_input: {body: {prefixItems: [], requird: [a]}}}
`, []string{
			`flow.yaml:1:41: warning: inputs: draft 7 of JSON Schema has no keyword "prefixItems", it has no effect (write $schema: https://json-schema.org/draft/2020-12/schema at the top of the schema)`,
			`flow.yaml:1:102: warning: inputs: draft 7 of JSON Schema ignores what is beside $ref: "minLength" has no effect (write allOf: [{$ref: ...}] in place of $ref)`,
			`flow.yaml:3:88: warning: response_schema/dependentRequired: draft 7 of JSON Schema has no keyword "dependentRequired", it has no effect (use dependencies)`,
			`flow.yaml:4:63: warning: current_schema/unevaluatedProperties: draft 7 of JSON Schema has no keyword "unevaluatedProperties", it has no effect (write $schema: https://json-schema.org/draft/2020-12/schema at the top of the schema)`,
			`flow.yaml:5:106: warning: tools/calls/0/parameters/properties/user/minContains: draft 7 of JSON Schema has no keyword "minContains", it has no effect (write $schema: https://json-schema.org/draft/2020-12/schema at the top of the schema)`,
			`flow.yaml:6:71: warning: override_input/user: draft 7 of JSON Schema has no keyword "prefixItems", it has no effect (use items: [...])`,
			`flow.yaml:8:96: warning: override_input/body: draft 7 of JSON Schema has no keyword "prefixItems", it has no effect (use items: [...])`,
			`flow.yaml:8:113: warning: override_input/body: JSON Schema has no keyword "requird", it has no effect (did you mean "required"?)`,
		}},
		"wrong schemas": {`inputs: {type: object, properties: {p: {$ref: "#/definitions/lost"}}}
steps:
  - {id: a, call: chat, with: {user: "{{ inputs.p }}", response_schema: {type: object, properties: {a: {type: strin}}}}}
  - {id: b, call: chat, with: {user: x, response_schema: {$ref: "#/x"}}}
  - {id: c, call: slot, with: {current_schema: {type: object, minProperties: "1"}}}
  - {id: d, call: agent, with: {prompt: x, tools: {calls: [{call: chat, parameters: {properties: {user: {maxLength: -1}}}}]}}}
`, []string{
			`flow.yaml:1:47: inputs/properties/p/$ref: not a JSON Schema: #/definitions/lost not found`,
			`flow.yaml:3:111: response_schema/properties/a/type: not a JSON Schema: value must be one of "array", "boolean", "integer", "null", "number", "object", "string" (did you mean "string"?)`,
			`flow.yaml:4:65: response_schema/$ref: not a JSON Schema: #/x not found`,
			`flow.yaml:5:78: current_schema/minProperties: not a JSON Schema: expected integer, but got string`,
			`flow.yaml:6:117: tools/calls/0/parameters/properties/user/maxLength: not a JSON Schema: must be >= 0 but found -1`,
		}},
		"schemas that have values of the run": {`inputs: {type: object, properties: {t: {type: array}, n: {type: integer}}}
steps:
  - {id: a, call: slot, with: {current_schema: {type: object, properties: {x: {type: string, enum: !expr inputs.t}, y: {type: integer, default: !expr inputs.n, maximum: x}}}}}
  - {id: b, call: chat, with: {user: x, response_schema: {type: !expr inputs.t, minProperties: !expr inputs.n, maxProperties: -1}}}
  - {id: c, call: agent, with: {prompt: x, tools: {calls: [{call: chat, parameters: {properties: {user: {type: string, default: null, maxLength: -1}}}}]}}}
  - {id: d, call: slot, with: {current_schema: {type: object, properties: {x: {enum: null}}}}}
`, []string{
			`flow.yaml:3:170: current_schema/properties/y/maximum: not a JSON Schema: expected number, but got string`,
			`flow.yaml:4:127: response_schema/maxProperties: not a JSON Schema: must be >= 0 but found -1`,
			`flow.yaml:5:146: tools/calls/0/parameters/properties/user/maxLength: not a JSON Schema: must be >= 0 but found -1`,
			`flow.yaml:6:31: slot: current_schema: not a JSON Schema: "/properties/x/enum": expected array, but got null`,
		}},
		"a workspace": {`steps:
  - {id: a, call: context, with: {workspace: desk, current_message: hi}}
  - {id: b, call: context, with: {workspace: desk2, current_message: hi}}
  - {id: c, call: context, with: {workspace: "~/nonexistent", current_message: hi}}
-- desk/AGENTS.md --
`, []string{`flow.yaml:3:46: warning: workspace: there is no directory desk2 (paths are relative to the flow file)`}},
		"paths that are not of directories or files": {`steps:
  - {id: a, call: context, with: {workspace: desk/AGENTS.md, builtin_skills: none, current_message: hi}}
  - {id: b, call: context, with: {workspace: desk, bootstrap_files: [AGENTS.md, notes, absent], media: [notes, a.png], current_message: hi}}
  - {id: c, call: agent, with: {workspace: desk/AGENTS.md, builtin_skills: desk, prompt: hi}}
  - {id: d, call: context, with: {workspace: odd, current_message: hi}}
  - {id: e, call: context, with: {workspace: odd, bootstrap_files: [], current_message: hi}}
-- desk/AGENTS.md --
-- desk/notes/a --
-- odd/AGENTS.md/a --
`, []string{
			`flow.yaml:2:46: warning: workspace: desk/AGENTS.md is not a directory (name a directory)`,
			`flow.yaml:2:78: warning: builtin_skills: there is no directory none (paths are relative to the flow file)`,
			`flow.yaml:3:81: warning: bootstrap_files/1: notes is not a regular file (name a file)`,
			`flow.yaml:3:105: warning: media/0: notes is not a regular file (name a file)`,
			`flow.yaml:4:44: workspace: desk/AGENTS.md is not a directory (name a directory)`,
			`flow.yaml:5:46: warning: workspace: AGENTS.md is not a regular file (name a file)`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			src := unpackHere(t, c.flow)
			_, problems := builtinLoader(t).Parse("flow.yaml", src)
			var got []string
			for i, p := range problems {
				text := p.String()
				if i < len(c.want) && strings.HasSuffix(c.want[i], ": ") && strings.HasPrefix(text, c.want[i]) {
					text = c.want[i]
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLanguages(t *testing.T) {
	loader := builtinLoader(t)
	parse := func(language string) string {
		_, problems := loader.Parse("flow.yaml", []byte("language: "+language+"\nsteps: [{id: a, call: chat, with: {user: x}}]"))
		return problems.Error()
	}
	if got := parse("xx"); got != "" {
		t.Errorf("not checked: %s", got)
	}
	if got := loader.LintLanguages(); len(got) > 0 {
		t.Errorf("there is no directory: %s", got)
	}
	loader.Languages = &flow.Languages{Dir: "langs", Files: fstest.MapFS{"fr": {Mode: fs.ModeDir}}}
	for _, language := range []string{"zh", "en", "zh-CN", "en_US", "fr"} {
		if got := parse(language); got != "" {
			t.Errorf("%s: %s", language, got)
		}
	}
	if got, want := parse("zh-TW"), `flow.yaml:1:11: 警告：语言 "zh-TW" 的文本是简体中文（请写 zh，或把自己的文本放到 langs/zh-TW）`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := parse("xx"), `flow.yaml:1:11: there is no language "xx" (there are zh, en, fr; put the texts of another one into langs/xx)`; got != want {
		t.Errorf("got %s", got)
	}
}

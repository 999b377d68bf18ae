package agent

import (
	"testing"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// request is the schema of an operation with an argument in each place, id in two of them.
const request = `
type: object
required: [path, body]
properties:
  path: {type: object, required: [id], properties: {id: {type: string}}}
  query: {type: object, properties: {tag: {type: array}, key: {type: string}, note: {type: [string, "null"]}}}
  headers: {type: object, properties: {X-Tenant: {type: string}, Idempotency-Key: {type: string}}}
  body: {allOf: [{$ref: "#/definitions/Order"}], description: What to order.}
definitions:
  Order: {type: object, required: [id, amount], properties: {id: {type: integer}, amount: {$ref: "#/definitions/Amount"}, shop: {type: string}}}
  Amount: {type: number}
`

func flatTool(t *testing.T, whole, plan string) (tool, error) {
	t.Helper()
	p := toolPlan{call: callHTTP}
	text := parseText(t, plan)
	if with, _ := text.Get("with"); with.Kind() == value.Object {
		p.with = with.Map()
	}
	if parameters, has := text.Get("parameters"); has {
		p.parameters = parameters.Map()
	}
	made := tool{name: "t"}
	err := p.takeFlat(parseText(t, whole), &made)
	return made, err
}

func parseText(t *testing.T, text string) value.Value {
	t.Helper()
	v, err := yaml.ParseValue([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestFlatSchema: the model sees each argument by its name, without the fixed ones.
func TestFlatSchema(t *testing.T) {
	for _, c := range []struct{ whole, plan, want string }{
		{request, "with: {idempotency_header: Idempotency-Key, query: {key: k}, headers: {x-tenant: a}, body: {shop: s}}",
			`{"type":"object","properties":{"path_id":{"type":"string"},"tag":{"type":"array"},"note":{"type":["string","null"]},"body_id":{"type":"integer"},"amount":{"$ref":"#/definitions/Amount"}},"required":["path_id","body_id","amount"],"additionalProperties":false,"definitions":{"Amount":{"type":"number"}}}`},
		{request, "with: {path: {id: a}, query: {key: k, tag: [], note: x}, headers: {X-Tenant: a, idempotency-key: k}, body: {shop: s}}",
			`{"type":"object","properties":{"id":{"type":"integer"},"amount":{"$ref":"#/definitions/Amount"}},"required":["id","amount"],"additionalProperties":false,"definitions":{"Amount":{"type":"number"}}}`},
		{"{type: object, required: [body], properties: {body: {type: array}}}", "{}",
			`{"type":"object","properties":{"body":{"type":"array"}},"required":["body"],"additionalProperties":false}`},
		{"{type: object, properties: {query: {type: object, properties: {body: {type: string}}}, body: {oneOf: [{type: string}]}}}", "{}",
			`{"type":"object","properties":{"query_body":{"type":"string"},"body":{"oneOf":[{"type":"string"}]}},"additionalProperties":false}`},
		{"{type: object, properties: {body: {type: object, properties: {a: {}}, additionalProperties: {type: string}}}}", "{}",
			`{"type":"object","properties":{"body":{"type":"object","properties":{"a":{}},"additionalProperties":{"type":"string"}}},"additionalProperties":false}`},
		{"{type: object, required: [body], properties: {body: {allOf: [{$ref: '#/definitions/Order'}, {type: object, required: [by], properties: {by: {type: string}, amount: {minimum: 1}}}], properties: {gift: {type: boolean}}}}, definitions: {Order: {allOf: [{type: object, required: [id], properties: {id: {type: integer}}}, {type: object, properties: {amount: {type: number}}}]}}}", "with: {body: {gift: true}}",
			`{"type":"object","properties":{"id":{"type":"integer"},"amount":{"allOf":[{"type":"number"},{"minimum":1}]},"by":{"type":"string"}},"required":["id","by"],"additionalProperties":false}`},
		{"{type: object, properties: {body: {allOf: [{type: object, properties: {a: {}}, additionalProperties: false}, {type: object, properties: {b: {}}}]}}}", "{}",
			`{"type":"object","properties":{"body":{"allOf":[{"type":"object","properties":{"a":{}},"additionalProperties":false},{"type":"object","properties":{"b":{}}}]}},"additionalProperties":false}`},
		{"{type: object, properties: {path: {type: object}, query: {type: object}, headers: {type: object}, body: {}}}", "with: {url: 'https://h/{shop}/{id}', path: {shop: s}, body: null}",
			`{"type":"object","properties":{"id":{"type":"string"},"query":{"type":"object"}},"required":["id"],"additionalProperties":false}`},
	} {
		made, err := flatTool(t, c.whole, c.plan)
		if err != nil {
			t.Errorf("%s: %v", c.plan, err)
			continue
		}
		got := schema.WithoutDraft(made.parameters.Doc()).JSON()
		if got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.plan, got, c.want)
		}
	}
}

// TestFlatArguments: each argument goes to its place; null leaves an optional one out; problems name the argument.
func TestFlatArguments(t *testing.T) {
	const optional = "{type: object, properties: {query: {type: object, properties: {q: {}}}, body: {type: object, required: [amount], properties: {amount: {type: number}, reason: {type: string}}}}}"
	const open = "{type: object, properties: {path: {type: object}, query: {type: object}, headers: {type: object}, body: {}}}"
	const clash = "{type: object, properties: {query: {type: object, properties: {id: {}}}, body: {type: object, required: [id], properties: {id: {}, reason: {}}}}}"
	for _, c := range []struct{ whole, plan, arguments, want string }{
		{request, "{}", `{"path_id": "a", "body_id": 1, "amount": 2, "tag": null, "note": null, "shop": null, "X-Tenant": "t"}`,
			`{"path":{"id":"a"},"body":{"id":1,"amount":2},"query":{"note":null},"headers":{"X-Tenant":"t"}}`},
		{request, "{}", `{"path_id": "a", "body_id": "x", "amount": null}`, `/amount: the required property "amount" is missing; /body_id: want integer, got string`},
		{request, "{}", `{"path": {"id": "a"}, "body_id": 1, "amount": 2}`, `/path: unknown property "path"; /path_id: the required property "path_id" is missing`},
		{optional, "{}", `{"q": 1}`, `{"query":{"q":1}}`},
		{optional, "{}", `{"q": 1, "reason": "x"}`, `/amount: the required property "amount" is missing`},
		{clash, "{}", `{"reason": "x"}`, `/body_id: the required property "body_id" is missing`},
		{optional, "with: {body: {reason: x}}", `{}`, `/amount: the required property "amount" is missing`},
		{request, "parameters: {required: [amount], properties: {amount: {type: integer}, path_id: {type: string}}}", `{"amount": 1, "path_id": "a"}`, `{"path":{"id":"a"},"body":{"amount":1}}`},
		{request, "parameters: {properties: {query: {type: object, properties: {tag: {type: string}}}, body: {}}}", `{"query": {"tag": null}, "body": "x"}`, `{"query":{},"body":"x"}`},
		{request, "{with: {operation: x}, parameters: {properties: {amont: {}}}}", `{}`, `parameters: the operation has no argument "amont" for the model`},
		{open, "{with: {url: 'http://h/{id}'}, parameters: {properties: {id: {type: integer}, bread: {}}}}", `{"id": 1, "bread": "rye"}`, `{"path":{"id":1},"query":{"bread":"rye"}}`},
		{open, "{with: {url: 'http://h'}, parameters: {properties: {query: {type: string}, limit: {type: integer}}}}", `{"query": "cats", "limit": 3}`, `{"query":{"query":"cats","limit":3}}`},
		{open, "{with: {url: 'http://h'}, parameters: {properties: {query: {type: string}}}}", `{"query": "cats"}`, `{"query":{"query":"cats"}}`},
		{open, "{with: {url: 'http://h', method: POST}, parameters: {properties: {title: {type: string}, body: {type: string}}}}", `{"title": "t", "body": "b"}`, `{"body":{"title":"t","body":"b"}}`},
		{open, "{with: {url: 'http://h', method: POST}, parameters: {properties: {bread: {}, query: {type: object}}}}", `{"bread": "rye", "query": {"a": 1}}`, `{"body":{"bread":"rye"},"query":{"a":1}}`},
		{"{type: object, properties: {body: {type: object, properties: {body: {type: string}}}}}", "parameters: {properties: {body: {type: string}}}", `{"body": "x"}`, `{"body":{"body":"x"}}`},
	} {
		made, err := flatTool(t, c.whole, c.plan)
		got := ""
		if err == nil {
			arguments, problems := made.checkArguments(parseText(t, c.arguments))
			got = arguments.JSON()
			if problems != nil {
				got = problems.Error()
			}
		} else {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s %s\ngot  %s\nwant %s", c.plan, c.arguments, got, c.want)
		}
	}
}

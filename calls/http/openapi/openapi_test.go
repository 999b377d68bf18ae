package openapi_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls/http/openapi"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
)

const shop = `openapi: 3.0.3
servers: [{url: "https://{region}.example.com/v{n}", variables: {region: {default: eu}, n: {default: 2}}}]
paths:
  /broken: {$ref: other.yaml#/x}
  /orders/{id}:
    parameters:
      - {$ref: "#/components/parameters/Id"}
      - {name: trace, in: query, schema: {type: string}}
    get:
      operationId: getOrder
      description: One order.
      parameters:
        - {name: trace, in: query, required: true, description: Follow it., schema: {type: boolean}}
        - {name: Accept, in: header, schema: {type: string}}
        - {name: X-Tenant, in: header, required: true, schema: {$ref: "#/components/schemas/Tenant"}, description: Whose order.}
        - {name: sid, in: cookie, required: true, schema: {type: string}}
        - {name: theme, in: cookie, schema: {type: string}}
        - {name: filter, in: query, style: deepObject, schema: {type: object}}
        - {name: where, in: query, content: {application/json: {schema: {type: object}}}}
    put:
      servers: [{url: /relative}]
      requestBody: {$ref: "#/components/requestBodies/Order"}
    post:
      operationId: form
      requestBody: {content: {multipart/form-data: {}, application/x-www-form-urlencoded: {schema: {type: object}}}}
    patch:
      operationId: any
      requestBody: {content: {"*/*": {schema: true}}}
    delete:
      operationId: upload
      requestBody: {required: true, content: {application/zip: {}}}
    head:
      operationId: maybeUpload
      requestBody: {content: {application/zip: {}}}
components:
  parameters:
    Id: {name: id, in: path, required: true, schema: {type: integer, minimum: 1, exclusiveMinimum: true}}
  requestBodies:
    Order: {required: true, description: The order., content: {application/json: {schema: {$ref: "#/components/schemas/Order"}}}}
  schemas:
    Tenant: {type: string, minLength: 2, example: ab}
    Order:
      type: object
      required: [id, item, parent]
      properties:
        id: {type: integer, readOnly: true}
        item: {type: string, nullable: true, enum: [a, b]}
        price: {type: number, maximum: 9, exclusiveMaximum: false}
        parent: {$ref: "#/components/schemas/Order"}
        tags: {type: array, items: {$ref: "#/components/schemas/Tenant"}}
        any: {anyOf: [{$ref: "#/components/schemas/Tenant"}, {type: integer}]}
        map: {type: object, additionalProperties: {type: string, nullable: true}}
`

func parse(t *testing.T, text string) value.Value {
	t.Helper()
	doc, err := yaml.ParseValue([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func find(t *testing.T, text, name string) *openapi.Operation {
	t.Helper()
	op, err := openapi.Find(parse(t, text), name)
	if err != nil {
		t.Fatal(err)
	}
	return op
}

func TestParameters(t *testing.T) {
	op := find(t, shop, "getOrder")
	if op.Method != http.MethodGet || op.Path != "/orders/{id}" || op.Server != "https://eu.example.com/v2" || op.Summary != "" || op.Description != "One order." || op.Body != nil {
		t.Errorf("got %+v", op)
	}
	if diff := cmp.Diff([]string{"sid"}, op.Cookies); diff != "" {
		t.Error(diff)
	}
	const want = `{"type":"object","properties":{` +
		`"path":{"type":"object","description":"Values of the placeholders in the path.","properties":{"id":{"type":"integer","exclusiveMinimum":1}},"required":["id"]},` +
		`"query":{"type":"object","description":"Parameters of the query.","properties":{"trace":{"type":"boolean","description":"Follow it."},"filter":{"type":"object"},"where":{"type":"object"}},"required":["trace"]},` +
		`"headers":{"type":"object","description":"Headers of the request.","properties":{"X-Tenant":{"allOf":[{"$ref":"#/definitions/Tenant"}],"description":"Whose order."}},"required":["X-Tenant"]}},` +
		`"required":["path","query","headers"],"definitions":{"Tenant":{"type":"string","minLength":2}}}`
	if diff := cmp.Diff(want, op.Arguments().JSON()); diff != "" {
		t.Error(diff)
	}
	for _, p := range op.Parameters {
		switch p.Name {
		case "filter":
			if p.Style != "deepObject" || !p.Explode {
				t.Errorf("got %+v", p)
			}
		case "where":
			if !p.JSON {
				t.Errorf("got %+v", p)
			}
		}
	}
}

func TestBody(t *testing.T) {
	op := find(t, shop, "PUT /orders/{id}")
	if op.Server != "/relative" || op.Body == nil || !op.Body.Required || op.Body.ContentType != "application/json" {
		t.Fatalf("got %+v", op)
	}
	s, err := schema.Parse(op.Arguments())
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]string{
		`{"item":"a","parent":{"item":null,"parent":true}}`: "/body/parent/parent: want object, got boolean",
		`{"item":"c","parent":{}}`:                          "/body/item",
		`{"item":"a"}`:                                      "/body/parent",
		`{"item":"a","parent":{"item":"b","parent":{}},"tags":["x"],"any":true,"price":9}`: "/body/tags/0",
	} {
		problems := s.Check(parse(t, `{"path":{"id":2},"body":`+body+`}`))
		if problems == nil || !strings.Contains(problems.Error(), want) {
			t.Errorf("%s: %v, want %s", body, problems, want)
		}
	}
	for name, want := range map[string]string{"form": "application/x-www-form-urlencoded", "any": "application/json"} {
		if op := find(t, shop, name); op.Body == nil || op.Body.ContentType != want {
			t.Errorf("%s: %+v", name, op.Body)
		}
	}
	if op := find(t, shop, "maybeUpload"); op.Body != nil {
		t.Errorf("got %+v", op.Body)
	}
}

// TestSwagger: a document of Swagger 2.0 is read with its meaning in OpenAPI 3.
func TestSwagger(t *testing.T) {
	const head = "swagger: '2.0'\ninfo: {title: pets, version: '1'}\n"
	const doc = head + `
host: api.example.com
basePath: /v2
schemes: [https, http]
consumes: [application/json]
parameters: {Id: {name: id, in: path, required: true, type: string}}
definitions: {Pet: {type: object, required: [name], properties: {name: {type: string}, friend: {$ref: '#/definitions/Pet'}}}}
paths:
  /pets/{id}:
    parameters: [{$ref: '#/parameters/Id'}]
    get:
      operationId: getPet
      parameters:
        - {name: tags, in: query, type: array, items: {type: string}}
        - {name: kinds, in: query, type: array, items: {type: string}, collectionFormat: multi}
        - {name: n, in: query, type: integer, minimum: 1}
        - {name: tabs, in: query, type: array, items: {type: string}, collectionFormat: tsv}
        - {name: bars, in: query, type: array, items: {type: string}, collectionFormat: pipes}
        - {name: X-Bars, in: header, type: array, items: {type: string}, collectionFormat: pipes}
    put: {operationId: putPet, parameters: [{name: body, in: body, required: true, schema: {$ref: '#/definitions/Pet'}}]}
    post:
      operationId: upload
      consumes: [multipart/form-data]
      parameters: [{name: photo, in: formData, type: file, required: true}, {name: note, in: formData, type: string}]
`
	op := find(t, doc, "getPet")
	if op.Server != "https://api.example.com/v2" || op.Path != "/pets/{id}" {
		t.Errorf("it goes to %s%s", op.Server, op.Path)
	}
	var got []string
	for _, p := range op.Parameters {
		got = append(got, fmt.Sprint(p.In, " ", p.Name, " ", p.Required, " ", p.Style, " ", p.Explode, " ", p.Schema.JSON()))
	}
	want := []string{
		`path id true simple false {"type":"string"}`,
		`query tags false form false {"type":"array","items":{"type":"string"}}`,
		`query kinds false form true {"type":"array","items":{"type":"string"}}`,
		`query n false form true {"type":"integer","minimum":1}`,
		`query bars false pipeDelimited false {"type":"array","items":{"type":"string"}}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var refused []string
	for _, r := range op.Refused {
		refused = append(refused, fmt.Sprint(r.In, " ", r.Name, ": ", r.Err))
	}
	want = []string{
		`query tabs: parameter 3: tabs has the collectionFormat "tsv", which is not supported`,
		`header X-Bars: parameter 5: X-Bars has the collectionFormat "pipes", which is not supported`,
	}
	if diff := cmp.Diff(want, refused); diff != "" {
		t.Error(diff)
	}
	if body := find(t, doc, "putPet").Body; body == nil || !body.Required || body.ContentType != "application/json" {
		t.Errorf("the body of putPet is %+v", body)
	}
	body := find(t, doc, "upload").Body
	if body == nil || body.ContentType != "multipart/form-data" || !slices.Equal(body.Files, []string{"photo"}) {
		t.Errorf("the body of upload is %+v", body)
	}
	if op := find(t, head+"basePath: /v2\npaths: {/x: {get: {operationId: x}}}", "x"); op.Server != "/v2" {
		t.Errorf("without a host it goes to %q", op.Server)
	}
}

// TestKeywordsOfSwagger: a keyword of a wrong type refuses the parameter, or the body, that uses it, and nothing else of the document.
func TestKeywordsOfSwagger(t *testing.T) {
	const doc = `
swagger: 2.0
info: {title: pets, version: "1"}
host: api.example.com
parameters: {Shared: {name: shared, in: query, type: string, maxLength: long}}
responses: {Odd: {description: odd, schema: {type: object, required: yes}}}
definitions:
  Good: {type: object, properties: {name: {type: string, minLength: 1.0}, friend: {$ref: '#/definitions/Good'}}}
  Bad: {type: object, properties: {name: {type: string, required: true}}}
  Deep: {allOf: [{$ref: '#/definitions/Good'}, {properties: {list: {type: array, items: {minimum: low}}, more: {additionalProperties: {enum: 3}}}}]}
paths:
  /pets:
    parameters: [{$ref: '#/parameters/Shared'}]
    get:
      operationId: list
      parameters:
        - {name: limit, in: query, type: integer, maximum: "10"}
        - {name: q, in: query, type: string}
        - {name: items, in: query, type: array, items: {type: string, pattern: 3}}
        - {name: X-Odd, in: header, type: string, required: "yes"}
      responses: {"200": {description: ok, schema: {properties: {a: {maxItems: many}}}, headers: {X-Left: {type: integer, minimum: low}}}}
    post: {operationId: good, parameters: [{name: body, in: body, schema: {$ref: '#/definitions/Good'}}], responses: {"200": {description: ok, schema: {$ref: '#/definitions/Bad'}}}}
    put: {operationId: bad, parameters: [{name: body, in: body, required: true, schema: {$ref: '#/definitions/Bad'}}]}
    patch: {operationId: deep, parameters: [{name: body, in: body, schema: {$ref: '#/definitions/Deep'}}]}
    delete: {operationId: none, parameters: [{name: body, in: body, schema: any}]}
    options:
      operationId: form
      consumes: [application/x-www-form-urlencoded]
      parameters: [{name: a, in: formData, type: integer, minimum: low}, {name: b, in: formData, type: string}]
`
	got := map[string][]string{}
	for _, id := range []string{"list", "good", "bad", "deep", "none", "form"} {
		op := find(t, doc, id)
		for _, p := range op.Parameters {
			got[id] = append(got[id], p.Name)
		}
		if op.Body != nil {
			got[id] = append(got[id], "body")
		}
		for _, r := range op.Refused {
			got[id] = append(got[id], r.Err.Error())
		}
	}
	const shared = `parameter 0: shared: not a JSON Schema: "/maxLength": expected integer, but got string`
	want := map[string][]string{
		"list": {
			"q", "X-Odd", shared, `parameter 0: limit: not a JSON Schema: "/maximum": expected number, but got string`,
			`parameter 2: items: not a JSON Schema: "/items/pattern": expected string, but got number`,
		},
		"good": {"body", shared},
		"bad":  {shared, `the body: not a JSON Schema: "/definitions/Bad/properties/name/required": expected array, but got boolean`},
		"deep": {
			shared, `the body: not a JSON Schema: "/definitions/Deep/allOf/1/properties/list/items/minimum": expected number, but got string; ` +
				`"/definitions/Deep/allOf/1/properties/more/additionalProperties/enum": expected array, but got number`,
		},
		"none": {shared, `the body: a schema is of type string`},
		"form": {shared, `the body: not a JSON Schema: "/properties/a/minimum": expected number, but got string`},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestBodiesOfSwagger: the parts of an operation's body in Swagger 2.0, and the form in which it is sent.
func TestBodiesOfSwagger(t *testing.T) {
	const name = "{name: name, in: body, required: true, schema: {type: string, x-nullable: true}}"
	list := func(format string) string {
		return "{name: l, in: formData, type: array, items: {type: string}, collectionFormat: " + format + "}"
	}
	for _, c := range []struct{ consumes, ofPath, parameters, want string }{
		{"", "", name, `application/json true {"type":["string","null"]}`},
		{"[application/xml, text/json]", "", name, `text/json true {"type":["string","null"]}`},
		{"application/merge-patch+json", "", name, `application/merge-patch+json true {"type":["string","null"]}`},
		{"[3]", "", name, `the body: consumes cannot be [3] true`},
		{"[image/png]", "", name, `the body: none of the kinds image/png can be sent true`},
		{"", name, "{name: other, in: body, schema: {$ref: '#/definitions/D'}}", `application/json false {"$ref":"#/definitions/D"}`},
		{"", "", "{$ref: '#/parameters/Body'}", `application/json false {"type":"object"}`},
		{"", "", name + ", {name: other, in: body, schema: {}}", `the body: it has more than one body, or a body beside a form true`},
		{"", "", name + ", {name: a, in: formData, type: string}", `the body: it has more than one body, or a body beside a form true`},
		{"", "", "{name: b, in: body, schema: {$ref: 'pet.json'}}", `the body: the reference "pet.json" is not read: it must name a file beside the document or below, in JSON or YAML false`},
		{"[application/json]", "", "{name: a, in: formData, type: string, required: true}, {name: b, in: formData, type: integer, description: how many}",
			`application/x-www-form-urlencoded true {"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer","description":"how many"}},"required":["a"]}`},
		{"[multipart/form-data, application/json]", "", "{name: a, in: formData, type: string}", `multipart/form-data false {"type":"object","properties":{"a":{"type":"string"}},"required":[]}`},
		{"[application/x-www-form-urlencoded]", "", "{name: f, in: formData, type: file}", `multipart/form-data false {"type":"object","properties":{"f":{"type":"string","format":"binary"}},"required":[]} files [f]`},
		{"", "{name: a, in: formData, type: string}", "{name: a, in: formData, type: integer}", `application/x-www-form-urlencoded false {"type":"object","properties":{"a":{"type":"integer"}},"required":[]}`},
		{"", "", list("''"), `application/x-www-form-urlencoded false {"type":"object","properties":{"l":{"type":"array","items":{"type":"string"}}},"required":[]} l form false`},
		{"", "", list("pipes"), `application/x-www-form-urlencoded false {"type":"object","properties":{"l":{"type":"array","items":{"type":"string"}}},"required":[]} l pipeDelimited false`},
		{"", "", list("multi"), `application/x-www-form-urlencoded false {"type":"object","properties":{"l":{"type":"array","items":{"type":"string"}}},"required":[]}`},
		{"", "", list("tsv"), `the body: l has the collectionFormat "tsv", which is not supported false`},
	} {
		op := find(t, "swagger: '2.0'\nhost: example.com\nschemes: [wss, http]\ndefinitions: {D: {type: integer}, X: null}\n"+
			"parameters: {Body: {name: b, in: body, schema: {type: object}}}\npaths:\n  /x:\n    parameters: ["+c.ofPath+"]\n"+
			"    post:\n      operationId: x\n      consumes: "+c.consumes+"\n      parameters: ["+c.parameters+"]\n", "x")
		got := ""
		if b := op.Body; b != nil {
			got = fmt.Sprint(b.ContentType, " ", b.Required, " ", b.Schema.JSON())
			if b.Files != nil {
				got += fmt.Sprint(" files ", b.Files)
			}
			for _, style := range b.Styles {
				got += fmt.Sprint(" ", style.Name, " ", style.Style, " ", style.Explode)
			}
		}
		for _, r := range op.Refused {
			got += fmt.Sprint(r.Err, " ", r.Required)
		}
		if got != c.want || op.Server != "http://example.com" {
			t.Errorf("%+v: got %s at %s", c, got, op.Server)
		}
	}
}

func TestErrors(t *testing.T) {
	param := func(p string) string {
		return "openapi: 3.1.0\npaths: {/x: {get: {operationId: x, parameters: [" + p + "]}}}"
	}
	for name, c := range map[string]struct{ doc, id, want string }{
		"old":           {`swagger: "1.2"`, "x", "convert it"},
		"no document":   {`{a: 1}`, "x", "not an OpenAPI 3 document"},
		"no object":     {`[]`, "x", "not an OpenAPI 3 document"},
		"no operation":  {"openapi: 3.1.0", "x", "the document has none"},
		"near":          {shop, "getOrders", `did you mean "getOrder"?`},
		"far":           {shop, "zzz", "there are getOrder, PUT /orders/{id}, form, upload, maybeUpload, any"},
		"upload":        {shop, "upload", "application/zip can be sent"},
		"keyword":       {param("{name: a, in: query, schema: {type: integer, minimum: low}}"), "x", "minimum"},
		"item ref":      {"openapi: 3.1.0\npaths: {/x: {$ref: '#/nothing'}}", "GET /x", `the path /x cannot: the reference "#/nothing" names nothing`},
		"no name":       {param("{in: query}"), "x", "parameter 0: it has no name"},
		"twice":         {"openapi: 3.1.0\npaths: {/x: {get: {operationId: x}}, /y: {delete: {operationId: x}}}", "x", "GET /x and DELETE /y are both the operation \"x\""},
		"nowhere":       {param("{name: a, in: body}"), "x", `a is in "body"`},
		"style":         {param("{name: a, in: path, style: matrix}"), "x", "not supported"},
		"outside":       {param("{$ref: other.yaml}"), "x", "must name a file beside the document"},
		"nothing":       {param("{$ref: '#/nothing'}"), "x", "names nothing"},
		"schema ref":    {param("{name: a, in: query, schema: {$ref: '#/nothing'}}"), "x", "names nothing"},
		"schema list":   {param("{name: a, in: query, schema: [1]}"), "x", "a schema is of type array"},
		"inner":         {param("{name: a, in: query, schema: {properties: {x: {allOf: [{not: 3}]}}}}"), "x", "a schema is of type integer"},
		"circle":        {"openapi: 3.1.0\na: {$ref: '#/b'}\nb: {$ref: '#/a'}\npaths: {/x: {get: {operationId: x, parameters: [{$ref: '#/a'}]}}}", "x", "circle"},
		"deep":          {param("{name: a, in: query, schema: " + strings.Repeat("{not: ", 70) + "{}" + strings.Repeat("}", 70) + "}"), "x", "nested deeper"},
		"body":          {"openapi: 3.1.0\npaths: {/x: {put: {requestBody: {$ref: '#/n'}}}}", "PUT /x", "the body: "},
		"body's schema": {"openapi: 3.1.0\npaths: {/x: {put: {requestBody: {content: {text/plain: {schema: 3}}}}}}", "PUT /x", "a schema is of type"},
	} {
		t.Run(name, func(t *testing.T) {
			op, err := openapi.Find(parse(t, c.doc), c.id)
			if err == nil && len(op.Refused) == 1 { // that parameter, not the operation
				err = op.Refused[0].Err
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestManyDefinitions(t *testing.T) {
	doc := value.Pairs("openapi", "3.1.0")
	last := value.Pairs("type", "string")
	all := value.NewMap(0)
	for i := range 1100 {
		name := "s" + strings.Repeat("x", i)
		all.Set(name, value.OfMap(last))
		last = value.Pairs("$ref", "#/defs/"+name)
	}
	doc.Set("defs", value.OfMap(all))
	doc.Set("paths", value.Must(map[string]any{"/x": map[string]any{"get": map[string]any{
		"parameters": []any{map[string]any{"name": "a", "in": "query", "schema": last}},
	}}}))
	op, err := openapi.Find(value.OfMap(doc), "GET /x")
	if err != nil || len(op.Refused) != 1 || !strings.Contains(op.Refused[0].Err.Error(), "more than 1000 schemas") {
		t.Errorf("got %+v, %v", op, err)
	}
}

func TestNamesOfDefinitions(t *testing.T) {
	op := find(t, `openapi: 3.1.0
paths:
  /x:
    get:
      parameters:
        - {name: a, in: query, schema: {$ref: "#/one/A%20b"}}
        - {name: b, in: query, schema: {$ref: "#/two/A%20b"}}
        - {name: c, in: query, schema: {$ref: "#/two/x~1y"}}
one: {"A b": {type: integer, exclusiveMinimum: 3}}
two: {"A b": {type: boolean}, "x/y": {type: [string, "null"]}}
`, "GET /x")
	s, err := schema.Parse(op.Arguments())
	if err != nil {
		t.Fatal(err)
	}
	if problems := s.Check(parse(t, `{query: {a: 4, b: true, c: null}}`)); problems != nil {
		t.Error(problems)
	}
	if problems := s.Check(parse(t, `{query: {a: 3, b: 4, c: 5}}`)); len(problems) != 3 {
		t.Error(problems)
	}
}

// TestDialects: a document, or a schema's own $schema, decides what the keywords of the schema mean.
func TestDialects(t *testing.T) {
	doc := func(head, body string) string {
		return head + "\npaths: {/x: {post: {operationId: x, requestBody: {content: {application/json: {schema: " + body + "}}}}}}\n" +
			"components: {schemas: {Text: {type: string}, Old: {$schema: 'http://json-schema.org/draft-07/schema#', items: [{type: string}], additionalItems: false,\n" +
			"  $defs: {Pair: {items: [{$ref: '#/components/schemas/Text'}, true], additionalItems: false}}}}}"
	}
	const (
		v30    = "openapi: 3.0.3"
		v31    = "openapi: 3.1.0"
		draft7 = v31 + "\njsonSchemaDialect: http://json-schema.org/draft-07/schema#"
		tuple  = "{prefixItems: [{type: string}, {$ref: '#/components/schemas/Text'}], items: false}"
	)
	for name, c := range map[string]struct {
		head, body, fits string
		misfits          []string
	}{
		"prefixItems":           {v31, tuple, `["a","b"]`, []string{`[1,"b"]`, `["a",2]`, `["a","b","c"]`}},
		"dialect of OpenAPI":    {v31 + "\njsonSchemaDialect: https://spec.openapis.org/oas/3.1/dialect/base", tuple, `["a","b"]`, []string{`[1]`}},
		"draft 2019-09":         {v31 + "\njsonSchemaDialect: https://json-schema.org/draft/2019-09/schema", "{items: [{type: string}], additionalItems: false, minContains: 0, contains: {const: b}}", `["a"]`, []string{`[1]`, `["a","b"]`}},
		"draft 7":               {draft7, "{items: [{type: string}], additionalItems: {type: integer}}", `["a",2]`, []string{`[1]`, `["a","b"]`}},
		"draft 7 hides":         {draft7, "{$ref: '#/components/schemas/Text', minLength: 3}", `"a"`, []string{`1`}},
		"draft 7, no tuple":     {draft7, "{items: {type: string}, additionalItems: false}", `["a","b"]`, []string{`[1]`}},
		"draft 4":               {v31 + "\njsonSchemaDialect: http://json-schema.org/draft-04/schema#", "{minimum: 3, exclusiveMinimum: true}", `4`, []string{`3`}},
		"beside $ref":           {v31, "{$ref: '#/components/schemas/Text', minLength: 3}", `"abc"`, []string{`"a"`, `1`}},
		"unevaluated":           {v31, "{allOf: [{properties: {a: {$ref: '#/components/schemas/Text'}}}], unevaluatedProperties: {$ref: '#/components/schemas/Text'}}", `{"a":"x","b":"x"}`, []string{`{"a":1}`, `{"b":1}`}},
		"dependentRequired":     {v31, "{dependentRequired: {a: [b]}, dependentSchemas: {c: {properties: {c: {$ref: '#/components/schemas/Text'}}}}}", `{"a":1,"b":1,"c":"x"}`, []string{`{"a":1}`, `{"c":1}`}},
		"dependencies":          {draft7, "{dependencies: {a: [b], c: {properties: {c: {$ref: '#/components/schemas/Text'}}}}}", `{"a":1,"b":1,"c":"x"}`, []string{`{"a":1}`, `{"c":1}`}},
		"not of draft 7":        {draft7, "{type: object, dependentRequired: {a: [b]}, properties: {b: {prefixItems: [{type: string}], unevaluatedItems: false}}, additionalProperties: {type: integer}}", `{"a":1,"b":[1]}`, []string{`{"c":"x"}`}},
		"not of draft 7 alone":  {draft7, "{type: object, dependentRequired: {a: [b]}}", `{"a":1}`, nil},
		"not of draft 4":        {v31 + "\njsonSchemaDialect: http://json-schema.org/draft-04/schema#", "{const: 1, if: {}, then: {type: string}, type: integer}", `2`, []string{`"a"`}},
		"const null":            {v31, "{anyOf: [{type: string}, {const: null}]}", `null`, []string{`1`}},
		"$schema for editors":   {v31 + "\n$schema: https://spec.openapis.org/oas/3.1/schema/2022-10-07\njsonSchemaDialect: http://json-schema.org/draft-07/schema#", "{items: [{type: string}]}", `["a"]`, []string{`[1]`}},
		"other $schema":         {v31 + "\n$schema: https://example.com/openapi.json", "{$ref: '#/components/schemas/Text'}", `"a"`, []string{`1`}},
		"unknown dialect":       {v31 + "\njsonSchemaDialect: https://example.com/own", tuple, `["a","b"]`, []string{`[1]`}},
		"own $schema":           {v31, "{type: object, properties: {o: {$ref: '#/components/schemas/Old'}, n: " + tuple + "}}", `{"o":["a"],"n":["a","b"]}`, []string{`{"o":[1]}`, `{"o":["a","b"]}`, `{"n":[1]}`}},
		"within an own $schema": {v31, "{$ref: '#/components/schemas/Old/$defs/Pair'}", `["a",2]`, []string{`[1]`, `["a",2,3]`}},
		"nullable of 3.0":       {v30, "{type: integer, nullable: true, minimum: 3, exclusiveMinimum: true}", `null`, []string{`3`}},
		"nullable of 3.1":       {v31, "{type: integer, nullable: true, exclusiveMinimum: 3}", `4`, []string{`null`, `3`}},
		"prefixItems of 3.0":    {v30, "{prefixItems: [{type: string}], items: {type: integer}}", `[1]`, []string{`["a"]`}},
	} {
		t.Run(name, func(t *testing.T) {
			op := find(t, doc(c.head, c.body), "x")
			if len(op.Refused) > 0 {
				t.Fatal(op.Refused[0].Err)
			}
			s, err := schema.Parse(op.Arguments())
			if err != nil {
				t.Fatal(err)
			}
			if problems := s.Check(parse(t, `{"body":`+c.fits+`}`)); problems != nil {
				t.Errorf("%s: %v", c.fits, problems)
			}
			for _, body := range c.misfits {
				if s.Check(parse(t, `{"body":`+body+`}`)) == nil {
					t.Errorf("%s passes", body)
				}
			}
		})
	}
	for name, c := range map[string]struct{ head, body, want string }{
		"unknown own":   {v31, "{properties: {a: {$schema: 'https://example.com/own'}}}", `the dialect "https://example.com/own" is not supported`},
		"items":         {v31, "{items: [{type: string}]}", `/items`},
		"recursive":     {v31 + "\njsonSchemaDialect: https://json-schema.org/draft/2019-09/schema", "{$recursiveRef: '#'}", "use $ref"},
		"no properties": {v31, "{properties: 3}", "/properties"},
		"no list":       {v31, "{allOf: 3}", "/allOf"},
	} {
		t.Run(name, func(t *testing.T) {
			op := find(t, doc(c.head, c.body), "x")
			if len(op.Refused) != 1 || !strings.Contains(op.Refused[0].Err.Error(), c.want) {
				t.Errorf("got %+v, want %s", op.Refused, c.want)
			}
		})
	}
}

// TestRefused: a wrong reference of one parameter leaves the others as they are.
func TestRefused(t *testing.T) {
	op := find(t, `openapi: 3.1.0
paths:
  /x: {$ref: "#/items/x"}
items:
  x:
    parameters: [{name: good, in: query, schema: {$ref: "#/s/Good"}}, {name: over, in: query, schema: {minimum: low}}]
    get: {$ref: "#/operations/x"}
operations:
  x:
    operationId: x
    parameters:
      - {name: bad, in: query, schema: {$ref: "#/s/Bad"}}
      - {name: again, in: query, required: true, schema: {allOf: [{$ref: "#/s/Good"}, {$ref: "#/s/Bad"}]}}
      - {name: over, in: query, schema: {$ref: "#/s/Circle"}}
      - {name: good, in: header, schema: {type: string}}
    requestBody: {content: {text/json: {schema: {$ref: "#/s/Half"}}}}
s:
  Good: {type: integer}
  Bad: {type: integer, pattern: "("}
  Circle: {type: object, properties: {next: {$ref: "#/s/Circle"}}}
  Half: {properties: {a: {$ref: "#/s/Lost"}}}
`, "x")
	var names, refused []string
	for _, p := range op.Parameters {
		names = append(names, p.In+" "+p.Name)
	}
	for _, p := range op.Refused {
		refused = append(refused, strings.TrimSpace(fmt.Sprintf("%s %s %v", p.In, p.Name, p.Required)))
	}
	if diff := cmp.Diff([]string{"query good", "query over", "header good"}, names); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"query bad false", "query again true", "body  false"}, refused); diff != "" {
		t.Error(diff)
	}
	s, err := schema.Parse(op.Arguments())
	if err != nil {
		t.Fatal(err)
	}
	if problems := s.Check(parse(t, `{query: {good: x, over: {next: {next: 1}}}}`)); len(problems) != 2 {
		t.Error(problems)
	}
}

// TestPlacesOfRefused: a fault is reported at its place in the document, not in the schema made from it.
func TestPlacesOfRefused(t *testing.T) {
	op := find(t, `openapi: 3.1.0
paths:
  /x:
    post:
      operationId: x
      parameters:
        - {name: a, in: query, schema: {minLength: x, properties: {b: {maxLength: x}}}}
        - {name: b, in: query, schema: {items: {$ref: "#/s/a~1b/Bad"}}}
        - {name: c, in: query, schema: {$ref: "#/t/Bad"}}
s: {a/b: {Bad: {minimum: low}}}
t: {Bad: {maximum: high}}
`, "x")
	var got []string
	for _, p := range op.Refused {
		got = append(got, p.Err.Error())
	}
	if diff := cmp.Diff([]string{
		`parameter 0: a: not a JSON Schema: "/minLength": expected integer, but got string; "/properties/b/maxLength": expected integer, but got string`,
		`parameter 1: b: not a JSON Schema: "/s/a~1b/Bad/minimum": expected number, but got string`,
		`parameter 2: c: not a JSON Schema: "/t/Bad/maximum": expected number, but got string`,
	}, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzOpenAPI(f *testing.F) {
	f.Add(shop, "getOrder")
	f.Add(shop, "PUT /orders/{id}")
	f.Add("openapi: 3.1.0\npaths: {/x: {get: {parameters: [{name: a, in: query, schema: {$ref: '#/paths'}}]}}}", "GET /x")
	f.Add("swagger: 2.0\nhost: a.b\nconsumes: [text/json]\npaths: {/x: {put: {parameters: [{name: a, in: formData, type: array, collectionFormat: csv}, {$ref: '#/b'}]}}}", "PUT /x")
	f.Fuzz(func(_ *testing.T, text, name string) {
		doc, err := yaml.ParseValue([]byte(text))
		if err != nil {
			return
		}
		if op, err := openapi.Find(doc, name); err == nil {
			_, _ = schema.Parse(op.Arguments())
		}
	})
}

package openapi_test

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/callnode/scheduler/calls/http/openapi"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// TestBundle: documents in several files, as generators and people split them.
func TestBundle(t *testing.T) {
	files := fstest.MapFS{
		"paths/boats.yaml": {Data: []byte("get: {operationId: boats, parameters: [{$ref: '../parts.yaml#/Limit'}]}\n" +
			"post: {operationId: addBoat, requestBody: {content: {application/json: {schema: {$ref: '../schemas/Boat.yaml'}}}}}\n")},
		"parts.yaml":         {Data: []byte("Limit: {name: limit, in: query, schema: {$ref: '#/Count'}}\nCount: {type: integer, minimum: 1}\n")},
		"schemas/Boat.yaml":  {Data: []byte("type: object\nproperties: {name: {type: string}, owner: {$ref: Owner.yaml}, next: {$ref: Boat.yaml}}\n")},
		"schemas/Owner.yaml": {Data: []byte("type: object\nproperties: {name: {type: string}, town: {$ref: '#/components/schemas/Town'}}\n")},
	}
	doc := parse(t, "openapi: 3.0.3\npaths:\n  /boats: {$ref: paths/boats.yaml}\n  /lost: {$ref: paths/lost.yaml}\n  /far: {$ref: 'https://example.com/far.yaml'}\ncomponents: {schemas: {Town: {type: string, maxLength: 9}}}\n")
	whole := openapi.Bundle(doc, func(name string) (value.Value, error) {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return value.Value{}, err
		}
		return yaml.ParseValue(data)
	})
	get, err := openapi.Find(whole, "boats")
	if err != nil || len(get.Refused) > 0 || len(get.Parameters) != 1 || get.Parameters[0].Name != "limit" {
		t.Fatalf("got %+v, %v", get, err)
	}
	add, err := openapi.Find(whole, "addBoat")
	if err != nil || len(add.Refused) > 0 {
		t.Fatalf("got %+v, %v", add, err)
	}
	if got := add.Arguments().JSON(); !strings.Contains(got, `"maxLength":9`) || !strings.Contains(got, `"#/definitions/Boat"`) {
		t.Errorf("the arguments are %s", got)
	}
	for name, want := range map[string]string{
		"GET /lost": `the path /lost cannot: the reference "paths/lost.yaml" is not read`,
		"GET /far":  `the path /far cannot: the reference "https://example.com/far.yaml" is not read`,
		"GET /none": `there are boats, addBoat`,
	} {
		if _, err := openapi.Find(whole, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
	if plain := parse(t, "openapi: 3.0.3\npaths: {}\n"); !value.Equal(openapi.Bundle(plain, nil), plain) {
		t.Error("a document in one file is changed")
	}
}

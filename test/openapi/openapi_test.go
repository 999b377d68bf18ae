// Package openapi reads the documents of the API with the tools that others use: a module of
// its own, because of their size. For example, kin-openapi must find them valid.
package openapi

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/pb33f/libopenapi"
)

// golden reads the golden files of scheduler/server of these names and merges them.
func golden(t *testing.T, names ...string) []byte {
	t.Helper()
	all := map[string]any{}
	for _, name := range names {
		text, err := os.ReadFile("../../scheduler/server/testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		var doc map[string]any
		if err := json.Unmarshal(text, &doc); err != nil {
			t.Fatal(err)
		}
		merge(all, doc)
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func merge(into, more map[string]any) {
	for name, v := range more {
		have, isObject := into[name].(map[string]any)
		inner, alsoObject := v.(map[string]any)
		if isObject && alsoObject {
			merge(have, inner)
			continue
		}
		into[name] = v
	}
}

func TestDocumentsAreValid(t *testing.T) {
	for file, text := range map[string][]byte{
		"the document":             golden(t, "openapi.json"),
		"with operations of flows": golden(t, "openapi.json", "openapi-flows.json"),
	} {
		loaded, err := openapi3.NewLoader().LoadFromData(text)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if err := loaded.Validate(t.Context()); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		doc, err := libopenapi.NewDocument(text)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		model, err := doc.BuildV3Model()
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		operations := 0
		for _, item := range model.Model.Paths.PathItems.FromOldest() {
			operations += item.GetOperations().Len()
		}
		if operations < 50 {
			t.Errorf("%s: only %d operations were read", file, operations)
		}
	}
}

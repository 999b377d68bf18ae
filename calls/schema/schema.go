// Package schema is the only door to the JSON Schema library: schemas are
// inferred from Go types ([MustFor]) or given by users ([Parse]), and values are
// checked against them with errors that people can read. For example, checking {"n": 0} against a minimum of 1
// gives one [Problem] with the pointer /n.
//
// The dialect is draft 7, or the draft that $schema names: [Schema] is the Draft7Validator, and the
// JSONValidator, of the documents. format, contentEncoding and contentMediaType are hints for people and editors
// and never fail a check, except the formats of [ParseWithFormats]. Nothing is ever loaded from a file or a network.
package schema

import (
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/callnode/scheduler/llm/value"
)

// Schema is a JSON Schema, compiled when it is first used. [MustFor] and [Parse]
// create it; it lives as long as its owner, does not change, and is safe for
// concurrent use.
type Schema struct {
	doc value.Value
	// annotated is doc with the examples that tags give; null without any.
	annotated value.Value
	// former maps former names of properties to their present ones, from tags.
	former map[string]string
	// formatOf returns the check of the texts that a subschema describes; nil for schemas
	// whose formats are hints.
	formatOf func(sub value.Value) func(text string) bool

	once sync.Once
	err  error // of compiling

	compiled *jsonschema.Schema
	// at finds a compiled subschema by its location.
	at map[string]*jsonschema.Schema
	// weights has the weight of each regular expression.
	weights map[jsonschema.Regexp]int
	// everyday is set when all subschemas are; branching when many of them may apply to one place of a value.
	everyday, branching bool
}

// Doc returns the schema as JSON.
func (s *Schema) Doc() value.Value { return s.doc }

// Annotated is Doc with the parts meant only for people: under examples, the YAML text of each example tag. Models
// do not get these, because they mistake them for values.
func (s *Schema) Annotated() value.Value {
	if s.annotated.IsNull() {
		return s.doc
	}
	return s.annotated
}

// inPlaceSubschemas returns the subschemas that apply to the same value as s.
func inPlaceSubschemas(s *jsonschema.Schema) []*jsonschema.Schema {
	var all []*jsonschema.Schema
	for _, one := range []*jsonschema.Schema{s.Ref, s.Not, s.If, s.Then, s.Else} {
		if one != nil {
			all = append(all, one)
		}
	}
	all = append(append(append(all, s.AllOf...), s.AnyOf...), s.OneOf...)
	for _, dependency := range s.Dependencies {
		if one, ok := dependency.(*jsonschema.Schema); ok {
			all = append(all, one)
		}
	}
	for _, one := range s.DependentSchemas {
		all = append(all, one)
	}
	return all
}

// sourceOf returns a subschema as the document has it.
func (s *Schema) sourceOf(sub *jsonschema.Schema) value.Value {
	if sub == nil {
		return objectOf()
	}
	pointer, isOurs := strings.CutPrefix(sub.Location, location+"#")
	doc, ok := s.doc.At(decodeLocation(pointer))
	if !ok || !isOurs {
		return objectOf() // inside a schema of schemas
	}
	return doc
}

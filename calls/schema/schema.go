// Package schema is the only door to the JSON Schema library: schemas are
// inferred from Go types ([MustFor]) or given by users ([Parse]), and values are
// checked against them with errors that people can read.
//
// The dialect is draft 7, or that which $schema names. format,
// contentEncoding and contentMediaType are hints for people and editors and never fail
// a check, but for the formats of [ParseWithFormats]. Nothing is ever loaded from a file or a network.
package schema

import (
	"fmt"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Schema is a JSON Schema, compiled when it is first used. [MustFor] and [Parse]
// create it; it lives as long as its owner, does not change, and is safe for
// concurrent use.
type Schema struct {
	doc value.Value
	// annotated is doc with the examples that tags give; null without any.
	annotated value.Value
	// former are the names that properties had, with those that they have now: from tags.
	former map[string]string
	// formatOf returns the check of the texts that a subschema describes; nil for schemas
	// whose formats are hints.
	formatOf func(sub value.Value) func(text string) bool

	once sync.Once
	err  error // of compiling

	compiled *jsonschema.Schema
	// at finds a compiled subschema by its location.
	at map[string]*jsonschema.Schema
	// weights are those of the regular expressions.
	weights map[jsonschema.Regexp]int
	// everyday is set when all subschemas are; branching when many of them may look
	// at one place of a value.
	everyday, branching bool
}

// Parse compiles a schema that a user wrote. The error is what is wrong with it.
func Parse(doc value.Value) (*Schema, error) { return ParseWithFormats(doc, nil) }

// ParseWithFormats compiles a schema as [Parse] does, with formats that values are checked
// for: formatOf returns the check of the texts that a subschema describes, nil where its
// format is a hint.
func ParseWithFormats(doc value.Value, formatOf func(sub value.Value) func(text string) bool) (*Schema, error) {
	if err := checkLimits(doc); err != nil {
		return nil, err
	}
	s := &Schema{doc: doc, formatOf: formatOf}
	s.compileOnce()
	if s.err != nil {
		return nil, s.err
	}
	if err := s.checkCounts(); err != nil {
		return nil, err
	}
	if s.branching && (s.unionsMultiply() || !s.isAffordable(value.Value{}, 1)) {
		return nil, wording.Errorf("the schema's unions multiply to more than %d checks of one value", baseBudget)
	}
	return s, nil
}

// Doc returns the schema as JSON.
func (s *Schema) Doc() value.Value { return s.doc }

// Annotated is Doc with what people alone read: under examples, the YAML text of each
// example tag. Models do not get these, for they take them for values.
func (s *Schema) Annotated() value.Value {
	if s.annotated.IsNull() {
		return s.doc
	}
	return s.annotated
}

const location = "mem:///schema.json"

// noLoader loads nothing from outside.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, wording.Errorf("%s: a schema loads nothing from outside", asWritten(url))
}

func (s *Schema) compileOnce() {
	s.once.Do(func() {
		defer func() {
			if r := recover(); r != nil { // the library panics on schemas it did not expect
				s.err = wording.Errorf("not a JSON Schema: %v", r)
			}
		}()
		c := jsonschema.NewCompiler()
		c.DefaultDraft(jsonschema.Draft7)
		c.UseLoader(noLoader{})
		doc := relaxEnums(rewritePatterns(s.doc))
		s.err = c.AddResource(location, doc.Any())
		if s.err == nil {
			s.compiled, s.err = c.Compile(location)
		}
		if s.err != nil {
			s.err = compileError(s.err, doc)
			return
		}
		s.at, s.weights, s.everyday = map[string]*jsonschema.Schema{}, map[jsonschema.Regexp]int{}, true
		s.indexSubschema(s.compiled)
		if at, loop := s.findLoop(); loop != "" && s.err == nil {
			s.err = &InvalidError{Problems{newProblem(at, "", wordingf("infinite loop %s", loop))}}
		}
	})
}

// indexSubschema enters a subschema and all below it.
func (s *Schema) indexSubschema(sub *jsonschema.Schema) {
	if sub == nil || s.at[sub.Location] != nil {
		return
	}
	s.at[sub.Location] = sub
	s.adaptSubschema(sub)
	s.everyday = s.everyday && isEveryday(sub)
	if sub.Pattern != nil {
		s.weights[sub.Pattern] = weightOf(sub.Pattern.String())
		if s.weights[sub.Pattern] > lightPattern {
			s.everyday, s.branching = false, true
		}
	}
	if sub.DynamicRef != nil || sub.RecursiveRef != nil {
		s.err = s.dynamicError(sub)
		return
	}
	if sub.Contains != nil || len(sub.PatternProperties) > 0 {
		s.branching = true
	}
	for _, in := range inPlaceSubschemas(sub) {
		s.branching = true
		s.indexSubschema(in)
	}
	for _, below := range sub.Properties {
		s.indexSubschema(below)
	}
	for pattern, below := range sub.PatternProperties {
		s.weights[pattern] = weightOf(pattern.String())
		s.indexSubschema(below)
	}
	for _, below := range []any{
		ownChecksOf(sub).names, sub.AdditionalProperties, sub.UnevaluatedProperties,
		sub.Items, sub.AdditionalItems, sub.Items2020, sub.Contains, sub.UnevaluatedItems,
	} {
		switch below := below.(type) {
		case *jsonschema.Schema:
			s.indexSubschema(below)
		case []*jsonschema.Schema:
			for _, item := range below {
				s.indexSubschema(item)
			}
		}
	}
	for _, below := range sub.PrefixItems {
		s.indexSubschema(below)
	}
}

// dynamicError is that of a subschema with $dynamicRef or $recursiveRef.
func (s *Schema) dynamicError(sub *jsonschema.Schema) error {
	message := wordingf("a schema with $dynamicRef or $recursiveRef is not supported; use $ref")
	return &InvalidError{Problems{newProblem(placeOfKeyword(s.doc, pointerIn(sub.Location), []string{"$dynamicRef", "$recursiveRef"}), "", message)}}
}

// inPlaceSubschemas returns the subschemas that look at the same value as s does.
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

// InvalidError is why a document is not a JSON Schema. [Parse] makes it, with the place of
// each fault.
type InvalidError struct{ Problems Problems }

// Error lists the first faults with their JSON pointers.
func (e *InvalidError) Error() string { return e.In("en") }

// In returns the message in a language.
func (e *InvalidError) In(language string) string {
	list := e.Problems.list(language, func(p Problem) string {
		message, _ := p.Text()
		if wording.IsChinese(language) {
			return fmt.Sprintf("%q：%s", p.Pointer, message.Zh)
		}
		return fmt.Sprintf("%q: %s", p.Pointer, message.En)
	})
	return wordingf("not a JSON Schema: %s", list).In(language)
}

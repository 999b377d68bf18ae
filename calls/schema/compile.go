package schema

import (
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Parse compiles a schema that a user wrote. The error describes its faults.
func Parse(doc value.Value) (*Schema, error) { return ParseWithFormats(doc, nil) }

// ParseWithFormats compiles a schema as [Parse] does, and checks the formats of values: formatOf returns the check
// for the texts that a subschema describes, nil if its format is a hint.
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

// dynamicError is the error for a subschema with $dynamicRef or $recursiveRef.
func (s *Schema) dynamicError(sub *jsonschema.Schema) error {
	message := wordingf("a schema with $dynamicRef or $recursiveRef is not supported; use $ref")
	return &InvalidError{Problems{newProblem(placeOfKeyword(s.doc, pointerIn(sub.Location), []string{"$dynamicRef", "$recursiveRef"}), "", message)}}
}

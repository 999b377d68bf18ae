package schema

import (
	"errors"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// ownChecks are the keywords of a subschema that are checked here. The library finds nothing
// more in a value that enum or const does not admit, and its errors of propertyNames have
// their places overwritten by later ones.
type ownChecks struct {
	constant []any // one or none
	enum     []any
	// isConstant and isListed find a value in them; nil for any.
	isConstant, isListed *valueSet
	names                *jsonschema.Schema // nil for any
	isFormatted          func(text string) bool
	format               string // its name
}

// adaptSubschema replaces some of the library's checks by [ownChecks], and turns off the formats that are hints.
func (s *Schema) adaptSubschema(sub *jsonschema.Schema) {
	isOnlyRef := sub.Ref != nil && sub.DraftVersion < 2019 // keywords beside it have no effect
	if isOnlyRef {
		sub.Const, sub.Contains, sub.PropertyNames, sub.If, sub.Then, sub.Else = nil, nil, nil, nil, nil, nil
	}
	c := ownChecks{names: sub.PropertyNames}
	if sub.Const != nil {
		c.constant = []any{*sub.Const}
		c.isConstant = newValueSet(c.constant)
	}
	if sub.Enum != nil {
		c.enum = sub.Enum.Values
		c.isListed = newValueSet(c.enum)
	}
	if s.formatOf != nil && !isOnlyRef {
		source := s.sourceOf(sub)
		name, _ := source.Get("format")
		c.format, _ = name.Str()
		c.isFormatted = s.formatOf(source)
	}
	if c.isConstant != nil || c.isListed != nil || c.names != nil || c.isFormatted != nil {
		sub.Extensions = []jsonschema.SchemaExt{c}
	}
	sub.Const, sub.Enum, sub.PropertyNames, sub.Format = nil, nil, nil, nil
}

// ownChecksOf returns the keywords of an adapted subschema that are checked here.
func ownChecksOf(sub *jsonschema.Schema) ownChecks {
	if len(sub.Extensions) == 0 {
		return ownChecks{}
	}
	c, _ := sub.Extensions[0].(ownChecks)
	return c
}

// Validate implements [jsonschema.SchemaExt].
func (c ownChecks) Validate(ctx *jsonschema.ValidatorContext, v any) {
	if c.isConstant != nil && !c.isConstant.has(v) {
		ctx.AddError(&kind.Const{Got: v, Want: c.constant[0]})
	}
	if c.isListed != nil && !c.isListed.has(v) {
		ctx.AddError(&kind.Enum{Got: v, Want: c.enum})
	}
	if text, isText := v.(string); isText && c.isFormatted != nil && !c.isFormatted(text) {
		ctx.AddError(&kind.Format{Got: text, Want: c.format})
	}
	object, _ := v.(map[string]any)
	if c.names == nil {
		return
	}
	for name := range object {
		var invalid *jsonschema.ValidationError
		if errors.As(c.names.Validate(name), &invalid) {
			ctx.AddErrors(invalid.Causes, &kind.PropertyNames{Property: name})
		}
	}
}

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
}

// adaptSubschema puts [ownChecks] in the place of what the library checks otherwise, and turns
// off formats.
func adaptSubschema(sub *jsonschema.Schema) {
	if sub.Ref != nil && sub.DraftVersion < 2019 { // what is beside it has no effect
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
	if c.isConstant != nil || c.isListed != nil || c.names != nil {
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

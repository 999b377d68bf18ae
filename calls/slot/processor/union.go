package processor

import (
	"strings"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// maxUnions bounds how deep unions are decided inside each other.
const maxUnions = 8

// findFaults returns the faults of data; if the data decides the branch of a union, it returns the faults of that
// branch: of {kind: rect, width: 3}, with kind a const of each branch, only /height is missing.
func (f *Filling) findFaults(data value.Value) []schema.Fault {
	return f.decideUnions(f.schema, data, maxUnions)
}

// decideUnions returns the faults of data by a schema, as places that a person can answer for.
func (f *Filling) decideUnions(s *schema.Schema, data value.Value, depth int) []schema.Fault {
	var all []schema.Fault
	for _, fault := range s.Faults(data) {
		inner := f.faultsOfBranch(fault, data, depth)
		if inner == nil {
			inner = missingDependents(s, fault, data)
		}
		if inner == nil {
			inner = []schema.Fault{f.narrowUnion(fault, data)}
		}
		all = append(all, inner...)
	}
	return all
}

// faultsOfBranch returns the faults of the one branch that a union can mean; nil if it is not known.
func (f *Filling) faultsOfBranch(fault schema.Fault, data value.Value, depth int) (inside []schema.Fault) {
	isUnion := fault.Keyword == "oneOf" || fault.Keyword == "anyOf"
	have, _ := data.At(fault.Pointer)
	if !isUnion || have.Kind() != value.Object || depth == 0 {
		return nil
	}
	branches, _ := fault.Schema.Get(fault.Keyword)
	branch, ok := f.branchOf(branches.List(), have)
	if !ok {
		return nil
	}
	compiled, err := f.compileBranch(branch)
	if err != nil {
		return nil
	}
	inside = f.decideUnions(compiled, have, depth-1)
	for i := range inside {
		inside[i].Pointer = fault.Pointer + inside[i].Pointer
	}
	return inside
}

// branchOf returns the one branch with the object's discriminators, which are the properties that can have one
// value only.
func (f *Filling) branchOf(branches []value.Value, have value.Value) (branch value.Value, ok bool) {
	for _, candidate := range branches {
		candidate = f.resolveRef(candidate)
		properties, _ := candidate.Get("properties")
		decides, excluded := false, false
		for name, property := range properties.Map().All() {
			only, fixed := onlyValue(f.resolveRef(property))
			given, has := have.Get(name)
			if !fixed || !has {
				continue
			}
			same := value.Equal(only, given)
			decides, excluded = decides || same, excluded || !same
		}
		switch {
		case excluded:
		case !decides || ok:
			return value.Value{}, false // it could be this one as well
		default:
			branch, ok = candidate, true
		}
	}
	return branch, ok
}

// onlyValue returns the one value that a schema allows by const or an enum.
func onlyValue(sub value.Value) (value.Value, bool) {
	if only, ok := sub.Get("const"); ok {
		return only, true
	}
	enum, _ := sub.Get("enum")
	if len(enum.List()) == 1 {
		return enum.List()[0], true
	}
	return value.Value{}, false
}

// resolveRef returns the target of a schema that is a reference within the document.
func (f *Filling) resolveRef(sub value.Value) value.Value {
	for range maxUnions {
		ref, _ := sub.Get("$ref")
		text, isRef := ref.Str()
		target, ok := f.p.doc.At(strings.TrimPrefix(text, "#"))
		if !isRef || !strings.HasPrefix(text, "#") || !ok {
			return sub
		}
		sub = target
	}
	return sub
}

// compileBranch compiles a branch of a union with the definitions of the document.
func (f *Filling) compileBranch(branch value.Value) (*schema.Schema, error) {
	key := branch.JSON()
	if known := f.branches[key]; known != nil {
		return known, nil
	}
	carry := carrier{root: f.p.doc, definitions: value.NewMap(0)}
	doc := carry.rewriteRefs(branch).Map().Clone()
	if dialect, ok := f.p.doc.Get("$schema"); ok {
		doc.Set("$schema", dialect)
	}
	for _, name := range carry.keys {
		member, _ := f.p.doc.Get(name)
		doc.Set(name, member)
	}
	for name, member := range carry.definitions.All() {
		doc.Set(name, member)
	}
	own := *f.p
	own.doc = value.OfMap(doc)
	var compiled *schema.Schema
	var err error
	if f.schema == f.p.schema {
		compiled, err = schema.Parse(own.doc)
	} else {
		compiled, err = own.parseStrict()
	}
	if err != nil {
		return nil, err
	}
	if f.branches == nil {
		f.branches = map[string]*schema.Schema{}
	}
	f.branches[key] = compiled
	return compiled, nil
}

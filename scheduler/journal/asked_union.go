package journal

import (
	"slices"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// branchesOf returns the branches of a union of objects, references resolved; nil for other schemas. An object that must
// have some of its members, by minProperties, is a union too: each member is a branch.
func (w WaitingFor) branchesOf(union value.Value) (branches []value.Value) {
	if schema.Choices(union) != nil {
		return nil
	}
	least, _ := union.Get("minProperties")
	if n, _ := least.Int(); n > 0 {
		properties, _ := union.Get("properties")
		for name := range properties.Map().All() {
			branches = append(branches, value.OfMap(value.Pairs("required", []string{name})))
		}
		return branches
	}
	for _, keyword := range []string{"oneOf", "anyOf"} {
		list, _ := union.Get(keyword)
		for _, branch := range list.List() {
			branch = schema.Resolve(branch, w.RemainingSchema)
			kind := schema.TypeName(branch)
			if kind != "" && kind != "object" {
				return nil
			}
			branches = append(branches, branch)
		}
		if branches != nil {
			return branches
		}
	}
	return nil
}

// KindPlace returns the place that distinguishes the branches of the union at a pointer: /shape/kind for /shape.
func (w WaitingFor) KindPlace(pointer string) (place AskedPlace, ok bool) {
	union := w.Place(pointer)
	name, member, ok := w.discriminator(union.Schema)
	if !ok {
		return AskedPlace{}, false
	}
	return w.memberPlace(union, name, member), true
}

// discriminator returns the required property that has another fixed value in every branch of a union: kind of
// rect and circle. Its schema lists the values, with the titles of the branches.
func (w WaitingFor) discriminator(union value.Value) (name string, member value.Value, ok bool) {
	branches := w.branchesOf(union)
	if len(branches) < 2 {
		return "", value.Value{}, false
	}
	properties, _ := branches[0].Get("properties")
	for name := range properties.Map().All() {
		var values, labels []value.Value
		for _, branch := range branches {
			only, isFixed := w.fixedMember(branch, name)
			isNew := !slices.ContainsFunc(values, func(v value.Value) bool { return value.Equal(v, only) })
			isRequired := requires(branch, name) || requires(union, name)
			if !isFixed || !isNew || !isRequired {
				break
			}
			label := value.OfString(only.PlainText())
			if title, has := branch.Get("title"); has {
				label = title
			}
			values, labels = append(values, only), append(labels, label)
		}
		if len(values) == len(branches) {
			m := value.Pairs("enum", values, "enumNames", labels)
			own, _ := properties.Get(name)
			own = schema.Resolve(own, w.RemainingSchema)
			for _, word := range []string{"title", "description"} {
				if text, has := own.Get(word); has {
					m.Set(word, text)
				}
			}
			return name, value.OfMap(m), true
		}
	}
	return "", value.Value{}, false
}

// fixedMember returns the one value that a branch allows for a property.
func (w WaitingFor) fixedMember(branch value.Value, name string) (only value.Value, ok bool) {
	properties, _ := branch.Get("properties")
	property, _ := properties.Get(name)
	property = schema.Resolve(property, w.RemainingSchema)
	if only, ok = property.Get("const"); ok {
		return only, true
	}
	enum, _ := property.Get("enum")
	if len(enum.List()) == 1 {
		return enum.List()[0], true
	}
	return value.Value{}, false
}

// eitherOf returns the first required member of each branch of a union that a person has to give, each once: not a
// const. It returns nil if a branch has no such member, or if one member distinguishes the branches.
func (w WaitingFor) eitherOf(of AskedPlace) (either []AskedPlace) {
	if _, _, ok := w.discriminator(of.Schema); ok {
		return nil
	}
	for _, branch := range w.branchesOf(of.Schema) {
		required, _ := branch.Get("required")
		i := slices.IndexFunc(required.List(), func(one value.Value) bool {
			name, _ := one.Str()
			_, isFixed := w.fixedMember(branch, name)
			return !isFixed
		})
		if i < 0 {
			return nil
		}
		name, _ := required.List()[i].Str()
		member := w.memberSchema(branch, name)
		if member.Map().Len() == 0 {
			member = w.memberSchema(of.Schema, name)
		}
		place := w.memberPlace(of, name, member)
		if !slices.ContainsFunc(either, func(p AskedPlace) bool { return p.Pointer == place.Pointer }) {
			either = append(either, place)
		}
	}
	return either
}

// memberSchema returns the schema of a member of an object, references resolved. The member that distinguishes the
// branches of a union has all its values.
func (w WaitingFor) memberSchema(object value.Value, name string) value.Value {
	if decides, member, ok := w.discriminator(object); ok && decides == name {
		return member
	}
	candidates := append([]value.Value{object}, w.branchesOf(object)...)
	for _, candidate := range candidates {
		properties, _ := candidate.Get("properties")
		if member, ok := properties.Get(name); ok {
			return schema.Resolve(member, w.RemainingSchema)
		}
	}
	return value.OfMap(nil)
}

// requires reports whether an object schema requires a property.
func requires(object value.Value, name string) bool {
	required, _ := object.Get("required")
	return slices.ContainsFunc(required.List(), func(r value.Value) bool {
		one, _ := r.Str()
		return one == name
	})
}

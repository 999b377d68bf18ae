package flow

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// outputOf returns the schema of a step's output for other steps: the call's output, or the output of the flow
// that it runs, changed by for_each and on_error.
func (u *unit) outputOf(s *stepUnit) value.Value {
	if !s.known || s.Def.Info.Output == nil {
		return keySchema()
	}
	doc := s.Def.Info.Output.Doc()
	doc = dropAbsent(s, doc)
	if s.Def.OutputFor != nil && s.With != nil && !s.EnableFilling {
		doc = narrowOutput(s, doc)
	}
	if s.Sub != nil && s.Sub.Outputs != nil {
		doc = s.Sub.outputs
	}
	if s.Continue || s.Approve != nil && s.Approve.Continue {
		doc = withError(doc)
	}
	if s.ForEach != nil {
		doc = keySchema("type", "array", "items", doc)
	}
	return doc
}

// dropAbsent returns the output schema without the members that are there only with a parameter
// which the step does not give.
func dropAbsent(s *stepUnit, doc value.Value) value.Value {
	mayBeGiven := s.EnableFilling || s.With != nil && s.With.Expr != nil
	if len(s.Def.Info.OnlyWith) == 0 || mayBeGiven {
		return doc
	}
	var given value.Value
	if s.With != nil {
		given = s.With.Written()
	}
	properties, _ := doc.Get("properties")
	left := properties.Map().Clone()
	for member, param := range s.Def.Info.OnlyWith {
		if _, has := given.Get(param); !has {
			left.Delete(member)
		}
	}
	m := doc.Map().Clone()
	m.Set("properties", value.OfMap(left))
	return value.OfMap(m)
}

// narrowOutput asks the call for its output with these parameters. Calls are third parties: one that panics leaves
// the schema unchanged.
func narrowOutput(s *stepUnit, doc value.Value) (narrowed value.Value) {
	defer func() {
		if recover() != nil {
			narrowed = doc
		}
	}()
	return s.Def.OutputFor(doc, s.With.Written())
}

// withError returns an output schema with the error that a failed step leaves instead.
func withError(doc value.Value) value.Value {
	properties, ok := doc.Get("properties")
	if !ok {
		return doc
	}
	p := properties.Map().Clone()
	p.Set("error", closedObject("kind", "message"))
	m := doc.Map().Clone()
	m.Set("properties", value.OfMap(p))
	m.Delete("required")
	return value.OfMap(m)
}

// closedObject returns the schema of an object of texts.
func closedObject(names ...string) value.Value {
	properties := value.NewMap(len(names))
	for _, name := range names {
		properties.Set(name, keySchema("type", "string"))
	}
	return keySchema("type", "object", "properties", properties, "additionalProperties", false)
}

// shapeOfParam returns the schema of a param's value, as far as it is known.
func (u *unit) shapeOfParam(p *Param) value.Value {
	switch {
	case p.Expr != nil:
		return u.shapeOf(p)
	case p.Text != nil:
		return keySchema("type", "string")
	case p.Over != nil:
		return keySchema("type", "object")
	case p.Map != nil:
		properties := value.NewMap(len(p.Map))
		for _, m := range p.Map {
			properties.Set(m.Key, u.shapeOfParam(m.Param))
		}
		return keySchema("type", "object", "properties", properties, "additionalProperties", false)
	case p.List != nil:
		return keySchema("type", "array")
	case p.Literal.Kind() == value.Object:
		properties := value.NewMap(p.Literal.Map().Len())
		for k, v := range p.Literal.Map().All() {
			properties.Set(k, u.shapeOfParam(&Param{Literal: v}))
		}
		return keySchema("type", "object", "properties", properties, "additionalProperties", false)
	}
	return keySchema("type", p.Literal.Kind().String())
}

// lintTypes compares the types of expressions with the types of the parameters, if both are known.
func (u *unit) lintTypes(s *stepUnit) {
	if !s.known || s.With == nil {
		return
	}
	params := withMessages(s.Def.Info)
	if s.Call == CallFlow && s.Sub != nil {
		properties, _ := params.Get("properties")
		params = withMembers(params, "properties", withMembers(properties, "inputs", s.Sub.Inputs.Doc()))
	}
	u.lintType(s.With, params, "with")
}

func (u *unit) lintType(p *Param, want value.Value, name string) {
	switch {
	case p.Expr != nil:
		source := p.source
		if _, isPath := p.Expr.Path(); !isPath {
			source = "(" + source + ")"
		}
		for _, shape := range p.Expr.Shapes(u.shapeOfPath) {
			if m := findMismatch(shape, want, source); m != nil {
				u.add(p.Pos, m.format, append([]any{name}, m.args...)...)
				break
			}
		}
	case p.Map != nil:
		for _, m := range p.Map {
			u.lintType(m.Param, lookUpPath(want, []string{m.Key}).schema, m.Key)
		}
		if p.Over != nil {
			u.lintType(p.Over, want, name)
		}
	case p.List != nil:
		for _, item := range p.List {
			u.lintType(item, lookUpPath(want, []string{"0"}).schema, name)
		}
	}
}

// withMessages returns the schema of a call's parameters in which lists of chat messages
// want messages.
func withMessages(info *calls.Info) value.Value {
	doc := info.Params.Doc()
	for _, name := range info.Messages {
		doc = schema.WithProperty(doc, name, keySchema("type", []string{"array", "null"},
			"items", keySchema("type", "object", "required", []string{"role"})))
	}
	return doc
}

// mismatch is why a value does not fit, as a format whose first argument is the parameter.
type mismatch struct {
	format string
	args   []any
}

// findMismatch compares the type of an expression with the wanted type; nil if it may fit. source is its name in
// messages.
func findMismatch(have, want value.Value, source string) *mismatch {
	haves, wants := typesOf(have), typesOf(want)
	if len(haves) == 0 || len(wants) == 0 {
		return nil
	}
	fits := slices.ContainsFunc(haves, func(t string) bool { return slices.Contains(wants, t) })
	if !fits {
		return &mismatch{"%s: want %s, but %s is %s", []any{joinTypes(wants), source, withArticle(haves[0])}}
	}
	if len(haves) > 1 {
		return nil
	}
	switch haves[0] {
	case "array":
		return findMismatch(memberOf(have, "items"), memberOf(want, "items"), source+"[0]")
	case "object":
		return findMissingMember(have, want, source)
	}
	return nil
}

// joinTypes returns the names of the types that a parameter may have.
func joinTypes(types []string) wording.Text {
	chinese := make([]string, len(types))
	for i, name := range types {
		chinese[i] = wording.TypeName(name).Zh
	}
	return wording.Text{En: strings.Join(types, " or "), Zh: strings.Join(chinese, "或")}
}

// findMissingMember is findMismatch of two objects.
func findMissingMember(have, want value.Value, source string) *mismatch {
	properties := memberOf(have, "properties")
	rest, hasRest := have.Get("additionalProperties")
	if more, isBool := rest.Bool(); !hasRest || !isBool || more { // it may have any member
		return nil
	}
	for _, name := range memberOf(want, "required").List() {
		text, _ := name.Str()
		if _, has := properties.Get(text); !has {
			return &mismatch{"%s: want objects with %s, but %s has none (it has %s)", []any{text, source, strings.Join(properties.Map().Keys(), ", ")}}
		}
	}
	for name, inner := range properties.Map().All() {
		if m := findMismatch(inner, memberOf(memberOf(want, "properties"), name), source+"."+name); m != nil {
			return m
		}
	}
	return nil
}

// typesOf returns the JSON types that a schema allows, nil if it does not say. An integer and another number are
// only distinguished when there is a value.
func typesOf(doc value.Value) []string {
	if hasAny(doc, "$ref", "anyOf", "oneOf", "allOf", "if") {
		return nil
	}
	typed := declaredType(doc)
	var types []string
	for _, t := range append(slices.Clone(typed.List()), typed) {
		if name, ok := t.Str(); ok {
			types = append(types, strings.Replace(name, "integer", "number", 1))
		}
	}
	return types
}

// declaredType returns the type of a schema. One that lists properties or items and names no type counts as an
// object's or a list's, as its author means it.
func declaredType(doc value.Value) value.Value {
	typed, isTyped := doc.Get("type")
	switch {
	case isTyped:
		return typed
	case hasAny(doc, "properties"):
		return value.OfString("object")
	case hasAny(doc, "items"):
		return value.OfString("array")
	}
	return typed
}

// Shapes of the names that are the same in every flow.
var (
	runShape   = closedObject("id", "flow", "started_at", "user")
	errorShape = closedObject("kind", "message", "hint", "step", "position")
	// conversationShape says of a message only that it is an object: callers send keys of their own.
	conversationShape = keySchema("type", "array", "items", keySchema("type", "object"))
	recordShape       = keySchema("type", "object", "additionalProperties", false, "properties", value.Pairs(
		"id", keySchema("type", "string"), "name", keySchema("type", "string"), "description", keySchema("type", "string"),
		"input", keySchema(), "output", keySchema()))
)

func withArticle(kind string) wording.Text {
	return map[string]wording.Text{
		"array": say("a list"), "object": say("an object"), "string": say("a text"), "number": say("a number"),
		"integer": say("a number"), "boolean": say("true or false"), "null": wording.Same("null"),
	}[kind]
}

// lintList checks that for_each names a list, as far as that is known.
func (u *unit) lintList(s *stepUnit) {
	if s.ForEach == nil || s.ForEach.Expr == nil {
		return
	}
	if name, known := declaredType(u.shapeOf(s.ForEach)).Str(); known && name != "array" {
		u.add(s.ForEach.Pos, "for_each wants a list, but %s is %s", s.ForEach.source, withArticle(name))
	}
}

// shapeOfItem returns the schema of an item of for_each. The members of a list written in the flow are known: a
// name that no item has is a mistake.
func (u *unit) shapeOfItem(s *stepUnit) value.Value {
	shape, _ := u.shapeOf(s.ForEach).Get("items")
	items := s.ForEach.Written().List()
	members := value.NewMap(0)
	for _, item := range items {
		if item.Kind() != value.Object {
			return shape
		}
		for name := range item.Map().All() {
			members.Set(name, keySchema())
		}
	}
	if len(items) == 0 {
		return shape
	}
	return keySchema("type", "object", "properties", members, "additionalProperties", false)
}

// shapeOf returns the schema of a param's value, if all of it is known to have one.
func (u *unit) shapeOf(p *Param) value.Value {
	if p == nil || p.Expr == nil {
		return keySchema()
	}
	if shapes := p.Expr.Shapes(u.shapeOfPath); len(shapes) == 1 {
		return shapes[0]
	}
	return keySchema()
}

// shapeOfPath returns the schema of a step's output, of an input or of the question, or of the part of it at a
// path.
func (u *unit) shapeOfPath(path []string) value.Value {
	doc := keySchema()
	i, isStep := u.byID[path[0]]
	switch {
	case isStep:
		doc = u.steps[i].Output
	case path[0] == "inputs":
		doc = u.flow.Inputs.Doc()
	case path[0] == conversationName:
		doc = conversationShape
	case path[0] == "question":
		doc = keySchema("type", "string")
	}
	if found := lookUpPath(doc, path[1:]); found.unknown < 0 && !strings.Contains(found.schema.JSON(), `"$ref"`) {
		return found.schema
	}
	return keySchema()
}

// lookup is the result of following a path in a schema.
type lookup struct {
	// unknown is the index of the part that cannot be there, -1 for none.
	unknown int
	// kind is the type of the value without such a part; names are the parts that it has.
	kind  string
	names []string
	// schema is the schema at the end of the path; {} if nothing is known.
	schema value.Value
}

// methodsOf are the methods of values by their types, for hints: a template calls them, for example
// body.items(), and without the call the name is a key.
var methodsOf = map[string][]string{
	"object": {"items", "keys", "values", "get"},
	"string": {
		"upper", "lower", "strip", "lstrip", "rstrip", "split", "rsplit", "splitlines", "replace", "startswith",
		"endswith", "title", "capitalize", "join", "find", "rfind", "index", "count", "format", "isdigit", "isalpha",
		"isspace", "isupper", "islower", "partition", "rpartition", "removeprefix", "removesuffix", "isalnum",
	},
	"array": {"index", "count"},
}

// lookUpPath follows member names and list indexes through a schema. If the schema is open, a union or a
// reference, nothing more is known.
func lookUpPath(schema value.Value, path []string) lookup {
	open := lookup{unknown: -1, schema: keySchema()}
	for i, part := range path {
		if hasAny(schema, "$ref", "anyOf", "oneOf", "allOf", "if", "patternProperties") {
			return open
		}
		kind, _ := declaredType(schema).Str()
		switch kind {
		case "object":
			properties, _ := schema.Get("properties")
			if next, ok := properties.Get(part); ok {
				schema = next
				continue
			}
			rest, has := schema.Get("additionalProperties")
			allowed, isBool := rest.Bool()
			switch {
			case has && isBool && !allowed:
				return lookup{unknown: i, kind: kind, names: append([]string{}, slices.Sorted(maps.Keys(maps.Collect(properties.Map().All())))...)}
			case !has || isBool:
				return open
			}
			schema = rest
			continue
		case "array":
			if _, err := strconv.Atoi(part); err == nil {
				items, ok := schema.Get("items")
				if !ok || items.Kind() != value.Object {
					return open
				}
				schema = items
				continue
			}
		case "string":
			if _, err := strconv.Atoi(part); err == nil {
				continue
			}
		case "number", "integer", "boolean", "null":
		default:
			return open
		}
		return lookup{unknown: i, kind: kind}
	}
	return lookup{unknown: -1, schema: schema}
}

package agent

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// groups are the parameters of the call http that hold the arguments of a request, in the order in which a model sees
// them; prefixes tell arguments of one name apart, for example query_id and body_id.
var (
	groups   = []string{"path", "query", "headers", "body"}
	prefixes = map[string]string{"path": "path_", "query": "query_", "headers": "header_", "body": "body_"}
)

// place is one argument of an HTTP tool and its place in the request. For example the argument city may be the member
// city of query.
type place struct {
	argument, group string
	name            string // the member of the group; "" for the whole group, such as a body that is a list
	schema          value.Value
	isRequired      bool
}

// flatArguments are the arguments of an HTTP tool, each by its own name. newFlatArguments makes them; they do not change.
type flatArguments struct {
	places []place
	// required are the groups that the request needs even without a member.
	required []string
	// bodyNeeds are the arguments that a body needs that is itself optional.
	bodyNeeds []string
}

// newFlatArguments returns the arguments of a request, without the fixed ones. whole is the schema of path, query,
// headers and body.
func newFlatArguments(whole value.Value, fixed *value.Map) *flatArguments {
	f := &flatArguments{}
	properties, _ := whole.Get("properties")
	needed, _ := whole.Get("required")
	for _, group := range groups {
		s, isTaken := properties.Get(group)
		given, isFixed := fixed.Get(group)
		isWholeFixed := isFixed && given.Kind() != value.Object
		if !isTaken || isWholeFixed {
			continue
		}
		isRequired := slices.ContainsFunc(needed.List(), func(v value.Value) bool { return v.PlainText() == group })
		if isRequired {
			f.required = append(f.required, group)
		}
		f.addGroup(whole, group, s, fixed, isRequired)
	}
	f.distinguish()
	return f
}

// addGroup adds the arguments of one group: its members if it has named ones, else the group as a whole.
func (f *flatArguments) addGroup(whole value.Value, group string, s value.Value, fixed *value.Map, isRequired bool) {
	given, isFixed := fixed.Get(group)
	_, isNamed := s.Get("properties")
	switch {
	case group == "path" && !isNamed:
		f.addPlaceholders(fixed)
		return
	case group == "headers" && !isNamed: // a model adds no headers of its own
		return
	case group == "body":
		if resolved := mergeMembers(whole, s, maxMerges); hasOnlyMembers(resolved) {
			s = resolved
		} else {
			f.places = append(f.places, place{argument: group, group: group, schema: s, isRequired: isRequired && !isFixed})
			return
		}
	case !isNamed:
		f.places = append(f.places, place{argument: group, group: group, schema: s, isRequired: isRequired && !isFixed})
		return
	case group == "headers":
		given = value.OfMap(fixedHeaders(s, fixed))
	}
	left := withoutFixed(s, given.Map())
	members, _ := left.Get("properties")
	needed, _ := left.Get("required")
	isOptionalBody := group == "body" && !isRequired && !isFixed
	for name, member := range members.Map().All() {
		isNeeded := slices.ContainsFunc(needed.List(), func(v value.Value) bool { return v.PlainText() == name })
		if isNeeded && isOptionalBody {
			f.bodyNeeds = append(f.bodyNeeds, name)
		}
		f.places = append(f.places, place{argument: name, group: group, name: name, schema: member, isRequired: isNeeded && !isOptionalBody})
	}
}

var placeholder = regexp.MustCompile(`\{([^{}]+)\}`)

// addPlaceholders adds the names in the braces of a url, for example id of https://api.example.com/orders/{id}.
func (f *flatArguments) addPlaceholders(fixed *value.Map) {
	target, _ := fixed.Get("url")
	given, _ := fixed.Get("path")
	for _, m := range placeholder.FindAllStringSubmatch(target.PlainText(), -1) {
		isAdded := slices.ContainsFunc(f.places, func(p place) bool { return p.name == m[1] })
		if _, isFixed := given.Get(m[1]); !isFixed && !isAdded {
			f.places = append(f.places, place{argument: m[1], group: "path", name: m[1], schema: value.OfMap(value.Pairs("type", "string")), isRequired: true})
		}
	}
}

// fixedHeaders returns the headers that the model does not give, spelt as in the schema: the headers of with,
// which may use any case, and the header of the idempotency key.
func fixedHeaders(s value.Value, fixed *value.Map) *value.Map {
	headers, _ := fixed.Get("headers")
	names := headers.Map().Keys()
	if key, has := fixed.Get("idempotency_header"); has {
		names = append(names, key.PlainText())
	}
	members, _ := s.Get("properties")
	given := value.NewMap(len(names))
	for known := range members.Map().All() {
		if slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, known) }) {
			given.Set(known, value.Value{})
		}
	}
	return given
}

// followRefs returns the schema that a schema is a reference to, or only adds a description to.
func followRefs(whole, s value.Value) value.Value {
	for range maxRefs {
		ref, refers := s.Get("$ref")
		all, _ := s.Get("allOf")
		switch {
		case refers:
			pointer, err := url.PathUnescape(strings.TrimPrefix(ref.PlainText(), "#"))
			target, known := whole.At(pointer)
			if err != nil || !known {
				return s
			}
			s = target
		case len(all.List()) == 1 && hasOnly(s, slices.Concat(annotations, []string{"allOf"})):
			s = all.List()[0]
		default:
			return s
		}
	}
	return s
}

// maxRefs and maxMerges bound how deep references and allOf lead.
const (
	maxRefs   = 16
	maxMerges = 8
)

// mergeMembers returns an object that several schemas describe together as one with all their members. For example an
// order with its customer may be allOf an order and {properties: {customer: ...}}. Any other schema stays as it is.
func mergeMembers(whole, s value.Value, depth int) value.Value {
	s = followRefs(whole, s)
	all, isList := s.Get("allOf")
	if !isList || depth == 0 || !hasOnly(s, slices.Concat(annotations, []string{"allOf", "type", "properties", "required"})) {
		return s
	}
	own := s.Map().Clone()
	own.Delete("allOf")
	own.Set("type", value.OfString("object"))
	if _, has := own.Get("properties"); !has {
		own.Set("properties", value.OfMap(nil))
	}
	members, required := value.NewMap(4), []value.Value(nil)
	for _, part := range append(slices.Clone(all.List()), value.OfMap(own)) {
		part = mergeMembers(whole, part, depth-1)
		_, isClosed := part.Get("additionalProperties") // it would close the others too
		isOwn := value.Equal(part, value.OfMap(own))
		if isClosed || !isOwn && !hasOnlyMembers(part) {
			return s
		}
		properties, _ := part.Get("properties")
		for name, member := range properties.Map().All() {
			if before, has := members.Get(name); has && !value.Equal(before, member) {
				member = value.OfMap(value.Pairs("allOf", []value.Value{before, member}))
			}
			members.Set(name, member)
		}
		needed, _ := part.Get("required")
		required = append(required, needed.List()...)
	}
	own.Set("properties", value.OfMap(members))
	own.Set("required", value.OfList(required...))
	return value.OfMap(own)
}

// annotations are keywords that do not restrict values.
var annotations = []string{"title", "description", "default", "example", "examples", "deprecated", "$comment"}

// hasOnlyMembers reports whether the members of an object say all about it. It is false for a body with alternatives,
// conditions or free members, which the model has to give as a whole.
func hasOnlyMembers(s value.Value) bool {
	kind, _ := s.Get("type")
	properties, _ := s.Get("properties")
	more, isSaid := s.Get("additionalProperties")
	if isSaid && more.JSON() != "false" {
		return false
	}
	isObject := kind.PlainText() == "object" && properties.Map().Len() > 0
	return isObject && hasOnly(s, slices.Concat(annotations, []string{"type", "properties", "required", "additionalProperties"}))
}

// hasOnly reports whether a schema has no keywords but these and vendors' own, such as x-order.
func hasOnly(s value.Value, keywords []string) bool {
	return !slices.ContainsFunc(s.Map().Keys(), func(key string) bool {
		return !slices.Contains(keywords, key) && !strings.HasPrefix(key, "x-")
	})
}

// distinguish gives arguments of the same name the place as prefix. A whole group keeps its name.
func (f *flatArguments) distinguish() {
	count := map[string]int{}
	for _, p := range f.places {
		count[p.argument]++
	}
	for i, p := range f.places {
		if p.name == "" || count[p.name] == 1 {
			continue
		}
		name := p.name
		for count[name] > 0 {
			name = prefixes[p.group] + name
		}
		count[name]++
		f.places[i].argument = name
		if at := slices.Index(f.bodyNeeds, p.name); p.group == "body" && at >= 0 {
			f.bodyNeeds[at] = name
		}
	}
}

// schemaOf returns the schema of the arguments; whole is the schema that they were made of.
func (f *flatArguments) schemaOf(whole value.Value) value.Value {
	properties, required := value.NewMap(len(f.places)), []value.Value{}
	for _, p := range f.places {
		properties.Set(p.argument, p.schema)
		if p.isRequired {
			required = append(required, value.OfString(p.argument))
		}
	}
	m := value.NewMap(6)
	if draft, has := whole.Get("$schema"); has {
		m.Set("$schema", draft)
	}
	m.Set("type", value.OfString("object"))
	m.Set("properties", value.OfMap(properties))
	if len(required) > 0 {
		m.Set("required", value.OfList(required...))
	}
	m.Set("additionalProperties", value.OfBool(false))
	definitions, _ := whole.Get("definitions")
	used := value.NewMap(0)
	addReferred(used, definitions, value.OfMap(properties))
	if used.Len() > 0 {
		m.Set("definitions", value.OfMap(used))
	}
	return value.OfMap(m)
}

// addReferred adds the definitions that a schema refers to, directly or through other definitions.
func addReferred(used *value.Map, definitions, s value.Value) {
	for _, item := range s.List() {
		addReferred(used, definitions, item)
	}
	for key, member := range s.Map().All() {
		ref, isText := member.Str()
		if key != "$ref" || !isText {
			addReferred(used, definitions, member)
			continue
		}
		name, err := url.PathUnescape(value.Unescape(strings.TrimPrefix(ref, "#/definitions/")))
		definition, known := definitions.Get(name)
		if _, has := used.Get(name); err == nil && known && !has {
			used.Set(name, definition)
			addReferred(used, definitions, definition)
		}
	}
}

// check returns the arguments that are missing from a body that is optional as a whole: it is sent complete or not at all.
func (f *flatArguments) check(arguments value.Value) (problems schema.Problems) {
	has := func(name string) bool { _, given := arguments.Get(name); return given }
	isSent := slices.ContainsFunc(f.places, func(p place) bool { return p.group == "body" && has(p.argument) })
	if !isSent {
		return nil
	}
	for _, name := range f.bodyNeeds {
		if !has(name) {
			problems = append(problems, schema.Problem{Pointer: "/" + value.Escape(name), Keyword: "required"}.WithMessage("the required property %q is missing", name))
		}
	}
	return problems
}

// request returns the parameters of the call http for the arguments.
func (f *flatArguments) request(arguments value.Value) value.Value {
	m := value.NewMap(len(groups))
	for _, group := range f.required {
		if !slices.ContainsFunc(f.places, func(p place) bool { return p.group == group && p.name == "" }) {
			m.Set(group, value.OfMap(nil))
		}
	}
	for _, p := range f.places {
		v, given := arguments.Get(p.argument)
		switch {
		case !given:
		case p.name == "":
			m.Set(p.group, v)
		default:
			group, _ := m.Get(p.group)
			members := group.Map().Clone()
			if members == nil {
				members = value.NewMap(1)
			}
			members.Set(p.name, v)
			m.Set(p.group, value.OfMap(members))
		}
	}
	return value.OfMap(m)
}

// takeFlat gives a tool the arguments of a request, one by one unless the tool spells out path, query, headers and body.
// whole is the schema of these.
func (t toolPlan) takeFlat(whole value.Value, made *tool) (err error) {
	flat := newFlatArguments(whole, t.with)
	if t.parameters == nil {
		made.flat = flat
		made.parameters, err = schema.Parse(flat.schemaOf(whole))
		return err
	}
	made.parameters, err = t.givenSchema()
	if err != nil || t.writesGroups(flat) {
		return err
	}
	properties, _ := t.parameters.Get("properties")
	made.flat, err = flat.only(properties.Map(), t.with)
	return err
}

// writesGroups reports whether the tool spells its arguments out as the call http takes them: path, query,
// headers, body. A body that is not an object may also be a member with that name, as in an API of issues with a
// title and a body.
func (t toolPlan) writesGroups(flat *flatArguments) bool {
	hasMember := slices.ContainsFunc(flat.places, func(p place) bool { return p.argument == "body" && p.name != "" })
	properties, _ := t.parameters.Get("properties")
	for name, s := range properties.Map().All() {
		kind, isSaid := s.Get("type")
		isObject := !isSaid || kind.PlainText() == "object"
		isWholeBody := name == "body" && !hasMember
		if !slices.Contains(groups, name) || !isObject && !isWholeBody {
			return false
		}
	}
	return true
}

// only leaves the arguments that the tool spells out by their names. A name that the operation does not have is an
// error. Without an operation, names that are not in the url belong to the query, or to the body if the method has
// one; so do query and body themselves unless they are objects: a search often has an argument query.
func (f *flatArguments) only(properties, with *value.Map) (*flatArguments, error) {
	_, isOperation := with.Get("operation")
	kept := &flatArguments{required: f.required}
	for name, s := range properties.All() {
		at := f.index(name)
		kind, _ := s.Get("type")
		isGroup := at >= 0 && f.places[at].name == "" && kind.PlainText() == "object"
		switch {
		case at >= 0 && (isOperation || isGroup || f.places[at].name != ""):
			kept.places = append(kept.places, f.places[at])
		case isOperation:
			return nil, calls.Errorf(calls.Invalid, "parameters: %w", f.find(name))
		default:
			kept.places = append(kept.places, place{argument: name, group: usualGroup(with), name: name, schema: s})
		}
	}
	return kept, nil
}

// index returns the place of an argument; -1 if no argument has that name.
func (f *flatArguments) index(name string) int {
	return slices.IndexFunc(f.places, func(p place) bool { return p.argument == name })
}

// find returns an error if no argument has that name.
func (f *flatArguments) find(name string) error {
	if f.index(name) >= 0 {
		return nil
	}
	known := make([]string, len(f.places))
	for i, p := range f.places {
		known[i] = p.argument
	}
	return calls.Errorf(calls.Invalid, "the operation has no argument %q for the model", name).WithHint("%s", value.DidYouMeanOrList(name, known))
}

// usualGroup returns the place of an argument if only its name is known: body for POST, PUT and PATCH, else query.
func usualGroup(with *value.Map) string {
	method, _ := with.Get("method")
	if slices.Contains([]string{"POST", "PUT", "PATCH"}, method.PlainText()) {
		return "body"
	}
	return "query"
}

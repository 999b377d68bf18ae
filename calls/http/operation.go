package http

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/http/openapi"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// findOperation returns the operation that the parameters name; nil if they name none.
func (p Params) findOperation(env *calls.Env) (*openapi.Operation, error) {
	if p.Operation == "" {
		return nil, nil
	}
	doc, file := p.OpenAPI, "openapi"
	if name, isFile := doc.Str(); isFile {
		var err error
		doc, err = loadDocument(env.Dir, name)
		var fault *yaml.Error
		if errors.As(err, &fault) {
			return nil, calls.Errorf(calls.Invalid, "%s:%w", name, err)
		}
		if err != nil {
			return nil, calls.Errorf(calls.KindOf(err), "openapi: %w", err).WithHint("%s", calls.HintOf(err))
		}
		file = name
	}
	op, err := openapi.Find(doc, p.Operation)
	if err != nil {
		return nil, calls.Errorf(calls.Invalid, "%s: %w", file, err)
	}
	if env == nil || env.IdempotencyKey() != "" {
		waiveHeader(op, p.KeyHeader)
	}
	return op, nil
}

// waiveHeader lets a request go without a header that its document requires: the program gives it.
func waiveHeader(op *openapi.Operation, name string) {
	if p := findParameter(op, "header", name); p != nil {
		p.Required = false
	}
}

// loadDocument reads a document beside the flow or below. A syntax error in its text is a [*yaml.Error].
func loadDocument(dir, name string) (value.Value, error) {
	if strings.Contains(name, "://") {
		return value.Value{}, calls.Errorf(calls.Invalid, "%s is not a file", name).
			WithHint("keep the document beside the flow")
	}
	if filepath.IsAbs(name) {
		absolute, err := filepath.Abs(dir)
		if err != nil {
			return value.Value{}, calls.Errorf(calls.Internal, "finding the folder of the flow: %w", err)
		}
		if rel, err := filepath.Rel(absolute, name); err == nil {
			name = rel
		}
	}
	local := filepath.Clean(filepath.FromSlash(name))
	if !filepath.IsLocal(local) {
		return value.Value{}, calls.Errorf(calls.Invalid, "%s is outside of the folder of the flow", name).
			WithHint("keep the document beside the flow")
	}
	doc, err := readDocument(dir, local)
	if errors.Is(err, fs.ErrNotExist) {
		return value.Value{}, calls.Errorf(calls.NotFound, "there is no file %s", name).
			WithHint("paths start at the folder of the flow")
	}
	var fault *yaml.Error
	if errors.As(err, &fault) {
		return value.Value{}, err
	}
	if err != nil {
		return value.Value{}, calls.Errorf(calls.Invalid, "reading %s: %w", name, err)
	}
	return doc, nil
}

// narrowSchema returns the schema of the parameters that may still be found out: path, query and body, with an
// operation as that describes them, and its headers. The author of the flow decides the address and the method of
// a request: of the other parameters it has only the given ones, and url if nothing else names the address.
func narrowSchema(all *schema.Schema, env *calls.Env, params value.Value) (*schema.Schema, error) {
	var p Params
	if err := value.Decode(params, &p); err != nil {
		return nil, calls.Errorf(calls.Invalid, "parameters of http: %w", err)
	}
	open := []string{"path", "query", "body"}
	var arguments value.Value
	doc := value.Pairs("type", "object")
	if p.Operation != "" && !p.OpenAPI.IsNull() {
		op, err := p.findOperation(env)
		if err != nil {
			return nil, err
		}
		if text := describeParams(op); text != "" {
			doc.Set("description", value.OfString(text))
		}
		arguments, open = op.Arguments(), nil
	} else if p.URL == "" {
		open = append(open, "url")
		doc.Set("required", value.OfList(value.OfString("url")))
	}
	own, _ := arguments.Get("properties")
	properties := value.NewMap(8)
	for name, s := range memberOf(all.Doc(), "properties").Map().All() {
		given, isGiven := params.Get(name)
		if narrow, has := own.Get(name); has {
			properties.Set(name, withDefaultObjects(onlyWith(narrow, name, given)))
		} else if isGiven || slices.Contains(open, name) {
			properties.Set(name, s)
		}
	}
	doc.Set("properties", value.OfMap(properties))
	doc.Set("additionalProperties", value.OfBool(false))
	if v, has := arguments.Get("required"); has {
		doc.Set("required", v)
	}
	if v, has := arguments.Get("$schema"); has {
		doc.Set("$schema", v)
	}
	if v, has := arguments.Get("definitions"); has {
		doc.Set("definitions", value.OfMap(eachWithDefaultObjects(v.Map())))
	}
	s, err := schema.Parse(value.OfMap(doc))
	if err != nil {
		return nil, calls.Errorf(calls.Invalid, "the parameters of the operation %s: %w", p.Operation, err)
	}
	return s, nil
}

// maxDescription bounds the document's text about an operation that a model is shown, in bytes.
const maxDescription = 2000

// describeParams returns the document's text about an operation: the summary, then the rest of the description.
func describeParams(op *openapi.Operation) string {
	text := strings.TrimSpace(op.Description)
	if !strings.HasPrefix(text, strings.TrimSpace(op.Summary)) {
		text = strings.TrimSpace(op.Summary + "\n" + text)
	}
	return value.Truncate(text, maxDescription)
}

// onlyWith closes the schema of path, query or headers. Members given beside the operation's own parameters, for
// example a key, stay allowed.
func onlyWith(s value.Value, name string, given value.Value) value.Value {
	if name == "body" {
		return s
	}
	known := memberOf(s, "properties").Map().Clone()
	for key := range given.Map().All() {
		if _, has := known.Get(key); !has {
			known.Set(key, value.OfMap(nil))
		}
	}
	m := s.Map().Clone()
	m.Set("properties", value.OfMap(known))
	m.Set("additionalProperties", value.OfBool(false))
	return value.OfMap(m)
}

// withDefaultObjects returns objects that must have certain members with an empty default. If the values of such
// an object are not known, it starts empty, and people are asked for its members one by one.
func withDefaultObjects(s value.Value) value.Value {
	if s.Kind() != value.Object {
		return s
	}
	m := s.Map().Clone()
	if properties := memberOf(s, "properties"); properties.Kind() == value.Object {
		m.Set("properties", value.OfMap(eachWithDefaultObjects(properties.Map())))
	}
	kind, _ := memberOf(s, "type").Str()
	if _, has := m.Get("default"); !has && kind == "object" && len(memberOf(s, "required").List()) > 0 {
		m.Set("default", value.OfMap(nil))
	}
	return value.OfMap(m)
}

func eachWithDefaultObjects(schemas *value.Map) *value.Map {
	m := value.NewMap(schemas.Len())
	for name, s := range schemas.All() {
		m.Set(name, withDefaultObjects(s))
	}
	return m
}

func memberOf(v value.Value, key string) value.Value {
	m, _ := v.Get(key)
	return m
}

// checkRefused returns an error if the request gives, or needs, a parameter that the operation's document
// describes in a wrong or unsupported way.
func (in Input) checkRefused(op *openapi.Operation) error {
	for _, q := range op.Refused {
		if in.has(q) || q.Required {
			return in.refusal(q)
		}
	}
	return nil
}

// has reports whether the request has a parameter, or the body.
func (in Input) has(q openapi.Refused) bool {
	var given value.Value // null leaves a parameter out
	switch q.In {
	case "path":
		given, _ = in.Path.Get(q.Name)
	case "query":
		given, _ = in.Query.Get(q.Name)
	case "header":
		given, _ = lookupHeader(in.Headers, q.Name)
	case "body":
		given = in.Body
	}
	return !given.IsNull()
}

// refusal returns the error of a request that gives, or needs, a parameter that the document describes wrongly.
func (in Input) refusal(q openapi.Refused) error {
	return calls.Errorf(calls.Invalid, "the operation %s cannot be used so: %w", in.Operation, q.Err).
		WithHint("mend the document, or leave out what it describes wrongly")
}

// checkParams checks the request against the operation.
func (in Input) checkParams(op *openapi.Operation) error {
	if err := in.checkRefused(op); err != nil {
		return err
	}
	problems, err := in.findMisfits(op)
	if err != nil {
		return err
	}
	if problems != nil {
		kind := calls.Missing
		for _, problem := range problems {
			if problem.Keyword != "required" {
				kind = calls.Invalid
			}
		}
		return calls.Errorf(kind, "the parameters do not fit the operation %s: %w", in.Operation, problems)
	}
	cookie, _ := lookupHeader(in.Headers, "Cookie")
	for _, name := range op.Cookies {
		if text, _ := cookie.Str(); !strings.Contains(text, name+"=") {
			return calls.Errorf(calls.Missing, "the operation %s needs the cookie %s", in.Operation, name).
				WithHint("give it as headers: {Cookie: %s=...}", name)
		}
	}
	return nil
}

// findMisfits returns the parts of path, query, headers and body that do not fit the schemas of the operation, or
// are missing. The error is about schemas that cannot be used.
func (in Input) findMisfits(op *openapi.Operation) (schema.Problems, error) {
	s, err := schema.Parse(op.Arguments())
	if err != nil {
		return nil, calls.Errorf(calls.Invalid, "the parameters of the operation %s: %w", in.Operation, err)
	}
	given := value.NewMap(4)
	for _, group := range []struct {
		in, name string
		m        *value.Map
	}{{"path", "path", in.Path}, {"query", "query", in.Query}, {"header", "headers", in.Headers}} {
		needed := false
		for _, q := range op.Parameters {
			needed = needed || q.In == group.in
		}
		if group.m != nil || needed { // {} shows more precisely which member is missing
			given.Set(group.name, value.OfMap(withoutNulls(op, group.in, withSpelling(op, group.in, group.m))))
		}
	}
	if !in.Body.IsNull() {
		given.Set("body", in.Body)
	}
	return s.Check(value.OfMap(given)), nil
}

// withSpelling returns headers, whose case does not matter, under the operation's names.
func withSpelling(op *openapi.Operation, group string, m *value.Map) *value.Map {
	if group != "header" {
		return m
	}
	out := m.Clone()
	for _, q := range op.Parameters {
		if v, has := lookupHeader(m, q.Name); has && q.In == "header" {
			out.Set(q.Name, v)
		}
	}
	return out
}

// withoutNulls returns a group without the parameters that null leaves out. One that the operation requires stays: its
// schema says whether null will do.
func withoutNulls(op *openapi.Operation, in string, m *value.Map) *value.Map {
	out := value.NewMap(m.Len())
	for name, v := range m.All() {
		p := findParameter(op, in, name)
		isLeftOut := v.IsNull() && p != nil && !p.Required
		if !isLeftOut {
			out.Set(name, v)
		}
	}
	return out
}

// lookupHeader finds a header.
func lookupHeader(headers *value.Map, name string) (value.Value, bool) {
	for key, v := range headers.All() {
		if strings.EqualFold(key, name) {
			return v, true
		}
	}
	return value.Value{}, false
}

var errNoScalar = wording.Errorf("want a text, a number, a boolean or a list of them")

// Package openapi reads one operation of an OpenAPI 3.0 or 3.1 document: where it
// goes, what parameters and what body it takes, as JSON Schemas of draft 7.
package openapi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/value"
)

// Operation is one thing that an API does.
type Operation struct {
	// ID is the operationId; "" where the document gives none.
	ID string
	// Method is in capitals, Path has its {placeholders}.
	Method, Path string
	// Server is the URL that Path is appended to, with its variables filled in; it
	// may be relative, or "".
	Server string
	// Summary says what it does, Description says it at length, often in Markdown; ""
	// where the document does not.
	Summary, Description string
	// Parameters are those of path, query and header. Headers that the protocol
	// itself knows (Accept, Content-Type, Authorization) are not among them.
	Parameters []Parameter
	// Cookies are the names of required cookies.
	Cookies []string
	// Body is nil where the operation takes none.
	Body *Body
	// definitions are the schemas that those above refer to.
	definitions *value.Map
}

// Parameter is one parameter of an operation that is not in its body.
type Parameter struct {
	Name string
	// In is path, query or header.
	In       string
	Required bool
	// Style and Explode say how lists and objects are written: form, simple,
	// spaceDelimited, pipeDelimited or deepObject.
	Style   string
	Explode bool
	// JSON says that the value is written as JSON text.
	JSON bool
	// Schema is that of the value, with its description.
	Schema value.Value
}

// Body is the body of a request.
type Body struct {
	ContentType string
	Required    bool
	Schema      value.Value
}

var methods = []string{"get", "put", "post", "delete", "options", "head", "patch", "trace"}

// Find reads the operation of a document that name names: its operationId, or
// METHOD /path. The error says what is there instead.
func Find(doc value.Value, name string) (*Operation, error) {
	version, _ := doc.Get("openapi")
	text, isText := version.Str()
	if !isText || !strings.HasPrefix(text, "3.") {
		if old, ok := doc.Get("swagger"); ok {
			return nil, fmt.Errorf("the document is of version %s; only OpenAPI 3.0 and 3.1 are read: convert it", old)
		}
		return nil, fmt.Errorf("this is no OpenAPI 3 document: it has no member openapi: 3.x")
	}
	r := &reader{doc: doc, old: strings.HasPrefix(text, "3.0"), names: map[string]string{}, definitions: value.NewMap(0)}
	paths, _ := doc.Get("paths")
	var known []string
	var found func() (*Operation, error)
	place := ""
	for path, item := range paths.Map().All() {
		item, err := r.followRef(item)
		if err != nil {
			continue // it is not the one that is looked for, as far as anybody can tell
		}
		for _, method := range methods {
			op, ok := item.Get(method)
			if !ok {
				continue
			}
			id, short := stringMember(op, "operationId"), strings.ToUpper(method)+" "+path
			switch {
			case name == short:
				return r.readOperation(method, path, item, op)
			case name == id && id != "" && found != nil:
				return nil, fmt.Errorf("%s and %s are both the operation %q: name it as METHOD /path", place, short, name)
			case name == id && id != "":
				place, found = short, func() (*Operation, error) { return r.readOperation(method, path, item, op) }
			}
			if id == "" {
				id = short
			}
			known = append(known, id)
		}
	}
	if found != nil {
		return found()
	}
	return nil, unknownOperation(name, known)
}

func unknownOperation(name string, known []string) error {
	if hint := value.DidYouMeanSuffix(name, known); hint != "" {
		return fmt.Errorf("there is no operation %q%s", name, hint)
	}
	if len(known) == 0 {
		return fmt.Errorf("there is no operation %q: the document has none", name)
	}
	more := ""
	if len(known) > 10 {
		known, more = known[:10], " ..."
	}
	return fmt.Errorf("there is no operation %q (there are %s%s)", name, strings.Join(known, ", "), more)
}

// readOperation reads one operation of a path item.
func (r *reader) readOperation(method, path string, item, op value.Value) (*Operation, error) {
	o := &Operation{ID: stringMember(op, "operationId"), Method: strings.ToUpper(method), Path: path, Summary: stringMember(op, "summary"), Description: stringMember(op, "description")}
	for _, level := range []value.Value{op, item, r.doc} {
		if servers, _ := level.Get("servers"); len(servers.List()) > 0 {
			o.Server = serverURL(servers.List()[0])
			break
		}
	}
	if err := r.readParameters(o, item, op); err != nil {
		return nil, fmt.Errorf("the operation %s %s: %w", o.Method, path, err)
	}
	body, ok := op.Get("requestBody")
	if ok {
		var err error
		if o.Body, err = r.readBody(body); err != nil {
			return nil, fmt.Errorf("the body of %s %s: %w", o.Method, path, err)
		}
	}
	o.definitions = r.definitions
	return o, nil
}

// serverURL returns a server's URL with the defaults of its variables.
func serverURL(s value.Value) string {
	url := stringMember(s, "url")
	variables, _ := s.Get("variables")
	for name, v := range variables.Map().All() {
		url = strings.ReplaceAll(url, "{"+name+"}", stringMember(v, "default"))
	}
	return url
}

// readParameters reads those of the path, and those of the operation, which win.
func (r *reader) readParameters(o *Operation, item, op value.Value) error {
	for _, level := range []value.Value{item, op} {
		list, _ := level.Get("parameters")
		for i, given := range list.List() {
			p, err := r.readParameter(given)
			if err != nil {
				return fmt.Errorf("parameter %d: %w", i, err)
			}
			if p.In == "cookie" {
				if p.Required && !slices.Contains(o.Cookies, p.Name) {
					o.Cookies = append(o.Cookies, p.Name)
				}
				continue
			}
			if p.In == "header" && slices.Contains([]string{"accept", "content-type", "authorization"}, strings.ToLower(p.Name)) {
				continue
			}
			at := slices.IndexFunc(o.Parameters, func(q Parameter) bool { return q.Name == p.Name && q.In == p.In })
			if at >= 0 {
				o.Parameters[at] = p
			} else {
				o.Parameters = append(o.Parameters, p)
			}
		}
	}
	return nil
}

func (r *reader) readParameter(given value.Value) (Parameter, error) {
	given, err := r.followRef(given)
	if err != nil {
		return Parameter{}, err
	}
	p := Parameter{Name: stringMember(given, "name"), In: stringMember(given, "in"), Style: stringMember(given, "style")}
	usual, ok := map[string]string{"path": "simple", "header": "simple", "query": "form", "cookie": "form"}[p.In]
	switch {
	case p.Name == "":
		return p, fmt.Errorf("it has no name")
	case !ok:
		return p, fmt.Errorf("%s is in %q, which is none of path, query, header and cookie", p.Name, p.In)
	case p.Style == "":
		p.Style = usual
	case !slices.Contains([]string{"simple", "form", "spaceDelimited", "pipeDelimited", "deepObject"}, p.Style):
		return p, fmt.Errorf("%s has the style %q, which is not supported", p.Name, p.Style)
	}
	p.Required = boolMember(given, "required", p.In == "path")
	p.Explode = boolMember(given, "explode", p.Style == "form" || p.Style == "deepObject")
	s, _ := given.Get("schema")
	content, _ := given.Get("content")
	for kind, media := range content.Map().All() {
		p.JSON = isJSON(kind)
		s, _ = media.Get("schema")
		break
	}
	if p.Schema, err = r.readSchema(s, 0); err != nil {
		return p, fmt.Errorf("%s: %w", p.Name, err)
	}
	p.Schema = withDescription(p.Schema, stringMember(given, "description"))
	return p, nil
}

// readBody reads the body of the first kind that can be sent: JSON, a form, a text.
func (r *reader) readBody(given value.Value) (*Body, error) {
	given, err := r.followRef(given)
	if err != nil {
		return nil, err
	}
	b := &Body{Required: boolMember(given, "required", false)}
	content, _ := given.Get("content")
	best := 4
	var s value.Value
	for kind, media := range content.Map().All() {
		if rank := rankOf(kind); rank < best {
			best, b.ContentType = rank, kind
			s, _ = media.Get("schema")
		}
	}
	if best == 4 {
		if !b.Required {
			return nil, nil
		}
		return nil, fmt.Errorf("none of the kinds %s can be sent", strings.Join(content.Map().Keys(), ", "))
	}
	if strings.Contains(b.ContentType, "*") {
		b.ContentType = "application/json"
	}
	if b.Schema, err = r.readSchema(s, 0); err != nil {
		return nil, err
	}
	b.Schema = withDescription(b.Schema, stringMember(given, "description"))
	return b, nil
}

func rankOf(kind string) int {
	switch kind, _, _ := strings.Cut(strings.ToLower(kind), ";"); {
	case isJSON(kind), kind == "*/*", kind == "application/*":
		return 0
	case kind == "application/x-www-form-urlencoded":
		return 1
	case strings.HasPrefix(kind, "text/"), strings.HasSuffix(kind, "xml"):
		return 2
	}
	return 4
}

func isJSON(kind string) bool {
	kind, _, _ = strings.Cut(strings.ToLower(kind), ";")
	return kind == "application/json" || strings.HasSuffix(kind, "+json")
}

// withDescription adds a description to a schema that has none.
func withDescription(s value.Value, text string) value.Value {
	if _, has := s.Get("description"); has || text == "" || s.Kind() != value.Object {
		return s
	}
	if _, refers := s.Get("$ref"); refers { // in draft 7, $ref hides what stands beside it
		return value.OfMap(value.Pairs("allOf", []value.Value{s}, "description", text))
	}
	m := s.Map().Clone()
	m.Set("description", value.OfString(text))
	return value.OfMap(m)
}

// Arguments returns the schema of an object {path, query, headers, body} of what the
// operation takes. It is closed neither for query nor for headers: keys of an API
// travel there that no operation names.
func (o *Operation) Arguments() value.Value {
	properties, required := value.NewMap(4), []string{}
	add := func(name string, s value.Value, needed bool) {
		properties.Set(name, s)
		if needed {
			required = append(required, name)
		}
	}
	for _, group := range []struct{ in, name, doc string }{
		{"path", "path", "Values of the placeholders in the path."},
		{"query", "query", "Parameters of the query."},
		{"header", "headers", "Headers of the request."},
	} {
		members, needed := value.NewMap(4), []string{}
		for _, p := range o.Parameters {
			if p.In != group.in {
				continue
			}
			members.Set(p.Name, p.Schema)
			if p.Required {
				needed = append(needed, p.Name)
			}
		}
		if members.Len() > 0 {
			add(group.name, value.OfMap(value.Pairs("type", "object", "description", group.doc,
				"properties", members, "required", needed)), len(needed) > 0)
		}
	}
	if o.Body != nil {
		add("body", o.Body.Schema, o.Body.Required)
	}
	s := value.Pairs("type", "object", "properties", properties, "required", required)
	if o.definitions.Len() > 0 {
		s.Set("definitions", value.OfMap(o.definitions))
	}
	return value.OfMap(s)
}

func stringMember(v value.Value, key string) string {
	member, _ := v.Get(key)
	text, _ := member.Str()
	return text
}

func boolMember(v value.Value, key string, otherwise bool) bool {
	member, _ := v.Get(key)
	if b, ok := member.Bool(); ok {
		return b
	}
	return otherwise
}

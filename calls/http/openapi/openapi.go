// Package openapi reads one operation of an OpenAPI 3.0 or 3.1 document, or one of Swagger 2.0: its address, its
// parameters and its body, as JSON Schemas. For example, GET /pets/{id} has the required path parameter id.
package openapi

import (
	"cmp"
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Operation is one thing that an API does. [Find] makes it; it does not change.
type Operation struct {
	// ID is the operationId; "" if the document has none.
	ID string
	// Method is in capitals, Path has its {placeholders}.
	Method, Path string
	// Server is the URL that Path is appended to, with its variables filled in; it
	// may be relative, or "", or have a {name} that no variable sets.
	Server string
	// Summary is the document's short description, Description the long one, often in Markdown; "" if it has none.
	Summary, Description string
	// Parameters are the parameters of path, query and header. Headers that the protocol itself knows (Accept,
	// Content-Type, Authorization) are not among them.
	Parameters []Parameter
	// Cookies are the names of required cookies.
	Cookies []string
	// Body is nil if the operation has none.
	Body *Body
	// Refused are the parameters that cannot be given, for the document describes them in
	// a way that is wrong or not supported.
	Refused []Refused
	// Warnings lists parts of the document that were ignored or reinterpreted; the operation still works.
	Warnings []error
	// definitions are the schemas that those above refer to.
	definitions *value.Map
	// draft is the $schema of all of them; "" for a schema without.
	draft string
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
	// Reserved reports whether characters such as / and : stay as they are.
	Reserved bool
	// JSON reports whether the value is written as JSON text.
	JSON bool
	// Schema is the schema of the value, with its description.
	Schema value.Value
}

// Body is the body of a request.
type Body struct {
	ContentType string
	Required    bool
	Schema      value.Value
	// Files are the members of a multipart form that are files, Types the content types
	// that the document has for its members.
	Files []string
	Types map[string]string
	// Styles say how members of a form are written, by their names: its Style and Explode
	// are set. Lists without one are written as several pairs.
	Styles map[string]Parameter
}

// Refused is a parameter that cannot be given, or the body.
type Refused struct {
	// Name is the name of the parameter; In is path, query, header or body, or "" if not even that is known.
	Name, In string
	Required bool
	// Err is why.
	Err error
}

var methods = []string{"get", "put", "post", "delete", "options", "head", "patch", "trace"}

// Find reads the operation of a document by its name: its operationId, or METHOD /path. The error lists the
// operations that exist.
func Find(doc value.Value, name string) (*Operation, error) {
	r, err := newReader(doc)
	if err != nil {
		return nil, err
	}
	paths, _ := doc.Get("paths")
	var known []string
	var found func() (*Operation, error)
	place, isMeant := "", false
	var unread error // of the path that is named, else of the first one that cannot be read
	for path, item := range paths.Map().All() {
		item, err := r.followRef(item)
		if err != nil {
			if isNamed := strings.HasSuffix(name, " "+path); unread == nil || isNamed {
				isMeant = isMeant || isNamed
				unread = wording.Errorf("there is no operation %q among those that can be read; the path %s cannot: %w", name, path, err)
			}
			continue // as far as is known, it is not the one that is looked for
		}
		for _, method := range methods {
			op, ok := item.Get(method)
			if !ok {
				continue
			}
			op, err = r.followRef(op)
			if err != nil {
				continue
			}
			id, short := stringMember(op, "operationId"), strings.ToUpper(method)+" "+path
			switch {
			case name == short:
				return r.readOperation(method, path, item, op)
			case name == id && id != "" && found != nil:
				return nil, wording.Errorf("%s and %s are both the operation %q: name it as METHOD /path", place, short, name)
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
	if unread != nil && (isMeant || len(known) == 0) {
		return nil, unread
	}
	return nil, unknownOperation(name, known)
}

func newReader(doc value.Value) (*reader, error) {
	r := &reader{doc: doc, names: map[string]string{}, definitions: value.NewMap(0)}
	version := stringMember(doc, "openapi")
	old, isOld := doc.Get("swagger")
	switch {
	case strings.HasPrefix(version, "3."):
		r.isOpenAPI30 = strings.HasPrefix(version, "3.0")
	case isSwagger2(doc):
		r.isSwagger, r.isOpenAPI30 = true, true
	case isOld:
		return nil, wording.Errorf("the document is of version %s; only OpenAPI 3.0 and 3.1 and Swagger 2.0 are read: convert it", old)
	default:
		return nil, wording.Errorf("this is not an OpenAPI 3 document: it has no member openapi: 3.x")
	}
	return r, nil
}

func unknownOperation(name string, known []string) error {
	if hint := value.DidYouMeanSuffix(name, known); hint.En != "" {
		return wording.Errorf("there is no operation %q%s", name, hint)
	}
	if len(known) == 0 {
		return wording.Errorf("there is no operation %q: the document has none", name)
	}
	more := ""
	if len(known) > 10 {
		known, more = known[:10], " ..."
	}
	return wording.Errorf("there is no operation %q (there are %s%s)", name, strings.Join(known, ", "), more)
}

// readOperation reads one operation of a path item.
func (r *reader) readOperation(method, path string, item, op value.Value) (*Operation, error) {
	o := &Operation{ID: stringMember(op, "operationId"), Method: strings.ToUpper(method), Path: path, Summary: stringMember(op, "summary"), Description: stringMember(op, "description"), draft: r.draft()}
	if r.isSwagger {
		r.readSwagger(o, item, op)
	} else {
		r.readOpenAPI(o, item, op)
	}
	o.definitions = r.usedDefinitions(o)
	if name := r.unknownDialect(); name != "" {
		o.Warnings = append(o.Warnings, wording.Errorf("the jsonSchemaDialect %q of the document is unknown; its schemas are read as draft 2020-12", name))
	}
	for _, pattern := range r.foreign {
		o.Warnings = append(o.Warnings, wording.Errorf("the pattern %q of the document is not checked: it cannot be used here (no lookaround, no back references, no repetition of more than 1000)", pattern))
	}
	return o, nil
}

// readOpenAPI reads the address and the parameters of an operation of OpenAPI 3.
func (r *reader) readOpenAPI(o *Operation, item, op value.Value) {
	for _, level := range []value.Value{op, item, r.doc} {
		if servers, _ := level.Get("servers"); len(servers.List()) > 0 {
			o.Server = serverURL(servers.List()[0])
			break
		}
	}
	r.readParameters(o, item, op)
	if body, ok := op.Get("requestBody"); ok {
		o.setBody(r.readBody(body))
	}
}

// setBody sets the body, or with an error that it cannot be given.
func (o *Operation) setBody(body *Body, err error) {
	if err != nil {
		o.Refused = append(o.Refused, Refused{"", "body", body != nil && body.Required, wording.Errorf("the body: %w", err)})
		return
	}
	o.Body = body
}

// serverURL returns a server's URL with the defaults of its variables, numbers among them. A
// {name} without a default stays.
func serverURL(s value.Value) string {
	url := stringMember(s, "url")
	variables, _ := s.Get("variables")
	for name, v := range variables.Map().All() {
		usual, _ := v.Get("default")
		text, isText := usual.Str()
		if usual.Kind() == value.Int {
			text, isText = usual.JSON(), true
		}
		if isText {
			url = strings.ReplaceAll(url, "{"+name+"}", text)
		}
	}
	return url
}

// readParameters reads the parameters of the path and of the operation, which win.
func (r *reader) readParameters(o *Operation, item, op value.Value) {
	for _, level := range []value.Value{item, op} {
		list, _ := level.Get("parameters")
		for i, given := range list.List() {
			p, err := r.readParameter(given)
			o.replaceParameter(i, p, err)
		}
	}
}

// replaceParameter adds a parameter, the index-th of its list, for any of the same name; with an error one that cannot be given.
func (o *Operation) replaceParameter(index int, p Parameter, err error) {
	isSame := func(name, in string) bool { return name == p.Name && in == p.In }
	o.Refused = slices.DeleteFunc(o.Refused, func(q Refused) bool { return isSame(q.Name, q.In) })
	if err != nil {
		o.Parameters = slices.DeleteFunc(o.Parameters, func(q Parameter) bool { return isSame(q.Name, q.In) })
		o.Refused = append(o.Refused, Refused{p.Name, p.In, p.Required, wording.Errorf("parameter %d: %w", index, err)})
		return
	}
	o.addParameter(p)
}

func (o *Operation) addParameter(p Parameter) {
	if p.In == "cookie" {
		if p.Required && !slices.Contains(o.Cookies, p.Name) {
			o.Cookies = append(o.Cookies, p.Name)
		}
		return
	}
	if p.In == "header" && slices.Contains([]string{"accept", "content-type", "authorization"}, strings.ToLower(p.Name)) {
		return
	}
	at := slices.IndexFunc(o.Parameters, func(q Parameter) bool { return q.Name == p.Name && q.In == p.In })
	if at >= 0 {
		o.Parameters[at] = p
	} else {
		o.Parameters = append(o.Parameters, p)
	}
}

func (r *reader) readParameter(given value.Value) (Parameter, error) {
	given, err := r.followRef(given)
	if err != nil {
		return Parameter{}, err
	}
	if r.isSwagger {
		given = upgradeParameter(given)
	}
	p := Parameter{Name: stringMember(given, "name"), In: stringMember(given, "in"), Style: stringMember(given, "style")}
	p.Required = boolMember(given, "required", p.In == "path")
	usual, ok := map[string]string{"path": "simple", "header": "simple", "query": "form", "cookie": "form"}[p.In]
	switch {
	case p.Name == "":
		return p, wording.Errorf("it has no name")
	case !ok:
		return p, wording.Errorf("%s is in %q, which is none of path, query, header and cookie", p.Name, p.In)
	case stringMember(given, "collectionFormat") != "":
		return p, wording.Errorf("%s has the collectionFormat %q, which is not supported", p.Name, stringMember(given, "collectionFormat"))
	case p.Style == "":
		p.Style = usual
	case !slices.Contains([]string{"simple", "form", "spaceDelimited", "pipeDelimited", "deepObject"}, p.Style):
		return p, wording.Errorf("%s has the style %q, which is not supported", p.Name, p.Style)
	}
	p.Reserved = boolMember(given, "allowReserved", false)
	p.Explode = boolMember(given, "explode", p.Style == "form" || p.Style == "deepObject")
	s, _ := given.Get("schema")
	content, _ := given.Get("content")
	for kind, media := range content.Map().All() {
		p.JSON = isJSON(kind)
		s, _ = media.Get("schema")
		break
	}
	p.Schema, err = r.readChecked(s)
	if err != nil {
		return p, wording.Errorf("%s: %w", p.Name, err)
	}
	p.Schema = withDescription(p.Schema, stringMember(given, "description"))
	return p, nil
}

// The ranks of kinds of bodies: the least is sent, and the last cannot be.
const (
	rankJSON = iota
	rankForm
	rankMultipart
	rankText
	unsendable
)

// readBody reads the body of the first kind that can be sent: JSON, a form, a form with files, a text. With an
// error it returns the known parts.
func (r *reader) readBody(given value.Value) (*Body, error) {
	given, err := r.followRef(given)
	if err != nil {
		return nil, err
	}
	b := &Body{Required: boolMember(given, "required", false)}
	content, _ := given.Get("content")
	best := unsendable
	var media value.Value
	for kind, x := range content.Map().All() {
		if rank := rankOf(kind); rank < best {
			best, b.ContentType, media = rank, kind, x
		}
	}
	if best == unsendable {
		if !b.Required {
			return nil, nil
		}
		return b, wording.Errorf("none of the kinds %s can be sent", strings.Join(content.Map().Keys(), ", "))
	}
	if strings.Contains(b.ContentType, "*") {
		b.ContentType = "application/json"
	}
	s, _ := media.Get("schema")
	b.Schema, err = r.readChecked(s)
	if err != nil {
		return b, err
	}
	r.readEncoding(b, s, media)
	b.Schema = withDescription(b.Schema, stringMember(given, "description"))
	return b, nil
}

// readEncoding finds the members of a form that are files, and the types of its members.
func (r *reader) readEncoding(b *Body, s, media value.Value) {
	s, err := r.followRef(s)
	if err != nil {
		return
	}
	properties, _ := s.Get("properties")
	for name, p := range properties.Map().All() {
		p, err = r.followRef(p)
		if err != nil {
			continue
		}
		_, isMedia := p.Get("contentMediaType")
		items, _ := p.Get("items")
		if stringMember(p, "format") == "binary" || stringMember(items, "format") == "binary" || isMedia {
			b.Files = append(b.Files, name)
		}
	}
	encoding, _ := media.Get("encoding")
	for name, e := range encoding.Map().All() {
		if kind := stringMember(e, "contentType"); kind != "" && !strings.ContainsAny(kind, "*,") {
			if b.Types == nil {
				b.Types = map[string]string{}
			}
			b.Types[name] = kind
		}
		_, hasStyle := e.Get("style")
		if _, hasExplode := e.Get("explode"); !hasStyle && !hasExplode {
			continue
		}
		style := cmp.Or(stringMember(e, "style"), "form")
		b.setStyle(name, style, boolMember(e, "explode", style == "form" || style == "deepObject"))
	}
}

// setStyle says how a member of a form is written.
func (b *Body) setStyle(name, style string, explode bool) {
	if b.Styles == nil {
		b.Styles = map[string]Parameter{}
	}
	b.Styles[name] = Parameter{Name: name, Style: style, Explode: explode}
}

func rankOf(kind string) int {
	switch kind, _, _ := strings.Cut(strings.ToLower(kind), ";"); {
	case isJSON(kind), kind == "*/*", kind == "application/*":
		return rankJSON
	case kind == "application/x-www-form-urlencoded":
		return rankForm
	case kind == "multipart/form-data":
		return rankMultipart
	case strings.HasPrefix(kind, "text/"), strings.HasSuffix(kind, "xml"):
		return rankText
	}
	return unsendable
}

func isJSON(kind string) bool {
	kind, _, _ = strings.Cut(strings.ToLower(kind), ";")
	return kind == "application/json" || kind == "text/json" || strings.HasSuffix(kind, "+json")
}

// withDescription adds a description to a schema that has none.
func withDescription(s value.Value, text string) value.Value {
	if _, has := s.Get("description"); has || text == "" || s.Kind() != value.Object {
		return s
	}
	if _, refers := s.Get("$ref"); refers { // in draft 7, $ref hides its neighbours
		return value.OfMap(value.Pairs("allOf", []value.Value{s}, "description", text))
	}
	m := s.Map().Clone()
	m.Set("description", value.OfString(text))
	return value.OfMap(m)
}

// Arguments returns the schema of an object {path, query, headers, body} with the operation's parameters. It is
// closed neither for query nor for headers: keys of an API are sent there that no operation names.
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
	if o.draft != "" {
		s.Set("$schema", value.OfString(o.draft))
	}
	if o.definitions.Len() > 0 {
		s.Set("definitions", value.OfMap(o.definitions))
	}
	return value.OfMap(s)
}

// usedDefinitions returns the definitions that an operation refers to, in the order in
// which they were read.
func (r *reader) usedDefinitions(o *Operation) *value.Map {
	used := value.NewMap(0)
	for _, p := range o.Parameters {
		r.addUsed(used, p.Schema)
	}
	if o.Body != nil {
		r.addUsed(used, o.Body.Schema)
	}
	ordered := value.NewMap(used.Len())
	for name, s := range r.definitions.All() {
		if _, isUsed := used.Get(name); isUsed {
			ordered.Set(name, s)
		}
	}
	return ordered
}

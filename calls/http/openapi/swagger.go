package openapi

import (
	"cmp"
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// isSwagger2 reports whether a document is of Swagger 2.0; its version is often written without quotes.
func isSwagger2(doc value.Value) bool {
	version, _ := doc.Get("swagger")
	text, _ := version.Str()
	number, isNumber := version.Float()
	return text == "2.0" || isNumber && number == 2
}

// readSwagger reads the address and the parameters of an operation of Swagger 2.0. Its schemas are read in place:
// they are nearly schemas of OpenAPI 3.0.
func (r *reader) readSwagger(o *Operation, item, op value.Value) {
	o.Server = r.hostURL(op)
	var body swaggerBody
	for _, level := range []value.Value{item, op} {
		list, _ := level.Get("parameters")
		var bodies []value.Value
		for i, given := range list.List() {
			followed, _ := r.followRef(given) // readParameter has the error, too
			switch stringMember(followed, "in") {
			case "body":
				bodies = append(bodies, followed)
			case "formData":
				body.addMember(followed)
			default:
				p, err := r.readParameter(given)
				o.replaceParameter(i, p, err)
			}
		}
		if len(bodies) > 0 { // the operation's body replaces the path's
			body.bodies = bodies
		}
	}
	if len(body.bodies)+len(body.members) == 0 {
		return
	}
	consumes, isOwn := op.Get("consumes")
	if !isOwn {
		consumes, _ = r.doc.Get("consumes")
	}
	given, err := body.upgradeBody(consumes)
	if err != nil {
		o.setBody(&Body{Required: boolMember(given, "required", false)}, err)
		return
	}
	o.setBody(r.readBody(given))
}

// hostURL returns the URL that the paths of an operation are appended to; relative if the document names no host.
func (r *reader) hostURL(op value.Value) string {
	host, base := stringMember(r.doc, "host"), stringMember(r.doc, "basePath")
	if host == "" {
		return base
	}
	scheme := "https"
	for _, level := range []value.Value{r.doc, op} {
		schemes, _ := level.Get("schemes")
		i := slices.IndexFunc(schemes.List(), func(v value.Value) bool { text, _ := v.Str(); return text == "http" || text == "https" })
		if i >= 0 {
			scheme, _ = schemes.List()[i].Str()
		}
	}
	return scheme + "://" + host + strings.TrimSuffix(base, "/")
}

// upgradeParameter returns a parameter of Swagger 2.0 that is not in the body as one of OpenAPI 3.0. A
// collectionFormat stays if lists cannot be written in it.
func upgradeParameter(given value.Value) value.Value {
	p := value.NewMap(5)
	for _, key := range []string{"name", "in", "description", "required"} {
		if member, has := given.Get(key); has {
			p.Set(key, member)
		}
	}
	p.Set("schema", schemaOfParameter(given))
	if stringMember(given, "type") != "array" {
		return value.OfMap(p)
	}
	format := cmp.Or(stringMember(given, "collectionFormat"), "csv")
	style, isKnown := listStyles[format]
	switch isQuery := stringMember(given, "in") == "query"; {
	case isQuery && isKnown:
		p.Set("style", value.OfString(style))
		p.Set("explode", value.OfBool(format == "multi"))
	case isQuery || format != "csv":
		p.Set("collectionFormat", value.OfString(format))
	}
	return value.OfMap(p)
}

// listStyles are the styles of OpenAPI 3.0 for the collectionFormats of lists in a query or a form.
var listStyles = map[string]string{"csv": "form", "multi": "form", "ssv": "spaceDelimited", "pipes": "pipeDelimited"}

// schemaOfParameter returns the schema of a parameter of Swagger 2.0, whose keywords are written beside its name.
func schemaOfParameter(given value.Value) value.Value {
	if own, has := given.Get("schema"); has {
		return own
	}
	s := value.NewMap(given.Map().Len())
	for key, member := range given.Map().All() {
		switch key {
		case "name", "in", "description", "required", "collectionFormat", "allowEmptyValue":
		default:
			s.Set(key, member)
		}
	}
	if stringMember(given, "type") == "file" {
		s.Set("type", value.OfString("string"))
		s.Set("format", value.OfString("binary"))
	}
	return value.OfMap(s)
}

// swaggerBody are the parameters of an operation of Swagger 2.0 that make its body: one, or the members of a form.
type swaggerBody struct {
	bodies, members []value.Value
}

// addMember adds a member of the form, for any of the same name.
func (b *swaggerBody) addMember(p value.Value) {
	b.members = slices.DeleteFunc(b.members, func(q value.Value) bool { return stringMember(q, "name") == stringMember(p, "name") })
	b.members = append(b.members, p)
}

// upgradeBody returns the request body of OpenAPI 3.0; with an error, whether it is required. consumes are the media types of the operation, or
// else of the document.
func (b *swaggerBody) upgradeBody(consumes value.Value) (body value.Value, err error) {
	isRequired := slices.ContainsFunc(slices.Concat(b.bodies, b.members), func(p value.Value) bool { return boolMember(p, "required", false) })
	out := value.Pairs("required", isRequired)
	kinds, err := readConsumes(consumes)
	if err != nil {
		return value.OfMap(out), err
	}
	isForm := len(b.bodies) == 0
	if !isForm && len(b.bodies)+len(b.members) > 1 {
		return value.OfMap(out), wording.Errorf("it has more than one body, or a body beside a form")
	}
	if !isForm {
		out.Set("description", value.OfString(stringMember(b.bodies[0], "description")))
		out.Set("content", contentOf(kinds, value.OfMap(value.Pairs("schema", schemaOfParameter(b.bodies[0])))))
		return value.OfMap(out), nil
	}
	form, err := b.readForm()
	out.Set("content", contentOf(b.kindsOfForm(kinds), form))
	return value.OfMap(out), err
}

// readConsumes reads a list of media types; without one it is JSON.
func readConsumes(consumes value.Value) (kinds []string, err error) {
	list := consumes.List()
	if _, isText := consumes.Str(); isText {
		list = []value.Value{consumes}
	}
	for _, kind := range list {
		text, isText := kind.Str()
		if !isText {
			return nil, wording.Errorf("%s cannot be %s", "consumes", value.Truncate(consumes.JSON(), maxQuoted))
		}
		kinds = append(kinds, text)
	}
	return kinds, nil
}

// maxQuoted is how many characters of a document a message quotes.
const maxQuoted = 60

// kindsOfForm returns the media types that a form can have. Only one of them can hold files.
func (b *swaggerBody) kindsOfForm(kinds []string) []string {
	hasFile := slices.ContainsFunc(b.members, func(p value.Value) bool { return stringMember(p, "type") == "file" })
	forms := slices.DeleteFunc(slices.Clone(kinds), func(kind string) bool { return rankOf(kind) != rankForm && rankOf(kind) != rankMultipart })
	switch {
	case hasFile:
		return []string{"multipart/form-data"}
	case len(forms) == 0:
		return []string{"application/x-www-form-urlencoded"}
	}
	return forms
}

// readForm returns the media type object of a form.
func (b *swaggerBody) readForm() (media value.Value, err error) {
	properties, required, encoding := value.NewMap(len(b.members)), []string{}, value.NewMap(0)
	for _, p := range b.members {
		name := stringMember(p, "name")
		properties.Set(name, withDescription(schemaOfParameter(p), stringMember(p, "description")))
		if boolMember(p, "required", false) {
			required = append(required, name)
		}
		if stringMember(p, "type") != "array" {
			continue
		}
		format := cmp.Or(stringMember(p, "collectionFormat"), "csv")
		style, isKnown := listStyles[format]
		if !isKnown {
			return media, wording.Errorf("%s has the collectionFormat %q, which is not supported", name, format)
		}
		if format != "multi" {
			encoding.Set(name, value.OfMap(value.Pairs("style", style, "explode", false)))
		}
	}
	s := value.Pairs("type", "object", "properties", properties, "required", required)
	return value.OfMap(value.Pairs("schema", s, "encoding", encoding)), nil
}

// contentOf returns the content of a body by its media types.
func contentOf(kinds []string, media value.Value) value.Value {
	if len(kinds) == 0 {
		kinds = []string{"application/json"}
	}
	m := value.NewMap(len(kinds))
	for _, kind := range kinds {
		m.Set(kind, media)
	}
	return value.OfMap(m)
}

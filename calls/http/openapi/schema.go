package openapi

import (
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Limits of a document, so that none keeps the program busy.
const (
	maxDepth       = 60
	maxDefinitions = 1000
)

// reader reads one operation of a document.
type reader struct {
	doc value.Value
	// isOpenAPI30 reports whether the document is OpenAPI 3.0, whose keywords differ from JSON Schema's.
	isOpenAPI30 bool
	// isSwagger reports whether it is Swagger 2.0, whose schemas are read like OpenAPI 3.0's.
	isSwagger bool
	// foreign are the patterns that cannot be checked here.
	foreign []string
	// dialect is the dialect of the schema being read.
	dialect dialect
	// names are the definitions by the references that they were found by.
	names       map[string]string
	definitions *value.Map
}

// draft returns the $schema of the schemas made from the document's; "" for draft 7.
func (r *reader) draft() string {
	if r.isOpenAPI30 {
		return ""
	}
	return schema.LatestDraft
}

// readChecked is readSchema for a schema that must be right by itself: a wrong keyword in it, or in a schema that
// it refers to, is an error.
func (r *reader) readChecked(s value.Value) (value.Value, error) {
	var err error
	r.dialect, err = r.dialectWithin("")
	if err != nil {
		return value.Value{}, err
	}
	out, err := r.readSchema(s, 0)
	if err != nil {
		return value.Value{}, err
	}
	used := value.NewMap(0)
	r.addUsed(used, out)
	whole := value.Pairs("allOf", []value.Value{out}, "definitions", used)
	if draft := r.draft(); draft != "" {
		whole.Set("$schema", value.OfString(draft))
	}
	_, err = schema.Parse(value.OfMap(whole))
	var invalid *schema.InvalidError
	if errors.As(err, &invalid) {
		for i := range invalid.Problems {
			invalid.Problems[i].Pointer = r.writtenPlace(invalid.Problems[i].Pointer)
		}
	}
	return out, err
}

// writtenPlace converts a pointer into the result of readChecked to a pointer into the document: below a schema
// itself, its pointer in that; below a definition, the definition's in the document.
func (r *reader) writtenPlace(pointer string) string {
	if below, isOwn := strings.CutPrefix(pointer, "/allOf/0"); isOwn {
		return below
	}
	below, isDefinition := strings.CutPrefix(pointer, "/definitions/")
	if !isDefinition {
		return pointer
	}
	escaped, rest, isDeeper := strings.Cut(below, "/")
	if isDeeper {
		rest = "/" + rest
	}
	for ref, name := range r.names {
		if name == value.Unescape(escaped) {
			return pointerOf(ref) + rest
		}
	}
	return pointer
}

// addUsed adds the definitions that a schema refers to, and those that these refer to.
func (r *reader) addUsed(used *value.Map, s value.Value) {
	for _, item := range s.List() {
		r.addUsed(used, item)
	}
	for key, member := range s.Map().All() {
		ref, isText := member.Str()
		if key != "$ref" || !isText {
			r.addUsed(used, member)
			continue
		}
		name, err := url.PathUnescape(value.Unescape(strings.TrimPrefix(ref, definitionsPrefix)))
		if err != nil {
			continue
		}
		definition, known := r.definitions.Get(name)
		if _, has := used.Get(name); known && !has {
			used.Set(name, definition)
			r.addUsed(used, definition)
		}
	}
}

const definitionsPrefix = "#/definitions/"

// followRef replaces a reference with its target, repeatedly.
func (r *reader) followRef(v value.Value) (value.Value, error) {
	for range 16 {
		ref := stringMember(v, "$ref")
		if ref == "" {
			return v, nil
		}
		var err error
		v, err = r.resolveRef(ref)
		if err != nil {
			return value.Value{}, err
		}
	}
	return value.Value{}, wording.Errorf("references lead in a circle")
}

// resolveRef returns the target of a reference.
func (r *reader) resolveRef(ref string) (value.Value, error) {
	if !strings.HasPrefix(ref, "#") {
		return value.Value{}, wording.Errorf("the reference %q is not read: it must name a file beside the document or below, in JSON or YAML", ref)
	}
	v, ok := r.doc.At(pointerOf(ref))
	if !ok {
		return value.Value{}, wording.Errorf("the reference %q names nothing", ref)
	}
	return v, nil
}

// pointerOf returns the pointer that a reference within the document is.
func pointerOf(ref string) string {
	fragment := strings.TrimPrefix(ref, "#")
	if plain, err := url.PathUnescape(fragment); err == nil {
		return plain
	}
	return fragment
}

// readSchema converts a schema of the document. The targets of its references go into the definitions.
func (r *reader) readSchema(s value.Value, depth int) (value.Value, error) {
	switch {
	case depth > maxDepth:
		return value.Value{}, wording.Errorf("a schema is nested deeper than %d", maxDepth)
	case s.Kind() == value.Bool:
		return s, nil
	case s.Kind() != value.Object && !s.IsNull():
		return value.Value{}, wording.Errorf("a schema is of type %s", s.Kind())
	}
	outer := r.dialect
	defer func() { r.dialect = outer }()
	if own := stringMember(s, "$schema"); own != "" && !r.isOpenAPI30 {
		var err error
		r.dialect, err = dialectOf(own)
		if err != nil {
			return value.Value{}, err
		}
	}
	out := value.NewMap(s.Map().Len())
	if ref := stringMember(s, "$ref"); ref != "" {
		name, err := r.defineRef(ref)
		if err != nil {
			return value.Value{}, err
		}
		out.Set("$ref", value.OfString(definitionsPrefix+value.Escape(url.PathEscape(name))))
		if r.dialect < draft2019 {
			return value.OfMap(out), nil
		}
	}
	return r.readKeywords(s, out, depth)
}

// readKeywords adds to out the converted keywords of a schema, except its reference. A keyword that the dialect
// does not have is left out: it has no effect there, but would have one in draft 2020-12.
func (r *reader) readKeywords(s value.Value, out *value.Map, depth int) (value.Value, error) {
	for key, member := range s.Map().All() {
		if !r.dialect.hasKeyword(key) {
			continue
		}
		converted, err := r.readKeyword(key, member, depth+1)
		if err != nil {
			return value.Value{}, err
		}
		if !converted.IsNull() || key == "const" || key == "default" {
			out.Set(key, converted)
		}
	}
	forRequests(s, out)
	return value.OfMap(out), r.dialect.upgrade(s, out)
}

// readKeyword converts the value of one keyword; null leaves it out.
func (r *reader) readKeyword(key string, v value.Value, depth int) (value.Value, error) {
	switch key {
	case "properties", "patternProperties", "dependentSchemas":
		return r.readMembers(v, depth)
	case "dependencies":
		return r.readDependencies(v, depth)
	case "items", "additionalProperties", "additionalItems", "not", "if", "then", "else", "contains", "propertyNames",
		"unevaluatedItems", "unevaluatedProperties", "contentSchema":
		if v.Kind() == value.List {
			return r.readList(v, depth)
		}
		return r.readSchema(v, depth)
	case "allOf", "anyOf", "oneOf", "prefixItems":
		return r.readList(v, depth)
	case "pattern":
		pattern, isText := v.Str()
		if !isText || !schema.IsForeignPattern(pattern) {
			break
		}
		if !slices.Contains(r.foreign, pattern) {
			r.foreign = append(r.foreign, pattern)
		}
		return value.Value{}, nil
	case "$ref", "discriminator", "xml", "externalDocs", "example", "$id", "id", "$schema", "$anchor", "$defs", "definitions":
		return value.Value{}, nil
	}
	return v, nil
}

// readDependencies reads schemas by name, some of which may be lists of names.
func (r *reader) readDependencies(v value.Value, depth int) (value.Value, error) {
	if v.Kind() != value.Object {
		return v, nil
	}
	m := value.NewMap(v.Map().Len())
	for name, member := range v.Map().All() {
		if member.Kind() == value.List {
			m.Set(name, member)
			continue
		}
		s, err := r.readSchema(member, depth)
		if err != nil {
			return value.Value{}, err
		}
		m.Set(name, s)
	}
	return value.OfMap(m), nil
}

// readMembers reads schemas by name. A value that is not an object stays, and is refused later.
func (r *reader) readMembers(v value.Value, depth int) (value.Value, error) {
	if v.Kind() != value.Object {
		return v, nil
	}
	m := value.NewMap(v.Map().Len())
	for name, member := range v.Map().All() {
		s, err := r.readSchema(member, depth)
		if err != nil {
			return value.Value{}, err
		}
		m.Set(name, s)
	}
	return value.OfMap(m), nil
}

// readList reads a list of schemas. A value that is not a list stays, and is refused later.
func (r *reader) readList(v value.Value, depth int) (value.Value, error) {
	if v.Kind() != value.List {
		return v, nil
	}
	items := make([]value.Value, len(v.List()))
	for i, item := range v.List() {
		s, err := r.readSchema(item, depth)
		if err != nil {
			return value.Value{}, err
		}
		items[i] = s
	}
	return value.OfList(items...), nil
}

// defineRef returns the name of the definition that a reference leads to.
func (r *reader) defineRef(ref string) (string, error) {
	if name, known := r.names[ref]; known {
		return name, nil
	}
	target, err := r.resolveRef(ref)
	if err != nil {
		return "", err
	}
	if len(r.names) >= maxDefinitions {
		return "", wording.Errorf("the operation refers to more than %d schemas", maxDefinitions)
	}
	name := ref[strings.LastIndexByte(ref, '/')+1:]
	for base, n := name, 2; ; n++ {
		if _, taken := r.definitions.Get(name); !taken {
			break
		}
		name = base + "_" + strconv.Itoa(n)
	}
	r.names[ref] = name // before going on: it may refer to itself
	r.definitions.Set(name, value.OfBool(true))
	s, err := r.readTarget(ref, target)
	if err != nil {
		delete(r.names, ref)
		r.definitions.Delete(name)
		return "", err
	}
	r.definitions.Set(name, s)
	return name, nil
}

// readTarget reads the schema that a reference leads to, in the dialect of its place.
func (r *reader) readTarget(ref string, target value.Value) (value.Value, error) {
	outer := r.dialect
	defer func() { r.dialect = outer }()
	var err error
	r.dialect, err = r.dialectWithin(pointerOf(ref))
	if err != nil {
		return value.Value{}, err
	}
	return r.readSchema(target, 0)
}

// forRequests takes out members that only answers have.
func forRequests(s value.Value, out *value.Map) {
	properties, _ := out.Get("properties")
	var writable *value.Map
	for name, p := range properties.Map().All() {
		if boolMember(p, "readOnly", false) {
			if writable == nil {
				writable = properties.Map().Clone()
			}
			writable.Delete(name)
		}
	}
	if writable == nil {
		return
	}
	out.Set("properties", value.OfMap(writable))
	required, _ := s.Get("required")
	var left []value.Value
	for _, name := range required.List() {
		text, _ := name.Str()
		if _, gone := properties.Get(text); gone {
			if _, stays := writable.Get(text); !stays {
				continue
			}
		}
		left = append(left, name)
	}
	out.Delete("required")
	if len(left) > 0 {
		out.Set("required", value.OfList(left...))
	}
}

// dialectWithin returns the dialect of a part of the document at a pointer: from the nearest schema around it that
// names one, or else from the document. It is 2020-12 if the document names none or an unknown one. A $schema of
// the document itself is not read: it names the schema of OpenAPI documents, for editors.
func (r *reader) dialectWithin(pointer string) (dialect, error) {
	if r.isOpenAPI30 {
		return openAPI30, nil
	}
	name := ""
	at := r.doc
	for _, token := range strings.Split(pointer, "/")[1:] {
		at, _ = at.At("/" + token)
		if own := stringMember(at, "$schema"); own != "" {
			name = own
		}
	}
	if name != "" {
		return dialectOf(name)
	}
	usual := stringMember(r.doc, "jsonSchemaDialect")
	if usual == "" {
		return draft2020, nil
	}
	d, err := dialectOf(usual)
	if err != nil { // one of the document's own, which is most often 2020-12 with more keywords
		return draft2020, nil //nolint:nilerr // Operation.Warnings tell of it
	}
	return d, nil
}

// unknownDialect returns the dialect that the document names if it is not a known one, else "".
func (r *reader) unknownDialect() string {
	name := stringMember(r.doc, "jsonSchemaDialect")
	if r.isOpenAPI30 || name == "" {
		return ""
	}
	if _, err := dialectOf(name); err != nil {
		return name
	}
	return ""
}

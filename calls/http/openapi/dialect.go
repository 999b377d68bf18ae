package openapi

import (
	"strings"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// dialect says what the keywords of a schema mean. What [Find] makes of a document of
// OpenAPI 3.0 is of draft 7, of one of 3.1 of draft 2020-12.
type dialect int

// From the oldest to the newest.
const (
	draft4 dialect = iota
	draft6
	openAPI30
	draft7
	draft2019
	draft2020
)

// latestDraft names the dialect of the schemas that are made of those of 3.1.
const latestDraft = "https://json-schema.org/draft/2020-12/schema"

// dialectOf returns the dialect that a URL names.
func dialectOf(name string) (dialect, error) {
	_, address, _ := strings.Cut(strings.TrimSuffix(name, "#"), "://")
	switch address {
	case "json-schema.org/draft-04/schema":
		return draft4, nil
	case "json-schema.org/draft-06/schema":
		return draft6, nil
	case "json-schema.org/draft-07/schema":
		return draft7, nil
	case "json-schema.org/draft/2019-09/schema":
		return draft2019, nil
	case "json-schema.org/draft/2020-12/schema", "json-schema.org/schema":
		return draft2020, nil
	}
	if strings.HasPrefix(address, "spec.openapis.org/oas/3.") {
		return draft2020, nil
	}
	return 0, wording.Errorf("the dialect %q is not supported (use a draft of JSON Schema, such as %s)", name, latestDraft)
}

// dialectWithin returns the dialect of a part of the document: that of the schema around it
// that names one, or else that of the document, which is 2020-12 where it names none or an
// unknown one. pointer is that of the part. A $schema of the document itself is not read: it
// names the schema of OpenAPI documents, for editors.
func (r *reader) dialectWithin(pointer string) (dialect, error) {
	if r.isOld {
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
		return draft2020, nil //nolint:nilerr // Operation.UnknownDialect tells of it
	}
	return d, nil
}

// unknownDialect returns the dialect that the document names where that is none of the known
// ones.
func (r *reader) unknownDialect() string {
	name := stringMember(r.doc, "jsonSchemaDialect")
	if r.isOld || name == "" {
		return ""
	}
	if _, err := dialectOf(name); err != nil {
		return name
	}
	return ""
}

// upgrade says in the newest draft what s, a schema of an older one, says in words of its
// own; of OpenAPI 3.0, in draft 7. out is what s has become so far.
func (d dialect) upgrade(s value.Value, out *value.Map) error {
	switch d {
	case draft4:
		convertBounds(out)
	case openAPI30:
		convertBounds(out)
		convertNullable(s, out)
		return nil
	case draft2019:
		if _, has := out.Get("$recursiveRef"); has {
			return wording.Errorf("a schema with $dynamicRef or $recursiveRef is not supported; use $ref")
		}
	case draft6, draft7:
	case draft2020:
		return nil
	}
	items, _ := out.Get("items")
	rest, hasRest := out.Get("additionalItems")
	out.Delete("additionalItems")
	if items.Kind() == value.List {
		out.Delete("items")
		out.Set("prefixItems", items)
		if hasRest {
			out.Set("items", rest)
		}
	}
	return nil
}

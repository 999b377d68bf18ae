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
// that names one, or else that of the document. pointer is that of the part.
func (r *reader) dialectWithin(pointer string) (dialect, error) {
	if r.isOld {
		return openAPI30, nil
	}
	name := stringMember(r.doc, "jsonSchemaDialect")
	at := r.doc
	for token := range strings.SplitSeq(pointer, "/") {
		if token != "" {
			at, _ = at.At("/" + token)
		}
		if own := stringMember(at, "$schema"); own != "" {
			name = own
		}
	}
	if name == "" {
		return draft2020, nil
	}
	return dialectOf(name)
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

package openapi

import (
	"strings"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// dialect is the meaning of a schema's keywords. [Find] makes schemas of draft 7 from a document of OpenAPI 3.0,
// and of draft 2020-12 from one of 3.1.
type dialect int

// From the oldest to the newest; drafts have the numbers of [schema.DraftOf].
const (
	draft4    dialect = 4
	openAPI30 dialect = 5
	draft6    dialect = 6
	draft7    dialect = 7
	draft2019 dialect = 2019
	draft2020 dialect = 2020
)

// dialectOf returns the dialect that a URL names.
func dialectOf(name string) (dialect, error) {
	if draft := schema.DraftOf(name); draft != 0 {
		return dialect(draft), nil
	}
	if _, address, _ := strings.Cut(name, "://"); strings.HasPrefix(address, "spec.openapis.org/oas/3.") {
		return draft2020, nil
	}
	return 0, wording.Errorf("the dialect %q is not supported (use a draft of JSON Schema, such as %s)", name, schema.LatestDraft)
}

// hasKeyword reports whether a keyword means something in a dialect. A keyword that OpenAPI 3.0 does not have
// stays, as a keyword of draft 7.
func (d dialect) hasKeyword(key string) bool {
	return d == openAPI30 || schema.HasKeyword(int(d), key)
}

// upgrade rewrites the keywords of an older dialect as draft 2020-12 has them; keywords of OpenAPI 3.0, as draft 7
// has them. out is the schema made from s, a schema of the dialect, so far.
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

// convertBounds rewrites the bounds of draft 4, which have flags beside them, as bounds alone:
// exclusiveMinimum.
func convertBounds(out *value.Map) {
	for _, pair := range [][2]string{{"minimum", "exclusiveMinimum"}, {"maximum", "exclusiveMaximum"}} {
		bound, exclusive := pair[0], pair[1]
		v, has := out.Get(exclusive)
		if on, isFlag := v.Bool(); has && isFlag {
			out.Delete(exclusive)
			if limit, ok := out.Get(bound); on && ok {
				out.Delete(bound)
				out.Set(exclusive, limit)
			}
		}
	}
}

// convertNullable rewrites nullable of OpenAPI 3.0, or x-nullable of Swagger 2.0, as a type.
func convertNullable(s value.Value, out *value.Map) {
	out.Delete("nullable")
	out.Delete("x-nullable")
	if !boolMember(s, "nullable", boolMember(s, "x-nullable", false)) {
		return
	}
	if kind, ok := out.Get("type"); ok && kind.Kind() == value.String {
		out.Set("type", value.OfList(kind, value.OfString("null")))
	}
	if enum, ok := out.Get("enum"); ok {
		out.Set("enum", value.OfList(append(append([]value.Value{}, enum.List()...), value.Value{})...))
	}
}

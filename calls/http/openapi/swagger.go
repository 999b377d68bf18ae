package openapi

import (
	"cmp"
	"encoding/json"

	"github.com/getkin/kin-openapi/openapi2"
	"github.com/getkin/kin-openapi/openapi2conv"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Upgrade returns a document of Swagger 2.0 as one of OpenAPI 3, and any other as it is.
func Upgrade(doc value.Value) (upgraded value.Value, err error) {
	if stringMember(doc, "swagger") != "2.0" {
		return doc, nil
	}
	defer func() { // the library takes some for granted that documents leave out
		if r := recover(); r != nil {
			err = wording.Errorf("converting the document of Swagger 2.0: %v", r)
		}
	}()
	doc, err = withFormats(doc)
	if err != nil {
		return value.Value{}, err
	}
	old, err := decode[openapi2.T](doc)
	hasWrong := err != nil
	if hasWrong {
		old, err = decode[openapi2.T](setAsideKeywords(doc))
	}
	if err != nil {
		return value.Value{}, wording.Errorf("reading the document of Swagger 2.0: %w", err)
	}
	converted, err := openapi2conv.ToV3(old)
	if err != nil {
		return value.Value{}, wording.Errorf("converting the document of Swagger 2.0: %w", err)
	}
	data, err := json.Marshal(converted)
	if err != nil {
		return value.Value{}, wording.Errorf("converting the document of Swagger 2.0: %w", err)
	}
	upgraded, err = value.ParseJSON(data)
	if hasWrong {
		upgraded = restoreKeywords(upgraded)
	}
	return upgraded, err
}

// withFormats returns a document whose lists in the query say how they are written: where
// nothing is said that is with commas, while the library leaves it to OpenAPI 3, where it
// is as several parameters.
func withFormats(doc value.Value) (value.Value, error) {
	switch doc.Kind() {
	case value.List:
		items := make([]value.Value, len(doc.List()))
		for i, item := range doc.List() {
			var err error
			items[i], err = withFormats(item)
			if err != nil {
				return value.Value{}, err
			}
		}
		return value.OfList(items...), nil
	case value.Object:
	default:
		return doc, nil
	}
	m := value.NewMap(doc.Map().Len() + 1)
	for key, member := range doc.Map().All() {
		member, err := withFormats(member)
		if err != nil {
			return value.Value{}, err
		}
		m.Set(key, member)
	}
	if stringMember(doc, "in") == "" || stringMember(doc, "type") != "array" {
		return value.OfMap(m), nil
	}
	format, in := stringMember(doc, "collectionFormat"), stringMember(doc, "in")
	isWritten := in == "query" && format != "tsv" || format == "csv"
	switch {
	case format == "":
		m.Set("collectionFormat", value.OfString("csv"))
	case in == "formData" && format == "tsv":
		return value.Value{}, wording.Errorf("the parameter %s is written with tabs (collectionFormat: tsv), which is not supported", stringMember(doc, "name"))
	case in != "formData" && !isWritten:
		m.Set(keptFormat, value.OfString(format)) // the library would take it for commas
	}
	if in == "formData" { // the library forgets it
		m.Set(keptFormat, value.OfString(cmp.Or(format, "csv")))
	}
	return value.OfMap(m), nil
}

// keptFormat is a member of converted parameters that cannot be given, and of the members of
// forms: how their lists are written.
const keptFormat = "x-scheduler-collection-format"

// formStyles are the styles of OpenAPI 3 by the ways to write a list of a form.
var formStyles = map[string]string{"csv": "form", "ssv": "spaceDelimited", "pipes": "pipeDelimited"}

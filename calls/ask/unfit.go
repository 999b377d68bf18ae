package ask

import (
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// faultWords are the keywords of a schema that unfit.txt has words for.
var faultWords = map[string]string{
	"minimum": "least", "maximum": "most", "exclusiveMinimum": "above", "exclusiveMaximum": "below",
	"minLength": "short", "maxLength": "long", "minItems": "few", "maxItems": "many", "uniqueItems": "same",
	"enum": "choice", "const": "choice",
}

// faultOf returns what is wrong with a value, in a word of unfit.txt, and the limit that it passes; "other" where there
// is no word for it.
func (f Field) faultOf(v value.Value) (fault, limit string) {
	text, isText := v.Str()
	if v.IsNull() || isText && text == "" {
		return "missing", ""
	}
	if schema.Choices(f.Schema) != nil {
		return "choice", ""
	}
	s, err := schema.Parse(f.Schema)
	if err != nil {
		return "other", ""
	}
	for _, p := range s.Check(v) {
		if p.Pointer != "" {
			continue
		}
		if p.Keyword == "type" {
			return f.typeFault(v), ""
		}
		if word, ok := faultWords[p.Keyword]; ok {
			bound, _ := f.Schema.Get(p.Keyword)
			return word, bound.PlainText()
		}
	}
	return "other", ""
}

// typeFault returns what is wrong with a value of another type.
func (f Field) typeFault(v value.Value) string {
	switch schema.TypeName(f.Schema) {
	case "integer":
		if _, isNumber := v.Float(); isNumber {
			return "whole"
		}
		return "number"
	case "number":
		return "number"
	case "boolean":
		return "yes_no"
	}
	return "other"
}

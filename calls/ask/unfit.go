package ask

import (
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// faultWords are the keywords of a schema that unfit.txt has words for.
var faultWords = map[string]string{
	"minimum": "least", "maximum": "most", "exclusiveMinimum": "above", "exclusiveMaximum": "below", "multipleOf": "step",
	"minLength": "short", "maxLength": "long", "minItems": "few", "maxItems": "many", "uniqueItems": "same",
	"minProperties": "few", "maxProperties": "many", "enum": "choice", "const": "choice", "not": "excluded",
}

// faultOf returns the fault of a value, in a word of unfit.txt, and the limit that it exceeds; "other" if there is
// no word for it.
func (f Field) faultOf(v value.Value) (fault, limit string) {
	if v.IsNull() || schema.IsBlank(v) {
		return "missing", ""
	}
	if choices := schema.Choices(f.Schema); choices != nil {
		if _, isOne := schema.FindChoice(choices, v.PlainText()); isOne {
			return "other", ""
		}
		return "choice", ""
	}
	s, err := schema.ParseForPeople(f.Schema, time.Now())
	if err != nil {
		return "other", ""
	}
	for _, p := range s.Check(v) {
		switch {
		case p.Pointer != "" && p.Keyword == "enum" && v.Kind() == value.List:
			item, _ := v.At(p.Pointer)
			return "option", item.PlainText()
		case p.Pointer != "" && (v.Kind() == value.List || v.Kind() == value.Object && f.kind() == "pairs"):
			if item, _ := v.At(p.Pointer); item.PlainText() != "" {
				return "item", item.PlainText()
			}
			continue
		case p.Pointer != "":
			continue
		case p.Keyword == "type":
			return f.typeFault(v), ""
		case p.Keyword == "not":
			return f.exclusionFault(v), v.PlainText()
		}
		if word, ok := faultWords[p.Keyword]; ok {
			bound, _ := f.Schema.Get(p.Keyword)
			return word, bound.PlainText()
		}
	}
	return "other", ""
}

// exclusionFault returns the fault of a value that the keyword not excludes, for example "red" of not: {enum: [red]}.
func (f Field) exclusionFault(v value.Value) string {
	not, _ := f.Schema.Get("not")
	if _, isListed := schema.FindChoice(schema.Choices(withConstAsEnum(not)), v.PlainText()); isListed {
		return "excluded"
	}
	return "other"
}

// typeFault returns the fault of a value of another type.
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

var (
	numberInText = regexp.MustCompile(`[-+]?[0-9]+(?:[.][0-9]+)?`)
	listComma    = regexp.MustCompile(`[,，、;；]|\s+(?:and|or)\s+`)
)

// valueIn returns the value that a message plainly has for the field, although it does not fit: the one number in it, the items between its
// commas, its one word. It is null without one.
func (f Field) valueIn(message string) value.Value {
	message = strings.Trim(strings.TrimSpace(message), ".!。！")
	switch kind := schema.TypeName(f.Schema); kind {
	case "integer", "number":
		if numbers := numberInText.FindAllString(message, 2); len(numbers) == 1 {
			v, _ := value.ParseJSON([]byte(strings.TrimPrefix(numbers[0], "+")))
			return v
		}
	case "array":
		items, _ := f.Schema.Get("items")
		var list []value.Value
		for _, piece := range listComma.Split(message, -1) {
			piece = strings.TrimSpace(piece)
			v := value.OfString(piece)
			if of, ok := schema.FindChoice(schema.Choices(items), piece); ok {
				v = of.Value
			} else if number := (Field{Schema: items}).valueIn(piece); !number.IsNull() && number.Kind() != value.String {
				v = number
			}
			list = append(list, v)
		}
		return value.OfList(list...)
	case "object":
		if f.kind() == "pairs" {
			return pairsIn(message)
		}
	case "string", "":
		isWord := message != "" && !strings.ContainsFunc(message, unicode.IsSpace)
		isMeant := schema.Choices(f.Schema) == nil && !schema.IsNoAnswer(message) && !schema.IsQuestion(message)
		if isWord && isMeant && kind != "" {
			return value.OfString(message)
		}
	}
	return value.Value{}
}

// pairsIn returns the object that "candles: 2, cakes: 1" means; null for another text.
func pairsIn(message string) value.Value {
	pairs := value.NewMap(2)
	for _, piece := range listComma.Split(message, -1) {
		name, text, ok := strings.Cut(strings.ReplaceAll(piece, "：", ":"), ":")
		if !ok {
			return value.Value{}
		}
		text = strings.TrimSpace(text)
		v, err := value.ParseJSON([]byte(text))
		if err != nil {
			v = value.OfString(text)
		}
		pairs.Set(strings.TrimSpace(name), v)
	}
	return value.OfMap(pairs)
}

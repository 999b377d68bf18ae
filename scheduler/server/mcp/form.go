package mcp

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal"
)

// listsSince is the first version of the protocol whose forms have titles for choices, and lists of choices.
const listsSince = "2025-11-25"

// formSchema returns the schema of a form with fields in the few keywords that forms allow; labels are their
// titles. It describes the fields and sets no bounds: the run judges the values, in its own words. hasLists is set
// for a client that knows lists of choices. isSimple is false if a field takes JSON, for which a page is better.
func formSchema(fields []journal.FormField, labels []string, hasLists bool) (form value.Value, isSimple bool) {
	names := fieldNames(fields)
	properties, needed := value.NewMap(len(fields)), []string{}
	isSimple = true
	for i, field := range fields {
		properties.Set(names[i], fieldSchema(field, labels[i], hasLists))
		isSimple = isSimple && !takesJSON(field)
		if !field.IsOptional {
			needed = append(needed, names[i])
		}
	}
	return value.OfMap(value.Pairs("type", "object", "properties", value.OfMap(properties), "required", needed)), isSimple
}

// takesJSON reports whether a field holds an object or a list of objects, as one text.
func takesJSON(field journal.FormField) bool {
	if len(field.Either) > 0 || schema.Choices(field.Schema) != nil {
		return false
	}
	items, _ := field.Schema.Get("items")
	isNested := slices.Contains([]string{"object", "array"}, schema.TypeName(items))
	return schema.TypeName(field.Schema) == "object" || isNested
}

// fieldSchema returns the schema of a field. A value that forms cannot describe is a text, for example a list of numbers.
func fieldSchema(field journal.FormField, label string, hasLists bool) value.Value {
	about := value.Pairs("type", "string", "title", label)
	if text, ok := field.Schema.Get("description"); ok && text.Kind() == value.String {
		about.Set("description", text)
	}
	if choices := choicesOf(field.Schema); choices != nil {
		putChoices(about, choices, hasLists)
		putDefault(about, field.Schema, value.String)
		return value.OfMap(about)
	}
	kind := schema.TypeName(field.Schema)
	switch kind {
	case "number", "integer", "boolean":
		about.Set("type", value.OfString(kind))
		putDefault(about, field.Schema, value.Int, value.Float, value.Bool)
	case "array":
		items, _ := field.Schema.Get("items")
		if choices := choicesOf(items); choices != nil && hasLists {
			about.Set("type", value.OfString("array"))
			about.Set("items", choiceItems(choices))
		}
	default:
		format, _ := field.Schema.Get("format")
		if slices.Contains([]string{"email", "uri", "date", "date-time"}, format.PlainText()) {
			about.Set("format", format)
		}
		putDefault(about, field.Schema, value.String)
	}
	return value.OfMap(about)
}

// putDefault adds the default of a schema to a field if it is of one of the kinds.
func putDefault(about *value.Map, of value.Value, kinds ...value.Kind) {
	if v, ok := of.Get("default"); ok && slices.Contains(kinds, v.Kind()) {
		about.Set("default", v)
	}
}

// choicesOf returns the choices of a field, without null, which means no value; nil if one of them has no words.
func choicesOf(of value.Value) []schema.Choice {
	var choices []schema.Choice
	for _, choice := range schema.Choices(of) {
		switch {
		case choice.Value.IsNull():
		case choice.Value.PlainText() == "" || choice.Label == "":
			return nil
		default:
			choices = append(choices, choice)
		}
	}
	return choices
}

// putChoices adds choices to a field, as texts: forms have no other ones.
func putChoices(about *value.Map, choices []schema.Choice, hasTitles bool) {
	texts, isTitled := textsOf(choices)
	if isTitled && hasTitles {
		about.Set("oneOf", titledChoices(choices))
		return
	}
	about.Set("enum", value.Must(texts))
	if isTitled {
		var labels []string
		for _, choice := range choices {
			labels = append(labels, choice.Label)
		}
		about.Set("enumNames", value.Must(labels))
	}
}

// choiceItems returns the schema of the items of a list of choices.
func choiceItems(choices []schema.Choice) value.Value {
	texts, isTitled := textsOf(choices)
	if isTitled {
		return value.OfMap(value.Pairs("anyOf", titledChoices(choices)))
	}
	return value.OfMap(value.Pairs("type", "string", "enum", texts))
}

// textsOf returns choices as texts, and whether their labels are other ones.
func textsOf(choices []schema.Choice) (texts []string, isTitled bool) {
	for _, choice := range choices {
		texts = append(texts, choice.Value.PlainText())
		isTitled = isTitled || choice.Value.PlainText() != choice.Label
	}
	return texts, isTitled
}

func titledChoices(choices []schema.Choice) value.Value {
	var all []value.Value
	for _, choice := range choices {
		all = append(all, value.OfMap(value.Pairs("const", choice.Value.PlainText(), "title", choice.Label)))
	}
	return value.OfList(all...)
}

// fieldNames returns the names of the fields of a form: address_street for /address/street, the pointer for two of one name, and value for
// a value without a name.
func fieldNames(fields []journal.FormField) []string {
	names, taken := make([]string, len(fields)), map[string]int{}
	for i, field := range fields {
		var parts []string
		for part := range strings.SplitSeq(strings.TrimPrefix(field.Pointer, "/"), "/") {
			parts = append(parts, value.Unescape(part))
		}
		names[i] = strings.Join(parts, "_")
		if names[i] == "" {
			names[i] = "value"
		}
		taken[names[i]]++
	}
	for i, field := range fields {
		if taken[names[i]] > 1 {
			names[i] = field.Pointer
		}
	}
	return names
}

// filledFields returns the fields of a form with the values of the user.
func filledFields(w journal.WaitingFor, content map[string]any) ([]scheduler.Answer, error) {
	text, err := json.Marshal(content) // whole numbers are such again
	given, parseErr := value.ParseJSON(text)
	if err := errors.Join(err, parseErr); err != nil {
		return nil, calls.Errorf(calls.Invalid, "%w", err)
	}
	fields := w.FormFields()
	var filled []scheduler.Answer
	for i, name := range fieldNames(fields) {
		v, _ := given.Get(name)
		filled = append(filled, scheduler.Answer{Step: w.Step, Pointer: fields[i].Pointer, Value: v})
	}
	return filled, nil
}

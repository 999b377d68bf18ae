package mcp

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal"
)

// formSchema returns the schema of the form for a step that waits, in the few words that
// forms have; labels are the titles of its fields by pointer. isFlat is false where they cannot say it. What it leaves out is checked when
// the answer comes.
func formSchema(w journal.WaitingFor, labels map[string]string) (form value.Value, isFlat bool) {
	properties, _ := w.RemainingSchema.Get("properties")
	required, _ := w.RemainingSchema.Get("required")
	fields, needed := value.NewMap(properties.Map().Len()), []string{}
	for pointer, property := range properties.Map().All() {
		field, ok := formField(property, labels[pointer])
		if !ok {
			return form, false
		}
		fields.Set(fieldName(pointer), field)
	}
	for _, one := range required.List() {
		pointer, _ := one.Str()
		needed = append(needed, fieldName(pointer))
	}
	if fields.Len() == 0 {
		return form, false
	}
	return value.OfMap(value.Pairs("type", "object", "properties", value.OfMap(fields), "required", needed)), true
}

// formField returns the schema of a field.
func formField(property value.Value, label string) (value.Value, bool) {
	kind := typeOf(property)
	words := formWords(kind)
	if words == nil {
		return property, false
	}
	field := value.Pairs("type", kind, "title", label)
	for _, word := range words {
		v, ok := property.Get(word)
		if ok && isFormValue(word, v) {
			field.Set(word, v)
		}
	}
	if choices, ok := property.Get("enum"); ok && kind != "string" && len(choices.List()) > 0 {
		return property, false // a form would let any number pass
	}
	return value.OfMap(field), true
}

// formWords returns the words of a field of a type; nil for types that forms do not have.
func formWords(kind string) []string {
	common := []string{"title", "description", "default"}
	switch kind {
	case "string":
		return append(common, "minLength", "maxLength", "format", "enum")
	case "number", "integer":
		return append(common, "minimum", "maximum")
	case "boolean":
		return common
	}
	return nil
}

// isFormValue reports whether forms can have a word with a value.
func isFormValue(word string, v value.Value) bool {
	text, isText := v.Str()
	switch word {
	case "format":
		return slices.Contains([]string{"email", "uri", "date", "date-time"}, text)
	case "title", "description":
		return isText
	case "enum":
		return len(v.List()) > 0 && !slices.ContainsFunc(v.List(), func(one value.Value) bool { return one.Kind() != value.String })
	case "default":
		return v.Kind() != value.Object && v.Kind() != value.List && !v.IsNull()
	}
	return true
}

// fieldName returns the name of a form's field: that of a member at the top, else its
// pointer.
func fieldName(pointer string) string {
	name := strings.TrimPrefix(pointer, "/")
	if name == "" {
		return "value"
	}
	if strings.ContainsAny(name, "/~") {
		return pointer
	}
	return name
}

// withoutEmpty returns the values of a form without the empty texts that clients send for
// fields that were left alone, where the form needs none of them.
func withoutEmpty(values value.Value, w journal.WaitingFor) value.Value {
	required, _ := w.RemainingSchema.Get("required")
	kept := value.NewMap(values.Map().Len())
	for name, v := range values.Map().All() {
		isRequired := slices.ContainsFunc(required.List(), func(one value.Value) bool {
			pointer, _ := one.Str()
			return fieldName(pointer) == name
		})
		if text, isText := v.Str(); isText && text == "" && !isRequired {
			continue
		}
		kept.Set(name, v)
	}
	return value.OfMap(kept)
}

// answersOf returns the answers of forms by step, by the pointers of their fields.
func answersOf(given *value.Map, waiting []journal.WaitingFor) (answers []scheduler.Answer, err error) {
	for _, w := range waiting {
		values, _ := given.Get(w.Step)
		for _, pointer := range w.Pointers() {
			if v, ok := values.Get(fieldName(pointer)); ok {
				answers = append(answers, scheduler.Answer{Step: w.Step, Pointer: pointer, Value: v})
			}
		}
	}
	if len(answers) == 0 {
		return nil, calls.Errorf(calls.Invalid, "the form was empty")
	}
	return answers, scheduler.CheckAnswers(answers, waiting)
}

package schema

import (
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/llm/value"
)

// Choice is one of the values that a schema lists.
type Choice struct {
	Value value.Value
	// Label is the text that people see: the title beside a const, the word of enumNames, else the value itself.
	Label string
}

// Choices returns the values that a schema lists, each once: the members of enum, or the const of each branch of a
// union. It is nil for a schema that lists none.
func Choices(schema value.Value) (choices []Choice) {
	enum, _ := schema.Get("enum")
	names, _ := schema.Get("enumNames")
	for i, v := range enum.List() {
		label := v.PlainText()
		if i < len(names.List()) {
			label = names.List()[i].PlainText()
		}
		choices = appendChoice(choices, Choice{v, label})
	}
	if choices != nil {
		return choices
	}
	for _, key := range []string{"oneOf", "anyOf"} {
		branches, _ := schema.Get(key)
		for _, branch := range branches.List() {
			only, isOne := branch.Get("const")
			if !isOne {
				return nil
			}
			label := only.PlainText()
			title, _ := branch.Get("title")
			if text, ok := title.Str(); ok && text != "" {
				label = text
			}
			choices = appendChoice(choices, Choice{only, label})
		}
	}
	return choices
}

func appendChoice(choices []Choice, c Choice) []Choice {
	isKnown := slices.ContainsFunc(choices, func(known Choice) bool { return value.Equal(known.Value, c.Value) })
	if isKnown {
		return choices
	}
	return append(choices, c)
}

// FindChoice finds the choice that a person means: by its label or its own words first, ignoring case, then by its
// number, from 1, if [AreNumbered].
func FindChoice(choices []Choice, text string) (Choice, bool) {
	for _, isSame := range []func(a, b string) bool{func(a, b string) bool { return a == b }, strings.EqualFold} {
		for _, c := range choices {
			if isSame(text, c.Value.PlainText()) || isSame(text, c.Label) {
				return c, true
			}
		}
	}
	n, _ := strconv.Atoi(text)
	if n >= 1 && n <= len(choices) && AreNumbered(choices) {
		return choices[n-1], true
	}
	return Choice{}, false
}

// AreNumbered reports whether choices can be named by their place: none looks like a number itself.
func AreNumbered(choices []Choice) bool {
	return !slices.ContainsFunc(choices, func(c Choice) bool {
		_, err := strconv.ParseFloat(c.Value.PlainText(), 64)
		return err == nil
	})
}

// Resolve follows the references of a schema that point into the same document.
func Resolve(schema, document value.Value) value.Value {
	for range 16 {
		ref, ok := schema.Get("$ref")
		if !ok {
			break
		}
		target, _ := ref.Str()
		pointer, isLocal := strings.CutPrefix(target, "#")
		next, found := document.At(pointer)
		if !isLocal || !found {
			break
		}
		schema = next
	}
	return schema
}

// TypeName returns the one type that a schema names, null aside; "" if there are several or none.
func TypeName(schema value.Value) string {
	kind, _ := schema.Get("type")
	found := ""
	for _, name := range typeNames(kind) {
		switch {
		case name == "null":
		case found != "":
			return ""
		default:
			found = name
		}
	}
	return found
}

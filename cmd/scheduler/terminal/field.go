package terminal

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/service"
)

// field is one value that is asked for.
type field struct {
	step, pointer string
	schema        value.Value
	of            journal.WaitingFor // the step that waits for it
	// ofKind is set for the member that distinguishes the branches of the union at whole; JSON is meant for the
	// whole.
	ofKind   bool
	whole    string
	optional bool
	language Language
	words    service.Words
}

// requiresProperty reports whether a schema requires a property.
func requiresProperty(schema value.Value, property string) bool {
	required, _ := schema.Get("required")
	return slices.ContainsFunc(required.List(), func(r value.Value) bool {
		name, _ := r.Str()
		return name == property
	})
}

// readAnswer returns the answer that a line is: see [scheduler.ReadField].
func (f field) readAnswer(line string) (scheduler.Answer, error) {
	answer := scheduler.Answer{Step: f.step, Pointer: f.pointer, Message: line}
	if f.ofKind && strings.HasPrefix(line, "{") {
		answer.Pointer = f.whole
	}
	return scheduler.ReadField(answer, f.schema, f.optional)
}

// questionText returns the text that asks for a field: the question, the default, and the choices there are.
func (f field) questionText() string {
	var b strings.Builder
	b.WriteString("  " + Visible(f.words.Question(f.of, f.pointer)))
	if def, ok := f.schema.Get("default"); ok {
		fmt.Fprintf(&b, " [%s]", Visible(def.PlainText()))
	} else if f.optional {
		b.WriteString(" [" + f.language.Say("Enter leaves it out") + "]")
	}
	if form := jsonForm(f.schema, f.of.RemainingSchema); form != "" {
		b.WriteString("\n    " + f.language.Say("as JSON: %s", form))
	}
	b.WriteString("\n")
	choices := schema.Choices(f.schema)
	for i, choice := range choices {
		mark := "-"
		if schema.AreNumbered(choices) {
			mark = fmt.Sprintf("%d)", i+1)
		}
		fmt.Fprintf(&b, "    %s %s\n", mark, Visible(choice.Label))
	}
	return b.String()
}

// jsonForm returns the form of a value that can only be typed as JSON; "" for others. For example, [{...}, {...}]
// is a list of objects.
func jsonForm(s, document value.Value) string {
	if schema.TypeName(s) == "" && strings.Contains(kindOf(s, document, ""), "{") { // a union of objects
		return "{...}"
	}
	switch schema.TypeName(s) {
	case "object":
		if properties, _ := s.Get("properties"); properties.Map().Len() > 0 {
			return "{...}"
		}
	case "array":
		items, _ := s.Get("items")
		switch schema.TypeName(schema.Resolve(items, document)) {
		case "object", "array":
			return "[{...}, {...}]"
		}
	}
	return ""
}

// choicesOf returns the values of enum, each once.
func choicesOf(s value.Value) (choices []value.Value) {
	enum, _ := s.Get("enum")
	for _, c := range schema.Choices(value.OfMap(value.Pairs("enum", enum))) {
		choices = append(choices, c.Value)
	}
	return choices
}

func descriptionText(schema value.Value) string {
	v, _ := schema.Get("description")
	if text, ok := v.Str(); ok && text != "" {
		return ": " + Visible(text)
	}
	return ""
}

// maxBranches limits the branches of a union that are named.
const maxBranches = 5

// kindOf returns the type of a value; for a union, the types of its branches, objects with their required members.
func kindOf(s, document value.Value, language Language) string {
	_, isTyped := s.Get("type")
	branches, isUnion := s.Get("oneOf")
	if !isUnion {
		branches, isUnion = s.Get("anyOf")
	}
	isPlain := isTyped && schema.TypeName(s) != "object"
	if !isUnion || isPlain {
		return TypeOf(s, language)
	}
	var kinds []string
	for _, branch := range branches.List() {
		branch = schema.Resolve(branch, document)
		required, _ := branch.Get("required")
		kind := TypeOf(branch, language)
		if len(required.List()) > 0 {
			kind = "{" + strings.Join(requiredMembers(branch, required.List(), document), ", ") + "}"
		}
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	if len(kinds) > maxBranches {
		kinds = append(kinds[:maxBranches], "...")
	}
	return strings.Join(kinds, "|")
}

// requiredMembers returns the members that an object must have: kind: circle, if only one value is allowed.
func requiredMembers(object value.Value, required []value.Value, document value.Value) (members []string) {
	properties, _ := object.Get("properties")
	for _, r := range required {
		name, _ := r.Str()
		property, _ := properties.Get(name)
		property = schema.Resolve(property, document)
		only, isOne := property.Get("const")
		if choices, _ := property.Get("enum"); len(choices.List()) == 1 {
			only, isOne = choices.List()[0], true
		}
		if isOne {
			name += ": " + only.PlainText()
		}
		members = append(members, name)
	}
	return members
}

// limitTexts returns the limits that a schema sets a value, beside its type and its description.
func limitTexts(schema value.Value, language Language) (words []string) {
	if text, ok := textOf(schema, "format"); ok {
		words = append(words, text)
	}
	words = append(words, boundText(schema, "minimum", "maximum", "", language)...)
	for _, bound := range []struct{ key, format string }{{"exclusiveMinimum", "more than %s"}, {"exclusiveMaximum", "less than %s"}, {"multipleOf", "a multiple of %s"}} {
		if v, ok := schema.Get(bound.key); ok {
			words = append(words, language.Say(bound.format, v.JSON()))
		}
	}
	words = append(words, boundText(schema, "minLength", "maxLength", "character", language)...)
	words = append(words, boundText(schema, "minItems", "maxItems", "item", language)...)
	if v, _ := schema.Get("uniqueItems"); v.JSON() == "true" {
		words = append(words, language.Say("no two the same"))
	}
	if text, ok := textOf(schema, "pattern"); ok {
		words = append(words, language.Say("pattern %s", text))
	}
	if items, ok := schema.Get("items"); ok && items.Kind() == value.Object {
		if each := limitTexts(items, language); len(each) > 0 {
			words = append(words, language.Say("each %s", strings.Join(each, ", ")))
		}
	}
	return words
}

func textOf(schema value.Value, key string) (string, bool) {
	v, _ := schema.Get(key)
	return v.Str()
}

// boundText words a lower and an upper bound, with a noun after the number if one is given.
func boundText(schema value.Value, least, most, noun string, language Language) []string {
	low, hasLow := schema.Get(least)
	high, hasHigh := schema.Get(most)
	bound := func(v value.Value) string {
		if noun == "" {
			return v.JSON()
		}
		n, err := strconv.Atoi(v.JSON())
		if err != nil {
			return v.JSON()
		}
		return language.Count(n, noun)
	}
	switch {
	case hasLow && hasHigh && value.Equal(low, high):
		return []string{language.Say("exactly %s", bound(low))}
	case hasLow && hasHigh:
		return []string{language.Say("%s to %s", low.JSON(), bound(high))}
	case hasLow:
		return []string{language.Say("at least %s", bound(low))}
	case hasHigh:
		return []string{language.Say("at most %s", bound(high))}
	}
	return nil
}

// TypeOf returns the type of a property in a word of a language.
func TypeOf(p value.Value, language Language) string {
	if _, ok := p.Get("enum"); ok {
		var words []string
		for _, e := range choicesOf(p) {
			words = append(words, e.PlainText())
		}
		return strings.Join(words, "|")
	}
	if only, ok := p.Get("const"); ok {
		return only.PlainText()
	}
	kind, ok := p.Get("type")
	if !ok {
		return language.Say("any")
	}
	if name, ok := kind.Str(); ok {
		if items, has := p.Get("items"); name == "array" && has {
			if item := TypeOf(items, language); strings.Contains(item, "|") {
				return "(" + item + ")[]"
			}
			return TypeOf(items, language) + "[]"
		}
		return wording.TypeName(name).In(string(language))
	}
	var names []string
	for _, k := range kind.List() {
		name, _ := k.Str()
		names = append(names, wording.TypeName(name).In(string(language)))
	}
	return strings.Join(names, "|")
}

package terminal

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal"
)

// field is one value that is asked for.
type field struct {
	step, pointer string
	schema        value.Value
	flat          value.Value // the schema that references are resolved in
	optional      bool
	language      Language
}

// errLeftOut is that a person leaves an optional field out.
var errLeftOut = wording.Errorf("left out")

// requiresProperty reports whether a schema requires a property.
func requiresProperty(schema value.Value, property string) bool {
	required, _ := schema.Get("required")
	return slices.ContainsFunc(required.List(), func(r value.Value) bool {
		name, _ := r.Str()
		return name == property
	})
}

// readAnswer finds the value that a line means.
func (f field) readAnswer(line string, waiting []journal.WaitingFor) (value.Value, error) {
	def, hasDefault := f.schema.Get("default")
	choices := choicesOf(f.schema)
	switch typeName := plainType(f.schema); {
	case line == "" && hasDefault:
		return def, nil
	case line == "" && f.optional:
		return value.Value{}, errLeftOut
	case line == "":
		needed := calls.Errorf(calls.Missing, "a value is needed")
		if typeName == "string" {
			return value.Value{}, needed.WithHint(`"" is the empty text; Ctrl-D leaves it for later`)
		}
		return value.Value{}, needed.WithHint("Ctrl-D leaves it for later")
	case line == `""` && typeName == "string":
		return value.OfString(""), nil
	case len(choices) > 0:
		return matchChoice(line, choices)
	case typeName == "array" && !strings.HasPrefix(line, "["):
		return f.readList(line)
	}
	answer, err := scheduler.ParseAnswer(f.step+":"+f.pointer+"="+line, waiting)
	return answer.Value, err
}

// matchChoice finds the choice that a person means: by its own words first, then by its
// number, where no choice is a number itself.
func matchChoice(line string, choices []value.Value) (value.Value, error) {
	for _, same := range []func(string, string) bool{func(a, b string) bool { return a == b }, strings.EqualFold} {
		for _, choice := range choices {
			if same(line, choice.PlainText()) {
				return choice, nil
			}
		}
	}
	n, _ := strconv.Atoi(line)
	isNumber := n >= 1 && n <= len(choices)
	if isNumber && canBeNumbered(choices) {
		return choices[n-1], nil
	}
	words := make([]string, len(choices))
	for i, choice := range choices {
		words[i] = choice.PlainText()
	}
	err := calls.Errorf(calls.Invalid, "%q is not one of the choices", line)
	if near := value.Nearest(line, words); near != "" {
		return value.Value{}, err.WithHint("did you mean %s?", near)
	}
	return value.Value{}, err.WithHint("one of %s", strings.Join(words, ", "))
}

// canBeNumbered reports whether choices can be named by their place: none looks like a
// number itself.
func canBeNumbered(choices []value.Value) bool {
	return !slices.ContainsFunc(choices, func(choice value.Value) bool {
		_, err := strconv.ParseFloat(choice.PlainText(), 64)
		return err == nil
	})
}

// readList reads the items of an array between commas. Items that are no plain values
// have to be JSON.
func (f field) readList(line string) (value.Value, error) {
	items, _ := f.schema.Get("items")
	item := field{schema: resolveRef(items, f.flat)}
	typeName := plainType(item.schema)
	if typeName == "object" || typeName == "array" {
		return value.Value{}, calls.Errorf(calls.Invalid, "that is not a JSON array").WithHint("write [{...}, {...}]")
	}
	var list []value.Value
	for text := range strings.FieldsFuncSeq(line, func(r rune) bool { return strings.ContainsRune(",，、", r) }) {
		text = strings.TrimSpace(text)
		v := value.OfString(text)
		if _, ok := item.schema.Get("enum"); ok {
			var err error
			v, err = matchChoice(text, choicesOf(item.schema))
			if err != nil {
				return value.Value{}, err
			}
		} else if yes, ok := schema.YesOrNo(text); ok && typeName == "boolean" {
			v = yes
		} else if parsed, err := value.ParseJSON([]byte(text)); err == nil && typeName != "string" {
			v = parsed
		}
		list = append(list, v)
	}
	return value.OfList(list...), nil
}

// resolveRef follows the references of a schema that point into the same document.
func resolveRef(schema, document value.Value) value.Value {
	for range 16 {
		ref, ok := schema.Get("$ref")
		if !ok {
			break
		}
		target, _ := ref.Str()
		pointer, local := strings.CutPrefix(target, "#")
		next, found := document.At(pointer)
		if !local || !found {
			break
		}
		schema = next
	}
	return schema
}

// plainType returns the one type that a schema names, null aside; "" where there are
// several or none.
func plainType(schema value.Value) string {
	kind, _ := schema.Get("type")
	if name, ok := kind.Str(); ok {
		return name
	}
	found := ""
	for _, k := range kind.List() {
		switch name, _ := k.Str(); {
		case name == "null":
		case found != "":
			return ""
		default:
			found = name
		}
	}
	return found
}

// displayName returns the field as people say it: address/city.
func (f field) displayName() string {
	if f.pointer == "" {
		return f.language.Say("the whole value")
	}
	name := f.pointer[1:]
	if name == "" || name[0] == '/' {
		return f.pointer // of a member without a name
	}
	return name
}

// questionText returns the text that asks for a field: its name, type, limits, description
// and default, and the choices there are.
func (f field) questionText() string {
	var b strings.Builder
	kind := kindOf(f.schema, f.flat, f.language)
	kindAndLimits := strings.Join(append([]string{kind}, limitTexts(f.schema, f.language)...), ", ")
	fmt.Fprintf(&b, "  %s (%s)%s", Visible(f.displayName()), Visible(kindAndLimits), descriptionText(f.schema))
	if def, ok := f.schema.Get("default"); ok {
		fmt.Fprintf(&b, " [%s]", Visible(def.PlainText()))
	} else if f.optional {
		b.WriteString(" [" + f.language.Say("Enter leaves it out") + "]")
	}
	plain := plainType(f.schema)
	if plain == "" && strings.Contains(kind, "{") {
		plain = "object"
	}
	switch plain {
	case "array":
		items, _ := f.schema.Get("items")
		switch plainType(resolveRef(items, f.flat)) {
		case "object", "array":
			b.WriteString("\n    " + f.language.Say("as JSON: %s", "[...]"))
		default:
			b.WriteString("\n    " + f.language.Say("with commas between, or as JSON: [...]"))
		}
	case "object":
		b.WriteString("\n    " + f.language.Say("as JSON: %s", "{...}"))
	case "boolean":
		b.WriteString("\n    " + f.language.Say("y or n"))
	}
	b.WriteString("\n")
	choices := choicesOf(f.schema)
	for i, choice := range choices {
		mark := "-"
		if canBeNumbered(choices) {
			mark = fmt.Sprintf("%d)", i+1)
		}
		fmt.Fprintf(&b, "    %s %s\n", mark, Visible(choice.PlainText()))
	}
	return b.String()
}

// choicesOf returns the values of enum, each once.
func choicesOf(schema value.Value) (choices []value.Value) {
	enum, _ := schema.Get("enum")
	for _, v := range enum.List() {
		if !slices.ContainsFunc(choices, func(known value.Value) bool { return value.Equal(known, v) }) {
			choices = append(choices, v)
		}
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

// maxBranches bounds how many branches of a union are named.
const maxBranches = 5

// kindOf returns the type of a value; of a union, those of its branches, objects with the
// members that they need.
func kindOf(schema, document value.Value, language Language) string {
	_, isTyped := schema.Get("type")
	branches, isUnion := schema.Get("oneOf")
	if !isUnion {
		branches, isUnion = schema.Get("anyOf")
	}
	isPlain := isTyped && plainType(schema) != "object"
	if !isUnion || isPlain {
		return TypeOf(schema, language)
	}
	var kinds []string
	for _, branch := range branches.List() {
		branch = resolveRef(branch, document)
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

// requiredMembers returns the members that an object must have: kind: circle, where there is but one
// value for it.
func requiredMembers(object value.Value, required []value.Value, document value.Value) (members []string) {
	properties, _ := object.Get("properties")
	for _, r := range required {
		name, _ := r.Str()
		property, _ := properties.Get(name)
		property = resolveRef(property, document)
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

// boundText words a lower and an upper bound, which count nouns where one is given.
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

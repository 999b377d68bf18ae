package terminal

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal"
)

// field is one value that is asked for.
type field struct {
	step, pointer string
	schema        value.Value
	flat          value.Value // the schema that references are resolved in
	optional      bool
}

// names reports whether a schema requires a property.
func names(schema value.Value, property string) bool {
	required, _ := schema.Get("required")
	return slices.ContainsFunc(required.List(), func(r value.Value) bool {
		name, _ := r.Str()
		return name == property
	})
}

// read finds the value that a line means.
func (f field) read(line string, waiting []journal.WaitingFor) (value.Value, error) {
	def, hasDefault := f.schema.Get("default")
	choices, _ := f.schema.Get("enum")
	switch typeName := plainType(f.schema); {
	case line == "" && hasDefault:
		return def, nil
	case line == "" && f.optional:
		return value.Value{}, errLeftOut
	case line == "":
		hint := "Ctrl-D leaves it for later"
		if typeName == "string" {
			hint = `"" is the empty text; ` + hint
		}
		return value.Value{}, calls.Errorf(calls.Missing, "a value is needed").WithHint("%s", hint)
	case line == `""` && typeName == "string":
		return value.OfString(""), nil
	case len(choices.List()) > 0:
		return choose(line, choices.List())
	case typeName == "array" && !strings.HasPrefix(line, "["):
		return f.list(line)
	}
	answer, err := scheduler.ParseAnswer(f.step+":"+f.pointer+"="+line, waiting)
	return answer.Value, err
}

// choose finds the choice that a person means: by its own words first, then by its
// number, where no choice is a number itself.
func choose(line string, choices []value.Value) (value.Value, error) {
	for _, same := range []func(string, string) bool{func(a, b string) bool { return a == b }, strings.EqualFold} {
		for _, choice := range choices {
			if same(line, Display(choice)) {
				return choice, nil
			}
		}
	}
	if n, err := strconv.Atoi(line); err == nil && numbered(choices) && n >= 1 && n <= len(choices) {
		return choices[n-1], nil
	}
	words := make([]string, len(choices))
	for i, choice := range choices {
		words[i] = Display(choice)
	}
	err := calls.Errorf(calls.Invalid, "%q is none of the choices", line)
	if near := value.Nearest(line, words); near != "" {
		return value.Value{}, err.WithHint("did you mean %s?", near)
	}
	return value.Value{}, err.WithHint("one of %s", strings.Join(words, ", "))
}

// numbered reports whether choices can be named by their place: none looks like a
// number itself.
func numbered(choices []value.Value) bool {
	return !slices.ContainsFunc(choices, func(choice value.Value) bool {
		_, err := strconv.ParseFloat(Display(choice), 64)
		return err == nil
	})
}

// list reads the items of an array between commas. Items that are no plain values
// have to be JSON.
func (f field) list(line string) (value.Value, error) {
	items, _ := f.schema.Get("items")
	item := field{schema: resolved(items, f.flat)}
	typeName := plainType(item.schema)
	if typeName == "object" || typeName == "array" {
		return value.Value{}, calls.Errorf(calls.Invalid, "that is no JSON array").WithHint("write [{...}, {...}]")
	}
	var list []value.Value
	for text := range strings.FieldsFuncSeq(line, func(r rune) bool { return strings.ContainsRune(",，、", r) }) {
		text = strings.TrimSpace(text)
		v := value.OfString(text)
		if choices, ok := item.schema.Get("enum"); ok {
			var err error
			if v, err = choose(text, choices.List()); err != nil {
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

// resolved follows the references of a schema that point into the same document.
func resolved(schema, document value.Value) value.Value {
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

// name returns the field as people say it: address/city.
func (f field) name() string {
	if f.pointer == "" {
		return "the whole value"
	}
	return strings.TrimPrefix(f.pointer, "/")
}

// question returns the text that asks for a field: its name, type, limits, description
// and default, and the choices there are.
func (f field) question() string {
	var b strings.Builder
	fmt.Fprintf(&b, "  %s (%s)%s", Visible(f.name()), Visible(wanted(f.schema, f.flat)), description(f.schema))
	switch def, ok := f.schema.Get("default"); {
	case ok:
		fmt.Fprintf(&b, " [%s]", Visible(Display(def)))
	case f.optional:
		b.WriteString(" [Enter leaves it out]")
	}
	kind := plainType(f.schema)
	if kind == "" && strings.Contains(kindOf(f.schema, f.flat), "{") {
		kind = "object"
	}
	switch kind {
	case "array":
		items, _ := f.schema.Get("items")
		switch plainType(resolved(items, f.flat)) {
		case "object", "array":
			b.WriteString("\n    as JSON: [...]")
		default:
			b.WriteString("\n    with commas between, or as JSON: [...]")
		}
	case "object":
		b.WriteString("\n    as JSON: {...}")
	case "boolean":
		b.WriteString("\n    y or n")
	}
	b.WriteString("\n")
	choices, _ := f.schema.Get("enum")
	for i, choice := range choices.List() {
		mark := "-"
		if numbered(choices.List()) {
			mark = fmt.Sprintf("%d)", i+1)
		}
		fmt.Fprintf(&b, "    %s %s\n", mark, Visible(Display(choice)))
	}
	return b.String()
}

func description(schema value.Value) string {
	v, _ := schema.Get("description")
	if text, ok := v.Str(); ok && text != "" {
		return ": " + Visible(text)
	}
	return ""
}

// wanted returns the type of a value and its limits, in a few words. References are
// resolved in document.
func wanted(schema, document value.Value) string {
	return strings.Join(append([]string{kindOf(schema, document)}, limits(schema)...), ", ")
}

// maxBranches bounds how many branches of a union are named.
const maxBranches = 5

// kindOf returns the type of a value; of a union, those of its branches, objects with the
// members that they need.
func kindOf(schema, document value.Value) string {
	_, isTyped := schema.Get("type")
	branches, isUnion := schema.Get("oneOf")
	if !isUnion {
		branches, isUnion = schema.Get("anyOf")
	}
	if !isUnion || isTyped && plainType(schema) != "object" {
		return TypeOf(schema)
	}
	var kinds []string
	for _, branch := range branches.List() {
		branch = resolved(branch, document)
		required, _ := branch.Get("required")
		kind := TypeOf(branch)
		if len(required.List()) > 0 {
			kind = "{" + strings.Join(needed(branch, required.List(), document), ", ") + "}"
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

// needed returns the members that an object must have: kind: circle, where there is but one
// value for it.
func needed(object value.Value, required []value.Value, document value.Value) (members []string) {
	properties, _ := object.Get("properties")
	for _, r := range required {
		name, _ := r.Str()
		property, _ := properties.Get(name)
		property = resolved(property, document)
		only, isOne := property.Get("const")
		if choices, _ := property.Get("enum"); len(choices.List()) == 1 {
			only, isOne = choices.List()[0], true
		}
		if isOne {
			name += ": " + Display(only)
		}
		members = append(members, name)
	}
	return members
}

// limits returns what a schema says of a value beyond its type and its description.
func limits(schema value.Value) (words []string) {
	if text, ok := textOf(schema, "format"); ok {
		words = append(words, text)
	}
	words = append(words, between(schema, "minimum", "maximum", "")...)
	for _, bound := range []struct{ key, sign string }{{"exclusiveMinimum", "more than "}, {"exclusiveMaximum", "less than "}, {"multipleOf", "a multiple of "}} {
		if v, ok := schema.Get(bound.key); ok {
			words = append(words, bound.sign+v.JSON())
		}
	}
	words = append(words, between(schema, "minLength", "maxLength", "character")...)
	words = append(words, between(schema, "minItems", "maxItems", "item")...)
	if v, _ := schema.Get("uniqueItems"); v.JSON() == "true" {
		words = append(words, "no two the same")
	}
	if text, ok := textOf(schema, "pattern"); ok {
		words = append(words, "pattern "+text)
	}
	if items, ok := schema.Get("items"); ok && items.Kind() == value.Object {
		if each := limits(items); len(each) > 0 {
			words = append(words, "each "+strings.Join(each, ", "))
		}
	}
	return words
}

func textOf(schema value.Value, key string) (string, bool) {
	v, _ := schema.Get(key)
	return v.Str()
}

// between words a lower and an upper bound, which count nouns where one is given.
func between(schema value.Value, least, most, noun string) []string {
	low, hasLow := schema.Get(least)
	high, hasHigh := schema.Get(most)
	bound := func(v value.Value) string {
		if noun == "" {
			return v.JSON()
		}
		if v.JSON() == "1" {
			return "1 " + noun
		}
		return v.JSON() + " " + noun + "s"
	}
	switch {
	case hasLow && hasHigh && value.Equal(low, high):
		return []string{"exactly " + bound(low)}
	case hasLow && hasHigh:
		return []string{low.JSON() + " to " + bound(high)}
	case hasLow:
		return []string{"at least " + bound(low)}
	case hasHigh:
		return []string{"at most " + bound(high)}
	}
	return nil
}

// TypeOf returns the type of a property in a word.
func TypeOf(p value.Value) string {
	if enum, ok := p.Get("enum"); ok {
		var words []string
		for _, e := range enum.List() {
			words = append(words, Display(e))
		}
		return strings.Join(words, "|")
	}
	if only, ok := p.Get("const"); ok {
		return Display(only)
	}
	kind, ok := p.Get("type")
	if !ok {
		return "any"
	}
	if name, ok := kind.Str(); ok {
		if items, has := p.Get("items"); name == "array" && has {
			if item := TypeOf(items); strings.Contains(item, "|") {
				return "(" + item + ")[]"
			}
			return TypeOf(items) + "[]"
		}
		return name
	}
	var names []string
	for _, k := range kind.List() {
		name, _ := k.Str()
		names = append(names, name)
	}
	return strings.Join(names, "|")
}

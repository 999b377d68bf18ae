package processor

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// matchEnum finds the one value of an enum that v is another spelling of.
func matchEnum(v value.Value, place schema.Place) (value.Value, bool) {
	var found []value.Value
	for _, sub := range place.All {
		enum, _ := sub.Get("enum")
		for _, item := range enum.List() {
			if value.Equal(item, v) {
				return v, true
			}
			same := func(other value.Value) bool { return value.Equal(other, item) }
			if normalSpelling(item) == normalSpelling(v) && !slices.ContainsFunc(found, same) {
				found = append(found, item)
			}
		}
	}
	if len(found) != 1 {
		return v, false
	}
	return found[0], true
}

func normalSpelling(v value.Value) string {
	return strings.ToLower(strings.TrimSpace(v.PlainText()))
}

// parseTyped reads a number or a truth value that was answered as text.
func parseTyped(v value.Value, place schema.Place) value.Value {
	text, isText := v.Str()
	var types []string
	for _, sub := range place.All {
		types = append(types, typesOf(sub)...)
	}
	if !isText || len(types) == 0 || slices.Contains(types, "string") {
		return v
	}
	text = strings.TrimSpace(text)
	if slices.Contains(types, "boolean") {
		if strings.EqualFold(text, "true") {
			return value.OfBool(true)
		}
		if strings.EqualFold(text, "false") {
			return value.OfBool(false)
		}
	}
	if n, err := value.OfNumber(text); err == nil && takesNumbers(types) && schema.Checkable(n) == nil {
		return n
	}
	return v
}

// parseContainer reads a list or an object that was answered as the text of its JSON.
func parseContainer(v value.Value, place schema.Place) value.Value {
	text, isText := v.Str()
	var types []string
	for _, sub := range place.All {
		types = append(types, typesOf(sub)...)
	}
	if !isText || slices.Contains(types, "string") {
		return v
	}
	read, err := value.ParseJSON([]byte(text))
	isList := read.Kind() == value.List && slices.Contains(types, "array")
	isObject := read.Kind() == value.Object && slices.Contains(types, "object")
	if err == nil && (isList || isObject) {
		return read
	}
	return v
}

// allowsNull reports whether null is a value of its own at a place.
func allowsNull(place schema.Place) bool {
	typed := false
	for _, sub := range place.All {
		types := typesOf(sub)
		if slices.Contains(types, "null") {
			return true
		}
		enum, hasEnum := sub.Get("enum")
		constant, hasConst := sub.Get("const")
		isNull := hasConst && constant.IsNull()
		if isNull || slices.ContainsFunc(enum.List(), value.Value.IsNull) {
			return true
		}
		if len(types) > 0 || hasEnum || hasConst {
			typed = true
		}
	}
	return !typed
}

// convertFormats returns v with the values of the formats converted, as far as they are understood; v is changed
// in place.
func (p *Processor) convertFormats(v value.Value, tokens []string, now time.Time) value.Value {
	if !p.hasFormats || len(tokens) > maxTokens {
		return v
	}
	switch v.Kind() {
	case value.Object:
		for name, member := range v.Map().All() {
			v.Map().Set(name, p.convertFormats(member, append(slices.Clip(tokens), name), now))
		}
	case value.List:
		for i, item := range v.List() {
			v.List()[i] = p.convertFormats(item, append(slices.Clip(tokens), strconv.Itoa(i)), now)
		}
	case value.String, value.Int, value.Float:
		v, _ = p.convertFormat(v, p.schema.Describe(value.FormatPointer(tokens...)), now)
	}
	return v
}

// convertFormat returns a scalar in the form that the format of its place has; ok is false if the format does not
// understand it.
func (p *Processor) convertFormat(v value.Value, place schema.Place, now time.Time) (converted value.Value, ok bool) {
	var types []string
	for _, sub := range place.All {
		types = append(types, typesOf(sub)...)
	}
	for _, sub := range place.All {
		name, _ := sub.Get("format")
		format, ok := p.findFormat(name)
		if !ok || format.Check(v) {
			continue
		}
		if format.Convert == nil {
			return v, isInUnion(place)
		}
		converted, ok = format.Convert(v, types, now)
		return converted, ok || isInUnion(place)
	}
	return v, true
}

// isInUnion reports whether a value may have another form than the format's.
func isInUnion(place schema.Place) bool {
	return slices.ContainsFunc(place.All, func(sub value.Value) bool {
		_, any := sub.Get("anyOf")
		_, one := sub.Get("oneOf")
		return any || one
	})
}

// formatName returns the name that people use for a value of a place.
func (p *Processor) formatName(place schema.Place) wording.Text {
	for _, sub := range place.All {
		name, _ := sub.Get("format")
		if format, ok := p.findFormat(name); ok {
			return wording.Text{En: cmp.Or(format.Words.En, "a "+format.Name), Zh: cmp.Or(format.Words.Zh, format.Name)}
		}
	}
	return wording.Text{En: "a value", Zh: "值"}
}

// takesNumbers reports whether a type of the list is a number.
func takesNumbers(types []string) bool {
	return slices.Contains(types, "number") || slices.Contains(types, "integer")
}

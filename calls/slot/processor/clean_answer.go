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

// cleanAnswer returns an answer for a place without what the schema does not know and with
// its scalars as the schema has them. ok is false where nothing is left.
func (t *answerMerge) cleanAnswer(tokens []string, v value.Value) (cleaned value.Value, ok bool) {
	return t.cleanPart(tokens, v, false)
}

// cleanPart is cleanAnswer for a part; item means that v is an item of an array, which
// has no name to be known.
func (t *answerMerge) cleanPart(tokens []string, v value.Value, item bool) (cleaned value.Value, ok bool) {
	t.pieces++
	if t.pieces > maxPieces || len(tokens) > maxTokens {
		t.reject(value.FormatPointer(tokens...), value.Value{}, t.p.say("the answer has too many pieces"))
		return value.Value{}, false
	}
	place := t.p.schema.Describe(value.FormatPointer(tokens...))
	switch {
	case !place.Known && !item:
		t.reject(value.FormatPointer(tokens...), v, t.p.say("the schema has no such property"))
		return value.Value{}, false
	case v.IsNull():
		return v, allowsNull(place)
	case v.Kind() == value.Object:
		m := value.NewMap(v.Map().Len())
		for name, member := range v.Map().All() {
			if inner, ok := t.cleanPart(append(slices.Clip(tokens), name), member, false); ok {
				m.Set(name, inner)
			}
		}
		return value.OfMap(m), m.Len() > 0 || v.Map().Len() == 0
	case v.Kind() == value.List:
		items := []value.Value{}
		for i, item := range v.List() {
			if inner, ok := t.cleanPart(append(slices.Clip(tokens), strconv.Itoa(i)), item, true); ok {
				items = append(items, inner)
			}
		}
		return value.OfList(items...), len(items) > 0 || len(v.List()) == 0
	}
	return t.cleanScalar(tokens, v, place)
}

// cleanScalar turns a scalar into what the schema wants, where that is certain.
func (t *answerMerge) cleanScalar(tokens []string, v value.Value, place schema.Place) (value.Value, bool) {
	if err := schema.Checkable(v); err != nil {
		t.reject(value.FormatPointer(tokens...), v, t.p.explain(err))
		return v, false
	}
	converted, understood := t.p.convertFormat(v, place, t.now)
	if !understood {
		t.reject(value.FormatPointer(tokens...), v, t.p.say("it is not understood as a %s", formatOf(place)))
		return v, false
	}
	if enum, ok := matchEnum(converted, place); ok {
		return enum, true
	}
	return parseTyped(converted, place), true
}

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
	text, ok := v.Str()
	if !ok {
		text = v.JSON()
	}
	return strings.ToLower(strings.TrimSpace(text))
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

// takesNumbers reports whether a type of the list is a number.
func takesNumbers(types []string) bool {
	return slices.Contains(types, "number") || slices.Contains(types, "integer")
}

func isNumber(v value.Value) bool { return v.Kind() == value.Int || v.Kind() == value.Float }

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

// convertFormats is v with the values of the formats converted, where they are
// understood; v is changed in place.
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

// convertFormat returns a scalar as the format of its place has it; ok is false where the
// format does not understand it.
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
		converted, ok = format.Convert(v, types, now)
		return converted, ok || isInUnion(place)
	}
	return v, true
}

// isInUnion reports whether a value may be something else than what a format wants.
func isInUnion(place schema.Place) bool {
	return slices.ContainsFunc(place.All, func(sub value.Value) bool {
		_, any := sub.Get("anyOf")
		_, one := sub.Get("oneOf")
		return any || one
	})
}

// formatOf returns the format of a place, for messages.
func formatOf(place schema.Place) wording.Text {
	for _, sub := range place.All {
		if name, ok := sub.Get("format"); ok {
			text, _ := name.Str()
			return wording.Text{En: text, Zh: cmp.Or(chineseFormats[text], text)}
		}
	}
	return wording.Text{En: "value", Zh: "值"}
}

// chineseFormats are the names of the formats that people write values in.
var chineseFormats = map[string]string{"date": "日期", "timestamp": "时间戳", "date-time": "日期和时间"}

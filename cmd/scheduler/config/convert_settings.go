package config

import (
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// asSettings returns v with every scalar as the type that schema doc wants, because the environment only has text,
// and a file may say 5 for "5". Lists may be texts with commas, a list of one section is that section, keys may
// have any case, and a setting without a value is left out: it keeps its default.
func asSettings(v, doc value.Value) value.Value {
	kind, _ := doc.Get("type")
	want, _ := kind.Str()
	text, isText := v.Str()
	if !isText && v.Kind() != value.Object && v.Kind() != value.List {
		text = v.JSON()
	}
	items, _ := doc.Get("items")
	itemKind, _ := items.Get("type")
	isOneOfList := v.Kind() == value.Object && value.Equal(itemKind, value.OfString("object"))
	switch {
	case v.IsNull():
		return v
	case isOneOfList:
		return asSettings(value.OfList(v), doc)
	case v.Kind() == value.Object:
		return memberSettings(v, doc)
	case v.Kind() == value.List:
		list := make([]value.Value, len(v.List()))
		for i, item := range v.List() {
			list[i] = asSettings(item, items)
		}
		return value.OfList(list...)
	case want == "string":
		return value.OfString(text)
	case want == "array" && value.Equal(itemKind, value.OfString("string")):
		return splitList(text)
	case want == "boolean":
		if b, err := strconv.ParseBool(text); err == nil {
			return value.OfBool(b)
		}
	case want == "integer" || want == "number":
		if n, err := value.OfNumber(text); err == nil {
			return n
		}
	}
	return v
}

// splitList returns the items of a text with commas; "" has none.
func splitList(text string) value.Value {
	var items []value.Value
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, value.OfString(item))
		}
	}
	return value.OfList(items...)
}

// memberSettings is [asSettings] of a section.
func memberSettings(v, doc value.Value) value.Value {
	properties, _ := doc.Get("properties")
	section := value.NewMap(v.Map().Len())
	for key, member := range v.Map().All() {
		name := strings.ToLower(key)
		property, known := properties.Get(name)
		if !known {
			section.Set(key, member)
			continue
		}
		member = asSettings(member, property)
		if !member.IsNull() {
			section.Set(name, member)
		}
	}
	return value.OfMap(section)
}

// checkSettings returns all errors in v; if there are none, it decodes v into target.
func checkSettings(v value.Value, s *schema.Schema, target any) (all settingErrors) {
	for _, p := range s.Check(v) {
		unknown := p.Keyword == "additionalProperties"
		if unknown && p.Hint == "" {
			p = p.WithHint("the settings are printed by scheduler init --settings")
		}
		message, hint := p.Text()
		all = append(all, settingError{pointer: p.Pointer, unknown: unknown, message: message, hint: hint})
	}
	if len(all) == 0 {
		all = decodeSettings(v, target)
	}
	return all
}

// decodeSettings decodes v, which fits its schema, into target.
func decodeSettings(v value.Value, target any) settingErrors {
	err := value.Decode(v, target)
	if err == nil {
		return nil
	}
	pointer, cause := value.SplitError(err)
	return settingErrors{{pointer: pointer, message: wording.OfError(cause)}}
}

package processor

import (
	"slices"
	"strings"
	"unicode"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// placeholders are what models write for a value that they do not know, in lower case.
var placeholders = []string{"", "n/a", "unknown", "<unknown>", "none", "null", "not provided", "未提供", "无", "未知"}

// Hear notes what the user has said. A word of it is a value although models write it for an unknown
// one: to "Which allergies?" an answer "None" is one.
func (f *Filling) Hear(texts ...string) {
	if f.heard == nil {
		f.heard = map[string]bool{}
	}
	for _, text := range texts {
		words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
			return unicode.IsSpace(r) || unicode.IsPunct(r) && r != '/'
		})
		for _, word := range words {
			f.heard[word] = true
		}
	}
}

// isPlaceholder reports whether a value says only that it is not known. A text that the schema names, by
// enum, const or default, is a value.
func (f *Filling) isPlaceholder(v value.Value, place schema.Place) bool {
	text, isText := v.Str()
	word := strings.ToLower(strings.TrimRight(strings.TrimSpace(text), ".。")) // "Unknown." is one, too
	if !isText || !slices.Contains(placeholders, word) || f.heard[word] {
		return false
	}
	return !slices.ContainsFunc(place.All, func(sub value.Value) bool {
		enum, _ := sub.Get("enum")
		named := enum.List()
		for _, keyword := range []string{"const", "default"} {
			if one, ok := sub.Get(keyword); ok {
				named = append(slices.Clip(named), one)
			}
		}
		return slices.ContainsFunc(named, func(one value.Value) bool { return normalSpelling(one) == word && one.Kind() == value.String })
	})
}

// isFromModel reports whether a source is a model, or another strategy of the call.
func (*Filling) isFromModel(source Source) bool {
	return !slices.Contains([]Source{Known, User, Default}, source)
}

// dropPlaceholders takes out of the data what a model wrote there for values that it did not know.
func (f *Filling) dropPlaceholders() {
	dropped := false
	for pointer, source := range f.sources {
		v, ok := f.data.At(pointer)
		tokens, err := parsePointer(pointer)
		isMember := ok && err == nil && len(tokens) > 0 && f.isFromModel(source)
		if !isMember || !f.isPlaceholder(v, f.p.schema.Describe(pointer)) {
			continue
		}
		if above, _ := f.data.At(value.FormatPointer(tokens[:len(tokens)-1]...)); above.Kind() != value.Object {
			continue
		}
		f.data, dropped = removeAt(f.data, tokens), true
		delete(f.sources, pointer)
	}
	if dropped {
		f.faults = f.findFaults(f.data)
	}
}

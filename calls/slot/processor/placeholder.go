package processor

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// Hear notes the user's words. A word among them is a value even if models write it for an unknown one: to "Which
// allergies?" an answer "None" is one.
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

// Refuse notes a message of the user that answers nothing, such as "skip": a model that takes it for a value is wrong.
func (f *Filling) Refuse(message string) { f.refused = normalWords(message) }

// normalWords returns a text without the punctuation around it, in lower case.
func normalWords(text string) string {
	isEdge := func(r rune) bool { return unicode.IsSpace(r) || unicode.IsPunct(r) }
	return strings.ToLower(strings.TrimFunc(text, isEdge))
}

// isPlaceholder reports whether a value says only that it is not known. A text that the schema names, by
// enum, const or default, is a value.
func (f *Filling) isPlaceholder(v value.Value, pointer string, place schema.Place) bool {
	text, isText := v.Str()
	word := strings.ToLower(strings.TrimRight(strings.TrimSpace(text), ".。")) // "Unknown." is one, too
	isRefusal := f.refused != "" && normalWords(text) == f.refused
	isUnknown := schema.IsUnknown(text, namesOf(pointer, place)...) && !f.heard[word]
	if !isText || !isRefusal && !isUnknown {
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

// namesOf returns the names of a place: its key and its titles.
func namesOf(pointer string, place schema.Place) []string {
	names := []string{value.Unescape(pointer[strings.LastIndexByte(pointer, '/')+1:])}
	for _, sub := range place.All {
		title, _ := sub.Get("title")
		if text, ok := title.Str(); ok {
			names = append(names, text)
		}
	}
	return names
}

// isFromModel reports whether a source is a model, or another strategy of the call.
func (*Filling) isFromModel(source Source) bool {
	return !slices.Contains([]Source{Known, User, Default}, source)
}

// DropPlaceholders takes out of the data the placeholders that a model wrote for unknown values. isGuess reports
// whether a model has written the value at a pointer; sources that name a model, as [Filling.From] has them, say
// so too.
func (f *Filling) DropPlaceholders(isGuess func(pointer string) bool) {
	dropped := false
	isModel := func(pointer string) bool { return f.isFromModel(f.sourceOf(pointer)) || isGuess(pointer) }
	var cleaned func(v value.Value, pointer string) (value.Value, bool)
	cleaned = func(v value.Value, pointer string) (value.Value, bool) {
		switch v.Kind() {
		case value.Object:
			m := value.NewMap(v.Map().Len())
			for name, member := range v.Map().All() {
				if kept, ok := cleaned(member, pointer+"/"+value.Escape(name)); ok {
					m.Set(name, kept)
				}
			}
			return value.OfMap(m), true
		case value.List:
			items := []value.Value{}
			for i, item := range v.List() {
				if kept, ok := cleaned(item, pointer+"/"+strconv.Itoa(i)); ok {
					items = append(items, kept)
				}
			}
			return value.OfList(items...), len(items) > 0 || len(v.List()) == 0
		case value.String:
			place := f.p.schema.Describe(pointer)
			isNamed := pointer != "" && len(place.All) > 0
			if isNamed && f.isPlaceholder(v, pointer, place) && isModel(pointer) {
				dropped = true
				delete(f.sources, pointer)
				return v, false
			}
		}
		return v, true
	}
	data, _ := cleaned(f.data, "")
	if dropped {
		f.data = data
		f.faults = f.findFaults(f.data)
	}
}

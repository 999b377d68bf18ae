package service_test

import (
	"strconv"
	"testing"

	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/service"
)

// TestCallDocumentLanguage: descriptions of schemas, nested ones too, are in the language that is asked for; all else is the same.
func TestCallDocumentLanguage(t *testing.T) {
	for _, def := range builtin.Calls() {
		english := service.CallDocument(def, "en")
		chinese := service.CallDocument(def, "zh")
		for _, part := range []string{"params", "input", "output"} {
			from, _ := english.Get(part)
			to, _ := chinese.Get(part)
			compareDescriptions(t, def.Info.Name+" "+part, from, to)
		}
	}
}

// compareDescriptions fails if two schemas differ in more than the language of their descriptions.
func compareDescriptions(t *testing.T, at string, english, chinese value.Value) {
	t.Helper()
	for i, from := range english.List() {
		compareDescriptions(t, at+"/"+strconv.Itoa(i), from, chinese.List()[i])
	}
	if english.Kind() == value.List {
		return
	}
	if english.Kind() != value.Object {
		if !value.Equal(english, chinese) {
			t.Errorf("%s: %s became %s", at, english, chinese)
		}
		return
	}
	for name, from := range english.Map().All() {
		to, _ := chinese.Get(name)
		text, isText := from.Str()
		if name == "description" && isText {
			if want := builtin.Reference(text).Zh; to.JSON() != value.OfString(want).JSON() {
				t.Errorf("%s: %s, want %s", at, to, want)
			}
			continue
		}
		compareDescriptions(t, at+"/"+name, from, to)
	}
}

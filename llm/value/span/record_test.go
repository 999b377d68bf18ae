package span_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/span"
)

// members generates members as templates make them.
func members() *rapid.Generator[[]span.Member] {
	pointer := rapid.Custom(func(t *rapid.T) string {
		return value.FormatPointer(rapid.SliceOfN(rapid.OneOf(
			rapid.SampledFrom([]string{"0", "7", "007", "-1", "#", "##", "#3", "", "a/b", "a~b", "12345678901234567890", "naïve", "x"}),
			rapid.StringN(0, 4, -1),
		), 0, 4).Draw(t, "tokens")...)
	})
	ref := rapid.Custom(func(t *rapid.T) span.ValueRef {
		return span.ValueRef{Name: rapid.SampledFrom([]string{"inputs", "item", "step_1", "a9"}).Draw(t, "name"), Pointer: pointer.Draw(t, "pointer")}
	})
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) span.Member {
		m := span.Member{Pointer: pointer.Draw(t, "pointer"), Keys: rapid.SliceOfN(ref, 0, 2).Draw(t, "keys")}
		if len(m.Keys) == 0 {
			m.Keys = nil
		}
		end := 0
		for range rapid.IntRange(0, 5).Draw(t, "spans") {
			s := span.Span{Start: end, Kind: rapid.SampledFrom([]span.Kind{span.Literal, span.Reference, span.Computed}).Draw(t, "kind")}
			end += rapid.IntRange(0, 50).Draw(t, "length")
			s.End = end
			s.TemplateStart = rapid.IntRange(0, 200).Draw(t, "template")
			s.TemplateEnd = s.TemplateStart + rapid.IntRange(0, 60).Draw(t, "in template")
			switch s.Kind {
			case span.Literal:
			case span.Reference:
				from := ref.Draw(t, "source")
				from.Start = rapid.IntRange(0, 90).Draw(t, "from")
				from.End = from.Start + s.End - s.Start
				s.Sources = []span.ValueRef{from}
			case span.Computed:
				s.Sources = rapid.SliceOfN(ref, 0, 3).Draw(t, "sources")
				if len(s.Sources) == 0 {
					s.Sources = nil
				}
			}
			m.Spans = append(m.Spans, s)
		}
		return m
	}), 0, 5)
}

// A record has all that its members have.
func TestRecordRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := members().Draw(t, "members")
		got, err := span.EncodeMembers(want).Members()
		if err != nil {
			t.Fatal(err)
		}
		if len(want) == 0 {
			want = nil
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("other members (-want +got):\n%s", diff)
		}
	})
}

// A damaged record is an error, and no panic.
func TestRecordDamaged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		record := append(rapid.SliceOfN(rapid.SampledFrom([]string{"", "inputs/#", "#", "##"}), 0, 3).Draw(t, "names"),
			rapid.StringMatching(`([a-z][0-9,-]{0,6}){0,6}`).Draw(t, "body"))
		_, _ = span.Record(record).Members()
	})
	for _, record := range []span.Record{{"t1,1"}, {"", "m1"}, {"", "m0s0"}, {"", "m0t1"}, {"", "m0t1,1,1"}, {"", "m0r1,1,1,0,9"}, {"#", "m0"}, {"", "m0,4"}, {"", "m0z1"}, {"", "m0t1,-1"}} {
		if got, err := record.Members(); err == nil {
			t.Errorf("%q: no error, got %v", record, got)
		}
	}
}

// The example of the documentation.
func TestRecordExample(t *testing.T) {
	record := span.EncodeMembers([]span.Member{{Spans: []span.Span{
		{End: 3, Kind: span.Literal, TemplateEnd: 3},
		{Start: 3, End: 6, Kind: span.Reference, TemplateStart: 5, TemplateEnd: 18, Sources: []span.ValueRef{{Name: "inputs", Pointer: "/name", End: 3}}},
	}}})
	if diff := cmp.Diff(span.Record{"", "inputs/name", "mt,3r2,13,3,,1"}, record); diff != "" {
		t.Error(diff)
	}
}

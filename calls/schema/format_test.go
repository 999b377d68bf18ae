package schema_test

import (
	"testing"
	"time"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// TestFormats: each format knows the form of its values, and values that people write in another way.
func TestFormats(t *testing.T) {
	tests := []struct {
		format, is  string
		reads, none []string
	}{
		{format: "date", none: []string{"why?", "为什么？"}, is: "2026-05-01", reads: []string{"tomorrow", "5月1日"}},
		{format: "timestamp", none: []string{"why?", "为什么？"}, is: "2026-05-01 15:04:05", reads: []string{"tomorrow 3pm"}},
		{format: "date-time", none: []string{"why?", "为什么？"}, is: "2026-05-01T15:04:05+08:00", reads: []string{"明天下午3点"}},
		{format: "time", is: "14:30", reads: []string{"14:30:00Z", "2:30 pm", "下午两点半"}, none: []string{"25:00", "tomorrow", "why?", "为什么？"}},
		{format: "duration", is: "PT30M", reads: []string{"P1DT2H", "30 minutes", "两小时"}, none: []string{"30", "P", "why?", "为什么？"}},
		{format: "email", is: "a@example.org", none: []string{"a@", "ask Bo", "Bo <a@example.org>"}},
		{format: "idn-email", is: "用户@例子.公司", none: []string{"用户"}},
		{format: "uri", is: "https://example.org/a?b", none: []string{"example.org", "https://", "https://a b"}},
		{format: "url", is: "mailto:a@example.org", none: []string{"example.org"}},
		{format: "iri", is: "https://例子.公司/路", none: []string{"例子"}},
		{format: "hostname", is: "www.example.org", none: []string{"a b", "-a"}},
		{format: "ipv4", is: "192.0.2.10", none: []string{"192.0.2", "1.2.3.400", "::1"}},
		{format: "ipv6", is: "2001:db8::10", none: []string{"192.0.2.10", "2001"}},
		{format: "uuid", is: "123e4567-e89b-12d3-a456-426614174000", none: []string{"123e4567", "42"}},
		{format: "uri-reference", is: "/a/b", none: []string{"\\a"}},
		{format: "iri-reference", is: "/a/路", none: []string{"\\a"}},
		{format: "uri-template", is: "/a/{b}", none: []string{"/a/{b"}},
		{format: "json-pointer", is: "/a/0", none: []string{"a"}},
		{format: "relative-json-pointer", is: "1/a", none: []string{"/a"}},
		{format: "regex", is: "^a+$", none: []string{"("}},
	}
	known := map[string]bool{}
	for _, tt := range tests {
		known[tt.format] = true
		format, ok := schema.FindFormat(tt.format)
		if !ok {
			t.Errorf("there is no format %s", tt.format)
			continue
		}
		reads := func(text string) bool { return format.Reads(value.OfString(text), []string{"string"}, time.Now()) }
		if !format.Check(value.OfString(tt.is)) {
			t.Errorf("%s: %q is not in the form", tt.format, tt.is)
		}
		for _, text := range tt.reads {
			if !reads(text) {
				t.Errorf("%s: %q is not understood", tt.format, text)
			}
		}
		for _, text := range tt.none {
			if reads(text) {
				t.Errorf("%s: %q is taken", tt.format, text)
			}
		}
		place := value.Must(map[string]any{"anyOf": []any{map[string]any{"type": "string", "format": tt.format}, map[string]any{"type": "integer"}}})
		s, err := schema.ParseForPeople(place, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if problems := s.Check(value.OfString(tt.is)); problems != nil {
			t.Errorf("%s: %v", tt.format, problems)
		}
	}
	for _, format := range schema.Formats() {
		if !known[format.Name] {
			t.Errorf("the format %s has no case here", format.Name)
		}
		if format.Words.En == "" || format.Words.Zh == "" {
			t.Errorf("the format %s has no words", format.Name)
		}
	}
}

package mcp

import "testing"

// One block of an unknown type does not cost the others.
func TestUnknownBlocks(t *testing.T) {
	for given, want := range map[string]string{
		`{"content": [{"type": "text", "text": "one"}, {"type": "chart", "points": [1]}, {"type": "text", "text": "two"}], "isError": false}`: `{"content":[{"type":"text","text":"one"},{"type":"text","text":"[chart]"},{"type":"text","text":"two"}],"isError":false}`,
		`{"content": [{"type": "text", "text": "one"}]}`: `{"content": [{"type": "text", "text": "one"}]}`,
		`{"content": "x"}`: `{"content": "x"}`,
		`{"tools": []}`:    `{"tools": []}`,
	} {
		if got := string(replaceUnknownBlocks([]byte(given))); got != want {
			t.Errorf("%s becomes %s", given, got)
		}
	}
}

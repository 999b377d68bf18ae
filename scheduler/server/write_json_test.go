package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/callnode/scheduler/scheduler/server/store"
)

// TestStrictBodies: a body with parts that would be replaced or left out is refused, at its place.
func TestStrictBodies(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	token := f.token("lin", store.RunsRead, store.RunsWrite)
	for body, want := range map[string]string{
		`{"flow": "echo", "flow": "edited"}`:                             "duplicate key \\\"flow\\\"",
		`{"flow": "echo", "inputs": {"question": "a", "question": "b"}}`: "duplicate key \\\"question\\\"",
		`{"flow": "echo", "inputs": {"question": "\ud83d"}}`:             "half of a character",
		"{\"flow\": \"echo\", \"session\": \"\xff\"}":                    "not UTF-8",
	} {
		r := f.do(token, "POST", "/api/v1/runs", body)
		if r.status != http.StatusBadRequest || !strings.Contains(r.text, want) {
			t.Errorf("%s: %d %s", body, r.status, r.text)
		}
	}
}

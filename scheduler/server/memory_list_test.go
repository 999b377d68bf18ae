package server_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/callnode/scheduler/scheduler/server/store"
)

// TestMemoriesOfOneTime: the pages of a list have each memory once, however many are of the same millisecond.
func TestMemoriesOfOneTime(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	token := f.token("lin", store.MemoryRead, store.MemoryWrite)
	var lines, want []string
	for i := range 17 {
		day := 1 + i/14 // 14 of the first day, 3 of the second
		lines = append(lines, fmt.Sprintf(`{"role": "user", "content": "m%02d", "timestamp": "2026-01-%02dT00:00:00Z"}`, i, day))
		want = append(want, fmt.Sprintf("m%02d", i))
	}
	if r := f.do(token, "POST", "/api/v1/memory/import", strings.Join(lines, "\n"), "Content-Type", "application/x-ndjson"); r.status != http.StatusOK {
		t.Fatalf("importing: %d %s", r.status, r.text)
	}
	for _, limit := range []int{1, 2, 3, 4, 13, 14, 17, 50} {
		var got []string
		next := ""
		for range 20 {
			page := f.do(token, "GET", fmt.Sprintf("/api/v1/memory?limit=%d&cursor=%s", limit, url.QueryEscape(next)), "")
			for i := range limit {
				if text := page.at(fmt.Sprintf("/items/%d/content", i)); text != "null" {
					got = append(got, text)
				}
			}
			next = page.at("/next")
			if next == "null" {
				break
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("in pages of %d: %v", limit, got)
		}
	}
}

// TestMemoryCursorOfADeletedMemory: if the memory that a cursor names is gone, the memories of its time are listed
// again.
func TestMemoryCursorOfADeletedMemory(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	token := f.token("lin", store.MemoryRead, store.MemoryWrite)
	for i := range 6 {
		f.do(token, "POST", "/api/v1/memory", fmt.Sprintf(`{"content": "m%d", "timestamp": "2026-01-01T00:00:00Z"}`, i))
	}
	first := f.do(token, "GET", "/api/v1/memory?limit=2", "")
	if r := f.do(token, "DELETE", "/api/v1/memory/"+first.at("/items/1/id"), ""); r.status != http.StatusOK {
		t.Fatalf("deleting: %d %s", r.status, r.text)
	}
	rest := f.do(token, "GET", "/api/v1/memory?limit=10&cursor="+url.QueryEscape(first.at("/next")), "")
	if n := strings.Count(rest.text, `"content":`); n != 5 || rest.at("/next") != "null" {
		t.Errorf("%d are left: %s", n, rest.text)
	}
}

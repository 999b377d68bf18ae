package memory_test

import (
	"testing"
	"time"

	"github.com/callnode/scheduler/calls/memory"
)

// TestRequestZone: days are counted in the zone of the timestamp's offset, or without one in the caller's zone.
func TestRequestZone(t *testing.T) {
	lisbon := time.FixedZone("Lisbon", 0)
	paris := time.FixedZone("Paris", 3600)
	for timestamp, want := range map[string]int{
		"2026-03-05T09:00:00+08:00": 8 * 3600,
		"2026-03-05T09:00:00Z":      3600,
		"2026-03-05T09:00:00":       3600,
		"":                          3600,
	} {
		r := memory.Request{CurrentQuery: "yesterday", Timestamp: timestamp}
		q, err := r.Query(memory.User("u"), "s", time.Date(2026, 3, 5, 9, 0, 0, 0, paris))
		if err != nil {
			t.Fatal(err)
		}
		if _, offset := q.Now.Zone(); offset != want {
			t.Errorf("%q: the days are those of offset %d, want %d", timestamp, offset, want)
		}
	}
	r := memory.Request{Timestamp: "2026-03-05T00:30:00+08:00"}
	q, err := r.Query(memory.User("u"), "s", time.Now().In(lisbon))
	if want := time.Date(2026, 3, 4, 16, 30, 0, 0, time.UTC); err != nil || !q.Now.Equal(want) {
		t.Errorf("the present is %v, want %v (%v)", q.Now, want, err)
	}
}

package journal

import (
	"testing"
	"time"
)

// A time of another day has its day.
func TestClockTime(t *testing.T) {
	now := time.Date(2026, 5, 6, 23, 50, 0, 0, time.Local)
	for until, want := range map[time.Time]string{now.Add(5 * time.Minute): "23:55:00", now.Add(20 * time.Minute): "2026-05-07 00:10:00"} {
		if got := clockTime(until, now); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

package rank

import (
	"testing"
	"time"

	"github.com/callnode/scheduler/calls/internal/date"
)

// wednesday is the present of these tests.
var wednesday = time.Date(2024, 5, 15, 18, 30, 0, 0, time.UTC)

func TestPeriodMatch(t *testing.T) {
	at := func(month time.Month, day, hour int) time.Time {
		return time.Date(2023, month, day, hour, 0, 0, 0, time.UTC)
	}
	oneDay, _ := date.FindPeriods("7 May 2023", wednesday)
	month, _ := date.FindPeriods("May 2023", wednesday)
	year, _ := date.FindPeriods("in 2023", wednesday)
	for _, test := range []struct {
		p    []date.Period
		at   time.Time
		want float64
	}{
		{oneDay, at(5, 7, 12), 1}, {oneDay, at(5, 6, 12), 0.5}, {oneDay, at(5, 5, 12), 0}, {oneDay, at(5, 13, 0), 0.5}, {oneDay, at(5, 18, 0), 0},
		{month, at(5, 31, 23), 1}, {month, at(6, 12, 0), 0.5}, {month, at(6, 13, 0), 0}, {month, at(4, 30, 0), 0},
		{year, at(1, 1, 0), 0.25}, {year, time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC), 0},
	} {
		if got, _ := matchPeriod(test.p[0], test.at); got < test.want-1e-9 || got > test.want+1e-9 {
			t.Errorf("%v: %v, want %v", test.at, got, test.want)
		}
	}
}

package pgdb

import (
	"testing"
	"time"
)

// TestAbsence: a database that cannot be reached for a while is reported once, and once more when it is back; a
// connection that is lost for a moment is not reported.
func TestAbsence(t *testing.T) {
	start := time.Date(2026, 3, 5, 0, 0, 0, 0, time.UTC)
	var a absence
	for i, step := range []struct {
		at                 time.Duration
		isReached          bool
		wantAway, wantBack bool
	}{
		{0, false, false, false},
		{time.Second, true, false, false},
		{2 * time.Second, false, false, false},
		{3 * time.Second, false, false, false},
		{4 * time.Second, false, true, false},
		{9 * time.Second, false, false, false},
		{10 * time.Second, true, false, true},
		{11 * time.Second, true, false, false},
	} {
		if isAway, isBack := a.note(step.isReached, start.Add(step.at)); isAway != step.wantAway || isBack != step.wantBack {
			t.Errorf("step %d: away %v, back %v", i, isAway, isBack)
		}
	}
}

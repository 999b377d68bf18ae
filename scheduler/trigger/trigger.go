package trigger

import (
	"slices"
	"time"

	"github.com/callnode/scheduler/llm/value/wording"
)

// Values for handling a fire while the run of an earlier one is not over.
const (
	OverlapSkip     = "skip"
	OverlapQueue    = "queue"
	OverlapParallel = "parallel"
	OverlapCancel   = "cancel"
)

// Which fires are made up for that no server was there to see.
const (
	CatchUpSkip = "skip"
	CatchUpLast = "last"
	CatchUpAll  = "all"
)

// Bounds on making up for missed fires.
const (
	MaxCatchUp     = 24 * time.Hour
	MaxCatchUpRuns = 100
	// onTime is how late a fire may be without being missed.
	onTime = time.Minute
)

// Due returns which fires of a schedule are to be carried out now, and how many were missed and are given up.
// after is the last fire that was looked at, name the name of the schedule for its jitter. until is the planned
// time of the last fire that was decided about: zero if there is none.
func (s *Schedule) Due(name string, after, now time.Time, catchUp string, jitter time.Duration) (due []time.Time, missed int, until time.Time) {
	from := after
	if earliest := now.Add(-MaxCatchUp); from.Before(earliest) {
		from = earliest
	}
	all := s.Between(from, now, int(MaxCatchUp/time.Minute)+1)
	for i, t := range all { // one that its jitter holds back holds back those after it
		if t.Add(Delay(name, s.Key(t), jitter)).After(now) {
			all = all[:i]
			break
		}
	}
	if len(all) == 0 {
		return nil, 0, time.Time{}
	}
	until = all[len(all)-1]
	onTimeAt := slices.IndexFunc(all, func(t time.Time) bool { return !t.Before(now.Add(-onTime - jitter)) })
	if onTimeAt < 0 {
		onTimeAt = len(all)
	}
	first := onTimeAt
	if catchUp == CatchUpAll {
		first = max(0, len(all)-MaxCatchUpRuns)
	} else if catchUp == CatchUpLast && onTimeAt > 0 {
		first = len(all) - 1
	}
	return all[first:], first, until
}

var errLocal = wording.Errorf("the zone Local is another zone on every machine")

// LoadZone returns a time zone by its name in the IANA database; "" is UTC. The zone of the
// machine is not taken: a schedule means the same everywhere.
func LoadZone(name string) (*time.Location, error) {
	if name == "Local" {
		return nil, errLocal
	}
	return time.LoadLocation(name)
}

package trigger

import (
	"cmp"
	"hash/fnv"
	"strings"
	"time"
	_ "time/tzdata" // zones for systems that have none

	cron "github.com/netresearch/go-cron"

	"github.com/callnode/scheduler/llm/value/wording"
)

// Schedule is a cron expression in a time zone. [ParseSchedule] makes one; it does not change
// and is safe for concurrent use.
type Schedule struct {
	cron  cron.Schedule
	zone  *time.Location
	fixed bool // the hour is given: a wall time that comes twice counts once
}

// CronError describes an error in a cron expression. Parsing makes it; it does not change.
type CronError struct {
	// Field is the name of the wrong field and Text its content; "" if the expression as a whole is wrong.
	Field, Text string
	// Want describes the values that the field allows.
	Want string
	// Fields is how many fields there are, if it is not 5.
	Fields int
	// Never is set for a date that never comes.
	Never bool
}

// Error returns the message.
func (e *CronError) Error() string { return e.text().En }

// In returns the message in a language.
func (e *CronError) In(language string) string { return e.text().In(language) }

func (e *CronError) text() wording.Text {
	if e.Never {
		return wording.Say("it never fires")
	}
	if e.Field != "" {
		return wording.Say("the %s cannot be %q: it is %s", wording.Of(e.Field), e.Text, wording.Of(e.Want))
	}
	return wording.Say("a cron expression has 5 fields, not %d: minute, hour, day, month, weekday", e.Fields)
}

// cronField is a field of a cron expression.
type cronField struct{ name, want string }

// cronFields returns the fields in their order.
func cronFields() []cronField {
	return []cronField{
		{"minute", "0-59"}, {"hour", "0-23"}, {"day", "1-31"}, {"month", "1-12, JAN-DEC"}, {"weekday", "0-7, SUN-SAT"},
	}
}

// descriptors are the names for expressions.
var descriptors = map[string]string{
	"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
	"@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
}

// Descriptors lists the names for cron expressions.
func Descriptors() []string {
	return []string{"@hourly", "@daily", "@weekly", "@monthly", "@yearly"}
}

// ErrDescriptor is the error of an unknown name such as @every.
var ErrDescriptor = wording.Errorf("unknown name")

// ParseSchedule reads a cron expression of five fields, or a name such as @daily. If day and weekday are both
// given, one of them suffices, as in crontab: for example, "0 9 1 * 1" fires on the first of a month and on
// Mondays. The error is a [*CronError], or [ErrDescriptor].
func ParseSchedule(expression string, zone *time.Location) (*Schedule, error) {
	text := strings.TrimSpace(expression)
	if strings.HasPrefix(text, "@") {
		var known bool
		text, known = descriptors[strings.ToLower(text)]
		if !known {
			return nil, ErrDescriptor
		}
	}
	parts := strings.Fields(text)
	fields := cronFields()
	if len(parts) != len(fields) {
		return nil, &CronError{Fields: len(parts)}
	}
	parser := cron.MustNewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.DowOrDom)
	for i, field := range fields { // one by one, to know which is wrong
		alone := []string{"*", "*", "*", "*", "*"}
		alone[i] = parts[i]
		if _, err := parser.Parse(strings.Join(alone, " ")); err != nil {
			return nil, &CronError{Field: field.name, Text: parts[i], Want: field.want}
		}
	}
	parsed, err := parser.Parse(strings.Join(parts, " "))
	if err != nil {
		return nil, &CronError{Field: fields[0].name, Text: parts[0], Want: fields[0].want}
	}
	s := &Schedule{cron: parsed, zone: cmp.Or(zone, time.UTC), fixed: !strings.HasPrefix(parts[1], "*")}
	if s.Next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return nil, &CronError{Never: true}
	}
	return s, nil
}

// Next returns the first fire after t, in the zone of the schedule. With a fixed hour, a wall time that the clocks
// skip fires when they have moved, and one that comes twice fires the first time only. For example, in Berlin
// 02:30 fires at 03:30 on the day in March when the clocks move.
//
// The library handles times of a fixed offset only, from one change of the clocks to the next: by itself it misses
// days with a skipped midnight, and whole days if the clocks move by half an hour.
func (s *Schedule) Next(t time.Time) time.Time {
	at, after := t.In(s.zone), t // an instant between two changes, and the instant that the fire comes after
	for {
		_, end := at.ZoneBounds()
		fire := s.cron.Next(after.In(offsetOf(at)))
		if skipped := s.nextSkipped(at, after); !skipped.IsZero() && skipped.Before(fire) {
			fire = skipped
		}
		if fire.IsZero() {
			return fire
		}
		fire = fire.In(s.zone)
		isBeyond := !end.IsZero() && !fire.Before(end)
		switch {
		case isBeyond:
			at, after = end, end.Add(-time.Second)
		case s.fixed && isRepeated(fire):
			after = fire
		default:
			return fire
		}
	}
}

// offsetOf returns the offset at an instant, as a zone.
func offsetOf(at time.Time) *time.Location {
	_, seconds := at.Zone()
	return time.FixedZone("", seconds)
}

// nextSkipped returns the first fire after an instant for a time that the clocks skipped at the last change before
// at: it comes when they would have shown that time. Zero is none.
func (s *Schedule) nextSkipped(at, after time.Time) time.Time {
	change, _ := at.ZoneBounds()
	if !s.fixed || change.IsZero() {
		return time.Time{}
	}
	before := change.Add(-time.Second)
	_, old := before.Zone()
	_, now := at.Zone()
	gapEnd := change.Add(time.Duration(now-old) * time.Second)
	if after.Before(before) {
		after = before
	}
	fire := s.cron.Next(after.In(offsetOf(before)))
	if !fire.Before(gapEnd) {
		return time.Time{}
	}
	return fire
}

// isRepeated reports whether the wall time of t was there before: the clocks were turned back
// over it.
func isRepeated(t time.Time) bool {
	change, _ := t.ZoneBounds()
	if change.IsZero() {
		return false
	}
	_, now := t.Zone()
	_, before := change.Add(-time.Second).Zone()
	return t.Sub(change) < time.Duration(before-now)*time.Second
}

// Zone returns the zone of the schedule.
func (s *Schedule) Zone() *time.Location { return s.zone }

// Between returns the fires after from and not after until; if there are more than most, the last of them.
func (s *Schedule) Between(from, until time.Time, most int) []time.Time {
	var all []time.Time
	for t := s.Next(from); !t.IsZero() && !t.After(until); t = s.Next(t) {
		all = append(all, t)
		if len(all) > most {
			all = all[1:]
		}
	}
	return all
}

// Key names the fire at t: the minute on the wall if the hour is fixed, so that it is the same whatever the clocks
// do, else the instant.
func (s *Schedule) Key(t time.Time) string {
	if s.fixed {
		return t.In(s.zone).Format("2006-01-02T15:04")
	}
	return t.UTC().Format("2006-01-02T15:04Z")
}

// Delay returns how much later than planned the fire of a key begins: within jitter, and the
// same in every process.
func Delay(schedule, key string, jitter time.Duration) time.Duration {
	if jitter <= 0 {
		return 0
	}
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(schedule + "\x00" + key)) // it never fails
	return time.Duration(hash.Sum64() % uint64(jitter))
}

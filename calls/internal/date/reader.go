package date

import (
	"regexp"
	"strings"
	"time"
)

// reader takes pieces off the front of a text. bad reports that a piece was read
// that cannot be, such as a 31st of April; vague that a part of the day was named.
type reader struct {
	rest       string
	now        time.Time
	bad, vague bool
	half       string // a key of halves, of a part of the day that was named before the time

	at                         time.Time // the day
	hour, minute, second, nano int
	atEnd                      bool // the time was called 24 o'clock: the end of a day
}

// skipSeparators skips the characters allowed between a day and a time.
func (r *reader) skipSeparators() {
	for {
		before := r.rest
		r.rest = strings.TrimLeft(r.rest, " ,")
		for _, word := range []string{"at ", "on ", "的"} {
			r.rest = strings.TrimPrefix(r.rest, word)
		}
		if r.rest == before {
			return
		}
	}
}

// setDay takes the day n days from now.
func (r *reader) setDay(n int) { r.at = midnight(r.now).AddDate(0, 0, n) }

// setCalendarDay takes a day of the calendar, if there is one.
func (r *reader) setCalendarDay(year, month, day int) bool {
	at := time.Date(year, time.Month(month), day, 0, 0, 0, 0, r.now.Location())
	if at.Year() != year || int(at.Month()) != month || at.Day() != day {
		r.bad = true
		return false
	}
	r.at = at
	return true
}

// daysToWeekday returns the number of days from now to a weekday (Monday is 0) in the week
// that begins weeks weeks from the present one.
func (r *reader) daysToWeekday(day, weeks int) int {
	return day - daysSinceMonday(r.now) + 7*weeks
}

// The numbers in patterns: digits, or Chinese numerals.
const number = `(\d{1,4}|[零一二三四五六七八九十百]{1,5})`

func compileAnchored(pattern string) *regexp.Regexp {
	return regexp.MustCompile(`^(?:` + pattern + `)`)
}

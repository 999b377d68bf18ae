package rank

import (
	"regexp"
	"time"

	"github.com/callnode/scheduler/calls/internal/date"
	"github.com/callnode/scheduler/llm/value"
)

const day = 24 * time.Hour

// tolerance says how well memories outside of a period that a query names match it: people speak of past events.
type tolerance struct {
	// full is the match inside the period.
	full float64
	// before and after are how far outside a memory still matches by half; with fading, it
	// matches the less the later it is.
	before, after time.Duration
	fading        bool
}

var tolerances = map[date.Precision]tolerance{
	date.CalendarDay: {full: 1, before: day, after: 10 * day, fading: true},
	date.Relative:    {full: 1, after: 3 * day},
	date.Month:       {full: 1, after: 12 * day},
	// Most of the memories may be of the same year.
	date.Year: {full: 0.25},
	// So may the time before or after a date.
	date.Open: {full: 0.25},
}

// matchPeriod returns how well the time of a memory fits a period, 0 to 1, and whether the period contains it.
func matchPeriod(p date.Period, t time.Time) (fit float64, within bool) {
	tol := tolerances[p.Precision]
	switch {
	case t.Before(p.Start):
		if p.Start.Sub(t) <= tol.before {
			return 0.5 * tol.full, false
		}
	case t.Before(p.End):
		return tol.full, true
	case t.Sub(p.End) < tol.after:
		if !tol.fading {
			return 0.5 * tol.full, false
		}
		return tol.full * (1 - float64(t.Sub(p.End))/float64(tol.after)), false
	}
	return 0, false
}

// compilePhrase matches whole words in any case.
func compilePhrase(words string) func() *regexp.Regexp {
	return value.CompileLater(`(?i)\b(?:` + words + `)\b`)
}

var (
	englishWhen = compilePhrase(`when|how long|(?:what|which) (?:date|day|month|year|time)`)
	chineseWhen = value.CompileLater(`什[么麼][时時]候|何[时時]|[几幾][号號月点點]|哪一?[天年]|多久|多[长長][时時][间間]|什么日期`)

	englishHabit = compilePhrase(`(?:when|what time|how long) (?:do|should|must|can) (?:i|we|you|they)`)

	englishNewest = compilePhrase(`latest|newest|most recent|currently|current|nowadays|right now|these days|now`)
	chineseNewest = value.CompileLater(`最近|最新|[现現]在|目前|如今|[当當]前`)

	englishStill = compilePhrase(`still|any ?more|any longer`)
	chineseStill = value.CompileLater(`[还還仍].*[吗嗎么麼]|[还還]在|依然|[还還]有[没沒]有`)
)

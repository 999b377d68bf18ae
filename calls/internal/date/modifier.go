package date

import (
	"cmp"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/callnode/scheduler/llm/value"
)

const (
	chineseUnit = ` ?个?(天|日|周|星期|礼拜|月|年)`
	chineseN    = `(\d{1,3}|[一二三四五六七八九十两几]{1,3})`
)

// The context in which modifying words belong to something else: before yesterday's meeting.
var (
	notOwned     = value.CompileLater(`^['’]s`)
	notWeekdayOf = value.CompileLater(`^[共起直]`) // 第一个星期一共
)

// modifiers are tried in order, the more exact ones first.
var modifiers = sync.OnceValue(func() []modifier {
	return []modifier{
		// The same day of another week, month or year.
		{regexp.MustCompile(namedTime + `的?` + namedTime), func(times []Period, _ []string) (Period, bool) { return sameDay(times[0], times[1]) }},
		// The evening of a day.
		{regexp.MustCompile(namedTime + `的? ?` + chineseDayParts), modifiedDayPart},
		{regexp.MustCompile(`(?i)` + namedTime + `,? (?:in the )?` + englishDayParts + `\b`), modifiedDayPart},
		{regexp.MustCompile(`(?i)\b(?:the )?` + englishDayParts + ` of (?:the )?` + namedTime), modifiedDayPart},
		// A day of a holiday, a month or a year; the day after a day.
		{regexp.MustCompile(namedTime + `的? ?(最后|第)一天`), func(times []Period, g []string) (Period, bool) {
			return edgeDay(times[0], g[0] == "最后"), !times[0].isDay()
		}},
		{regexp.MustCompile(namedTime + `的? ?(?:第([二三四五六七八九十])天|次日|翌日|隔天)`), func(times []Period, g []string) (Period, bool) {
			if g[0] == "" {
				return calendarDay(times[0].End), true
			}
			return calendarDay(times[0].Start.AddDate(0, 0, parseNumber(g[0])-1)), true
		}},
		// A week, a weekend, a weekday or a half of a month; a month of a year.
		{apart{words: regexp.MustCompile(namedTime + `的? ?(?:第([一二三四五六七八九十]{1,2})|(头)|最后)一?(?:个((?:周|星期|礼拜)[一二三四五六日天末]?|月)|(周末?))`), notBefore: notWeekdayOf}, func(times []Period, g []string) (Period, bool) {
			return partByNumber(times[0], cmp.Or(parseNumber(g[0]), strings.Count(g[1], "头")), g[2]+g[3])
		}},
		{regexp.MustCompile(`(?i)\b(?:the )?` + englishOrdinals + ` (weekend|week|month|half|` + dayNames[1:] + `(?: of| in)?(?: the)? ` + namedTime), func(times []Period, g []string) (Period, bool) {
			return partByNumber(times[0], ordinals[strings.ToLower(g[0])], strings.ToLower(g[1]))
		}},
		// The day before; two weeks after.
		{regexp.MustCompile(namedTime + `的? ?(前|后)` + chineseN + chineseUnit), func(times []Period, g []string) (Period, bool) {
			return daysBeside(times[0], g[0] == "前", g[1], g[2])
		}},
		{regexp.MustCompile(namedTime + `(?:的?前[夕夜])`), func(times []Period, _ []string) (Period, bool) { return besidePeriod(times[0], true, 1, "d") }},
		{regexp.MustCompile(namedTime + `的? ?` + chineseN + chineseUnit + `(?:之|以)?(前|后)`), func(times []Period, g []string) (Period, bool) {
			n, ok := parseAmount(g[0])
			p, isUnit := besidePeriod(times[0], g[2] == "前", n, units[g[1]])
			return p, ok && isUnit
		}},
		{regexp.MustCompile(`(?i)\b(?:the (day|week|month|year)|` + howMany + ` (day|week|month|year)s?) (before|after) (?:the )?` + namedTime), func(times []Period, g []string) (Period, bool) {
			n, ok := parseAmount(cmp.Or(g[1], "one"))
			p, isUnit := besidePeriod(times[0], strings.EqualFold(g[3], "before"), n, units[strings.ToLower(g[0]+g[2])])
			return p, ok && isUnit
		}},
		{regexp.MustCompile(`(?i)\b(?:the )?` + englishDayParts + ` (before|after) (?:the )?` + namedTime), func(times []Period, g []string) (Period, bool) {
			p, ok := besidePeriod(times[0], strings.EqualFold(g[1], "before"), 1, "d")
			if !ok {
				return Period{}, false
			}
			return partOfDay(p, g[0])
		}},
		{regexp.MustCompile(namedTime + `的?[那当]一?(天|周|个?星期|个?礼拜|个?月|年)`), func(times []Period, g []string) (Period, bool) {
			return unitAround(times[0], units[strings.TrimPrefix(g[0], "个")]), times[0].Precision != Open
		}},
		// From one time to another.
		{regexp.MustCompile(`从?` + namedTime + `的?` + chineseUpTo + namedTime + `(?:之间|期间|间)?`), modifiedSpan},
		{regexp.MustCompile(`(?i)(?:\b(?:from|between) )?` + namedTime + upTo + `(?:the )?` + namedTime), modifiedSpan},
		{regexp.MustCompile(`(?i)\bbetween ` + namedTime + ` and (?:the )?` + namedTime), modifiedSpan},
		// Around, until, since.
		{regexp.MustCompile(namedTime + `的?(?:前后|左右)`), func(times []Period, _ []string) (Period, bool) {
			p := times[0]
			return Period{p.Start.AddDate(0, 0, -daysAround), p.End.AddDate(0, 0, daysAround), p.Precision}, true
		}},
		{regexp.MustCompile(`自?从` + namedTime + `(?:以来|至今|到现在|起|开始|之后|以后)`), func(times []Period, _ []string) (Period, bool) { return openPeriod(times[0], "since") }},
		{regexp.MustCompile(namedTime + `的? ?(之前|以前|之后|以后|过后|以来|至今|到现在|到目前)`), modifiedOpen},
		{apart{words: regexp.MustCompile(namedTime + `(前|后)`), notBefore: notOpenBefore}, modifiedOpen},
		{apart{words: regexp.MustCompile(`(?i)\b(before|after|since|until|till) (?:the )?` + namedTime), notBefore: notOwned}, modifiedOpen},
	}
})

func modifiedDayPart(times []Period, g []string) (Period, bool) { return partOfDay(times[0], g[0]) }

func modifiedOpen(times []Period, g []string) (Period, bool) { return openPeriod(times[0], g[0]) }

func modifiedSpan(times []Period, _ []string) (Period, bool) {
	first, last := times[0], times[1]
	isSpan := first.Start.Before(last.Start) && first.Precision < Open && last.Precision < Open
	return Period{first.Start, last.End, max(first.Precision, last.Precision)}, isSpan
}

const (
	// openYears is how long a time is that has only a beginning or an end.
	openYears = 100
	// daysAround is the extent of the time around another, in days.
	daysAround = 3
)

// openPeriod returns the time before, after, since or until another.
func openPeriod(p Period, word string) (Period, bool) {
	isOpen := p.Precision == Open
	switch strings.ToLower(word) {
	case "之前", "以前", "前", "before":
		return Period{p.Start.AddDate(-openYears, 0, 0), p.Start, Open}, !isOpen
	case "until", "till":
		return Period{p.Start.AddDate(-openYears, 0, 0), p.End, Open}, !isOpen
	case "之后", "以后", "过后", "后", "after":
		return Period{p.End, p.End.AddDate(openYears, 0, 0), Open}, !isOpen
	}
	return Period{p.Start, p.End.AddDate(openYears, 0, 0), Open}, !isOpen
}

// besidePeriod returns the day, week, month or year that is the n-th before or after another time.
func besidePeriod(p Period, before bool, n int, unit string) (Period, bool) {
	beside := Period{addUnits(p.End, n-1, unit), addUnits(p.End, n, unit), precisionOf(unit)}
	if before {
		beside.Start, beside.End = addUnits(p.Start, -n, unit), addUnits(p.Start, 1-n, unit)
	}
	return beside, n > 0 && p.Precision != Open
}

// unitAround returns the week, month or year in which a time begins, or the time itself.
func unitAround(p Period, unit string) Period {
	year, month, _ := p.Start.Date()
	around := p
	switch unit {
	case "w":
		monday := weekStart(p.Start)
		around = relativePeriod(monday, monday.AddDate(0, 0, 7))
	case "m":
		around = monthPeriod(year, month, p.Start.Location())
	case "y":
		around = yearPeriod(year, p.Start.Location())
	}
	if around.End.Before(p.End) {
		return p
	}
	return around
}

// daysBeside returns the n units before or after another time, as 国庆前三天, which also means the
// first three days of it, so that they are in it. One is only the one beside it.
func daysBeside(p Period, before bool, amount, unit string) (Period, bool) {
	unit = units[unit]
	n, ok := parseAmount(amount)
	if !ok {
		n = fewAtMost
	}
	if n < 1 || p.Precision == Open {
		return Period{}, false
	}
	at := p.End
	if before {
		at = p.Start
	}
	beside := Period{at, addUnits(at, n, unit), precisionOf(unit)}
	if before {
		beside.Start, beside.End = addUnits(at, -n, unit), at
	}
	if n == 1 || p.isDay() {
		return beside, true
	}
	if before {
		beside.End = addUnits(at, n, unit)
	} else {
		beside.Start = addUnits(at, -n, unit)
	}
	return beside, true
}

// sameDay returns the day at the same position in another year, month or week as day in its own: 去年的今天. If there
// is none, it returns the year, month or week. ok is false for other times.
func sameDay(unit, day Period) (p Period, ok bool) {
	if !day.isDay() || day.Precision != Relative {
		return Period{}, false
	}
	year, month, _ := unit.Start.Date()
	is := func(years, months, days int) bool { return unit.Start.AddDate(years, months, days).Equal(unit.End) }
	switch {
	case unit.Precision == Year && is(1, 0, 0):
		month = day.Start.Month()
	case unit.Precision == Month && is(0, 1, 0):
	case unit.Precision == Relative && is(0, 0, 7) && daysSinceMonday(unit.Start) == 0:
		return calendarDay(unit.Start.AddDate(0, 0, daysSinceMonday(day.Start))), true
	default:
		return Period{}, false
	}
	start := time.Date(year, month, day.Start.Day(), 0, 0, 0, 0, unit.Start.Location())
	if start.Month() != month {
		return unit, true
	}
	return calendarDay(start), true
}

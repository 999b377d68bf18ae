package date

import (
	"cmp"
	"strings"
	"time"
	"unicode/utf8"
)

// Precision is how exactly a text names a period.
type Precision int

// Precisions, the most exact first.
const (
	// CalendarDay is a day by its date, such as 7 May.
	CalendarDay Precision = iota
	// Relative is a few days counted from now, such as yesterday or two weeks ago.
	Relative
	// Month is a month or a season.
	Month
	// Year is a whole year.
	Year
	// Open is the time until or since another, as before 7 May. It is a hundred years long.
	Open
)

// Period is a time that a text names: from Start until before End.
type Period struct {
	Start, End time.Time
	Precision  Precision
}

// quarterPeriod returns a quarter of a year, or with year 0 the last one that has begun.
func quarterPeriod(quarter, year int, today time.Time) Period {
	start := time.Date(cmp.Or(year, today.Year()), time.Month(3*quarter-2), 1, 0, 0, 0, 0, today.Location())
	if year == 0 && start.After(today) {
		start = start.AddDate(-1, 0, 0)
	}
	return Period{start, start.AddDate(0, 3, 0), Month}
}

// quarterBefore returns the quarter that is so many quarters before today's.
func quarterBefore(back int, today time.Time) Period {
	return quarterPeriod((int(today.Month())+2)/3-back, today.Year(), today)
}

// calendarDay returns the day that begins at start.
func calendarDay(start time.Time) Period { return Period{start, start.AddDate(0, 0, 1), CalendarDay} }

// relativeDay returns a day that is named from today, such as yesterday.
func relativeDay(start time.Time) Period { return relativePeriod(start, start.AddDate(0, 0, 1)) }

func relativePeriod(start, end time.Time) Period { return Period{start, end, Relative} }

func monthPeriod(year int, month time.Month, in *time.Location) Period {
	start := time.Date(year, month, 1, 0, 0, 0, 0, in)
	return Period{start, start.AddDate(0, 1, 0), Month}
}

func yearPeriod(year int, in *time.Location) Period {
	start := time.Date(year, 1, 1, 0, 0, 0, 0, in)
	return Period{start, start.AddDate(1, 0, 0), Year}
}

// weekStart returns the Monday of the week of t.
func weekStart(t time.Time) time.Time { return t.AddDate(0, 0, -daysSinceMonday(t)) }

// weekBefore returns the week that is so many weeks before today's.
func weekBefore(back int, today time.Time) Period {
	monday := weekStart(today).AddDate(0, 0, -7*back)
	return relativePeriod(monday, monday.AddDate(0, 0, 7))
}

// weekendBefore returns the weekend of the week that is so many weeks before today's.
func weekendBefore(back int, today time.Time) Period {
	end := weekStart(today).AddDate(0, 0, 7-7*back)
	return relativePeriod(end.AddDate(0, 0, -2), end)
}

// lastWeekend returns the last weekend that has begun.
func lastWeekend(today time.Time) Period {
	if p := weekendBefore(0, today); !p.Start.After(today) {
		return p
	}
	return weekendBefore(1, today)
}

// monthBefore returns the month that is so many months before today's.
func monthBefore(back int, today time.Time) Period {
	return monthPeriod(today.Year(), today.Month()-time.Month(back), today.Location())
}

// lastWeekday returns the last such day before today; Monday is 0.
func lastWeekday(day int, today time.Time) Period {
	back := daysSinceMonday(today) - day
	if back <= 0 {
		back += 7
	}
	return relativeDay(today.AddDate(0, 0, -back))
}

// seasonMonths are the first months of the seasons.
var seasonMonths = map[string]time.Month{
	"spring": time.March, "summer": time.June, "fall": time.September, "autumn": time.September, "winter": time.December,
	"春": time.March, "夏": time.June, "秋": time.September, "冬": time.December,
}

// seasonPeriod returns a season of a year, or with year 0 the last one that has begun. A
// winter ends in the next year.
func seasonPeriod(name string, year int, today time.Time) Period {
	first := seasonMonths[strings.ToLower(name)]
	if year == 0 {
		year = today.Year()
		if first > today.Month() {
			year--
		}
	}
	start := time.Date(year, first, 1, 0, 0, 0, 0, today.Location())
	return Period{start, start.AddDate(0, 3, 0), Month}
}

// A few, several and 几 mean about so many.
const (
	fewAtLeast = 2
	fewAtMost  = 5
)

// agoPeriod returns the time about so many units before today. Amounts that are not
// numbers mean a few.
func agoPeriod(amount, unit string, today time.Time) (Period, bool) {
	unit = units[strings.ToLower(unit)]
	if amount == "半" {
		return halfAgoPeriod(unit, today), true
	}
	least, most := fewAtLeast, fewAtMost
	if n, ok := parseAmount(amount); ok {
		least, most = n, n
	}
	if most >= 1000 { // 2019年前: before that year
		return Period{}, false
	}
	switch unit {
	case "w":
		return relativePeriod(today.AddDate(0, 0, -7*most-3), today.AddDate(0, 0, -7*least+4)), true
	case "m":
		return relativePeriod(today.AddDate(0, -most, -15), today.AddDate(0, -least, 15)), true
	case "y":
		p := yearPeriod(today.Year()-most, today.Location())
		p.End = p.End.AddDate(most-least, 0, 0)
		return p, true
	}
	return relativePeriod(today.AddDate(0, 0, -most-1), today.AddDate(0, 0, -least+2)), true
}

// lastPeriod returns so many units before the end of today. Amounts that are not numbers mean
// a few.
func lastPeriod(g []string, today time.Time) (Period, bool) {
	end := today.AddDate(0, 0, 1)
	unit := units[strings.ToLower(g[2])]
	if g[1] == "半" {
		return relativePeriod(halfAgoPeriod(unit, today).Start, end), true
	}
	n, ok := parseAmount(g[1])
	if !ok {
		n = fewAtMost
	}
	start := end
	switch unit {
	case "d":
		start = end.AddDate(0, 0, -n)
	case "w":
		start = end.AddDate(0, 0, -7*n)
	case "m":
		start = end.AddDate(0, -n, 0)
	case "y":
		start = end.AddDate(-n, 0, 0)
	}
	return relativePeriod(start, end), start.Before(end) && n < 1000
}

// exactlyAgo returns the day so many units before another: a year ago today. ok is false if the month has no such
// day, and for a few units. For example, a month before 31 March has no such day.
func exactlyAgo(amount, unit string, day time.Time) (p Period, ok bool) {
	n, ok := parseAmount(amount)
	unit = units[strings.ToLower(unit)]
	p = calendarDay(addUnits(day, -n, unit))
	hasDay := unit == "d" || unit == "w" || p.Start.Day() == day.Day()
	return p, ok && n > 0 && hasDay
}

// halfAgoPeriod returns the time about half a unit before today.
func halfAgoPeriod(unit string, today time.Time) Period {
	switch unit {
	case "y":
		return relativePeriod(today.AddDate(0, -8, 0), today.AddDate(0, -4, 0))
	case "m":
		return relativePeriod(today.AddDate(0, 0, -20), today.AddDate(0, 0, -10))
	}
	return relativePeriod(today.AddDate(0, 0, -1), today.AddDate(0, 0, 1))
}

// parseAmount reads a number, or a couple of; ok is false for words such as a few.
func parseAmount(text string) (n int, ok bool) {
	text = strings.ToLower(text)
	switch text {
	case "a couple of", "couple of", "两":
		return 2, true
	case "a few", "few", "several":
		return 0, false
	}
	if strings.Contains(text, "几") {
		return 0, false
	}
	return parseNumber(text), true
}

// parseYear returns the year in digits, of two or four, or the one that the word means; 0 without either.
func parseYear(digits, word string, now time.Time) int {
	switch word {
	case "今年":
		return now.Year()
	case "去年":
		return now.Year() - 1
	case "前年":
		return now.Year() - 2
	case "大前年":
		return now.Year() - 3
	}
	year := parseDigits(digits) // four, two, or ""
	if utf8.RuneCountInString(digits) != 2 {
		return year
	}
	year += now.Year() - now.Year()%100
	if year > now.Year()+1 {
		year -= 100
	}
	return year
}

// datePeriod returns a month, or a day of it. Without a year it is the latest one that is not in the future. ok is
// false if there is no such date.
func datePeriod(year int, month time.Month, dayOfMonth string, now time.Time) (p Period, ok bool) {
	if month < time.January || month > time.December {
		return Period{}, false
	}
	hasYear := year != 0
	if !hasYear {
		year = now.Year()
		if month > now.Month() {
			year--
		}
	}
	if dayOfMonth == "" {
		return monthPeriod(year, month, now.Location()), true
	}
	day := parseNumber(dayOfMonth)
	start := time.Date(year, month, day, 0, 0, 0, 0, now.Location())
	if start.Month() != month || day == 0 {
		return Period{}, false
	}
	if !hasYear && start.After(now) {
		start = start.AddDate(-1, 0, 0)
	}
	return calendarDay(start), true
}

// daysPeriod returns the days from one date to another, which has the same month if it names none. ok is false if
// one of them is not a date, or they are in the wrong order.
func daysPeriod(year int, firstMonth, firstDay, lastMonth, lastDay string, now time.Time) (p Period, ok bool) {
	first, isFirst := datePeriod(year, parseMonth(firstMonth), firstDay, now)
	last, isLast := datePeriod(year, parseMonth(cmp.Or(lastMonth, firstMonth)), lastDay, now)
	if !isFirst || !isLast || last.Start.Before(first.Start) {
		return Period{}, false
	}
	return Period{first.Start, last.End, CalendarDay}, true
}

// parseMonth reads the number or the English name of a month; 0 is not a month.
func parseMonth(text string) time.Month {
	if n := monthByName(strings.ToLower(text)); n > 0 {
		return n
	}
	return time.Month(parseNumber(text))
}

// addUnits adds so many units to a time.
func addUnits(t time.Time, n int, unit string) time.Time {
	switch unit {
	case "d":
		return t.AddDate(0, 0, n)
	case "w":
		return t.AddDate(0, 0, 7*n)
	case "m":
		return t.AddDate(0, n, 0)
	}
	return t.AddDate(n, 0, 0)
}

// precisionOf returns how exactly a number of units names a time.
func precisionOf(unit string) Precision {
	return map[string]Precision{"d": CalendarDay, "w": Relative, "m": Month, "y": Year}[unit]
}

func midnight(t time.Time) time.Time {
	year, month, day := t.Date()
	return time.Date(year, month, day, 0, 0, 0, 0, t.Location())
}

// isDay reports whether a period is one whole day.
func (p Period) isDay() bool {
	return p.Start.AddDate(0, 0, 1).Equal(p.End) && p.Start.Equal(midnight(p.Start))
}

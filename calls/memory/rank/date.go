package rank

import (
	"strconv"
	"strings"
	"time"
)

const day = 24 * time.Hour

// period is a time that a query names. People speak of what happened afterwards: a
// memory counts in full inside [start, end), less before and after.
type period struct {
	start, end time.Time
	// vague periods count that much less; 0: in full.
	vague float64
	// before and after are how far a memory may be outside; falling says that it
	// counts less with the distance, else half.
	before, after time.Duration
	falling       bool
}

// match is how well a time fits, 0 to 1.
func (p period) match(t time.Time) float64 {
	full := 1 - p.vague
	switch {
	case t.Before(p.start):
		if p.start.Sub(t) <= p.before {
			return 0.5 * full
		}
	case t.Before(p.end):
		return full
	case t.Sub(p.end) < p.after:
		if !p.falling {
			return 0.5 * full
		}
		return full * (1 - float64(t.Sub(p.end))/float64(p.after))
	}
	return 0
}

func dayPeriod(start time.Time) period {
	return period{start: start, end: start.AddDate(0, 0, 1), before: day, after: 10 * day, falling: true}
}

func monthPeriod(year int, month time.Month, in *time.Location) period {
	start := time.Date(year, month, 1, 0, 0, 0, 0, in)
	return period{start: start, end: start.AddDate(0, 1, 0), after: 12 * day}
}

// oneDay is a day that is named from today, such as yesterday.
func oneDay(start time.Time) period { return between(start, start.AddDate(0, 0, 1)) }

func between(start, end time.Time) period { return period{start: start, end: end, after: 3 * day} }

// yearPeriod is vague: most of what is remembered may be of that year.
func yearPeriod(year int, today time.Time) period {
	start := time.Date(year, 1, 1, 0, 0, 0, 0, today.Location())
	return period{start: start, end: start.AddDate(1, 0, 0), vague: 0.75}
}

func monday(t time.Time) time.Time { return t.AddDate(0, 0, -(int(t.Weekday())+6)%7) }

// weekday is the last day of that name before today.
func weekday(name string, today time.Time) period {
	for back := 1; back < 7; back++ {
		if d := today.AddDate(0, 0, -back); strings.EqualFold(d.Weekday().String(), name) {
			return oneDay(d)
		}
	}
	return oneDay(today.AddDate(0, 0, -7))
}

// chineseWeekday counts from Monday, which is 0.
func chineseWeekday(s string) int {
	return min(strings.Index("一二三四五六日天", s)/len("一"), 6)
}

// season is one of a year, or the last one that has begun. A winter ends in the next
// year.
func season(name, year string, today time.Time) period {
	first := time.December
	switch strings.ToLower(name) {
	case "spring", "春":
		first = time.March
	case "summer", "夏":
		first = time.June
	case "fall", "autumn", "秋":
		first = time.September
	}
	y, err := strconv.Atoi(year)
	if err != nil {
		if y = today.Year(); first > today.Month() {
			y--
		}
	}
	start := time.Date(y, first, 1, 0, 0, 0, 0, today.Location())
	return period{start: start, end: start.AddDate(0, 3, 0), after: 12 * day}
}

// ago is about so many units before today; what is no number means a few.
func ago(many, unit string, today time.Time) (period, bool) {
	if many == half {
		return halfAgo(unit, today), true
	}
	most, err := strconv.Atoi(many)
	least := most
	if err != nil {
		most, least = 5, 2
	}
	if most >= 1000 { // before that year
		return period{}, false
	}
	switch strings.ToLower(unit) {
	case "week", "周", "星期", "礼拜":
		return between(today.AddDate(0, 0, -7*most-3), today.AddDate(0, 0, -7*least+4)), true
	case "month", "月":
		return between(today.AddDate(0, -most, -15), today.AddDate(0, -least, 15)), true
	case "year", "年":
		p := yearPeriod(today.Year()-most, today)
		p.end = p.end.AddDate(most-least, 0, 0)
		return p, true
	}
	return between(today.AddDate(0, 0, -most-1), today.AddDate(0, 0, -least+2)), true
}

func halfAgo(unit string, today time.Time) period {
	switch unit {
	case "年":
		return between(today.AddDate(0, -8, 0), today.AddDate(0, -4, 0))
	case "月":
		return between(today.AddDate(0, 0, -20), today.AddDate(0, 0, -10))
	}
	return between(today.AddDate(0, 0, -1), today.AddDate(0, 0, 1))
}

// half stands for a half where a number is expected.
const half = "half"

var numbers = pairs(`a 1 an 1 one 1 two 2 three 3 four 4 five 5 six 6 seven 7 eight 8 nine 9 ten 10 eleven 11 twelve 12
一 1 二 2 两 2 三 3 四 4 五 5 六 6 七 7 八 8 九 9 十 10 半 half`)

// number writes a number below 100 in digits. What it does not know, and a few, it
// leaves as it is.
func number(s string) string {
	if n := numbers[strings.ToLower(s)]; n != "" {
		return n
	}
	if s == "a couple of" {
		return "2"
	}
	tens, ones, ok := strings.Cut(s, "十")
	if !ok {
		return s
	}
	digit := func(s, none string) string {
		if s == "" {
			return none
		}
		return numbers[s]
	}
	return digit(tens, "1") + digit(ones, "0")
}

// yearOf is the year in digits, or the one that the word means.
func yearOf(digits, word string, now time.Time) string {
	switch word {
	case "今年":
		return strconv.Itoa(now.Year())
	case "去年":
		return strconv.Itoa(now.Year() - 1)
	case "前年":
		return strconv.Itoa(now.Year() - 2)
	}
	return digits
}

// date makes a period of what was written; "" is not said.
func date(year, month, dayOfMonth string, now time.Time) (period, bool) {
	m := monthOf(month)
	if m == 0 {
		return period{}, false
	}
	y, hasYear := now.Year(), year != ""
	if hasYear {
		y, _ = strconv.Atoi(year) // four digits
	} else if m > now.Month() {
		y--
	}
	if dayOfMonth == "" {
		return monthPeriod(y, m, now.Location()), true
	}
	d, _ := strconv.Atoi(dayOfMonth) // two digits
	start := time.Date(y, m, d, 0, 0, 0, 0, now.Location())
	if start.Month() != m || d == 0 {
		return period{}, false
	}
	if !hasYear && start.After(now) {
		start = start.AddDate(-1, 0, 0)
	}
	return dayPeriod(start), true
}

func monthOf(s string) time.Month {
	if n, err := strconv.Atoi(s); err == nil {
		if n < 1 || n > 12 {
			return 0
		}
		return time.Month(n)
	}
	s = strings.ToLower(s)
	for m := time.January; m <= time.December; m++ {
		if len(s) >= 3 && strings.HasPrefix(strings.ToLower(m.String()), s[:3]) {
			return m
		}
	}
	return 0
}

package date

import (
	"strconv"
	"strings"
	"time"
)

// firstLunarYear is the year of the first row of [lunarYears], and lunarStart the first day of it.
const firstLunarYear = 1999

var lunarStart = civilDay{1999, time.February, 16}

type civilDay struct {
	year  int
	month time.Month
	day   int
}

// lunarYears has five hexadecimal digits for each year of the Chinese calendar (from lunar-go 1.4.7): 1 if the
// leap month has 30 days, a bit for each of the twelve months that has 30 and not 29, the first month first, and
// the number of the month that the leap month follows, 0 without one.
var lunarYears = strings.Fields(`
092e0 0c960 0d954 0d4a0 0da50 07552 056a0 0abb7 025d0 092d0 0cab5 0a950 0b4a0 0baa4 0ad50 055d9 04ba0 0a5b0
15176 052b0 0a930 07954 06aa0 0ad50 05b52 04b60 0a6e6 0a4e0 0d260 0ea65 0d530 05aa0 076a3 096d0 04afb 04ad0
0a4d0 1d0b6 0d250 0d520 0dd45 0b5a0 056d0 055b2 049b0 0a577 0a4b0 0aa50 1b255 06d20 0ada0 14b63`)

// lunarYear is a year of the Chinese calendar.
type lunarYear struct {
	start    time.Time // its first day
	long     uint64    // a bit for each month with 30 days
	leap     int       // the month before the leap month, or 0
	longLeap bool
}

// lunarYearOf returns a year of [lunarYears]. ok is false if it is not one of them.
func lunarYearOf(year int, in *time.Location) (y lunarYear, ok bool) {
	if year < firstLunarYear || year >= firstLunarYear+len(lunarYears) {
		return lunarYear{}, false
	}
	days := 0
	for i := range year - firstLunarYear {
		before := newLunarYear(lunarYears[i])
		days += before.daysBefore(13)
	}
	y = newLunarYear(lunarYears[year-firstLunarYear])
	y.start = time.Date(lunarStart.year, lunarStart.month, lunarStart.day+days, 0, 0, 0, 0, in)
	return y, true
}

func newLunarYear(row string) lunarYear {
	bits, _ := strconv.ParseUint(row, 16, 64)
	return lunarYear{long: bits >> 4 & 0xfff, leap: int(bits & 0xf), longLeap: bits>>16 == 1}
}

// monthDays returns the number of days of a month, from 1, or of the leap month.
func (y *lunarYear) monthDays(month int, isLeap bool) int {
	isLong := y.long>>(12-month)&1 == 1
	if isLeap {
		isLong = y.longLeap
	}
	if isLong {
		return 30
	}
	return 29
}

// daysBefore returns the number of days of the year before a month; 13 is the end of the year.
func (y *lunarYear) daysBefore(month int) (days int) {
	for m := 1; m < month; m++ {
		days += y.monthDays(m, false)
		if m == y.leap {
			days += y.monthDays(m, true)
		}
	}
	return days
}

// lunarDay is a day of the Chinese calendar, or with day 0 a month of it.
type lunarDay struct {
	month, day int
	isLeap     bool // the month is the leap month after the one with that number
}

// in returns the day or the month of a year. ok is false if it has none, or the year is not known.
func (d lunarDay) in(year int, in *time.Location) (p Period, ok bool) {
	y, ok := lunarYearOf(year, in)
	isMonth := 1 <= d.month && d.month <= 12
	hasLeap := !d.isLeap || y.leap == d.month
	if !ok || !isMonth || !hasLeap {
		return Period{}, false
	}
	before, length := y.daysBefore(d.month), y.monthDays(d.month, d.isLeap)
	if d.isLeap {
		before += y.monthDays(d.month, false)
	}
	if d.day < 0 || d.day > length {
		return Period{}, false
	}
	if d.day == 0 {
		start := y.start.AddDate(0, 0, before)
		return Period{start, start.AddDate(0, 0, length), Month}, true
	}
	return calendarDay(y.start.AddDate(0, 0, before+d.day-1)), true
}

// period returns the day or the month of a year of the Chinese calendar, or with year 0 the last
// one that has begun.
func (d lunarDay) period(year int, today time.Time) (p Period, ok bool) {
	if year != 0 {
		return d.in(year, today.Location())
	}
	const leapYears = 20 // a leap month after a given month comes back within so many years, mostly
	for back := range leapYears {
		p, ok = d.in(today.Year()-back, today.Location())
		if ok && !p.Start.After(today) {
			return p, true
		}
		if !ok && !d.isLeap && d.day < 30 {
			return Period{}, false
		}
	}
	return Period{}, false
}

// lunarMonths are the months of the Chinese calendar with names.
var lunarMonths = map[string]int{"正": 1, "冬": 11, "腊": 12}

// namedLunarDay reads a year in digits or as a word, 闰 or "", a month, and a day or "".
func namedLunarDay(digits, word, leap, month, day string, today time.Time) (Period, bool) {
	d := lunarDay{month: lunarMonths[month], isLeap: leap != ""}
	if d.month == 0 {
		d.month = parseNumber(month)
	}
	if day != "" {
		d.day = parseNumber(strings.NewReplacer("初", "", "廿", "二十", "卅", "三十", "日", "", "号", "").Replace(day))
		if d.day == 0 {
			return Period{}, false
		}
	}
	return d.period(parseYear(digits, word, today), today)
}

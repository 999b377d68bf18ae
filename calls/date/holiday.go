package date

import (
	"regexp"
	"strings"
	"time"
)

// holiday is a day of the year that has a name, or the days from it on.
type holiday struct {
	month time.Month
	day   int
	// days is how many days people mean by the name.
	days int
}

// fixedHolidays are those on the same days of every year. Both weeks of holidays in China are
// meant as a whole.
var fixedHolidays = map[string]holiday{
	"元旦": {time.January, 1, 1}, "情人节": {time.February, 14, 1}, "妇女节": {time.March, 8, 1}, "愚人节": {time.April, 1, 1},
	"五一": {time.May, 1, 5}, "劳动节": {time.May, 1, 5}, "六一": {time.June, 1, 1}, "儿童节": {time.June, 1, 1},
	"国庆": {time.October, 1, 7}, "万圣": {time.October, 31, 1}, "双十一": {time.November, 11, 1},
	"平安夜": {time.December, 24, 1}, "圣诞": {time.December, 25, 1}, "跨年": {time.December, 31, 1},

	"new years eve": {time.December, 31, 1}, "new years day": {time.January, 1, 1},
	"valentines day": {time.February, 14, 1}, "april fools day": {time.April, 1, 1}, "fourth of july": {time.July, 4, 1},
	"halloween": {time.October, 31, 1}, "christmas eve": {time.December, 24, 1}, "christmas day": {time.December, 25, 1},
	"xmas": {time.December, 25, 1}, "christmas": {time.December, 25, 1}, "boxing day": {time.December, 26, 1},
}

// holidayWords are words of the English names.
var holidayWords = wordSet(`eve day days valentine valentines fools july halloween christmas xmas boxing end start beginning middle`)

const (
	chineseHolidays = `(元旦|情人节|妇女节|愚人节|劳动节|儿童节|国庆|双十一|万圣|平安夜|圣诞|跨年|春节|大年初一|大年三十|除夕|元宵|端午|中秋)`
	mayDays         = `(五一|六一)`
	holidayEnd      = `(?:节|(?:国际)?(?:劳动节|儿童节)|)(?:假期|长假|小长假|黄金周|期间)?`
	englishHolidays = `(new year['’]?s eve|new year['’]?s day|valentine['’]?s day|april fools['’]? day|fourth of july|halloween|christmas eve|christmas day|christmas|xmas|boxing day)`
)

// firstLunarYear is the year of the first row of [lunarHolidays].
const firstLunarYear = 2000

// lunarHolidays has the month and day of the Spring Festival, the Dragon Boat Festival and the
// Mid-Autumn Festival of each year, as the Chinese calendar gives them (lunar-go 1.4.7). Other years
// are not in it.
var lunarHolidays = strings.Fields(`
020506060912 012406251001 021206150921 020106040911 012206220928 020906110918 012905311006 021806190925 020706080914 012605281003
021406160922 020306060912 012306230930 021006120919 013106020908 021906200927 020806090915 012805301004 021606180924 020506070913
012506251001 021206140921 020106030910 012206220929 021006100917 012905311006 021706190925 020606090915 012605281003 021306160922
020306050912 012306241001 021106120919 013106010908 021906200927 020806100916 012805301004 021506180924 020406070913 012405271002
021206140920 020106030910 012206220928 021006110917 013005311005 021706190925 020606080915 012605291004 021406150922 020206040911
012306230930`)

// lunarHoliday is a day of the Chinese calendar: so many days after one of [lunarHolidays].
type lunarHoliday struct{ column, after, days int }

// The days that people mean by the names: those of the Spring Festival are a week.
var lunarNames = map[string]lunarHoliday{
	"除夕": {0, -1, 1}, "大年三十": {0, -1, 1}, "春节": {0, 0, 7}, "大年初一": {0, 0, 1}, "元宵": {0, 14, 1}, "端午": {1, 0, 1}, "中秋": {2, 0, 1},
}

// holidayOf returns a holiday of a year; ok is false where its day is not known.
func holidayOf(name string, year int, in *time.Location) (p Period, ok bool) {
	h, isFixed := fixedHolidays[name]
	after := 0
	if !isFixed {
		lunar := lunarNames[name]
		row := year - firstLunarYear
		if row < 0 || row >= len(lunarHolidays) {
			return Period{}, false
		}
		at := lunarHolidays[row][4*lunar.column:]
		h, after = holiday{time.Month(parseNumber(at[:2])), parseNumber(at[2:4]), lunar.days}, lunar.after
	}
	start := time.Date(year, h.month, h.day+after, 0, 0, 0, 0, in)
	return Period{start, start.AddDate(0, 0, h.days), CalendarDay}, true
}

// holidayPeriod returns a holiday of a year, or with year 0 the last one that has begun.
func holidayPeriod(name string, year int, today time.Time) (Period, bool) {
	if year != 0 {
		return holidayOf(name, year, today.Location())
	}
	p, ok := holidayOf(name, today.Year(), today.Location())
	if ok && p.Start.After(today) {
		return holidayOf(name, today.Year()-1, today.Location())
	}
	return p, ok
}

// englishHoliday returns the key of [fixedHolidays] of a name in any case.
func englishHoliday(name string) string {
	return strings.NewReplacer("'", "", "’", "").Replace(strings.ToLower(name))
}

// Holidays returns the names of holidays that a text has, without words like 节 and 期间. They
// are found beside the times of the days, because people speak of a holiday on other days too.
func Holidays(text string) (names []string) {
	text = simplified.Replace(text)
	for _, pattern := range holidayNames {
		for _, m := range pattern.FindAllStringSubmatchIndex(text, -1) {
			found := submatches(text, m)
			names = append(names, found[len(found)-1])
		}
	}
	return names
}

var holidayNames = []interface {
	FindAllStringSubmatchIndex(text string, n int) [][]int
}{compilePhrase(englishHolidays), apart{regexp.MustCompile(mayDays), notMayDayAfter, notMayDayBefore}, apart{words: regexp.MustCompile(chineseHolidays), notAfter: notHolidayAfter}}

// edgeDay returns the first or the last day of a period.
func edgeDay(p Period, isLast bool) Period {
	if isLast {
		return calendarDay(p.End.AddDate(0, 0, -1))
	}
	return calendarDay(p.Start)
}

// lastSuchDay returns a day without its month: that of this month, or where this month has not
// come so far, or has no such day, that of the month before.
func lastSuchDay(day string, today time.Time) (Period, bool) {
	p, ok := dayOfRelativeMonth(0, "", day, today)
	if ok && !p.Start.After(today) && p.Start.Month() == today.Month() {
		return p, true
	}
	return dayOfRelativeMonth(1, "", day, today)
}

// lastMonthPart returns a part of a month without its name: the last one that has begun.
func lastMonthPart(part string, today time.Time) (Period, bool) {
	p, _ := dayOfRelativeMonth(0, part, "", today)
	if p.Start.After(today) {
		return dayOfRelativeMonth(1, part, "", today)
	}
	return p, true
}

// lastYearPart returns a part of a year without its number: the last one that has begun.
func lastYearPart(part string, today time.Time) Period {
	p := partOfYear(today.Year(), part, today.Location())
	if p.Start.After(today) {
		return partOfYear(today.Year()-1, part, today.Location())
	}
	return p
}

package date

import (
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/callnode/scheduler/llm/value"
)

// holiday is a day of the year that has a name, or the days from it on.
type holiday struct {
	month time.Month
	day   int
	// days is how many days people mean by the name.
	days int
}

// fixedHolidays are the holidays on the same days of every year. China's two week-long holidays count as whole
// weeks.
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
var holidayWords = value.WordSet(`eve day days valentine valentines fools july halloween christmas xmas boxing end start beginning middle`)

const (
	holidayNamesZh  = `元旦|情人节|妇女节|愚人节|劳动节|儿童节|国庆|双十一|万圣|平安夜|圣诞|跨年|春节|大年三十|除夕|元宵|清明|端午|七夕|中元|中秋|重阳`
	mayDayNames     = `五一|六一`
	chineseHolidays = `(` + holidayNamesZh + `)`
	mayDays         = `(` + mayDayNames + `)`
	holidayEnd      = `(?:节|(?:国际)?(?:劳动节|儿童节)|)(?:假期|长假|小长假|黄金周|期间)?`
	englishHolidays = `(new year['’]?s eve|new year['’]?s day|valentine['’]?s day|april fools['’]? day|fourth of july|halloween|christmas eve|christmas day|christmas|xmas|boxing day)`
)

// lunarHoliday is a holiday of the Chinese calendar: it begins so many days after a day of it.
type lunarHoliday struct {
	lunarDay
	after, days int
}

// The days that people mean by the names: the Spring Festival has a week.
var lunarNames = map[string]lunarHoliday{
	"除夕": {lunarDay{month: 1, day: 1}, -1, 1}, "大年三十": {lunarDay{month: 1, day: 1}, -1, 1}, "春节": {lunarDay{month: 1, day: 1}, 0, 7},
	"元宵": {lunarDay{month: 1, day: 15}, 0, 1}, "端午": {lunarDay{month: 5, day: 5}, 0, 1}, "七夕": {lunarDay{month: 7, day: 7}, 0, 1},
	"中元": {lunarDay{month: 7, day: 15}, 0, 1}, "中秋": {lunarDay{month: 8, day: 15}, 0, 1}, "重阳": {lunarDay{month: 9, day: 9}, 0, 1},
}

// holidayOf returns a holiday of a year; ok is false if its day is not known.
func holidayOf(name string, year int, in *time.Location) (p Period, ok bool) {
	if name == "清明" {
		return pureBrightness(year, in)
	}
	if h, isFixed := fixedHolidays[name]; isFixed {
		start := time.Date(year, h.month, h.day, 0, 0, 0, 0, in)
		return Period{start, start.AddDate(0, 0, h.days), CalendarDay}, true
	}
	h := lunarNames[name]
	p, ok = h.in(year, in)
	start := p.Start.AddDate(0, 0, h.after)
	return Period{start, start.AddDate(0, 0, h.days), CalendarDay}, ok
}

// pureBrightness returns 清明, which goes by the sun. The formula holds for this century.
func pureBrightness(year int, in *time.Location) (p Period, ok bool) {
	const firstYear, lastYear, days, offset = 2000, 2099, 0.2422, 4.81
	n := year - firstYear
	day := int(float64(n)*days+offset) - n/4
	return calendarDay(time.Date(year, time.April, day, 0, 0, 0, 0, in)), firstYear <= year && year <= lastYear
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
// are found beside the times of the days, because people speak of a holiday on other days too. A
// holiday that only names a time before or after it is left out.
func Holidays(text string) (names []string) {
	text = simplified.Replace(text)
	for _, pattern := range holidayNames() {
		for _, m := range pattern.FindAllStringSubmatchIndex(text, -1) {
			if besideHoliday().MatchString(text[m[1]:]) || holidayBeside().MatchString(text[:m[0]]) {
				continue
			}
			found := submatches(text, m)
			names = append(names, found[len(found)-1])
		}
	}
	return names
}

// The context of a holiday that means a time near it.
var (
	besideHoliday = value.CompileLater(`^节?(?:假期|长假)?的? ?(?:[之以]?[前后](?:[^后]|$)|过后|第[二三四五六七八九十]天|次日)`)
	holidayBeside = value.CompileLater(`(?i)\b(?:before|after|since|until|till) (?:the )?$`)
)

// The context of a holiday's name that makes it something else: 二十一节.
var (
	notHolidayAfter = value.CompileLater(`[\d零一二三四五六七八九十第]$`)
	notMayDayAfter  = value.CompileLater(`[\d零一二三四五六七八九十第周期拜]$`)
	notMayDayBefore = value.CompileLater(`^[起直个家样定些点下次天共月日号路]`)
)

var holidayNames = sync.OnceValue(func() []matcher {
	return []matcher{
		compilePhrase(englishHolidays),
		apart{words: regexp.MustCompile(mayDays), notAfter: notMayDayAfter, notBefore: notMayDayBefore},
		apart{words: regexp.MustCompile(chineseHolidays), notAfter: notHolidayAfter},
	}
})

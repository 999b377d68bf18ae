package date

import (
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/callnode/scheduler/llm/value"
)

const (
	chineseMany = `(\d{1,4}|[一二三四五六七八九十两几半]{1,3})`
	chineseWeek = `(?:个?星期|个?礼拜|个?周)`
	chineseLast = `(大?上{1,4})` // as many as it goes back
	chineseThis = `[本这]`
	yearDigits  = `\d{4}|[零一二三四五六七八九]{4}`
	yearWords   = `今年|去年|大?前年`
	chineseYear = `(?:(` + yearDigits + `) ?年|(` + yearWords + `))`
	// shortYearDigits may be two. A month, a season or the like comes after them.
	shortYearDigits  = yearDigits + `|\d{2}|[零一二九][零一二三四五六七八九]`
	chineseShortYear = `(?:(` + shortYearDigits + `) ?年|(` + yearWords + `))`
	ofYear           = `(?:` + chineseShortYear + `的? ?)?`
	chineseUpTo      = ` ?(?:到|至|[-—–~]+) ?`
	// chineseCounted are the units that a time is counted in.
	chineseCounted = ` ?个?(天|日|周|星期|礼拜|月|年)`

	chineseWeekday    = `([一二三四五六日天])`
	monthNumber       = `(?:\d{1,2}|十?[一二三四五六七八九十])`
	chineseMonth      = `(` + monthNumber + `) ?月`
	dayNumber         = `(?:\d{1,2}|[一二三]?十?[一二三四五六七八九十])`
	chineseDayOfMonth = `(` + dayNumber + `)`
	chineseAnd        = ` ?(?:和|与|跟|及|以及|或|、|,|，) ?`
	monthPartNames    = `(?:初|上旬|中旬|下旬|底|末)`
	monthPart         = `(` + monthPartNames + `)`
	yearPart          = `年?(初|中|底|末)|的?(上半年|下半年)`
)

// chinesePoint is a day, a part of a month or of a year, a month or a year. The mark of
// the day is a pattern.
func chinesePoint(dayMark string) string {
	return `(?:` + ofYear + chineseMonth + `(?: ?` + monthPart + `| ?` + chineseDayOfMonth + ` ?` + dayMark + `)?` +
		`|` + chineseYear + `(?:` + yearPart + `)?)`
}

// pointGroups is the number of groups of a chinesePoint.
const pointGroups = 9

// point is the match of a chinesePoint.
type point struct {
	year                     int // 0: not named
	month                    time.Month
	monthPart, day, yearPart string
}

// newPoint reads the groups of a chinesePoint.
func newPoint(g []string, today time.Time) point {
	if g[2] == "" { // a year
		return point{year: parseYear(g[5], g[6], today), yearPart: g[7] + g[8]}
	}
	return point{year: parseYear(g[0], g[1], today), month: parseMonth(g[2]), monthPart: g[3], day: g[4]}
}

// period returns the time that the point names. ok is false if there is no such day.
func (p point) period(today time.Time) (period Period, ok bool) {
	if p.month == 0 {
		return partOfYear(p.year, p.yearPart, today.Location()), p.year > 0
	}
	period, ok = datePeriod(p.year, p.month, p.day, today)
	if !ok || p.monthPart == "" {
		return period, ok
	}
	return partOfMonth(period, p.monthPart), true
}

// chineseSpan returns the time from one point to another. The second may be a day of the
// first's month.
func chineseSpan(g []string, today time.Time) (Period, bool) {
	first, last := newPoint(g[1:], today), newPoint(g[1+pointGroups:], today)
	if dayOnly := g[1+2*pointGroups]; dayOnly != "" {
		last = point{year: first.year, month: first.month, day: dayOnly}
	}
	return spanOf(first, last, today)
}

// spanOf returns the time from one point to another. If one of them is without a year, it is in the other's year,
// or in the year before or after.
func spanOf(first, last point, today time.Time) (Period, bool) {
	if first.year == 0 {
		first.year = last.year
		if start, ok := first.period(today); ok && last.year > 0 {
			if end, ok := last.period(today); ok && end.End.Before(start.End) {
				first.year--
			}
		}
	}
	start, ok := first.period(today)
	if !ok {
		return Period{}, false
	}
	hasYear := last.year != 0
	if !hasYear {
		last.year = start.Start.Year()
	}
	end, ok := last.period(today)
	isNextYear := ok && !hasYear && end.Start.Before(start.Start) && last.month != first.month
	if isNextYear {
		last.year++
		end, ok = last.period(today)
	}
	if !ok || end.Start.Before(start.Start) {
		return Period{}, false
	}
	return Period{start.Start, end.End, max(start.Precision, end.Precision)}, true
}

// monthsSpan returns the time from one month to another: 五到七月.
func monthsSpan(g []string, today time.Time) (Period, bool) {
	return spanOf(point{year: parseYear(g[1], g[2], today), month: parseMonth(g[3])}, point{month: parseMonth(g[4])}, today)
}

// weekdaysOf returns the days from one weekday to another, or one, of the week that is so many weeks before
// today's.
func weekdaysOf(back int, first, last string, today time.Time) (Period, bool) {
	monday := weekStart(today).AddDate(0, 0, -7*back)
	if last == "" {
		last = first
	}
	p := relativePeriod(monday.AddDate(0, 0, weekdays[first]), monday.AddDate(0, 0, weekdays[last]+1))
	return p, p.Start.Before(p.End)
}

// The context of words that would name a time, and makes them something else: 7号楼, 每月初.
var (
	notDayAfter     = value.CompileLater(`[\da-zA-Z零一二三四五六七八九十百千第.-]$`)
	notDayBefore    = value.CompileLater(`^(?:[楼线桌院门房店球机车馆厅库口仓井铺床柜窗站台厂字铁选手码人文公]|高速|国道|服务|员工|地块|作品)`)
	notPartAfter    = value.CompileLater(`[\d零一二三四五六七八九十几每各本整个]$`)
	notLastAfter    = value.CompileLater(`[早晚海路马以]$`) // 晚上
	notThisAfter    = value.CompileLater(`日$`)        // 日本
	notNextAfter    = value.CompileLater(`[之以今]$`)
	notDayNameAfter = value.CompileLater(`[提之以]$`)
	notAgoAfter     = value.CompileLater(`(?:[提之以]|[` + marks + `]的? ?)$`)
	notLunarBefore  = value.CompileLater(`^[家个起些直次定样]`)
	notWeekdayNear  = value.CompileLater(`[\d一二两三四五六七八九十几每半下上本这个隔整圆老小到]$`)
	notBareWeekday  = value.CompileLater(`^(?:[次个天顿回遍年岁十百分点气围报]|要|打算|准备|计划)`)
	notSeasonAfter  = value.CompileLater(`[每那各一青]个?$`)
	notFractionNear = value.CompileLater(`[\d/.:A-Za-z比例占第-]$`)
	notFraction     = value.CompileLater(`^(?:[\d/.:%A-Za-z-]| ?(?:的人|杯|勺|茶匙|页|斤|以上|左右|概率))`)
	notQuarterNear  = value.CompileLater(`[A-Za-z\d第每]$`)
	notOpenBefore   = value.CompileLater(`^[^\s\p{P}我你他她它咱们的去来做干吃喝买有发说都是在会没还又见看住学写哪谁什怎为和与]`) // 昨天前台说
	notQuarterMark  = value.CompileLater(`^(?:[\da-zA-Z]| ?[:：.)）])`)
)

func namedHoliday(g []string, today time.Time) (Period, bool) {
	return holidayPeriod(g[3], parseYear(g[1], g[2], today), today)
}

// afterLast matches a pattern that begins with 上, afterThis one that begins with 这.
func afterLast(pattern string) apart {
	return apart{words: regexp.MustCompile(chineseLast + pattern), notAfter: notLastAfter}
}

func afterThis(pattern string) apart {
	return apart{words: regexp.MustCompile(chineseThis + pattern), notAfter: notThisAfter}
}

const (
	// chineseYearly matches the things that may follow a year: a month, a day, a holiday or a season.
	chineseYearly = `(?:` + monthNumber + ` ?月(?: ?` + monthPartNames + `| ?` + dayNumber + ` ?[日号])?|(?:` + holidayNamesZh + `|` + mayDayNames + `)节?|[春夏秋冬][天季])`
	chineseLunar  = `(?:农历|阴历|旧历)`
	lunarDays     = `(初[一二三四五六七八九十]|廿[一二三四五六七八九]?|卅)日?`
	// lunarDayOfMonth has a mark of the day, or a number above nine.
	lunarDayOfMonth = `([二三]?十[一二三四五六七八九]?|` + dayNumber + `[日号])`
	// chineseFuture is the beginning of a time that is not read.
	chineseFuture = `(?:明年|后年|下{1,3}个? ?(?:月|周|星期|礼拜|季度?))的? ?`
)

// listed returns the times that begin with the same words, and end with those that a pattern finds in a list; none
// if one of them is not a time.
func listed(beginning, list string, pattern *regexp.Regexp, end string, read func(string) (Period, bool)) (periods []Period) {
	for _, item := range pattern.FindAllString(list, -1) {
		p, ok := read(beginning + item + end)
		if !ok {
			return nil
		}
		periods = append(periods, p)
	}
	return periods
}

var (
	dayItems     = value.CompileLater(dayNumber)
	weekdayItems = value.CompileLater(`[一二三四五六日天]`)
	yearlyItems  = value.CompileLater(chineseYearly)
)

func withoutOf(text string) string { return strings.TrimSuffix(strings.TrimSpace(text), "的") }

// chineseExpressions are tried in order, the more exact ones first. They are compiled when they are
// first needed, as all such lists here.
var chineseExpressions = sync.OnceValue(func() []expression {
	return []expression{
		{words: apart{words: regexp.MustCompile(chineseFuture + `(?:` + chineseYearly + `|` + dayNumber + ` ?[日号]|[一二三四五六日天末初底]|第?[一二三四1-4]个?季度|年[初中底末])?`), notAfter: notNextAfter}},
		{words: regexp.MustCompile(`每个?(?:年|月|周|星期|礼拜)的? ?(?:` + chineseYearly + `|` + dayNumber + ` ?[日号]|[一二三四五六日天末初底])`)},
		// 5月7号和8号, 去年国庆和中秋, 上周一和周三
		{words: regexp.MustCompile(`((?:(?:(?:` + shortYearDigits + `) ?年|` + yearWords + `)的? ?)?` + monthNumber + ` ?月|(?:大?上{1,4}|[本这])个? ?月的?) ?(` + dayNumber + ` ?[日号]?(?:` + chineseAnd + dayNumber + ` ?[日号]?)*` + chineseAnd + dayNumber + ` ?[日号])`),
			periods: func(g []string, read func(string) (Period, bool)) []Period {
				return listed(withoutOf(g[1]), g[2], dayItems(), "号", read)
			}},
		{words: regexp.MustCompile(`((?:` + shortYearDigits + `) ?年|` + yearWords + `)的? ?(` + chineseYearly + `(?:` + chineseAnd + chineseYearly + `)+)`),
			periods: func(g []string, read func(string) (Period, bool)) []Period {
				return listed(g[1], g[2], yearlyItems(), "", read)
			}},
		{words: regexp.MustCompile(`(` + chineseMany + ` ?年(?:以前|之前|前))的? ?(` + chineseYearly + `)`), periods: func(g []string, read func(string) (Period, bool)) []Period {
			return inYear(g[1], func(year string) string { return year + "年" + g[3] }, read)
		}},
		{words: regexp.MustCompile(`((?:大?上{1,4}|[本这])` + chineseWeek + `)([一二三四五六日天](?:(?:、(?:周|星期|礼拜)?|` + chineseAnd + `(?:周|星期|礼拜))[一二三四五六日天])+)`),
			periods: func(g []string, read func(string) (Period, bool)) []Period {
				return listed(g[1], strings.NewReplacer("星期", "", "礼拜", "", "周", "").Replace(g[2]), weekdayItems(), "", read)
			}},
		// The Chinese calendar: 五月初七, 农历五月十五, 腊月二十三, 大年初二
		{words: apart{words: regexp.MustCompile(chineseLunar + `?` + ofYear + chineseLunar + `?(闰?)(` + monthNumber + `|[正冬腊])月 ?` + lunarDays), notBefore: notLunarBefore}, period: lunarOrHidden},
		{words: regexp.MustCompile(chineseLunar + ` ?` + ofYear + `(闰?)(` + monthNumber + `|[正冬腊])月 ?` + lunarDayOfMonth + `?`), period: lunarOrHidden},
		{words: regexp.MustCompile(ofYear + chineseLunar + ` ?(闰?)(` + monthNumber + `|[正冬腊])月 ?` + lunarDayOfMonth + `?`), period: lunarOrHidden},
		{words: regexp.MustCompile(ofYear + `()([正腊冬])月 ?` + lunarDayOfMonth + `?`), period: lunarOrHidden},
		{words: regexp.MustCompile(ofYear + `大年初([一二三四五六七八九十])`), period: func(g []string, today time.Time) (Period, bool) {
			return namedLunarDay(g[1], g[2], "", "正", g[3], today)
		}},
		{words: apart{words: regexp.MustCompile(ofYear + mayDays + holidayEnd), notAfter: notMayDayAfter, notBefore: notMayDayBefore}, period: namedHoliday},
		{words: apart{words: regexp.MustCompile(ofYear + chineseHolidays + holidayEnd), notAfter: notHolidayAfter}, period: namedHoliday},
		{words: regexp.MustCompile(chinesePoint(`[日号]?`) + chineseUpTo + `(?:` + chinesePoint(`[日号]`) + `|` + chineseDayOfMonth + ` ?[日号])(?:之间|期间|间)?`), period: chineseSpan},
		{words: regexp.MustCompile(ofYear + `(` + monthNumber + `)` + chineseUpTo + chineseMonth + `(?:之间|期间|间|份)?`), period: monthsSpan},
		{words: afterLast(`个? ?月 ?(?:的?` + monthPart + `|的?` + chineseDayOfMonth + ` ?[日号])`), period: func(g []string, today time.Time) (Period, bool) {
			return dayOfRelativeMonth(utf8.RuneCountInString(g[1]), g[2], g[3], today)
		}},
		{words: afterThis(`个? ?月 ?(?:的?` + monthPart + `|的?` + chineseDayOfMonth + ` ?[日号])`), period: func(g []string, today time.Time) (Period, bool) {
			return dayOfRelativeMonth(0, g[1], g[2], today)
		}},
		{words: apart{words: regexp.MustCompile(`(?:` + chineseShortYear + `的? ?)` + `([春夏秋冬])[天季]?`), notBefore: value.CompileLater(`^节`)}, period: func(g []string, today time.Time) (Period, bool) {
			return seasonPeriod(g[3], parseYear(g[1], g[2], today), today), true
		}},
		{words: apart{words: regexp.MustCompile(ofYear + `(?:第? ?([一二三四1-4])个?季度|[qQ]([1-4]))`), notAfter: notQuarterNear, notBefore: notQuarterMark}, period: func(g []string, today time.Time) (Period, bool) {
			return quarterPeriod(parseNumber(g[3]+g[4]), parseYear(g[1], g[2], today), today), true
		}},
		{words: afterLast(`个?季度`), period: func(g []string, today time.Time) (Period, bool) {
			return quarterBefore(utf8.RuneCountInString(g[1]), today), true
		}},
		{words: afterThis(`个?季度`), period: func(_ []string, today time.Time) (Period, bool) { return quarterBefore(0, today), true }},
		// A day of another year without its month: the year.
		{words: apart{words: regexp.MustCompile(chineseShortYear + `的? ?` + dayNumber + `号`), notBefore: notDayBefore}, period: func(g []string, today time.Time) (Period, bool) {
			return yearPeriod(parseYear(g[1], g[2], today), today.Location()), true
		}},
		{words: regexp.MustCompile(chineseMany + chineseCounted + `(?:以前|之前|前)的?今[天日]`), period: func(g []string, today time.Time) (Period, bool) {
			return exactlyAgo(g[1], g[2], today)
		}},
		{words: apart{words: regexp.MustCompile(ofYear + chineseMonth + `(\d{1,2})`), notBefore: notOpenBefore}, period: func(g []string, today time.Time) (Period, bool) {
			return datePeriod(parseYear(g[1], g[2], today), parseMonth(g[3]), g[4], today)
		}},
		{words: regexp.MustCompile(chinesePoint(`[日号]`)), period: func(g []string, today time.Time) (Period, bool) { return newPoint(g[1:], today).period(today) }},
		{words: apart{words: regexp.MustCompile(`(\d{1,2})/(\d{1,2})[日号]?`), notAfter: notFractionNear, notBefore: notFraction}, period: func(g []string, today time.Time) (Period, bool) {
			return datePeriod(0, time.Month(parseNumber(g[1])), g[2], today)
		}},
		{words: regexp.MustCompile(`(?:最近|过去|近|这)的? ?` + chineseMany + chineseCounted), period: lastPeriod},
		{words: apart{words: regexp.MustCompile(`前([几两三])(天)`), notAfter: notAgoAfter}, period: func(g []string, today time.Time) (Period, bool) { return agoPeriod(g[1], g[2], today) }},
		{words: apart{words: regexp.MustCompile(chineseMany + chineseCounted + `(?:以前|之前|前)`), notAfter: notAgoAfter}, period: func(g []string, today time.Time) (Period, bool) { return agoPeriod(g[1], g[2], today) }},
		{words: afterLast(chineseWeek + chineseWeekday + `(?:` + chineseUpTo + `(?:上{0,4}` + chineseWeek + `)?` + chineseWeekday + `)?`), period: func(g []string, today time.Time) (Period, bool) {
			return weekdaysOf(utf8.RuneCountInString(g[1]), g[2], g[3], today)
		}},
		{words: afterThis(chineseWeek + chineseWeekday + `(?:` + chineseUpTo + `(?:[本这]?` + chineseWeek + `)?` + chineseWeekday + `)?`), period: func(g []string, today time.Time) (Period, bool) {
			return weekdaysOf(0, g[1], g[2], today)
		}},
		{words: apart{words: regexp.MustCompile(`(?:周|星期|礼拜)` + chineseWeekday + chineseUpTo + `(?:周|星期|礼拜)` + chineseWeekday), notAfter: notWeekdayNear, notBefore: notBareWeekday}, period: func(g []string, today time.Time) (Period, bool) {
			first := lastWeekday(weekdays[g[1]], today)
			days := weekdays[g[2]] - weekdays[g[1]]
			return relativePeriod(first.Start, first.End.AddDate(0, 0, days)), days > 0
		}},
		{words: apart{words: regexp.MustCompile(`(?:周|星期|礼拜)` + chineseWeekday), notAfter: notWeekdayNear, notBefore: notBareWeekday}, period: func(g []string, today time.Time) (Period, bool) {
			return lastWeekday(weekdays[g[1]], today), true
		}},
		{words: apart{words: regexp.MustCompile(chineseDayOfMonth + `号`), notAfter: notDayAfter, notBefore: notDayBefore}, period: func(g []string, today time.Time) (Period, bool) {
			return lastSuchDay(g[1], today)
		}},
		{words: apart{words: regexp.MustCompile(`月(初|上旬|中旬|下旬|底|末)`), notAfter: notPartAfter}, period: func(g []string, today time.Time) (Period, bool) {
			return lastMonthPart(g[1], today)
		}},
		{words: apart{words: regexp.MustCompile(`年(初|底|末)`), notAfter: notPartAfter}, period: func(g []string, today time.Time) (Period, bool) {
			return lastYearPart(g[1], today), true
		}},
		{words: apart{words: regexp.MustCompile(`(上|下)半年`), notAfter: notPartAfter}, period: func(g []string, today time.Time) (Period, bool) {
			return lastYearPart(g[1]+"半年", today), true
		}},
		{words: regexp.MustCompile(`[这上]个?([春夏秋冬])[天季]`), period: lastSeason},
		{words: apart{words: regexp.MustCompile(`([春夏秋冬])[天季]`), notAfter: notSeasonAfter}, period: lastSeason},
		{words: afterLast(chineseWeek + `末`), period: func(g []string, today time.Time) (Period, bool) {
			return weekendBefore(utf8.RuneCountInString(g[1]), today), true
		}},
		{words: afterThis(chineseWeek + `末`), period: func(_ []string, today time.Time) (Period, bool) {
			p := weekendBefore(0, today)
			if p.Start.After(today) {
				return Period{}, true
			}
			return p, true
		}},
		{words: apart{words: regexp.MustCompile(`周末`), notAfter: notWeekdayNear, notBefore: notBareWeekday}, period: func(_ []string, today time.Time) (Period, bool) {
			return lastWeekend(today), true
		}},
		{words: apart{words: regexp.MustCompile(`([今昨前])(?:(晚|夜)|([早晨]))上?`), notAfter: notDayNameAfter}, period: func(g []string, today time.Time) (Period, bool) {
			return dayPartBefore(daysBack[g[1]], g[2]+g[3], today)
		}},
		{words: apart{words: regexp.MustCompile(`([今昨]|大?前)天|([今昨])日`), notAfter: notDayNameAfter}, period: func(g []string, today time.Time) (Period, bool) {
			return relativeDay(today.AddDate(0, 0, -daysBack[g[1]+g[2]])), true
		}},
		{words: afterLast(chineseWeek), period: func(g []string, today time.Time) (Period, bool) {
			return weekBefore(utf8.RuneCountInString(g[1]), today), true
		}},
		{words: afterThis(chineseWeek), period: func(_ []string, today time.Time) (Period, bool) { return weekBefore(0, today), true }},
		{words: afterLast(`个? ?月`), period: func(g []string, today time.Time) (Period, bool) {
			return monthBefore(utf8.RuneCountInString(g[1]), today), true
		}},
		{words: afterThis(`个? ?月`), period: func(_ []string, today time.Time) (Period, bool) { return monthBefore(0, today), true }},
	}
})

// daysBack are the days between today and another.
var daysBack = map[string]int{"今": 0, "昨": 1, "前": 2, "大前": 3}

func lastSeason(g []string, today time.Time) (Period, bool) {
	return seasonPeriod(g[1], 0, today), true
}

// lunarOrHidden reads a day of the Chinese calendar. One that is not known is not read as another day.
func lunarOrHidden(g []string, today time.Time) (Period, bool) {
	p, _ := namedLunarDay(g[1], g[2], g[3], g[4], g[5], today)
	return p, true
}

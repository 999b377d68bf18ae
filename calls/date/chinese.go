package date

import (
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// simplified has the characters for times that Chinese texts write in several ways, each
// followed by the one that the patterns have. Both take as many bytes.
var simplified = strings.NewReplacer("週", "周", "號", "号", "個", "个", "禮", "礼", "後", "后", "兩", "两", "幾", "几", "過", "过", "這", "这", "〇", "零", "○", "零", "節", "节", "慶", "庆", "聖", "圣", "誕", "诞", "勞", "劳", "動", "动", "兒", "儿", "雙", "双", "國", "国", "婦", "妇", "萬", "万", "長", "长", "間", "间", "黃", "黄")

const (
	chineseMany = `(\d{1,4}|[一二三四五六七八九十两几半]{1,3})`
	chineseWeek = `(?:个?星期|个?礼拜|个?周)`
	chineseLast = `(?:^|[^早晚海路马])上` // but not the end of 晚上
	chineseThis = `(?:^|[^日])[本这]`  // nor that of 日本
	chineseYear = `(?:(\d{4}|[零一二三四五六七八九]{4}) ?年|(今年|去年|大?前年))`
	chineseUpTo = ` ?(?:到|至|[-—–~]+) ?`
	// chineseCounted are the units that a time is counted in.
	chineseCounted = ` ?个?(天|日|周|星期|礼拜|月|年)`

	chineseWeekday    = `([一二三四五六日天])`
	chineseMonth      = `(\d{1,2}|十?[一二三四五六七八九十]) ?月`
	chineseDayOfMonth = `(\d{1,2}|[一二三]?十?[一二三四五六七八九十])`
	monthPart         = `(初|上旬|中旬|下旬|底|末)`
	yearPart          = `年?(初|中|底|末)|的?(上半年|下半年)`
)

// chinesePoint is a day, a part of a month or of a year, a month or a year. The mark of
// the day is a pattern.
func chinesePoint(dayMark string) string {
	return `(?:(?:` + chineseYear + `的? ?)?` + chineseMonth + `(?: ?` + monthPart + `| ?` + chineseDayOfMonth + ` ?` + dayMark + `)?` +
		`|` + chineseYear + `(?:` + yearPart + `)?)`
}

// pointGroups is the number of groups of a chinesePoint.
const pointGroups = 9

// point is what a chinesePoint matched.
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

// period returns the time that the point names. ok is false where there is no such day.
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

// partOfMonth returns the ten days or so of a month that its part names.
func partOfMonth(month Period, part string) Period {
	first, third := month.Start.AddDate(0, 0, 10), month.Start.AddDate(0, 0, 20)
	switch part {
	case "初", "上旬":
		month.End = first
	case "中旬":
		month.Start, month.End = first, third
	default:
		month.Start = third
	}
	return month
}

// partOfYear returns the months of a year that its part names, or the year.
func partOfYear(year int, part string, in *time.Location) Period {
	p := yearPeriod(year, in)
	months := map[string][2]time.Month{
		"初": {time.January, 2}, "中": {time.May, 4}, "底": {time.November, 2}, "末": {time.November, 2}, "上半年": {time.January, 6}, "下半年": {time.July, 6},
	}[part]
	if months[1] == 0 {
		return p
	}
	start := time.Date(year, months[0], 1, 0, 0, 0, 0, in)
	return Period{start, start.AddDate(0, int(months[1]), 0), Month}
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

// spanOf returns the time from one point to another. Where one of them is without a year,
// it is in the year of the other, or in that beside it.
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

// dayOfRelativeMonth returns a day or a part of the month that is so many before that of
// today.
func dayOfRelativeMonth(back int, part, day string, today time.Time) (Period, bool) {
	month := monthPeriod(today.Year(), today.Month()-time.Month(back), today.Location())
	if part != "" {
		return partOfMonth(month, part), true
	}
	return datePeriod(month.Start.Year(), month.Start.Month(), day, today)
}

// weekdaysOf returns the days from one weekday to another, or one, of the week that is so
// many before that of today.
func weekdaysOf(back int, first, last string, today time.Time) (Period, bool) {
	monday := weekStart(today).AddDate(0, 0, -7*back)
	if last == "" {
		last = first
	}
	p := relativePeriod(monday.AddDate(0, 0, weekdays[first]), monday.AddDate(0, 0, weekdays[last]+1))
	return p, p.Start.Before(p.End)
}

// edgeOfPeriod names a day at an end of a period.
const edgeOfPeriod = `的? ?(最后|第)一天`

// What stands around words that would name a time, and makes them something else: 二十一节, 7号楼,
// 每月初.
var (
	notHolidayAfter = regexp.MustCompile(`[\d零一二三四五六七八九十第]$`)
	notMayDayAfter  = regexp.MustCompile(`[\d零一二三四五六七八九十第周期拜]$`)
	notMayDayBefore = regexp.MustCompile(`^[起直个家样定些点下次天共月日号路]`)
	notDayAfter     = regexp.MustCompile(`[\da-zA-Z零一二三四五六七八九十百千第.-]$`)
	notDayBefore    = regexp.MustCompile(`^(?:[楼线桌院门房店球机车馆厅库口仓井铺床柜窗站台厂字铁选手码人文公]|高速|国道|服务|员工|地块|作品)`)
	notPartAfter    = regexp.MustCompile(`[\d零一二三四五六七八九十几每各本整个]$`)
)

func namedHoliday(g []string, today time.Time) (Period, bool) {
	return holidayPeriod(g[3], parseYear(g[1], g[2], today), today)
}

// chineseExpressions are tried in order, the more exact ones first.
var chineseExpressions = []expression{
	{regexp.MustCompile(chinesePoint(`[日号]`) + edgeOfPeriod), func(g []string, today time.Time) (Period, bool) {
		p, ok := newPoint(g[1:], today).period(today)
		return edgeDay(p, g[1+pointGroups] == "最后"), ok
	}},
	{regexp.MustCompile(chineseLast + `(上?)个? ?月` + edgeOfPeriod), func(g []string, today time.Time) (Period, bool) {
		return edgeDay(monthPeriod(today.Year(), today.Month()-time.Month(1+utf8.RuneCountInString(g[1])), today.Location()), g[2] == "最后"), true
	}},
	{regexp.MustCompile(chineseThis + `个? ?月` + edgeOfPeriod), func(g []string, today time.Time) (Period, bool) {
		return edgeDay(monthPeriod(today.Year(), today.Month(), today.Location()), g[1] == "最后"), true
	}},
	{apart{regexp.MustCompile(`(?:` + chineseYear + `的? ?)?` + mayDays + holidayEnd), notMayDayAfter, notMayDayBefore}, namedHoliday},
	{apart{words: regexp.MustCompile(`(?:` + chineseYear + `的? ?)?` + chineseHolidays + holidayEnd), notAfter: notHolidayAfter}, namedHoliday},
	{regexp.MustCompile(chinesePoint(`[日号]?`) + chineseUpTo + `(?:` + chinesePoint(`[日号]`) + `|` + chineseDayOfMonth + ` ?[日号])(?:之间|期间|间)?`), chineseSpan},
	{regexp.MustCompile(`(?:` + chineseYear + `的? ?)?(\d{1,2}|十?[一二三四五六七八九十])` + chineseUpTo + chineseMonth + `(?:之间|期间|间|份)?`), monthsSpan},
	{regexp.MustCompile(chineseLast + `(上?)个? ?月 ?(?:` + monthPart + `|的?` + chineseDayOfMonth + ` ?[日号])`), func(g []string, today time.Time) (Period, bool) {
		return dayOfRelativeMonth(1+utf8.RuneCountInString(g[1]), g[2], g[3], today)
	}},
	{regexp.MustCompile(chineseThis + `个? ?月 ?(?:` + monthPart + `|的?` + chineseDayOfMonth + ` ?[日号])`), func(g []string, today time.Time) (Period, bool) {
		return dayOfRelativeMonth(0, g[1], g[2], today)
	}},
	{apart{words: regexp.MustCompile(`(?:` + chineseYear + `的? ?)` + `([春夏秋冬])[天季]?`), notBefore: regexp.MustCompile(`^节`)}, func(g []string, today time.Time) (Period, bool) {
		return seasonPeriod(g[3], parseYear(g[1], g[2], today), today), true
	}},
	{regexp.MustCompile(chinesePoint(`[日号]`)), func(g []string, today time.Time) (Period, bool) { return newPoint(g[1:], today).period(today) }},
	{regexp.MustCompile(`(?:最近|过去|近|这)的? ?` + chineseMany + chineseCounted), lastPeriod},
	{regexp.MustCompile(`(?:^|[^提之以])前([几两三])(天)`), func(g []string, today time.Time) (Period, bool) { return agoPeriod(g[1], g[2], today) }},
	{regexp.MustCompile(chineseMany + chineseCounted + `(?:以前|之前|前)`), func(g []string, today time.Time) (Period, bool) { return agoPeriod(g[1], g[2], today) }},
	{regexp.MustCompile(chineseLast + `(上?)` + chineseWeek + chineseWeekday + `(?:` + chineseUpTo + `(?:上?上?` + chineseWeek + `)?` + chineseWeekday + `)?`), func(g []string, today time.Time) (Period, bool) {
		return weekdaysOf(1+utf8.RuneCountInString(g[1]), g[2], g[3], today)
	}},
	{regexp.MustCompile(chineseThis + chineseWeek + chineseWeekday + `(?:` + chineseUpTo + `(?:[本这]?` + chineseWeek + `)?` + chineseWeekday + `)?`), func(g []string, today time.Time) (Period, bool) {
		return weekdaysOf(0, g[1], g[2], today)
	}},
	{apart{words: regexp.MustCompile(`(\d{1,2}|[一二三]?十?[一二三四五六七八九十])号`), notAfter: notDayAfter, notBefore: notDayBefore}, func(g []string, today time.Time) (Period, bool) {
		return lastSuchDay(g[1], today)
	}},
	{apart{words: regexp.MustCompile(`月(初|上旬|中旬|下旬|底|末)`), notAfter: notPartAfter}, func(g []string, today time.Time) (Period, bool) {
		return lastMonthPart(g[1], today)
	}},
	{apart{words: regexp.MustCompile(`年(初|底|末)`), notAfter: notPartAfter}, func(g []string, today time.Time) (Period, bool) {
		return lastYearPart(g[1], today), true
	}},
	{regexp.MustCompile(`[这上]个?([春夏秋冬])[天季]`), func(g []string, today time.Time) (Period, bool) { return seasonPeriod(g[1], 0, today), true }},
	{regexp.MustCompile(chineseLast + chineseWeek + `末`), func(_ []string, today time.Time) (Period, bool) { return lastWeekend(today), true }},
	{regexp.MustCompile(`大前天`), func(_ []string, today time.Time) (Period, bool) { return relativeDay(today.AddDate(0, 0, -3)), true }},
	{regexp.MustCompile(`前天`), func(_ []string, today time.Time) (Period, bool) { return relativeDay(today.AddDate(0, 0, -2)), true }},
	{regexp.MustCompile(`昨[天晚日]`), func(_ []string, today time.Time) (Period, bool) { return relativeDay(today.AddDate(0, 0, -1)), true }},
	{regexp.MustCompile(`今[天晚日早]`), func(_ []string, today time.Time) (Period, bool) { return relativeDay(today), true }},
	{regexp.MustCompile(chineseLast + chineseWeek), func(_ []string, today time.Time) (Period, bool) { return weekBefore(1, today), true }},
	{regexp.MustCompile(chineseThis + chineseWeek), func(_ []string, today time.Time) (Period, bool) { return weekBefore(0, today), true }},
	{regexp.MustCompile(chineseLast + `个?月`), func(_ []string, today time.Time) (Period, bool) {
		return monthPeriod(today.Year(), today.Month()-1, today.Location()), true
	}},
	{regexp.MustCompile(chineseThis + `个?月`), func(_ []string, today time.Time) (Period, bool) {
		return monthPeriod(today.Year(), today.Month(), today.Location()), true
	}},
}

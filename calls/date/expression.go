package date

import (
	"cmp"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	monthNames  = `(january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)`
	seasonNames = `(spring|summer|fall|autumn|winter)`
	dayNames    = `(monday|tuesday|wednesday|thursday|friday|saturday|sunday)`
	howMany     = `(\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|a couple of|a few|several)`
	chineseMany = `(\d{1,4}|[一二三四五六七八九十两几半]{1,3})`
	chineseWeek = `(?:个?星期|个?礼拜|个?周)`
	chineseLast = `(?:^|[^早晚海路马])上` // but not the end of 晚上
	chineseThis = `(?:^|[^日])[本这]`  // nor that of 日本
	chineseYear = `(?:(\d{4})年|(今年|去年|前年))`
	upTo        = ` ?(?:to|till|until|through|[-–]) ?`
	dayOfMonth  = `(\d{1,2})(?:st|nd|rd|th)?`

	chineseMonth      = `(\d{1,2}|十?[一二三四五六七八九十])月`
	chineseDayOfMonth = `(\d{1,2}|[一二三]?十?[一二三四五六七八九十])`
)

// expression is one way to name a period, in English and in Chinese with the same groups;
// nil means not in that language.
type expression struct {
	english, chinese *regexp.Regexp
	// period gets the matches of the groups and the midnight of today.
	period func(g []string, today time.Time) (Period, bool)
}

// expressions are tried in order, the more exact ones first: what one has matched, the
// next do not see.
var expressions = []expression{
	{compilePhrase(`between ` + monthAndDays(` and `)), nil, daysOfMonth},
	{compilePhrase(monthAndDays(upTo)), nil, daysOfMonth},
	{compilePhrase(`between ` + daysAndMonth(` and `)), nil, daysBeforeMonth},
	{compilePhrase(daysAndMonth(upTo)), nil, daysBeforeMonth},
	{nil, regexp.MustCompile(chineseYear + `?` + chineseMonth + chineseDayOfMonth + `[日号]?(?:到|至|[-—–~～])(?:` + chineseMonth + `)?` + chineseDayOfMonth + `[日号](?:之间|间)?`), func(g []string, today time.Time) (Period, bool) {
		return daysPeriod(parseYear(g[1], g[2], today), g[3], g[4], g[5], g[6], today)
	}},
	{compilePhrase(`(\d{4})[-/](\d{1,2})(?:[-/](\d{1,2}))?`), nil, func(g []string, today time.Time) (Period, bool) {
		return datePeriod(parseYear(g[1], "", today), parseMonth(g[2]), g[3], today)
	}},
	{compilePhrase(`(\d{1,2})(?:st|nd|rd|th)?(?: of)? ` + monthNames + `\b\.?,?(?: (\d{4}))?`), nil, func(g []string, today time.Time) (Period, bool) {
		return datePeriod(parseYear(g[3], "", today), parseMonth(g[2]), g[1], today)
	}},
	{compilePhrase(monthNames + `\b\.? (\d{1,2})(?:st|nd|rd|th)?\b,?(?: (\d{4}))?`), nil, func(g []string, today time.Time) (Period, bool) {
		return datePeriod(parseYear(g[3], "", today), parseMonth(g[1]), g[2], today)
	}},
	{compilePhrase(monthNames + `\b\.?,? (?:of )?(\d{4})`), nil, func(g []string, today time.Time) (Period, bool) {
		return datePeriod(parseYear(g[2], "", today), parseMonth(g[1]), "", today)
	}},
	{compilePhrase(`(?:in|during|since|of|last|early|late|mid) ` + monthNames), nil, func(g []string, today time.Time) (Period, bool) { return datePeriod(0, parseMonth(g[1]), "", today) }},
	{nil, regexp.MustCompile(chineseYear + `?` + chineseMonth + `(?:` + chineseDayOfMonth + `[日号])?`), func(g []string, today time.Time) (Period, bool) {
		return datePeriod(parseYear(g[1], g[2], today), parseMonth(g[3]), g[4], today)
	}},
	{compilePhrase(seasonNames + `,? (?:of )?(\d{4})`), nil, func(g []string, today time.Time) (Period, bool) {
		return seasonPeriod(g[1], parseYear(g[2], "", today), today), true
	}},
	{compilePhrase(`(?:last|this|past) ` + seasonNames), nil, func(g []string, today time.Time) (Period, bool) { return seasonPeriod(g[1], 0, today), true }},
	{nil, regexp.MustCompile(chineseYear + `的?([春夏秋冬])[天季]?`), func(g []string, today time.Time) (Period, bool) {
		return seasonPeriod(g[3], parseYear(g[1], g[2], today), today), true
	}},
	{compilePhrase(howMany + ` (day|week|month|year)s? ago`), regexp.MustCompile(chineseMany + `个?(天|日|周|星期|礼拜|月|年)(?:以前|之前|前)`), func(g []string, today time.Time) (Period, bool) {
		return agoPeriod(g[1], g[2], today)
	}},
	{compilePhrase(`(?:last|this past) ` + dayNames), nil, func(g []string, today time.Time) (Period, bool) {
		return lastWeekday(weekdays[strings.ToLower(g[1][:3])], today), true
	}},
	{nil, regexp.MustCompile(chineseLast + `(上?)` + chineseWeek + `([一二三四五六日天])`), func(g []string, today time.Time) (Period, bool) {
		return relativeDay(weekStart(today).AddDate(0, 0, weekdays[g[2]]-7-7*utf8.RuneCountInString(g[1]))), true
	}},
	{compilePhrase(`(?:last|this past|past) weekend`), regexp.MustCompile(chineseLast + chineseWeek + `末`), func(_ []string, today time.Time) (Period, bool) {
		return relativePeriod(weekStart(today).AddDate(0, 0, -2), weekStart(today)), true
	}},
	{compilePhrase(`the day before yesterday`), regexp.MustCompile(`前天`), func(_ []string, today time.Time) (Period, bool) { return relativeDay(today.AddDate(0, 0, -2)), true }},
	{compilePhrase(`yesterday|last night`), regexp.MustCompile(`昨[天晚日]`), func(_ []string, today time.Time) (Period, bool) { return relativeDay(today.AddDate(0, 0, -1)), true }},
	{compilePhrase(`today|tonight|this morning`), regexp.MustCompile(`今[天晚日早]`), func(_ []string, today time.Time) (Period, bool) { return relativeDay(today), true }},
	{compilePhrase(`last week`), regexp.MustCompile(chineseLast + chineseWeek), func(_ []string, today time.Time) (Period, bool) {
		return relativePeriod(weekStart(today).AddDate(0, 0, -7), weekStart(today)), true
	}},
	{compilePhrase(`this week`), regexp.MustCompile(chineseThis + chineseWeek), func(_ []string, today time.Time) (Period, bool) {
		return relativePeriod(weekStart(today), weekStart(today).AddDate(0, 0, 7)), true
	}},
	{compilePhrase(`last month`), regexp.MustCompile(chineseLast + `个?月`), func(_ []string, today time.Time) (Period, bool) {
		return monthPeriod(today.Year(), today.Month()-1, today.Location()), true
	}},
	{compilePhrase(`this month`), regexp.MustCompile(chineseThis + `个?月`), func(_ []string, today time.Time) (Period, bool) {
		return monthPeriod(today.Year(), today.Month(), today.Location()), true
	}},
	{compilePhrase(`last year`), nil, func(_ []string, today time.Time) (Period, bool) {
		return yearPeriod(today.Year()-1, today.Location()), true
	}},
	{compilePhrase(`this year`), nil, func(_ []string, today time.Time) (Period, bool) {
		return yearPeriod(today.Year(), today.Location()), true
	}},
	{compilePhrase(`in ((?:19|20)\d\d)()`), regexp.MustCompile(chineseYear), func(g []string, today time.Time) (Period, bool) {
		return yearPeriod(parseYear(g[1], g[2], today), today.Location()), true
	}},
}

// monthAndDays matches May 6 to 8, 2023, and May 6 to June 8, with that between the days.
func monthAndDays(between string) string {
	return monthNames + `\b\.? ` + dayOfMonth + between + `(?:` + monthNames + `\b\.? )?` + dayOfMonth + `\b,?(?: (\d{4}))?`
}

func daysOfMonth(g []string, today time.Time) (Period, bool) {
	return daysPeriod(parseYear(g[5], "", today), g[1], g[2], g[3], g[4], today)
}

// daysAndMonth matches 6 to 8 May 2023, and 6 May to 8 June.
func daysAndMonth(between string) string {
	return dayOfMonth + `(?:(?: of)? ` + monthNames + `\b\.?)?` + between + dayOfMonth + `(?: of)? ` + monthNames + `\b\.?,?(?: (\d{4}))?`
}

func daysBeforeMonth(g []string, today time.Time) (Period, bool) {
	return daysPeriod(parseYear(g[5], "", today), cmp.Or(g[2], g[4]), g[1], g[4], g[3], today)
}

// compilePhrase matches whole words in any case.
func compilePhrase(words string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:` + words + `)\b`)
}

// FindPeriods finds the times that a text names, in English and Chinese, seen from now. A
// date without a year is that of the last year in which it was not in the future. rest is
// the text with spaces in their place.
func FindPeriods(text string, now time.Time) (found []Period, rest string) {
	inEnglish, inChinese := mayNameTime(text), strings.ContainsAny(text, "昨今前上本这去年月春夏秋冬")
	if !inEnglish && !inChinese {
		return nil, text
	}
	today := midnight(now)
	for _, e := range expressions {
		if e.english != nil && inEnglish {
			found, text = e.findPeriods(e.english, text, today, found)
		}
		if e.chinese != nil && inChinese {
			found, text = e.findPeriods(e.chinese, text, today, found)
		}
	}
	return found, text
}

// findPeriods appends the periods that match words, and blanks them out of the text.
func (e *expression) findPeriods(words *regexp.Regexp, text string, today time.Time, found []Period) ([]Period, string) {
	for _, m := range words.FindAllStringSubmatchIndex(text, -1) {
		if p, ok := e.period(submatches(text, m), today); ok {
			found = append(found, p)
			text = text[:m[0]] + strings.Repeat(" ", m[1]-m[0]) + text[m[1]:]
		}
	}
	return found, text
}

// submatches returns the texts of the groups of a match, "" for those without one.
func submatches(text string, match []int) []string {
	groups := make([]string, len(match)/2)
	for i := range groups {
		if match[2*i] >= 0 {
			groups[i] = text[match[2*i]:match[2*i+1]]
		}
	}
	return groups
}

// mayNameTime reports whether an English text has a word that may name a time, to save
// the search for it.
func mayNameTime(text string) bool {
	if strings.ContainsAny(text, "0123456789") {
		return true
	}
	for w := range strings.FieldsFuncSeq(text, func(r rune) bool { return !isWordByte(r) }) {
		w = strings.ToLower(w)
		isAmbiguous := w == "this" || w == "may"
		if timeWords[w] || seasonMonths[w] != 0 || isAmbiguous {
			return true
		}
	}
	return false
}

package date

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	monthNames  = `(january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)`
	seasonNames = `(spring|summer|fall|autumn|winter)`
	dayNames    = `(monday|tuesday|wednesday|thursday|friday|saturday|sunday)`
	howMany     = `(\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|a couple of|a few|several)`
	upTo        = ` ?(?:to|till|until|through|[-–]) ?`
	isoDay      = `(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})`
	dayOfMonth  = `(\d{1,2})(?:st|nd|rd|th)?`
)

// expression is one way to name a period.
type expression struct {
	words interface {
		FindAllStringSubmatchIndex(text string, n int) [][]int
	}
	// period gets the matches of the groups and the midnight of today.
	period func(g []string, today time.Time) (Period, bool)
}

// apart is a pattern that counts only where it neither follows nor comes before certain words.
// notAfter ends with $, notBefore begins with ^; nil is nothing.
type apart struct{ words, notAfter, notBefore *regexp.Regexp }

// maxAround is the number of bytes that are looked at before a match.
const maxAround = 12

// FindAllStringSubmatchIndex is that of the words.
func (a apart) FindAllStringSubmatchIndex(text string, n int) [][]int {
	return slices.DeleteFunc(a.words.FindAllStringSubmatchIndex(text, n), func(m []int) bool {
		isAfter := a.notAfter != nil && a.notAfter.MatchString(text[max(0, m[0]-maxAround):m[0]])
		return isAfter || a.notBefore != nil && a.notBefore.MatchString(text[m[1]:])
	})
}

// englishExpressions are tried in order, the more exact ones first: what one has matched, the
// next do not see.
var englishExpressions = []expression{
	{compilePhrase(`(first|last) day of (?:` + monthNames + `\b\.?(?:,? (\d{4}))?|(\d{4})|(last|this|the) (month|year))`), englishEdgeDay},
	{compilePhrase(`(beginning|start|middle|end) of (last|this|the) (month|year)`), englishPart},
	{compilePhrase(`(?:last |this past |this |past )?` + englishHolidays + `(?:(?:,| of| in)? (?:(\d{4})|(last|this) year))?`), func(g []string, today time.Time) (Period, bool) {
		return holidayPeriod(englishHoliday(g[1]), cmp.Or(parseDigits(g[2]), yearBeside(g[3], today)), today)
	}},
	{compilePhrase(`between ` + monthAndDays(` and `)), daysOfMonth},
	{compilePhrase(monthAndDays(upTo)), daysOfMonth},
	{compilePhrase(`between ` + daysAndMonth(` and `)), daysBeforeMonth},
	{compilePhrase(daysAndMonth(upTo)), daysBeforeMonth},
	{compilePhrase(isoDay + `(?: ?(?:to|till|until|through|到|至|[-–—~]) ?)` + isoDay), daysSpan},
	{compilePhrase(isoDay), func(g []string, today time.Time) (Period, bool) {
		return datePeriod(parseYear(g[1], "", today), parseMonth(g[2]), g[3], today)
	}},
	{compilePhrase(`(\d{4})[-/](\d{1,2})(?:[-/](\d{1,2}))?`), func(g []string, today time.Time) (Period, bool) {
		return datePeriod(parseYear(g[1], "", today), parseMonth(g[2]), g[3], today)
	}},
	{compilePhrase(`(\d{1,2})(?:st|nd|rd|th)?(?: of)? ` + monthNames + `\b\.?,?(?: (\d{4}))?`), func(g []string, today time.Time) (Period, bool) {
		return datePeriod(parseYear(g[3], "", today), parseMonth(g[2]), g[1], today)
	}},
	{compilePhrase(monthNames + `\b\.? (\d{1,2})(?:st|nd|rd|th)?\b,?(?: (\d{4}))?`), func(g []string, today time.Time) (Period, bool) {
		return datePeriod(parseYear(g[3], "", today), parseMonth(g[1]), g[2], today)
	}},
	{apart{words: compilePhrase(`on the (\d{1,2})(?:st|nd|rd|th)`), notBefore: notDayOfMonth}, func(g []string, today time.Time) (Period, bool) {
		return lastSuchDay(g[1], today)
	}},
	{compilePhrase(monthNames + `\b\.?,? (?:of )?(\d{4})`), func(g []string, today time.Time) (Period, bool) {
		return datePeriod(parseYear(g[2], "", today), parseMonth(g[1]), "", today)
	}},
	{compilePhrase(`(?:in|during|since|of|last|early|late|mid) ` + monthNames), func(g []string, today time.Time) (Period, bool) { return datePeriod(0, parseMonth(g[1]), "", today) }},
	{compilePhrase(seasonNames + `,? (?:of )?(\d{4})`), func(g []string, today time.Time) (Period, bool) {
		return seasonPeriod(g[1], parseYear(g[2], "", today), today), true
	}},
	{compilePhrase(`(?:last|this|past) ` + seasonNames), func(g []string, today time.Time) (Period, bool) { return seasonPeriod(g[1], 0, today), true }},
	{compilePhrase(`(?:last|past) (few|couple of|` + howMany[1:] + ` (day|week|month|year)s?`), lastPeriod},
	{compilePhrase(howMany + ` (day|week|month|year)s? ago`), func(g []string, today time.Time) (Period, bool) {
		return agoPeriod(g[1], g[2], today)
	}},
	{compilePhrase(`(?:last|this past) ` + dayNames), func(g []string, today time.Time) (Period, bool) {
		return lastWeekday(weekdays[strings.ToLower(g[1][:3])], today), true
	}},
	{compilePhrase(`(?:last|this past|past) weekend`), func(_ []string, today time.Time) (Period, bool) {
		return lastWeekend(today), true
	}},
	{compilePhrase(`the day before yesterday`), func(_ []string, today time.Time) (Period, bool) { return relativeDay(today.AddDate(0, 0, -2)), true }},
	{compilePhrase(`yesterday|last night`), func(_ []string, today time.Time) (Period, bool) { return relativeDay(today.AddDate(0, 0, -1)), true }},
	{compilePhrase(`today|tonight|this morning`), func(_ []string, today time.Time) (Period, bool) { return relativeDay(today), true }},
	{compilePhrase(`last week`), func(_ []string, today time.Time) (Period, bool) {
		return weekBefore(1, today), true
	}},
	{compilePhrase(`this week`), func(_ []string, today time.Time) (Period, bool) {
		return weekBefore(0, today), true
	}},
	{compilePhrase(`last month`), func(_ []string, today time.Time) (Period, bool) {
		return monthPeriod(today.Year(), today.Month()-1, today.Location()), true
	}},
	{compilePhrase(`this month`), func(_ []string, today time.Time) (Period, bool) {
		return monthPeriod(today.Year(), today.Month(), today.Location()), true
	}},
	{compilePhrase(`last year`), func(_ []string, today time.Time) (Period, bool) {
		return yearPeriod(today.Year()-1, today.Location()), true
	}},
	{compilePhrase(`this year`), func(_ []string, today time.Time) (Period, bool) {
		return yearPeriod(today.Year(), today.Location()), true
	}},
	{compilePhrase(`in ((?:19|20)\d\d)()`), func(g []string, today time.Time) (Period, bool) {
		return yearPeriod(parseYear(g[1], g[2], today), today.Location()), true
	}},
}

// notDayOfMonth is what makes an ordinal number something else than a day: on the 5th floor.
var notDayOfMonth = regexp.MustCompile(`^(?:th)? (?:floor|street|avenue|grade|page|place|try|attempt|hole|time|round|row|seat|of)\b`)

// yearBeside returns the year of last or this year; 0 without either.
func yearBeside(word string, today time.Time) int {
	switch strings.ToLower(word) {
	case "last":
		return today.Year() - 1
	case "this", "the":
		return today.Year()
	}
	return 0
}

// englishEdgeDay returns the first or last day of a month or a year.
func englishEdgeDay(g []string, today time.Time) (Period, bool) {
	p, ok := yearPeriod(cmp.Or(parseDigits(g[4]), yearBeside(g[5], today)), today.Location()), true
	switch {
	case g[2] != "":
		p, ok = datePeriod(parseDigits(g[3]), parseMonth(g[2]), "", today)
	case strings.EqualFold(g[6], "month"):
		p = monthPeriod(today.Year(), today.Month()-time.Month(today.Year()-yearBeside(g[5], today)), today.Location())
	}
	return edgeDay(p, strings.EqualFold(g[1], "last")), ok
}

// partNames are the parts of a month or a year as Chinese names them.
var partNames = map[string]string{"beginning": "初", "start": "初", "middle": "中", "end": "底"}

// englishPart returns a part of this or the last month or year.
func englishPart(g []string, today time.Time) (Period, bool) {
	part, isLast := partNames[strings.ToLower(g[1])], strings.EqualFold(g[2], "last")
	switch {
	case strings.EqualFold(g[3], "year") && isLast:
		return partOfYear(today.Year()-1, part, today.Location()), true
	case strings.EqualFold(g[3], "year"):
		return lastYearPart(part, today), true
	case isLast:
		return dayOfRelativeMonth(1, part, "", today)
	}
	return lastMonthPart(part, today)
}

// daysSpan returns the time from one day to another, both as numbers.
func daysSpan(g []string, today time.Time) (Period, bool) {
	first := point{year: parseYear(g[1], "", today), month: parseMonth(g[2]), day: g[3]}
	last := point{year: parseYear(g[4], "", today), month: parseMonth(g[5]), day: g[6]}
	return spanOf(first, last, today)
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

// chineseTimeMarks has a character of every Chinese expression.
const chineseTimeMarks = "昨今前上本这這去年月过過近春夏秋冬号號节節一庆慶旦夜诞誕夕午"

// FindPeriods finds the times that a text names, in English and Chinese, seen from now. A
// date without a year is that of the last year in which it was not in the future. rest is
// the text with spaces in their place.
func FindPeriods(text string, now time.Time) (found []Period, rest string) {
	inEnglish, inChinese := mayNameTime(text), strings.ContainsAny(text, chineseTimeMarks)
	if !inEnglish && !inChinese {
		return nil, text
	}
	blanked, today := simplified.Replace(text), midnight(now)
	if inEnglish {
		found, blanked = findAll(englishExpressions, blanked, today, found)
	}
	if inChinese {
		found, blanked = findAll(chineseExpressions, blanked, today, found)
	}
	if len(found) == 0 {
		return nil, text
	}
	return found, blankAlike(text, blanked)
}

// findAll appends the periods that match expressions, and blanks them out of the text.
func findAll(all []expression, text string, today time.Time, found []Period) ([]Period, string) {
	for _, e := range all {
		for _, m := range e.words.FindAllStringSubmatchIndex(text, -1) {
			if p, ok := e.period(submatches(text, m), today); ok {
				found = append(found, p)
				text = text[:m[0]] + strings.Repeat(" ", m[1]-m[0]) + text[m[1]:]
			}
		}
	}
	return found, text
}

// blankAlike returns text with spaces where another of the same length has them.
func blankAlike(text, other string) string {
	b := []byte(text)
	for i := range b {
		if other[i] == ' ' {
			b[i] = ' '
		}
	}
	return string(b)
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
		isAmbiguous := w == "this" || w == "may" || holidayWords[w]
		if timeWords[w] || seasonMonths[w] != 0 || isAmbiguous {
			return true
		}
	}
	return false
}

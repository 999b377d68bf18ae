package date

import (
	"cmp"
	"strings"
	"sync"
	"time"

	"github.com/callnode/scheduler/llm/value"
)

const (
	monthNames      = `(` + plainMonthNames + `)`
	plainMonthNames = `(?:january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)`
	plainSeasons    = `spring|summer|fall|autumn|winter`
	seasonNames     = `(` + plainSeasons + `)`
	dayNames        = `(monday|tuesday|wednesday|thursday|friday|saturday|sunday)`
	plainNumbers    = `\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|a couple of`
	howMany         = `(` + plainNumbers + `|a few|several)`
	upTo            = ` ?(?:to|till|until|through|[-–]) ?`
	fullYear        = `((?:19|20)\d\d)`
	isoDay          = `(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})`
	dayOfMonth      = `(\d{1,2})(?:st|nd|rd|th)?`
	dayOfMonth2     = `\d{1,2}(?:st|nd|rd|th)?`
)

// englishExpressions are tried in order, the more exact ones first: text matched by one is hidden from the next.
var englishExpressions = sync.OnceValue(func() []expression {
	return []expression{
		{words: compilePhrase(`(?:every|each) (?:` + englishHolidays + `|` + dayNames + `|` + monthNames + `|` + seasonNames + `)`)},
		{words: compilePhrase(`(first|last) day of (?:` + monthNames + `\b\.?(?:,? (\d{4}))?|(\d{4})|(last|this|the) (month|year))`), period: englishEdgeDay},
		{words: compilePhrase(`(beginning|start|middle|end) of (last|this|the) (month|year)`), period: englishPart},
		{words: compilePhrase(`(?:the )?(beginning|start|middle|end) of ` + fullYear + `|(early|mid|late)[- ]` + fullYear), period: englishPartOfYear},
		{words: apart{words: compilePhrase(`(?:from|between) ` + fullYear + `(?:` + upTo + `| and )` + fullYear), notBefore: notYearBefore}, period: yearsSpan},
		{words: compilePhrase(`(?:last |this past |this |past )?` + englishHolidays + `(?:(?:,| of| in)? (?:(\d{4})|(last|this) year))?`), period: func(g []string, today time.Time) (Period, bool) {
			return holidayPeriod(englishHoliday(g[1]), cmp.Or(parseDigits(g[2]), yearBeside(g[3], today)), today)
		}},
		{words: compilePhrase(`(?:(?:on )?this (?:same |very )?(?:day|date)|today),? (?:last (week|month|year)|` + howMany + ` (week|month|year)s? ago)`), period: sameDayAgo},
		{words: compilePhrase(`(?:last (week|month|year)|` + howMany + ` (week|month|year)s? ago),? (?:today|(?:on )?this (?:same |very )?(?:day|date))`), period: sameDayAgo},
		{words: compilePhrase(yearly + `,? (?:of |in )?(` + yearPhrase + `)`), periods: func(g []string, read func(string) (Period, bool)) []Period {
			return inYear(g[2], func(year string) string { return g[1] + " " + year }, read)
		}},
		{words: compilePhrase(`(` + yearPhrase + `),? (?:on|in) (?:the )?` + yearly), periods: func(g []string, read func(string) (Period, bool)) []Period {
			return inYear(g[1], func(year string) string { return g[2] + " " + year }, read)
		}},
		{words: compilePhrase(`between ` + monthAndDays(` and `)), period: daysOfMonth},
		{words: compilePhrase(monthAndDays(upTo)), period: daysOfMonth},
		{words: compilePhrase(`between ` + daysAndMonth(` and `)), period: daysBeforeMonth},
		{words: compilePhrase(daysAndMonth(upTo)), period: daysBeforeMonth},
		{words: apart{words: compilePhrase(monthNames + `\b\.? (` + dayList + `)(?:,? (\d{4}))?`), notBefore: notDayListBefore}, periods: func(g []string, read func(string) (Period, bool)) []Period {
			return listedDays(g[1], g[2], g[3], read)
		}},
		{words: compilePhrase(`(` + dayList + `)(?: of)? ` + monthNames + `\b\.?(?:,? (\d{4}))?`), periods: func(g []string, read func(string) (Period, bool)) []Period {
			return listedDays(g[2], g[1], g[3], read)
		}},
		{words: compilePhrase(isoDay + `(?: ?(?:to|till|until|through|到|至|[-–—~]) ?)` + isoDay), period: daysSpan},
		{words: compilePhrase(isoDay + `(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[-+]\d{2}:\d{2})?)?`), period: func(g []string, today time.Time) (Period, bool) {
			return datePeriod(parseYear(g[1], "", today), parseMonth(g[2]), g[3], today)
		}},
		{words: compilePhrase(`(\d{4})[-/](\d{1,2})(?:[-/](\d{1,2}))?`), period: func(g []string, today time.Time) (Period, bool) {
			return datePeriod(parseYear(g[1], "", today), parseMonth(g[2]), g[3], today)
		}},
		{words: compilePhrase(`(\d{1,2})(?:st|nd|rd|th)?(?: of)? ` + monthNames + `\b\.?,?(?: (\d{4}))?`), period: func(g []string, today time.Time) (Period, bool) {
			return datePeriod(parseYear(g[3], "", today), parseMonth(g[2]), g[1], today)
		}},
		{words: compilePhrase(monthNames + `\b\.? (\d{1,2})(?:st|nd|rd|th)?\b,?(?: (\d{4}))?`), period: func(g []string, today time.Time) (Period, bool) {
			return datePeriod(parseYear(g[3], "", today), parseMonth(g[1]), g[2], today)
		}},
		{words: apart{words: compilePhrase(`on the (\d{1,2})(?:st|nd|rd|th)`), notBefore: notDayOfMonth}, period: func(g []string, today time.Time) (Period, bool) {
			return lastSuchDay(g[1], today)
		}},
		{words: compilePhrase(`(\d{1,2})/(\d{1,2})/(\d{4})`), period: numberedDay},
		{words: apart{words: compilePhrase(`(\d{1,2})/(\d{1,2})()`), after: dayPreposition, notBefore: notNumberedBefore}, period: numberedDay},
		{words: compilePhrase(monthNames + `\b\.?,? (?:of )?(\d{4})`), period: func(g []string, today time.Time) (Period, bool) {
			return datePeriod(parseYear(g[2], "", today), parseMonth(g[1]), "", today)
		}},
		{words: compilePhrase(`(?:in|during|of|last|early|late|mid) ` + monthNames), period: func(g []string, today time.Time) (Period, bool) { return datePeriod(0, parseMonth(g[1]), "", today) }},
		{words: compilePhrase(seasonNames + `,? (?:of )?(\d{4})`), period: func(g []string, today time.Time) (Period, bool) {
			return seasonPeriod(g[1], parseYear(g[2], "", today), today), true
		}},
		{words: apart{words: compilePhrase(`in (?:the )?` + seasonNames), notBefore: notSeasonBefore}, period: func(g []string, today time.Time) (Period, bool) {
			return seasonPeriod(g[1], 0, today), true
		}},
		{words: compilePhrase(`(?:last|this|past) ` + seasonNames), period: func(g []string, today time.Time) (Period, bool) { return seasonPeriod(g[1], 0, today), true }},
		{words: compilePhrase(`(?:last|past) (few|couple of|` + howMany[1:] + ` (day|week|month|year)s?`), period: lastPeriod},
		{words: compilePhrase(howMany + ` (day|week|month|year)s? ago`), period: func(g []string, today time.Time) (Period, bool) {
			return agoPeriod(g[1], g[2], today)
		}},
		{words: compilePhrase(`the (week|weekend|month|year) before last(?: (?:week|weekend|month|year))?`), period: func(g []string, today time.Time) (Period, bool) {
			return unitBefore(2, g[1], today), true
		}},
		{words: apart{words: compilePhrase(`q([1-4])(?:,? (?:of )?(?:(\d{4})|(last|this) year))?`), notAfter: notQuarterAfter, notBefore: notQuarterBefore}, period: englishQuarter},
		{words: compilePhrase(`(\d{4}) ?q([1-4])`), period: func(g []string, today time.Time) (Period, bool) {
			return quarterPeriod(parseDigits(g[2]), parseDigits(g[1]), today), true
		}},
		{words: compilePhrase(`(first|second|third|fourth|1st|2nd|3rd|4th) quarter(?:,? (?:of |in )?(?:(\d{4})|(last|this|the) year))?`), period: englishQuarter},
		{words: compilePhrase(`(last|this|the past) quarter`), period: func(g []string, today time.Time) (Period, bool) {
			if strings.EqualFold(g[1], "this") {
				return quarterBefore(0, today), true
			}
			return quarterBefore(1, today), true
		}},
		{words: apart{words: compilePhrase(`(?:last |this past |past |on )?` + dayNames + ` ` + englishDayParts), notAfter: notWeekdayAfter}, period: func(g []string, today time.Time) (Period, bool) {
			return partOfDay(lastWeekday(weekdays[strings.ToLower(g[1][:3])], today), g[2])
		}},
		{words: apart{words: compilePhrase(`(?:last|this past|past|on) ` + dayNames), notBefore: notWeekdayBefore}, period: func(g []string, today time.Time) (Period, bool) {
			return lastWeekday(weekdays[strings.ToLower(g[1][:3])], today), true
		}},
		{words: apart{words: compilePhrase(dayNames), after: openPreposition}, period: func(g []string, today time.Time) (Period, bool) {
			return lastWeekday(weekdays[strings.ToLower(g[1][:3])], today), true
		}},
		{words: compilePhrase(`the day before yesterday`), period: func(_ []string, today time.Time) (Period, bool) { return relativeDay(today.AddDate(0, 0, -2)), true }},
		{words: compilePhrase(`last (night)`), period: func(g []string, today time.Time) (Period, bool) { return dayPartBefore(1, g[1], today) }},
		{words: compilePhrase(`yesterday`), period: func(_ []string, today time.Time) (Period, bool) { return relativeDay(today.AddDate(0, 0, -1)), true }},
		{words: compilePhrase(`today`), period: func(_ []string, today time.Time) (Period, bool) { return relativeDay(today), true }},
		{words: compilePhrase(`to(night)|this (morning|afternoon|evening)`), period: func(g []string, today time.Time) (Period, bool) {
			return dayPartBefore(0, g[1]+g[2], today)
		}},
		{words: apart{words: compilePhrase(`(?:last|this past|past|on the|at the) (weekend)|last (week|month|year)`), notBefore: notPartOf}, period: func(g []string, today time.Time) (Period, bool) {
			return unitBefore(1, g[1]+g[2], today), true
		}},
		{words: compilePhrase(`this (week|month|year)`), period: func(g []string, today time.Time) (Period, bool) {
			return unitBefore(0, g[1], today), true
		}},
		{words: apart{words: compilePhrase(monthNames), after: openPreposition}, period: func(g []string, today time.Time) (Period, bool) {
			return datePeriod(0, parseMonth(g[1]), "", today)
		}},
		{words: apart{words: compilePhrase(`((?:19|20)\d\d)`), after: openPreposition, notBefore: notYearBefore}, period: func(g []string, today time.Time) (Period, bool) {
			return yearPeriod(parseYear(g[1], "", today), today.Location()), true
		}},
		{words: compilePhrase(`in ((?:19|20)\d\d)()`), period: func(g []string, today time.Time) (Period, bool) {
			return yearPeriod(parseYear(g[1], g[2], today), today.Location()), true
		}},
	}
})

// The context of words that would name a time.
var (
	// dayPreposition matches the words before 5/13, which may be a fraction.
	dayPreposition    = value.CompileLater(`(?i)(?:^|\b(?:on|since|before|after|until|till|from|by) )$`)
	notNumberedBefore = value.CompileLater(`(?i)^(?:[\d/.:%-]| ?(?:inch|in\b|cup|teaspoon|of\b))`)
	notDayListBefore  = value.CompileLater(`(?i)^ (?:[a-z]+s|of|people)\b`)
	notSeasonBefore   = value.CompileLater(`(?i)^ of\b`)
	notQuarterAfter   = value.CompileLater(`年的? ?$`) // which Chinese reads as a whole
	notQuarterBefore  = value.CompileLater(`^ ?[:.)]`)
	notWeekdayAfter   = value.CompileLater(`(?i)\b(?:next|this|every|each|coming|any|a) $`)
	notWeekdayBefore  = value.CompileLater(`(?i)^ (?:` + englishDayParts + `s|(?:of|in) (?:this|last|\d{4})\b|of the\b|` + beginMark + `)`)
	notPartOf         = value.CompileLater(`(?i)^ (?:of\b|` + beginMark + `)`) // the last week of May
	// openPreposition matches the words before a bare weekday, month or year: it ends or begins a time, or follows
	// another.
	openPreposition = value.CompileLater(`(?i)\b(?:before|after|since|until|till|(?:week|month|half) of) $|` + timeMark + `,? (?:and|or) $`)
	notYearBefore   = value.CompileLater(`(?i)^(?:[,.]?\d|%| ?(?:people|steps|miles|met(?:er|re)s|words|k?m\b|calories|dollars|euros|yuan|points|years|days|hours|minutes|times|pages))`)
)

const (
	// yearly matches the things that may precede a year: a month, a day or a season.
	yearly     = `(?:the )?(` + plainMonthNames + `\b\.? ` + dayOfMonth2 + `|` + dayOfMonth2 + `(?: of)? ` + plainMonthNames + `|` + plainMonthNames + `|` + plainSeasons + `)`
	yearPhrase = `(?:last|this) year|(?:` + plainNumbers + `) years? ago`
)

// dayList matches several days of one month.
const dayList = dayOfMonth2 + `(?:, ` + dayOfMonth2 + `)*,? and ` + dayOfMonth2

var daysOfList = value.CompileLater(`\d{1,2}`)

// listedDays returns the days of a month that a list has; none if one of them is not a day.
func listedDays(month, days, year string, read func(string) (Period, bool)) (periods []Period) {
	for _, day := range daysOfList().FindAllString(days, -1) {
		p, ok := read(strings.TrimSpace(month + " " + day + " " + year))
		if !ok {
			return nil
		}
		periods = append(periods, p)
	}
	return periods
}

// sameDayAgo returns the day of today so many weeks, months or years ago.
func sameDayAgo(g []string, today time.Time) (Period, bool) {
	if g[1] != "" {
		return exactlyAgo("one", g[1], today)
	}
	return exactlyAgo(g[2], g[3], today)
}

// numberedDay returns a day like 5/13 or 13/5/2023. ok is false if it may be one of two days, for example 5/7.
func numberedDay(g []string, today time.Time) (Period, bool) {
	first, second := parseDigits(g[1]), parseDigits(g[2])
	year := parseDigits(g[3])
	if first > 12 && !(first == 24 && second == 7) { // around the clock
		return datePeriod(year, time.Month(second), g[1], today)
	}
	if second > 12 {
		return datePeriod(year, time.Month(first), g[2], today)
	}
	return Period{}, false
}

// unitBefore returns the week, weekend, month or year that is so many units before today's.
func unitBefore(back int, unit string, today time.Time) Period {
	switch strings.ToLower(unit) {
	case "week":
		return weekBefore(back, today)
	case "weekend":
		return weekendBefore(back, today)
	case "month":
		return monthBefore(back, today)
	}
	return yearPeriod(today.Year()-back, today.Location())
}

var quarterNames = map[string]int{"first": 1, "second": 2, "third": 3, "fourth": 4}

// englishQuarter returns a quarter of a year.
func englishQuarter(g []string, today time.Time) (Period, bool) {
	quarter := quarterNames[strings.ToLower(g[1])]
	if quarter == 0 {
		quarter = int(g[1][0] - '0')
	}
	return quarterPeriod(quarter, cmp.Or(parseDigits(g[2]), yearBeside(g[3], today)), today), true
}

// notDayOfMonth matches the words after an ordinal number that is not a day: on the 5th floor.
var notDayOfMonth = value.CompileLater(`^(?:th)? (?:floor|street|avenue|grade|page|place|try|attempt|hole|time|round|row|seat|of)\b`)

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
	if g[2] != "" {
		p, ok = datePeriod(parseDigits(g[3]), parseMonth(g[2]), "", today)
	} else if strings.EqualFold(g[6], "month") {
		p = monthPeriod(today.Year(), today.Month()-time.Month(today.Year()-yearBeside(g[5], today)), today.Location())
	}
	return edgeDay(p, strings.EqualFold(g[1], "last")), ok
}

// partNames are the parts of a month or a year as Chinese names them.
var partNames = map[string]string{"beginning": "初", "start": "初", "early": "初", "middle": "中", "mid": "中", "end": "底", "late": "底"}

// englishPartOfYear returns a part of a numbered year: early 2024, the end of 2024.
func englishPartOfYear(g []string, today time.Time) (Period, bool) {
	part := partNames[strings.ToLower(cmp.Or(g[1], g[3]))]
	return partOfYear(parseDigits(cmp.Or(g[2], g[4])), part, today.Location()), true
}

// yearsSpan returns the time from one year to another: from 2021 to 2024.
func yearsSpan(g []string, today time.Time) (Period, bool) {
	first, last := yearPeriod(parseDigits(g[1]), today.Location()), yearPeriod(parseDigits(g[2]), today.Location())
	return Period{first.Start, last.End, Year}, first.Start.Before(last.Start)
}

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

// mayNameTime reports whether an English text has a word that may name a time, to save
// the search for it.
func mayNameTime(text string) bool {
	if strings.ContainsAny(text, "0123456789") {
		return true
	}
	for w := range strings.FieldsFuncSeq(text, func(r rune) bool { return !isWordByte(r) }) {
		w = strings.ToLower(w)
		isAmbiguous := w == "this" || w == "may" || w == "quarter" || holidayWords(w)
		if timeWords(w) || seasonMonths[w] != 0 || isAmbiguous {
			return true
		}
	}
	return false
}

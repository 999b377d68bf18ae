package date

import (
	"strings"
)

const englishOrdinals = `(first|second|third|fourth|fifth|last)`

// ordinals are the English words for places in an order; the last is 0.
var ordinals = map[string]int{"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5}

// partByNumber returns the n-th week, weekend or weekday of a month, the n-th week or month of a year, or a half
// of either; with n 0 the last one. A week is seven days from the beginning, the last one up to the end. ok is
// false if the time has no such part. For example, a month has no fifth Monday if it has only four.
func partByNumber(p Period, n int, unit string) (part Period, ok bool) {
	isMonth, isYear := p.Start.AddDate(0, 1, 0).Equal(p.End), p.Start.AddDate(1, 0, 0).Equal(p.End)
	weekday, isWeekday := weekdayOf(unit)
	length := units[unit]
	switch {
	case unit == "half" && (isMonth || isYear):
		return halfByNumber(p, n)
	case isWeekday && isMonth:
		part = weekdayByNumber(p, n, weekday)
		if unit == "weekend" || unit == "周末" {
			part = relativePeriod(part.Start, part.End.AddDate(0, 0, 1))
		}
	case length == "w" && (isMonth || isYear), length == "m" && isYear:
		part = Period{addUnits(p.Start, n-1, length), addUnits(p.Start, n, length), precisionOf(length)}
		if n == 0 {
			part.Start, part.End = addUnits(p.End, -1, length), p.End
		}
	default:
		return Period{}, false
	}
	return part, !part.Start.Before(p.Start) && part.Start.Before(p.End)
}

// weekdayOf returns the day of a word like 周三, 星期三, wednesday, 周末 or weekend; Monday is 0.
func weekdayOf(word string) (day int, ok bool) {
	for _, week := range []string{"周", "星期", "礼拜"} {
		if rest, isChinese := strings.CutPrefix(word, week); isChinese {
			day, ok = weekdays[rest]
			return day, ok
		}
	}
	if strings.HasSuffix(word, "day") || word == "weekend" {
		day, ok = weekdays[word[:3]]
	}
	return day, ok
}

// halfByNumber returns the first half of a month or a year, or the second or last one.
func halfByNumber(p Period, n int) (half Period, ok bool) {
	middle := p.Start.AddDate(0, 0, 15)
	if p.Precision == Year {
		middle = p.Start.AddDate(0, 6, 0)
	}
	if n == 1 {
		return Period{p.Start, middle, Month}, true
	}
	return Period{middle, p.End, Month}, n == 0 || n == 2
}

// weekdayByNumber returns the n-th such weekday of a time, or the last one with n 0; Monday is 0.
func weekdayByNumber(p Period, n, weekday int) Period {
	if n == 0 {
		last := p.End.AddDate(0, 0, -1)
		return calendarDay(last.AddDate(0, 0, -(daysSinceMonday(last)-weekday+7)%7))
	}
	return calendarDay(p.Start.AddDate(0, 0, (weekday-daysSinceMonday(p.Start)+7)%7+7*(n-1)))
}

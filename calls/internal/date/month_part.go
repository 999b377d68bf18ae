package date

import "time"

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

// dayOfRelativeMonth returns a day or a part of the month that is so many months before today's.
func dayOfRelativeMonth(back int, part, day string, today time.Time) (Period, bool) {
	month := monthPeriod(today.Year(), today.Month()-time.Month(back), today.Location())
	if part != "" {
		return partOfMonth(month, part), true
	}
	return datePeriod(month.Start.Year(), month.Start.Month(), day, today)
}

// edgeDay returns the first or the last day of a period.
func edgeDay(p Period, isLast bool) Period {
	if isLast {
		return calendarDay(p.End.AddDate(0, 0, -1))
	}
	return calendarDay(p.Start)
}

// lastSuchDay returns a day without its month: the day of this month, or of the month before if this month has no
// such day or has not reached it. For example, on 15 May the 20th is 20 April.
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

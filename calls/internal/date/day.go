package date

import (
	"regexp"
	"strings"
	"sync"
	"time"
)

// form is one way to write a day. take gets the submatches.
type form struct {
	pattern *regexp.Regexp
	take    func(r *reader, m []string) bool
}

var words = map[string]int{
	"今天": 0, "今日": 0, "今晚": 0, "明天": 1, "明日": 1, "明儿": 1, "明晚": 1, "后天": 2, "大后天": 3,
	"昨天": -1, "昨日": -1, "昨晚": -1, "前天": -2, "大前天": -3,
	"today": 0, "tonight": 0, "tomorrow": 1, "yesterday": -1,
	"the day after tomorrow": 2, "day after tomorrow": 2, "the day before yesterday": -2, "day before yesterday": -2,
}

const (
	monthWord = `(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?`
	dayWord   = `(mon(?:day)?|tue(?:s(?:day)?)?|wed(?:nesday)?|thu(?:r(?:s(?:day)?)?)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?|weekend)`
)

// forms are tried in order; the first that matches counts.
var forms = sync.OnceValue(func() []form {
	return []form{
		{compileAnchored(`(大后天|大前天|今天|今日|明天|明日|明儿|后天|昨天|昨日|前天|the day after tomorrow|day after tomorrow|the day before yesterday|day before yesterday|today|tomorrow|yesterday)`),
			func(r *reader, m []string) bool { r.setDay(words[m[1]]); return true }},
		// The part of the day belongs to the time: it stays.
		{compileAnchored(`(今|明|昨)(?:晚|早|晨)`), func(r *reader, m []string) bool {
			r.setDay(words[m[1]+"天"])
			r.rest = strings.TrimPrefix(m[0], m[1]) + r.rest
			return true
		}},
		{compileAnchored(`tonight\b`), func(r *reader, _ []string) bool {
			r.setDay(0)
			r.rest = "evening" + r.rest
			return true
		}},
		{compileAnchored(`(now|现在|此刻|立刻|马上)`), func(r *reader, _ []string) bool {
			r.at = r.now
			r.hour, r.minute, r.second = r.now.Clock()
			return true
		}},
		// 2024年5月1日, 二〇二四年五月一日, 明年五月一号
		{compileAnchored(`(?:(\d{4}|[零一二三四五六七八九]{4}|今|明|后|去|前)年 ?)` + number + `月 ?` + number + `[日号]?`),
			func(r *reader, m []string) bool {
				return r.setCalendarDay(r.readYear(m[1]), parseNumber(m[2]), parseNumber(m[3]))
			}},
		{compileAnchored(number + `月 ?` + number + `[日号]?`),
			func(r *reader, m []string) bool {
				return r.setCalendarDay(r.now.Year(), parseNumber(m[1]), parseNumber(m[2]))
			}},
		{compileAnchored(`(上上|下下|上|下|本|这)个?月 ?` + number + `[日号]`), func(r *reader, m []string) bool {
			first := r.monthFromNow(countSteps(m[1]))
			return r.setCalendarDay(first.Year(), int(first.Month()), parseNumber(m[2]))
		}},
		{compileAnchored(`(上上|下下|上|下|本|这)?个?月(底|末|初)`), func(r *reader, m []string) bool {
			r.at = r.monthFromNow(countSteps(m[1]))
			if m[2] != "初" {
				r.at = r.at.AddDate(0, 1, -1)
			}
			return true
		}},
		// 下周五, 上上周日, 周末
		{compileAnchored(`(上上|下下|上|下|本|这)?个?周([一二三四五六日天末1-7])`),
			func(r *reader, m []string) bool { return r.setWeekday(m[1], weekdays[m[2]]) }},
		{compileAnchored(`(next|last|this|coming)? ?` + dayWord + `\b`), func(r *reader, m []string) bool {
			side := map[string]string{"next": "下", "last": "上", "this": "本"}[m[1]]
			return r.setWeekday(side, weekdays[m[2][:3]])
		}},
		{compileAnchored(`([0-9]{1,2})[号日]`), func(r *reader, m []string) bool {
			return r.setCalendarDay(r.now.Year(), int(r.now.Month()), parseNumber(m[1]))
		}},
		// 3天后, 两周前, in 3 days, a week ago
		{compileAnchored(number + ` ?(天|日|个?周|个?月|年|个?小时|分钟)(?:之|以)?(后|前)`),
			func(r *reader, m []string) bool { return r.shiftTime(m[1], m[2], m[3] == "前") }},
		{compileAnchored(`(半)个?小时后`), func(r *reader, _ []string) bool { return r.shiftTime("30", "min", false) }},
		{compileAnchored(`in (\d{1,4}|an?|one|two|three|four|five|six|seven|eight|nine|ten) (day|week|month|year|hour|min(?:ute)?)s?\b`),
			func(r *reader, m []string) bool { return r.shiftTime(m[1], m[2], false) }},
		{compileAnchored(`(\d{1,4}|an?|one|two|three|four|five|six|seven|eight|nine|ten) (day|week|month|year|hour|min(?:ute)?)s? (ago|later|from now|from today)\b`),
			func(r *reader, m []string) bool { return r.shiftTime(m[1], m[2], m[3] == "ago") }},
		{compileAnchored(`(next|last) (week|month|year)\b`), func(r *reader, m []string) bool { return r.shiftTime("1", m[2], m[1] == "last") }},
		{compileAnchored(`(上|下)个?(周|月)`), func(r *reader, m []string) bool { return r.shiftTime("1", m[2], m[1] == "上") }},
		{compileAnchored(`(明|去)年`), func(r *reader, m []string) bool { return r.shiftTime("1", "年", m[1] == "去") }},
		// 2024-05-01, 2024/5/1, 2024.5.1, 20240501, 5/1
		{compileAnchored(`(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:t|\b)`),
			func(r *reader, m []string) bool {
				return r.setCalendarDay(parseNumber(m[1]), parseNumber(m[2]), parseNumber(m[3]))
			}},
		{compileAnchored(`(\d{4})(\d{2})(\d{2})(?:t|\b)`),
			func(r *reader, m []string) bool {
				return r.setCalendarDay(parseNumber(m[1]), parseNumber(m[2]), parseNumber(m[3]))
			}},
		// 1 May 2024, May 1st, 2024
		{compileAnchored(`(\d{1,2})(?:st|nd|rd|th)? (?:of )?` + monthWord + `(?:,? (\d{4}))?\b`),
			func(r *reader, m []string) bool {
				return r.setCalendarDay(r.readYear(m[3]), int(monthByName(m[2])), parseNumber(m[1]))
			}},
		{compileAnchored(monthWord + ` (\d{1,2})(?:st|nd|rd|th)?(?:,? (\d{4}))?\b`),
			func(r *reader, m []string) bool {
				return r.setCalendarDay(r.readYear(m[3]), int(monthByName(m[1])), parseNumber(m[2]))
			}},
	}
})

// readDay takes a day off the front.
func (r *reader) readDay() bool {
	for _, f := range forms() {
		m := f.pattern.FindStringSubmatch(r.rest)
		if m == nil {
			continue
		}
		r.rest = r.rest[len(m[0]):]
		return f.take(r, m)
	}
	return false
}

// setWeekday takes a weekday of the week that side names; without one, the next such day.
func (r *reader) setWeekday(side string, day int) bool {
	n := r.daysToWeekday(day, countSteps(side))
	if side == "" && n < 0 {
		n += 7
	}
	r.setDay(n)
	return true
}

// countSteps counts the weeks or months that words such as 下下 go away from now.
func countSteps(side string) int {
	return strings.Count(side, "下") - strings.Count(side, "上")
}

// monthFromNow returns the first day of the month n months from now.
func (r *reader) monthFromNow(n int) time.Time {
	return time.Date(r.now.Year(), r.now.Month()+time.Month(n), 1, 0, 0, 0, 0, r.now.Location())
}

// readYear reads a year; "" is the current year.
func (r *reader) readYear(text string) int {
	switch text {
	case "", "今":
		return r.now.Year()
	case "明":
		return r.now.Year() + 1
	case "后":
		return r.now.Year() + 2
	case "去":
		return r.now.Year() - 1
	case "前":
		return r.now.Year() - 2
	}
	return parseDigits(text)
}

// shiftTime goes an amount of time away from now. Hours and minutes take the time of
// day along; a month that is too short for the day ends on its last.
func (r *reader) shiftTime(amount, unit string, back bool) bool {
	n := parseNumber(amount)
	if back {
		n = -n
	}
	switch units[unit] {
	case "d":
		r.setDay(n)
	case "w":
		r.setDay(7 * n)
	case "m", "y":
		if units[unit] == "y" {
			n *= 12
		}
		first := r.monthFromNow(n)
		last := first.AddDate(0, 1, -1).Day()
		r.at = first.AddDate(0, 0, min(r.now.Day(), last)-1)
	default:
		step := time.Hour
		if units[unit] == "min" {
			step = time.Minute
		}
		r.at = r.now.Add(time.Duration(n) * step)
		r.hour, r.minute, r.second = r.at.Clock()
	}
	return true
}

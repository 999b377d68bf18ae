// Package date reads points in time as people write them, in Chinese and English,
// for example 明天下午3点, next Friday, 2024年5月1日, in 3 days, 1714521600.
package date

import (
	"strings"
	"time"
	"unicode"

	"github.com/callnode/scheduler/llm/value"
)

// maxText is how long a text may be, in bytes: dates are short.
const maxText = 100

// Parse reads a point in time. now is the time that relative words count from; its zone applies if the text names
// none. A day without a time is its midnight. ok is false if any part of the text is not understood.
//
// Weeks begin on Monday. A plain weekday is the next one, today included; this
// (本周, 这周) is the week of now, next (下周) and last (上周) the weeks beside it,
// in both languages. A day without a year is in the year of now. Numbers of 9 and
// 10 digits are seconds since 1970, of 12 and 13 digits milliseconds.
func Parse(text string, now time.Time) (t time.Time, ok bool) {
	t, _, vague, ok := parseVague(text, now)
	if vague {
		return time.Time{}, false
	}
	return t, ok
}

// Day reads what Parse reads, and a day with a part of it (明天晚上, tomorrow morning), for callers that only need the
// day. A time without a day is refused. The time of t is midnight.
func Day(text string, now time.Time) (t time.Time, ok bool) {
	_, day, _, ok := parseVague(text, now)
	return day, ok && !day.IsZero()
}

// parseVague is Parse; day is the midnight of the day that was named, zero for none: tonight at 12 is at
// its end. vague reports that a part of the day was named and no time.
func parseVague(text string, now time.Time) (t, day time.Time, vague, ok bool) {
	if len(text) > maxText {
		return t, day, false, false
	}
	text = normalizeText(text)
	t, day, vague, ok = readNormal(aroundHan().ReplaceAllString(text, "$1"), now)
	if ok {
		return t, day, vague, ok
	}
	return readNormal(text, now) // 8点 5月1日: at 8, not at 8:05
}

// readNormal is read for a text that is normal.
func readNormal(text string, now time.Time) (t, day time.Time, vague, ok bool) {
	none := time.Time{}
	r := reader{rest: text, now: now}
	t, ok = r.readAbsolute()
	if ok {
		t = t.In(now.Location())
		return t, midnight(t), false, true
	}
	r.skipSeparators()
	hasDay := r.readDay()
	r.skipSeparators()
	hasTime := r.readClock()
	if !hasDay && hasTime {
		r.skipSeparators()
		hasDay = r.readDay() // 3pm tomorrow
	}
	r.skipSeparators()
	hasNeither := !hasDay && !hasTime
	if r.bad || r.rest != "" || hasNeither {
		return none, none, false, false
	}
	if !hasDay {
		r.at = now
	}
	year, month, of := r.at.Date()
	t = time.Date(year, month, of, r.hour, r.minute, r.second, r.nano, now.Location())
	if t.Year() < 0 || t.Year() > 9999 {
		return none, none, false, false
	}
	day = none
	if hasDay {
		day = midnight(r.at)
	}
	return t, day, r.vague && !hasTime, true
}

// normalizeText returns a text in lower case with one kind of digits, commas and spaces. A question mark stays: "tomorrow?" asks,
// and names no day.
func normalizeText(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r >= '！' && r <= '～': // full-width forms
			r -= '！' - '!'
		case unicode.IsSpace(r):
			r = ' '
		case r == '〇' || r == '零':
			r = '零'
		case r == '两' || r == '兩':
			r = '二'
		case r == '號':
			r = '号'
		case r == '週':
			r = '周'
		case r == '點':
			r = '点'
		case r == '後':
			r = '后'
		case r == '個':
			r = '个'
		}
		return unicode.ToLower(r)
	}, text)
	text = strings.NewReplacer("星期", "周", "礼拜", "周", "個", "个").Replace(text)
	return strings.Join(strings.Fields(strings.TrimSpace(strings.Trim(text, " .。,;!\"'"))), " ")
}

// aroundHan is a Chinese character and the spaces about it, which only matter between two numbers.
var aroundHan = value.CompileLater(` ?(\p{Han}) ?`)

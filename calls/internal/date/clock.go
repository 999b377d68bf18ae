package date

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/callnode/scheduler/llm/value"
)

var (
	epoch = value.CompileLater(`^(-?\d{9,10})(\.\d+)?$|^(-?\d{12,13})$`)

	// 15:04:05, 3:30 pm
	digital = sync.OnceValue(func() *regexp.Regexp {
		return compileAnchored(`(\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)? ?(am|pm|a\.m|p\.m)?\.?`)
	})
	// 3pm, nine o'clock
	hourOnly = sync.OnceValue(func() *regexp.Regexp { return compileAnchored(hourWord + ` ?(am|pm|a\.m|p\.m|o'clock)\b\.?`) })
	// half past nine, a quarter to 3 pm
	besideHour = sync.OnceValue(func() *regexp.Regexp {
		return compileAnchored(`(half past|a? ?quarter past|a? ?quarter to) ` + hourWord + `\b ?(am|pm|a\.m|p\.m)?\.?`)
	})
	// 下午3点半, 晚上八点一刻, 15点30分
	spoken = sync.OnceValue(func() *regexp.Regexp {
		return compileAnchored(`(凌晨|清晨|早上|早晨|上午|中午|下午|傍晚|晚上|夜里|夜晚|半夜|深夜|午夜|晚|早|晨)? ?` + number + `[点时](?:(半)|(一刻|三刻)|整|` + number + `分?(?:` + number + `秒)?)?`)
	})
	// 中午, noon: a part of a day that is a time
	part = sync.OnceValue(func() *regexp.Regexp { return compileAnchored(`(中午|正午|noon|midnight|午夜|零点)`) })
	// 上午 alone says too little for a time, and is passed over before one.
	before = sync.OnceValue(func() *regexp.Regexp {
		return compileAnchored(`(早上|早晨|清晨|上午|中午|下午|晚上|夜里|夜晚|凌晨|傍晚|晚|早|晨|in the morning|in the afternoon|in the evening|at night|morning|afternoon|evening|night)`)
	})
)

// halves are the parts of a day: the hours that they may have, and the number to add to a smaller one. Twelve is
// the end of a night, but the day of the hours after it is unclear, unless they are called 凌晨.
var halves = map[string]struct{ first, last, add int }{
	"am": {0, 11, 0}, "pm": {12, 23, 12},
	"凌晨": {0, 11, 0}, "清晨": {1, 11, 0}, "早": {1, 11, 0}, "上午": {0, 12, 0},
	"中午": {10, 15, 12}, "下午": {12, 23, 12}, "晚": {17, 24, 12}, "半夜": {21, 24, 12},
}

// hourWord matches an hour in English, in digits or a word.
const hourWord = `(\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)`

// halfOf returns the key into halves of a word, "" if there is none.
func halfOf(word string) string {
	switch word {
	case "am", "a.m":
		return "am"
	case "pm", "p.m":
		return "pm"
	case "凌晨", "清晨", "上午", "中午", "下午":
		return word
	case "早", "早上", "早晨", "晨", "in the morning", "morning":
		return "早"
	case "in the afternoon", "afternoon":
		return "下午"
	case "半夜", "深夜", "午夜":
		return "半夜"
	case "傍晚", "晚上", "夜里", "夜晚", "晚", "in the evening", "evening", "at night", "night":
		return "晚"
	}
	return ""
}

// readAbsolute reads a text that is a point in time by itself: a number, or RFC 3339.
func (r *reader) readAbsolute() (time.Time, bool) {
	if m := epoch().FindStringSubmatch(r.rest); m != nil {
		if m[3] != "" {
			ms, err := strconv.ParseInt(m[3], 10, 64)
			return time.UnixMilli(ms), err == nil
		}
		s, err := strconv.ParseInt(m[1], 10, 64)
		return time.Unix(s, 0), err == nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02 15:04:05Z07:00", time.RFC1123Z} {
		if t, err := time.Parse(layout, strings.ToUpper(r.rest)); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// readClock takes a time of the day off the front.
func (r *reader) readClock() bool {
	if m := digital().FindStringSubmatch(r.rest); m != nil {
		r.rest = r.rest[len(m[0]):]
		nano, _ := strconv.Atoi((m[4] + "000000000")[:9])
		return r.setTime(m[5], parseNumber(m[1]), parseNumber(m[2]), parseNumber("0"+m[3]), nano)
	}
	if m := hourOnly().FindStringSubmatch(r.rest); m != nil {
		r.rest = r.rest[len(m[0]):]
		return r.setTime(m[2], parseNumber(m[1]), 0, 0, 0)
	}
	if m := besideHour().FindStringSubmatch(r.rest); m != nil {
		r.rest = r.rest[len(m[0]):]
		return r.setBesideHour(m[1], parseNumber(m[2]), m[3])
	}
	if m := spoken().FindStringSubmatch(r.rest); m != nil {
		r.rest = r.rest[len(m[0]):]
		minute := parseNumber(m[5])
		switch {
		case m[3] != "":
			minute = 30
		case m[4] == "一刻":
			minute = 15
		case m[4] == "三刻":
			minute = 45
		}
		return r.setTime(m[1], parseNumber(m[2]), minute, parseNumber(m[6]), 0)
	}
	if word := before().FindString(r.rest); word != "" && r.readHalved(word) {
		return true
	}
	if m := part().FindStringSubmatch(r.rest); m != nil {
		r.rest = r.rest[len(m[0]):]
		if m[1] == "中午" || m[1] == "正午" || m[1] == "noon" {
			r.hour = 12
		}
		return true
	}
	if word := before().FindString(r.rest); word != "" {
		r.rest = strings.TrimLeft(r.rest[len(word):], " ")
		r.vague = true
	}
	return false
}

// readHalved reads a part of the day and the time after it: evening at 8:30. ok is false if there is no time; a
// part of the day alone is not a time, and leaves the day unchanged.
func (r *reader) readHalved(word string) (ok bool) {
	rest := *r
	rest.rest = strings.TrimPrefix(rest.rest, word)
	rest.skipSeparators()
	if !digital().MatchString(rest.rest) && !hourOnly().MatchString(rest.rest) && !besideHour().MatchString(rest.rest) {
		return false
	}
	*r = rest
	r.half = halfOf(word)
	return r.readClock()
}

// setBesideHour takes a time beside a full hour: half past nine, a quarter to ten.
func (r *reader) setBesideHour(beside string, hour int, half string) bool {
	switch {
	case strings.HasPrefix(beside, "half"):
		return r.setTime(half, hour, 30, 0, 0)
	case strings.HasSuffix(beside, "past"):
		return r.setTime(half, hour, 15, 0, 0)
	case hour == 1:
		return r.setTime(half, 12, 45, 0, 0)
	}
	return r.setTime(half, hour-1, 45, 0, 0)
}

// setTime takes a time of the day; word names the part of it that is meant.
func (r *reader) setTime(word string, hour, minute, second, nano int) bool {
	midnight := hour == 24 && minute+second == 0
	r.atEnd = midnight
	for _, half := range []string{halfOf(word), r.half} {
		part, known := halves[half]
		if !known {
			continue
		}
		isAfterMidnight := part.first == 21 && hour < 6 // 半夜两点, of the night that began the day
		switch {
		case isAfterMidnight:
			continue
		case hour == 12 && part.last == 11:
			hour = 0
		case hour == 12 && part.last == 24:
			hour, midnight = 24, true
		case hour < part.first && hour < 12:
			hour += part.add
		}
		if hour < part.first || hour > part.last {
			r.bad = true
			return false
		}
	}
	isLate := hour > 23 && !midnight
	if isLate || minute > 59 || second > 59 {
		r.bad = true
		return false
	}
	r.hour, r.minute, r.second, r.nano = hour, minute, second, nano
	return true
}

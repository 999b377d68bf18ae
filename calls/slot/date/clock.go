package date

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

var (
	epoch = regexp.MustCompile(`^(-?\d{9,10})(\.\d+)?$|^(-?\d{12,13})$`)

	// 15:04:05, 3:30 pm
	digital = match(`(\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)? ?(am|pm|a\.m|p\.m)?\.?`)
	// 3pm, 3 o'clock
	hourOnly = match(`(\d{1,2}) ?(am|pm|a\.m|p\.m|o'clock)\.?`)
	// 下午3点半, 晚上八点一刻, 15点30分
	spoken = match(`(凌晨|清晨|早上|早晨|上午|中午|下午|傍晚|晚上|夜里|夜晚|晚|早|晨)? ?` + number + `[点时](?:(半)|(一刻|三刻)|整|` + number + `分?(?:` + number + `秒)?)?`)
	// 中午, noon: a part of a day that is a time
	part = match(`(中午|正午|noon|midnight|午夜|零点)`)
	// 上午 alone says too little for a time, and is passed over before one.
	before = match(`(早上|早晨|上午|下午|晚上|凌晨|傍晚|晚|早|晨|in the morning|in the afternoon|in the evening|morning|afternoon|evening)`)
)

// absolute reads what is a point in time by itself: a number, or RFC 3339.
func (r *reader) absolute() (time.Time, bool) {
	if m := epoch.FindStringSubmatch(r.rest); m != nil {
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

// clock takes a time of the day off the front.
func (r *reader) clock() bool {
	if m := digital.FindStringSubmatch(r.rest); m != nil {
		r.rest = r.rest[len(m[0]):]
		nano, _ := strconv.Atoi((m[4] + "000000000")[:9])
		return r.time(m[5], numeral(m[1]), numeral(m[2]), numeral("0"+m[3]), nano)
	}
	if m := hourOnly.FindStringSubmatch(r.rest); m != nil {
		r.rest = r.rest[len(m[0]):]
		return r.time(m[2], numeral(m[1]), 0, 0, 0)
	}
	if m := spoken.FindStringSubmatch(r.rest); m != nil {
		r.rest = r.rest[len(m[0]):]
		minute := numeral(m[5])
		switch {
		case m[3] != "":
			minute = 30
		case m[4] == "一刻":
			minute = 15
		case m[4] == "三刻":
			minute = 45
		}
		return r.time(m[1], numeral(m[2]), minute, numeral(m[6]), 0)
	}
	if m := part.FindStringSubmatch(r.rest); m != nil {
		r.rest = r.rest[len(m[0]):]
		if m[1] == "中午" || m[1] == "正午" || m[1] == "noon" {
			r.hour = 12
		}
		return true
	}
	if m := before.FindStringSubmatch(r.rest); m != nil {
		r.rest = strings.TrimLeft(r.rest[len(m[0]):], " ")
		r.vague = true
		half := ""
		if strings.ContainsAny(m[0], "午晚傍") && !strings.HasPrefix(m[0], "上") || strings.HasSuffix(m[0], "noon") || strings.HasSuffix(m[0], "evening") {
			half = "下午"
		}
		return r.halved(half)
	}
	return false
}

// halved reads the time after a part of the day: evening at 8:30. A part alone is
// no time of its own, the day stays.
func (r *reader) halved(half string) bool {
	rest := *r
	rest.skip()
	if !digital.MatchString(rest.rest) && !hourOnly.MatchString(rest.rest) {
		return false
	}
	*r = rest
	if !r.clock() {
		return false
	}
	if half != "" && r.hour < 12 {
		r.hour += 12
	}
	return true
}

// time takes a time of the day; half says which half of it is meant.
func (r *reader) time(half string, hour, minute, second, nano int) bool {
	switch half {
	case "pm", "p.m", "下午", "傍晚", "晚上", "夜里", "夜晚", "晚":
		if hour < 12 {
			hour += 12
		}
	case "中午":
		if hour < 3 {
			hour += 12
		}
	case "am", "a.m", "凌晨", "上午", "早上":
		if hour == 12 {
			hour = 0
		}
	}
	if hour > 24 || minute > 59 || second > 59 || hour == 24 && minute+second > 0 {
		r.bad = true
		return false
	}
	r.hour, r.minute, r.second, r.nano = hour, minute, second, nano
	return true
}

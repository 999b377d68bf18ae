package date

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Clock reads a time of day without its day, "2:30 pm" or 下午两点半, as 14:30; seconds that are said are kept, as 14:30:05. 24:00 is none:
// it is the end of a day that is not named.
func Clock(text string) (clock string, ok bool) {
	if len(text) > maxText {
		return "", false
	}
	text = normalizeText(text)
	for _, text := range []string{aroundHan().ReplaceAllString(text, "$1"), text} {
		r := reader{rest: text}
		r.skipSeparators()
		hasTime := r.readClock()
		r.skipSeparators()
		if !hasTime || r.bad || r.atEnd || r.rest != "" {
			continue
		}
		clock = fmt.Sprintf("%02d:%02d", r.hour%24, r.minute)
		if r.second > 0 {
			clock += fmt.Sprintf(":%02d", r.second)
		}
		return clock, true
	}
	return "", false
}

// durationPart matches a piece of a length of time: "1.5 hours, ", "half an hour", "an hour and a half", 一个半小时, 1h.
var durationPart = sync.OnceValue(func() *regexp.Regexp {
	const (
		amounts = `(\d{1,6}(?:\.\d{1,3})?|half an?|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|[零一二三四五六七八九十百]{1,5})?`
		words   = `(years?|年|months?|月|weeks?|周|days?|d|天|日|hours?|hrs?|h|小时|钟头|minutes?|mins?|m|分钟|分|seconds?|secs?|s|秒钟|秒)`
	)
	return compileAnchored(amounts + `( ?个?半)? ?个?` + words + `(半| and a half)?(?: ?(?:,|and|又|零))? ?`)
})

// durationUnits are the first letters of the units of a length of time, and how ISO 8601 writes them.
var durationUnits = []struct {
	words []string
	iso   string
	of    time.Duration // 0 for units of the calendar
}{
	{[]string{"year", "年"}, "Y", 0},
	{[]string{"month", "月"}, "M", 0},
	{[]string{"week", "周"}, "W", 0},
	{[]string{"d", "天", "日"}, "D", 0},
	{[]string{"h", "小时", "钟头"}, "", time.Hour},
	{[]string{"m", "分"}, "", time.Minute},
	{[]string{"s", "秒"}, "", time.Second},
}

// Duration reads a length of time as ISO 8601 writes it: "1 hour 30 minutes" and 一个半小时 as PT1H30M, "2 weeks" as P14D.
func Duration(text string) (iso string, ok bool) {
	if len(text) > maxText {
		return "", false
	}
	rest := aroundHan().ReplaceAllString(normalizeText(text), "$1")
	days, clock := map[string]int{}, time.Duration(0)
	for rest != "" {
		m := durationPart().FindStringSubmatch(rest)
		if m == nil {
			return "", false
		}
		if m[1]+m[2] == "" {
			return "", false
		}
		rest = rest[len(m[0]):]
		amount, unit := durationAmount(m[1]), durationUnits[unitIndex(m[3])]
		if m[2]+m[4] != "" {
			amount += 0.5
		}
		switch {
		case unit.of > 0:
			clock += time.Duration(amount * float64(unit.of))
		case amount != float64(int(amount)): // half a day may be of 4 hours, or of 12
			return "", false
		default:
			days[unit.iso] += int(amount)
		}
	}
	return writeDuration(days, clock.Round(time.Second))
}

func unitIndex(word string) int {
	for i, unit := range durationUnits {
		for _, prefix := range unit.words {
			if strings.HasPrefix(word, prefix) {
				return i
			}
		}
	}
	return 0
}

// durationAmount returns the number of units.
func durationAmount(text string) float64 {
	if strings.HasPrefix(text, "half") {
		return 0.5
	}
	if text == "" {
		return 0
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		return n
	}
	return float64(parseNumber(text))
}

func writeDuration(days map[string]int, clock time.Duration) (iso string, ok bool) {
	days["D"] += 7 * days["W"]
	iso = "P"
	for _, unit := range []string{"Y", "M", "D"} {
		if days[unit] > 0 {
			iso += strconv.Itoa(days[unit]) + unit
		}
	}
	if clock > 0 {
		iso += "T"
	}
	for _, unit := range []struct {
		of   time.Duration
		name string
	}{{time.Hour, "H"}, {time.Minute, "M"}, {time.Second, "S"}} {
		if n := clock / unit.of; n > 0 {
			iso += strconv.Itoa(int(n)) + unit.name
			clock -= n * unit.of
		}
	}
	if iso == "P" {
		return "", false
	}
	return iso, true
}

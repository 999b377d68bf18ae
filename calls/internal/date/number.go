package date

import (
	"strconv"
	"strings"
	"time"
)

// smallNumbers are the English words for numbers.
var smallNumbers = map[string]int{
	"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
}

// parseNumber reads digits, a Chinese number up to 999 or a small English one.
func parseNumber(text string) int {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	if n, ok := smallNumbers[text]; ok {
		return n
	}
	total, digit := 0, 0
	for _, r := range text {
		switch r {
		case '十', '百':
			unit := 10
			if r == '百' {
				unit = 100
			}
			total, digit = total+max(digit, 1)*unit, 0
		default:
			digit = max(strings.Index("零一二三四五六七八九", string(r)), 0) / len("零")
		}
	}
	return total + digit
}

// parseDigits reads a number in digits, Arabic or Chinese: 2024, 二零二四. Without one it is 0.
func parseDigits(text string) int {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	n := 0
	for _, digit := range text {
		n = 10*n + parseNumber(string(digit))
	}
	return n
}

// monthByName returns the month whose English name, or its first letters, is in lower
// case; 0 is not a month.
func monthByName(name string) time.Month {
	if len(name) < 3 {
		return 0
	}
	at := strings.Index("janfebmaraprmayjunjulaugsepoctnovdec", name[:3])
	if at < 0 || at%3 != 0 {
		return 0
	}
	return time.Month(at/3 + 1)
}

// units are the words for units of time, as one word each.
var units = map[string]string{
	"day": "d", "天": "d", "日": "d", "week": "w", "周": "w", "个周": "w", "星期": "w", "礼拜": "w",
	"month": "m", "个月": "m", "月": "m", "year": "y", "年": "y",
	"hour": "h", "小时": "h", "个小时": "h", "minute": "min", "分钟": "min", "min": "min",
}

// weekdays are the words for days of the week, by their first three letters in English;
// Monday is 0. A weekend is its Saturday.
var weekdays = map[string]int{
	"一": 0, "二": 1, "三": 2, "四": 3, "五": 4, "六": 5, "日": 6, "天": 6, "末": 5,
	"1": 0, "2": 1, "3": 2, "4": 3, "5": 4, "6": 5, "7": 6,
	"mon": 0, "tue": 1, "wed": 2, "thu": 3, "fri": 4, "sat": 5, "sun": 6, "wee": 5,
}

// daysSinceMonday returns the number of days since the Monday of the week of t.
func daysSinceMonday(t time.Time) int { return (int(t.Weekday()) + 6) % 7 }

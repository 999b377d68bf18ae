package date

import (
	"strings"
	"time"
)

// The parts of a day in patterns.
const (
	chineseDayParts = `(凌晨|清晨|早上|早晨|上午|中午|下午|傍晚|晚上|夜里|夜晚|半夜|深夜)`
	englishDayParts = `(morning|afternoon|evening|night)`
)

// dayParts are the first and the last hour of a part of a day, counted from its midnight: an evening continues
// into the next day.
var dayParts = map[string][2]int{
	"凌晨": {0, 6}, "清晨": {4, 9}, "早上": {4, 12}, "早晨": {4, 12}, "上午": {5, 12}, "中午": {11, 14}, "下午": {12, 18}, "傍晚": {16, 20},
	"晚上": {17, 29}, "夜里": {18, 30}, "夜晚": {18, 30}, "半夜": {22, 30}, "深夜": {22, 30}, "晚": {17, 29}, "夜": {18, 30}, "早": {4, 12}, "晨": {4, 12},
	"morning": {4, 12}, "afternoon": {12, 18}, "evening": {17, 29}, "night": {17, 30},
}

// partOfDay returns a part of a day. ok is false if the period is not a day.
func partOfDay(day Period, part string) (p Period, ok bool) {
	hours, ok := dayParts[strings.ToLower(part)]
	if !ok || !day.isDay() {
		return Period{}, false
	}
	year, month, of := day.Start.Date()
	at := func(hour int) time.Time { return time.Date(year, month, of, hour, 0, 0, 0, day.Start.Location()) }
	return Period{at(hours[0]), at(hours[1]), day.Precision}, true
}

// dayPartBefore returns a part of the day that is so many before today.
func dayPartBefore(back int, part string, today time.Time) (Period, bool) {
	return partOfDay(relativeDay(today.AddDate(0, 0, -back)), part)
}

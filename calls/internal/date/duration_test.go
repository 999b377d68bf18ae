package date_test

import (
	"testing"

	"github.com/callnode/scheduler/calls/internal/date"
)

// TestClock: a time of day is read as people say it; a day, a part of one or a bare number is none.
func TestClock(t *testing.T) {
	for text, want := range map[string]string{
		"14:30": "14:30", "2:30 pm": "14:30", "at 3pm": "15:00", "noon": "12:00", "14:30:05": "14:30:05", "midnight": "00:00", "12am": "00:00", "0:00": "00:00", "零点": "00:00", "午夜": "00:00", "中午12点": "12:00",
		"half past nine": "09:30", "Half past 9 pm": "21:30", "a quarter to ten": "09:45", "quarter past one": "01:15", "quarter to 1 pm": "12:45", "nine pm": "21:00",
		"nine o'clock": "09:00", "in the evening at half past nine": "21:30", "下午三点半": "15:30", "半夜12点": "00:00", "半夜两点": "02:00", "深夜11点半": "23:30", "晚上12点": "00:00",
		"24:00": "", "24点": "", "二十四点": "", "12:60": "", "half past": "", "half past 25": "", "半夜": "", "半夜十五点": "", "noon?": "", "下午三点半？": "", "3pm?": "",
		"下午两点半": "14:30", "晚上8点": "20:00", "上午九点一刻": "09:15", "15点30分": "15:30",
		"why?": "", "3": "", "tomorrow": "", "tomorrow at 3pm": "", "evening": "", "25:00": "", "为什么": "", "": "", "12:75": "",
	} {
		got, ok := date.Clock(text)
		if got != want || ok != (want != "") {
			t.Errorf("Clock(%q) is %q, %v, want %q", text, got, ok, want)
		}
	}
}

// TestDuration: a length of time is read as people say it.
func TestDuration(t *testing.T) {
	for text, want := range map[string]string{
		"30 minutes": "PT30M", "1 hour 30 minutes": "PT1H30M", "1h30m": "PT1H30M", "1.5 hours": "PT1H30M", "an hour and a half": "PT1H30M",
		"half an hour": "PT30M", "two days": "P2D", "2 weeks": "P14D", "1 year and 2 months": "P1Y2M", "90 min": "PT1H30M", "45s": "PT45S",
		"1 day, 2 hours": "P1DT2H",
		"半小时":            "PT30M", "两小时": "PT2H", "一个半小时": "PT1H30M", "1小时30分钟": "PT1H30M", "三天": "P3D", "两个月": "P2M", "30 分钟": "PT30M",
		"why?": "", "30": "", "hours": "", "3 monkeys": "", "half a day": "", "tomorrow": "", "": "", "0 minutes": "", "为什么": "",
	} {
		got, ok := date.Duration(text)
		if got != want || ok != (want != "") {
			t.Errorf("Duration(%q) is %q, %v, want %q", text, got, ok, want)
		}
	}
}

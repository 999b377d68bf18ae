package date_test

import (
	"testing"
	"time"

	"github.com/callnode/scheduler/calls/internal/date"
)

// now is a Thursday.
var now = time.Date(2026, 3, 5, 9, 7, 30, 0, time.FixedZone("CST", 8*3600))

func TestParse(t *testing.T) {
	tests := map[string][]string{
		// Words.
		"2026-03-05": {"今天", "today", "今日", " Today. "},
		"2026-03-06": {"明天", "tomorrow", "on Friday", "明日", "周五", "Friday", "this Friday", "本周五", "这周五", "in 1 day", "in a day", "一天后", "星期五", "礼拜五"},
		"2026-03-07": {"后天", "the day after tomorrow", "in two days", "2天后", "两天以后", "周末", "this weekend"},
		"2026-03-08": {"大后天", "三天后", "in 3 days", "3 days from now", "周日", "星期天", "３天之后", "sunday"},
		"2026-03-04": {"昨天", "yesterday", "1 day ago", "一天前", "本周三", "this wednesday"},
		"2026-03-03": {"前天", "the day before yesterday"},
		"2026-03-13": {"下周五", "下 周 五 ", "next Friday", "下个星期五", "下週五", "next fri"},
		"2026-03-20": {"下下周五"},
		"2026-02-27": {"上周五", "last Friday", "上个周五"},
		"2026-03-11": {"Wednesday", "周三"}, // the next one: this week's is over
		"2026-03-12": {"下周", "next week", "in one week", "1周后", "一个星期后"},
		"2026-04-05": {"下个月", "next month", "一个月后", "in a month", "2026年4月5日", "4月5日", "四月五号", "2026/4/5"},
		"2026-02-05": {"上个月", "last month", "a month ago"},
		"2027-03-05": {"明年", "next year", "明年3月5日", "a year later"},
		"2026-03-31": {"月底", "本月底", "这个月末"},
		"2026-04-01": {"下个月初"},
		"2026-04-10": {"下个月10号", "下月十日"},
		"2026-03-10": {"10号", "10日"},
		// The calendar.
		"2024-05-01": {
			"2024年5月1日", "2024年5月1号", "二〇二四年五月一日", "二零二四年五月一号", "2024-05-01", "2024/5/1", "2024.5.1", "20240501",
			"May 1, 2024", "May 1st 2024", "1 May 2024", "1st of May 2024", "1 may, 2024", "2024年 5月 1日", "２０２４年５月１日", "2024 年 5 月 1 日", "on May 1, 2024",
		},
		"2026-05-01": {"May 1", "May 1st", "1 May", "5月1日", "五月一日", "今年5月1日"},
		"2026-12-25": {"December 25", "十二月二十五日", "Dec. 25", "12月25"},
		"2024-02-29": {"2024-02-29"},
		"2026-06-13": {"一百天后", "100天后"},
	}
	for want, texts := range tests {
		for _, text := range texts {
			got, ok := date.Parse(text, now)
			if !ok || got.Format("2006-01-02 15:04:05") != want+" 00:00:00" || got.Location() != now.Location() {
				t.Errorf("%q gives %s (%t), want %s", text, got, ok, want)
			}
		}
	}
}

func TestParseTimes(t *testing.T) {
	tests := map[string][]string{
		"2026-03-06 15:00:00": {"明天下午3点", "明天下午三点", "明天15点", "明天 15:00", "tomorrow at 3pm", "tomorrow 3 PM", "3pm tomorrow", "tomorrow, 15:00:00", "明天的下午三点整", "明天15时", "tomorrow afternoon at 3:00"},
		"2026-03-06 15:30:00": {"明天下午三点半", "明天下午3点30分", "明天下午3:30", "tomorrow 3:30 p.m."},
		"2026-03-05 20:15:00": {"今晚八点一刻", "今晚8点15", "今天晚上8点15分", "tonight 8:15", "today 8:15pm"},
		"2026-03-06 08:00:00": {"明早8点", "明天早上八点", "明天上午8点", "tomorrow morning at 8 am"},
		"2026-03-05 12:30:00": {"中午12:30", "中午十二点半", "上午12:30", "12:30pm", "今天 中午 12:30"},
		"2026-03-06 13:00:00": {"明天中午1点", "明天中午 1:00", "tomorrow 1pm", "tomorrow afternoon at 1:00"},
		"2026-03-05 12:00:00": {"上午12点", "中午", "noon", "今天中午12点", "12pm", "today at noon"},
		"2026-03-06 00:00:00": {"明天凌晨12点", "tomorrow 12 am", "今晚12点", "晚上十二点", "24:00", "今晚24点", "tonight at 12:00"},
		"2026-03-06 00:30:00": {"明天凌晨12点半", "tomorrow 12:30am", "今晚12点半", "晚上12:30"},
		// Spaces that part two numbers.
		"2026-05-01 15:00:00": {"下午3点 5月1日", "下午3点 2026-05-01", "5 月 1 日 下午 3 点"},
		"2026-05-20 03:00:00": {"五月二十 三点", "三点 五月二十"},
		"2027-05-01 20:30:00": {"May 1, 2027 at 晚上8:30"},
		"2026-03-05 20:30:00": {"今晚8:30", "夜里8点半", "tonight at 8:30", "tonight at 8:30 pm", "今天 20 点 30 分"},
		"2026-03-05 10:07:30": {"1小时后", "一个小时后", "in an hour", "1 hour later"},
		"2026-03-05 08:37:30": {"30分钟前", "30 minutes ago"},
		"2026-03-05 09:37:30": {"半小时后", "半个小时后"},
		"2026-03-05 09:07:30": {"现在", "now"},
		"2024-05-01 08:30:15": {"2024-05-01 08:30:15", "2024-05-01T08:30:15", "2024-05-01T00:30:15Z", "2024-05-01T08:30:15+08:00", "1714523415", "1714523415000", "2024年5月1日8点30分15秒", "2024/05/01 08:30:15"},
		"2026-03-13 18:45:00": {"下周五晚上六点三刻", "next Friday at 6:45 pm"},
	}
	for want, texts := range tests {
		for _, text := range texts {
			got, ok := date.Parse(text, now)
			if !ok || got.Format("2006-01-02 15:04:05") != want {
				t.Errorf("%q gives %s (%t), want %s", text, got, ok, want)
			}
		}
	}
}

func TestNotUnderstood(t *testing.T) {
	for _, text := range []string{
		"", "soon", "whenever you like", "明天或后天", "2024-13-01", "2023-02-29", "2月30日", "25:00", "明天25点", "5", "12345", "Friday the 13th of never", "下周八",
		"tomorrow morning", "2024年5月", "next", "0000-00-00", "1e9", "99999999999999999999", string(make([]byte, 1000)), "tomorrow tomorrow", "3pm 4pm",
		// The day, or the half of it, is unclear.
		"夜里2点", "晚上1点", "明天晚上1:30", "tonight at 1 am", "tonight 12:30am", "早上12点", "早上18点", "上午15点", "凌晨15:30", "13am", "中午6点", "24:01", "下午24点",
		"9999年后", "tomorrow?", "明天？", "明天吗", "2026-03-06?", "next Friday ?",
	} {
		if got, ok := date.Parse(text, now); ok {
			t.Errorf("%q gives %s", text, got)
		}
	}
}

func TestDay(t *testing.T) {
	for _, text := range []string{"tomorrow morning", "明天晚上", "明早", "明天下午3点", "2026-03-06", "tomorrow"} {
		if got, ok := date.Day(text, now); !ok || got.Format("2006-01-02 15:04:05") != "2026-03-06 00:00:00" {
			t.Errorf("%q gives %s (%t)", text, got, ok)
		}
	}
	if got, ok := date.Day("今晚12点", now); !ok || got.Format("2006-01-02") != "2026-03-05" {
		t.Errorf("12 tonight gives %s (%t)", got, ok)
	}
	for _, text := range []string{"soon", "24:00", "3pm", "noon", "下午三点", "tomorrow?"} {
		if got, ok := date.Day(text, now); ok {
			t.Errorf("%q gives %s", text, got)
		}
	}
}

// A month that is too short gives its last day; a zone is kept over a change of
// its offset.
func TestEdges(t *testing.T) {
	end := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{"下个月": "2026-02-28", "in 3 months": "2026-04-30", "next year": "2027-01-31", "月底": "2026-01-31"} {
		if got, ok := date.Parse(text, end); !ok || got.Format("2006-01-02") != want {
			t.Errorf("%q gives %s (%t), want %s", text, got, ok, want)
		}
	}
	sunday := time.Date(2026, 3, 8, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{"周日": "2026-03-08", "下周一": "2026-03-09", "next Monday": "2026-03-09", "周一": "2026-03-09", "上周日": "2026-03-01"} {
		if got, ok := date.Parse(text, sunday); !ok || got.Format("2006-01-02") != want {
			t.Errorf("on a Sunday %q gives %s (%t), want %s", text, got, ok, want)
		}
	}
}

func FuzzDate(f *testing.F) {
	for _, seed := range []string{"明天下午3点", "next Friday at 6:45 pm", "2024年5月1日", "in 3 days", "1714521600", "二〇二四年", "9999年后", "上上周日", "1 hour ago", "2024-05-01T00:00:00Z", "2024-02-31"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := date.Parse(text, now)
		if !ok && !got.IsZero() {
			t.Errorf("%q gives %s and is not understood", text, got)
		}
		if ok && (got.Location() != now.Location() || got.Year() < -10000 || got.Year() > 20000) {
			t.Errorf("%q gives %s", text, got)
		}
		if again, ok2 := date.Parse(text, now); ok != ok2 || !again.Equal(got) {
			t.Errorf("%q gives %s, then %s", text, got, again)
		}
	})
}

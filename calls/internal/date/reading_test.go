package date

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// spell returns periods as 2024-05-07 for a day, 2024-05-07T17..2024-05-08T05 for hours, 2024-05-01..2024-05-04
// for several days, the last of which is excluded, and with .. at one side for an open period.
func spell(periods []Period) string {
	var all []string
	for _, p := range periods {
		layout := "2006-01-02"
		if !p.Start.Equal(midnight(p.Start)) || !p.End.Equal(midnight(p.End)) {
			layout = "2006-01-02T15"
		}
		start, end := p.Start.Format(layout), ".."+p.End.Format(layout)
		switch {
		case p.Precision == Open && p.Start.Before(wednesday.AddDate(-90, 0, 0)):
			start = ""
		case p.Precision == Open:
			end = ".."
		case p.isDay():
			end = ""
		}
		all = append(all, start+end)
	}
	return strings.Join(all, ", ")
}

// The present is Wednesday, 15 May 2024.
func TestReadings(t *testing.T) {
	for text, want := range map[string]string{
		// The same day of another year, month or week.
		"去年的今天": "2023-05-15", "去年今天做了什么": "2023-05-15", "前年今日": "2022-05-15", "上个月的今天": "2024-04-15", "上周的今天": "2024-05-08", "去年的昨天": "2023-05-14",
		"一年前的今天": "2023-05-15", "三个月前的今天": "2024-02-15", "a year ago today": "2023-05-15", "this day last year": "2023-05-15", "today last year": "2023-05-15",
		"what did we do two months ago today": "2024-03-15", "on this day two years ago": "2022-05-15",
		// As many weeks and months back as are said.
		"上上周": "2024-04-29..2024-05-06", "上上上周": "2024-04-22..2024-04-29", "大上周": "2024-04-29..2024-05-06", "上上个月": "2024-03-01..2024-04-01", "上上个星期": "2024-04-29..2024-05-06",
		"上上周末": "2024-05-04..2024-05-06", "早上上上周的会": "2024-04-29..2024-05-06", "晚上上周的会": "2024-05-06..2024-05-13",
		"the week before last": "2024-04-29..2024-05-06", "the month before last": "2024-03-01..2024-04-01", "the weekend before last": "2024-05-04..2024-05-06", "the year before last": "2022-01-01..2023-01-01",
		// A day of another year without its month.
		"去年7号": "2023-01-01..2024-01-01", "2022年的7号": "2022-01-01..2023-01-01", "去年7号楼": "2023-01-01..2024-01-01",
		// Several.
		"5月7号和8号": "2024-05-07, 2024-05-08", "5月7、8号": "2024-05-07, 2024-05-08", "上个月7号、8号和9号": "2024-04-07, 2024-04-08, 2024-04-09", "去年5月7日和8日": "2023-05-07, 2023-05-08",
		"2022年国庆和中秋": "2022-10-01..2022-10-08, 2022-09-10", "去年5月和6月": "2023-05-01..2023-06-01, 2023-06-01..2023-07-01", "去年5月7号和6月8号": "2023-05-07, 2023-06-08",
		"上周一和周三": "2024-05-06, 2024-05-08", "上周一、三": "2024-05-06, 2024-05-08", "May 7 and 8": "2024-05-07, 2024-05-08", "7, 8 and 9 May 2022": "2022-05-07, 2022-05-08, 2022-05-09",
		"on May 6 and 8 people came": "2024-05-06", "上周一和三个朋友": "2024-05-06",
		"on Monday and Wednesday": "2024-05-13, 2024-05-08", "in May or June": "2024-05-01..2024-06-01, 2023-06-01..2023-07-01",
		// In a year that is named otherwise.
		"两年前的国庆": "2022-10-01..2022-10-08", "三年前的夏天": "2021-06-01..2021-09-01", "两年前的5月7号": "2022-05-07", "几年前的国庆": "2019-01-01..2023-01-01",
		"on May 7 last year": "2023-05-07", "last year in May": "2023-05-01..2023-06-01", "May last year": "2023-05-01..2023-06-01", "the summer of last year": "2023-06-01..2023-09-01", "summer two years ago": "2022-06-01..2022-09-01",
		"two years ago on 7 May": "2022-05-07", "in the 2023-05-04T15:20:00Z log": "2023-05-04",
		// Before and after a time, by days.
		"国庆前一天": "2023-09-30", "国庆的前一天": "2023-09-30", "国庆节后一天": "2023-10-08", "国庆第二天": "2023-10-02", "国庆最后一天": "2023-10-07", "去年除夕的第二天": "2023-01-22", "5月7号第二天": "2024-05-08",
		"5月7号前三天": "2024-05-04..2024-05-07", "5月7号三天前": "2024-05-04", "5月7号两天后": "2024-05-09", "中秋前一周": "2023-09-22..2023-09-29", "国庆前三天": "2023-09-28..2023-10-04", "圣诞前夕": "2023-12-24",
		"the day before Christmas": "2023-12-24", "the day after May 7": "2024-05-08", "two days after May 7": "2024-05-09", "the week before Christmas": "2023-12-18..2023-12-25", "the night before Christmas": "2023-12-24T17..2023-12-25T06", "国庆那周": "2023-10-01..2023-10-08", "5月7号那天晚上": "2024-05-07T17..2024-05-08T05", "5月7号那周": "2024-05-06..2024-05-13",
		"国庆前后": "2023-09-28..2023-10-11",
		// Open times.
		"国庆后": "2023-10-08..", "国庆之后": "2023-10-08..", "5月7号之前": "..2024-05-07", "5月7号以后": "2024-05-08..", "去年以前": "..2023-01-01", "上周三之前": "..2024-05-08", "5月7号前我去了哪": "..2024-05-07",
		"从5月7号起": "2024-05-07..", "5月7号以来": "2024-05-07..", "before May 7": "..2024-05-07", "after Christmas": "2023-12-26..", "since May": "2024-05-01..", "until 7 May": "..2024-05-08", "before 2020": "..2020-01-01",
		"since last Friday": "2024-05-10..", "after Monday": "2024-05-14..", "before yesterday's meeting": "2024-05-14", "昨天前台说了什么": "2024-05-14", "去年前女友": "2023-01-01..2024-01-01", "昨天后面": "2024-05-14",
		"after 2000 steps": "", "2019年前": "..2019-01-01", "国庆之前的晚上": "..2023-10-01",
		// From one to another.
		"国庆到元旦": "2023-10-01..2024-01-02", "上周三到昨天": "2024-05-08..2024-05-15", "从5月7号到今天": "2024-05-07..2024-05-16", "from Christmas to New Year's Day": "2023-12-25..2024-01-02", "between last Friday and yesterday": "2024-05-10..2024-05-15",
		// The Chinese calendar.
		"五月初七": "2023-06-24", "去年五月初七": "2023-06-24", "农历五月十五": "2023-07-02", "2024年农历四月初八": "2024-05-15", "正月十五": "2024-02-24", "腊月二十三": "2024-02-02", "大年初二": "2024-02-11", "闰二月初一": "2023-03-22",
		"1990年五月初七": "", "五月初七八点": "2023-06-24", "闰五月初一": "2009-06-23", "五月初一家人": "2024-05-01..2024-05-11", "农历五月": "2023-06-18..2023-07-18", "去年廿三": "2023-01-01..2024-01-01",
		"24年除夕": "2024-02-09", "23年春节": "2023-01-22..2023-01-29", "98年5月": "1998-05-01..1998-06-01", "24年5月7号": "2024-05-07", "干了24年": "",
		"清明": "2024-04-04", "去年清明节": "2023-04-05", "七夕": "2023-08-22", "重阳节": "2023-10-23", "1999年清明": "1999-01-01..2000-01-01",
		// The parts of a day.
		"昨天晚上": "2024-05-14T17..2024-05-15T05", "昨晚": "2024-05-14T17..2024-05-15T05", "昨天下午": "2024-05-14T12..2024-05-14T18", "今早": "2024-05-15T04..2024-05-15T12", "今天早上": "2024-05-15T04..2024-05-15T12", "前晚": "2024-05-13T17..2024-05-14T05",
		"5月7号晚上": "2024-05-07T17..2024-05-08T05", "周五下午": "2024-05-10T12..2024-05-10T18", "国庆前一天晚上": "2023-09-30T17..2023-10-01T05", "去年今天晚上": "2023-05-15T17..2023-05-16T05", "昨天晚饭": "2024-05-14",
		"yesterday evening": "2024-05-14T17..2024-05-15T05", "last night": "2024-05-14T17..2024-05-15T06", "this afternoon": "2024-05-15T12..2024-05-15T18", "Friday night": "2024-05-10T17..2024-05-11T06", "the morning of May 7": "2024-05-07T04..2024-05-07T12",
		// The last weekday before today.
		"周三": "2024-05-08", "周二做了什么": "2024-05-14", "星期天": "2024-05-12", "礼拜五": "2024-05-10", "on Wednesday": "2024-05-08", "on Tuesday we met": "2024-05-14", "周一到周五": "2024-05-13..2024-05-18", "周三到周五": "2024-05-08..2024-05-11",
		"一周三次": "", "每周三": "", "周三要做什么": "", "一个星期三次": "", "next Friday evening": "", "every Friday night": "", "on Wednesdays": "", "on Wednesday evenings": "", "这周末去哪": "",
		// Weeks, weekends and weekdays of a month, months of a year, halves.
		"上个月最后一周做了什么": "2024-04-24..2024-05-01", "上个月第一周": "2024-04-01..2024-04-08", "5月的第二个周末": "2024-05-11..2024-05-13", "去年9月第一个周六": "2023-09-02", "9月最后一个星期天": "2023-09-24",
		"上个月第一个星期一共花了多少": "2024-04-01..2024-05-01", "上个月第六周": "2024-04-01..2024-05-01", "去年最后一个月": "2023-12-01..2024-01-01", "2023年头一个月": "2023-01-01..2023-02-01", "去年第一个周三": "2023-01-01..2024-01-01",
		"the last week of September": "2023-09-24..2023-10-01", "the first week of last month": "2024-04-01..2024-04-08", "the last month of 2023": "2023-12-01..2024-01-01", "the second weekend in March": "2024-03-09..2024-03-11",
		"the last Friday of April": "2024-04-26", "last Friday of this month": "2024-05-31", "the first half of 2023": "2023-01-01..2023-07-01", "the second half of April": "2024-04-16..2024-05-01", "the last week of school": "", "last Friday in the park": "2024-05-10", "on Friday May 10": "2024-05-10",
		"上半年": "2024-01-01..2024-07-01", "下半年做了什么": "2023-07-01..2024-01-01", "去年上半年": "2023-01-01..2023-07-01", "每半年": "",
		"周末去了哪": "2024-05-11..2024-05-13", "on the weekend": "2024-05-11..2024-05-13", "周末要做什么": "", "每周末": "", "每个周末": "",
		// Again and again.
		"每年国庆": "", "每年5月7号": "", "每个月7号": "", "every Christmas": "", "each summer": "", "every May": "",
		// The future is not read, nor as something else.
		"下周三": "", "明年5月7号": "", "下个月7号": "", "明年国庆": "", "下下周": "", "明年": "",
		// Seasons and quarters.
		"春天": "2024-03-01..2024-06-01", "夏天去了哪": "2023-06-01..2023-09-01", "冬季": "2023-12-01..2024-03-01", "in spring": "2024-03-01..2024-06-01", "in the summer": "2023-06-01..2023-09-01", "in the spring of his life": "", "每个夏天": "",
		"第一季度": "2024-01-01..2024-04-01", "2024Q1": "2024-01-01..2024-04-01", "去年第三季度": "2023-07-01..2023-10-01", "Q1 2025": "2025-01-01..2025-04-01", "2023年Q4": "2023-10-01..2024-01-01", "三季度": "2023-07-01..2023-10-01", "上季度": "2024-01-01..2024-04-01", "这个季度": "2024-04-01..2024-07-01",
		"first quarter": "2024-01-01..2024-04-01", "the third quarter of last year": "2023-07-01..2023-10-01", "last quarter": "2024-01-01..2024-04-01", "in Q3": "2023-07-01..2023-10-01", "Q1: what is it": "", "AQ1": "",
		// Month and day.
		"5/7做了什么": "2024-05-07", "我5/13去了": "2024-05-13", "what happened on 5/7": "", "what happened on 5/13": "2024-05-13", "on 25/12": "2023-12-25", "13/5/2023": "2023-05-13", "5/7/2023": "", "open 24/7": "", "on 24/7": "",
		"比例5/7": "", "2/3的人": "", "13/14": "", "5月7做了什么": "2024-05-07", "5月3个人": "2024-05-01..2024-06-01", "5月7号到现在": "2024-05-07..", "a 5/16 inch bolt": "",
	} {
		got, rest := FindPeriods(text, wednesday)
		if spell(got) != want {
			t.Errorf("%q: %q, want %q", text, spell(got), want)
		}
		if len(got) > 0 && len(rest) != len(text) {
			t.Errorf("%q: the rest is %q", text, rest)
		}
	}
}

// The words that were read as a time are removed from the text.
func TestRest(t *testing.T) {
	for text, want := range map[string]string{
		"国庆前一天晚上吃了什么": "吃了什么", "去年的今天我在哪": "我在哪", "5月7号和8号去了哪": "去了哪", "what did I eat the day before Christmas": "what did I eat", "a year ago today": "", "我的昨天下午": "我的",
		"下周三去哪": "下周三去哪", "1990年五月初七去哪": "1990年五月初七去哪", "Q3的目标": "的目标",
	} {
		if _, rest := FindPeriods(text, wednesday); strings.Join(strings.Fields(rest), " ") != want {
			t.Errorf("%q: %q is left, want %q", text, rest, want)
		}
	}
}

// The days of the Chinese calendar follow each other without a gap, and the holidays are on days that
// are known.
func TestLunarCalendar(t *testing.T) {
	next := time.Date(1999, 2, 16, 0, 0, 0, 0, time.UTC)
	for year := firstLunarYear; year < firstLunarYear+len(lunarYears); year++ {
		for month := 1; month <= 12; month++ {
			for _, isLeap := range []bool{false, true} {
				p, ok := lunarDay{month: month, isLeap: isLeap}.in(year, time.UTC)
				if ok && !p.Start.Equal(next) {
					t.Fatalf("month %d of %d begins on %v, not %v", month, year, p.Start, next)
				}
				if ok {
					next = p.End
				}
			}
		}
	}
	if want := time.Date(2051, 2, 11, 0, 0, 0, 0, time.UTC); !next.Equal(want) {
		t.Errorf("the calendar ends on %v, want %v", next, want)
	}
	for text, want := range map[string]string{
		"2000年春节": "2000-02-05", "2012年端午": "2012-06-23", "2020年中秋": "2020-10-01", "2033年中秋": "2033-09-08", "2050年中秋": "2050-09-30", "2024年端午": "2024-06-10", "2026年清明": "2026-04-05", "2048年清明": "2048-04-04", "2025年七夕": "2025-08-29",
		"2050年春节": "2050-01-23", "2000年除夕": "2000-02-04", "2023年闰二月初二": "2023-03-23", "2024年腊月三十": "", "2023年腊月三十": "2024-02-09",
	} {
		got, _ := FindPeriods(text, time.Date(2051, 1, 1, 0, 0, 0, 0, time.UTC))
		if len(got) == 0 && want != "" || len(got) > 0 && got[0].Start.Format(time.DateOnly) != want {
			t.Errorf("%s: %v, want %s", text, got, want)
		}
	}
}

// pieces are combined at random by TestAnyReading.
var pieces = strings.Fields(`去年 今年 前年 明年 24年 2022年 上 上上 大上 这 下 个 周 周三 月 5月 13月 闰 正月 初七 农历 7号 31号 8日 的 今天 昨天 前天 国庆 除夕 春节 清明 七夕 五一 前 后 之前 以后 之后 前后 一天 三天
几天 第二天 最后一天 晚上 下午 春天 冬 第一季度 Q1 季度 5/7 29/2 和 、 到 至 before after since until the day week month year last this on in of and to between from yesterday today Friday May 7 31 2023 99 Christmas spring
quarter first ago 第一 最后一 周末 每年 weekend half every a two few evening night 's - , . ! 9999 0 一 十 半 末 号 年`)

// No text makes a reading panic or gives a period that ends before it begins, on any day, including days on which
// clocks change.
func TestAnyReading(t *testing.T) {
	zone, err := time.LoadLocation("America/Sao_Paulo")
	if err != nil {
		zone = time.UTC
	}
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 9).Draw(t, "parts")
		text := strings.Join(parts, rapid.SampledFrom([]string{"", " "}).Draw(t, "space"))
		now := time.Unix(rapid.Int64Range(-2_000_000_000, 5_000_000_000).Draw(t, "now"), 0).In(zone)
		periods, rest := FindPeriods(text, now)
		if len(rest) != len(text) || !utf8.ValidString(rest) {
			t.Fatalf("the rest of %q is %q", text, rest)
		}
		for _, p := range periods {
			if !p.Start.Before(p.End) {
				t.Fatalf("%q: a period from %v until %v", text, p.Start, p.End)
			}
		}
	})
}

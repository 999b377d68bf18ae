package date

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// wednesday is the present of these tests.
var wednesday = time.Date(2024, 5, 15, 18, 30, 0, 0, time.UTC)

func TestPeriods(t *testing.T) {
	for text, want := range map[string]string{
		"on 7 May 2023":                 "2023-05-07 +1d",
		"between May 6 and May 8":       "2024-05-06 +3d",
		"from 2021 to 2023":             "2021-01-01 +1095d",
		"between 2021 and 2023":         "2021-01-01 +1095d",
		"in early 2022":                 "2022-01-01 +59d",
		"mid-2022":                      "2022-05-01 +123d",
		"late 2022":                     "2022-11-01 +61d",
		"at the end of 2022":            "2022-11-01 +61d",
		"the beginning of 2022":         "2022-01-01 +59d",
		"from 6 to 8 May 2023":          "2023-05-06 +3d",
		"April 28 - May 2nd, 2023":      "2023-04-28 +5d",
		"from 30 December to 2 January": "2023-12-30 +4d",
		"5月6日到5月8日之间":                   "2024-05-06 +3d",
		"去年四月二十八到五月二号":                  "2023-04-28 +5d",
		"5月6日至8日":                       "2024-05-06 +3d",
		"the 3rd of June, 2023":         "2023-06-03 +1d",
		"on May 7th":                    "2024-05-07 +1d",
		"on July 4":                     "2023-07-04 +1d", // the last one that was not in the future
		"on 2023-05-07":                 "2023-05-07 +1d",
		"in 2023/05":                    "2023-05-01 +31d",
		"in March":                      "2024-03-01 +31d",
		"in December 2022":              "2022-12-01 +31d",
		"during summer 2022":            "2022-06-01 +92d",
		"last summer":                   "2023-06-01 +92d",
		"last winter":                   "2023-12-01 +91d",
		"this spring":                   "2024-03-01 +92d",
		"last Friday":                   "2024-05-10 +1d",
		"last Wednesday":                "2024-05-08 +1d",
		"last weekend":                  "2024-05-11 +2d",
		"two weeks ago":                 "2024-04-28 +7d",
		"a few days ago":                "2024-05-09 +6d",
		"three months ago":              "2024-01-31 +30d",
		"2 years ago":                   "2022-01-01 +365d",
		"the day before yesterday":      "2024-05-13 +1d",
		"yesterday":                     "2024-05-14 +1d",
		"today":                         "2024-05-15 +1d",
		"last week":                     "2024-05-06 +7d",
		"this month":                    "2024-05-01 +31d",
		"last year":                     "2023-01-01 +365d",
		"in 2019":                       "2019-01-01 +365d",
		"2023年5月7日":                     "2023-05-07 +1d",
		"五月七号":                          "2024-05-07 +1d",
		"十二月二十五日":                       "2023-12-25 +1d",
		"去年5月":                          "2023-05-01 +31d",
		"去年夏天":                          "2023-06-01 +92d",
		"2022年冬天":                       "2022-12-01 +90d",
		"前年":                            "2022-01-01 +365d",
		"2021年":                         "2021-01-01 +365d",
		"上周":                            "2024-05-06 +7d",
		"上上周三":                          "2024-05-01 +1d",
		"上个星期天":                         "2024-05-12 +1d",
		"上周末":                           "2024-05-11 +2d",
		"上个月":                           "2024-04-01 +30d",
		"三天前":                           "2024-05-11 +3d",
		"两周前":                           "2024-04-28 +7d",
		"半年前":                           "2023-09-15 +122d",
		"半个月前":                          "2024-04-25 +10d",
		"半天前":                           "2024-05-14 +2d",
		"二十天之前":                         "2024-04-24 +3d",
		"几个月前":                          "2023-11-30 +121d",
		"昨晚":                            "2024-05-14 +1d",
		"前天":                            "2024-05-13 +1d",
		"今天":                            "2024-05-15 +1d",
		"on May 6 and 8":                "2024-05-06 +1d, 2024-05-08 +1d",
		"between 6 and 8 May":           "2024-05-06 +3d",
		"yesterday and on 7 May":        "2024-05-07 +1d, 2024-05-14 +1d",
		"1478年前":                        "1378-01-01 +36524d",
		"in May 2023, not June 2023":    "2023-05-01 +31d, 2023-06-01 +30d",
		"31 February 2023":              "2023-02-01 +28d", // no such day, but a month
		"5月初":                           "2024-05-01 +10d", "五月中旬": "2024-05-11 +10d", "去年五月底": "2023-05-21 +11d",
		"二〇二三年五月九日": "2023-05-09 +1d", "二○二三年五月": "2023-05-01 +31d", "一九九八年": "1998-01-01 +365d",
		"2023年5月6日到2023年5月8日": "2023-05-06 +3d", "2023年12月30日至1月2日": "2023-12-30 +4d", "5月6日到2023年5月8日": "2023-05-06 +3d", "12月30日到2024年1月2日": "2023-12-30 +4d",
		"5月到7月": "2024-05-01 +92d", "3-5月": "2024-03-01 +92d", "五月初到六月底": "2024-05-01 +61d", "2022年到2023年": "2022-01-01 +730d", "5月9日到6日": "2024-05-09 +1d",
		"去年年底": "2023-11-01 +61d", "2023年初": "2023-01-01 +59d", "今年上半年": "2024-01-01 +182d", "大前年": "2021-01-01 +365d",
		"上个月9号": "2024-04-09 +1d", "上上个月底": "2024-03-21 +11d", "这个月初": "2024-05-01 +10d",
		"上周一到周三": "2024-05-06 +3d", "这周一": "2024-05-13 +1d", "本周一至本周二": "2024-05-13 +2d", "大前天": "2024-05-12 +1d",
		"最近三天": "2024-05-13 +3d", "過去兩週": "2024-05-02 +14d", "近一个月": "2024-04-16 +30d", "最近半年": "2023-09-15 +244d", "过去三年": "2021-05-16 +1096d", "前几天": "2024-05-09 +6d",
		"the last 3 days": "2024-05-13 +3d", "over the past few weeks": "2024-04-11 +35d",
		"五月六號": "2024-05-06 +1d", "上個禮拜三": "2024-05-08 +1d", "三個月前": "2024-01-31 +30d", "2023 年 5 月 9 日": "2023-05-09 +1d", "2023.5.9": "2023-05-09 +1d",
		"2023-05-06 到 2023-05-08": "2023-05-06 +3d", "2023-05-06 to 2023-05-08": "2023-05-06 +3d",
		// Holidays: the last that has begun.
		"国庆节做了什么": "2023-10-01 +7d", "國慶": "2023-10-01 +7d", "去年五一": "2023-05-01 +5d", "五一": "2024-05-01 +5d", "2025年元旦": "2025-01-01 +1d", "圣诞节": "2023-12-25 +1d",
		"春节": "2024-02-10 +7d", "去年春节": "2023-01-22 +7d", "除夕夜": "2024-02-09 +1d", "2025年中秋": "2025-10-06 +1d", "端午": "2023-06-22 +1d", "元宵节": "2024-02-24 +1d",
		"1990年春节": "1990-01-01 +365d", "周五一起吃饭": "2024-05-10 +1d", "五一家人": "", "五一劳动节": "2024-05-01 +5d", "国庆期间": "2023-10-01 +7d", "二十六一": "",
		"Christmas": "2023-12-25 +1d", "last Christmas": "2023-12-25 +1d", "on New Year’s Eve 2022": "2022-12-31 +1d", "New Years Day": "2024-01-01 +1d", "Halloween last year": "2023-10-31 +1d",
		"Valentine's Day": "2024-02-14 +1d", "the fourth of July": "2023-07-04 +1d",
		// A day without its month.
		"7号做了什么": "2024-05-07 +1d", "我20号去": "2024-04-20 +1d", "三十一号": "", "十五号": "2024-05-15 +1d", "on the 7th": "2024-05-07 +1d", "on the 20th we met": "2024-04-20 +1d",
		"7号楼": "", "住3号线旁": "", "第7号": "", "A7号": "", "一百二十号": "", "on the 5th floor": "",
		// The ends of months and years.
		"2025年最后一天": "2025-12-31 +1d", "去年第一天": "2023-01-01 +1d", "上个月最后一天": "2024-04-30 +1d", "5月的最后一天": "2024-05-31 +1d", "这个月第一天": "2024-05-01 +1d",
		"last day of 2025": "2025-12-31 +1d", "the first day of the month": "2024-05-01 +1d", "the last day of last month": "2024-04-30 +1d", "the last day of February 2023": "2023-02-28 +1d",
		"月初": "2024-05-01 +10d", "月底": "2024-04-21 +10d", "年底": "2023-11-01 +61d", "年初": "2024-01-01 +60d", "每月初": "", "上个月底": "2024-04-21 +10d",
		"at the end of last month": "2024-04-21 +10d", "the beginning of the year": "2024-01-01 +60d", "by the end of the month": "2024-04-21 +10d", "the middle of last year": "2023-05-01 +123d",
		"今年春天干了啥": "2024-03-01 +92d", "这个春天": "2024-03-01 +92d", "three days ago": "2024-05-11 +3d",
		"提前两天": "", "五月一家人": "2024-05-01 +31d", "版本1.2.3": "",
		"晚上月亮": "", "早上周围": "", "日本月票": "", "no time at all": "", "may I march 99": "", "13月": "",
		"2024-13-01": "", "0 May": "",
	} {
		found, rest := FindPeriods(text, wednesday)
		var got []string
		for _, p := range found {
			got = append(got, fmt.Sprintf("%s +%dd", p.Start.Format(time.DateOnly), int(p.End.Sub(p.Start).Hours()/24+0.5)))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		if len(rest) != len(text) {
			t.Errorf("%q: the rest %q has another length", text, rest)
		}
	}
}

func TestMentionsTime(t *testing.T) {
	for text, want := range map[string]bool{
		"I went there yesterday.": true, "in June": true, "two days": false, "2 days": true, "for two days": true, "this summer": true, "In 2019 we met": true,
		"last Friday": true, "in May": true, "May 5": true, "may I": false, "room 5": false, "我上周去了": true, "3月5号": true, "周三见": true, "三年了": true, "五月搬家": true,
		"一起吃饭": false, "": false, "no": false, "Café yesterday": true, "我在May家": false,
	} {
		if got := MentionsTime(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func FuzzPeriods(f *testing.F) {
	for _, seed := range []string{"on 7 May 2023", "上上周三", "几个月前", "999 years ago", "0000-00-00", "十十月十十日", "99年99月99日", "半", "last", "二〇二六年五月初到六月底", "5月9日到6日", "过去9999年", "2026-05-06 to 2026-05-08"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		found, rest := FindPeriods(text, wednesday)
		if len(rest) != len(text) {
			t.Fatalf("the rest of %q is %q", text, rest)
		}
		for _, p := range found {
			if !p.Start.Before(p.End) {
				t.Fatalf("%q: a period from %v until %v", text, p.Start, p.End)
			}
		}
		MentionsTime(text)
	})
}

package rank

import (
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const day = 24 * time.Hour

// period is a time that a query names. People speak of what happened afterwards: a
// memory counts in full inside [start, end), less before and after.
type period struct {
	start, end time.Time
	// before and after are how far a memory may be outside; falling says that it
	// counts less with the distance, else half.
	before, after time.Duration
	falling       bool
}

// match is how well a time fits, 0 to 1.
func (p period) match(t time.Time) float64 {
	switch {
	case t.Before(p.start):
		if p.start.Sub(t) <= p.before {
			return 0.5
		}
	case t.Before(p.end):
		return 1
	case t.Sub(p.end) < p.after:
		if !p.falling {
			return 0.5
		}
		return 1 - float64(t.Sub(p.end))/float64(p.after)
	}
	return 0
}

func dayPeriod(start time.Time) period {
	return period{start: start, end: start.AddDate(0, 0, 1), before: day, after: 10 * day, falling: true}
}

func monthPeriod(year int, month time.Month, in *time.Location) period {
	start := time.Date(year, month, 1, 0, 0, 0, 0, in)
	return period{start: start, end: start.AddDate(0, 1, 0), after: 12 * day}
}

func rangePeriod(start time.Time, days int) period {
	return period{start: start, end: start.AddDate(0, 0, days), after: 3 * day}
}

const monthNames = `(january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)`

var (
	isoDate      = regexp.MustCompile(`\b(\d{4})[-/](\d{1,2})(?:[-/](\d{1,2}))?\b`)
	dayMonth     = regexp.MustCompile(`(?i)\b(\d{1,2})(?:st|nd|rd|th)?(?: of)? ` + monthNames + `\b\.?,?(?: (\d{4})\b)?`)
	monthDay     = regexp.MustCompile(`(?i)\b` + monthNames + `\b\.? (\d{1,2})(?:st|nd|rd|th)?\b,?(?: (\d{4})\b)?`)
	monthYear    = regexp.MustCompile(`(?i)\b` + monthNames + `\b\.?,? (?:of )?(\d{4})\b`)
	inMonth      = regexp.MustCompile(`(?i)\b(?:in|during|since|of|last|early|late|mid) ` + monthNames + `\b`)
	chineseDate  = regexp.MustCompile(`(?:(\d{4})年)?(\d{1,2})月(?:(\d{1,2})[日号])?`)
	englishWhen  = regexp.MustCompile(`(?i)\b(when|how long|(what|which) (date|day|month|year|time))\b`)
	chineseWhen  = regexp.MustCompile(`什么时候|何时|几号|哪天|哪一天|哪年|哪一年|几月|多久|多长时间|什么日期|几点`)
	newest       = regexp.MustCompile(`(?i)\b(latest|newest|most recent|currently|current|nowadays|right now|these days|now)\b|最近|最新|现在|目前|如今|当前`)
	relativeDays = []struct {
		words *regexp.Regexp
		// period gives the time that the words mean, seen from the midnight of today.
		period func(today time.Time) period
	}{
		{regexp.MustCompile(`(?i)\bthe day before yesterday\b|前天`), func(t time.Time) period { return dayPeriod(t.AddDate(0, 0, -2)) }},
		{regexp.MustCompile(`(?i)\byesterday\b|昨[天晚日]`), func(t time.Time) period { return rangePeriod(t.AddDate(0, 0, -1), 1) }},
		{regexp.MustCompile(`(?i)\b(today|tonight|this morning)\b|今[天晚日早]`), func(t time.Time) period { return rangePeriod(t, 1) }},
		{regexp.MustCompile(`(?i)\blast week\b|上(个)?(周|星期|礼拜)`), func(t time.Time) period { return rangePeriod(monday(t).AddDate(0, 0, -7), 7) }},
		{regexp.MustCompile(`(?i)\bthis week\b|[本这](个)?(周|星期)`), func(t time.Time) period { return rangePeriod(monday(t), 7) }},
		{regexp.MustCompile(`(?i)\blast month\b|上个?月`), func(t time.Time) period {
			return monthPeriod(t.Year(), t.Month()-1, t.Location())
		}},
		{regexp.MustCompile(`(?i)\bthis month\b|[本这]个?月`), func(t time.Time) period { return monthPeriod(t.Year(), t.Month(), t.Location()) }},
		{regexp.MustCompile(`(?i)\blast year\b|去年`), func(t time.Time) period { return yearPeriod(t.Year()-1, t.Location()) }},
	}
)

func yearPeriod(year int, in *time.Location) period {
	start := time.Date(year, 1, 1, 0, 0, 0, 0, in)
	return period{start: start, end: start.AddDate(1, 0, 0)}
}

func monday(t time.Time) time.Time { return t.AddDate(0, 0, -(int(t.Weekday())+6)%7) }

// periods finds the times that a text names, in English and Chinese, seen from
// now. A date without a year is that of the last year in which it was not in the
// future. rest is the text without them.
func periods(text string, now time.Time) (found []period, rest string) {
	if !mayNameTime(text) {
		return nil, text
	}
	in := now.Location()
	taken := func(re *regexp.Regexp, use func(groups []string) (period, bool)) {
		for _, m := range re.FindAllStringSubmatchIndex(text, -1) {
			groups := make([]string, len(m)/2)
			for i := range groups {
				if m[2*i] >= 0 {
					groups[i] = text[m[2*i]:m[2*i+1]]
				}
			}
			if p, ok := use(groups); ok {
				found = append(found, p)
				text = text[:m[0]] + strings.Repeat(" ", m[1]-m[0]) + text[m[1]:]
			}
		}
	}
	taken(isoDate, func(g []string) (period, bool) { return date(g[1], g[2], g[3], now) })
	taken(dayMonth, func(g []string) (period, bool) { return date(g[3], g[2], g[1], now) })
	taken(monthDay, func(g []string) (period, bool) { return date(g[3], g[1], g[2], now) })
	taken(monthYear, func(g []string) (period, bool) { return date(g[2], g[1], "", now) })
	taken(inMonth, func(g []string) (period, bool) { return date("", g[1], "", now) })
	taken(chineseDate, func(g []string) (period, bool) { return date(g[1], g[2], g[3], now) })
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, in)
	for _, r := range relativeDays {
		taken(r.words, func([]string) (period, bool) { return r.period(today), true })
	}
	return found, text
}

// date makes a period of what was written; "" is not said.
func date(year, month, dayOfMonth string, now time.Time) (period, bool) {
	m := monthOf(month)
	if m == 0 {
		return period{}, false
	}
	y, hasYear := now.Year(), year != ""
	if hasYear {
		y, _ = strconv.Atoi(year) // four digits
	} else if m > now.Month() {
		y--
	}
	if dayOfMonth == "" {
		return monthPeriod(y, m, now.Location()), true
	}
	d, _ := strconv.Atoi(dayOfMonth) // two digits
	start := time.Date(y, m, d, 0, 0, 0, 0, now.Location())
	if start.Month() != m || d == 0 {
		return period{}, false
	}
	if !hasYear && start.After(now) {
		start = start.AddDate(-1, 0, 0)
	}
	return dayPeriod(start), true
}

func monthOf(s string) time.Month {
	if n, err := strconv.Atoi(s); err == nil {
		if n < 1 || n > 12 {
			return 0
		}
		return time.Month(n)
	}
	s = strings.ToLower(s)
	for m := time.January; m <= time.December; m++ {
		if len(s) >= 3 && strings.HasPrefix(strings.ToLower(m.String()), s[:3]) {
			return m
		}
	}
	return 0
}

// timeWords say when something was.
var timeWords = set(`yesterday today tonight tomorrow ago recently last next past weekend since
monday tuesday wednesday thursday friday saturday sunday
january february march april june july august september october november december jan feb mar apr jun jul aug sept oct nov dec`)

var (
	units      = set(`day days week weeks month months year years`)
	thisUnits  = set(`week month year morning weekend summer winter spring fall autumn`)
	counts     = set(`a two three four five six seven eight nine ten`)
	chineseDay = []string{"昨天", "前天", "今天", "明天", "后天", "刚才", "最近", "上周", "上月", "上个月", "下周", "下月", "下个月", "本周", "这周", "去年", "前年", "今年", "明年"}
)

// speaksOfTime says whether a text says when something was. It stands in the way of
// every save, so it looks at each word once.
func speaksOfTime(text string) bool {
	before, earlier := "", "" // the words before
	for i := 0; i < len(text); {
		if text[i] >= utf8.RuneSelf {
			if r, _ := utf8.DecodeRuneInString(text[i:]); spaceless(r) && chineseTime(text[i:]) {
				return true
			}
			for i < len(text) && text[i] >= utf8.RuneSelf {
				i++
			}
			continue
		}
		end := i
		for end < len(text) && text[end] < utf8.RuneSelf && wordRune(rune(text[end])) {
			end++
		}
		if end == i {
			i++
			continue
		}
		w := strings.ToLower(text[i:end])
		switch {
		case timeWords[w], isYear(w),
			units[w] && (isNumber(before) || earlier == "for" && counts[before]),
			thisUnits[w] && before == "this",
			w == "may" && before == "in", isNumber(w) && before == "may":
			return true
		}
		earlier, before, i = before, w, end
	}
	return false
}

func isNumber(w string) bool { return w != "" && isDigit(w[0]) && isDigit(w[len(w)-1]) }

func isYear(w string) bool {
	return len(w) == 4 && isNumber(w) && (w[:2] == "19" || w[:2] == "20")
}

// chineseTime does it for the run of text up to the next letter or digit of ours.
func chineseTime(text string) bool {
	if end := strings.IndexFunc(text, func(r rune) bool { return r < utf8.RuneSelf && unicode.IsLetter(r) }); end >= 0 {
		text = text[:end]
	}
	for _, w := range chineseDay {
		if strings.Contains(text, w) {
			return true
		}
	}
	before := ' '
	for _, r := range text {
		number := unicode.IsDigit(before) || strings.ContainsRune("一二三四五六七八九十两", before)
		if strings.ContainsRune("月日号年", r) && unicode.IsDigit(before) || strings.ContainsRune("天周年", r) && number ||
			strings.ContainsRune("一二三四五六日天", r) && strings.ContainsRune("周期", before) {
			return true
		}
		before = r
	}
	return false
}

// mayNameTime says whether it is worth looking for the times that a query names.
func mayNameTime(text string) bool {
	if strings.ContainsAny(text, "0123456789昨今前上本这去") {
		return true
	}
	for w := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !wordRune(r) }) {
		if timeWords[w] || w == "this" || monthOf(w) != 0 {
			return true
		}
	}
	return false
}

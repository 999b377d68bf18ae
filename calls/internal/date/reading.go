package date

import (
	"slices"
	"strings"
	"time"
	"unicode"
)

// reading is a text whose times are read one after the other. One goroutine uses it.
type reading struct {
	text  string // with marks for the times read
	today time.Time
	found []found
}

// found is a time that a text names, with its place.
type found struct {
	start   int
	periods []Period
}

// chineseTimeMarks has a character of every Chinese expression.
const chineseTimeMarks = "昨今前上本这這去年月过過近春夏秋冬号號节節一庆慶旦夜诞誕夕午周週星礼禮清季阳陽中农農阴陰旧舊宵"

// FindPeriods finds the times that a text names, in English and Chinese, seen from now. rest is the
// text with spaces in their place.
//
// A date without a year, a holiday, a season and a quarter are the last that have begun: on 15 May, 国庆 is last
// year's. A weekday without a week (周三, on Wednesday) is the last one before today. A day of another year without
// its month (去年7号) is that year. 5/7 is the 7th of May in Chinese, and not read in English, but 5/13 and 13/5 are.
// Words around a time change it: the day before it, its evening, its last week, the time until or since then (see
// [Open]). Times of the future, and of every year or week, are not read.
func FindPeriods(text string, now time.Time) (periods []Period, rest string) {
	inEnglish, inChinese := mayNameTime(text), strings.ContainsAny(text, chineseTimeMarks) || hasNumberedDay(text)
	if !inEnglish && !inChinese {
		return nil, text
	}
	r := reading{text: simplified.Replace(text), today: midnight(now)}
	if inEnglish {
		r.read(englishExpressions())
	}
	if inChinese {
		r.read(chineseExpressions())
	}
	if len(r.found) == 0 {
		return nil, text
	}
	r.modify()
	for _, f := range r.found {
		periods = append(periods, f.periods...)
	}
	return periods, r.blank(text)
}

// hasNumberedDay reports whether a Chinese text may have a day like 5/7.
func hasNumberedDay(text string) bool {
	return strings.Contains(text, "/") && strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Han, r) })
}

// read notes the times that match expressions, and marks them.
func (r *reading) read(all []expression) {
	one := func(text string) (Period, bool) {
		sub := reading{text: text, today: r.today}
		sub.read(all)
		if len(sub.found) != 1 || len(sub.found[0].periods) != 1 || strings.Trim(sub.text, marks) != "" {
			return Period{}, false
		}
		return sub.found[0].periods[0], true
	}
	for _, e := range all {
		for _, m := range e.words.FindAllStringSubmatchIndex(r.text, -1) {
			g := submatches(r.text, m)
			switch {
			case e.periods != nil:
				r.note(m, e.periods(g, one))
			case e.period != nil:
				p, ok := e.period(g, r.today)
				r.noteOne(m, p, ok)
			default:
				r.mark(m, hideMark, hideMark)
			}
		}
	}
}

// noteOne notes what an expression returned: a time, or the zero Period for a time that is not read.
func (r *reading) noteOne(m []int, p Period, ok bool) {
	switch {
	case !ok:
	case p == Period{}:
		r.mark(m, hideMark, hideMark)
	default:
		r.note(m, []Period{p})
	}
}

// note notes times, if there are any, at the place of a match.
func (r *reading) note(m []int, periods []Period) {
	if len(periods) > 0 {
		r.found = append(r.found, found{m[0], periods})
		r.mark(m, beginMark, timeMark)
	}
}

// mark replaces a match by marks.
func (r *reading) mark(m []int, first, others string) {
	if m[1] > m[0] {
		r.text = r.text[:m[0]] + first + strings.Repeat(others, m[1]-m[0]-1) + r.text[m[1]:]
	}
}

// maxModified is how often times are modified: the evening of the day before a day.
const maxModified = 4

// modify applies the modifiers to the times read.
func (r *reading) modify() {
	for range maxModified {
		changed := false
		for _, mod := range modifiers() {
			for _, m := range mod.words.FindAllStringSubmatchIndex(r.text, -1) {
				changed = r.apply(mod, m) || changed
			}
		}
		if !changed {
			return
		}
	}
}

// apply applies a modifier to a match and reports whether it makes another time of it.
func (r *reading) apply(mod modifier, m []int) bool {
	var times []Period
	var places []int
	var words []string
	for i, g := range submatches(r.text, m) {
		switch {
		case i == 0:
		case strings.HasPrefix(g, beginMark):
			at := slices.IndexFunc(r.found, func(f found) bool { return f.start == m[2*i] })
			if at < 0 || len(r.found[at].periods) != 1 {
				return false
			}
			times, places = append(times, r.found[at].periods[0]), append(places, at)
		default:
			words = append(words, g)
		}
	}
	if len(times) == 0 {
		return false
	}
	p, ok := mod.period(times, words)
	if !ok || !p.Start.Before(p.End) {
		return false
	}
	r.found[places[0]] = found{m[0], []Period{p}}
	if len(places) > 1 {
		r.found = slices.Delete(r.found, places[1], places[1]+1)
	}
	r.mark(m, beginMark, timeMark)
	return true
}

// blank returns the text with spaces in place of the times read.
func (r *reading) blank(text string) string {
	b := []byte(text)
	for i := range b {
		if strings.IndexByte(beginMark+timeMark, r.text[i]) >= 0 {
			b[i] = ' '
		}
	}
	return string(b)
}

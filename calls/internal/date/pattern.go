package date

import (
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// The marks that replace the bytes of a time that was read: for its first byte and for the others. The third is
// for times that are not read.
const (
	beginMark = "\x01"
	timeMark  = "\x02"
	hideMark  = "\x03"
	marks     = beginMark + timeMark + hideMark
	// namedTime matches a time that was read.
	namedTime = `(` + beginMark + timeMark + `*)`
)

// matcher is a pattern, or a pattern with conditions on the text around a match.
type matcher interface {
	FindAllStringSubmatchIndex(text string, n int) [][]int
}

// expression is one way to name a time. Without period and periods, it matches times that are not read, such as
// next week: no other expression reads a part of it.
type expression struct {
	words matcher
	// period gets the texts of the groups and the midnight of today. ok is false if the words name no time; a zero
	// Period is a time that is not read.
	period func(g []string, today time.Time) (p Period, ok bool)
	// periods does so for words that name several times. read reads one of them, written out.
	periods func(g []string, read func(string) (Period, bool)) []Period
}

// modifier makes another time of the one or two that its pattern has, such as a day before them.
type modifier struct {
	words matcher
	// period gets the times, and the texts of the groups that are not times.
	period func(times []Period, g []string) (p Period, ok bool)
}

// apart is a pattern that counts only if the text before a match fits after and does not fit notAfter, and the
// text behind it does not fit notBefore. The first two end with $, notBefore begins with ^. A condition that is
// nil always holds.
type apart struct {
	words                      *regexp.Regexp
	after, notAfter, notBefore func() *regexp.Regexp
}

// maxAround is the number of bytes that are read before a match.
const maxAround = 12

// FindAllStringSubmatchIndex works as for the words alone, but a match that does not count does not hide another
// that begins in it.
func (a apart) FindAllStringSubmatchIndex(text string, n int) [][]int {
	all := a.words.FindAllStringSubmatchIndex(text, n)
	for i := 0; i < len(all); i++ {
		m := all[i]
		if a.holds(text, m) {
			continue
		}
		all = slices.Delete(all, i, i+1)
		from, until := m[0]+lengthOfWord(text[m[0]:]), len(text)
		if i < len(all) {
			until = all[i][0]
		}
		next := a.words.FindStringSubmatchIndex(text[from:])
		if len(next) > 0 && from+next[1] <= until {
			all = slices.Insert(all, i, shiftMatch(next, from))
		}
		i--
	}
	return all
}

// holds reports whether a match fits the text around it.
func (a apart) holds(text string, m []int) bool {
	before, behind := text[max(0, m[0]-maxAround):m[0]], text[m[1]:]
	isAfter := a.after == nil || a.after().MatchString(before)
	isWrong := a.notAfter != nil && a.notAfter().MatchString(before) || a.notBefore != nil && a.notBefore().MatchString(behind)
	return isAfter && !isWrong
}

// lengthOfWord returns the length of the English word or the character that a text begins with.
func lengthOfWord(text string) int {
	n := strings.IndexFunc(text, func(r rune) bool { return !isWordByte(r) })
	if n > 0 {
		return n
	}
	_, size := utf8.DecodeRuneInString(text)
	return max(size, 1)
}

func shiftMatch(m []int, by int) []int {
	for i := range m {
		if m[i] >= 0 {
			m[i] += by
		}
	}
	return m
}

// compilePhrase matches whole words in any case.
func compilePhrase(words string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:` + words + `)\b`)
}

// submatches returns the texts of the groups of a match, "" for groups without one.
func submatches(text string, match []int) []string {
	groups := make([]string, len(match)/2)
	for i := range groups {
		if match[2*i] >= 0 {
			groups[i] = text[match[2*i]:match[2*i+1]]
		}
	}
	return groups
}

// simplified has the characters for times that Chinese texts write in several ways, each
// followed by the one that the patterns have. Both take as many bytes.
var simplified = strings.NewReplacer("週", "周", "號", "号", "個", "个", "禮", "礼", "後", "后", "兩", "两", "幾", "几", "過", "过", "這", "这", "〇", "零", "○", "零", "節", "节", "慶", "庆", "聖", "圣", "誕", "诞", "勞", "劳", "動", "动", "兒", "儿", "雙", "双", "國", "国", "婦", "妇", "萬", "万", "長", "长", "間", "间", "黃", "黄", "陽", "阳", "農", "农", "陰", "阴", "舊", "旧", "臘", "腊", "閏", "闰", "點", "点", "與", "与", "從", "从", "來", "来", "開", "开", beginMark, " ", timeMark, " ", hideMark, " ")

// inYear reads a time in the year that words name, such as two years ago. withYear returns how the time
// is written with the number of the year.
func inYear(words string, withYear func(year string) string, read func(string) (Period, bool)) []Period {
	year, ok := read(words)
	if !ok {
		return nil
	}
	if !year.Start.AddDate(1, 0, 0).Equal(year.End) { // a few years ago
		return []Period{year}
	}
	p, ok := read(withYear(year.Start.Format("2006")))
	if !ok {
		return nil
	}
	return []Period{p}
}

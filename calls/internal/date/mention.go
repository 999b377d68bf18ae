package date

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/callnode/scheduler/llm/value"
)

// timeWords say when something was.
var timeWords = value.WordSet(`yesterday today tonight tomorrow ago recently last next past weekend since
monday tuesday wednesday thursday friday saturday sunday
january february march april june july august september october november december jan feb mar apr jun jul aug sep sept oct nov dec`)

var (
	unitWords  = value.WordSet(`day days week weeks month months year years`)
	thisUnits  = value.WordSet(`week month year morning weekend summer winter spring fall autumn`)
	counts     = value.WordSet(`a two three four five six seven eight nine ten`)
	chineseDay = []string{"昨天", "前天", "今天", "明天", "后天", "刚才", "最近", "上周", "上月", "上个月", "下周", "下月", "下个月", "本周", "这周", "去年", "前年", "今年", "明年"}
)

// MentionsTime reports whether a text mentions when something was. It runs for every saved memory, so it reads
// each word once.
func MentionsTime(text string) bool {
	before, earlier := "", "" // the words before
	looked := 0               // the end of the text that chineseMentionsTime has checked
	for i := 0; i < len(text); {
		if text[i] >= utf8.RuneSelf {
			if r, _ := utf8.DecodeRuneInString(text[i:]); i >= looked && unicode.Is(unicode.Han, r) {
				looked = letterFrom(text, i)
				if chineseMentionsTime(text[i:looked]) {
					return true
				}
			}
			for i < len(text) && text[i] >= utf8.RuneSelf {
				i++
			}
			continue
		}
		end := i
		for end < len(text) && text[end] < utf8.RuneSelf && isWordByte(rune(text[end])) {
			end++
		}
		if end == i {
			i++
			continue
		}
		w := strings.ToLower(text[i:end])
		isCounted := isNumber(before)
		if earlier == "for" {
			isCounted = isCounted || counts(before)
		}
		if timeWords(w) || isYear(w) || isTimeAfter(before, w, isCounted) {
			return true
		}
		earlier, before, i = before, w, end
	}
	return false
}

func isNumber(w string) bool { return w != "" && isDigit(w[0]) && isDigit(w[len(w)-1]) }

func isYear(w string) bool {
	return len(w) == 4 && isNumber(w) && slices.Contains([]string{"19", "20"}, w[:2])
}

// letterFrom returns the position of the next ASCII letter.
func letterFrom(text string, i int) int {
	for i < len(text) && !(text[i] < utf8.RuneSelf && unicode.IsLetter(rune(text[i]))) {
		i++
	}
	return i
}

// isTimeAfter reports whether a word is a time because of the word before it: 3 days, this
// week, in May, May 5.
func isTimeAfter(before, word string, isCounted bool) bool {
	isMay := word == "may" && before == "in"
	isDayOfMay := before == "may" && isNumber(word)
	isSpan := unitWords(word) && isCounted
	isThisSpan := thisUnits(word) && before == "this"
	if isMay || isDayOfMay {
		return true
	}
	return isSpan || isThisSpan
}

// chineseTime does it for a text without a letter of ours.
func chineseMentionsTime(text string) bool {
	for _, w := range chineseDay {
		if strings.Contains(text, w) {
			return true
		}
	}
	before := ' '
	for _, r := range text {
		number := unicode.IsDigit(before) || strings.ContainsRune("一二三四五六七八九十两", before)
		isDate := strings.ContainsRune("月日号年", r) && unicode.IsDigit(before)
		isPeriod := strings.ContainsRune("天周月年", r) && number
		isWeekday := strings.ContainsRune("一二三四五六日天", r) && strings.ContainsRune("周期", before)
		if isDate || isPeriod || isWeekday {
			return true
		}
		before = r
	}
	return false
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isWordByte reports whether an English word or number may have a character.
func isWordByte(r rune) bool {
	isLetter := 'a' <= r|0x20 && r|0x20 <= 'z'
	isDigit := '0' <= r && r <= '9'
	return isLetter || isDigit
}

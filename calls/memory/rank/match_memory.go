package rank

import (
	"iter"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/callnode/scheduler/calls/internal/date"
	"github.com/callnode/scheduler/llm/value"
)

// maxMatchedText bounds the text of a memory that is searched for words to show.
const maxMatchedText = 16 << 10

// Match says which parts of a query a memory has.
type Match struct {
	// Words are the words of the query that the memory has, as the query spells them, the longest first. There may
	// be none to show, because the terms of scripts without spaces are not words.
	Words []string
	// Any reports whether it has any term of the query, Telling whether its terms suffice to find a memory: 去
	// alone does not, nor a number, nor a part of a date unless the memory speaks of that time. The whole
	// question, word for word, always does.
	Any, Telling bool
}

// MatchMemory compares a memory with the query. at is the time of the memory.
func (a *Analysis) MatchMemory(doc *Document, content string, at time.Time) (m Match) {
	var words []string
	inRun, hasDate := false, false
	for i := range a.Terms {
		t := &a.Terms[i]
		f, has := t.findIn(doc)
		if !has || t.isEnding || len(idiomsByTerm()[f.Term]) > 0 && a.isOnlyInIdioms(f, plainText(content)) {
			continue
		}
		m.Any = true
		isPartOfDate := t.isDate && !t.isHoliday
		hasDate = hasDate || isPartOfDate
		isPhrase := t.spaceless && utf8.RuneCountInString(t.Text) > 1 && !(t.earlier && hasStopCharacter(t.Text)) // 生日, of two characters that say little
		m.Telling = m.Telling || t.isHoliday || !isPartOfDate && (!t.weak || isPhrase)
		switch {
		case len(t.members) > 0:
			words = append(words, memberWords()[f.Term])
		case t.spaceless:
			inRun = true
		default:
			words = append(words, t.Shown)
		}
	}
	text := ""
	if inRun || hasDate || !m.Telling {
		text = norm.NFKC.String(strings.ToValidUTF8(content[:min(len(content), maxMatchedText)], ""))
	}
	m.Telling = m.Telling || hasDate && a.speaksOfTime(text, at) || m.Any && len(a.periods) == 0 && a.isQuoted(text)
	if inRun {
		for _, searched := range a.texts {
			words = append(words, commonPhrases(searched, text)...)
		}
	}
	slices.SortStableFunc(words, func(a, b string) int { return len(b) - len(a) })
	longest := words[:0]
	for _, w := range words {
		if !slices.ContainsFunc(longest, func(l string) bool { return strings.Contains(l, w) }) {
			longest = append(longest, w)
		}
	}
	m.Words = longest
	return m
}

// findIn returns the frequency of a term in a text: of a class, of the first member that it has.
func (t *Term) findIn(doc *Document) (f Frequency, has bool) {
	for _, text := range t.texts() {
		at, has := slices.BinarySearchFunc(doc.Terms, text, func(f Frequency, term string) int { return strings.Compare(f.Term, term) })
		if has {
			return doc.Terms[at], true
		}
	}
	return f, false
}

// plainText returns the beginning of a content as idioms are written.
func plainText(content string) string {
	text := norm.NFKC.String(strings.ToValidUTF8(content[:min(len(content), maxMatchedText)], ""))
	return strings.ReplaceAll(strings.ToLower(text), "’", "'")
}

// isQuoted reports whether a text has the whole question, word for word, and that is more than a
// number: 7点, but not in 17点.
func (a *Analysis) isQuoted(text string) bool {
	question := strings.Trim(a.texts[0], " ?？!！.。")
	first, size := utf8.DecodeRuneInString(question)
	if size == len(question) || !strings.ContainsFunc(question, func(r rune) bool { return !unicode.IsDigit(r) }) {
		return false
	}
	for {
		before, rest, found := strings.Cut(text, question)
		last, _ := utf8.DecodeLastRuneInString(before)
		isPartOfNumber := unicode.IsDigit(first) && unicode.IsDigit(last)
		if !found || !isPartOfNumber {
			return found
		}
		text = rest
	}
}

// speaksOfTime reports whether a text of a time has a date of the query in the same words, or names
// a time of the query about as exactly.
func (a *Analysis) speaksOfTime(text string, at time.Time) bool {
	if slices.ContainsFunc(a.dates, func(date string) bool { return strings.Contains(text, date) }) {
		return true
	}
	named, _ := date.FindPeriods(text, at)
	return slices.ContainsFunc(named, func(n date.Period) bool {
		return slices.ContainsFunc(a.periods, func(p date.Period) bool {
			overlap := n.Start.Before(p.End) && p.Start.Before(n.End)
			return overlap && p.Precision != date.Open && n.End.Sub(n.Start) <= 2*p.End.Sub(p.Start)
		})
	})
}

// commonPhrases returns the words and phrases of scripts without spaces that two texts have in common. It has no
// dictionary: the longest runs that both texts have are split at particles, function words and counters, and a
// part is returned if both its ends are known to be ends of words. Doubtful parts are left out.
func commonPhrases(query, text string) (phrases []string) {
	runes := []rune(query)
	runes = runes[:min(len(runes), maxTerms)]
	for i := 0; i < len(runes); {
		end := i
		for end < len(runes) && isSpaceless(runes[end]) && strings.Contains(text, string(runes[i:end+1])) {
			end++
		}
		if end == i {
			i++
			continue
		}
		for _, part := range strings.FieldsFunc(string(runes[i:end]), isParticle) {
			phrase := trimFunctionWords(part, query, text)
			if isWholeIn(phrase, query, text) {
				phrases = append(phrases, splitVerb(phrase)...)
			}
		}
		i = end
	}
	return phrases
}

// The Chinese characters that mark beginnings and ends of words.
const (
	particles = "的了吗嗎呢吧啊嘛"
	// functionCharacters are words by themselves nearly always: a word ends before them and
	// begins after them.
	functionCharacters = particles + "是我你您他她它这這那在和与與跟给給把被让讓从從也都就还還又再很更不没沒"
	// leftCharacters are the last of words that others follow, rightCharacters the first of
	// words that follow others.
	leftCharacters  = "们們么麼去到用有要能叫"
	rightCharacters = "什哪谁誰怎几幾为為多"
	// verbCharacters are often words by themselves, and often the beginnings or ends of
	// others.
	verbCharacters = "叫去来來做说說要有会會能到用买買吃看想上下里裡中后後前时時"
	// counters follow numerals, and are not a part of the word behind them.
	counters = "个個位条條只隻张張本件次年月日天号號瓶颗顆户戶家间間台臺辆輛座棵杯块塊元岁歲种種项項名口双雙套篇首层層门門站斤米分集场場句"
)

// endingVerbs are verbs of one character after which questions ask for something, as in 小王吃什么; compoundsOfVerbs
// are the words that end like them.
const endingVerbs = "吃喝买買看住爱愛学學叫姓"

var compoundsOfVerbs = value.WordSet(`小吃 好吃 难吃 偷吃 零吃 爱吃 想吃 爱喝 好喝 想喝 购买 收买 采买 想买 好看 难看 查看 观看 爱看 想看 居住 入住 可爱 恋爱
热爱 喜爱 亲爱 大学 小学 中学 同学 文学 数学 科学 化学 医学 哲学 法学 上学 放学 开学 入学 留学 自学 老姓 百姓 同姓`)

// splitVerb takes the verb off the end of a phrase of three or four characters, which is a name
// and a verb.
func splitVerb(phrase string) []string {
	runes := []rune(phrase)
	n := len(runes)
	isLong := n == 3 || n == 4
	if !isLong || !strings.ContainsRune(endingVerbs, runes[n-1]) || compoundsOfVerbs(string(runes[n-2:])) {
		return []string{phrase}
	}
	return []string{string(runes[:n-1]), string(runes[n-1:])}
}

func isParticle(r rune) bool { return strings.ContainsRune(particles, r) }

// wholeWords are common words with a function character at an end, which is not taken off.
var wholeWords = []string{"现在", "現在", "正在", "存在", "实在", "實在", "所在", "不同", "不足", "不安", "不满", "和平", "温和", "首都", "成就", "就业", "从事", "被子", "把握", "我国", "他人", "其他"}

// pronouns are the pronouns of two characters.
var pronouns = []string{"我们", "你们", "他们", "她们", "它们", "咱们", "大家", "自己", "我們", "你們", "他們", "她們"}

// trimFunctionWords removes function words, and counters behind numerals, from the ends of a
// phrase.
func trimFunctionWords(phrase string, texts ...string) string {
	isOneOf := func(is func(text, word string) bool, words []string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return is(phrase, w) })
	}
	for before := ""; before != phrase; {
		before = phrase
		for _, p := range pronouns {
			phrase = strings.TrimPrefix(phrase, p)
		}
		if !isOneOf(strings.HasPrefix, wholeWords) {
			phrase = strings.TrimLeft(phrase, functionCharacters+"们們")
		}
		if !isOneOf(strings.HasSuffix, wholeWords) {
			phrase = strings.TrimRight(phrase, functionCharacters+"叫")
		}
		first, size := utf8.DecodeRuneInString(phrase)
		if strings.ContainsRune(counters, first) && slices.ContainsFunc(texts, func(text string) bool { return followsNumeral(text, phrase) }) {
			phrase = phrase[size:]
		}
	}
	return phrase
}

// followsNumeral reports whether a phrase follows a number, or a word that asks for one, in a text.
func followsNumeral(text, phrase string) bool {
	for at := range occurrences(text, phrase) {
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		if unicode.IsDigit(before) || strings.ContainsRune(numerals+"哪每第这這那", before) || strings.HasSuffix(text[:at], "多少") {
			return true
		}
	}
	return false
}

// occurrences yields the places of a phrase in a text.
func occurrences(text, phrase string) iter.Seq[int] {
	return func(yield func(int) bool) {
		for from := 0; phrase != ""; {
			at := strings.Index(text[from:], phrase)
			if at < 0 || !yield(from+at) {
				return
			}
			from += at + len(phrase)
		}
	}
}

// isWholeIn reports whether a phrase is whole words in the query and in the text. A single
// character must stand alone in both, and three, which may be one and a half words from either
// side, must be whole in one of them. Others need an end of words on each side, in one or the
// other. The ends of Hangul vary with the grammar.
func isWholeIn(phrase, query, text string) bool {
	n := utf8.RuneCountInString(phrase)
	if n == 0 || n == 1 && tellsLittle(phrase) {
		return false
	}
	if slices.Contains(wholeWords, phrase) {
		return true
	}
	first, _ := utf8.DecodeRuneInString(phrase)
	inQuery, inText := boundariesIn(query, phrase), boundariesIn(text, phrase)
	left, right, both := inQuery.left || inText.left, inQuery.right || inText.right, inQuery.both || inText.both
	switch {
	case inQuery.doubled || inText.doubled:
		return false
	case unicode.Is(unicode.Hangul, first):
		return n > 1 && left
	case n == 1:
		return inQuery.alone && inText.alone && both
	case n == 3:
		return both
	}
	return left && right
}

// boundaries says which facts are known about the ends of a phrase in a text: whether a word begins there, or
// ends, in some place; both in one place; whether it may be a word alone; and whether it is a half of a doubled
// character, as in 妈妈买.
type boundaries struct{ left, right, both, alone, doubled bool }

func boundariesIn(text, phrase string) (b boundaries) {
	first, _ := utf8.DecodeRuneInString(phrase)
	last, _ := utf8.DecodeLastRuneInString(phrase)
	for at := range occurrences(text, phrase) {
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(phrase):])
		left := beginsAfter(before) || followsCounter(text[:at]) || script(before) != script(first)
		right := endsBefore(after) || script(after) != script(last)
		b.doubled = b.doubled || before == first || after == last
		b.left, b.right, b.both = b.left || left, b.right || right, b.both || left && right
		b.alone = b.alone || left && (right || strings.ContainsRune(verbCharacters, after))
	}
	return b
}

// script returns the script of a character of Han, Hiragana or Katakana: a word ends at a change of script.
func script(r rune) *unicode.RangeTable {
	for _, table := range []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana} {
		if unicode.Is(table, r) {
			return table
		}
	}
	return nil
}

// beginsAfter reports whether a word begins after a character.
func beginsAfter(r rune) bool {
	return !isSpaceless(r) || unicode.IsPunct(r) || strings.ContainsRune(functionCharacters+leftCharacters, r)
}

// endsBefore reports whether a word ends before a character.
func endsBefore(r rune) bool {
	return !isSpaceless(r) || unicode.IsPunct(r) || strings.ContainsRune(functionCharacters+rightCharacters+numerals, r)
}

// isFragmentIn reports whether a term means little without the words around it: it is a single verb, apart from
// characters without a meaning, or a character that never begins a word in a text.
func isFragmentIn(term, text string) bool {
	character := strings.Map(func(r rune) rune {
		if stopCharacters(string(r)) {
			return -1
		}
		return r
	}, term)
	r, size := utf8.DecodeRuneInString(character)
	if size != len(character) {
		return false
	}
	isVerb := strings.ContainsRune(endingVerbs+verbCharacters, r)
	return isVerb || character == term && !beginsWordIn(text, r)
}

// beginsWordIn reports whether a character begins a word somewhere in a text.
func beginsWordIn(text string, r rune) bool {
	before := ' '
	for _, c := range text {
		if c == r && beginsAfter(before) {
			return true
		}
		before = c
	}
	return false
}

// followsCounter reports whether a text ends with a number and a counter, as in 三个.
func followsCounter(text string) bool {
	last, size := utf8.DecodeLastRuneInString(text)
	before, _ := utf8.DecodeLastRuneInString(text[:len(text)-size])
	return strings.ContainsRune(counters, last) && (unicode.IsDigit(before) || strings.ContainsRune(numerals+"哪每这這那", before))
}

// isCommonCharacter reports whether a character is in too many texts to find one by.
func isCommonCharacter(s string) bool {
	return stopCharacters(s) || strings.Contains(numerals, s)
}

// numerals are the Chinese characters for numbers.
const numerals = "零〇一二三四五六七八九十百千万两几"

// tellsLittle reports whether a character as the only word would say little.
func tellsLittle(s string) bool {
	return isCommonCharacter(s) || strings.Contains(counters+functionCharacters+"上下里裡中大小多少好", s)
}

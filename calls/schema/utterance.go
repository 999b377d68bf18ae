package schema

import (
	_ "embed"
	"strings"
	"unicode"
)

// The words by which messages of people, and answers of models, are told from values, one a line. They are lists of examples that a
// message equals or begins with, and not all of a language: a message that none of them matches may still be no value.
var (
	// noAnswers are messages that answer no question: "why", "skip", "hello", "为什么".
	//
	//go:embed no_answers.txt
	noAnswers string
	// noValues are texts by which models say that a value is not known: "n/a", "tbd", "待定".
	//
	//go:embed no_values.txt
	noValues string
	// questionWords begin a question, "do you"; Chinese ones may be anywhere in it, "几点".
	//
	//go:embed question_words.txt
	questionWords string
	// denialWords begin a refusal: "i won't", "不".
	//
	//go:embed denial_words.txt
	denialWords string
)

// IsNoAnswer reports whether a message is a question, a greeting or a refusal, and no value of a free text, for example
// "why?", "Hello!" or "跳过".
func IsNoAnswer(text string) bool { return isListed(noAnswers, plainWords(text)) }

// IsUnknown reports whether a text says only that a value is not known, for example "N/A", "TBD", "-" or "待定".
func IsUnknown(text string) bool {
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	for _, around := range [][2]string{{"<", ">"}, {"(", ")"}, {"[", "]"}, {"（", "）"}, {"【", "】"}, {`"`, `"`}, {"“", "”"}} {
		inner, opens := strings.CutPrefix(text, around[0])
		inner, closes := strings.CutSuffix(inner, around[1])
		if opens && closes {
			text = inner
		}
	}
	bare := strings.TrimRight(text, ".。!！")
	return text == "" || isListed(noValues, text) || isListed(noValues, bare)
}

// IsQuestion reports whether a message asks something, for example "When do you open?", "do you deliver" or "你们几点开门".
func IsQuestion(text string) bool {
	text = strings.TrimSpace(text)
	words := plainWords(text)
	for _, end := range []string{"吗", "呢", "么"} {
		if strings.HasSuffix(words, end) {
			return true
		}
	}
	return strings.HasSuffix(text, "?") || strings.HasSuffix(text, "？") || matchesWords(questionWords, words, strings.Contains)
}

// IsDenial reports whether a message refuses to answer, for example "nope", "I won't tell you" or "不要".
func IsDenial(text string) bool {
	return matchesWords(denialWords, plainWords(text), strings.HasPrefix)
}

// matchesWords reports whether words begin with one of a list, as whole words. Chinese, which has no blanks between words, is
// matched by the function.
func matchesWords(list, words string, matches func(text, word string) bool) bool {
	for word := range strings.Lines(list) {
		word = strings.TrimSpace(word)
		isSpaced := word != "" && word[0] < unicode.MaxASCII
		isBegun := isSpaced && (words == word || strings.HasPrefix(words, word+" ") || strings.HasPrefix(words, word+","))
		if isBegun || !isSpaced && matches(words, word) {
			return true
		}
	}
	return false
}

// isListed reports whether words are a line of a list.
func isListed(list, words string) bool {
	return words != "" && strings.Contains("\n"+list, "\n"+words+"\n")
}

// plainWords returns a message in lower case, with one blank between words and without the signs around it.
func plainWords(text string) string {
	isEdge := func(r rune) bool { return unicode.IsSpace(r) || unicode.IsPunct(r) || unicode.IsSymbol(r) }
	words := strings.ToLower(strings.Join(strings.Fields(strings.ReplaceAll(text, "’", "'")), " "))
	return strings.TrimFunc(words, isEdge)
}

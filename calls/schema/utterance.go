package schema

import (
	_ "embed"
	"slices"
	"strings"
	"unicode"
)

// The words by which messages of people, and answers of models, are distinguished from values, one a line. They
// are lists of examples that a message equals or begins with, and not all of a language: a message that none of
// them matches may still not be a value.
var (
	// noAnswers are messages that answer no question: "why", "skip", "hello", "为什么".
	//
	//go:embed no_answers.txt
	noAnswers string
	// noValues are texts by which models say that a value is not known: "n/a", "tbd", "待定".
	//
	//go:embed no_values.txt
	noValues string
	// noNames are texts by which models say that the name of a person is not known: "user", "anonymous".
	//
	//go:embed no_names.txt
	noNames string
	// questionWords begin a question, "do you"; Chinese ones may be anywhere in it, "几点".
	//
	//go:embed question_words.txt
	questionWords string
	// requestWords begin a request for information, like a question: "tell me your hours".
	//go:embed request_words.txt
	requestWords string
	// denialWords begin a refusal: "i won't", "不".
	//
	//go:embed denial_words.txt
	denialWords string
)

// IsNoAnswer reports whether a message is a question, a greeting or a refusal, and no value of a free text, for example
// "why?", "Hello!" or "跳过".
func IsNoAnswer(text string) bool { return isListed(noAnswers, plainWords(text)) }

// IsUnknown reports whether a text says only that a value is not known, for example "N/A", "T.B.D.", "-" or "待定".
// names has the value's names: its key and its title: with "name", the texts "<name>", "[your name]" and "unknown
// name" say so, too.
func IsUnknown(text string, names ...string) bool {
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	inner, isWrapped := unwrapText(text)
	bare := strings.TrimRight(inner, ".。!！")
	if inner == "" || isListed(noValues, inner) || isListed(noValues, bare) || isListed(noValues, joinLetters(bare)) {
		return true
	}
	if before, remark, ok := cutRemark(bare); ok {
		return IsUnknown(before, names...) && (IsUnknown(remark, names...) || matchesWords(noValues, remark, strings.HasPrefix))
	}
	for _, end := range []string{" yet", " so far", " by the user", " by user", " by the customer"} {
		if known, ok := strings.CutSuffix(bare, end); ok {
			return isListed(noValues, known)
		}
	}
	return slices.ContainsFunc(names, func(name string) bool { return isNameForUnknown(bare, strings.ToLower(name), isWrapped) })
}

// unwrapText returns a text without the brackets and quotes around it.
func unwrapText(text string) (inner string, isWrapped bool) {
	for i := 0; i < len(wrappers); i++ {
		inside, opens := strings.CutPrefix(text, wrappers[i][0])
		inside, closes := strings.CutSuffix(inside, wrappers[i][1])
		if opens && closes {
			text, isWrapped, i = strings.TrimSpace(inside), true, -1
		}
	}
	return text, isWrapped
}

var wrappers = [][2]string{
	{"<", ">"}, {"(", ")"}, {"[", "]"}, {"{", "}"}, {"（", "）"}, {"【", "】"}, {"《", "》"}, {"「", "」"},
	{`"`, `"`}, {"'", "'"}, {"`", "`"}, {"“", "”"}, {"‘", "’"},
}

// joinLetters returns letters with dots, blanks or slashes between them in one form, for example "t.b.d" for "t. b. d", and n/a for "n / a".
// Other texts stay unchanged.
func joinLetters(text string) string {
	letters := strings.FieldsFunc(text, func(r rune) bool { return r == '.' || r == '/' || r == ' ' })
	isSpelled := len(letters) > 1 && !slices.ContainsFunc(letters, func(one string) bool { return len(one) != 1 })
	if !isSpelled {
		return text
	}
	return strings.Join(letters, ".")
}

// cutRemark cuts a text into its words and the remark in brackets behind them, for example "unknown (not stated)".
func cutRemark(text string) (before, remark string, ok bool) {
	for _, signs := range [][2]string{{"(", ")"}, {"[", "]"}, {"（", "）"}} {
		before, remark, ok = strings.Cut(text, signs[0])
		before = strings.TrimSpace(before)
		if ok && before != "" && strings.HasSuffix(remark, signs[1]) {
			return before, strings.TrimSpace(strings.TrimSuffix(remark, signs[1])), true
		}
	}
	return "", "", false
}

// isNameForUnknown reports whether a text has the name of a value in its place: in brackets, or as "unknown name".
// Words for a person count as a person's name.
func isNameForUnknown(text, name string, isWrapped bool) bool {
	words := strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == '-' || unicode.IsSpace(r) })
	if len(words) == 0 {
		return false
	}
	last := words[len(words)-1]
	isPersonal := strings.HasSuffix(last, "name") || strings.HasSuffix(last, "姓名") || strings.HasSuffix(last, "名字")
	if isPersonal && isListed(noNames, text) {
		return true
	}
	isName := func(text string) bool { return text == last || lettersOf(text) == lettersOf(name) }
	if isWrapped {
		for _, before := range []string{"your ", "the ", "enter ", "insert ", "user's ", "customer's "} {
			text = strings.TrimPrefix(text, before)
		}
		return isName(text)
	}
	for _, unknown := range []string{"unknown ", "unspecified ", "missing ", "未知"} {
		if rest, ok := strings.CutPrefix(text, unknown); ok && isName(rest) {
			return true
		}
	}
	for _, unknown := range []string{" unknown", " missing", " here", "未知", "不详"} {
		if rest, ok := strings.CutSuffix(text, unknown); ok && isName(strings.TrimPrefix(rest, "your ")) {
			return true
		}
	}
	return false
}

// lettersOf returns the letters and digits of a text.
func lettersOf(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, text)
}

// IsQuestion reports whether a message asks something, for example "When do you open?", "tell me your hours" or "你们几点开门".
func IsQuestion(text string) bool {
	text = strings.TrimSpace(text)
	words := plainWords(text)
	for _, end := range []string{"吗", "呢", "么"} {
		if strings.HasSuffix(words, end) {
			return true
		}
	}
	isMarked := strings.HasSuffix(text, "?") || strings.HasSuffix(text, "？")
	return isMarked || matchesWords(questionWords, words, strings.Contains) || matchesWords(requestWords, words, strings.HasPrefix)
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

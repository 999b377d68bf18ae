package wording

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// Restate returns a message that the program has recorded in one of the built-in languages in both, for a reader of the other one: for
// example the reason why a Chinese flow left an entry out, on an English page. It finds the catalog's format that the message was made
// from and formats the same arguments again. A message of no known format, such as one that a plugin wrote, stays
// unchanged.
func Restate(message string) Text {
	if len(message) > maxRestated {
		return Same(message)
	}
	forms := messageForms()
	return Text{En: restateText(message, forms.chinese, maxClauses), Zh: restateText(message, forms.english, maxClauses)}
}

const (
	// maxRestated is the length from which a message is a document rather than a sentence.
	maxRestated = 4000
	// maxClauses limits the depth of the search for messages in the arguments of messages.
	maxClauses = 4
)

// restateText returns a message by the first form that it has, which is the one with the most words of its own.
func restateText(message string, forms *formIndex, depth int) string {
	if depth == 0 || message == "" {
		return message
	}
	if other, ok := forms.fixed[message]; ok {
		return other
	}
	if f, args := forms.find(message); f != nil {
		return f.format(args, func(arg string) string { return restateText(arg, forms, depth-1) })
	}
	for i, separator := range forms.separators {
		clauses := strings.Split(message, separator)
		isRestated := false
		for j, clause := range clauses {
			clauses[j] = restateText(clause, forms, depth-1)
			isRestated = isRestated || clauses[j] != clause
		}
		if isRestated && len(clauses) > 1 {
			return strings.Join(clauses, forms.otherSeparators[i])
		}
	}
	return message
}

// messageForm is a format of a catalog in one language, to be recognized, and in the other, to be written.
type messageForm struct {
	from, to []formPiece
	// own counts the bytes of the format's own words.
	own int
}

// formPiece is a stretch of a format: words of its own, or an argument.
type formPiece struct {
	words string
	// verb is how the argument is written, for example 'd'; 0 for words.
	verb byte
	arg  int
}

// formIndex has the forms of one language. It does not change.
type formIndex struct {
	// fixed are the messages without arguments.
	fixed map[string]string
	// byKey are the forms by the first bytes of their longest words, so that a message is compared with few of some thousand forms; short
	// are the forms whose words are shorter than a key.
	byKey map[string][]*messageForm
	short []*messageForm
	// separators separate the clauses of a message, and otherSeparators replace them in the other language.
	separators, otherSeparators []string
}

// keySize is the length of the keys of forms: two Chinese characters.
const keySize = 6

// find returns the form of a message with the most own words, and the arguments; nil for a message of no form.
func (x *formIndex) find(message string) (best *messageForm, args map[int]argument) {
	try := func(forms []*messageForm) {
		for _, f := range forms {
			if best != nil && best.own >= f.own || !f.mayMatch(message) {
				continue
			}
			if found, ok := f.match(message); ok {
				best, args = f, found
			}
		}
	}
	for i := range len(message) - keySize + 1 {
		try(x.byKey[message[i:i+keySize]])
	}
	try(x.short)
	return best, args
}

func (x *formIndex) add(from, to string) {
	f := &messageForm{from: parseForm(from), to: parseForm(to)}
	if isFixed := len(f.from) == 1 && f.from[0].verb == 0; isFixed {
		x.fixed[f.from[0].words] = joinWords(f.to)
		return
	}
	letters, longest := 0, ""
	for _, p := range f.from {
		f.own += len(p.words)
		letters += countLetters(p.words)
		if len(p.words) > len(longest) {
			longest = p.words
		}
	}
	switch {
	case letters < minLetters: // such as "%s: %s", which says nothing by itself
	case len(longest) < keySize:
		x.short = append(x.short, f)
	default:
		x.byKey[longest[:keySize]] = append(x.byKey[longest[:keySize]], f)
	}
}

// minLetters is the number of its own letters that a format needs to be distinguished from users' text. A Chinese
// character counts as three.
const minLetters = 5

func countLetters(words string) (n int) {
	for _, r := range words {
		switch {
		case unicode.Is(unicode.Han, r):
			n += 3
		case unicode.IsLetter(r):
			n++
		}
	}
	return n
}

func joinWords(pieces []formPiece) string {
	var b strings.Builder
	for _, p := range pieces {
		b.WriteString(p.words)
	}
	return b.String()
}

var anyVerb = regexp.MustCompile(`%(?:\[(\d+)\])?[-+ #0]*\d*(?:\.\d+)?([a-zA-Z%])`)

// parseForm splits a format into its words and arguments.
func parseForm(format string) (pieces []formPiece) {
	arg, words, end := 0, "", 0
	for _, at := range anyVerb.FindAllStringSubmatchIndex(format, -1) {
		words += format[end:at[0]]
		end = at[1]
		verb := format[at[4]]
		if verb == '%' {
			words += "%"
			continue
		}
		if at[2] >= 0 {
			number, _ := strconv.Atoi(format[at[2]:at[3]])
			arg = number - 1
		}
		if words != "" {
			pieces = append(pieces, formPiece{words: words})
			words = ""
		}
		pieces = append(pieces, formPiece{verb: verb, arg: arg})
		arg++
	}
	if words += format[end:]; words != "" || len(pieces) == 0 {
		pieces = append(pieces, formPiece{words: words})
	}
	return pieces
}

// match returns the arguments that a message has, by their numbers; ok is false for a message of another format.
// An argument ends at the first occurrence of the words after it, the last argument at the end.
func (f *messageForm) match(message string) (args map[int]argument, ok bool) {
	args = map[int]argument{}
	rest, before := message, ""
	for i, p := range f.from {
		if p.verb == 0 {
			after, found := strings.CutPrefix(rest, p.words)
			if !found {
				return nil, false
			}
			rest, before = after, p.words
			continue
		}
		size := len(rest)
		if i+1 < len(f.from) {
			next := f.from[i+1]
			if next.verb != 0 {
				return nil, false // two arguments without words between them
			}
			size = strings.Index(rest, next.words)
			if isLast := i+2 == len(f.from); isLast {
				size = strings.LastIndex(rest, next.words)
			}
		}
		if size < 0 || !isWritten(p.verb, rest[:size]) || i == 0 && hasClauses(rest[:size]) {
			return nil, false
		}
		args[p.arg] = argument{text: rest[:size], isClause: isClause(p.verb, before, i == 0)}
		rest = rest[size:]
	}
	return args, rest == ""
}

// mayMatch reports whether a message has the first and the last words of the form.
func (f *messageForm) mayMatch(message string) bool {
	return strings.HasPrefix(message, f.from[0].words) && strings.HasSuffix(message, f.from[len(f.from)-1].words)
}

// argument is an argument of a message. A clause may be a message itself.
type argument struct {
	text     string
	isClause bool
}

// isClause reports whether an argument is at a place that may have a message of its own: at the beginning, or
// behind a colon or a bracket. The others, for example a keyword that was found, are kept unchanged although a
// catalog may have the same word.
func isClause(verb byte, before string, isFirst bool) bool {
	if !strings.ContainsRune("svw", rune(verb)) {
		return false
	}
	before = strings.TrimRight(before, " ")
	for _, mark := range []string{":", "：", "(", "（", ";", "；"} {
		if strings.HasSuffix(before, mark) {
			return true
		}
	}
	return isFirst
}

// hasClauses reports whether a text is several messages in a row.
func hasClauses(text string) bool {
	return strings.Contains(text, "; ") || strings.Contains(text, "；")
}

var (
	wholeNumber = regexp.MustCompile(`^[-+]?\d+$`)
	anyNumber   = regexp.MustCompile(`^[-+]?[\d.]+(e[-+]\d+)?$`)
)

// isWritten reports whether a text is one that the verb writes.
func isWritten(verb byte, text string) bool {
	switch verb {
	case 'd':
		return wholeNumber.MatchString(text)
	case 'f', 'g', 'e':
		return anyNumber.MatchString(text)
	case 't':
		return text == "true" || text == "false"
	case 'q':
		_, err := strconv.Unquote(text)
		return err == nil
	}
	return text != ""
}

// format writes the message in the other language, its clauses restated.
func (f *messageForm) format(args map[int]argument, restateClause func(string) string) string {
	var b strings.Builder
	for _, p := range f.to {
		if p.verb == 0 {
			b.WriteString(p.words)
			continue
		}
		arg := args[p.arg]
		switch {
		case arg.isClause:
			b.WriteString(restateClause(arg.text))
		default:
			b.WriteString(restateType(arg.text))
		}
	}
	return b.String()
}

// restateType returns the name of a type in the other language; any other text stays unchanged.
func restateType(text string) string {
	if zh, ok := chineseTypes[text]; ok {
		return zh
	}
	for en, zh := range chineseTypes {
		if zh == text {
			return en
		}
	}
	return text
}

// messageForms returns the forms of all catalogs. They are made when the first message is restated, which is after the start of the program.
var messageForms = sync.OnceValue(func() (forms struct{ english, chinese *formIndex }) {
	forms.english = newFormIndex([]string{"; ", ": "}, []string{"；", "："})
	forms.chinese = newFormIndex([]string{"；", "："}, []string{"; ", ": "})
	all := chinese()
	for _, en := range slices.Sorted(maps.Keys(all)) {
		if zh := all[en]; zh != en {
			forms.english.add(en, zh)
			forms.chinese.add(zh, en)
		}
	}
	return forms
})

func newFormIndex(separators, others []string) *formIndex {
	return &formIndex{
		fixed: map[string]string{}, byKey: map[string][]*messageForm{}, separators: separators, otherSeparators: others,
	}
}

package rank

import (
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Query is what is asked for.
type Query struct {
	// Text is the question.
	Text string
	// Earlier are what the user said before, the newest last. They help a question
	// that says little by itself.
	Earlier []string
	// Now is the time of the question, for recency and for yesterday.
	Now time.Time
	// Session is the session in which it is asked, or [None].
	Session int32
	// Keep says whether a memory may be found at all; nil: every one.
	Keep func(seq uint32, e Entry) bool
	// Limit is how many memories are wanted.
	Limit int
}

// Term is one term of a query.
type Term struct {
	Text string
	// Weight is 1, or less for what was said before.
	Weight float64
	// Shown is the word as people wrote it.
	Shown string
	// optional terms count only where they are found: identifiers, which have parts,
	// dates, which are compared as such, and words like happen.
	optional bool
	// spaceless says that it is a character or a pair of them.
	spaceless bool
}

// Analysis is a query taken apart.
type Analysis struct {
	Terms []Term
	// When says that the query asks for a time, Newest that it asks how things are now.
	When, Newest bool
	// Speakers are the numbers of the speakers who are named.
	Speakers []int32
	// Chinese says that the query is written in Chinese.
	Chinese bool

	periods []period
}

// fewWords is the number of terms below which a query is helped by what was said
// before, and earlierTurns of how many utterances.
const (
	fewWords      = 3
	earlierTurns  = 3
	earlierWeight = 0.3
	maxTerms      = 256
)

// AnalyzeQuery takes a query apart; speakers are the names of those who said
// something.
func AnalyzeQuery(q *Query, speakers []string) Analysis {
	text := norm.NFKC.String(q.Text)
	a := Analysis{
		When:    englishWhen.MatchString(text) || chineseWhen.MatchString(text),
		Newest:  newest.MatchString(text),
		Chinese: strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Han, r) }),
	}
	var dateless string
	a.periods, dateless = periods(text, q.Now)
	a.takeSpeakers(&dateless, speakers)
	named := a.takeSpeakers(&text, speakers)
	seen := map[string]bool{}
	a.add(dateless, 1, false, seen)
	a.add(text, 1, true, seen)
	if len(a.Terms) == 0 && named != "" && len(a.periods) == 0 {
		a.add(named, 1, false, seen) // better than nothing: others may speak of them
	}
	if content := contentWords(a.Terms); content < fewWords {
		turns := q.Earlier[max(0, len(q.Earlier)-earlierTurns):]
		for _, turn := range slices.Backward(turns) {
			turn = norm.NFKC.String(turn)
			a.takeSpeakers(&turn, speakers)
			a.add(turn, earlierWeight, false, seen)
		}
	}
	return a
}

// contentWords counts the words of a query; two characters are about one.
func contentWords(terms []Term) (n int) {
	for _, t := range terms {
		if !t.spaceless || utf8.RuneCountInString(t.Text) > 1 {
			n++
		}
	}
	return n
}

// add adds the terms of a text that are not there yet.
func (a *Analysis) add(text string, weight float64, optional bool, seen map[string]bool) {
	tokenize(text, func(t token) {
		drop := t.kind == character && stopCharacters[t.term] || t.kind == bigram && questionWords[t.term]
		if drop || seen[t.term] || len(a.Terms) >= maxTerms {
			return
		}
		seen[t.term] = true
		a.Terms = append(a.Terms, Term{
			Text: t.term, Weight: weight, Shown: text[t.start:t.end],
			optional: optional || t.kind == identifier || generalWords[t.term], spaceless: t.kind >= character,
		})
	})
}

var possessive = regexp.MustCompile(`^['’]s\b`)

// takeSpeakers notes the speakers that a text names and takes their names out of
// it: memories are found by who said them, not by the word.
func (a *Analysis) takeSpeakers(text *string, speakers []string) (names string) {
	var out strings.Builder
	for rest := *text; rest != ""; {
		i := strings.IndexFunc(rest, wordRune)
		if i < 0 {
			out.WriteString(rest)
			break
		}
		out.WriteString(rest[:i])
		rest = rest[i:]
		end := strings.IndexFunc(rest, func(r rune) bool { return !wordRune(r) })
		if end < 0 {
			end = len(rest)
		}
		if a.names(rest[:end], speakers) {
			names += " " + rest[:end]
			end += len(possessive.FindString(rest[end:]))
		} else {
			out.WriteString(rest[:end])
		}
		rest = rest[end:]
	}
	*text = out.String()
	for number, speaker := range speakers {
		if r, _ := utf8.DecodeRuneInString(speaker); spaceless(r) && utf8.RuneCountInString(speaker) > 1 && strings.Contains(*text, speaker) {
			a.addSpeaker(int32(number))
			*text = strings.ReplaceAll(*text, speaker, " ")
			names += " " + speaker
		}
	}
	return names
}

// names says whether a word is the name of speakers, and notes them. Mel is short
// for Melanie.
func (a *Analysis) names(w string, speakers []string) (found bool) {
	if first, _ := utf8.DecodeRuneInString(w); stopWords[strings.ToLower(w)] && !unicode.IsUpper(first) {
		return false
	}
	for number, speaker := range speakers {
		for part := range strings.FieldsSeq(speaker) {
			short := (len(w) == 3 || len(w) == 4) && len(part) > len(w) && unicode.IsUpper(rune(w[0])) && !stopWords[strings.ToLower(w)] &&
				strings.EqualFold(part[:len(w)], w)
			if len(w) > 1 && strings.EqualFold(part, w) || short {
				a.addSpeaker(int32(number))
				found = true
			}
		}
	}
	return found
}

func (a *Analysis) addSpeaker(number int32) {
	if !slices.Contains(a.Speakers, number) {
		a.Speakers = append(a.Speakers, number)
	}
}

// date is how well a time fits the times that the query names, 0 to 1.
func (a *Analysis) date(ms int64, in *time.Location) (best float64) {
	if len(a.periods) == 0 {
		return 0
	}
	t := time.UnixMilli(ms).In(in)
	for _, p := range a.periods {
		best = max(best, p.match(t))
	}
	return best
}

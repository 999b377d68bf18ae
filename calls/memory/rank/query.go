package rank

import (
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/callnode/scheduler/calls/date"
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

	periods []date.Period
}

// fewWords is the number of terms below which a query is helped by what was said
// before, and earlierTurns of how many utterances.
const (
	fewWords      = 3
	earlierTurns  = 3
	earlierWeight = 0.3
	maxTerms      = 256
	maxText       = 16 << 10 // bytes that are read of each: more than so many terms need
)

// readable is the normalised text that is read of a question or a turn.
func readable(text string) string {
	return norm.NFKC.String(strings.ToValidUTF8(text[:min(len(text), maxText)], ""))
}

// analyze takes a query apart.
func analyze(q *Query, ix *Index) Analysis {
	text := readable(q.Text)
	a := Analysis{Chinese: strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Han, r) })}
	a.When = englishWhen.MatchString(text) || a.Chinese && chineseWhen.MatchString(text)
	a.Newest = englishNewest.MatchString(text) || a.Chinese && chineseNewest.MatchString(text)
	var dateless string
	a.periods, dateless = date.FindPeriods(text, q.Now)
	a.takeSpeakers(&dateless, ix)
	named, doubtful := a.takeSpeakers(&text, ix)
	seen := map[string]bool{}
	a.add(dateless, 1, false, seen)
	a.add(text, 1, true, seen)
	a.add(doubtful, 1, true, seen)
	if len(a.Terms) == 0 && named != "" && len(a.periods) == 0 {
		a.add(named, 1, false, seen) // better than nothing: others may speak of them
	}
	if content := contentWords(a.Terms); content < fewWords {
		turns := q.Earlier[max(0, len(q.Earlier)-earlierTurns):]
		for _, turn := range slices.Backward(turns) {
			turn = readable(turn)
			a.takeSpeakers(&turn, ix)
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
	if a.Chinese {
		text = asking.ReplaceAllString(text, " ")
	}
	tokenize(text, func(t token) {
		if t.kind == character && stopCharacters[t.term] || seen[t.term] || len(a.Terms) >= maxTerms {
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
// it: memories are found by who said them, not by the word. doubtful are those that
// may be other words: without a capital, or of a speaker who has said only one thing.
func (a *Analysis) takeSpeakers(text *string, ix *Index) (names, doubtful string) {
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
		w := rest[:end]
		if found, oneThing := a.names(w, ix); found {
			names += " " + w
			if r, _ := utf8.DecodeRuneInString(w); oneThing || unicode.IsLower(r) {
				doubtful += " " + w
			}
			end += len(possessive.FindString(rest[end:]))
		} else {
			out.WriteString(w)
		}
		rest = rest[end:]
	}
	*text = out.String()
	for number, speaker := range ix.Speakers {
		if r, _ := utf8.DecodeRuneInString(speaker); spaceless(r) && utf8.RuneCountInString(speaker) > 1 && strings.Contains(*text, speaker) {
			a.addSpeaker(int32(number))
			*text = strings.ReplaceAll(*text, speaker, " ")
			names += " " + speaker
			if ix.heardOnce(int32(number)) {
				doubtful += " " + speaker
			}
		}
	}
	return names, doubtful
}

// names says whether a word is the name of speakers, and notes them; once, whether
// they have said only one thing. Mel is short for Melanie.
func (a *Analysis) names(w string, ix *Index) (found, once bool) {
	if first, _ := utf8.DecodeRuneInString(w); stopWords[strings.ToLower(w)] && !unicode.IsUpper(first) {
		return false, false
	}
	once = true
	for number, speaker := range ix.Speakers {
		for part := range strings.FieldsSeq(speaker) {
			short := (len(w) == 3 || len(w) == 4) && len(part) > len(w) && unicode.IsUpper(rune(w[0])) && !stopWords[strings.ToLower(w)] &&
				strings.EqualFold(part[:len(w)], w)
			if len(w) > 1 && strings.EqualFold(part, w) || short {
				a.addSpeaker(int32(number))
				found, once = true, once && ix.heardOnce(int32(number))
			}
		}
	}
	return found, found && once
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
		best = max(best, matchPeriod(p, t))
	}
	return best
}

package rank

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/callnode/scheduler/calls/internal/date"
	"github.com/callnode/scheduler/llm/value"
)

// Query is a search in one user's memories.
type Query struct {
	// Text is the question.
	Text string
	// Earlier are the user's utterances before the query, the newest last. They supplement a short question.
	Earlier []string
	// Now is the time of the question, for recency and words like yesterday.
	Now time.Time
	// Session is the session of the question, or [None].
	Session int32
	// Keep reports whether a memory may be found; nil admits all.
	Keep func(seq uint32, e Entry) bool
	// SpokenOf returns the numbers of the memories that the matching words of extra texts are about, by the ids of
	// the texts. nil: a text is about all its memories. A text that is missing in the answer is about none in
	// particular.
	SpokenOf func(ctx context.Context, a *Analysis, extras []Extra) (map[string][]uint32, error)
	// Limit is the maximum number of hits.
	Limit int
}

// Term is a term of a query.
type Term struct {
	Text string
	// Weight is 1, or less if the term is from an earlier turn.
	Weight float64
	// Shown is the word as people wrote it.
	Shown string
	// optional terms count only if they are found: identifiers, which have parts, dates,
	// which are compared as such, and general words.
	optional bool
	// isDate reports whether the term is from a time that the query names.
	isDate bool
	// isHoliday reports whether the term is from the name of a holiday, which memories of other days may mention.
	isHoliday bool
	// spaceless reports whether the term is a character or a bigram.
	spaceless bool
	// earlier reports whether the term is from an earlier turn. The question is about a part of that turn, so in a
	// handful of memories the absence of its other terms means little.
	earlier bool
	// weak reports whether the term is too common to find a memory alone, for example 去 or a number.
	weak bool
	// members are the terms of a class that the query names: pizza and soup for food. Such a term has no text.
	members []string
	// isGeneral reports whether it says little, as take and new. A memory is not the less sure without it.
	isGeneral bool
	// isEnding reports whether the members are the words of endings.
	isEnding bool
}

// texts returns the terms whose postings count for a term.
func (t *Term) texts() []string {
	if len(t.members) > 0 {
		return t.members
	}
	return []string{t.Text}
}

// Analysis is an analyzed query. [Search] makes it; it does not change.
type Analysis struct {
	Terms []Term
	// When reports whether the query asks for a time, Newest whether it asks for the
	// present state.
	When, Newest bool
	// Speakers are the numbers of the speakers that the query names.
	Speakers []int32
	// Still reports whether the query asks if something goes on: "do I still smoke", 我还抽烟吗. A memory that says that it has
	// ended is the answer, although the older ones have more of its words.
	Still bool
	// Chinese reports whether the query has Chinese characters.
	Chinese bool

	// onlyNames is set if the terms of scripts without spaces are of another language than the
	// memories, and do not count. [Search] sets it.
	onlyNames bool

	periods []date.Period
	dates   []string // by which the query names them
	texts   []string // whose terms are in Terms, normalized
}

// fewWords is the number of terms below which earlier utterances help a query, and earlierTurns the number of
// utterances used.
const (
	fewWords      = 3
	earlierTurns  = 3
	earlierWeight = 0.3
	ownedWeight   = 1.3
	maxTerms      = 256
	maxText       = 16 << 10 // bytes that are read of each text: more than maxTerms terms need
)

// normalizeQuery returns the normalized text of a question or a turn, cut to maxText.
func normalizeQuery(text string) string {
	return norm.NFKC.String(strings.ToValidUTF8(text[:min(len(text), maxText)], ""))
}

// analyzeQuery extracts terms, speakers and periods of a query.
func analyzeQuery(q *Query, ix *Index) Analysis {
	text := normalizeQuery(q.Text)
	a := Analysis{texts: []string{text}, Chinese: strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Han, r) })}
	asksWhenInChinese := a.Chinese && chineseWhen().MatchString(text)
	asksHabit := englishHabit().MatchString(text) // "twice a day" answers it, and not memories about today
	a.When = asksWhenInChinese || !asksHabit && englishWhen().MatchString(text)
	asksNewestInChinese := a.Chinese && chineseNewest().MatchString(text)
	a.Newest = asksNewestInChinese || englishNewest().MatchString(text)
	a.Still = englishStill().MatchString(text) || a.Chinese && chineseStill().MatchString(text)
	question, talk := splitQuestion(text)
	var dateless, undated string
	a.periods, dateless = date.FindPeriods(question, q.Now)
	dates := blankOut(question, dateless)
	if talk != "" {
		undated = a.addPastPeriods(talk, q.Now)
	}
	a.dates = splitDates(dates)
	if len(a.periods) > 0 {
		dateless = dayQuestion().ReplaceAllString(dateless, " ")
	}
	named, doubtful := a.extractSpeakers(&dateless, ix)
	a.extractSpeakers(&undated, ix)
	seen := map[string]bool{}
	a.addTerms(dateless, 1, false, seen)
	if !slices.ContainsFunc(a.Terms, func(t Term) bool { return !t.optional }) {
		a.addTerms(undated, 1, false, seen)
	}
	ownTerms := len(a.Terms)
	a.addTerms(dates, 1, true, seen)
	holidays := strings.Join(date.Holidays(dates), " ")
	for i := range a.Terms[ownTerms:] {
		t := &a.Terms[ownTerms+i]
		t.isDate, t.isHoliday = true, strings.Contains(holidays, t.Shown)
	}
	a.addTerms(doubtful, 1, true, seen)
	a.addClasses(a.Terms[:ownTerms])
	if a.Still {
		a.Terms = append(a.Terms, Term{Weight: 1, optional: true, isEnding: true, members: endings()})
	}
	a.addTalk(undated, seen)
	if len(a.Terms) == 0 && named != "" && len(a.periods) == 0 {
		a.addTerms(named, 1, false, seen) // better than nothing: memories of other speakers may mention them
	}
	if content := contentWords(a.Terms); content < fewWords {
		weight := earlierWeight
		if content == 0 && len(a.periods) == 0 { // only pronouns: it refers to earlier utterances
			weight = 1
		}
		turns := q.Earlier[max(0, len(q.Earlier)-earlierTurns):]
		for _, turn := range slices.Backward(turns) {
			turn = normalizeQuery(turn)
			a.texts = append(a.texts, turn)
			a.extractSpeakers(&turn, ix)
			known := len(a.Terms)
			a.addTerms(turn, weight, false, seen)
			for i := range a.Terms[known:] {
				t := &a.Terms[known+i]
				t.earlier, t.weak = true, t.weak || t.spaceless && isFragmentIn(t.Text, turn)
			}
			weight = earlierWeight
		}
	}
	return a
}

// addPastPeriods adds the times that the talk around a question names, if the question names none. A future time,
// for example in "she comes tomorrow", says nothing about memories. It returns the talk without times.
func (a *Analysis) addPastPeriods(talk string, now time.Time) (rest string) {
	periods, rest := date.FindPeriods(talk, now)
	if len(a.periods) == 0 {
		a.periods = slices.DeleteFunc(periods, func(p date.Period) bool { return p.Start.After(now) })
	}
	return rest
}

// addTalk adds the words of the talk around a question. They only affect the order of the memories that the
// question finds.
func (a *Analysis) addTalk(talk string, seen map[string]bool) {
	known := len(a.Terms)
	a.addTerms(talk, earlierWeight, true, seen)
	for i := range a.Terms[known:] {
		t := &a.Terms[known+i]
		t.earlier, t.weak = true, t.weak || t.spaceless && isFragmentIn(t.Text, talk)
	}
}

// blankOut returns text with spaces in place of the parts that rest still has; both have the same length.
func blankOut(text, rest string) string {
	if text == rest {
		return ""
	}
	b := []byte(text)
	for i := range b {
		if rest[i] == text[i] {
			b[i] = ' '
		}
	}
	return string(b)
}

// splitDates splits a text in which only dates are left.
func splitDates(text string) (dates []string) {
	for part := range strings.SplitSeq(text, "  ") {
		part = strings.TrimSpace(part)
		if part != "" {
			dates = append(dates, part)
		}
	}
	return dates
}

// contentWords counts the words of a query; a bigram counts as one.
func contentWords(terms []Term) (n int) {
	for _, t := range terms {
		if !t.spaceless || utf8.RuneCountInString(t.Text) > 1 {
			n++
		}
	}
	return n
}

// addTerms adds the new terms of a text.
func (a *Analysis) addTerms(text string, weight float64, optional bool, seen map[string]bool) {
	if a.Chinese {
		text = questionWords().ReplaceAllString(text, " ")
	}
	tokenize(text, func(t token) {
		if t.kind == character && (optional || isCommonCharacter(t.term)) {
			return
		}
		if seen[t.term] || len(a.Terms) >= maxTerms {
			return
		}
		seen[t.term] = true
		isGeneral := t.kind == identifier || generalWords(t.term)
		if t.kind == bigram {
			isGeneral = isGeneral || hasStopCharacter(t.term)
		}
		weight := weight
		if !optional && isOwned(text[:t.start]) {
			weight *= ownedWeight
		}
		a.Terms = append(a.Terms, Term{
			Text: t.term, Weight: weight, Shown: text[t.start:t.end],
			optional: optional || isGeneral, isGeneral: generalWords(t.term), spaceless: t.kind >= character, weak: isWeakToken(t),
		})
	})
}

// isOwned reports whether the next word after a text is something of the asker's own, as in "do I take my
// antibiotics before coffee": the question is about that.
func isOwned(before string) bool {
	before = strings.ToLower(before)
	for _, owner := range []string{"my ", "our "} {
		rest, ok := strings.CutSuffix(before, owner)
		if ok && (rest == "" || strings.HasSuffix(rest, " ")) {
			return true
		}
	}
	return strings.HasSuffix(before, "我的")
}

// addClasses adds the members of the classes that terms name.
func (a *Analysis) addClasses(named []Term) {
	for _, t := range named {
		members := classes()[t.Text]
		if len(members) > 0 && len(a.Terms) < maxTerms {
			a.Terms = append(a.Terms, Term{Weight: 1, Shown: t.Shown, optional: true, spaceless: t.spaceless, members: members})
		}
	}
}

// isWeakToken reports whether a token is too common to find a memory by it alone.
func isWeakToken(t token) bool {
	if t.kind == word {
		return isCommonNumber(t.term)
	}
	if t.kind == character || t.kind == bigram {
		return strings.IndexFunc(t.term, func(r rune) bool { return !isCommonCharacter(string(r)) && !strings.ContainsRune(lightCharacters, r) }) < 0
	}
	return false
}

// isCommonNumber reports whether a word is a number that texts about anything have: one of up to
// two digits, a round one or a year.
func isCommonNumber(w string) bool {
	if strings.ContainsFunc(w, func(r rune) bool { return r < '0' || r > '9' }) {
		return false
	}
	isYear := len(w) == 4 && (strings.HasPrefix(w, "19") || strings.HasPrefix(w, "20"))
	return len(w) <= 2 || isYear || strings.HasSuffix(w, "00")
}

// hasStopCharacter reports whether a bigram has a character without meaning, so that it
// is not a word.
func hasStopCharacter(bigram string) bool {
	for _, r := range bigram {
		if stopCharacters(string(r)) {
			return true
		}
	}
	return false
}

var possessive = value.CompileLater(`^['’]s\b`)

// extractSpeakers removes the names of speakers from a text and notes the speakers:
// memories are found by their speaker, not by the word. doubtful are names that may be
// other words: without a capital, or of a speaker with a single memory.
func (a *Analysis) extractSpeakers(text *string, ix *Index) (names, doubtful string) {
	var out strings.Builder
	for rest := *text; rest != ""; {
		i := strings.IndexFunc(rest, isWordRune)
		if i < 0 {
			out.WriteString(rest)
			break
		}
		out.WriteString(rest[:i])
		rest = rest[i:]
		end := strings.IndexFunc(rest, func(r rune) bool { return !isWordRune(r) })
		if end < 0 {
			end = len(rest)
		}
		w := rest[:end]
		if found, oneThing := a.matchSpeakers(w, ix); found {
			names += " " + w
			if r, _ := utf8.DecodeRuneInString(w); oneThing || unicode.IsLower(r) {
				doubtful += " " + w
			}
			end += len(possessive().FindString(rest[end:]))
		} else {
			out.WriteString(w)
		}
		rest = rest[end:]
	}
	*text = out.String()
	for number, speaker := range ix.Speakers {
		if r, _ := utf8.DecodeRuneInString(speaker); isSpaceless(r) && utf8.RuneCountInString(speaker) > 1 && strings.Contains(*text, speaker) {
			a.addSpeaker(int32(number))
			*text = strings.ReplaceAll(*text, speaker, " ")
			names += " " + speaker
			if ix.saidOnlyOne(int32(number)) {
				doubtful += " " + speaker
			}
		}
	}
	return names, doubtful
}

// matchSpeakers notes the speakers with that name, or a longer one, for example Melanie for Mel. once reports
// whether each of them has a single memory.
func (a *Analysis) matchSpeakers(w string, ix *Index) (found, once bool) {
	if first, _ := utf8.DecodeRuneInString(w); stopWords(strings.ToLower(w)) && !unicode.IsUpper(first) {
		return false, false
	}
	once = true
	for number, speaker := range ix.Speakers {
		for part := range strings.FieldsSeq(speaker) {
			isName := len(w) > 1 && strings.EqualFold(part, w)
			if isName || isShortName(w, part) {
				a.addSpeaker(int32(number))
				found, once = true, once && ix.saidOnlyOne(int32(number))
			}
		}
	}
	return found, found && once
}

// isShortName reports whether w is a short form of a name, as Mel of Melanie.
func isShortName(w, name string) bool {
	if len(w) < 3 || len(w) > 4 || len(name) <= len(w) {
		return false
	}
	if !unicode.IsUpper(rune(w[0])) || stopWords(strings.ToLower(w)) {
		return false
	}
	return strings.EqualFold(name[:len(w)], w)
}

func (a *Analysis) addSpeaker(number int32) {
	if !slices.Contains(a.Speakers, number) {
		a.Speakers = append(a.Speakers, number)
	}
}

// dateMatch returns how well a time matches the periods that the query names, 0 to 1, and whether one of them
// contains it.
func (a *Analysis) dateMatch(ms int64, in *time.Location) (best float64, within bool) {
	if len(a.periods) == 0 {
		return 0, false
	}
	t := time.UnixMilli(ms).In(in)
	for _, p := range a.periods {
		fit, isWithin := matchPeriod(p, t)
		best, within = max(best, fit), within || isWithin
	}
	return best, within
}

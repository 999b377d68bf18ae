package facts

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/callnode/scheduler/calls/internal/date"
)

// Extract reads the facts that a text states. Its time is proportional to the text's length, and the same text
// always states the same.
func Extract(t *Text) Reading {
	e := extractor{text: t, source: newSource(t), speaker: Self}
	if t.Speaker != "" {
		e.speaker = FoldName(t.Speaker)
	}
	e.isUtterance = t.Role == "user" || t.Speaker != "" && (t.Role == "" || t.Admitted)
	isOther := t.Role != "" && t.Role != "user"
	if isOther && !t.Admitted || len(e.speaker) > MaxSubject {
		return Reading{}
	}
	e.isUtterance = e.isUtterance || isOther
	saysI := english().find("first", e.source.lower) != nil || chinese().find("first", e.source.lower) != nil
	if !e.isUtterance && !saysI {
		return Reading{}
	}
	clauses := 0
	for _, s := range e.source.splitSentences() {
		if s.asks {
			continue
		}
		language := english()
		if strings.ContainsFunc(e.source.lower[s.span.Start:s.span.End], isHan) {
			language = chinese()
		}
		s.clauses = e.source.splitClauses(s.span, language)
		clauses += len(s.clauses)
		if clauses > MaxClauses {
			s.clauses = s.clauses[:max(0, len(s.clauses)-clauses+MaxClauses)]
		}
		e.readSentence(&s, language)
		if clauses >= MaxClauses || len(e.out.Facts) >= MaxFacts {
			break
		}
	}
	e.out.Facts = e.out.Facts[:min(len(e.out.Facts), MaxFacts)]
	for i := range e.out.Facts {
		e.out.Facts[i].N = i
	}
	return e.out
}

func isHan(r rune) bool { return unicode.Is(unicode.Han, r) }

// FoldName returns the name of a speaker as the subject of facts.
func FoldName(name string) string { return strings.ToLower(strings.Join(strings.Fields(name), " ")) }

// extractor reads one text. One goroutine uses it.
type extractor struct {
	text        *Text
	source      *source
	speaker     string
	isUtterance bool
	subject     string // the clause before's, for clauses without one
	named       string // the person that he or she means
	sentence    Span
	noun        Span // the noun that changed, according to the clause before
	out         Reading
}

// clause is a clause that is being read, for example "now I live in Rome".
type clause struct {
	span    Span // of the whole
	body    Span // without interjections and times at the beginning
	tail    Span // the predicate: without subject and auxiliaries
	subject string
	elided  bool // the clause has no subject
	table   *table
	aux     auxiliaries
}

// auxiliaries says which words stand before the predicate, for example not, have or used to.
type auxiliaries struct{ copula, negated, past, perfect, ended bool }

func (e *extractor) readSentence(s *sentence, language *table) {
	e.subject, e.named, e.noun, e.sentence = "", "", Span{}, s.span
	text := e.source.lower
	e.readFix(s.span, language)
	for _, span := range s.clauses {
		if language.find("modal", text[span.Start:span.End]) != nil {
			return
		}
		c := &clause{span: span, table: language}
		e.readCue(c)
		c.body = e.trim(e.strip(span, language))
		if c.body.Start >= c.body.End || e.readCarried(c) {
			continue
		}
		if language.spaced {
			e.readEnglish(c)
		} else {
			e.readChinese(c)
		}
	}
}

// trim cuts spaces at both ends.
func (e *extractor) trim(s Span) Span {
	text := e.source.lower
	for s.Start < s.End && text[s.Start] == ' ' {
		s.Start++
	}
	for s.End > s.Start && text[s.End-1] == ' ' {
		s.End--
	}
	return s
}

// strip cuts interjections, times and adverbs at the beginning.
func (e *extractor) strip(s Span, t *table) Span {
	for {
		s = e.trim(s)
		m := t.find("strip", e.source.lower[s.Start:s.End])
		if len(m) == 0 || m[1] == 0 {
			return s
		}
		s.Start += m[1]
	}
}

// readCue notes a clause that begins as a correction does and has a number: it corrects the utterance just before.
func (e *extractor) readCue(c *clause) {
	text := e.source.lower[c.span.Start:c.span.End]
	cue := c.table.find("cue", text)
	if !e.isUtterance || cue == nil {
		return
	}
	rest := e.source.lower[c.span.Start+cue[1] : len(e.source.lower)]
	if old := c.table.patterns["number"].FindStringIndex(rest); len(old) > 0 && old[0] < 80 {
		at := c.span.Start + cue[1]
		e.add(c, &Fact{Subject: e.speaker, Attribute: LinkOf, Kind: Correction}, Span{at + old[0], at + old[1]})
	}
}

// readFix reads a sentence that corrects a value which it names: 43, not 42.
func (e *extractor) readFix(of Span, t *table) {
	if !e.isUtterance {
		return
	}
	text := e.source.lower[of.Start:of.End]
	for _, p := range t.fixes {
		m := p.FindStringSubmatchIndex(text)
		if m == nil {
			continue
		}
		v, _ := groupOf(p, m, "v")
		o, hasOld := groupOf(p, m, "o")
		isBad := t.find("badvalue", text[v.Start:v.End]) != nil || t.find("badvalue", text[o.Start:max(o.Start, o.End)]) != nil
		if !hasOld || isBad || v.Start >= v.End {
			continue
		}
		c := &clause{span: of, table: t}
		old := strings.TrimSpace(e.source.raw[of.Start+o.Start : of.Start+o.End])
		e.add(c, &Fact{Subject: e.speaker, Attribute: LinkOf, Kind: Correction, Old: old}, Span{of.Start + v.Start, of.Start + v.End})
		return
	}
}

// readCarried reads the value in a clause whose noun is in the clause before: "we changed internet providers, it's
// Vodafone now". It reports whether it found one.
func (e *extractor) readCarried(c *clause) bool {
	text := e.source.lower[c.body.Start:c.body.End]
	carry, carried := c.table.patterns["carry"], c.table.patterns["carried"]
	if e.noun.End > 0 && e.isUtterance {
		if m := carried.FindStringSubmatchIndex(text); m != nil {
			v, _ := groupOf(carried, m, "v")
			f := &Fact{Attribute: Noun, Kind: Change}
			at := e.cutValue(Span{c.body.Start + v.Start, c.body.Start + v.End}, c.table)
			return e.setTopic(f, c, e.noun, at) && e.add(c, f, at)
		}
	}
	e.noun = Span{}
	if m := carry.FindStringSubmatchIndex(text); m != nil {
		n, _ := groupOf(carry, m, "n")
		e.noun = Span{c.body.Start + n.Start, c.body.Start + n.End}
	}
	return false
}

// add notes a fact, if its bounds are kept, and reports whether it has.
func (e *extractor) add(c *clause, f *Fact, at Span) bool {
	at = e.trim(at)
	isTooLong := at.End-at.Start > MaxValue || len(f.Subject) > MaxSubject
	if isTooLong || at.Start >= at.End || f.Subject == "" || len(e.out.Facts) >= MaxFacts {
		return false
	}
	if slices.ContainsFunc(e.out.Facts, func(o Fact) bool {
		return o.Attribute == f.Attribute && o.Topic == f.Topic && o.Subject == f.Subject && o.ValueSpan == at
	}) {
		return false
	}
	f.Value, f.ValueSpan, f.ClauseSpan, f.By = e.source.raw[at.Start:at.End], at, c.span, By
	f.Said, f.From = e.text.Time, e.text.Time
	e.out.Facts = append(e.out.Facts, *f)
	return true
}

// setTimes sets when a fact began and ended, if its clause names a time. Times that are the value, as of a
// meeting, are no such times.
func (e *extractor) setTimes(f *Fact, c *clause) {
	if f.Attribute == Noun || f.Attribute == Amount || f.Kind == Correction {
		return
	}
	text := e.source.raw[c.span.Start:f.ValueSpan.Start] + strings.Repeat(" ", len(f.Value)) + e.source.raw[f.ValueSpan.End:max(c.span.End, f.ValueSpan.End)]
	if !date.MentionsTime(text) { // which costs less
		return
	}
	periods, _ := date.FindPeriods(text, e.text.Time)
	if len(periods) == 0 {
		return
	}
	p := periods[0]
	isNear := p.Precision <= date.Relative && p.End.After(e.text.Time.AddDate(0, 0, -1).Add(time.Hour)) && p.Start.YearDay() == e.text.Time.YearDay() // today, this morning
	if p.Start.After(e.text.Time) || isNear {
		return
	}
	isSpan := f.Kind != Change && p.Precision >= date.Month && c.table.find("span", foldASCII(text)) != nil
	isWhole := p.Precision == date.Month || p.Precision == date.Year
	f.Precision = int(p.Precision)
	switch {
	case isSpan && p.End.Before(e.text.Time):
		f.Kind, f.From, f.To = Past, p.Start, p.End
	case p.Precision == date.Open:
		f.From = p.Start
		if p.End.Before(e.text.Time) { // until a time
			f.Kind, f.From, f.To = Past, p.End.AddDate(-1, 0, 0), p.End
		}
	case f.Kind == Past, f.Kind == State && isWhole && p.End.Before(e.text.Time) && !c.aux.perfect:
		f.Kind, f.From, f.To = Past, p.Start, p.End
	default:
		f.From = p.Start
	}
	if f.From.Before(e.text.Time.Add(-80 * 365 * 24 * time.Hour)) {
		f.From = e.text.Time
	}
}

// applyRules tries the rules whose words the clause has. It reports whether one of them read a fact. isNamed
// leaves out rules that read the whole clause, because its subject is a name.
func (e *extractor) applyRules(c *clause, isNamed bool) (found bool) {
	seen := map[string]bool{}
	for _, n := range c.table.candidates(e.source.lower[c.body.Start:c.body.End]) {
		r := c.table.rules[n]
		isOther := r.copula && !c.aux.copula || r.negated != (c.aux.negated && !c.aux.ended) || !r.wholeClause && c.subject == ""
		isOther = isOther || c.elided && !r.wholeClause && r.kind == State && c.table.explicit[r.attribute]
		if seen[r.attribute] || isOther || isNamed && r.wholeClause {
			continue
		}
		if r.attribute == Noun && !c.table.spaced && (c.aux.ended || c.table.find("ending", e.source.lower[c.body.Start:c.body.End]) != nil) {
			continue
		}
		of := c.tail
		if r.wholeClause {
			of = c.body
			isOwned := e.isUtterance || c.table.find("owned", e.source.lower[of.Start:of.End]) != nil
			if !isOwned { // in a document, "the" may mean any person's
				continue
			}
		}
		if e.applyRule(c, r, of) {
			seen[r.attribute], found = true, true
		}
	}
	return found
}

// candidates returns the rules whose words a clause has, in their order.
func (t *table) candidates(text string) (numbers []int) {
	numbers = slices.Clone(t.always)
	if t.spaced {
		for _, w := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' }) {
			numbers = append(numbers, t.byWord[w]...)
		}
	} else {
		for w, list := range t.byWord {
			if strings.Contains(text, w) {
				numbers = append(numbers, list...)
			}
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

// applyRule tries one rule.
func (e *extractor) applyRule(c *clause, r *rule, of Span) bool {
	text := e.source.lower[of.Start:of.End]
	m := r.pattern().FindStringSubmatchIndex(text)
	if m == nil {
		return false
	}
	group := func(name string) (Span, bool) {
		i := r.pattern().SubexpIndex(name)
		if i < 0 || m[2*i] < 0 {
			return Span{}, false
		}
		return Span{of.Start + m[2*i], of.Start + m[2*i+1]}, true
	}
	value, hasValue := group("v")
	if !hasValue {
		value = Span{of.Start + m[0], of.Start + m[1]}
	}
	value = e.cutValue(value, c.table)
	if !e.isWanted(value, r.checks) {
		return false
	}
	isBad := r.kind == State && c.table.find("badvalue", e.source.lower[value.Start:value.End]) != nil
	if isBad && (c.table.explicit[r.attribute] || r.attribute == Noun) {
		return false
	}
	f := &Fact{Subject: c.subject, Attribute: r.attribute, Kind: r.kind}
	if r.wholeClause {
		f.Subject = e.speaker
	}
	if old, ok := group("o"); ok {
		f.Old = e.source.raw[old.Start:old.End]
	}
	if noun, ok := group("n"); ok && !e.setTopic(f, c, noun, value) {
		return false
	}
	c.aux.applyTo(f)
	if f.Subject == "" {
		f.Subject = e.speaker
	}
	if !e.add(c, f, value) {
		return false
	}
	e.setTimes(&e.out.Facts[len(e.out.Facts)-1], c)
	return true
}

// applyTo changes the kind of a fact by the words before its predicate.
func (a *auxiliaries) applyTo(f *Fact) {
	switch {
	case a.ended:
		f.Kind = End
	case a.past && f.Kind == State && !a.perfect && f.Attribute != Noun:
		f.Kind = Past
	}
}

// setTopic reads the noun that a fact is about. It reports whether the value may be one of it.
func (e *extractor) setTopic(f *Fact, c *clause, noun, value Span) bool {
	text := e.source.lower[noun.Start:noun.End]
	if owner, rest, ok := strings.Cut(text, "'s "); ok && c.table.spaced {
		if first, _ := utf8.DecodeRuneInString(e.source.raw[noun.Start:]); unicode.IsUpper(first) {
			f.Subject, text = FoldName(owner), rest
		}
	}
	if f.Subject == "" {
		f.Subject = e.speaker
	}
	topic := c.table.topicOf(text)
	if topic == "" {
		return false
	}
	f.Topic = topic
	if attribute, ok := c.table.attributeOf(topic); ok {
		f.Attribute, f.Topic = attribute, ""
		if checks := c.table.valid[attribute]; len(checks) > 0 {
			return checks[0] == "*" || e.isWanted(value, checks)
		}
	}
	isNamed := e.isOf(value, "num") || e.isOf(value, "name") || startsWithDeterminer(lastWord(e.source.lower[:value.Start]))
	return isNamed || !c.table.spaced || c.table.takesWords(text)
}

// topicOf returns the topic of a noun phrase; "" if the phrase is not a topic.
func (t *table) topicOf(noun string) string {
	if !t.spaced {
		noun = strings.Trim(noun, " 的")
		for _, end := range []string{"时间", "日期"} {
			noun = strings.TrimSuffix(noun, end)
		}
		n := utf8.RuneCountInString(noun)
		if n < 2 || n > 12 || t.find("badnoun", noun) != nil {
			return ""
		}
		if same, ok := t.synonyms[noun]; ok {
			return same
		}
		return noun
	}
	if t.find("badnoun", noun) != nil {
		return ""
	}
	stems := slices.DeleteFunc(t.stems(noun), func(s string) bool { return t.sets["adjective"][s] })
	if len(stems) == 0 || len(stems) > 4 {
		return ""
	}
	return strings.Join(stems, topicSep)
}

// attributeOf returns the attribute whose facts a noun has.
func (t *table) attributeOf(topic string) (string, bool) {
	a, ok := t.topics()[topic]
	return a, ok
}

// takesWords reports whether a plain word may be the value of a noun, as of a favourite colour.
func (t *table) takesWords(noun string) bool {
	for _, s := range t.stems(noun) {
		if t.sets["wordnoun"][s] {
			return true
		}
	}
	return false
}

// cutValue cuts determiners before a value and the words behind it, for example "since May".
func (e *extractor) cutValue(s Span, t *table) Span {
	s = e.trim(s)
	if m := t.find("lead", e.source.lower[s.Start:s.End]); len(m) > 0 && m[0] == 0 && m[1] < s.End-s.Start {
		s.Start += m[1]
	}
	if m := t.find("cut", e.source.lower[s.Start:s.End]); len(m) > 0 && m[0] > 0 {
		s.End = s.Start + m[0]
	}
	return e.trim(s)
}

// isWanted reports whether the checks of a rule admit a value.
func (e *extractor) isWanted(s Span, checks []string) bool {
	if s.Start >= s.End {
		return false
	}
	if len(checks) == 0 || checks[0] == "" {
		return true
	}
	needed, has := false, false
	for _, name := range checks {
		plain, isNegative := strings.CutPrefix(name, "!")
		is := e.isOf(s, plain)
		if isNegative && is {
			return false
		}
		needed, has = needed || !isNegative, has || is
	}
	return has || !needed
}

// isOf reports whether a value has a word of a set, or is a name or a number.
func (e *extractor) isOf(s Span, name string) bool {
	raw, lower := e.source.raw[s.Start:s.End], e.source.lower[s.Start:s.End]
	switch name {
	case "name":
		return strings.ContainsFunc(raw, unicode.IsUpper) || strings.Contains(raw, "《")
	case "num":
		return hasNumber(lower)
	}
	return english().hasWordOf(name, lower) || chinese().hasWordOf(name, lower)
}

// hasWordOf reports whether a text has a word of a set.
func (t *table) hasWordOf(set, lower string) bool {
	for w := range t.sets[set] {
		if !t.spaced && strings.Contains(lower, w) {
			return true
		}
		if i := strings.Index(lower, w); t.spaced && i >= 0 && isWordAt(lower, i, i+len(w)) {
			return true
		}
	}
	return false
}

// isWordAt reports whether a part of a text is whole words, or their plural.
func isWordAt(text string, start, end int) bool {
	isLetter := func(i int) bool { return i >= 0 && i < len(text) && unicode.IsLetter(rune(text[i])) }
	return !isLetter(start-1) && (!isLetter(end) || text[end] == 's' && !isLetter(end+1))
}

func lastWord(text string) string {
	text = strings.TrimRight(text, " ")
	return text[strings.LastIndex(text, " ")+1:]
}

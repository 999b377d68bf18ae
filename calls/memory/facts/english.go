package facts

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// readEnglish reads an English clause: its subject, the auxiliaries, and then the predicate by the rules.
func (e *extractor) readEnglish(c *clause) {
	c.tail = c.body
	e.readSubject(c)
	e.readAuxiliaries(c)
	if e.applyRules(c, false) {
		return
	}
	e.readEnding(c)
	e.readAmount(c)
}

// readSubject reads who a clause is about, and moves the predicate behind it. A clause without a subject has the
// subject of the clause before, or in an utterance the speaker.
func (e *extractor) readSubject(c *clause) {
	text, raw := e.source.lower[c.body.Start:c.body.End], e.source.raw[c.body.Start:c.body.End]
	take := func(subject string, n int) {
		c.subject, e.subject = subject, subject
		c.tail.Start += n
		c.tail = e.trim(c.tail)
	}
	if m := c.table.find("self", text); m != nil {
		take(e.speaker, m[1])
		return
	}
	if m := c.table.patterns["relation"].FindStringSubmatchIndex(text); m != nil {
		e.readRelation(c, m, take)
		return
	}
	if n := c.table.nameLength(raw, text); n > 0 {
		e.named = FoldName(raw[:n])
		take(e.named, n)
		return
	}
	if m := c.table.find("third", text); m != nil {
		if e.named != "" {
			take(e.named, m[1])
		} else {
			e.subject = "-"
		}
		return
	}
	if c.table.find("noself", text) != nil {
		e.subject = "-"
		return
	}
	switch {
	case e.subject == "-":
	case e.subject != "":
		c.subject = e.subject
	case e.isUtterance:
		c.subject, c.elided = e.speaker, true
	}
}

// readRelation reads a subject such as "my sister" or "my sister Anna"; the second says that both are the same
// person.
func (e *extractor) readRelation(c *clause, m []int, take func(string, int)) {
	text, raw := e.source.lower[c.body.Start:c.body.End], e.source.raw[c.body.Start:c.body.End]
	subject, end := "my "+text[m[2]:m[3]], m[1]
	rest := raw[end:]
	lead := len(rest) - len(strings.TrimLeft(rest, " ,"))
	first, _ := utf8.DecodeRuneInString(rest[lead:])
	if unicode.IsUpper(first) {
		n := strings.IndexFunc(rest[lead:], func(r rune) bool { return !unicode.IsLetter(r) && r != '-' })
		if n < 0 {
			n = len(rest) - lead
		}
		name := FoldName(rest[lead : lead+n])
		if len(name) <= MaxSubject && len(e.out.Aliases) < MaxFacts {
			e.out.Aliases = append(e.out.Aliases, Alias{Alias: subject, Name: name})
		}
		subject, end = name, end+lead+n
	}
	if strings.HasPrefix(text[end:], "'s ") || strings.HasPrefix(text[end:], "’s ") && c.table.find("aux", text[end:]) == nil {
		return // a noun of hers
	}
	e.named = subject
	take(subject, end)
}

// nameLength returns the length of the name at the beginning of a clause; 0 if it begins otherwise. A verb must
// follow the name.
func (t *table) nameLength(raw, lower string) int {
	first, _ := utf8.DecodeRuneInString(raw)
	if !unicode.IsUpper(first) {
		return 0
	}
	end := strings.IndexFunc(raw, func(r rune) bool { return !unicode.IsLetter(r) && r != '-' })
	if end < 2 {
		return 0
	}
	word := lower[:end]
	if t.sets["noname"][word] || strings.HasSuffix(word, "ing") || len(t.byWord[word]) > 0 {
		return 0
	}
	rest := lower[end:]
	if strings.HasPrefix(rest, "'s ") || strings.HasPrefix(rest, "’s ") {
		return end
	}
	next, _, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
	if t.sets["plural"][next] { // friends like you
		return 0
	}
	if t.sets["aux"][next] || t.sets["adverb"][next] || len(t.byWord[next]) > 0 {
		return end
	}
	return 0
}

// readAuxiliaries moves the predicate behind the auxiliaries and adverbs.
func (e *extractor) readAuxiliaries(c *clause) {
	for {
		c.tail = e.trim(c.tail)
		text := e.source.lower[c.tail.Start:c.tail.End]
		m := c.table.find("aux", text)
		if len(m) == 0 || m[1] == 0 {
			break
		}
		word := strings.ReplaceAll(strings.TrimSpace(text[:m[1]]), "’", "'")
		next, _, _ := strings.Cut(strings.TrimSpace(text[m[1]:]), " ")
		if c.table.find("have", word) != nil && (startsWithDeterminer(next) || c.table.sets["number"][next]) {
			break // to own
		}
		c.aux.note(word)
		c.tail.Start += m[1]
	}
	if c.aux.negated && c.table.find("nolonger", e.source.lower[c.body.Start:c.body.End]) != nil {
		c.aux.ended = true
	}
}

func (a *auxiliaries) note(word string) {
	switch word {
	case "am", "'m", "is", "'s", "are", "'re", "be", "been", "being", "was", "were", "im":
		a.copula = true
	case "have", "has", "'ve", "'d", "had", "ive":
		a.perfect = true
	case "no longer":
		a.ended = true
	}
	if word == "was" || word == "were" || word == "used to" || word == "did" || word == "once" {
		a.past = true
	}
	if word == "isn't" || word == "aren't" || word == "ain't" {
		a.copula = true
	}
	isNegation := word == "not" || word == "never" || strings.HasSuffix(word, "n't") || word == "dont"
	if isNegation {
		a.negated = true
	}
}

// readEnding reads that something stopped, such as "cancelled the newspaper". Its topic is the words behind the verb.
func (e *extractor) readEnding(c *clause) {
	text := e.source.lower[c.tail.Start:c.tail.End]
	m := c.table.find("ending", text)
	if c.subject == "" || c.aux.negated && !c.aux.ended {
		return
	}
	at := c.tail
	switch {
	case len(m) > 0 && m[0] == 0:
		at.Start += m[1]
	case c.aux.ended:
	default:
		return
	}
	at = e.cutValue(at, c.table)
	topic := e.endingTopic(at)
	if topic == "" {
		return
	}
	e.add(c, &Fact{Subject: c.subject, Attribute: Ending, Topic: topic, Kind: End}, at)
}

// maxTopic is the number of stems of a topic.
const maxTopic = 8

func (e *extractor) endingTopic(at Span) string {
	stems := stemsOf(e.source.lower[at.Start:at.End])
	if len(stems) == 0 || len(stems) > maxTopic {
		return ""
	}
	return strings.Join(stems, topicSep)
}

// readAmount reads a number with the words of its clause, such as "worn the boots nine times".
func (e *extractor) readAmount(c *clause) {
	text := e.source.lower[c.body.Start:c.body.End]
	m := c.table.patterns["number"].FindStringIndex(text)
	isOther := c.subject == "" && e.subject == "-"
	if m == nil || !e.isUtterance || isOther || c.aux.negated {
		return
	}
	subject := c.subject
	if subject == "" {
		subject = e.speaker
	}
	at := Span{c.body.Start + m[0], c.body.Start + m[1]}
	if first, _ := utf8.DecodeRuneInString(e.source.raw[at.Start:]); unicode.IsLower(first) && strings.ContainsAny(e.source.raw[at.Start:at.End], "0123456789") && !unicode.Is(unicode.Han, first) {
		at.Start += strings.IndexAny(e.source.raw[at.Start:at.End], "0123456789") // not "for 4", but BA 482
	}
	stems := stemsOf(e.source.lower[e.sentence.Start:at.Start] + " " + e.source.lower[at.End:e.sentence.End])
	if len(stems) > maxTopic {
		stems = stemsOf(text[:m[0]] + " " + text[m[1]:])
	}
	if len(stems) == 0 || len(stems) > maxTopic {
		return
	}
	e.add(c, &Fact{Subject: subject, Attribute: Amount, Topic: strings.Join(stems, topicSep), Kind: State}, at)
}

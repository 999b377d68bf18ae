package facts

import (
	"strings"
	"unicode/utf8"
)

// readChinese reads a Chinese clause: its subject, and then the predicate by the rules. A name is tried as the subject
// if a rule reads the rest.
func (e *extractor) readChinese(c *clause) {
	text := e.source.lower[c.body.Start:c.body.End]
	c.tail = c.body
	c.aux.ended = c.table.find("nolonger", text) != nil
	c.aux.past = c.table.find("pasttense", text) != nil
	c.aux.copula = true
	switch {
	case e.takeChineseRelation(c, text):
	case e.takeChinese(c, "self", text):
	case c.table.find("noself", text) != nil:
		e.subject = "-"
	case e.subject != "" && e.subject != "-":
		c.subject = e.subject
	case e.isUtterance && e.subject == "":
		c.subject = e.speaker
	}
	found := c.tail == c.body && e.readChineseName(c) || e.applyRules(c, false)
	if !found {
		e.readChineseEnding(c)
		e.readAmount(c)
	}
}

// takeChinese moves the predicate behind a word for the first person.
func (e *extractor) takeChinese(c *clause, name, text string) bool {
	m := c.table.find(name, text)
	if len(m) == 0 || m[0] != 0 {
		return false
	}
	c.subject, e.subject = e.speaker, e.speaker
	c.tail.Start += m[1]
	c.tail = e.strip(c.tail, c.table)
	return true
}

// takeChineseRelation reads a subject such as 我姐 or 我姐林珊.
func (e *extractor) takeChineseRelation(c *clause, text string) bool {
	m := c.table.patterns["relation"].FindStringSubmatchIndex(text)
	if len(m) == 0 || m[0] != 0 {
		return false
	}
	subject := strings.Replace(text[m[0]:m[1]], "我的", "我", 1)
	c.tail.Start += m[1]
	rest := e.source.lower[c.tail.Start:c.tail.End]
	if n := c.nameBefore(rest); n > 0 {
		name := strings.TrimSpace(rest[:n])
		if len(e.out.Aliases) < MaxFacts {
			e.out.Aliases = append(e.out.Aliases, Alias{Alias: subject, Name: name})
		}
		subject = name
		c.tail.Start += n
	}
	c.subject, e.subject = subject, subject
	c.tail = e.strip(c.tail, c.table)
	return true
}

// nameBefore returns the length of the name of two or three characters, or of letters, with which a text begins if a
// verb follows it.
func (c *clause) nameBefore(text string) int {
	for _, n := range nameLengths(text) {
		if c.table.sets["noname"][text[:n]] || c.table.find("badname", text[:n]) != nil {
			continue
		}
		if m := c.table.find("verb", text[n:]); len(m) > 0 && m[0] == 0 {
			return n
		}
	}
	return 0
}

// nameLengths returns how long a name at the beginning of a text may be.
func nameLengths(text string) (lengths []int) {
	letters := strings.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf })
	if letters > 1 {
		return []int{letters}
	}
	n, at := 0, 0
	for i, r := range text {
		if !isHan(r) || n > 3 {
			break
		}
		if n >= 2 {
			lengths = append(lengths, i)
		}
		n, at = n+1, i+utf8.RuneLen(r)
	}
	if n == 2 || n == 3 {
		lengths = append(lengths, at)
	}
	return lengths
}

// readChineseName tries a name as the subject.
func (e *extractor) readChineseName(c *clause) bool {
	rest := e.source.lower[c.body.Start:c.body.End]
	n := c.nameBefore(rest)
	if n == 0 {
		return false
	}
	other := *c
	other.subject = strings.TrimSpace(rest[:n])
	other.tail.Start += n
	other.tail = e.strip(other.tail, c.table)
	found := e.applyRules(&other, true)
	if found || c.table.find("surname", other.subject) != nil {
		e.subject = other.subject // of the clauses that follow, too
	}
	return found
}

// readChineseEnding reads that something stopped, such as 报纸退订了.
func (e *extractor) readChineseEnding(c *clause) {
	text := e.source.lower[c.tail.Start:c.tail.End]
	if c.subject == "" || c.table.find("ending", text) == nil && !c.aux.ended {
		return
	}
	topic := c.table.patterns["endingword"].ReplaceAllString(text, "")
	if topic == "" || utf8.RuneCountInString(topic) > 16 {
		return
	}
	e.add(c, &Fact{Subject: c.subject, Attribute: Ending, Topic: topic, Kind: End}, c.tail)
}

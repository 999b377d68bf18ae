package facts

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/callnode/scheduler/calls/internal/date"
	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/llm/value"
)

// Mode is the time for which a question asks.
type Mode string

// The modes of questions.
const (
	Now    Mode = "now"    // Where do I live?
	At     Mode = "at"     // Where did I live in 2023?
	Before Mode = "before" // Where did I live before I moved to Porto?
	All    Mode = "all"    // Which cities have I lived in?
)

// Question is a question that facts may answer. [ReadQuestion] makes it; it does not change.
type Question struct {
	// Subjects may be meant: the first that the store knows is.
	Subjects []string
	// Attributes are asked for; Noun, Amount and Ending of the Topic.
	Attributes []string
	Topic      []string
	Mode       Mode
	// From and Until bound the time that is asked for if the mode is At.
	From, Until time.Time
	// Value is the later value, if the mode is Before.
	Value string
	// YesNo reports whether yes or no would answer it.
	YesNo bool
}

// maxQuestion bounds the text of a question: longer ones ask for more than one fact.
const maxQuestion = 300

// ReadQuestion reads the question that a text asks of one attribute of one subject. ok is false if the text asks for
// anything else, or for more: facts answer only if the words of the attribute, the subject and at most one other
// word are the whole question.
func ReadQuestion(text string, now time.Time) (q *Question, ok bool) {
	text = lastQuestion(strings.TrimSpace(strings.ToValidUTF8(text, "")))
	if text == "" || len(text) > maxQuestion {
		return nil, false
	}
	if strings.ContainsFunc(text, isHan) {
		return readChineseQuestion(text, now)
	}
	return readEnglishQuestion(text, now)
}

// sentenceEnd ends a sentence before or in a question.
var sentenceEnd = value.CompileLater(`[.!。！\n]\s+|[!。！]|[:：]\s|[?？]`)

// lastQuestion returns the last sentence with a question mark, or the text if no sentence has one.
func lastQuestion(text string) string {
	last, start := text, 0
	for _, m := range sentenceEnd().FindAllStringIndex(text, -1) {
		if strings.ContainsAny(text[m[0]:m[1]], "?？") && strings.TrimSpace(text[start:m[0]]) != "" {
			last = strings.TrimSpace(text[start:m[1]])
		}
		start = m[1]
	}
	return last
}

// readMode reads the time that a question asks for. rest is the question without it.
func (q *Question) readMode(text string, now time.Time, t *table) (rest string, ok bool) {
	q.Mode = Now
	rest = text
	if m := t.patterns["before"].FindStringSubmatchIndex(foldASCII(text)); m != nil {
		v, _ := groupOf(t.patterns["before"], m, "v")
		n, _ := groupOf(t.patterns["before"], m, "n")
		periods, _ := date.FindPeriods(text[v.Start:v.End], now)
		isTime := len(periods) > 0 && t.spaced
		if !isTime {
			q.Mode, q.Value = Before, text[v.Start:v.End]
			return text[:m[0]] + text[n.Start:n.End] + " " + text[m[1]:], true
		}
	}
	q.Mode = Now
	lower := foldASCII(text)
	if t.find("ever", lower) != nil {
		q.Mode = All
	}
	periods, blanked := date.FindPeriods(text, now)
	if len(periods) > 0 {
		p := periods[0]
		isPast := !p.End.After(now) || t.find("did", lower) != nil
		if !isPast || p.Precision == date.Open && !p.Start.Before(now.AddDate(-50, 0, 0)) {
			return blanked, p.Precision != date.Open
		}
		q.Mode, q.From, q.Until = At, p.Start, p.End
		if p.Precision == date.Open {
			q.From = p.End.AddDate(-1, 0, 0)
		}
		return blanked, true
	}
	isOtherPast := q.Mode == Now && t.find("did", lower) != nil
	return rest, !isOtherPast
}

// readEnglishQuestion reads a question in English.
func readEnglishQuestion(text string, now time.Time) (*Question, bool) {
	t := english()
	q := &Question{}
	rest, ok := q.readMode(text, now, t)
	if !ok {
		return nil, false
	}
	lower := foldASCII(rest)
	if t.find("qmodal", lower) != nil {
		return nil, false
	}
	rest, relation := q.readEnglishSubject(rest, lower, t)
	q.YesNo = t.find("yesno", strings.TrimLeft(foldASCII(text), " ")) != nil
	words := questionStems(foldASCII(rest), t)
	if relation != "" && !slices.ContainsFunc(words, func(w string) bool { return !t.sets["wh"][w] }) {
		words, relation = append(words, stemsOf(strings.TrimPrefix(relation, "my "))...), "" // who is my flatmate
		q.Subjects = []string{Self}
	}
	if q.matchAsk(words, t) {
		return q, true
	}
	var topic []string
	counts := false
	for _, w := range words {
		switch {
		case w == "many" || w == "much" || w == "often" || w == "long" || w == "far":
			counts = true
		case t.sets["wh"][w] || t.sets["adjective"][w]:
		default:
			topic = append(topic, w)
		}
	}
	drop := "nverb"
	if counts || q.YesNo {
		drop = "qverb"
	}
	q.Topic = dropVerbs(topic, t.sets[drop])
	isOther := slices.Contains(words, "old") || slices.Contains(words, "why")
	if isOther || len(topic) == 0 || len(topic) > 4 {
		return nil, false
	}
	if relation != "" {
		q.Topic = append(q.Topic, stemsOf(strings.TrimPrefix(relation, "my "))...)
		q.Subjects = []string{Self}
	}
	slices.Sort(q.Topic)
	q.Topic = slices.Compact(q.Topic)
	return q.askTopic(words, counts, t)
}

// dropVerbs drops verbs that say little, such as play and use, if other words are left.
func dropVerbs(topic []string, verbs map[string]bool) []string {
	rest := slices.DeleteFunc(slices.Clone(topic), func(w string) bool { return verbs[w] })
	if len(rest) == 0 {
		return topic
	}
	return rest
}

// askTopic makes a question for a noun, an amount or an ending.
func (q *Question) askTopic(words []string, counts bool, t *table) (*Question, bool) {
	hasWh := slices.ContainsFunc(words, func(w string) bool { return t.sets["wh"][w] })
	switch {
	case counts:
		q.Attributes = []string{Amount, Noun, Ending}
	case q.YesNo:
		q.Attributes = []string{Ending}
		if t.hasWordOf("animal", strings.Join(q.Topic, " ")) {
			q.Attributes = []string{"pet", Ending}
		}
	case hasWh:
		q.Attributes = []string{Noun}
		if a, ok := t.attributeOf(strings.Join(q.Topic, topicSep)); ok {
			q.Attributes = []string{a}
		}
	default:
		return nil, false
	}
	return q, true
}

// readEnglishSubject reads whom a question is about. rest is the question without the subject; relation is
// set for one such as "my sister", which may also be part of a noun.
func (q *Question) readEnglishSubject(text, lower string, t *table) (rest, relation string) {
	if m := t.patterns["qrelation"].FindStringSubmatchIndex(lower); m != nil {
		q.Subjects = []string{"my " + lower[m[2]:m[3]]}
		return text[:m[0]] + " " + text[m[1]:], q.Subjects[0]
	}
	if m := t.patterns["qself"].FindStringIndex(lower); m != nil {
		q.Subjects = []string{Self}
		return text, ""
	}
	at := 0
	for _, w := range strings.Fields(text) {
		start := at + strings.Index(text[at:], w)
		at = start + len(w)
		name := strings.TrimRight(strings.TrimSuffix(strings.TrimSuffix(strings.TrimRight(w, "?!.,"), "'s"), "’s"), "?!.,'’")
		first, _ := utf8.DecodeRuneInString(name)
		known := foldASCII(name)
		if start == 0 && !strings.HasSuffix(strings.TrimRight(w, "?"), "'s") || !unicode.IsUpper(first) || t.sets["noname"][known] || t.sets["wh"][known] {
			continue
		}
		q.Subjects = []string{FoldName(name), Self}
		return text[:start] + " " + text[at:], ""
	}
	q.Subjects = []string{Self}
	return text, ""
}

// questionStems returns the stems of a question that say something, and the words that ask.
func questionStems(lower string, t *table) (out []string) {
	lower = t.patterns["qdrop"].ReplaceAllString(lower, " ")
	for _, w := range rank.Words(lower) {
		w = strings.ReplaceAll(w, "’", "'")
		base, _, _ := strings.Cut(w, "'")
		if t.sets["wh"][base] || t.sets["count"][base] {
			out = append(out, base)
			continue
		}
		if t.sets["filler"][w] || t.sets["filler"][base] {
			continue
		}
		if s := t.fold(rank.Stem(base)); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// matchAsk finds the attribute whose words a question has, with at most one other word that says something.
func (q *Question) matchAsk(words []string, t *table) bool {
	best, bestSize := "", 0
	var left []string
	for i := range t.asks {
		a := &t.asks[i]
		has := true
		bag := a.bag()
		if len(bag) == 0 {
			continue
		}
		for _, w := range bag {
			if !slices.Contains(words, w) {
				has = false
				break
			}
		}
		if !has || len(bag) <= bestSize {
			continue
		}
		others := 0
		for _, w := range words {
			if !slices.Contains(bag, w) && !t.sets["wh"][w] {
				others++
			}
		}
		isOther := slices.ContainsFunc(words, func(w string) bool { return t.sets["otherwise"][w] && !slices.Contains(bag, w) })
		if others <= min(1, len(bag)-1) && !isOther {
			best, bestSize = a.attribute, len(bag)
			left = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return slices.Contains(bag, w) || t.sets["wh"][w] })
		}
	}
	if best == "" {
		return false
	}
	q.Attributes = []string{best}
	if q.YesNo && isMany(best) && len(left) > 0 { // do I still have a Netflix subscription
		q.Attributes, q.Topic = []string{best, Ending}, left
	}
	return true
}

// chineseSpace matches spaces and marks of Chinese questions.
var chineseSpace = value.CompileLater(`[\s，,。.？?！!、~～：:]+`)

// readChineseQuestion reads a question in Chinese.
func readChineseQuestion(text string, now time.Time) (*Question, bool) {
	t := chinese()
	q := &Question{}
	rest, ok := q.readMode(text, now, t)
	if !ok {
		return nil, false
	}
	rest = chineseSpace().ReplaceAllString(foldASCII(rest), "")
	q.YesNo = t.find("yesno", rest) != nil
	rest = t.patterns["qdrop"].ReplaceAllString(rest, "")
	isBare := false
	switch m := t.find("qself", rest); {
	case t.find("qrelation", rest) != nil:
		rest = q.readChineseRelation(rest, t)
	case m != nil:
		q.Subjects = []string{Self}
		rest = t.patterns["qself"].ReplaceAllString(rest, "")
	default:
		isBare = true
	}
	if isBare {
		return q.readBare(rest, t)
	}
	if q.matchChineseAsk(rest, t, 2) {
		return q, true
	}
	return q.askChineseTopic(rest, t, false)
}

// readChineseRelation reads a subject such as 我朋友 or 我朋友阿杰, and returns the question without it. If the rest asks
// nothing else, as in 我女朋友是谁, the relation itself is asked for.
func (q *Question) readChineseRelation(text string, t *table) (rest string) {
	m := t.find("qrelation", text)
	q.Subjects = []string{strings.Replace(text[m[0]:m[1]], "我的", "我", 1)}
	rest = text[m[1]:]
	c := clause{table: t}
	if n := c.nameBefore(rest); n > 0 {
		q.Subjects = []string{rest[:n]}
		rest = rest[n:]
	}
	left := t.patterns["qfiller"].ReplaceAllString(t.patterns["wh"].ReplaceAllString(rest, ""), "")
	if left == "" {
		q.Subjects = []string{Self}
		return t.patterns["qself"].ReplaceAllString(text, "")
	}
	return strings.TrimPrefix(rest, "的")
}

// readBare reads a Chinese question without 我: of a name at its beginning, or of a noun.
func (q *Question) readBare(rest string, t *table) (*Question, bool) {
	for _, n := range nameLengths(rest) {
		other := Question{Mode: q.Mode, From: q.From, Until: q.Until, Value: q.Value, YesNo: q.YesNo, Subjects: []string{rest[:n]}}
		if !t.sets["noname"][rest[:n]] && other.matchChineseAsk(strings.TrimPrefix(rest[n:], "的"), t, 0) {
			return &other, true
		}
	}
	q.Subjects = []string{Self}
	if q.matchChineseAsk(rest, t, 0) {
		return q, true
	}
	return q.askChineseTopic(rest, t, true)
}

// matchChineseAsk finds the attribute whose pattern matches a question but for at most others characters.
func (q *Question) matchChineseAsk(rest string, t *table, others int) bool {
	best := others + 1
	for _, a := range t.asks {
		m := a.pattern().FindStringIndex(rest)
		if len(m) == 0 || m[0] == m[1] {
			continue
		}
		left := t.patterns["wh"].ReplaceAllString(rest[:m[0]]+" "+rest[m[1]:], "")
		left = strings.TrimSpace(t.patterns["qfiller"].ReplaceAllString(left, ""))
		if n := utf8.RuneCountInString(left); n < best {
			q.Attributes, best = []string{a.attribute}, n
		}
	}
	return best <= others
}

// askChineseTopic makes a question for a noun, an amount or an ending of the rest.
func (q *Question) askChineseTopic(rest string, t *table, isBare bool) (*Question, bool) {
	hasWh := t.find("wh", rest) != nil
	counts := t.find("count", rest) != nil
	topic := t.patterns["wh"].ReplaceAllString(rest, "")
	topic = strings.Trim(t.patterns["qfiller"].ReplaceAllString(topic, ""), "的")
	if q.YesNo {
		if short := t.patterns["qverb"].ReplaceAllString(topic, ""); short != "" {
			topic = short
		}
	}
	for _, end := range []string{"时间", "日期"} {
		topic = strings.TrimSuffix(topic, end)
	}
	if n := utf8.RuneCountInString(topic); n < 1 || n > 10 {
		return nil, false
	}
	if same, ok := t.synonyms[topic]; ok {
		topic = same
	}
	q.Topic = []string{topic}
	switch {
	case counts:
		q.Attributes = []string{Noun, Amount}
	case q.YesNo && !isBare:
		q.Attributes = []string{Ending}
		if t.hasWordOf("animal", topic) {
			q.Attributes = []string{"pet", Ending}
		}
	case hasWh:
		q.Attributes = []string{Noun}
		if a, ok := t.attributeOf(topic); ok {
			q.Attributes = []string{a}
		}
	default:
		return nil, false
	}
	return q, true
}

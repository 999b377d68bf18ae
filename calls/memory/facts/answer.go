package facts

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Answer has the facts that answer a question, and the facts that no longer hold.
type Answer struct {
	// Lead are the facts that answer, the best first.
	Lead []Judged
	// Many reports whether all facts of Lead hold at once, so that the order of their relevance stays.
	Many bool
	// Superseded are facts that no longer hold. A memory of Lead is not among them.
	Superseded []Judged
}

// IsEmpty reports whether facts do not answer.
func (a *Answer) IsEmpty() bool { return len(a.Lead) == 0 }

// Wanted returns the subjects and the attributes of the facts that a [Source] must give.
func (q *Question) Wanted(aliases []Alias) (subjects, attributes []string) {
	n := newNames(aliases)
	for _, s := range q.Subjects {
		subjects = append(subjects, s)
		name := n.resolve(s)
		subjects = append(subjects, name)
		for _, a := range aliases {
			if a.Name == name {
				subjects = append(subjects, a.Alias)
			}
		}
	}
	slices.Sort(subjects)
	attributes = append(slices.Clone(q.Attributes), LinkOf, Ending)
	if slices.Contains(q.Attributes, Noun) {
		attributes = append(attributes, Amount)
	}
	attributes = append(attributes, related[firstOf(q.Attributes)]...)
	return slices.Compact(subjects), attributes
}

// related are the attributes that answer for another if they have the newer change: for example a person who
// opened a shop has left the company.
var related = map[string][]string{"work": {"role"}, "role": {"work"}}

func firstOf(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// Answer answers a question from the facts that [Question.Wanted] names. now is the time of the judgement.
func (q *Question) Answer(list []Fact, aliases []Alias, now time.Time) Answer {
	n := newNames(aliases)
	for _, s := range q.Subjects {
		subject := n.resolve(s)
		own := slices.Clone(list)
		own = slices.DeleteFunc(own, func(f Fact) bool { return n.resolve(f.Subject) != subject })
		if len(own) == 0 {
			continue
		}
		if a := q.newestAnswer(own, aliases, now); !a.IsEmpty() {
			return a
		}
	}
	return Answer{}
}

// newestAnswer returns the answer of the attributes that began last. If it is an end, the others no longer hold.
func (q *Question) newestAnswer(own []Fact, aliases []Alias, now time.Time) (best Answer) {
	for _, attribute := range q.Attributes {
		a := q.answerOf(attribute, own, aliases, now)
		if a.IsEmpty() {
			continue
		}
		if best.IsEmpty() || a.Lead[0].From.After(best.Lead[0].From) {
			if a.Lead[0].Attribute == Ending {
				a.Superseded = append(a.Superseded, best.Lead...)
			}
			best = a
		}
	}
	return best
}

// answerOf answers from the facts of one subject and attribute.
func (q *Question) answerOf(attribute string, own []Fact, aliases []Alias, now time.Time) Answer {
	var of, rest []Fact
	for _, f := range own {
		isLink := f.Attribute == LinkOf || f.Attribute == Ending && attribute != Ending
		switch {
		case isLink, f.Attribute == attribute && (f.Topic == "" || q.meets(&f)):
			of = append(of, f)
		case attribute == Noun && f.Attribute == Amount && q.isNearly(&f):
			f.Attribute = Noun
			of = append(of, f)
		default:
			rest = append(rest, f)
		}
	}
	of = q.dropLesserTopics(attribute, of)
	for i := range of { // of one timeline: the topics differ by words that the question does not have
		if of[i].Attribute == attribute && len(q.Topic) > 0 && !isMany(attribute) {
			of[i].Topic = strings.Join(q.Topic, topicSep)
		}
	}
	var line *Timeline
	for _, t := range Timelines(of, aliases, now) {
		if t.Attribute == attribute {
			line = &t
		}
	}
	if line == nil {
		return Answer{}
	}
	a := q.choose(line, now)
	if other := newerOf(line, rest, now); other != nil && q.Mode == Now && !line.Many {
		a.Superseded = append(a.Superseded, a.Lead...)
		a.Lead = []Judged{{Fact: *other, Standing: Current}}
	}
	a.Superseded = slices.DeleteFunc(a.Superseded, func(j Judged) bool {
		return slices.ContainsFunc(a.Lead, func(l Judged) bool { return l.Seq == j.Seq })
	})
	return a
}

// newerOf returns the newest change of a related attribute that began after a timeline; nil if none did.
func newerOf(line *Timeline, rest []Fact, now time.Time) (newest *Fact) {
	last := line.Facts[len(line.Facts)-1]
	for i := range rest {
		f := &rest[i]
		isChange := f.Kind == Change && slices.Contains(related[line.Attribute], f.Attribute)
		if isChange && f.Seq != last.Seq && f.From.After(last.From) && !f.From.After(now) && (newest == nil || f.From.After(newest.From)) {
			newest = f
		}
	}
	return newest
}

// isNearly reports whether an amount is one of the noun that is asked for: its clause has few other words.
func (q *Question) isNearly(f *Fact) bool {
	stems := strings.Split(f.Topic, topicSep)
	if first, _ := utf8.DecodeRuneInString(f.Topic); isHan(first) {
		return q.meets(f) && utf8.RuneCountInString(f.Topic) <= utf8.RuneCountInString(q.Topic[0])+2
	}
	return q.meets(f) && len(stems) <= len(q.Topic)+2
}

// meets reports whether a fact is of the topic of a question.
func (q *Question) meets(f *Fact) bool {
	if len(q.Topic) == 0 {
		return true
	}
	stems := strings.Split(f.Topic, topicSep)
	for _, t := range q.Topic {
		if r, _ := utf8.DecodeRuneInString(t); isHan(r) {
			if !meetsChinese(f, t) {
				return false
			}
			continue
		}
		if !slices.Contains(stems, t) {
			return f.Attribute == Noun && len(stems) == 1 && slices.Contains(q.Topic, stems[0])
		}
	}
	return true
}

// meetsChinese reports whether a fact is of a Chinese topic: the same, or one of the two ends with the other.
func meetsChinese(f *Fact, topic string) bool {
	if f.Attribute == Amount || f.Attribute == Ending {
		return sharesCharacters(f.Topic, topic)
	}
	return f.Topic == topic || strings.HasSuffix(f.Topic, topic) || strings.HasSuffix(topic, f.Topic) && utf8.RuneCountInString(f.Topic) >= 2
}

// sharesCharacters reports whether a text has all characters of a topic.
func sharesCharacters(text, topic string) bool {
	for _, r := range topic {
		if !strings.ContainsRune(text, r) {
			return false
		}
	}
	return true
}

// dropLesserTopics drops the facts that have only a part of the topic unless others have all of it.
func (q *Question) dropLesserTopics(attribute string, of []Fact) []Fact {
	if len(q.Topic) < 2 {
		return of
	}
	full := slices.ContainsFunc(of, func(f Fact) bool {
		return f.Attribute == attribute && len(strings.Split(f.Topic, topicSep)) >= len(q.Topic)
	})
	if full {
		return of
	}
	return slices.DeleteFunc(of, func(f Fact) bool { return f.Attribute != LinkOf })
}

// choose chooses the facts of a timeline that answer.
func (q *Question) choose(line *Timeline, now time.Time) Answer {
	switch q.Mode {
	case At:
		return line.at(q.From, q.Until, now)
	case Before:
		return line.before(q.Value)
	case All:
		a := Answer{}
		for _, j := range slices.Backward(line.Facts) {
			a.Lead = append(a.Lead, j)
		}
		return a
	case Now:
	}
	a := line.present()
	if line.Many && len(q.Topic) > 0 {
		a = q.narrow(a)
	}
	return a
}

// narrow keeps the values that a question such as "do I have a dog" names, or their ends.
func (q *Question) narrow(a Answer) Answer {
	topic := strings.Join(q.Topic, " ")
	var ended []Judged
	isOther := func(j Judged) bool { return !mentions(j.Value, topic) && !strings.Contains(j.Value, topic) }
	for _, j := range a.Superseded {
		if !isOther(j) && j.Next != nil && j.Next.Kind == End {
			ended = append(ended, Judged{Fact: *j.Next, Standing: Ended})
		}
	}
	a.Lead = slices.DeleteFunc(a.Lead, isOther)
	if len(a.Lead) == 0 {
		a.Lead = ended
	}
	a.Many = false
	return a
}

// present returns the facts that hold, the newest first, and the ones that no longer do.
func (t *Timeline) present() Answer {
	a := Answer{Many: t.Many}
	for _, j := range slices.Backward(t.Facts) {
		switch j.Standing {
		case Current, Conflicting, Ended:
			a.Lead = append(a.Lead, j)
		case Until:
			a.Superseded = append(a.Superseded, j)
		case WasPast:
		}
	}
	return a
}

// at returns the fact that held for most of a period. Facts that were said of a past time win ties.
func (t *Timeline) at(from, until, now time.Time) Answer {
	best, bestFor := -1, time.Duration(0)
	for i, j := range t.Facts {
		end := j.Until
		if end.IsZero() {
			end = now.AddDate(0, 0, 1)
		}
		start := from
		if j.From.After(start) {
			start = j.From
		}
		if until.Before(end) {
			end = until
		}
		length := end.Sub(start)
		if j.Kind == End || length <= 0 {
			continue
		}
		if length > bestFor || length == bestFor && j.Kind == Past {
			best, bestFor = i, length
		}
	}
	if best < 0 {
		return Answer{}
	}
	return Answer{Lead: []Judged{t.Facts[best]}}
}

// before returns the fact before the one with a value.
func (t *Timeline) before(value string) Answer {
	at := -1
	for i, j := range t.Facts {
		if mentions(value, j.Value) || mentions(j.Value, value) {
			at = i
			break
		}
	}
	for i := at - 1; i >= 0; i-- {
		if !sameValue(&t.Facts[i].Fact, &t.Facts[at].Fact) {
			return Answer{Lead: []Judged{t.Facts[i]}}
		}
	}
	return Answer{}
}

package facts

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Standing says whether a fact holds.
type Standing string

// The standings of a fact.
const (
	Current     Standing = "current"  // it holds
	Until       Standing = "until"    // it held until another value began
	Ended       Standing = "ended"    // it, or what it names, has ended
	WasPast     Standing = "past"     // it was said of a time in the past
	Conflicting Standing = "conflict" // another value was said at the same time
)

// Judged is a fact and whether it holds at the time of its [Timeline].
type Judged struct {
	Fact
	Standing Standing
	// Until is when it ended; zero for the end of time.
	Until time.Time
	// Next is the fact that replaced it or conflicts with it; nil if none does.
	Next *Fact
}

// Timeline has the facts of one subject and attribute, and of nouns and amounts one topic, in the
// order in which they began.
type Timeline struct {
	Subject, Attribute, Topic string
	// Many reports whether several values hold at once, as of allergies.
	Many  bool
	Facts []Judged
}

// Timelines orders facts into timelines and judges them at a time. Facts that begin later are left out.
// Aliases join the subjects that are the same. The result is sorted by subject, attribute and topic.
func Timelines(list []Fact, aliases []Alias, now time.Time) []Timeline {
	names := newNames(aliases)
	groups := map[[3]string][]Fact{}
	var links []Fact
	for _, f := range list {
		if f.From.After(now) || f.Said.After(now) && f.Kind != Past {
			continue
		}
		f.Subject = names.resolve(f.Subject)
		if f.Attribute == LinkOf || f.Attribute == Ending {
			links = append(links, f)
		}
		if f.Attribute == LinkOf {
			continue
		}
		key := [3]string{f.Subject, f.Attribute, f.Topic}
		groups[key] = append(groups[key], f)
	}
	out := make([]Timeline, 0, len(groups))
	for key, group := range groups {
		out = append(out, newTimeline(key, group, links))
	}
	slices.SortFunc(out, func(a, b Timeline) int {
		return cmp.Or(strings.Compare(a.Subject, b.Subject), strings.Compare(a.Attribute, b.Attribute), strings.Compare(a.Topic, b.Topic))
	})
	return out
}

// newTimeline judges the facts of one key, and the links that belong to them.
func newTimeline(key [3]string, group, links []Fact) Timeline {
	t := Timeline{Subject: key[0], Attribute: key[1], Topic: key[2], Many: isMany(key[1])}
	slices.SortFunc(group, compareFacts)
	if len(group) > MaxTimeline {
		group = group[len(group)-MaxTimeline:]
	}
	group = onePerMemory(group, t.Many)
	if !t.Many && t.Attribute != Ending {
		group = joinLinks(group, links)
	}
	for _, f := range group {
		t.Facts = append(t.Facts, Judged{Fact: f, Standing: Current})
	}
	if t.Many {
		t.judgeMany()
	} else {
		t.judgeSingle()
	}
	return t
}

// compareFacts orders facts by when they began, then by when they were said.
func compareFacts(a, b Fact) int {
	return cmp.Or(a.From.Compare(b.From), a.Said.Compare(b.Said), cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.N, b.N))
}

// kindRank orders the facts that one memory states of one thing: a change says more than a state, and
// a state more than an end, as in "left Maersk and joined Siemens".
var kindRank = map[Kind]int{Correction: 0, Change: 0, State: 1, End: 2, Past: 3, Link: 4}

// onePerMemory keeps the best fact of each memory, and all values if several may hold.
func onePerMemory(group []Fact, many bool) []Fact {
	if many {
		return group
	}
	best := map[uint32]int{}
	for i, f := range group {
		if f.Kind == Past {
			continue
		}
		at, known := best[f.Seq]
		if !known || kindRank[f.Kind] < kindRank[group[at].Kind] {
			best[f.Seq] = i
		}
	}
	var out []Fact
	for i, f := range group {
		if at, known := best[f.Seq]; f.Kind == Past || known && at == i {
			out = append(out, f)
		}
	}
	return out
}

// The time after a value in which a correction may name it, and the time after an utterance in which one that only
// begins with a cue may follow.
const (
	correctionWithin = 60 * 24 * time.Hour
	adjacentWithin   = 30 * time.Minute
)

// joinLinks adds the links and corrections that name an earlier value of the group, or that
// follow its last fact at once.
func joinLinks(group, links []Fact) []Fact {
	for _, link := range links {
		if slices.ContainsFunc(group, func(f Fact) bool { return f.Seq == link.Seq }) {
			continue
		}
		for _, f := range group {
			if f.Kind != Past && link.follows(&f) {
				link.Subject, link.Attribute, link.Topic = f.Subject, f.Attribute, f.Topic
				group = append(group, link)
				break
			}
		}
	}
	slices.SortStableFunc(group, compareFacts)
	return group
}

// follows reports whether a link is about a fact of a timeline.
func (f *Fact) follows(earlier *Fact) bool {
	if f.Said.Before(earlier.Said) || f.Subject != earlier.Subject {
		return false
	}
	after := f.Said.Sub(earlier.Said)
	if f.Kind == Correction && f.Old == "" {
		return after <= adjacentWithin && valueType(f.Value) == valueType(earlier.Value)
	}
	if f.Kind == Correction && after > correctionWithin {
		return false
	}
	if f.Attribute == Ending {
		return earlier.Attribute != Amount && mentions(f.Value, earlier.Value)
	}
	return f.Old != "" && (mentions(f.Old, earlier.Value) || mentions(earlier.Value, f.Old))
}

// judgeSingle judges the facts of an attribute that has one value at a time.
func (t *Timeline) judgeSingle() {
	var last *Judged
	for i := range t.Facts {
		j := &t.Facts[i]
		if j.Kind == Past {
			j.Standing, j.Until = WasPast, j.To
			continue
		}
		if last != nil {
			t.replace(last, j)
		}
		if j.Kind == End {
			j.Standing = Ended
		}
		last = j
	}
}

// replace judges the facts before j; last is the newest of them.
func (t *Timeline) replace(last, j *Judged) {
	if sameValue(&last.Fact, &j.Fact) || !replaces(&j.Fact, &last.Fact) {
		return
	}
	if isConflict(&last.Fact, &j.Fact) {
		last.Standing, j.Standing = Conflicting, Conflicting
		last.Next, j.Next = &j.Fact, &last.Fact
		return
	}
	for i := range t.Facts {
		f := &t.Facts[i]
		if f == j {
			return
		}
		isOpen := f.Standing == Current || f.Standing == Conflicting || f.Standing == Ended && f.Next == nil
		if isOpen && f.Kind != Past && replaces(&j.Fact, &f.Fact) && !sameValue(&f.Fact, &j.Fact) {
			f.Standing, f.Until, f.Next = Until, j.From, &j.Fact
		}
	}
}

// isConflict reports whether two values were said at once, without a word that says which is newer.
func isConflict(a, b *Fact) bool {
	isPlain := a.Kind == State && b.Kind == State
	return isPlain && a.Seq != b.Seq && a.From.Equal(b.From) && a.Said.Equal(b.Said)
}

// replaces reports whether a fact can replace an earlier one: of nouns, only a value of the same type does.
// "My car is dirty" does not replace "my car is a Honda".
func replaces(later, earlier *Fact) bool {
	if later.Attribute != Noun || later.Kind == End || later.Kind == Change || later.Kind == Correction || later.Kind == Link {
		return true
	}
	a, b := valueType(later.Value), valueType(earlier.Value)
	return a == b || a != wordType && b != wordType && a != numberType && b != numberType
}

// judgeMany lets ends end the values that they mention.
func (t *Timeline) judgeMany() {
	for i := range t.Facts {
		j := &t.Facts[i]
		switch j.Kind {
		case Past:
			j.Standing, j.Until = WasPast, j.To
		case State, Change, Correction, Link:
		case End:
			j.Standing = Ended
			for k := range i {
				f := &t.Facts[k]
				if f.Standing == Current && (mentions(j.Value, f.Value) || mentions(f.Value, j.Value)) {
					f.Standing, f.Until, f.Next = Until, j.From, &j.Fact
				}
			}
		}
	}
}

// names resolves aliases.
type names map[string]string

func newNames(aliases []Alias) names {
	n := names{}
	for _, a := range aliases {
		n[a.Alias] = a.Name
	}
	return n
}

func (n names) resolve(subject string) string {
	if name, ok := n[subject]; ok {
		return name
	}
	return subject
}

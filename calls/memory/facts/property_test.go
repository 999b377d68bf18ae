package facts

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// seeds are texts with which the fuzzers begin.
var seeds = []string{
	"I live in Paris.", "We moved from Rome to Tokyo last month, and I joined Siemens", "My sister Anna works at the city hospital.",
	"sorry, 4471", "It's 43, not 42.", "I don't drink coffee anymore", "Our standup has been moved from 9:15 to 9:45", "İstanbul’da yaşıyorum — I'm in Kadıköy since 2020",
	"我姐林珊住在天津,上个月搬到济南去了", "年会改到1月28日了", "我把iPhone 15换成了小米14。", "不是42,是43", "我对花生过敏", "\xff\xfe", "，。,,。?？", strings.Repeat("I moved to Rome and ", 50), strings.Repeat("我搬到", 200),
}

// checkReading fails the test if facts break one of their rules.
func checkReading(t *testing.T, text *Text) {
	t.Helper()
	r := Extract(text)
	if len(r.Facts) > MaxFacts || len(r.Aliases) > MaxFacts {
		t.Errorf("%d facts and %d aliases", len(r.Facts), len(r.Aliases))
	}
	for i, f := range r.Facts {
		inContent := 0 <= f.ValueSpan.Start && f.ValueSpan.Start < f.ValueSpan.End && f.ValueSpan.End <= len(text.Content)
		if !inContent || text.Content[f.ValueSpan.Start:f.ValueSpan.End] != f.Value {
			t.Fatalf("value %q is not the bytes %v of %q", f.Value, f.ValueSpan, text.Content)
		}
		hasClause := 0 <= f.ClauseSpan.Start && f.ClauseSpan.Start < f.ClauseSpan.End && f.ClauseSpan.End <= len(text.Content)
		isBounded := len(f.Subject) <= MaxSubject && len(f.Value) <= MaxValue && f.Subject != ""
		isText := utf8.ValidString(f.Value) && utf8.ValidString(f.Topic) && utf8.ValidString(f.Old) && utf8.ValidString(f.Subject)
		if !hasClause || !isBounded || !isText || f.N != i || f.By != By || f.Attribute == "" || f.Kind == "" {
			t.Fatalf("%+v of %q", f, text.Content)
		}
		if f.From.After(text.Time) || !f.To.IsZero() && f.To.Before(f.From) {
			t.Fatalf("%q holds from %v to %v, said at %v", f.Value, f.From, f.To, text.Time)
		}
	}
	if again := Extract(text); !reflect.DeepEqual(r, again) {
		t.Fatalf("%q reads differently the second time", text.Content)
	}
}

func FuzzExtract(f *testing.F) {
	for _, s := range seeds {
		f.Add(s, "", "user")
		f.Add(s, "Anna", "")
	}
	f.Fuzz(func(t *testing.T, content, speaker, role string) {
		checkReading(t, &Text{Content: content, Speaker: speaker, Role: role, Time: may})
	})
}

func FuzzQuestion(f *testing.F) {
	for _, s := range append(seeds, "Where do I live now?", "Where did I live before I moved to Porto?", "我搬到成都之前住在哪里?", "do I have a dog?", "how much do I weigh?") {
		f.Add(s)
	}
	facts := Extract(&Text{Content: strings.Join(seeds[:8], "\n"), Role: "user", Time: may}).Facts
	f.Fuzz(func(t *testing.T, text string) {
		q, ok := ReadQuestion(text, may)
		if !ok {
			return
		}
		if len(q.Subjects) == 0 || len(q.Attributes) == 0 {
			t.Fatalf("%q asks for %+v", text, q)
		}
		a := q.Answer(facts, nil, may)
		for _, s := range a.Superseded {
			for _, l := range a.Lead {
				if l.Seq == s.Seq && s.Seq != 0 {
					t.Fatalf("%q: a memory both answers and no longer holds", text)
				}
			}
		}
	})
}

func TestNoFactsInDocuments(t *testing.T) {
	for _, test := range []struct{ name, role, content string }{
		{name: "of an assistant", role: "assistant", content: "I live in Paris."},
		{name: "of a tool", role: "tool", content: "I live in Paris."},
		{name: "without a subject", role: "", content: "Moved to Paris in 2020. Works at Siemens."},
		{name: "that is a document", role: "", content: "The budget is 300 euros. Anna lives in Rome."},
		{name: "of an encyclopaedia", role: "", content: "毕业于北京大学,后来搬到上海,在复旦大学任教。"},
	} {
		if got := describe(Extract(&Text{Content: test.content, Role: test.role, Time: may}).Facts); got != "" {
			t.Errorf("a text %s states %s", test.name, got)
		}
	}
}

// A text twice as long takes about twice the steps: the bounds hold for texts of any length.
func TestLongTexts(t *testing.T) {
	for _, part := range []string{"I moved to Rome. ", "我搬到上海。", "a ", "not ", "my ", "在", "(", "\"a b c ", "1 ", ", "} {
		text := strings.Repeat(part, 1<<20/len(part))
		done := make(chan bool)
		go func() {
			checkReading(t, &Text{Content: text, Role: "user", Time: may})
			close(done)
		}()
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Fatalf("a long text of %q is not read within a minute", part)
		}
	}
}

// Texts made of words of the tables and of marks keep the rules of facts, and questions made of them are read
// without a fault.
func TestRandomTexts(t *testing.T) {
	parts := []string{" ", " ", " ", ", ", ". ", "? ", "I ", "my ", "not ", "now ", "'s ", "’s ", "is ", "to ", "from ", "42", "9:45", "Anna ", "Rome ", "我", "我姐", "的", "是", "在", "，", "了", "不", "from 2021 to 2024 ", "last month ", "上个月", "\xff", "İ", "𝟡", "(", "\"", "sorry, "}
	for _, table := range []*table{english(), chinese()} {
		for word := range table.byWord {
			parts = append(parts, word)
		}
	}
	slices.Sort(parts)
	random := rand.New(rand.NewPCG(1, 2))
	for range 600 {
		var b strings.Builder
		for range 1 + random.IntN(24) {
			b.WriteString(parts[random.IntN(len(parts))])
			if random.IntN(2) == 0 {
				b.WriteByte(' ')
			}
		}
		text := Text{Content: b.String(), Role: []string{"user", "", "assistant"}[random.IntN(3)], Speaker: []string{"", "Anna"}[random.IntN(2)], Time: may}
		checkReading(t, &text)
		if q, ok := ReadQuestion(text.Content+"?", may); ok {
			q.Answer(Extract(&text).Facts, nil, may)
		}
	}
}

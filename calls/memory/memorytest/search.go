package memorytest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/llm/value"
)

func testSearching(t *testing.T, f *fixture) {
	f.mustSave(
		newMemory("I bought a red bicycle from Mr. Ito.", "a", 0), newMemory("The error code is ERR-4021, in parse_config.", "b", 0),
		newMemory("我对花生过敏。", "c", 0), newMemory("我们去看了一场电影《流浪地球》。", "d", 0), newMemory("Café Müller opens at 9:30.", "e", 0),
		newMemory("Her allergies are many.", "f", 0),
	)
	for query, want := range map[string]string{
		"what bike did I buy":         "I bought a red bicycle from Mr. Ito.",
		"err-4021":                    "The error code is ERR-4021, in parse_config.",
		"4021":                        "The error code is ERR-4021, in parse_config.",
		"parse config":                "The error code is ERR-4021, in parse_config.",
		"parseConfig":                 "The error code is ERR-4021, in parse_config.",
		"花生":                          "我对花生过敏。",
		"我对什么过敏？":                     "我对花生过敏。",
		"看了什么电影":                      "我们去看了一场电影《流浪地球》。",
		"When does cafe mueller open": "Café Müller opens at 9:30.",
		"What foods am I allergic to": "Her allergies are many.",
	} {
		if got := contentsOf(f.mustSearch(memory.Query{Text: query, MinRelevance: memory.DefaultMinRelevance})); len(got) == 0 || got[0] != want {
			t.Errorf("%q finds %q, want %q", query, got, want)
		}
	}
	for _, query := range []string{"", "?!", "the of and", "的了吗", "quantum chromodynamics", "“ OR 1=1 --", strings.Repeat("x ", 5000), "\x00\xff"} {
		if got := contentsOf(f.mustSearch(memory.Query{Text: query, MinRelevance: memory.DefaultMinRelevance})); len(got) != 0 {
			t.Errorf("%.20q finds %q", query, got)
		}
	}
	found := f.mustSearch(memory.Query{Text: "What bicycle did I buy?"})
	f.wantSame("the reason", "matches “bicycle”, “buy”", found[0].Reason)
	f.wantSame("the reason in Chinese", "匹配“过敏”", f.mustSearch(memory.Query{Text: "对什么过敏"})[0].Reason)
}

func testBoosts(t *testing.T, f *fixture) {
	chat := func(speaker, content, session string, at time.Time) memory.BaseMemory {
		m := newMemory(content, session, 0)
		m.Timestamp = at
		m.Context.Other = value.Must(map[string]any{"speaker": speaker, "place": session})
		return m
	}
	may := time.Date(2025, 5, 7, 12, 0, 0, 0, time.UTC)
	f.mustSave(
		chat("Caroline", "I went hiking with the dog.", "a", may), chat("Melanie", "I went hiking with the kids.", "b", may.AddDate(0, 2, 0)),
	)
	first := func(q memory.Query) string { return f.mustSearch(q)[0].Memory.Content }
	for query, want := range map[string]string{
		"Where did Caroline go hiking?": "I went hiking with the dog.", "Where did Mel go hiking?": "I went hiking with the kids.",
		"Who went hiking on 7 May 2025?": "I went hiking with the dog.", "hiking in July": "I went hiking with the kids.",
	} {
		if got := first(memory.Query{Text: query}); got != want {
			t.Errorf("%q finds %q, want %q", query, got, want)
		}
	}
	for session, want := range map[string]string{"a": "I went hiking with the dog.", "b": "I went hiking with the kids."} {
		if got := first(memory.Query{Text: "hiking", Session: session, Now: may.AddDate(2, 0, 0)}); got != want {
			t.Errorf("in session %s: %q, want %q", session, got, want)
		}
		if got := first(memory.Query{Text: "hiking", Other: value.Must(map[string]any{"place": session}), Now: may.AddDate(2, 0, 0)}); got != want {
			t.Errorf("in place %s: %q, want %q", session, got, want)
		}
	}
	found := f.mustSearch(memory.Query{Text: "Did Caroline go hiking on 7 May 2025?"})
	f.wantSame("the reason", "matches “hiking”, “go”; said by Caroline; 7 May 2025", found[0].Reason)
	// Only a speaker, or only a time.
	f.wantSame("all of a speaker", []string{"I went hiking with the dog."}, contentsOf(f.mustSearch(memory.Query{Text: "what did she do on 7 May 2025?", MinRelevance: 0.5})[:1]))
	for _, text := range []string{"What was done on 7 May 2025?", "Anything new since 7 May 2025?", "Did something happen on 7 May 2025?"} {
		if got := f.mustSearch(memory.Query{Text: text, MinRelevance: 0.5}); len(got) == 0 {
			t.Errorf("%s found nothing", text)
		}
	}
	// 12:00 UTC is the next day in the far east.
	east := f.mustSearch(memory.Query{Text: "What happened on 8 May 2025?", Now: may.AddDate(0, 3, 0).In(time.FixedZone("", 13*3600)), MinRelevance: 0.5})
	f.wantSame("the day of who asks", "8 May 2025", east[0].Reason)
	f.wantSame("Chinese date", []string{"I went hiking with the dog."}, contentsOf(f.mustSearch(memory.Query{Text: "2025年5月7日", MinRelevance: 0.5})))
	// Earlier utterances help a short question.
	if got := f.mustSearch(memory.Query{Text: "And where?", Earlier: []string{"Did Mel go hiking?"}}); len(got) == 0 || got[0].Memory.Content != "I went hiking with the kids." {
		t.Errorf("after another question: %v", contentsOf(got))
	}
}

func testFilters(t *testing.T, f *fixture) {
	f.mustSave(newMemory("tea in the morning", "a", 0), newMemory("tea at noon", "b", time.Hour), newMemory("tea in the evening", "a", 2*time.Hour))
	f.mustSave(newMemory("coffee", "", 0))
	for _, test := range []struct {
		q    memory.Query
		want int
	}{
		{memory.Query{}, 3},
		{memory.Query{Limit: 2}, 2},
		{memory.Query{OnlySession: true, Session: "a"}, 2},
		{memory.Query{OnlySession: true, Session: "c"}, 0},
		{memory.Query{OnlySession: true, Text: "coffee"}, 1}, // of the session without a name
		{memory.Query{OnlySession: true, Session: "c", Text: "coffee"}, 0},
		{memory.Query{Since: Start.Add(time.Hour)}, 2},
		{memory.Query{Before: Start.Add(time.Hour)}, 1},
		{memory.Query{MinRelevance: 0.9999999}, 0},
	} {
		test.q.Text = cmp.Or(test.q.Text, "tea")
		if got := f.mustSearch(test.q); len(got) != test.want {
			t.Errorf("%+v: %v, want %d", test.q, contentsOf(got), test.want)
		}
	}
}

func testAsOf(t *testing.T, f *fixture) {
	f.mustSave(newMemory("tea today", "", 0), newMemory("tea tomorrow", "", 24*time.Hour))
	for asOf, want := range map[bool]int{true: 1, false: 2} {
		if got := f.mustSearch(memory.Query{Text: "tea", AsOf: asOf}); len(got) != want {
			t.Errorf("as of now %v: %v", asOf, contentsOf(got))
		}
	}
}

// testWindows: an answer is found by the words around it, but never across sessions.
func testWindows(_ *testing.T, f *fixture) {
	f.mustSave(newMemory("Which instrument are you learning?", "a", 0), newMemory("The cello!", "a", time.Minute), newMemory("The weather is nice.", "b", 2*time.Minute),
		newMemory("Loose notes stand alone.", "", 0), newMemory("They have no neighbours.", "", 0))
	got := contentsOf(f.mustSearch(memory.Query{Text: "instrument learning"}))
	slices.Sort(got)
	f.wantSame("around the question", []string{"The cello!", "Which instrument are you learning?"}, got)
	f.wantSame("no session", []string{"Loose notes stand alone."}, contentsOf(f.mustSearch(memory.Query{Text: "loose notes"})))
}

// testNeighbours: mere neighbours of a hit are not worth showing, but can be asked for.
func testNeighbours(t *testing.T, f *fixture) {
	f.mustSave(newMemory("Do you still learn the violin in Vienna?", "a", 0), newMemory("Every day, but my neighbours complain.", "a", time.Minute))
	q := memory.Query{Text: "violin in Vienna", MinRelevance: memory.DefaultMinRelevance}
	f.wantSame("hits", []string{"Do you still learn the violin in Vienna?"}, contentsOf(f.mustSearch(q)))
	q.Neighbours = true
	found := f.mustSearch(q)
	if len(found) != 2 || found[0].Neighbour || !found[1].Neighbour || found[1].Relevance >= memory.DefaultMinRelevance {
		t.Errorf("with neighbours: %+v", found)
	}
}

// testSameText: a text that was said many times is found once, with its last time.
func testSameText(t *testing.T, f *fixture) {
	var list []memory.BaseMemory
	for i := range 60 {
		list = append(list, newMemory("I like green tea.", fmt.Sprint(i), time.Duration(i)*time.Hour))
	}
	list = append(list, newMemory("I like black tea, too.", "x", 0), newMemory("And tea with milk.", "y", 0))
	f.mustSave(list...)
	found := f.mustSearch(memory.Query{Text: "tea", Limit: 3})
	got := contentsOf(found)
	slices.Sort(got)
	f.wantSame("each text once", []string{"And tea with milk.", "I like black tea, too.", "I like green tea."}, got)
	for _, s := range found {
		if s.Memory.Content == "I like green tea." && !s.Memory.Timestamp.Equal(Start.Add(59*time.Hour)) {
			t.Errorf("it was said last at %v, found is %v", Start.Add(59*time.Hour), s.Memory.Timestamp)
		}
	}
}

// testSameWords: texts that differ in case, blanks and the marks at the end are one memory, the newest, with the
// number of times it was said.
func testSameWords(t *testing.T, f *fixture) {
	for i, content := range []string{"I like jasmine tea", "I like jasmine tea.", "i like jasmine tea", "I like  jasmine tea!", "I LIKE JASMINE TEA"} {
		f.mustSave(newMemory(content, "a", time.Duration(i)*24*time.Hour))
	}
	found := f.mustSearch(memory.Query{Text: "which tea do I like", Limit: 5})
	f.wantSame("the newest, once", []string{"I LIKE JASMINE TEA"}, contentsOf(found))
	if len(found) > 0 && !strings.Contains(found[0].Reason, "said 5 times") {
		t.Errorf("the reason is %q", found[0].Reason)
	}
}

// testSameTextAgain: if a text was said on several days, a question about one day finds that day's.
func testSameTextAgain(t *testing.T, f *fixture) {
	on := func(content string, month time.Month, day int) memory.BaseMemory {
		m := newMemory(content, fmt.Sprint(month, day), 0)
		m.Timestamp = time.Date(2026, month, day, 9, 0, 0, 0, time.UTC)
		return m
	}
	f.mustSave(on("We had noodles for lunch.", 3, 2), on("We had noodles for lunch.", 4, 7), on("The cat slept.", 3, 3))
	for _, test := range []struct {
		text string
		want time.Month
	}{{"what did we have for lunch on March 2", 3}, {"what did we have for lunch", 4}} {
		found := f.mustSearch(memory.Query{Text: test.text, Limit: 1, Now: time.Date(2026, 5, 1, 9, 0, 0, 0, time.UTC)})
		if len(found) != 1 || found[0].Memory.Timestamp.Month() != test.want {
			t.Errorf("%s: got %+v, want that of month %d", test.text, found, test.want)
		}
	}
}

// testChineseQuestions: dates, the present, follow-ups, and words that are whole.
func testChineseQuestions(t *testing.T, f *fixture) {
	on := func(content, session string, year int, month time.Month, day int) memory.BaseMemory {
		m := newMemory(content, session, 0)
		m.Timestamp = time.Date(year, month, day, 9, 0, 0, 0, time.UTC)
		return m
	}
	f.mustSave(
		on("我的手机号是13800000001。", "a", 2026, 1, 3), on("我换手机号了，现在是13900000002。", "b", 2026, 5, 2),
		on("我家的猫叫豆豆，今年三岁。", "c", 2026, 3, 1), on("我去了杭州，看了西湖。", "d", 2026, 5, 7), on("我们全家去了青岛。", "e", 2025, 7, 20),
		on("今天去医院体检了。", "f", 2026, 5, 13), on("我对花生过敏。", "g", 2026, 2, 2), on("周末三要去爬山，别忘了带水。", "h", 2026, 4, 2),
		on("小王吃海鲜会起疹子。", "i", 2026, 3, 3), on("买了7个苹果，花了15元。", "j", 2026, 3, 4), on("5月20日要交报告。", "k", 2026, 3, 5), on("看了花灯，吃了汤圆。", "l", 2026, 2, 17),
	)
	for _, test := range []struct{ text, earlier, want, reason string }{
		{"5月7日发生了什么", "", "我去了杭州，看了西湖。", "2026年5月7日"},
		{"上周三我做了什么？", "", "今天去医院体检了。", "2026年5月13日"},
		{"去年夏天发生了什么", "", "我们全家去了青岛。", "2025年7月20日"},
		{"我现在最新的手机号", "", "我换手机号了，现在是13900000002。", "匹配“手机号”、“现在”"},
		{"它呢", "我的猫", "我家的猫叫豆豆，今年三岁。", "匹配“猫”"},
		{"我去了杭州吗", "", "我去了杭州，看了西湖。", "匹配“杭州”、“去”"},
		{"我过敏吗", "", "我对花生过敏。", "自2026年2月2日起有效（allergy：花生）；匹配“过敏”"},
		{"小王吃什么", "", "小王吃海鲜会起疹子。", "匹配“小王”、“吃”"},
		{"7月20号去了哪里", "", "我们全家去了青岛。", "与问题有相同的字；2025年7月20日"},
		{"今年春节干了啥", "", "看了花灯，吃了汤圆。", "2026年2月17日"},
		{"7号我去哪了", "", "我去了杭州，看了西湖。", "匹配“去”；2026年5月7日"},
		{"5月20日有什么事", "", "5月20日要交报告。", "匹配“20”、“5”"},
	} {
		q := memory.Query{Text: test.text, Now: time.Date(2026, 5, 20, 12, 0, 0, 0, time.UTC), MinRelevance: memory.DefaultMinRelevance}
		if test.earlier != "" {
			q.Earlier = []string{test.earlier}
		}
		found := f.mustSearch(q)
		if len(found) == 0 || found[0].Memory.Content != test.want || found[0].Reason != test.reason {
			t.Errorf("%q: found %+v, want %q because of %q", test.text, found, test.want, test.reason)
		}
	}
	for _, text := range []string{"去哪里", "7", "15", "2026", "6月7日发生了什么", "7号楼"} { // they share one character or number with memories
		if got := contentsOf(f.mustSearch(memory.Query{Text: text, Now: time.Date(2026, 9, 20, 12, 0, 0, 0, time.UTC), MinRelevance: memory.DefaultMinRelevance})); len(got) > 0 {
			t.Errorf("%q finds %q", text, got)
		}
	}
	for language, want := range map[string]string{"en": "matches “过敏”", "zh_CN": "匹配“过敏”", "": "匹配“过敏”"} {
		f.wantSame("the reason in "+language, want, f.mustSearch(memory.Query{Text: "我过敏吗", Language: language, NoFacts: true})[0].Reason)
	}
	for _, s := range f.mustSearch(memory.Query{Text: "周三要做什么"}) {
		if strings.Contains(s.Reason, "三要") {
			t.Errorf("%q is cut across words", s.Reason)
		}
	}
}

// testOrder: of the same score, the newer comes first, then the smaller id.
func testOrder(_ *testing.T, f *fixture) {
	var want []string
	for i, also := range []string{"it", "she", "he", "they", "we"} { // stop words
		m := newMemory("the same words "+also, fmt.Sprint(i), time.Duration(i/2)*time.Hour)
		m.ID = fmt.Sprintf("memory_0000000%d-0000-7000-8000-000000000000", 5-i)
		f.mustSave(m)
	}
	old := Start.AddDate(30, 0, 0) // so long after that recency is the same for all
	for _, s := range f.mustSearch(memory.Query{Text: "same words", Now: old}) {
		want = append(want, s.Memory.ID[14:15])
	}
	f.wantSame("the order", "1 2 3 4 5", strings.Join(want, " "))
}

func testNewestFirst(_ *testing.T, f *fixture) {
	f.mustSave(newMemory("The project database is PostgreSQL 16 on the main server.", "a", 0), newMemory("We talked about lunch.", "a", time.Minute),
		newMemory("The project database is PostgreSQL 18 on the main server.", "b", time.Hour), newMemory("Something else entirely.", "b", 2*time.Hour))
	got := contentsOf(f.mustSearch(memory.Query{Text: "Which PostgreSQL is the project database?", Now: Start.AddDate(3, 0, 0), Limit: 2}))
	f.wantSame("the update first", []string{"The project database is PostgreSQL 18 on the main server.", "The project database is PostgreSQL 16 on the main server."}, got)
}

// bounds are the counts that retrieval must reach on a set of talks.
type bounds struct {
	questions, first, five, ten, returned, foreign int
}

var (
	dialogue = bounds{questions: 91, first: 54, five: 81, ten: 82, returned: 74, foreign: 1}
	chinese  = bounds{questions: 82, first: 63, five: 77, ten: 79, returned: 70, foreign: 1}
)

// testTalks asks the questions of all talks: of the talk's own user, and of other users, who know nothing of it.
func testTalks(t *testing.T, f *fixture, name string, want bounds) {
	talks, err := Talks(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, talk := range talks {
		f.mustSave(talk.Memories...)
	}
	var got bounds
	for i, talk := range talks {
		for _, q := range talk.Questions {
			got.questions++
			at := placeOfEvidence(q, f.mustSearch(memory.Query{Users: memory.User(talk.User), Text: q.Text, Now: Asked, Limit: 10}))
			if at < 1 {
				got.first++
			}
			if at < 5 {
				got.five++
			}
			if at < 10 {
				got.ten++
			}
			if placeOfEvidence(q, f.mustSearch(memory.Query{Users: memory.User(talk.User), Text: q.Text, Now: Asked, MinRelevance: memory.DefaultMinRelevance})) < 10 {
				got.returned++
			}
			stranger := talks[(i+1)%len(talks)].User
			found := f.mustSearch(memory.Query{Users: memory.User(stranger), Text: q.Text, Now: Asked, MinRelevance: memory.DefaultMinRelevance})
			if len(found) > 0 {
				got.foreign++
			}
			for _, s := range found {
				if s.Memory.Context.UserID != stranger {
					t.Errorf("%q leaks a memory of %s to %s", q.Text, s.Memory.Context.UserID, stranger)
				}
			}
		}
	}
	t.Logf("%s: %+v", name, got)
	if got.questions != want.questions || got.first < want.first || got.five < want.five || got.ten < want.ten || got.returned < want.returned || got.foreign > want.foreign {
		t.Errorf("%s: %+v, want at least %+v (foreign: at most)", name, got, want)
	}
}

// placeOfEvidence returns the place of the first evidence; 100 if none was found.
func placeOfEvidence(q Question, found []memory.Scored) int {
	for i, s := range found {
		for _, id := range q.Evidence {
			if s.Memory.ID == id {
				return i
			}
		}
	}
	return 100
}

// testSigns: pictures are words, and ß is ss.
func testSigns(_ *testing.T, f *fixture) {
	for i, content := range []string{"My favourite is 🍣 on Fridays", "Die Straße zur Schule ist gesperrt", "Thanks 👍🏽 for the lift"} {
		f.mustSave(newMemory(content, fmt.Sprint(i), 0))
	}
	for query, want := range map[string]string{
		"🍣": "My favourite is 🍣 on Fridays", "Strasse": "Die Straße zur Schule ist gesperrt", "STRASSE gesperrt": "Die Straße zur Schule ist gesperrt",
		"👍": "Thanks 👍🏽 for the lift",
	} {
		f.wantSame(query, []string{want}, contentsOf(f.mustSearch(memory.Query{Text: query, Limit: 3, MinRelevance: memory.DefaultMinRelevance})))
	}
}

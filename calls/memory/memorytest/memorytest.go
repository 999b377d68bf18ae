// Package memorytest is the conformance suite of memory stores ([Run]), with talks on which it measures retrieval:
// for example, of 82 questions in Chinese at least 63 must find their answer first.
package memorytest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/llm/value"
)

// Open makes an empty store with that clock; the test closes it.
type Open func(t *testing.T, clock func() time.Time) memory.Store

// Start is the first time on the clock of a new store.
var Start = time.Date(2026, 3, 5, 9, 7, 0, 0, time.UTC)

// Run checks a store against the whole contract of stores.
func Run(t *testing.T, open Open) {
	for name, test := range map[string]func(*testing.T, *fixture){
		"saving":           testSaving,
		"saving the same":  testSame,
		"saving all":       testAllOrNone,
		"versions":         testVersions,
		"walls":            testWalls,
		"unknown fields":   testUnknown,
		"listing":          testListing,
		"searching":        testSearching,
		"boosts":           testBoosts,
		"filters":          testFilters,
		"windows":          testWindows,
		"neighbours":       testNeighbours,
		"same text":        testSameText,
		"same words":       testSameWords,
		"signs":            testSigns,
		"same text again":  testSameTextAgain,
		"in Chinese":       testChineseQuestions,
		"order":            testOrder,
		"newest first":     testNewestFirst,
		"facts":            func(_ *testing.T, f *fixture) { testFacts(f) },
		"chatter":          func(_ *testing.T, f *fixture) { testChatter(f) },
		"snapshots":        testSnapshots,
		"meta snapshots":   testMetaSnapshots,
		"jobs":             testJobs,
		"jobs of metas":    testMetaJobs,
		"deleting":         testDeleting,
		"scrubbing":        testScrubbing,
		"dry run":          testDryRun,
		"stats":            testStats,
		"many at once":     testMany,
		"dialogue":         func(t *testing.T, f *fixture) { testTalks(t, f, "dialogue", dialogue) },
		"chinese":          func(t *testing.T, f *fixture) { testTalks(t, f, "chinese", chinese) },
		"talksInSnapshots": testTalksInSnapshots,
		"searching before": testAsOf,
		"embeddings":       testEmbeddings,
		"stale embeddings": testStaleEmbeddings,
		"meaning":          testMeaning,
	} {
		t.Run(name, func(t *testing.T) {
			f := &fixture{T: t, now: Start}
			f.Store = open(t, func() time.Time { f.mu.Lock(); defer f.mu.Unlock(); return f.now })
			t.Cleanup(func() {
				if err := f.Store.Close(); err != nil {
					t.Error(err)
				}
			})
			test(t, f)
		})
	}
}

// fixture is a store under test.
type fixture struct {
	*testing.T
	memory.Store
	mu  sync.Mutex
	now time.Time
}

func (f *fixture) passTime(d time.Duration) { f.mu.Lock(); f.now = f.now.Add(d); f.mu.Unlock() }

// newMemory makes a memory of user ann in a session.
func newMemory(content, session string, after time.Duration) memory.BaseMemory {
	return memory.BaseMemory{Content: content, Timestamp: Start.Add(after), Context: memory.Context{UserID: "ann", SessionID: session}}
}

func (f *fixture) mustSave(list ...memory.BaseMemory) []string {
	f.Helper()
	saved, err := f.SaveMemories(f.Context(), list)
	if err != nil {
		f.Fatalf("saving: %v", err)
	}
	ids := make([]string, len(saved))
	for i, s := range saved {
		ids[i] = s.ID
	}
	return ids
}

func (f *fixture) mustLoad(id string) *memory.BaseMemory {
	f.Helper()
	m, err := f.LoadMemory(f.Context(), id)
	if err != nil {
		f.Fatal(err)
	}
	return m
}

func (f *fixture) mustList(which memory.Selection) (texts []string) {
	f.Helper()
	for m, err := range f.Memories(f.Context(), which) {
		if err != nil {
			f.Fatal(err)
		}
		texts = append(texts, m.Content)
	}
	return texts
}

func (f *fixture) mustSearch(q memory.Query) []memory.Scored {
	f.Helper()
	if q.Now.IsZero() {
		q.Now = f.now
	}
	if q.Users.Check() != nil {
		q.Users = memory.User("ann")
	}
	found, err := f.Store.Search(f.Context(), &q)
	if err != nil {
		f.Fatalf("searching %q: %v", q.Text, err)
	}
	for i, s := range found.Memories {
		tooLow := s.Relevance <= q.MinRelevance && !s.Neighbour
		if tooLow || s.Relevance > 1 || s.Reason == "" {
			f.Errorf("%q: relevance %v, reason %q", q.Text, s.Relevance, s.Reason)
		}
		if i > 0 && s.Relevance > found.Memories[i-1].Relevance {
			f.Errorf("%q: the %d. is more relevant than the one before", q.Text, i+1)
		}
	}
	return found.Memories
}

func contentsOf(list []memory.Scored) (texts []string) {
	for _, s := range list {
		texts = append(texts, s.Memory.Content)
	}
	return texts
}

func (f *fixture) wantSame(what string, want, got any) {
	f.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		f.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func (f *fixture) wantInvalid(what string, err error) {
	f.Helper()
	if calls.KindOf(err) != calls.Invalid || err == nil {
		f.Errorf("%s: %v, want an error of kind invalid", what, err)
	}
}

func testSaving(t *testing.T, f *fixture) {
	ids := f.mustSave(newMemory("I like jasmine tea.", "s", 1500*time.Microsecond))
	m := f.mustLoad(ids[0])
	if m == nil || m.Content != "I like jasmine tea." || !m.Timestamp.Equal(Start.Add(time.Millisecond)) || m.ID != ids[0] || m.Context.SessionID != "s" {
		t.Fatalf("got %+v", m)
	}
	if m := f.mustLoad(memory.NewID(memory.MemoryID, Start)); m != nil {
		t.Errorf("a memory that is not there: %v", m)
	}
	undated := f.mustSave(memory.BaseMemory{Content: "undated"})
	if m := f.mustLoad(undated[0]); !m.Timestamp.Equal(Start) {
		t.Errorf("without a time: %v", m.Timestamp)
	}
	_, err := f.LoadMemory(t.Context(), "../../etc/passwd")
	f.wantInvalid("an id that is a path", err)
	for what, m := range map[string]memory.BaseMemory{
		"no content":  {Content: " \n"},
		"bad id":      {Content: "x", ID: "memory_1"},
		"other kind":  {Content: "x", ID: memory.NewID(memory.MetaID, Start)},
		"year 10,000": {Content: "x", Timestamp: time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		_, err := f.SaveMemories(t.Context(), []memory.BaseMemory{m})
		f.wantInvalid(what, err)
	}
}

func testSame(t *testing.T, f *fixture) {
	first := f.mustSave(newMemory("I like tea.", "s", 0))
	for what, m := range map[string]memory.BaseMemory{
		"again":            newMemory("I like tea.", "s", time.Hour),
		"with more spaces": newMemory(" I  like tea. ", "s", 0),
	} {
		saved, err := f.SaveMemories(t.Context(), []memory.BaseMemory{m})
		if err != nil || saved[0] != (memory.Saved{ID: first[0], State: memory.Merged}) {
			t.Errorf("%s: %v, %v", what, saved, err)
		}
	}
	role := newMemory("I like tea.", "s", 0)
	role.Context.Other = value.Must(map[string]any{"role": "user"})
	later := role
	later.Timestamp = Start.Add(time.Minute)
	for what, m := range map[string]memory.BaseMemory{
		"another session": newMemory("I like tea.", "t", 0), "another text": newMemory("I like tea!", "s", 0),
		"another user": {Content: "I like tea."}, "said in a chat": role, "said again": later,
	} {
		saved, err := f.SaveMemories(t.Context(), []memory.BaseMemory{m})
		if err != nil || saved[0].State != memory.Created {
			t.Errorf("%s: %v, %v", what, saved, err)
		}
	}
	saved, err := f.SaveMemories(t.Context(), []memory.BaseMemory{role})
	if err != nil || saved[0].State != memory.Merged {
		t.Errorf("the same utterance: %v, %v", saved, err)
	}
	given := newMemory("I like tea.", "s", 0)
	given.ID = memory.NewID(memory.MemoryID, Start)
	for _, want := range []memory.SaveState{memory.Created, memory.Unchanged} {
		saved, err := f.SaveMemories(t.Context(), []memory.BaseMemory{given})
		if err != nil || saved[0] != (memory.Saved{ID: given.ID, State: want}) {
			t.Errorf("with an id: %v, %v", saved, err)
		}
	}
	undated := given
	undated.Timestamp = time.Time{}
	f.passTime(time.Minute)
	if saved, err := f.SaveMemories(t.Context(), []memory.BaseMemory{undated}); err != nil || saved[0].State != memory.Unchanged {
		t.Errorf("with an id, without a time: %v, %v", saved, err)
	}
	if m, err := f.LoadMemory(t.Context(), given.ID); err != nil || !m.Timestamp.Equal(given.Timestamp) {
		t.Errorf("its time: %v, %v", m, err)
	}
	if ids := f.mustSave(newMemory("twice", "s", 0), newMemory("twice", "s", 0)); ids[0] != ids[1] {
		t.Errorf("in one change: %v", ids)
	}
}

func testAllOrNone(t *testing.T, f *fixture) {
	_, err := f.SaveMemories(t.Context(), []memory.BaseMemory{newMemory("one", "s", 0), newMemory("", "s", 0)})
	f.wantInvalid("a bad memory among good ones", err)
	if err == nil || !strings.Contains(err.Error(), "memory 2 of 2") {
		t.Errorf("which one? %v", err)
	}
	if texts := f.mustList(memory.Selection{Users: memory.AllUsers()}); texts != nil {
		t.Errorf("stored: %v", texts)
	}
	if saved, err := f.SaveMemories(t.Context(), nil); len(saved) != 0 || err != nil {
		t.Errorf("nothing: %v, %v", saved, err)
	}
}

func testVersions(t *testing.T, f *fixture) {
	for range 30 {
		var fillers []memory.BaseMemory
		for range 10 {
			fillers = append(fillers, newMemory(fmt.Sprintf("filler %d", f.now.Unix()), "s", 0))
			f.passTime(time.Second)
		}
		f.mustSave(fillers...)
	}
	m := newMemory("The database is PostgreSQL 16.", "s", 0)
	m.ID = f.mustSave(m)[0]
	for _, content := range []string{"The database is PostgreSQL 17.", "The database is PostgreSQL 18."} {
		m.Content = content
		saved, err := f.SaveMemories(t.Context(), []memory.BaseMemory{m})
		if err != nil || saved[0] != (memory.Saved{ID: m.ID, State: memory.Updated}) {
			t.Fatalf("%v, %v", saved, err)
		}
	}
	old, err := f.History(t.Context(), m.ID)
	if err != nil || len(old) != 2 || old[0].Content != "The database is PostgreSQL 16." || old[1].Content != "The database is PostgreSQL 17." {
		t.Errorf("history: %v, %v", old, err)
	}
	f.wantSame("by the new words", []string{m.Content}, contentsOf(f.mustSearch(memory.Query{Text: "PostgreSQL 18", Limit: 1})))
	if found := f.mustSearch(memory.Query{Text: "17"}); len(found) != 0 {
		t.Errorf("by the old words: %v", contentsOf(found))
	}
	if none, err := f.History(t.Context(), memory.NewID(memory.MemoryID, Start)); none != nil || err != nil {
		t.Errorf("of nothing: %v, %v", none, err)
	}
}

func testWalls(t *testing.T, f *fixture) {
	mine := newMemory("The password of the bank is swordfish.", "s", 0)
	theirs := mine
	theirs.Context.UserID, theirs.Content = "", "The password of the shed is tadpole."
	ids := f.mustSave(mine, theirs)
	for user, want := range map[string]string{"ann": mine.Content, "": theirs.Content} {
		f.wantSame("user "+user, []string{want}, contentsOf(f.mustSearch(memory.Query{Users: memory.User(user), Text: "What is the password?"})))
		f.wantSame("user "+user, []string{want}, f.mustList(memory.Selection{Users: memory.User(user)}))
	}
	if found := f.mustSearch(memory.Query{Users: memory.User("bob"), Text: "password", MinRelevance: 0}); len(found) > 0 {
		t.Errorf("a stranger finds %v", contentsOf(found))
	}
	if n := len(f.mustSearch(memory.Query{Users: memory.AllUsers(), Text: "What is the password?"})); n != 2 {
		t.Errorf("all users have %d passwords, want 2", n)
	}
	theirs.ID = ids[0]
	_, err := f.SaveMemories(t.Context(), []memory.BaseMemory{theirs})
	f.wantInvalid("taking over another's id", err)

	_, err = f.Store.Search(t.Context(), &memory.Query{Text: "password"})
	f.wantInvalid("searching unscoped", err)
	_, err = f.Delete(t.Context(), memory.Selection{})
	f.wantInvalid("deleting unscoped", err)
	_, err = f.Stats(t.Context(), memory.Users{})
	f.wantInvalid("counting unscoped", err)
	_, err = f.Claim(t.Context(), memory.Claim{})
	f.wantInvalid("claiming unscoped", err)
	for _, err := range f.Memories(t.Context(), memory.Selection{}) {
		f.wantInvalid("listing unscoped", err)
	}
	for _, err := range f.Snapshots(t.Context(), memory.Selection{}) {
		f.wantInvalid("listing unscoped", err)
	}
	for _, err := range f.MetaSnapshots(t.Context(), memory.Selection{}) {
		f.wantInvalid("listing unscoped", err)
	}
}

func testUnknown(t *testing.T, f *fixture) {
	v, err := value.ParseJSON([]byte(`{"id":"memory_01890a5d-ac96-774b-bcce-b302099a8057","content":"x","timestamp":"2024-12-24T14:08:07.103Z",` +
		`"context":{"user_id":"ann","session_id":"","other_context":{"mood":1.50},"place":"here"},"tags":[1,2]}`))
	if err != nil {
		t.Fatal(err)
	}
	var m memory.BaseMemory
	if err := value.Decode(v, &m); err != nil {
		t.Fatal(err)
	}
	f.mustSave(m)
	f.wantSame("the memory", v.JSON(), value.Must(*f.mustLoad(m.ID)).JSON())
}

func testListing(t *testing.T, f *fixture) {
	bob := newMemory("bob's", "s", 0)
	bob.Context.UserID = "bob"
	chat := newMemory("said", "s", 2*time.Hour)
	chat.Context.Other = value.Must(map[string]any{"role": "user"})
	ids := f.mustSave(newMemory("third", "s", 3*time.Hour), newMemory("first", "t", time.Hour), newMemory("second", "s", 2*time.Hour), chat, bob)
	ann := memory.User("ann")
	for _, test := range []struct {
		which memory.Selection
		want  []string
	}{
		{memory.Selection{Users: ann}, []string{"first", "second", "said", "third"}},
		{memory.Selection{Users: memory.AllUsers()}, []string{"first", "second", "said", "third", "bob's"}},
		{memory.Selection{Users: memory.User("nobody")}, nil},
		{memory.Selection{Users: ann, HasSession: true, Session: "s"}, []string{"second", "said", "third"}},
		{memory.Selection{Users: ann, HasSession: true, Session: "none"}, nil},
		{memory.Selection{Users: ann, HasSession: true}, nil},
		{memory.Selection{Users: ann, Newest: 2}, []string{"said", "third"}},
		{memory.Selection{Users: ann, Utterances: true}, []string{"said"}},
		{memory.Selection{Users: ann, Before: Start.Add(2 * time.Hour)}, []string{"first"}},
		{memory.Selection{Users: ann, Since: Start.Add(2*time.Hour + time.Nanosecond)}, []string{"third"}},
		{memory.Selection{Users: ann, ID: ids[0]}, []string{"third"}},
		{memory.Selection{Users: ann, ID: ids[4]}, nil},
	} {
		f.wantSame(fmt.Sprintf("%+v", test.which), test.want, f.mustList(test.which))
	}
	for _, err := range f.Memories(t.Context(), memory.Selection{Users: ann}) {
		if err != nil {
			t.Errorf("Memories: %v", err)
		}
		break
	}
}

func testStats(t *testing.T, f *fixture) {
	f.mustSave(newMemory("one", "s", time.Hour), newMemory("two", "", 0), memory.BaseMemory{Content: "three"})
	all, err := f.Stats(t.Context(), memory.AllUsers())
	if err != nil || all.Bytes <= 0 {
		t.Errorf("%+v, %v", all, err)
	}
	all.Bytes = 0
	f.wantSame("all", memory.Stats{Users: 2, Sessions: 1, Memories: 3, Jobs: 3, Oldest: Start, Newest: Start.Add(time.Hour)}, all)
	one, err := f.Stats(t.Context(), memory.User("ann"))
	if err != nil || one.Users != 1 || one.Memories != 2 || one.Jobs != 2 {
		t.Errorf("%+v, %v", one, err)
	}
	none, err := f.Stats(t.Context(), memory.User("bob"))
	if err != nil || none != (memory.Stats{}) {
		t.Errorf("%+v, %v", none, err)
	}
}

func testMany(t *testing.T, f *fixture) {
	const writers, each = 8, 60
	var all sync.WaitGroup
	ids := make([][]string, writers)
	errs := make([]error, writers)
	for w := range writers {
		all.Go(func() {
			for i := range each {
				m := newMemory(fmt.Sprintf("writer%d says word%d", w, i), fmt.Sprint("s", w%3), time.Duration(i)*time.Second)
				saved, err := f.SaveMemories(t.Context(), []memory.BaseMemory{m})
				if err != nil {
					errs[w] = err
					return
				}
				ids[w] = append(ids[w], saved[0].ID)
				q := memory.Query{Users: memory.User("ann"), Text: fmt.Sprintf("writer%d word%d", w, i), Now: Start}
				found, err := f.Store.Search(t.Context(), &q)
				if err == nil && !slices.ContainsFunc(found.Memories, func(s memory.Scored) bool { return s.Memory.ID == saved[0].ID }) {
					err = fmt.Errorf("%q is not found at once: %v", m.Content, contentsOf(found.Memories))
				}
				errs[w] = errors.Join(errs[w], err)
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	flat := slices.Concat(ids...)
	slices.Sort(flat)
	if n := len(slices.Compact(flat)); n != writers*each {
		t.Errorf("%d ids, want %d", n, writers*each)
	}
}

package memorytest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls/memory"
)

func (f *fixture) useModel(name string) memory.Model {
	f.Helper()
	m := memory.Model{Name: name, Dimensions: Dimensions, Unrelated: 0.05, Related: 0.9}
	if err := f.UseModel(f.Context(), m); err != nil {
		f.Fatal(err)
	}
	return m
}

// claimUnembedded claims memories, by default of all users.
func (f *fixture) claimUnembedded(c memory.Claim, n int) []memory.Embedding {
	f.Helper()
	c.Now, c.Lease = f.now, time.Minute
	if c.Users.Check() != nil {
		c.Users = memory.AllUsers()
	}
	list, err := f.Unembedded(f.Context(), c, n)
	if err != nil {
		f.Fatal(err)
	}
	return list
}

// mustEmbed stores the vectors of memories that were claimed.
func (f *fixture) mustEmbed(model string, list []memory.Embedding) {
	f.Helper()
	for i := range list {
		list[i].Vector = Meaning(list[i].Text)
	}
	if err := f.SaveEmbeddings(f.Context(), model, list); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) wantCounts(vectors, unembedded int) {
	f.Helper()
	st, err := f.Stats(f.Context(), memory.AllUsers())
	if err != nil || st.Vectors != vectors || st.Unembedded != unembedded {
		f.Errorf("%d vectors and %d without, want %d and %d; %v", st.Vectors, st.Unembedded, vectors, unembedded, err)
	}
}

func idsOf(list []memory.Embedding) (ids []string) {
	for _, x := range list {
		ids = append(ids, x.ID)
	}
	return ids
}

// testEmbeddings: which memories wait for a vector, and for how long.
func testEmbeddings(t *testing.T, f *fixture) {
	early := f.mustSave(newMemory("before there was a model", "s", 0))
	if m, err := f.Model(t.Context()); err != nil || m != (memory.Model{}) {
		t.Errorf("a new store uses %+v, %v", m, err)
	}
	f.wantCounts(0, 0)
	want := f.useModel("one")
	if m, err := f.Model(t.Context()); err != nil || m != want {
		t.Errorf("in use is %+v, %v", m, err)
	}
	if _, err := f.Unembedded(t.Context(), memory.Claim{Now: f.now}, 1); err == nil {
		t.Error("claiming unscoped")
	}
	saved := f.mustSave(newMemory("the second", "s", 0), memory.BaseMemory{Content: "nobody's"})
	f.wantCounts(0, 3)
	if got := f.claimUnembedded(memory.Claim{Users: memory.User("bob")}, 9); got != nil {
		t.Errorf("bob has %v", got)
	}
	first := f.claimUnembedded(memory.Claim{Users: memory.User("ann")}, 1)
	f.wantSame("the first", early, idsOf(first))
	f.wantSame("its text", "before there was a model", first[0].Text)
	rest := f.claimUnembedded(memory.Claim{}, 9)
	both := idsOf(rest)
	slices.Sort(both)
	f.wantSame("the others", slices.Sorted(slices.Values(saved)), both)
	if again := f.claimUnembedded(memory.Claim{}, 9); again != nil {
		t.Errorf("given twice: %v", again)
	}
	f.mustEmbed("one", first)
	f.wantCounts(1, 2)
	// Failed ones come back with their attempts; a dead process's after its lease.
	rest[0].Attempts = 3
	if err := f.PostponeEmbeddings(t.Context(), rest[:1], f.now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	f.passTime(2 * time.Minute)
	f.wantSame("after the lease", idsOf(rest[1:]), idsOf(f.claimUnembedded(memory.Claim{}, 9)))
	f.passTime(time.Hour)
	again := f.claimUnembedded(memory.Claim{}, 9)
	if len(again) != 2 || again[0].Attempts+again[1].Attempts != 3 {
		t.Errorf("after the wait: %+v", again)
	}
	f.mustEmbed("two", again)
	f.wantCounts(1, 2)
	f.mustEmbed("one", again)
	f.wantCounts(3, 0)

	// With another model all wait. With the first one again all vectors are there.
	f.useModel("two")
	f.wantCounts(0, 3)
	f.useModel("one")
	f.useModel("one")
	if st, err := f.Stats(t.Context(), memory.AllUsers()); err != nil || st.Vectors != 3 {
		t.Errorf("%+v, %v", st, err)
	}
}

// testStaleEmbeddings: a vector belongs to a text.
func testStaleEmbeddings(t *testing.T, f *fixture) {
	f.useModel("one")
	m := newMemory("I ride a bicycle.", "s", 0)
	m.ID = memory.NewID(memory.MemoryID, Start)
	f.mustSave(m, newMemory("to be deleted", "s", 0))
	list := f.claimUnembedded(memory.Claim{}, 9)
	m.Content = "I live by the sea."
	f.mustSave(m)
	f.mustDelete(memory.Selection{ID: list[1].ID})
	f.mustEmbed("one", list)
	f.wantCounts(0, 1)
	list = f.claimUnembedded(memory.Claim{}, 9)
	f.wantSame("the new text", "I live by the sea.", list[0].Text)
	f.mustEmbed("one", list)
	f.wantCounts(1, 0)
	if got := contentsOf(f.mustSearch(f.queryByMeaning("bicycle"))); len(got) > 0 {
		t.Errorf("by the old text: %v", got)
	}
	f.wantSame("by the new text", []string{m.Content}, contentsOf(f.mustSearch(f.queryByMeaning("ocean"))))
	m.Timestamp = m.Timestamp.Add(time.Hour)
	f.mustSave(m)
	f.wantCounts(1, 0)
	f.mustDelete(memory.Selection{ID: m.ID})
	f.wantCounts(0, 0)
	if got := contentsOf(f.mustSearch(f.queryByMeaning("ocean"))); len(got) > 0 {
		t.Errorf("of a deleted memory: %v", got)
	}
}

// queryByMeaning asks for memories related to a text by meaning.
func (f *fixture) queryByMeaning(text string) memory.Query {
	f.Helper()
	m, err := f.Model(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	return memory.Query{Text: text, MinRelevance: memory.DefaultMinRelevance, Vector: &memory.QueryVector{Model: m, Values: Meaning(text)}}
}

// testMeaning: memories without a word of the query are found, and memories with one are found as before.
func testMeaning(t *testing.T, f *fixture) {
	f.useModel("one")
	theirs := memory.BaseMemory{Content: "Her two-wheeler is green.", Context: memory.Context{UserID: "bob"}}
	f.mustSave(newMemory("I take my two-wheeler every morning.", "a", 0), newMemory("The train leaves at nine.", "b", 0), newMemory("我在海边骑单车。", "c", time.Hour),
		newMemory("A bicycle needs oil.", "d", 0), newMemory("Nothing else is known.", "e", 0), newMemory("我家的猫很乖。", "f", 0), theirs)
	if got := f.mustSearch(memory.Query{Text: "cycling", MinRelevance: 0.5}); len(got) > 0 {
		t.Errorf("by words: %v", contentsOf(got))
	}
	f.mustEmbed("one", f.claimUnembedded(memory.Claim{}, 99))
	got := f.mustSearch(f.queryByMeaning("cycling"))
	texts := contentsOf(got)
	slices.Sort(texts)
	f.wantSame("by meaning", []string{"A bicycle needs oil.", "I take my two-wheeler every morning.", "我在海边骑单车。"}, texts)
	f.wantSame("the reason", "means something similar", got[0].Reason)
	f.wantSame("the reason in Chinese", "含义相近", f.mustSearch(f.queryByMeaning("宠物"))[0].Reason)
	f.wantSame("by both", "A bicycle needs oil.", f.mustSearch(f.queryByMeaning("bicycle"))[0].Memory.Content)
	f.wantSame("by words", []string{"The train leaves at nine."}, contentsOf(f.mustSearch(f.queryByMeaning("When does the train leave?"))))
	if got := f.mustSearch(f.queryByMeaning("quantum chromodynamics")); len(got) > 0 {
		t.Errorf("of nothing: %v", contentsOf(got))
	}
	q := f.queryByMeaning("bicycle")
	q.Users = memory.User("bob")
	f.wantSame("the wall", []string{theirs.Content}, contentsOf(f.mustSearch(q)))
	q.Users = memory.AllUsers()
	if n := len(f.mustSearch(q)); n != 4 {
		t.Errorf("all users have %d", n)
	}
	// Filters hold for meaning as for words.
	for what, narrow := range map[string]func(*memory.Query){
		"session": func(q *memory.Query) { q.OnlySession, q.Session = true, "c" },
		"since":   func(q *memory.Query) { q.Since = Start.Add(time.Minute) },
	} {
		q := f.queryByMeaning("cycling")
		narrow(&q)
		f.wantSame(what, []string{"我在海边骑单车。"}, contentsOf(f.mustSearch(q)))
	}
	q = f.queryByMeaning("cycling")
	q.Before = Start.Add(time.Minute)
	if n := len(f.mustSearch(q)); n != 2 {
		t.Errorf("before: %d", n)
	}
	q = f.queryByMeaning("cycling")
	q.Limit, q.MinRelevance = 4, 0
	all := f.mustSearch(q)
	if len(all) != 4 || all[3].Relevance > 0.5 || strings.Contains(strings.Join(contentsOf(all[:3]), ""), "train") {
		t.Errorf("without a cut: %+v", all)
	}
	// Vectors of another model are not compared, nor are vectors of another length.
	q = f.queryByMeaning("cycling")
	q.Vector.Model.Name = "two"
	if n := len(f.mustSearch(q)); n != 0 {
		t.Errorf("another model finds %d", n)
	}
	q = f.queryByMeaning("cycling")
	q.Vector.Values = q.Vector.Values[:5]
	q.Vector.Values[0] = 1
	if n := len(f.mustSearch(q)); n != 0 {
		t.Errorf("a shorter vector finds %d", n)
	}
}

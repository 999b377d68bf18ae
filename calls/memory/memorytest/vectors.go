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

// unembedded claims memories, by default everybody's.
func (f *fixture) unembedded(c memory.Claim, n int) []memory.Embedding {
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

// embed gives memories that were claimed their vectors.
func (f *fixture) embed(model string, list []memory.Embedding) {
	f.Helper()
	for i := range list {
		list[i].Vector = Meaning(list[i].Text)
	}
	if err := f.SaveEmbeddings(f.Context(), model, list); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) counts(vectors, unembedded int) {
	f.Helper()
	st, err := f.Stats(f.Context(), memory.AllUsers())
	if err != nil || st.Vectors != vectors || st.Unembedded != unembedded {
		f.Errorf("%d vectors and %d without, want %d and %d; %v", st.Vectors, st.Unembedded, vectors, unembedded, err)
	}
}

func ids(list []memory.Embedding) (ids []string) {
	for _, x := range list {
		ids = append(ids, x.ID)
	}
	return ids
}

// testEmbeddings: what waits for a vector, and for how long.
func testEmbeddings(t *testing.T, f *fixture) {
	early := f.save(say("before there was a model", "s", 0))
	if m, err := f.Model(t.Context()); err != nil || m != (memory.Model{}) {
		t.Errorf("a new store uses %+v, %v", m, err)
	}
	f.counts(0, 0)
	want := f.useModel("one")
	if m, err := f.Model(t.Context()); err != nil || m != want {
		t.Errorf("in use is %+v, %v", m, err)
	}
	if _, err := f.Unembedded(t.Context(), memory.Claim{Now: f.now}, 1); err == nil {
		t.Error("claiming unscoped")
	}
	saved := f.save(say("the second", "s", 0), memory.BaseMemory{Content: "nobody's"})
	f.counts(0, 3)
	if got := f.unembedded(memory.Claim{Users: memory.User("bob")}, 9); got != nil {
		t.Errorf("bob has %v", got)
	}
	first := f.unembedded(memory.Claim{Users: memory.User("ann")}, 1)
	f.same("the first", early, ids(first))
	f.same("its text", "before there was a model", first[0].Text)
	rest := f.unembedded(memory.Claim{}, 9)
	both := ids(rest)
	slices.Sort(both)
	f.same("the others", slices.Sorted(slices.Values(saved)), both)
	if again := f.unembedded(memory.Claim{}, 9); again != nil {
		t.Errorf("given twice: %v", again)
	}
	f.embed("one", first)
	f.counts(1, 2)
	// Those that failed come back with their attempts; those of a dead process after
	// their lease.
	rest[0].Attempts = 3
	if err := f.PostponeEmbeddings(t.Context(), rest[:1], f.now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	f.wait(2 * time.Minute)
	f.same("after the lease", ids(rest[1:]), ids(f.unembedded(memory.Claim{}, 9)))
	f.wait(time.Hour)
	again := f.unembedded(memory.Claim{}, 9)
	if len(again) != 2 || again[0].Attempts+again[1].Attempts != 3 {
		t.Errorf("after the wait: %+v", again)
	}
	f.embed("two", again)
	f.counts(1, 2)
	f.embed("one", again)
	f.counts(3, 0)

	// Another model: all wait. The first again: nothing is lost.
	f.useModel("two")
	f.counts(0, 3)
	f.useModel("one")
	f.useModel("one")
	if st, err := f.Stats(t.Context(), memory.AllUsers()); err != nil || st.Vectors != 3 {
		t.Errorf("%+v, %v", st, err)
	}
}

// testStaleEmbeddings: a vector belongs to a text.
func testStaleEmbeddings(t *testing.T, f *fixture) {
	f.useModel("one")
	m := say("I ride a bicycle.", "s", 0)
	m.ID = memory.NewID(memory.MemoryID, Start)
	f.save(m, say("to be deleted", "s", 0))
	list := f.unembedded(memory.Claim{}, 9)
	m.Content = "I live by the sea."
	f.save(m)
	f.delete(memory.Selection{ID: list[1].ID})
	f.embed("one", list)
	f.counts(0, 1)
	list = f.unembedded(memory.Claim{}, 9)
	f.same("the new text", "I live by the sea.", list[0].Text)
	f.embed("one", list)
	f.counts(1, 0)
	if got := contents(f.search(f.meaning("bicycle"))); len(got) > 0 {
		t.Errorf("by the old text: %v", got)
	}
	f.same("by the new text", []string{m.Content}, contents(f.search(f.meaning("ocean"))))
	m.Timestamp = m.Timestamp.Add(time.Hour)
	f.save(m)
	f.counts(1, 0)
	f.delete(memory.Selection{ID: m.ID})
	f.counts(0, 0)
	if got := contents(f.search(f.meaning("ocean"))); len(got) > 0 {
		t.Errorf("of a deleted memory: %v", got)
	}
}

// meaning asks for what is related to a text by meaning.
func (f *fixture) meaning(text string) memory.Query {
	f.Helper()
	m, err := f.Model(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	return memory.Query{Text: text, MinRelevance: memory.DefaultMinRelevance, Vector: &memory.QueryVector{Model: m, Values: Meaning(text)}}
}

// testMeaning: memories without a word of the query are found, and those with one are
// found as before.
func testMeaning(t *testing.T, f *fixture) {
	f.useModel("one")
	theirs := memory.BaseMemory{Content: "Her two-wheeler is green.", Context: memory.Context{UserID: "bob"}}
	f.save(say("I take my two-wheeler every morning.", "a", 0), say("The train leaves at nine.", "b", 0), say("我在海边骑单车。", "c", time.Hour),
		say("A bicycle needs oil.", "d", 0), say("Nothing else is known.", "e", 0), say("我家的猫很乖。", "f", 0), theirs)
	if got := f.search(memory.Query{Text: "cycling", MinRelevance: 0.5}); len(got) > 0 {
		t.Errorf("by words: %v", contents(got))
	}
	f.embed("one", f.unembedded(memory.Claim{}, 99))
	got := f.search(f.meaning("cycling"))
	texts := contents(got)
	slices.Sort(texts)
	f.same("by meaning", []string{"A bicycle needs oil.", "I take my two-wheeler every morning.", "我在海边骑单车。"}, texts)
	f.same("the reason", "means something similar", got[0].Reason)
	f.same("the reason in Chinese", "含义相近", f.search(f.meaning("宠物"))[0].Reason)
	f.same("by both", "A bicycle needs oil.", f.search(f.meaning("bicycle"))[0].Memory.Content)
	f.same("by words", []string{"The train leaves at nine."}, contents(f.search(f.meaning("When does the train leave?"))))
	if got := f.search(f.meaning("quantum chromodynamics")); len(got) > 0 {
		t.Errorf("of nothing: %v", contents(got))
	}
	q := f.meaning("bicycle")
	q.Users = memory.User("bob")
	f.same("the wall", []string{theirs.Content}, contents(f.search(q)))
	q.Users = memory.AllUsers()
	if n := len(f.search(q)); n != 4 {
		t.Errorf("all users have %d", n)
	}
	// Filters hold for meaning as for words.
	for what, narrow := range map[string]func(*memory.Query){
		"session": func(q *memory.Query) { q.OnlySession, q.Session = true, "c" },
		"since":   func(q *memory.Query) { q.Since = Start.Add(time.Minute) },
	} {
		q := f.meaning("cycling")
		narrow(&q)
		f.same(what, []string{"我在海边骑单车。"}, contents(f.search(q)))
	}
	q = f.meaning("cycling")
	q.Before = Start.Add(time.Minute)
	if n := len(f.search(q)); n != 2 {
		t.Errorf("before: %d", n)
	}
	q = f.meaning("cycling")
	q.Limit, q.MinRelevance = 4, 0
	all := f.search(q)
	if len(all) != 4 || all[3].Relevance > 0.5 || strings.Contains(strings.Join(contents(all[:3]), ""), "train") {
		t.Errorf("without a cut: %+v", all)
	}
	// Vectors of another model are not compared, and neither are those of other lengths.
	q = f.meaning("cycling")
	q.Vector.Model.Name = "two"
	if n := len(f.search(q)); n != 0 {
		t.Errorf("another model finds %d", n)
	}
	q = f.meaning("cycling")
	q.Vector.Values = q.Vector.Values[:5]
	q.Vector.Values[0] = 1
	if n := len(f.search(q)); n != 0 {
		t.Errorf("a shorter vector finds %d", n)
	}
}

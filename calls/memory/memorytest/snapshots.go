package memorytest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/llm/value"
)

func (f *fixture) mustSnapshot(user string, s memory.MemorySnapshot) memory.MemorySnapshot {
	f.Helper()
	if s.ID == "" {
		s.ID = memory.NewID(memory.SnapshotID, f.now)
	}
	if err := f.SaveSnapshot(f.Context(), user, s); err != nil {
		f.Fatal(err)
	}
	return s
}

func (f *fixture) mustMetaSnapshot(user string, s memory.MetaSnapshot) memory.MetaSnapshot {
	f.Helper()
	s.ID = memory.NewID(memory.MetaID, f.now)
	if err := f.SaveMetaSnapshot(f.Context(), user, s); err != nil {
		f.Fatal(err)
	}
	return s
}

func testSnapshots(t *testing.T, f *fixture) {
	ids := f.mustSave(newMemory("We rode for hours through the dunes.", "a", 0), newMemory("The sunset was orange.", "b", 0), newMemory("I had soup.", "c", 0))
	theirs := f.mustSave(memory.BaseMemory{Content: "Not for ann."})
	dangling := memory.NewID(memory.MemoryID, Start)
	s := f.mustSnapshot("ann", memory.MemorySnapshot{KeyPoints: []string{"A camel excursion through the dunes"}, Category: " Travel ", Importance: 7,
		MemoryRefs: []string{ids[0], ids[1], theirs[0], dangling, "no id"}, Extra: value.Pairs("mood", "happy")})
	got, err := f.LoadSnapshot(t.Context(), s.ID)
	if err != nil || got == nil {
		t.Fatalf("%v, %v", got, err)
	}
	s.Importance, s.Timestamp = 1, Start
	f.wantSame("the snapshot", value.Must(s).JSON(), value.Must(*got).JSON())

	found := f.mustSearch(memory.Query{Text: "camel excursion", MinRelevance: memory.DefaultMinRelevance})
	f.wantSame("by the words of the key point that speaks of it", []string{"We rode for hours through the dunes."}, contentsOf(found))
	f.wantSame("without a cut, by the words of its snapshot", []string{"We rode for hours through the dunes."}, contentsOf(f.mustSearch(memory.Query{Text: "camel excursion"})))
	for _, x := range found {
		f.wantSame("the snapshots", []string{s.ID}, x.Snapshots)
		if !strings.Contains(x.Reason, s.ID) {
			t.Errorf("the reason is %q", x.Reason)
		}
	}
	if n := len(f.mustSearch(memory.Query{Users: memory.User(""), Text: "camel excursion"})); n != 0 {
		t.Error("a snapshot reaches the memories of another user")
	}
	s.KeyPoints = []string{"A bicycle tour"}
	f.mustSnapshot("ann", s)
	if n := len(f.mustSearch(memory.Query{Text: "camel"})); n != 0 {
		t.Error("the old words of a snapshot are still there")
	}
	if n := len(f.mustSearch(memory.Query{Text: "bicycle tour"})); n != 2 {
		t.Errorf("the new words of a snapshot find %d", n)
	}
	f.wantInvalid("another user's snapshot", f.SaveSnapshot(t.Context(), "bob", s))
	f.wantInvalid("a bad id", f.SaveSnapshot(t.Context(), "ann", memory.MemorySnapshot{ID: "x"}))
	for category, want := range map[string]int{"travel": 1, "TRAVEL ": 1, "": 1, "food": 0} { //nolint:gocritic // the blank is what is tested
		n := 0
		for x, err := range f.Snapshots(t.Context(), memory.Selection{Users: memory.User("ann"), Category: category}) {
			if err != nil || x.User != "ann" {
				t.Errorf("%v, %v", x, err)
			}
			n++
		}
		if n != want {
			t.Errorf("category %q has %d snapshots, want %d", category, n, want)
		}
	}
	other := f.mustSnapshot("ann", memory.MemorySnapshot{Category: "Travel", KeyPoints: []string{"a train"}})
	for user, want := range map[string][]string{"ann": {s.ID}, "bob": nil} {
		var got []string
		for x, err := range f.Snapshots(t.Context(), memory.Selection{Users: memory.User(user), ID: s.ID}) {
			if err != nil {
				t.Error(err)
			}
			got = append(got, x.Snapshot.ID)
		}
		f.wantSame("by id, and not "+other.ID, want, got)
	}
	if none, err := f.LoadSnapshot(t.Context(), memory.NewID(memory.SnapshotID, Start)); none != nil || err != nil {
		t.Errorf("%v, %v", none, err)
	}
}

func testMetaSnapshots(t *testing.T, f *fixture) {
	ids := f.mustSave(newMemory("We rode for hours through the dunes.", "a", 0), newMemory("I had soup.", "b", 0))
	s := f.mustSnapshot("ann", memory.MemorySnapshot{KeyPoints: []string{"a camel"}, Category: "Travel", MemoryRefs: ids[:1]})
	m := f.mustMetaSnapshot("ann", memory.MetaSnapshot{Category: "Travel", Keywords: []string{"expedition"}, SnapshotRefs: []string{s.ID, "no id"}, Description: "Journeys"})
	got, err := f.LoadMetaSnapshot(t.Context(), m.ID)
	if err != nil || got == nil {
		t.Fatalf("%v, %v", got, err)
	}
	m.Timestamp = Start
	f.wantSame("the meta snapshot", value.Must(m).JSON(), value.Must(*got).JSON())
	f.wantSame("by its words", []string{"We rode for hours through the dunes."}, contentsOf(f.mustSearch(memory.Query{Text: "expedition"})))
	f.wantInvalid("another user's", f.SaveMetaSnapshot(t.Context(), "bob", m))
	f.wantInvalid("a bad id", f.SaveMetaSnapshot(t.Context(), "ann", memory.MetaSnapshot{ID: "x"}))
	f.mustMetaSnapshot("ann", memory.MetaSnapshot{Category: "Food"})
	for _, which := range []memory.Selection{{Users: memory.AllUsers(), Category: "travel"}, {Users: memory.User("ann"), ID: m.ID}} {
		n := 0
		for x, err := range f.MetaSnapshots(t.Context(), which) {
			if err != nil || x.Snapshot.ID != m.ID {
				t.Errorf("%v, %v", x, err)
			}
			n++
		}
		if n != 1 {
			t.Errorf("%+v: %d meta snapshots", which, n)
		}
	}
	if none, err := f.LoadMetaSnapshot(t.Context(), memory.NewID(memory.MetaID, Start)); none != nil || err != nil {
		t.Errorf("%v, %v", none, err)
	}
}

func (f *fixture) mustClaim(c memory.Claim) *memory.Job {
	f.Helper()
	c.Now, c.Memories, c.Snapshots, c.Idle, c.Lease = f.now, 8, 3, 5*time.Minute, time.Minute
	if c.Users.Check() != nil {
		c.Users = memory.AllUsers()
	}
	job, err := f.Claim(f.Context(), c)
	if err != nil {
		f.Fatal(err)
	}
	return job
}

func (f *fixture) mustComplete(job *memory.Job) {
	f.Helper()
	if err := f.Complete(f.Context(), job); err != nil {
		f.Fatal(err)
	}
}

func testJobs(t *testing.T, f *fixture) {
	if job := f.mustClaim(memory.Claim{All: true}); job != nil {
		t.Errorf("nothing to do, but %+v", job)
	}
	for i := range 7 {
		f.mustSave(newMemory(fmt.Sprintf("word%d", i), "s", 0))
	}
	if job := f.mustClaim(memory.Claim{}); job != nil {
		t.Error("seven memories are due already")
	}
	if job := f.mustClaim(memory.Claim{All: true, Users: memory.User("bob")}); job != nil {
		t.Error("bob has a job")
	}
	f.mustSave(newMemory("word7", "s", 0))
	job := f.mustClaim(memory.Claim{})
	if job == nil || job.User != "ann" || job.Session != "s" || len(job.Memories) != 8 || job.Memories[0].Content != "word0" {
		t.Fatalf("%+v", job)
	}
	if again := f.mustClaim(memory.Claim{All: true}); again != nil {
		t.Error("a job was given twice")
	}
	if err := f.Postpone(t.Context(), job, f.now.Add(10*time.Minute)); err != nil {
		t.Fatal(err)
	}
	f.passTime(9 * time.Minute)
	if early := f.mustClaim(memory.Claim{All: true}); early != nil {
		t.Error("a job came back too early")
	}
	f.passTime(2 * time.Minute)
	job = f.mustClaim(memory.Claim{})
	if job == nil || job.Attempts != 1 {
		t.Fatalf("%+v", job)
	}
	f.passTime(2 * time.Minute) // the lease is over
	job = f.mustClaim(memory.Claim{})
	if job == nil {
		t.Fatal("a job of a dead process is lost")
	}
	if err := f.Complete(t.Context(), job); err == nil {
		t.Error("a job without a result was taken")
	}
	s := memory.ExtractSnapshot(memory.NewID(memory.SnapshotID, f.now), job.Memories, f.now)
	job.Detail = &s
	f.mustComplete(job)
	if err := f.Complete(t.Context(), job); !errors.Is(err, memory.ErrStale) {
		t.Errorf("a job that is over: %v", err)
	}
	if got, err := f.LoadSnapshot(t.Context(), s.ID); got == nil || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	if job := f.mustClaim(memory.Claim{All: true, Users: memory.User("ann")}); job == nil || job.Category != memory.Uncategorized {
		t.Errorf("what is left is %+v", job)
	}
	// A session that rests is due, and a snapshot made by hand settles its memories.
	ids := f.mustSave(newMemory("alone", "t", 0), newMemory("together", "t", 0))
	f.mustSnapshot("ann", memory.MemorySnapshot{Category: "x", MemoryRefs: ids[:1]})
	f.passTime(5 * time.Minute)
	job = f.mustClaim(memory.Claim{})
	if job == nil || len(job.Memories) != 1 || job.Memories[0].ID != ids[1] {
		t.Fatalf("%+v", job)
	}
	// A job leaves no snapshot of memories that were deleted meanwhile.
	s2 := memory.ExtractSnapshot(memory.NewID(memory.SnapshotID, f.now), job.Memories, f.now)
	job.Detail = &s2
	if _, err := f.Delete(t.Context(), memory.Selection{Users: memory.User("ann"), ID: ids[1]}); err != nil {
		t.Fatal(err)
	}
	if err := f.Complete(t.Context(), job); !errors.Is(err, memory.ErrStale) {
		t.Errorf("a snapshot of what is deleted: %v", err)
	}
	if got, err := f.LoadSnapshot(t.Context(), s2.ID); got != nil || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}

func testMetaJobs(t *testing.T, f *fixture) {
	var refs []string
	for i := range 3 {
		if job := f.mustClaim(memory.Claim{}); job != nil {
			t.Fatalf("%d snapshots are due", i)
		}
		refs = append(refs, f.mustSnapshot("ann", memory.MemorySnapshot{Category: "Food", KeyPoints: []string{fmt.Sprint("dish", i)}}).ID)
	}
	job := f.mustClaim(memory.Claim{})
	if job == nil || job.Category != "Food" || len(job.Snapshots) != 3 || job.User != "ann" || job.Memories != nil {
		t.Fatalf("%+v", job)
	}
	if err := f.Postpone(t.Context(), job, f.now); err != nil {
		t.Fatal(err)
	}
	job = f.mustClaim(memory.Claim{})
	if job == nil || job.Attempts != 1 {
		t.Fatalf("%+v", job)
	}
	m := memory.ExtractMeta(memory.NewID(memory.MetaID, f.now), job.Category, job.Snapshots, f.now)
	job.Meta = &m
	f.mustComplete(job)
	slices.Sort(refs)
	got, err := f.LoadMetaSnapshot(t.Context(), m.ID)
	if err != nil || got == nil || len(got.SnapshotRefs) != 3 {
		t.Fatalf("%v, %v", got, err)
	}
	f.passTime(time.Hour)
	if job := f.mustClaim(memory.Claim{All: true}); job != nil {
		t.Errorf("what is left is %+v", job)
	}
}

func (f *fixture) mustDelete(which memory.Selection) memory.Deleted {
	f.Helper()
	if which.Users.Check() != nil {
		which.Users = memory.User("ann")
	}
	d, err := f.Delete(f.Context(), which)
	if err != nil {
		f.Fatal(err)
	}
	return d
}

// numberWord returns a word for a number.
func numberWord(i int) string { return fmt.Sprintf("zz%c%c", 'a'+i/20, 'a'+i%20) }

func testDeleting(t *testing.T, f *fixture) {
	var all []memory.BaseMemory
	for i := range 300 { // enough for an index of its own
		all = append(all, newMemory("common "+numberWord(i), fmt.Sprint(i%3), time.Duration(i)*time.Hour))
	}
	ids := f.mustSave(all...)
	late := f.mustSave(newMemory("common latecomer", "0", 400*time.Hour))
	for _, id := range []string{ids[7], late[0]} {
		if d := f.mustDelete(memory.Selection{ID: id}); d != (memory.Deleted{Memories: 1}) {
			t.Errorf("%+v", d)
		}
		if f.mustLoad(id) != nil {
			t.Error("it is still there")
		}
		if d := f.mustDelete(memory.Selection{ID: id}); d != (memory.Deleted{}) {
			t.Errorf("again: %+v", d)
		}
	}
	for _, query := range []string{numberWord(7), "latecomer"} {
		if found := f.mustSearch(memory.Query{Text: query}); len(found) > 0 {
			t.Errorf("%s finds %v", query, contentsOf(found))
		}
	}
	if d := f.mustDelete(memory.Selection{Before: Start.Add(10 * time.Hour)}); d.Memories != 9 {
		t.Errorf("before: %+v", d)
	}
	if d := f.mustDelete(memory.Selection{HasSession: true, Session: "1"}); d.Memories != 97 {
		t.Errorf("session: %+v", d)
	}
	if found := f.mustSearch(memory.Query{Text: "common", Limit: 500}); len(found) != 193 {
		t.Errorf("%d are found", len(found))
	}
	if d := f.mustDelete(memory.Selection{Users: memory.User("bob")}); d != (memory.Deleted{}) {
		t.Errorf("bob: %+v", d)
	}
	if d := f.mustDelete(memory.Selection{}); d.Memories != 193 {
		t.Errorf("all: %+v", d)
	}
	if got := f.mustList(memory.Selection{Users: memory.AllUsers()}); got != nil {
		t.Errorf("left: %v", got)
	}
	f.mustSave(newMemory("a common beginning", "0", 0))
	if found := f.mustSearch(memory.Query{Text: "common"}); len(found) != 1 {
		t.Errorf("after all: %v", contentsOf(found))
	}
}

// inCapitals returns ids as other programs may write them.
func inCapitals(ids []string) (list []string) {
	for _, id := range ids {
		kind, rest, _ := strings.Cut(id, "_")
		list = append(list, kind+"_"+strings.ToUpper(rest))
	}
	return list
}

func testScrubbing(t *testing.T, f *fixture) {
	ids := f.mustSave(newMemory("My secret is the number 4711.", "a", 0), newMemory("I like soup.", "a", 0), newMemory("Another secret.", "b", 0))
	s := f.mustSnapshot("ann", memory.MemorySnapshot{KeyPoints: []string{"Secret number 4711", "likes soup"}, Category: "Secrets", MemoryRefs: inCapitals(ids[:2]), Importance: 0.9})
	only := f.mustSnapshot("ann", memory.MemorySnapshot{KeyPoints: []string{"a secret"}, Category: "Secrets", MemoryRefs: ids[2:]})
	m := f.mustMetaSnapshot("ann", memory.MetaSnapshot{Category: "Secrets", Keywords: []string{"4711"}, SnapshotRefs: []string{s.ID, only.ID}, Description: "4711"})
	d := f.mustDelete(memory.Selection{ID: ids[0]})
	f.wantSame("counts", memory.Deleted{Memories: 1, Rewritten: 2}, d)
	got, err := f.LoadSnapshot(t.Context(), s.ID)
	if err != nil || got == nil || slices.Contains(got.MemoryRefs, inCapitals(ids)[0]) || strings.Contains(value.Must(*got).JSON(), "4711") || got.KeyPoints[0] != "I like soup." {
		t.Errorf("the snapshot is %+v, %v", got, err)
	}
	meta, err := f.LoadMetaSnapshot(t.Context(), m.ID)
	if err != nil || meta == nil || strings.Contains(value.Must(*meta).JSON(), "4711") {
		t.Errorf("the meta snapshot is %+v, %v", meta, err)
	}
	if found := f.mustSearch(memory.Query{Text: "4711"}); len(found) > 0 {
		t.Errorf("found by what was deleted: %v", contentsOf(found))
	}
	f.wantSame("the last memory of a snapshot", memory.Deleted{Memories: 1, Snapshots: 1, Rewritten: 1}, f.mustDelete(memory.Selection{ID: ids[2]}))
	f.wantSame("the last snapshot of a meta snapshot", memory.Deleted{Memories: 1, Snapshots: 1, MetaSnapshots: 1}, f.mustDelete(memory.Selection{}))

	kept := f.mustSave(newMemory("old news", "a", 0))
	k := f.mustSnapshot("ann", memory.MemorySnapshot{KeyPoints: []string{"news"}, Category: "News", MemoryRefs: kept})
	f.wantSame("kept", memory.Deleted{Memories: 1, Rewritten: 1}, f.mustDelete(memory.Selection{KeepSnapshots: true}))
	got, err = f.LoadSnapshot(t.Context(), k.ID)
	if err != nil || got == nil || len(got.MemoryRefs) != 0 || got.KeyPoints[0] != "news" {
		t.Errorf("the kept snapshot is %+v, %v", got, err)
	}

	// All of a user is more than memories.
	f.mustMetaSnapshot("ann", memory.MetaSnapshot{Category: "News", SnapshotRefs: []string{k.ID}})
	theirs := f.mustSnapshot("bob", memory.MemorySnapshot{KeyPoints: []string{"bob's"}, Category: "News"})
	all := memory.Deleted{Snapshots: 1, MetaSnapshots: 1}
	f.wantSame("dry", all, f.mustDelete(memory.Selection{DryRun: true}))
	f.wantSame("all", all, f.mustDelete(memory.Selection{}))
	f.wantSame("again", memory.Deleted{}, f.mustDelete(memory.Selection{}))
	if got, err := f.LoadSnapshot(t.Context(), k.ID); got != nil || err != nil {
		t.Errorf("the kept snapshot is there after all was deleted: %+v, %v", got, err)
	}
	if got, err := f.LoadSnapshot(t.Context(), theirs.ID); got == nil || err != nil {
		t.Errorf("another user's is gone: %v", err)
	}
}

func testDryRun(t *testing.T, f *fixture) {
	ids := f.mustSave(newMemory("one", "a", 0), newMemory("two", "a", time.Hour))
	f.mustSnapshot("ann", memory.MemorySnapshot{KeyPoints: []string{"one"}, Category: "x", MemoryRefs: ids})
	old := memory.Selection{Before: Start.Add(time.Minute), DryRun: true}
	f.wantSame("dry", memory.Deleted{Memories: 1, Rewritten: 1}, f.mustDelete(old))
	if n := len(f.mustList(memory.Selection{Users: memory.AllUsers()})); n != 2 {
		t.Errorf("%d are left", n)
	}
	if n := len(f.mustSearch(memory.Query{Text: "one"})); n == 0 {
		t.Error("a dry run deleted words")
	}
	old.DryRun = false
	f.wantSame("wet", memory.Deleted{Memories: 1, Rewritten: 1}, f.mustDelete(old))
}

// testTalksInSnapshots asks the questions of all talks twice: without snapshots, and once every session has one by
// a model, whose key points are the evidence in the session. Other results must not become more by 2 %, nor the
// evidence less.
func testTalksInSnapshots(t *testing.T, f *fixture) {
	lost := 0
	for _, name := range []string{"dialogue", "chinese"} {
		talks, err := Talks(name)
		if err != nil {
			t.Fatal(err)
		}
		for i := range talks {
			f.mustSave(talks[i].Memories...)
		}
		evidence, foreign := f.askTalks(talks)
		for _, talk := range talks {
			f.snapshotTalk(&talk)
		}
		evidenceAfter, foreignAfter := f.askTalks(talks)
		t.Logf("%s: without snapshots %d of the evidence and %d others, with them %d and %d", name, evidence, foreign, evidenceAfter, foreignAfter)
		if float64(foreignAfter) > 1.02*float64(foreign) {
			t.Errorf("%s: snapshots make %d memories beside the evidence %d", name, foreign, foreignAfter)
		}
		lost += evidence - evidenceAfter
	}
	if lost > 0 {
		t.Errorf("snapshots hide %d of the evidence", lost)
	}
}

// askTalks asks all questions, and counts the results above the cut: evidence, and other memories.
func (f *fixture) askTalks(talks []Talk) (evidence, foreign int) {
	for _, talk := range talks {
		for _, q := range talk.Questions {
			for _, s := range f.mustSearch(memory.Query{Users: memory.User(talk.User), Text: q.Text, Now: Asked, Limit: 20, MinRelevance: memory.DefaultMinRelevance}) {
				if slices.Contains(q.Evidence, s.Memory.ID) {
					evidence++
				} else {
					foreign++
				}
			}
		}
	}
	return evidence, foreign
}

// snapshotTalk makes a snapshot of each session. Its key points are the evidence, as statements about the speaker.
func (f *fixture) snapshotTalk(talk *Talk) {
	told := map[string]bool{}
	for _, q := range talk.Questions {
		for _, id := range q.Evidence {
			told[id] = true
		}
	}
	bySession := map[string]*memory.MemorySnapshot{}
	var order []string
	for _, m := range talk.Memories {
		s := bySession[m.Context.SessionID]
		if s == nil {
			s = &memory.MemorySnapshot{Category: "Life", Importance: 0.5}
			bySession[m.Context.SessionID] = s
			order = append(order, m.Context.SessionID)
		}
		s.MemoryRefs = append(s.MemoryRefs, m.ID)
		if told[m.ID] {
			s.KeyPoints = append(s.KeyPoints, m.Speaker()+": "+m.Content)
		}
	}
	for _, session := range order {
		f.mustSnapshot(talk.User, *bySession[session])
	}
}

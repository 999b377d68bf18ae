package memorytest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/callnode/scheduler/calls/memory"
)

// OpenTwice makes an empty store with that clock and opens it a second time, as
// another process would; the cleanup of the test closes both.
type OpenTwice func(t *testing.T, clock func() time.Time) (first, second memory.Store)

// RunModel does the same random things to a store that two processes share, through either opening in turn, and to
// one that a single process has for itself: all must give the same answers.
func RunModel(t *testing.T, open OpenTwice) {
	rapid.Check(t, func(r *rapid.T) {
		now := Start
		clock := func() time.Time { return now }
		alone, _ := open(t, clock)
		first, second := open(t, clock)
		m := &twin{T: r, ctx: t.Context(), stores: []memory.Store{alone, first, second}, now: &now}
		r.Repeat(map[string]func(*rapid.T){
			"save": m.saveOne, "many": m.saveMany, "update": m.updateOne, "snapshot": m.saveSnapshot, "delete": m.deleteSome, "embed": m.embedSome, "": m.compareStores,
		})
	})
}

type twin struct {
	*rapid.T
	ctx    context.Context
	stores []memory.Store // the one used alone, then the two openings of the other
	now    *time.Time
	ids    []string
}

var words = rapid.SampledFrom(strings.Fields("tea coffee river mountain dog cat Berlin train 茶 咖啡 河流 yesterday ? ERR-12 running runs"))

func (m *twin) drawMemory(r *rapid.T) memory.BaseMemory {
	text := strings.Join(rapid.SliceOfN(words, 1, 6).Draw(r, "words"), " ")
	x := memory.BaseMemory{
		ID: memory.NewID(memory.MemoryID, *m.now), Content: text, Timestamp: Start.Add(time.Duration(rapid.IntRange(0, 50).Draw(r, "at")) * time.Hour),
		Context: memory.Context{UserID: rapid.SampledFrom([]string{"", "ann"}).Draw(r, "user"), SessionID: rapid.SampledFrom([]string{"", "s", "t"}).Draw(r, "session")},
	}
	return x
}

// doBoth does something to the store used alone and to the shared one, through either
// opening in turn.
func (m *twin) doBoth(do func(memory.Store) any) {
	*m.now = m.now.Add(time.Second)
	want := do(m.stores[0])
	got := do(m.stores[1+int(m.now.Unix())%2])
	if diff := cmp.Diff(want, got); diff != "" {
		m.Fatalf("(-alone +shared)\n%s", diff)
	}
}

func (m *twin) saveBoth(list []memory.BaseMemory) {
	m.doBoth(func(s memory.Store) any {
		saved, err := s.SaveMemories(m.ctx, list)
		return []any{saved, fmt.Sprint(err)}
	})
	for _, x := range list {
		m.ids = append(m.ids, x.ID)
	}
}

func (m *twin) saveOne(r *rapid.T) { m.saveBoth([]memory.BaseMemory{m.drawMemory(r)}) }

func (m *twin) saveMany(r *rapid.T) {
	var list []memory.BaseMemory
	one := m.drawMemory(r)
	for range rapid.SampledFrom([]int{2, 40, 300}).Draw(r, "n") {
		one.ID = memory.NewID(memory.MemoryID, *m.now)
		list = append(list, one)
	}
	list = append(list, m.drawMemory(r))
	m.saveBoth(list)
}

func (m *twin) updateOne(r *rapid.T) {
	if len(m.ids) == 0 {
		return
	}
	x := m.drawMemory(r)
	x.ID = rapid.SampledFrom(m.ids).Draw(r, "id")
	m.saveBoth([]memory.BaseMemory{x})
}

func (m *twin) saveSnapshot(r *rapid.T) {
	if len(m.ids) == 0 {
		return
	}
	x := memory.MemorySnapshot{
		ID: fmt.Sprintf("snapshot_0000000%d-0000-7000-8000-000000000000", rapid.IntRange(0, 5).Draw(r, "n")), Category: "c",
		KeyPoints: rapid.SliceOfN(words, 1, 4).Draw(r, "points"), MemoryRefs: rapid.SliceOfN(rapid.SampledFrom(m.ids), 0, 4).Draw(r, "refs"),
	}
	user := rapid.SampledFrom([]string{"", "ann"}).Draw(r, "user")
	m.doBoth(func(s memory.Store) any { return fmt.Sprint(s.SaveSnapshot(m.ctx, user, x)) })
}

func (m *twin) deleteSome(r *rapid.T) {
	which := memory.Selection{Users: rapid.SampledFrom([]memory.Users{memory.AllUsers(), memory.User("ann")}).Draw(r, "users")}
	switch rapid.IntRange(0, 3).Draw(r, "kind") {
	case 0:
		which.HasSession, which.Session = true, rapid.SampledFrom([]string{"", "s"}).Draw(r, "session")
	case 1:
		which.Before = Start.Add(time.Duration(rapid.IntRange(0, 50).Draw(r, "before")) * time.Hour)
	default:
		if len(m.ids) == 0 {
			return
		}
		which.ID = rapid.SampledFrom(m.ids).Draw(r, "id")
	}
	which.DryRun = rapid.Bool().Draw(r, "dry")
	m.doBoth(func(s memory.Store) any {
		d, err := s.Delete(m.ctx, which)
		return []any{d, fmt.Sprint(err)}
	})
}

// embedSome puts a model in use, or computes the vectors of some memories.
func (m *twin) embedSome(r *rapid.T) {
	name := rapid.SampledFrom([]string{"one", "one", "two"}).Draw(r, "model")
	if rapid.Bool().Draw(r, "use") {
		m.doBoth(func(s memory.Store) any {
			return fmt.Sprint(s.UseModel(m.ctx, memory.Model{Name: name, Dimensions: Dimensions, Unrelated: 0, Related: 1}))
		})
		return
	}
	// The order in which memories wait is the store's own: all of one user are taken.
	claim := memory.Claim{Users: memory.User("ann"), Lease: time.Millisecond}
	m.doBoth(func(s memory.Store) any {
		claim.Now = *m.now
		list, err := s.Unembedded(m.ctx, claim, 10_000)
		for i := range list {
			list[i].Vector = Meaning(list[i].Text)
		}
		slices.SortFunc(list, func(a, b memory.Embedding) int { return strings.Compare(a.ID, b.ID) })
		return []any{list, fmt.Sprint(err, s.SaveEmbeddings(m.ctx, name, list))}
	})
}

// compareStores asks all stores the same.
func (m *twin) compareStores(r *rapid.T) {
	q := memory.Query{Text: strings.Join(rapid.SliceOfN(words, 1, 3).Draw(r, "query"), " "), Users: memory.AllUsers(), Now: Start.Add(60 * time.Hour), Session: "s", Limit: 20}
	if rapid.Bool().Draw(r, "meaning") {
		q.Vector = &memory.QueryVector{Model: memory.Model{Name: "one", Unrelated: 0, Related: 1}, Values: Meaning(q.Text)}
	}
	answer := func(s memory.Store) any {
		found, err := s.Search(m.ctx, &q)
		if err != nil {
			return err.Error()
		}
		st, err := s.Stats(m.ctx, memory.AllUsers())
		st.Bytes = 0
		var lines []string
		for _, x := range found.Memories {
			lines = append(lines, fmt.Sprint(x.Memory.ID, x.Relevance, x.Reason, x.Snapshots))
		}
		return []any{lines, st, fmt.Sprint(err)}
	}
	want := answer(m.stores[0])
	for _, s := range m.stores[1:] {
		if diff := cmp.Diff(want, answer(s)); diff != "" {
			r.Fatalf("searching %q (-alone +shared)\n%s", q.Text, diff)
		}
	}
}

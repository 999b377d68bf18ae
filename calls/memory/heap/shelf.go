package heap

import (
	"context"
	"maps"
	"slices"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/rank"
)

// shelf is one user's memories, ready to be searched.
type shelf struct {
	index    *rank.Index
	memories []memory.BaseMemory
	numbers  map[*record]uint32
	sessions map[string]int32
	speakers map[string]int32
	postings map[string][]rank.Posting
	extras   map[string][]rank.Posting
}

// shelf makes the shelf of a user, or gives the one that is there.
func (s *Store) shelf(user string) *shelf {
	if sh := s.shelves[user]; sh != nil {
		return sh
	}
	sh := &shelf{
		index: rank.NewIndex(nil), numbers: map[*record]uint32{}, sessions: map[string]int32{}, speakers: map[string]int32{},
		postings: map[string][]rank.Posting{}, extras: map[string][]rank.Posting{},
	}
	for _, r := range s.order {
		if r.Context.UserID == user {
			sh.add(r)
		}
	}
	s.addExtras(sh, user)
	s.shelves[user] = sh
	return sh
}

// add puts the user's next memory on the shelf.
func (sh *shelf) add(r *record) {
	doc := rank.Analyze(r.Content, r.Speaker())
	seq := uint32(sh.index.Len())
	sh.numbers[r] = seq
	e := rank.Entry{Time: r.Timestamp.UnixMilli(), Session: rank.None, Speaker: rank.None, Len: int32(doc.Len), Timed: doc.Time, Question: doc.Question}
	if name := r.Context.SessionID; name != "" {
		e.Session = number(sh.sessions, name)
	}
	if doc.Speaker != "" {
		if e.Speaker = number(sh.speakers, doc.Speaker); int(e.Speaker) == len(sh.index.Speakers) {
			sh.index.Speakers = append(sh.index.Speakers, doc.Speaker)
		}
	}
	sh.index.Append(e)
	sh.memories = append(sh.memories, r.BaseMemory)
	for _, f := range doc.Terms {
		sh.postings[f.Term] = append(sh.postings[f.Term], rank.MakePosting(seq, f.N))
	}
}

func number(names map[string]int32, name string) int32 {
	n, ok := names[name]
	if !ok {
		n = int32(len(names))
		names[name] = n
	}
	return n
}

// addExtras adds the snapshots that say more than their memories.
func (s *Store) addExtras(sh *shelf, user string) {
	add := func(id, text string, weight float64, links []*record) {
		doc := rank.Analyze(text, "")
		for _, f := range doc.Terms {
			sh.extras[f.Term] = append(sh.extras[f.Term], rank.MakePosting(uint32(len(sh.index.Extras)), f.N))
		}
		x := rank.Extra{ID: id, Len: int32(doc.Len), Weight: weight}
		for _, r := range links {
			x.Refs = append(x.Refs, sh.numbers[r])
		}
		sh.index.AddExtra(x)
	}
	for _, id := range slices.Sorted(maps.Keys(s.snapshots)) {
		if x := s.snapshots[id]; x.User == user {
			add(id, x.Snapshot.Text(), memory.SnapshotWeight, x.links)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.metas)) {
		m := s.metas[id]
		if m.User != user {
			continue
		}
		var links []*record
		for _, x := range m.links {
			links = append(links, x.links...)
		}
		add(id, m.Snapshot.Text(), memory.MetaWeight, links)
	}
}

// Index is part of [memory.Shelf], as are the methods below.
func (sh *shelf) Index() *rank.Index { return sh.index }

func (sh *shelf) SessionNumber(name string) int32 {
	if n, ok := sh.sessions[name]; ok {
		return n
	}
	return rank.None
}

func (sh *shelf) Postings(_ context.Context, term string, to []rank.Posting) ([]rank.Posting, error) {
	return append(to, sh.postings[term]...), nil
}

func (sh *shelf) ExtraPostings(_ context.Context, term string, to []rank.Posting) ([]rank.Posting, error) {
	return append(to, sh.extras[term]...), nil
}

func (sh *shelf) Load(_ context.Context, seqs []uint32) ([]memory.BaseMemory, error) {
	list := make([]memory.BaseMemory, len(seqs))
	for i, seq := range seqs {
		list[i] = sh.memories[seq]
	}
	return list, nil
}

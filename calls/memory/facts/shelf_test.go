package facts_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/facts"
	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/llm/value"
)

// shelf is the memories of one user in the memory of the process, with their words and facts.
type shelf struct {
	index    *rank.Index
	postings map[string][]rank.Posting
	memories []memory.BaseMemory
	sessions map[string]int32
	facts    []facts.Fact
	aliases  []facts.Alias
}

var _ interface {
	memory.UserIndex
	facts.Source
} = (*shelf)(nil)

func newShelf() *shelf {
	return &shelf{index: rank.NewIndex(nil), postings: map[string][]rank.Posting{}, sessions: map[string]int32{}}
}

// add saves a memory and its facts.
func (s *shelf) add(at time.Time, session, role, speaker, content string) {
	seq := uint32(s.index.Len())
	m := memory.BaseMemory{ID: fmt.Sprintf("memory_%08d-0000-4000-8000-000000000000", seq), Content: content, Timestamp: at, Context: memory.Context{SessionID: session}}
	other := value.Pairs()
	if role != "" {
		other.Set("role", value.OfString(role))
	}
	if speaker != "" {
		other.Set("speaker", value.OfString(speaker))
	}
	m.Context.Other = value.OfMap(other)
	doc := rank.Analyze(content, speaker)
	e := rank.Entry{Time: at.UnixMilli(), Session: rank.None, Speaker: rank.None, Len: int32(doc.Len), Timed: doc.MentionsTime, Question: doc.Question}
	if session != "" {
		if _, known := s.sessions[session]; !known {
			s.sessions[session] = int32(len(s.sessions))
		}
		e.Session = s.sessions[session]
	}
	if doc.Speaker != "" {
		e.Speaker = int32(slices.Index(s.index.Speakers, doc.Speaker))
		if e.Speaker < 0 {
			e.Speaker = int32(len(s.index.Speakers))
			s.index.Speakers = append(s.index.Speakers, doc.Speaker)
		}
	}
	for _, f := range doc.Terms {
		s.postings[f.Term] = append(s.postings[f.Term], rank.MakePosting(seq, f.N))
	}
	s.index.Append(e)
	s.memories = append(s.memories, m)
	r := facts.Extract(&facts.Text{Content: content, Role: role, Speaker: speaker, Time: at})
	for _, f := range r.Facts {
		f.Seq = seq
		s.facts = append(s.facts, f)
	}
	s.aliases = append(s.aliases, r.Aliases...)
}

func (s *shelf) Postings(_ context.Context, term string, to []rank.Posting) ([]rank.Posting, error) {
	return append(to, s.postings[term]...), nil
}

func (s *shelf) ExtraPostings(_ context.Context, _ string, to []rank.Posting) ([]rank.Posting, error) {
	return to, nil
}

func (s *shelf) Index() *rank.Index { return s.index }

func (s *shelf) SessionNumber(name string) int32 {
	if n, ok := s.sessions[name]; ok {
		return n
	}
	return rank.None
}

func (s *shelf) Vectors(context.Context, string, func(uint32, []byte)) error { return nil }

func (s *shelf) KeyPoints(context.Context, []string) (map[string][]string, error) { return nil, nil }

func (s *shelf) Load(_ context.Context, seqs []uint32) ([]memory.BaseMemory, error) {
	out := make([]memory.BaseMemory, len(seqs))
	for i, seq := range seqs {
		out[i] = s.memories[seq]
	}
	return out, nil
}

func (s *shelf) Facts(_ context.Context, subjects, attributes []string) (out []facts.Fact, err error) {
	for _, f := range s.facts {
		isOf := len(subjects) == 0 || slices.Contains(subjects, f.Subject)
		if isOf && slices.Contains(attributes, f.Attribute) {
			out = append(out, f)
		}
	}
	return out, nil
}

func (s *shelf) Aliases(context.Context) ([]facts.Alias, error) { return s.aliases, nil }

// search returns the places of the memories that a question finds, the best first.
func (s *shelf) search(t testing.TB, text string, now time.Time) (places []int, found []memory.Scored) {
	t.Helper()
	found, err := memory.SearchUser(t.Context(), s, &memory.Query{Text: text, Now: now, MinRelevance: memory.DefaultMinRelevance})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		places = append(places, slices.IndexFunc(s.memories, func(m memory.BaseMemory) bool { return m.ID == f.Memory.ID }))
	}
	return places, found
}

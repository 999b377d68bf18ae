package memory_test

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/memorytest"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
)

func TestManager(t *testing.T) {
	now := memorytest.Start
	m := &memory.SnapshotManager{Store: memorytest.NewStore(t, nil), Clock: func() time.Time { return now }}
	id, err := m.AddMemory(t.Context(), memory.BaseMemory{Content: "I like tea.", Context: memory.Context{UserID: "ann"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.AddMemory(t.Context(), memory.BaseMemory{}); calls.KindOf(err) != calls.Invalid {
		t.Errorf("nothing was added: %v", err)
	}
	s, err := m.CreateSnapshot(t.Context(), "ann", []string{"likes tea"}, []string{id}, "Taste", 0.8)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.CreateSnapshot(t.Context(), "bob", []string{"likes tea"}, []string{id}, "Taste", 0.8); calls.KindOf(err) != calls.NotFound {
		t.Errorf("a snapshot of another's memory: %v", err)
	}
	x, err := m.CreateMetaSnapshot(t.Context(), "ann", "Taste", []string{"tea"}, []string{s.ID}, "What she likes")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.CreateMetaSnapshot(t.Context(), "bob", "Taste", nil, []string{s.ID}, ""); calls.KindOf(err) != calls.NotFound {
		t.Errorf("of another user's snapshot: %v", err)
	}
	if _, err := m.CreateMetaSnapshot(t.Context(), "ann", "Taste", nil, []string{memory.NewID(memory.SnapshotID, now)}, ""); calls.KindOf(err) != calls.NotFound {
		t.Errorf("a meta snapshot of nothing: %v", err)
	}
	if got, err := m.GetMemory(t.Context(), id); err != nil || got == nil || got.Content != "I like tea." {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := m.GetSnapshot(t.Context(), s.ID); err != nil || !cmp.Equal(got, s) || got.Importance != 0.8 || !got.Timestamp.Equal(now) {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := m.GetMetaSnapshot(t.Context(), x.ID); err != nil || !cmp.Equal(got, x) {
		t.Errorf("%+v, %v", got, err)
	}
	if list, err := m.FindSnapshotsByCategory(t.Context(), memory.User("ann"), "taste"); err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
	if list, err := m.FindMetaSnapshotsByCategory(t.Context(), memory.AllUsers(), "TASTE"); err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
	if _, err := m.FindSnapshotsByCategory(t.Context(), memory.Users{}, "taste"); err == nil {
		t.Error("finding unscoped")
	}
	if _, err := m.FindMetaSnapshotsByCategory(t.Context(), memory.Users{}, "taste"); err == nil {
		t.Error("finding unscoped")
	}
}

func TestCleanup(t *testing.T) {
	now := memorytest.Start
	s := memorytest.NewStore(t, func() time.Time { return now })
	for days, text := range []string{"today", "yesterday", "before"} {
		m := memory.BaseMemory{Content: text, Timestamp: now.AddDate(0, 0, -days)}
		if _, err := s.SaveMemories(t.Context(), []memory.BaseMemory{m}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := memory.CleanupOldMemories(t.Context(), s, memory.Selection{Users: memory.AllUsers()}, 0, now); calls.KindOf(err) != calls.Invalid {
		t.Errorf("of no days: %v", err)
	}
	for _, test := range []struct {
		days int
		dry  bool
		want int
	}{{1, true, 1}, {2, true, 0}, {1, false, 1}, {1, false, 0}} { // a memory that is a day old to the millisecond stays
		d, err := memory.CleanupOldMemories(t.Context(), s, memory.Selection{Users: memory.User(""), DryRun: test.dry}, test.days, now)
		if err != nil || d.Memories != test.want {
			t.Errorf("%+v: %+v, %v", test, d, err)
		}
	}
}

// TestSnapshotsOfABrokenModel: jobs wait longer and longer, then they are done without
// the model.
func TestSnapshotsOfABrokenModel(t *testing.T) {
	now := memorytest.Start
	clock := func() time.Time { return now }
	var answers []scripted.Answer
	for range 20 {
		answers = append(answers, scripted.Answer{Error: &llm.Error{Message: "down", Temporary: true}})
	}
	p := &memory.SnapshotProcessor{Store: memorytest.NewStore(t, clock), Clock: clock, Generator: &memory.SnapshotGenerator{LLM: scripted.New(answers...), Clock: clock}}
	for i := range 8 {
		if _, err := p.ProcessMemory(t.Context(), memory.BaseMemory{Content: fmt.Sprintf("Tea number %d is good.", i), Context: memory.Context{UserID: "ann"}}); err != nil {
			t.Fatal(err)
		}
	}
	tries := 0
	for range 40 {
		r, err := p.Run(t.Context(), memory.User("ann"), false)
		if err != nil {
			t.Fatal(err)
		}
		tries += r.Postponed
		if len(r.Snapshots) == 1 {
			break
		}
		now = now.Add(10 * time.Minute)
	}
	if tries != 5 {
		t.Errorf("the model was tried %d times, want 5", tries)
	}
	for s, err := range p.Store.Snapshots(t.Context(), memory.Selection{Users: memory.User("ann")}) {
		if err != nil || !s.Snapshot.Extracted() || len(s.Snapshot.MemoryRefs) != 8 {
			t.Errorf("%+v, %v", s, err)
		}
	}
	recalled, err := p.Retrieve(t.Context(), calls.Scope{User: "ann"}, "Which tea is number 3?", 3)
	if err != nil || len(recalled) == 0 || !strings.Contains(recalled[0].Text, "number 3") {
		t.Errorf("%+v, %v", recalled, err)
	}
	if recalled, err := p.Retrieve(t.Context(), calls.Scope{User: "ann"}, "tea", 0); err != nil || recalled != nil {
		t.Errorf("%+v, %v", recalled, err)
	}
}

// FuzzSearch: no query breaks a search or reaches another user's memory.
func FuzzSearch(f *testing.F) {
	for _, text := range []string{"", "tea", "What did Ann say on 7 May 2025?", "昨天她喝了什么茶？", "ERR-4021 parse_config", "\xff\x00", "last week", "\"a\" OR (b AND", "1/2/3 13:77"} {
		f.Add(text, "and before?", int64(0))
	}
	s := memorytest.NewStore(f, nil)
	for _, text := range []string{"Ann: I like tea.", "我昨天喝了茉莉花茶。", "ERR-4021 in parse_config?", "See you on 7 May 2025."} {
		for _, user := range []string{"ann", "bob"} {
			_, err := s.SaveMemories(f.Context(), []memory.BaseMemory{{Content: user + " " + text, Context: memory.Context{UserID: user, SessionID: "s"}}})
			if err != nil {
				f.Fatal(err)
			}
		}
	}
	f.Fuzz(func(t *testing.T, text, earlier string, at int64) {
		q := &memory.Query{Users: memory.User("ann"), Text: text, Earlier: []string{earlier}, Now: time.Unix(at%(1<<33), 0)}
		found, err := s.Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		last := 1.0
		for _, x := range found.Memories {
			if x.Memory.Context.UserID != "ann" || !(x.Relevance > 0) || x.Relevance > last || x.Reason == "" {
				t.Errorf("%q finds %+v", text, x)
			}
			last = x.Relevance
		}
	})
}

// TestGeneratorWarns: an answer with a member too many is used; if one cannot be used, a warning says why.
func TestGeneratorWarns(t *testing.T) {
	list := []memory.BaseMemory{{ID: memory.NewID(memory.MemoryID, time.Now()), Content: "I like figs.", Timestamp: time.Now()}}
	id := memory.NewID(memory.SnapshotID, time.Now())
	for want, answers := range map[string][]scripted.Answer{
		"ignored: mood":  {{Text: `{"key_points": ["likes figs"], "category": "food", "importance": 0.5, "mood": "good"}`}},
		"cannot be used": {{Text: "no"}, {Text: "never"}},
		"has no words":   {{Text: `{"key_points": ["...", " "], "category": "food", "importance": 0.5}`}},
	} {
		var warnings []string
		g := &memory.SnapshotGenerator{LLM: scripted.New(answers...), Warn: func(w string) { warnings = append(warnings, w) }}
		s, err := g.GenerateDetailSnapshot(t.Context(), list, id)
		if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], want) {
			t.Errorf("want %q: %q, %v", want, warnings, err)
		}
		if used := !s.Extracted(); used != strings.HasPrefix(want, "ignored") {
			t.Errorf("%q: the snapshot is %+v", want, s)
		}
	}
}

// TestReportWarns: a warning is in the report, with the user and session it is about, and nowhere else.
func TestReportWarns(t *testing.T) {
	var log strings.Builder
	model := scripted.New(scripted.Answer{Text: `{"key_points": ["likes figs"], "category": "food", "importance": 0.5, "mood": "good"}`},
		scripted.Answer{Text: `{"category": "food", "keywords": ["figs"], "description": "Likes figs."}`})
	p := &memory.SnapshotProcessor{
		Store: memorytest.NewStore(t, nil), Generator: &memory.SnapshotGenerator{LLM: model},
		Log: slog.New(slog.NewTextHandler(&log, nil)),
	}
	if _, err := p.ProcessMemory(t.Context(), memory.BaseMemory{Content: "I like figs.", Context: memory.Context{UserID: "ann", SessionID: "monday"}}); err != nil {
		t.Fatal(err)
	}
	r, err := p.Run(t.Context(), memory.User("ann"), true)
	if err != nil || len(r.Snapshots) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	if len(r.Warnings) != 1 || !strings.HasSuffix(r.Warnings[0], "ignored: mood (user ann, session monday)") {
		t.Errorf("the report has %q", r.Warnings)
	}
	if log.Len() > 0 {
		t.Errorf("the log has %s", &log)
	}
}

// The report leaves out a snapshot of a memory that is deleted while the model writes it.
func TestReportWithoutDropped(t *testing.T) {
	store := memorytest.NewStore(t, nil)
	p := &memory.SnapshotProcessor{Store: store, Generator: &memory.SnapshotGenerator{}}
	ids, err := store.SaveMemories(t.Context(), []memory.BaseMemory{{Content: "I like figs.", Context: memory.Context{UserID: "ann", SessionID: "monday"}}})
	if err != nil {
		t.Fatal(err)
	}
	p.Generator.LLM = deletingModel(func() error {
		_, err := store.Delete(t.Context(), memory.Selection{Users: memory.User("ann"), ID: ids[0].ID})
		return err
	})
	r, err := p.Run(t.Context(), memory.User("ann"), true)
	if err != nil || len(r.Snapshots) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "not kept") || !strings.HasSuffix(r.Warnings[0], "(user ann, session monday)") {
		t.Errorf("the report has %q", r.Warnings)
	}
}

// deletingModel does something before it answers.
type deletingModel func() error

func (m deletingModel) Chat(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		yield(llm.Delta{Text: `{"key_points": ["likes figs"], "category": "food", "importance": 0.5}`}, m())
	}
}

package memorytest

import (
	"slices"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls/memory"
)

// testFacts asks for present facts, while memories come, change and go.
func testFacts(f *fixture) {
	say := func(content string, days int) memory.BaseMemory {
		m := newMemory(content, "", time.Duration(days)*24*time.Hour)
		m.SetRole("user")
		return m
	}
	ask := func(what string, want ...string) {
		f.Helper()
		found := f.mustSearch(memory.Query{Text: "Where do I live now?", Now: Start.AddDate(1, 0, 0), MinRelevance: memory.DefaultMinRelevance})
		f.wantSame(what, want, contentsOf(found))
		if len(want) > 0 && !strings.Contains(found[0].Reason, "holds since") {
			f.Errorf("%s: the reason is %q", what, found[0].Reason)
		}
	}
	saved := f.mustSave(say("I live in Paris.", 0), say("I moved to Tokyo.", 100), say("The trains are on time here.", 101))
	ask("the newer one", "I moved to Tokyo.")
	again := say("I moved to Rome.", 100)
	again.ID = saved[1]
	f.mustSave(again)
	ask("replaced", "I moved to Rome.")
	f.mustSave(say("I live in Oslo, and my name stays.", 50)) // late, but older
	ask("saved late", "I moved to Rome.")
	if _, err := f.Store.Delete(f.Context(), memory.Selection{Users: memory.User("ann"), ID: saved[1]}); err != nil {
		f.Fatal(err)
	}
	ask("deleted", "I live in Oslo, and my name stays.")
	if _, err := f.Store.Delete(f.Context(), memory.Selection{Users: memory.User("ann")}); err != nil {
		f.Fatal(err)
	}
	f.mustSave(say("We live and learn.", 0))
	found := contentsOf(f.mustSearch(memory.Query{Text: "Where do I live now?", Now: Start.AddDate(1, 0, 0), MinRelevance: memory.DefaultMinRelevance}))
	if slices.Contains(found, "I live in Oslo, and my name stays.") {
		f.Errorf("everything is deleted, but found is %q", found)
	}
}

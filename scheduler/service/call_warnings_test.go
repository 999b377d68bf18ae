package service

import (
	"fmt"
	"testing"

	"github.com/callnode/scheduler/calls"
)

func TestCollectedWarnings(t *testing.T) {
	c := &collectedWarnings{}
	c.Warn(calls.Warning{Code: "entry", Text: "cut", Source: "book.json"})
	c.Warn(calls.Warning{Code: "entry", Text: "cut", Source: "book.json"})
	c.Warn(calls.Warning{Code: "entry", Text: "cut", Pointer: "/history"})
	notes := c.notes()
	if len(notes) != 2 {
		t.Fatalf("%d notes, want 2: %v", len(notes), notes)
	}
	for i, want := range []string{"warning: book.json: cut", "warning: /history: cut"} {
		if got := notes[i].In("en"); got != want {
			t.Errorf("note %d is %q, want %q", i, got, want)
		}
	}
}

func TestCollectedWarningsAreBounded(t *testing.T) {
	c := &collectedWarnings{}
	for i := range maxCallWarnings + 7 {
		c.Warn(calls.Warning{Code: "entry", Text: fmt.Sprint(i)})
	}
	notes := c.notes()
	if len(notes) != maxCallWarnings+1 {
		t.Fatalf("%d notes", len(notes))
	}
	if last := notes[maxCallWarnings]; last.Code != "more" || last.Text.En != "7 more warnings were left out" {
		t.Errorf("the last note is %+v", last)
	}
}

package sqlmemory

import (
	"fmt"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/internal/packed"
)

// TestEvict: the shelves of many users do not stay in the heap, and shelves that were dropped are read again.
func TestEvict(t *testing.T) {
	s, err := OpenFile(t.Context(), t.TempDir(), FileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	s.indexes.SetLimit(25 * (packed.EntryCost + 2*packed.WordCost))
	for round := range 2 {
		for u := range 9 {
			user := fmt.Sprint("user", u)
			var list []memory.BaseMemory
			for i := range 10 {
				list = append(list, memory.BaseMemory{Content: fmt.Sprintf("round%d memory%d", round, i), Context: memory.Context{UserID: user}})
			}
			if _, err := s.SaveMemories(t.Context(), list); err != nil {
				t.Fatal(err)
			}
			q := &memory.Query{Users: memory.User(user), Text: fmt.Sprintf("round%d memory7", round), Now: time.Now()}
			if found, err := s.Search(t.Context(), q); err != nil || len(found.Memories) == 0 || found.Memories[0].Memory.Content != q.Text {
				t.Errorf("%+v, %v", found, err)
			}
			if n := s.indexes.Len(); n > 3 {
				t.Errorf("%d shelves stay", n)
			}
		}
	}
}

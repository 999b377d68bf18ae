package packed_test

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/internal/packed"
)

// A listing ends with the reader, and at the first error.
func TestListMemoriesEnds(t *testing.T) {
	broken := errors.New("broken")
	read := 0
	source := packed.Source{
		Names: func(memory.Users) ([]string, error) { return []string{"ann", "bob", "cy"}, nil },
		Pages: func(name string) iter.Seq2[[]memory.BaseMemory, error] {
			return func(yield func([]memory.BaseMemory, error) bool) {
				for n := range 2 {
					read++
					page := []memory.BaseMemory{{Content: fmt.Sprint(name, n)}, {Content: "more"}}
					if name == "cy" {
						page = nil
					}
					if !yield(page, map[string]error{"cy": broken}[name]) {
						return
					}
				}
			}
		},
	}
	for m, err := range packed.ListMemories(memory.Selection{Users: memory.AllUsers()}, source) {
		if err != nil {
			t.Fatal(err)
		}
		if m.Content == "bob0" {
			break
		}
	}
	if read != 3 {
		t.Errorf("%d pages were read before the reader left", read)
	}
	read = 0
	var last error
	for _, err := range packed.ListMemories(memory.Selection{Users: memory.AllUsers()}, source) {
		last = err
	}
	if read != 5 || !errors.Is(last, broken) {
		t.Errorf("%d pages were read, and the end is %v", read, last)
	}
}

// Pages follow each other by the key of the last item, until one is not full.
func TestListPages(t *testing.T) {
	for _, total := range []int{0, 1, packed.PageSize - 1, packed.PageSize, 2*packed.PageSize + 3} {
		var got []int
		for n, err := range packed.ListPages(func(after []byte) (page []int, last []byte, err error) {
			from := 0
			if len(after) > 0 {
				_, err = fmt.Sscan(string(after), &from)
			}
			for n := from; n < min(total, from+packed.PageSize); n++ {
				page, last = append(page, n), []byte(fmt.Sprint(n+1))
			}
			return page, last, err
		}) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, n)
		}
		if len(got) != total || !slices.IsSorted(got) {
			t.Errorf("of %d there are %d", total, len(got))
		}
	}
}

// One change deletes memories of users until it has enough users, or enough memories.
func TestSelectTogether(t *testing.T) {
	names := make([]string, 3*packed.UsersTogether)
	for of, want := range map[int]int{0: packed.UsersTogether, 1: packed.UsersTogether, packed.GoneTogether: 1, packed.GoneTogether - 1: 2} {
		found, total, err := packed.SelectTogether(names, func(string) ([]int64, error) { return make([]int64, of), nil })
		if len(found) != want || total != want*of || err != nil {
			t.Errorf("%d of each: %d users, %d memories, %v", of, len(found), total, err)
		}
	}
	done := 0
	d, err := packed.DeleteByUsers(names[:5], nil, func(names []string) (int, memory.Deleted, error) {
		done++
		return min(2, len(names)), memory.Deleted{Memories: 1}, nil
	})
	if done != 3 || d.Memories != 3 || err != nil {
		t.Errorf("%d changes, %+v, %v", done, d, err)
	}
}

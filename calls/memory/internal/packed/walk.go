package packed

import (
	"iter"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Source is the store's side of [ListMemories]: a store makes one for each listing.
type Source struct {
	// Load returns the memory of an id, or nil.
	Load func(id string) (*memory.BaseMemory, error)
	// Names returns the names of users, sorted.
	Names func(users memory.Users) ([]string, error)
	// Pages yields the selected memories of a user in the order of their time, some at a time: a slow reader holds
	// no transaction.
	Pages func(name string) iter.Seq2[[]memory.BaseMemory, error]
}

// ListMemories lists the selected memories by user, in the order of their time.
func ListMemories(which memory.Selection, from Source) iter.Seq2[memory.BaseMemory, error] {
	return func(yield func(memory.BaseMemory, error) bool) {
		if which.ID != "" {
			listOne(which, from, yield)
			return
		}
		names, err := from.Names(which.Users)
		if err != nil {
			yield(memory.BaseMemory{}, err)
			return
		}
		for _, name := range names {
			for page, err := range from.Pages(name) {
				if err != nil {
					yield(memory.BaseMemory{}, err)
					return
				}
				for _, m := range page {
					if !yield(m, nil) {
						return
					}
				}
			}
		}
	}
}

// listOne lists the memory with the selected id.
func listOne(which memory.Selection, from Source, yield func(memory.BaseMemory, error) bool) {
	err := which.Users.Check()
	var m *memory.BaseMemory
	if err == nil {
		m, err = from.Load(which.ID)
	}
	if err != nil {
		yield(memory.BaseMemory{}, err)
	} else if m != nil && which.Matches(m) {
		yield(*m, nil)
	}
}

// ErrStop ends a query when its reader has enough.
var ErrStop = wording.Errorf("stopped")

// PageSize is how many rows are read at a time.
const PageSize = 500

// ListPages yields the items that read returns page by page, each behind the key at which the last
// page ended, until one has less than [PageSize] items.
func ListPages[T any](read func(after []byte) (page []T, last []byte, err error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		for after := []byte{}; ; {
			page, last, err := read(after)
			if err != nil {
				yield(none, err)
				return
			}
			for _, item := range page {
				if !yield(item, nil) {
					return
				}
			}
			if len(page) < PageSize {
				return
			}
			after = last
		}
	}
}

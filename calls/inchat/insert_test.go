package inchat

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// naive is the algorithm as it is defined, in quadratic time.
func naive(messages []message, entries []*candidate) []message {
	list := slices.Clone(messages)
	sortEntries(entries)
	groups := map[int64][]*candidate{}
	var depths []int64
	for _, c := range entries {
		if groups[c.depth] == nil {
			depths = append(depths, c.depth)
		}
		groups[c.depth] = append(groups[c.depth], c)
	}
	slices.SortFunc(depths, func(a, b int64) int { return cmp.Compare(b, a) })
	for _, depth := range depths {
		at := max(0, int64(len(list))-depth)
		for _, c := range slices.Backward(groups[depth]) {
			list = slices.Insert(list, int(min(at, int64(len(list)))), message{role: c.role, content: c.content, entry: c})
		}
	}
	return list
}

func TestInsertEqualsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		messages := make([]message, rapid.IntRange(0, 8).Draw(t, "history"))
		for i := range messages {
			messages[i] = message{role: "user", content: fmt.Sprint("h", i), index: i}
		}
		depth := rapid.OneOf(rapid.Int64Range(-4, 12), rapid.SampledFrom([]int64{-1 << 62, 1 << 62}))
		entries := make([]*candidate, rapid.IntRange(0, 20).Draw(t, "entries"))
		for i := range entries {
			entries[i] = &candidate{
				index: i, content: fmt.Sprint("e", i), depth: depth.Draw(t, "depth"),
				order: rapid.Int64Range(98, 101).Draw(t, "order"),
				role:  rapid.SampledFrom([]string{"system", "user", "assistant", "thinking"}).Draw(t, "role"),
			}
		}
		texts := func(list []message) (out []string) {
			for _, m := range list {
				out = append(out, m.content)
			}
			return out
		}
		want := texts(naive(messages, slices.Clone(entries)))
		if got := texts(insertEntries(messages, slices.Clone(entries))); !slices.Equal(got, want) {
			t.Fatalf("got %v\nwant %v", got, want)
		}
	})
}

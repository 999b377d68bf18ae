// Package keyword is the condition language of lorebooks: it says which words must, or must not, occur in a text,
// for example all::tea,cup. [Parse] reads a condition, [Find] looks for the words of any number of conditions in
// one pass over the text.
package keyword

import (
	"bytes"
	"slices"
)

// Find reports for each of words whether it occurs in text, byte for byte. It
// takes time linear in the text and the words together (Aho-Corasick), however
// many words there are. The empty word occurs in every text.
func Find(text string, words []string) map[string]bool {
	found := make(map[string]bool, len(words))
	sorted := make([]string, 0, len(words))
	for _, w := range words {
		if _, twice := found[w]; twice {
			continue
		}
		found[w] = w == ""
		if w != "" {
			sorted = append(sorted, w)
		}
	}
	if len(sorted) == 0 || text == "" {
		return found
	}
	slices.Sort(sorted)
	t := newTrie(sorted)
	seen := t.scanText(text)
	for n, w := range t.word {
		if w >= 0 {
			found[sorted[w]] = seen[n]
		}
	}
	return found
}

// trie is an Aho-Corasick automaton. Its nodes are numbered breadth first, so
// that the children of node n are the numbers first[n] to first[n+1]-1, sorted
// by the byte that leads to them: ten bytes a node and no pointers.
type trie struct {
	label []byte  // the byte that leads to the node
	first []int32 // the first child; one more than there are nodes
	fail  []int32 // the node of the longest suffix that is in the trie
	word  []int32 // the index of the word that ends here, or -1
	root  [256]int32
}

// newTrie takes words that are sorted, distinct and not empty.
func newTrie(words []string) *trie {
	total := 1
	for _, w := range words {
		total += len(w)
	}
	t := &trie{
		label: make([]byte, 1, total), first: make([]int32, 0, total+1),
		fail: make([]int32, 1, total), word: make([]int32, 0, total),
	}
	type span struct{ lo, hi, depth int32 } // the words that begin with a node's path
	spans := make([]span, 1, total)
	spans[0] = span{0, int32(len(words)), 0}
	for n := 0; n < len(spans); n++ {
		s := spans[n]
		ends := int32(-1)
		if len(words[s.lo]) == int(s.depth) {
			ends = s.lo
			s.lo++
		}
		t.word = append(t.word, ends)
		t.first = append(t.first, int32(len(spans)))
		for s.lo < s.hi {
			b, lo := words[s.lo][s.depth], s.lo
			for s.lo < s.hi && words[s.lo][s.depth] == b {
				s.lo++
			}
			child := int32(len(spans))
			spans = append(spans, span{lo, s.lo, s.depth + 1})
			t.label = append(t.label, b)
			if n == 0 {
				t.root[b] = child
				t.fail = append(t.fail, 0)
				continue
			}
			t.fail = append(t.fail, t.nextNode(t.fail[n], b))
		}
	}
	t.first = append(t.first, int32(len(spans)))
	return t
}

// nextNode returns the node after n when b follows. It asks only for children of n and of
// its suffixes, which are shorter: they exist already while the trie grows.
func (t *trie) nextNode(n int32, b byte) int32 {
	for n != 0 {
		lo, hi := t.first[n], t.first[n+1]
		if hi-lo == 1 {
			if t.label[lo] == b {
				return lo
			}
		} else if i := bytes.IndexByte(t.label[lo:hi], b); i >= 0 {
			return lo + int32(i)
		}
		n = t.fail[n]
	}
	return t.root[b]
}

// scanText reports which nodes the text visits.
func (t *trie) scanText(text string) []bool {
	seen := make([]bool, len(t.word))
	n := int32(0)
	for i := range len(text) {
		n = t.nextNode(n, text[i])
		seen[n] = true
	}
	for n := len(seen) - 1; n > 0; n-- { // a suffix has a smaller number
		if seen[n] {
			seen[t.fail[n]] = true
		}
	}
	return seen
}

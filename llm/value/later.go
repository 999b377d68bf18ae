package value

import (
	"regexp"
	"strings"
	"sync"
)

// CompileLater returns a function that compiles a pattern at its first call, for the variable of a
// package: most runs of the program need few of its patterns, and compiling all takes longer than
// the rest of its start.
func CompileLater(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// WordSet returns a function that reports whether a word is one of words, which white space
// parts. The set is made at its first call, as the pattern of [CompileLater].
func WordSet(words string) func(word string) bool {
	set := sync.OnceValue(func() map[string]bool {
		m := map[string]bool{}
		for w := range strings.FieldsSeq(words) {
			m[w] = true
		}
		return m
	})
	return func(word string) bool { return set()[word] }
}

package yaml

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/callnode/scheduler/llm/value/wording"
)

// libraryFault is a fault as the library names it, in its own terms, and as people do.
type libraryFault struct {
	names         []string // each the beginning of a message of the library
	message, hint string
}

// libraryText has, in groups, the messages of the library's scanner, parser and reader, after = the
// fault in plain words, after > the remedy.
//
//go:embed library_faults.txt
var libraryText string

// libraryFaults returns the faults of libraryText. Most texts are diagnosed before these are
// looked at (see diagnoseSyntax).
var libraryFaults = sync.OnceValue(func() (faults []libraryFault) {
	for group := range strings.SplitSeq(strings.TrimSpace(libraryText), "\n\n") {
		var f libraryFault
		for line := range strings.Lines(group) {
			line = strings.TrimSuffix(line, "\n")
			if message, ok := strings.CutPrefix(line, "= "); ok {
				f.message = message
			} else if hint, ok := strings.CutPrefix(line, "> "); ok {
				f.hint = hint
			} else {
				f.names = append(f.names, line)
			}
		}
		faults = append(faults, f)
	}
	return faults
})

// plainFault returns the library's message in words that people know, with the remedy; a message
// that is new is quoted.
func plainFault(said string) (message, hint wording.Text) {
	for _, f := range libraryFaults() {
		for _, name := range f.names {
			if strings.HasPrefix(said, name) {
				return wordingf("not YAML: %s", wording.Of(f.message)), wording.Of(f.hint)
			}
		}
	}
	return wordingf("not YAML; its reader says: %s", said), wording.Text{}
}

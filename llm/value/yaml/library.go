package yaml

import (
	_ "embed"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

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

// libraryFaults returns the faults of libraryText. Most texts are diagnosed before these are used (see
// diagnoseSyntax).
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
				return wording.Say("not YAML: %s", wording.Of(f.message)), wording.Of(f.hint)
			}
		}
	}
	return wording.Say("not YAML; its reader says: %s", said), wording.Text{}
}

var lineInMessage = regexp.MustCompile(`^(?:yaml: )?(?:unmarshal errors:\s*)?(?:line (\d+): )?`)

// parseYAML returns the root node, nil for an empty text.
func parseYAML(src []byte) (*Node, error) {
	dec := yaml.NewDecoder(strings.NewReader(withKnownVersion(string(src))))
	var doc, second Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		return nil, wrapError(err)
	}
	err := dec.Decode(&second)
	if err == nil {
		return nil, newError(second.Line, second.Column, wording.Say("a second YAML document starts here; only one is read"))
	}
	if !errors.Is(err, io.EOF) {
		return nil, wrapError(err)
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	return doc.Content[0], nil
}

// versionLine is a directive %YAML 1.2 before the document; the minor version is its first group.
var versionLine = regexp.MustCompile(`\A(?:[ \t]*(?:#[^\n]*)?\r?\n|%[^\n]*\n)*%YAML[ \t]+1\.(\d+)`)

// withKnownVersion returns a text that says %YAML 1.2 as one that says 1.1, the only version that the library
// takes: it reads texts by the rules of 1.2, except the words of 1.1 such as yes.
func withKnownVersion(text string) string {
	if !strings.Contains(text, "%YAML") {
		return text
	}
	m := versionLine.FindStringSubmatchIndex(text)
	if m == nil {
		return text
	}
	const known = "1"
	return text[:m[2]] + known + strings.Repeat(" ", m[3]-m[2]-len(known)) + text[m[3]:]
}

func wrapError(err error) *Error {
	m := lineInMessage.FindStringSubmatch(err.Error())
	line, _ := strconv.Atoi(m[1])
	said := err.Error()[len(m[0]):]
	message, hint := plainFault(said)
	e := newError(max(line, 1), 0, message)
	e.Hint, e.chineseHint, e.library = hint.En, hint.Zh, said
	return e
}

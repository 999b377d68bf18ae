package skill

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Mentioned returns the skills that a message calls up with $name, in the order of
// their first mention. The longest name that fits counts; a dollar sign inside a
// word, a sum ($5) and an unknown name call up nothing.
func Mentioned(message string, skills []*Skill) []*Skill {
	byFirst := map[rune][]*Skill{}
	for _, s := range skills {
		first, _ := utf8.DecodeRuneInString(s.Name)
		byFirst[first] = append(byFirst[first], s)
	}
	var found []*Skill
	seen := map[*Skill]bool{}
	for at := 0; ; {
		i := strings.IndexByte(message[at:], '$')
		if i < 0 {
			return found
		}
		at += i + 1
		if before, _ := utf8.DecodeLastRuneInString(message[:at-1]); isASCIIWord(before) {
			continue
		}
		var best *Skill
		first, _ := utf8.DecodeRuneInString(message[at:])
		for _, s := range byFirst[first] {
			isLonger := best == nil || len(s.Name) > len(best.Name)
			if isLonger && startsWithName(message[at:], s.Name) {
				best = s
			}
		}
		if best != nil && !seen[best] {
			seen[best] = true
			found = append(found, best)
		}
	}
}

// startsWithName reports whether text begins with the name as a word of its own.
// Scripts without spaces between words end a name anywhere.
func startsWithName(text, name string) bool {
	rest, ok := strings.CutPrefix(text, name)
	if !ok || name == "" {
		return false
	}
	last, _ := utf8.DecodeLastRuneInString(name)
	next, _ := utf8.DecodeRuneInString(rest)
	if rest == "" || last > unicode.MaxASCII {
		return true
	}
	if next == '-' {
		after, _ := utf8.DecodeRuneInString(rest[1:])
		return !isASCIIWord(after)
	}
	return !isASCIIWord(next)
}

func isASCIIWord(r rune) bool {
	isLetter := 'a' <= r|0x20 && r|0x20 <= 'z'
	isDigit := '0' <= r && r <= '9'
	return isLetter || isDigit || r == '_'
}

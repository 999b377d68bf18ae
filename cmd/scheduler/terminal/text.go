package terminal

import (
	"fmt"
	"strings"

	"github.com/callnode/scheduler/llm/value"
)

// FirstLine returns the head of a message that is printed whole at the end.
func FirstLine(text string) string {
	head, _, more := strings.Cut(text, "\n")
	if more {
		head += " ..."
	}
	return head
}

// Milliseconds returns a duration for people.
func Milliseconds(ms float64) string {
	if ms < 1000 {
		return fmt.Sprintf("%.1f ms", ms)
	}
	return fmt.Sprintf("%.1f s", ms/1000)
}

// JSONText returns a value as indented JSON, for people and programs: control characters of its strings are
// escaped, including characters that JSON allows unescaped.
func JSONText(v value.Value) string {
	return escapeBare(string(v.AppendIndented(nil, "  ")))
}

// escapeBare escapes characters that JSON allows unescaped and a terminal obeys: U+007F to U+009F.
func escapeBare(text string) string {
	bare := func(r rune) bool { return r >= 0x7F && r <= 0x9F }
	if !strings.ContainsFunc(text, bare) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if bare(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Indent writes a text as a block.
func Indent(b *strings.Builder, text string) {
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		b.WriteString(strings.TrimRight("    "+line, " ") + "\n")
	}
}

// ShellQuote returns a word as a shell reads it.
func ShellQuote(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,@%+"
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

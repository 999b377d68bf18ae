package host

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// tricky are control characters, which steer terminals, and those that turn the
// direction of writing.
func tricky(r rune) bool {
	turns := r >= '\u202A' && r <= '\u202E' || r >= '\u2066' && r <= '\u2069'
	return unicode.IsControl(r) && r != '\n' && r != '\t' || turns
}

// printable is text without what could play tricks on whoever reads it.
func printable(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if !strings.ContainsFunc(text, tricky) {
		return text
	}
	return strings.Map(func(r rune) rune {
		if tricky(r) {
			return -1
		}
		return r
	}, text)
}

// message is text of a plugin for an error: readable and not endless.
func message(text string) string { return printable(cut(text, maxText)) }

// cut shortens a text for a message.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// oneLine is a sentence in one line: lists show it, and so does the question whether a
// plugin is trusted, which no line of it may pretend to be a part of.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// readable refuses text that could play tricks on whoever reads it. What a plugin
// says of itself is shown to the user who is asked to trust it.
func readable(v value.Value) error {
	for _, p := range unreadable(v, "") {
		return errors.New(p.Message + ": " + p.Hint)
	}
	return nil
}

// unreadable finds such text, and where it stands; at is the pointer of v.
func unreadable(v value.Value, at string) (all schema.Problems) {
	look := func(at, text string) {
		if i := strings.IndexFunc(text, tricky); i >= 0 {
			r, _ := utf8.DecodeRuneInString(text[i:])
			all = append(all, schema.Problem{
				Pointer: at, Message: fmt.Sprintf("the text %q has the character %U, which is not shown as it is", cut(text, 60), r), Hint: "take it out",
			})
		}
	}
	switch v.Kind() {
	case value.String:
		text, _ := v.Str()
		look(at, text)
	case value.List:
		for i, item := range v.List() {
			all = append(all, unreadable(item, at+"/"+strconv.Itoa(i))...)
		}
	case value.Object:
		for key, member := range v.Map().All() {
			look(at, key)
			all = append(all, unreadable(member, at+"/"+value.Escape(key))...)
		}
	case value.Null, value.Bool, value.Int, value.Float:
	}
	return all
}

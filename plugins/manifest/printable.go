package manifest

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/secret"
)

// maxText bounds the texts of a plugin that people read.
const maxText = 10_000

// isDeceptive reports whether a character could mislead a reader of the text on a terminal: control characters
// steer it, others turn the direction of writing. For example, U+202E shows the rest of a line backwards.
func isDeceptive(r rune) bool {
	control := unicode.IsControl(r) && r != '\n' && r != '\t'
	isEmbedding := r >= '\u202A' && r <= '\u202E'
	isIsolate := r >= '\u2066' && r <= '\u2069'
	bidi := isEmbedding || isIsolate
	return control || bidi
}

// Printable returns the text without characters that could mislead its reader.
func Printable(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if !strings.ContainsFunc(text, isDeceptive) {
		return text
	}
	return strings.Map(func(r rune) rune {
		if isDeceptive(r) {
			return -1
		}
		return r
	}, text)
}

// Message returns text of a plugin as a part of an error: without secrets, printable, and of bounded
// length.
func Message(hidden *secret.Set, text string) string {
	return value.Truncate(Printable(hidden.MaskText(text)), maxText)
}

// oneLine puts a text on one line. Lists show descriptions, and so does the question whether to trust a plugin:
// with a line break a description could look like a part of them.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// checkPrintable refuses text that could mislead its reader. A plugin's description of itself is shown to the user
// who is asked to trust it.
func checkPrintable(v value.Value) error {
	problems := findDeceptive(v, "")
	if len(problems) == 0 {
		return nil
	}
	return problems[0]
}

// findDeceptive finds the texts below v that could mislead their reader; at is the JSON
// pointer of v.
func findDeceptive(v value.Value, at string) (all schema.Problems) {
	look := func(at, text string) {
		if i := strings.IndexFunc(text, isDeceptive); i >= 0 {
			r, _ := utf8.DecodeRuneInString(text[i:])
			all = append(all, schema.Problem{
				Pointer: at, Hint: "take it out",
			}.WithMessage("the text %q has the invisible character %U", value.Truncate(text, 60), r))
		}
	}
	switch v.Kind() {
	case value.String:
		text, _ := v.Str()
		look(at, text)
	case value.List:
		for i, item := range v.List() {
			all = append(all, findDeceptive(item, at+"/"+strconv.Itoa(i))...)
		}
	case value.Object:
		for key, member := range v.Map().All() {
			look(at, key)
			all = append(all, findDeceptive(member, at+"/"+value.Escape(key))...)
		}
	case value.Null, value.Bool, value.Int, value.Float:
	}
	return all
}

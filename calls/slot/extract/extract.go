// Package extract finds the JSON in a model's text: behind its thoughts, between fences, in prose, and nearly
// right, for example {'a': 1,}. It is process_response of the documents.
package extract

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/kaptinlin/jsonrepair"

	"github.com/callnode/scheduler/llm/value"
)

const (
	// maxText is how much of a text is looked at, in bytes; the end counts.
	maxText = 1 << 20
	// maxStarts bounds at how many brackets a document is looked for.
	maxStarts = 500
	// maxRepair is how long a document may be to be repaired.
	maxRepair = 256 << 10
	// maxGuessed bounds its length for the library, whose time grows with the square.
	maxGuessed = 32 << 10
	// maxOpening is how many bytes may precede the first name of a document to be repaired.
	maxOpening = 4 << 10
)

// Find returns the JSON document of a text: the whole text if it is one, else the last one in a fence, else the
// last object or array in it. repaired reports that it was not quite JSON, for example {'a': 1,}. A document that
// is cut off, or has numbers that JSON does not know, does not count.
func Find(text string) (v value.Value, repaired, ok bool) {
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[len(text)-maxText:], "")
	}
	text = trimText(text)
	if v, err := value.ParseJSON([]byte(text)); err == nil {
		return v, false, true // whatever its strings say of thoughts and fences
	}
	text = trimText(withoutThoughts(text))
	if v, err := value.ParseJSON([]byte(text)); err == nil {
		return v, false, true
	}
	blocks := codeBlocks(text)
	for i := len(blocks) - 1; i >= 0; i-- {
		if v, err := value.ParseJSON([]byte(blocks[i])); err == nil {
			return v, false, true
		}
		v, repaired, ok = lastDocument(blocks[i])
		if ok {
			return v, repaired, true
		}
	}
	return lastDocument(text)
}

func trimText(text string) string {
	return strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(text), "\ufeff"))
}

var thought = value.CompileLater(`(?is)<(think|thinking|thought|reasoning|reflection)>.*?</(think|thinking|thought|reasoning|reflection)>`)

// withoutThoughts returns a text without the thoughts of the model. A thought without a beginning reaches from the
// start of the text; one without an end reaches to the end.
func withoutThoughts(text string) string {
	text = thought().ReplaceAllString(text, " ")
	for _, tag := range []string{"think", "thinking", "thought", "reasoning", "reflection"} {
		if i := strings.LastIndex(text, "</"+tag+">"); i >= 0 {
			text = text[i+len(tag)+3:]
		}
	}
	for _, tag := range []string{"<think>", "<thinking>", "<thought>", "<reasoning>", "<reflection>"} {
		if strings.HasPrefix(strings.TrimSpace(text), tag) {
			return ""
		}
	}
	return text
}

var language = regexp.MustCompile(`^[ \t]*(?:[A-Za-z0-9_+-]*[ \t]*\n|(?i:jsonc?5?|javascript|js)\b)`)

// fence begins a code block: at the beginning of a line, or at the end of one. Elsewhere
// it may be in a string. fenceEnd ends one: models do so right after a bracket too.
var (
	fence    = regexp.MustCompile("(?m)^[ \\t]*```|[ \\t]```[A-Za-z0-9_+-]*[ \\t\\r]*$")
	fenceEnd = regexp.MustCompile("(?m)(?:^|[}\\]])[ \\t]*(```)")
)

// codeBlocks returns the contents of the code blocks of a text. A block ends on the line on
// which it begins, or else at the first fence after a bracket or the beginning of a line.
func codeBlocks(text string) (blocks []string) {
	for {
		begin := fence.FindStringIndex(text)
		if begin == nil {
			return blocks
		}
		_, text, _ = strings.Cut(text[begin[0]:], "```")
		line, _, _ := strings.Cut(text, "\n")
		end, next := len(text), len(text)
		if i := strings.LastIndex(line, "```"); i >= 0 {
			end, next = i, i+len("```")
		} else if at := fenceEnd.FindStringSubmatchIndex(text); at != nil {
			end, next = at[2], at[3]
		}
		blocks = append(blocks, strings.TrimSpace(language.ReplaceAllString(text[:end], "")))
		text = text[next:]
	}
}

// lastDocument returns the last document in a text.
func lastDocument(text string) (v value.Value, repaired, ok bool) {
	for range maxStarts {
		i := strings.IndexAny(text, "{[")
		if i < 0 {
			return v, repaired, ok
		}
		text = text[i:]
		doc, mended, n := leadingDocument(text)
		switch {
		case n < 0:
			return value.Value{}, false, false // cut off: a value inside it is not the answer
		case n == 0:
			n = 1 // a bracket of the prose
		case doc.IsNull():
			// A document that cannot be read, nor anything in it.
		case doc.Kind() == value.List && ok && v.Kind() == value.Object:
			// A reference like [1] after the answer.
		default:
			v, repaired, ok = doc, mended, true
		}
		text = text[n:]
	}
	return v, repaired, ok
}

// leadingDocument reads the document that text begins with; n is its length, 0 if none begins, -1 if one begins
// and does not end. Null means one that cannot be read.
func leadingDocument(text string) (v value.Value, repaired bool, n int) {
	dec := json.NewDecoder(strings.NewReader(text))
	var raw json.RawMessage
	if dec.Decode(&raw) == nil {
		if v, err := value.ParseJSON(raw); err == nil {
			return v, false, int(dec.InputOffset())
		}
	}
	if !plausible().MatchString(text[:min(len(text), maxOpening)]) {
		return v, false, 0
	}
	end, sound := findEnd(text)
	if end < 0 {
		return v, false, -1
	}
	if !sound || end > maxRepair {
		return v, false, end
	}
	v, ok := repairJSON(text[:end])
	if !ok {
		return v, false, end
	}
	return v, true, end
}

// plausible is how an intended object begins: with a name.
var plausible = value.CompileLater(`^(?:\{[\s\pZ]*(?:(?://[^\n]*\n|/\*[^*]*\*/)[\s\pZ]*)*(?:["'“”‘’` + "`" + `]|[\pL_$][\pL\pN_$]*\s*:)|\[\s*(?:\{\s*["'“]|["'“]))`)

// Texts found in place of a value in nearly right JSON.
var (
	notNumber = regexp.MustCompile(`^-?(?:NaN|nan|Infinity|inf)\s{0,9}[,\]}]`)
	leftOut   = regexp.MustCompile(`^(?:\.\.\.|…|<)`)
)

// findEnd finds the end of the brackets that text begins with; -1 if they do not end. sound reports that nothing
// outside the strings forbids a repair: the library would invent values for missing ones.
func findEnd(text string) (end int, sound bool) {
	depth, sound := 0, true
	previous := byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch c {
		case '"', '\'':
			n := closingQuote(text[i:], c)
			if n < 0 {
				return -1, false
			}
			i += n
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth == 0 {
				return i + 1, sound
			}
		case ',':
			if previous == ',' || previous == '[' || previous == '{' {
				sound = false
			}
		case ';':
			sound = false
		case '/':
			if n := commentLength(text[i:]); n > 0 && (text[i-1] != ':' || text[i+1] == '*') { // http://
				i += n - 1
				continue
			}
		}
		switch previous {
		case ':', '[':
			sound = sound && !leftOut.MatchString(text[i:min(len(text), i+3)])
			fallthrough
		case ',':
			sound = sound && !notNumber.MatchString(text[i:min(len(text), i+20)])
		}
		if strings.IndexByte(" \n\r\t", c) < 0 {
			previous = c
		}
	}
	return -1, false
}

// commentLength returns the length of the comment that text begins with, 0 if there is none.
func commentLength(text string) int {
	end := ""
	switch {
	case strings.HasPrefix(text, "//"):
		end = "\n"
	case strings.HasPrefix(text, "/*"):
		end = "*/"
	default:
		return 0
	}
	if n := strings.Index(text[2:], end); n >= 0 {
		return 2 + n + len(end)
	}
	return len(text)
}

// closingQuote returns the index of the quote that ends a string; -1 if it does not end.
func closingQuote(text string, quote byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case quote:
			return i
		}
	}
	return -1
}

// repairJSON makes JSON from text that is nearly JSON: other quotes, trailing commas, comments, words of Python.
func repairJSON(text string) (v value.Value, ok bool) {
	defer func() {
		if recover() != nil { // a fault of the library
			v, ok = value.Value{}, false
		}
	}()
	fixed, err := rewriteStrict(text)
	if err == nil {
		v, err = value.ParseJSON([]byte(fixed))
		if err == nil {
			return v, true
		}
	}
	if len(text) > maxGuessed || strings.Contains(text, `\`) {
		return v, false // the library is slow, and garbles escapes
	}
	fixed, err = jsonrepair.Repair(text)
	if err != nil {
		return v, false
	}
	v, err = value.ParseJSON([]byte(fixed))
	isContainer := v.Kind() == value.Object || v.Kind() == value.List
	return v, err == nil && isContainer
}

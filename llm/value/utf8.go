package value

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/callnode/scheduler/llm/value/wording"
)

// EncodingError is the place at which a text stops being UTF-8. [FindEncodingError] and [DecodeText] make it.
type EncodingError struct {
	// Offset counts bytes from 0; Line and Col count from 1, Col in characters.
	Offset, Line, Col int
	// Encoding is the likely one, for example GBK; "" if none is likely.
	Encoding string
}

// Error is line:col: message (hint).
func (e *EncodingError) Error() string { return e.In("en") }

// In returns the place, the message and the hint in a language.
func (e *EncodingError) In(language string) string {
	message, hint := e.Text()
	return fmt.Sprintf("%d:%d: %s", e.Line, e.Col, wording.SayIn(language, "%s (%s)", message, hint))
}

// Text returns the message and the remedy in the built-in languages, without the place.
func (e *EncodingError) Text() (message, hint wording.Text) {
	message = wording.Say("the text is not UTF-8 here")
	if e.Encoding != "" {
		message = wording.Say("the text is not UTF-8 here; it looks like %s", e.Encoding)
	}
	return message, wording.Say("save it as UTF-8")
}

// DecodeText returns the text of a file or a body, which must be UTF-8, without the byte-order
// mark that some editors write. The error is of type [*EncodingError].
func DecodeText(data []byte) (string, error) {
	if wrong := FindEncodingError(data); wrong != nil {
		return "", wrong
	}
	return string(WithoutMark(data)), nil
}

// WithoutMark returns a text without the byte-order mark at its beginning.
func WithoutMark(data []byte) []byte { return bytes.TrimPrefix(data, []byte("\ufeff")) }

// FindEncodingError returns nil for a text that is UTF-8. UTF-16 is not, not even for plain English, of which
// every byte is a valid character and every other one a zero.
func FindEncodingError(data []byte) *EncodingError {
	at := FindInvalidUTF8(data)
	if at < 0 && isWide(data) {
		at = 0
	}
	if at < 0 {
		return nil
	}
	line, col := LineCol(string(data), at)
	return &EncodingError{Offset: at, Line: line, Col: col, Encoding: guessEncoding(data)}
}

// FindInvalidUTF8 returns the byte offset at which a text stops being UTF-8; -1 if all of it is.
func FindInvalidUTF8(text []byte) int {
	if utf8.Valid(text) {
		return -1
	}
	i := 0
	for {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size <= 1 {
			return i
		}
		i += size
	}
}

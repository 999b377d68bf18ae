package sqlmemory

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Texts of Postgres cannot hold a zero byte or invalid UTF-8. Such bytes of a text are stored as escape and two
// hexadecimal digits, for example a zero byte as "\uf8ff00", and so is each byte of escape itself. It is a character
// for private use, which hardly any text has.
const escape = "\uf8ff"

// escapedText is the codec of Postgres.
type escapedText struct{}

// encode returns the stored form of a text.
func (escapedText) encode(s string) string {
	if utf8.ValidString(s) && !strings.ContainsAny(s, "\x00"+escape) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		isBroken := r == utf8.RuneError && size == 1
		if isBroken || r == 0 || s[i:i+size] == escape {
			for _, c := range []byte(s[i : i+size]) {
				b.WriteString(escape + hex.EncodeToString([]byte{c}))
			}
		} else {
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

// decode returns the text that was stored.
func (escapedText) decode(s string) (string, error) {
	if !strings.Contains(s, escape) {
		return s, nil
	}
	parts := strings.Split(s, escape)
	for i, part := range parts[1:] {
		if len(part) < 2 {
			return "", wording.Errorf("a stored text ends within an escaped byte")
		}
		c, err := hex.DecodeString(part[:2])
		if err != nil {
			return "", wording.Errorf("a stored text has an escaped byte that is not hexadecimal: %w", err)
		}
		parts[i+1] = string(c) + part[2:]
	}
	return strings.Join(parts, ""), nil
}

// maxKey bounds the texts in keys, in bytes: an index entry of Postgres holds less than
// 2.7 KB.
const maxKey = 1024

// keyOf returns the key for a term or a category: itself, or its hash if it is long.
func (e escapedText) keyOf(text string) string {
	if len(text) <= maxKey {
		return e.encode(text)
	}
	sum := sha256.Sum256([]byte(text))
	return "\x01" + hex.EncodeToString(sum[:])
}

// checkName refuses a name that is too long for a key. Names are at most doubled by
// encode, which is for rare characters only.
func (e escapedText) checkName(what, name string) error {
	if len(e.encode(name)) <= maxKey {
		return nil
	}
	return calls.Errorf(calls.Invalid, "the %s %.40q... has %d bytes; in Postgres it may have %d", what, name, len(name), maxKey).
		WithHint("use a shorter name, such as a hash of it")
}

package postgres

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Texts of Postgres cannot hold a zero byte, nor what is not UTF-8. Where a text has such
// bytes they are stored as escape and two hexadecimal digits, and so is escape itself. It is
// a character for private use, which hardly any text has.
const escape = "\uf8ff"

// encodeText returns a text as it is stored.
func encodeText(s string) string {
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

// decodeText returns the text that was stored.
func decodeText(s string) (string, error) {
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

// keyOf returns what stands for a term or a category in keys: itself, or its hash if it is
// long.
func keyOf(text string) string {
	if len(text) <= maxKey {
		return encodeText(text)
	}
	sum := sha256.Sum256([]byte(text))
	return "\x01" + hex.EncodeToString(sum[:])
}

// checkName refuses a name that is too long for a key. Names are at most doubled by
// encodeText, which is for rare characters only.
func checkName(what, name string) error {
	if len(encodeText(name)) <= maxKey {
		return nil
	}
	return calls.Errorf(calls.Invalid, "the %s %.40q... has %d bytes; in Postgres it may have %d", what, name, len(name), maxKey).
		WithHint("use a shorter name, such as a hash of it")
}

// scanText scans a stored text.
type scanText struct{ to *string }

// Scan is part of [sql.Scanner].
func (s scanText) Scan(src any) error {
	text, ok := src.(string)
	if !ok {
		return wording.Errorf("a text is %T", src)
	}
	var err error
	*s.to, err = decodeText(text)
	return err
}

// scanJSON scans stored JSON; it ignores NULL.
func scanJSON(use func(value.Value) error) scanParsed { return scanParsed{use} }

// scanInto scans stored JSON that decode reads.
func scanInto[T any](to *T, decode func(value.Value) (T, error)) scanParsed {
	return scanParsed{func(v value.Value) (err error) {
		*to, err = decode(v)
		return err
	}}
}

type scanParsed struct{ use func(value.Value) error }

// Scan is part of [sql.Scanner].
func (s scanParsed) Scan(src any) error {
	if src == nil {
		return nil
	}
	var text string
	if err := (scanText{&text}).Scan(src); err != nil {
		return err
	}
	v, err := value.ParseJSON([]byte(text))
	if err != nil {
		return err
	}
	return s.use(v)
}

// encodeJSON returns the stored form of a column of JSON, nil for none.
func encodeJSON(text any) *string {
	s, ok := text.(string)
	if !ok {
		return nil
	}
	s = encodeText(s)
	return &s
}

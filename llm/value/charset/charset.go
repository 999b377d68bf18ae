// Package charset decodes texts by the charset that their sender names, for example
// iso-8859-1 or gbk.
package charset

import (
	"bytes"
	"cmp"
	"mime"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	utf16 "golang.org/x/text/encoding/unicode"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Decode returns a text in UTF-8. Without a name it stays unchanged, except UTF-16 with a byte-order mark: a mark
// overrides the name, and is removed. Bytes that the charset does not have, for example half a character of GBK,
// are an error with their line and column; invalid UTF-8 is left to the caller.
func Decode(data []byte, name string) ([]byte, error) {
	if text, isMarked := bytes.CutPrefix(data, []byte(mark)); isMarked {
		return text, nil
	}
	var decoder transform.Transformer = transform.Nop
	if isASCII(name) {
		decoder = runes.Map(keepASCII)
	} else if name != "" && !strings.EqualFold(name, "utf-8") {
		named, err := htmlindex.Get(name)
		if err != nil || named == encoding.Replacement { // which turns everything into U+FFFD
			return nil, wording.Errorf("the text is written in the unknown charset %q", name)
		}
		decoder = named.NewDecoder()
	}
	text, _, err := transform.Bytes(utf16.BOMOverride(decoder), data)
	if err != nil {
		return nil, wording.Errorf("decoding the charset %s: %w", name, err)
	}
	at := bytes.IndexRune(text, utf8.RuneError)
	if isDecoded := !bytes.Equal(text, data); isDecoded && at >= 0 {
		line, col := value.LineCol(string(text), at)
		return nil, wording.Errorf("%d:%d: the bytes here are no text in %s", line, col, cmp.Or(name, "utf-16"))
	}
	return text, nil
}

// isASCII reports whether a charset is ASCII by one of its usual names. Browsers read it as windows-1252, which gives each
// byte above 127 some character, for example those of UTF-8 two wrong ones.
func isASCII(name string) bool {
	return slices.Contains([]string{"us-ascii", "ascii", "ansi_x3.4-1968", "iso646-us"}, strings.ToLower(name))
}

// keepASCII returns a character of ASCII unchanged; others are an error of the text.
func keepASCII(r rune) rune {
	if r > unicode.MaxASCII {
		return utf8.RuneError
	}
	return r
}

// mark is the byte-order mark of UTF-8.
const mark = "\ufeff"

// SplitContentType returns the media type of a Content-Type in lower case, and the charset that it
// names; "" for none. Parameters that are written badly do not hide the type.
func SplitContentType(header string) (media, name string) {
	media, params, err := mime.ParseMediaType(header)
	if err != nil {
		if i := strings.IndexAny(header, ";,"); i >= 0 {
			header = header[:i]
		}
		return strings.ToLower(strings.TrimSpace(header)), ""
	}
	return media, strings.Trim(params["charset"], "'")
}

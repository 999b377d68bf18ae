// Package charset decodes texts by the charset that their sender names, for example
// iso-8859-1 or gbk.
package charset

import (
	"bytes"
	"cmp"
	"mime"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
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
	if name != "" && !strings.EqualFold(name, "utf-8") {
		named, err := htmlindex.Get(name)
		if err != nil || named == encoding.Replacement { // which turns everything into U+FFFD
			return nil, wording.Errorf("the text is written in the unknown charset %q", name)
		}
		decoder = named.NewDecoder()
	}
	text, _, err := transform.Bytes(unicode.BOMOverride(decoder), data)
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

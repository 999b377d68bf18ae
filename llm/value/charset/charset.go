// Package charset decodes texts by the charset that their sender names, for example
// iso-8859-1 or gbk.
package charset

import (
	"mime"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"github.com/callnode/scheduler/llm/value/wording"
)

// Decode returns a text in UTF-8. Without a name it stays as it is, but for UTF-16 with a
// byte-order mark: a mark counts for more than the name, and is taken off.
func Decode(data []byte, name string) ([]byte, error) {
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
	return text, nil
}

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

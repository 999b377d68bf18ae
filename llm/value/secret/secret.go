// Package secret keeps secrets out of printed and stored text. A value that is marked as a secret
// ([value.OfSecret]) is masked as such. A secret that lost its mark on the way is found by its text, in the forms
// in which templates and protocols write a text, for example escaped as in JSON or in a URL.
package secret

import (
	"encoding/base64"
	"encoding/hex"
	"html"
	"net/url"
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/value"
)

const (
	// minForm is how long another form of a secret must be to be searched for: a short
	// one is in texts by chance.
	minForm = 6
	// minLine is that for a line of a secret of several, such as a key in PEM.
	minLine = 16
)

// Forms returns the ways in which a secret may be written, each once: first unchanged, then inside JSON, a URL,
// HTML, base64, hexadecimal digits, in capitals, in small letters and backwards; inside a longer text that is
// written in base64; and each long line of a secret of several. Other escapes, such as \u0068 for h,
// [Set.MaskText] undoes itself.
func Forms(secret string) []string {
	forms := []string{secret}
	add := func(form string, least int) {
		if len(form) >= least && !slices.Contains(forms, form) {
			forms = append(forms, form)
		}
	}
	for _, form := range Spellings(secret)[1:] {
		add(form, minForm)
	}
	if strings.Contains(secret, "\n") {
		for line := range strings.Lines(secret) {
			add(strings.TrimSpace(line), minLine)
		}
	}
	return forms
}

// Spellings returns a secret unchanged, and in each of the other forms: the n-th is the same form of every secret,
// for example the one at 7 is base64. The secret is not empty.
func Spellings(secret string) []string {
	quotedJSON := string(value.AppendQuoted(nil, secret))
	query := url.QueryEscape(secret)
	bytes := []byte(secret)
	digits := hex.EncodeToString(bytes)
	reversed := []rune(secret)
	slices.Reverse(reversed)
	all := []string{
		secret, quotedJSON[1 : len(quotedJSON)-1],
		query, url.PathEscape(secret),
		strings.NewReplacer("+", "%20", "%7E", "~", "%2F", "/").Replace(query), // the filter urlencode
		strings.ReplaceAll(secret, " ", "+"),                                   // a form, with its other characters in escapes
		html.EscapeString(secret),
		base64.StdEncoding.EncodeToString(bytes), base64.RawStdEncoding.EncodeToString(bytes),
		base64.URLEncoding.EncodeToString(bytes), base64.RawURLEncoding.EncodeToString(bytes),
		digits, strings.ToUpper(digits),
		strings.ToUpper(secret), strings.ToLower(secret), string(reversed),
	}
	for _, text := range []string{secret, quotedJSON[1 : len(quotedJSON)-1], html.EscapeString(secret)} {
		for offset := range 3 {
			inner := base64Inside([]byte(text), offset)
			all = append(all, inner, strings.NewReplacer("+", "-", "/", "_").Replace(inner))
		}
	}
	return append(all, unescapeAll(secret))
}

// base64Inside returns the characters of base64 that bytes give in a longer text, after offset bytes of it:
// characters at either end that also depend on its neighbours are left out.
func base64Inside(secret []byte, offset int) string {
	padded := append(make([]byte, offset), secret...)
	whole := base64.RawStdEncoding.EncodeToString(padded)
	return whole[(offset*8+5)/6 : len(padded)*8/6]
}

// unescapeAll undoes the escapes that a secret seems to have itself, for example %41: they are undone when it is
// searched for in a text with other escapes.
func unescapeAll(secret string) string {
	for range maxLevels {
		u := unescape(secret, false)
		if !u.isChanged {
			break
		}
		secret = u.text
	}
	return secret
}

// newReplacer returns a replacer that puts [Mask] in place of the forms, which it sorts: the longest first.
func newReplacer(forms []string) *strings.Replacer {
	// The replacer takes the first that fits.
	slices.SortStableFunc(forms, func(a, b string) int { return len(b) - len(a) })
	pairs := make([]string, 0, 2*len(forms))
	for _, form := range forms {
		pairs = append(pairs, form, Mask)
	}
	return strings.NewReplacer(pairs...)
}

// MarkMasks returns a value of a record with a mark ([value.OfSecret]) on every [Mask] in its texts: it replaces a
// secret of any length.
func MarkMasks(v value.Value) value.Value {
	switch v.Kind() {
	case value.String:
		text, _ := v.Str()
		var ranges []value.ByteRange
		for at := 0; ; {
			i := strings.Index(text[at:], Mask)
			if i < 0 {
				break
			}
			ranges = append(ranges, value.ByteRange{Start: at + i, End: at + i + len(Mask)})
			at += i + len(Mask)
		}
		if ranges != nil {
			return value.OfSecret(v, ranges...)
		}
	case value.List:
		items, isMarked := make([]value.Value, len(v.List())), false
		for i, item := range v.List() {
			items[i] = MarkMasks(item)
			isMarked = isMarked || items[i].HasSecret()
		}
		if isMarked {
			return value.OfList(items...)
		}
	case value.Object:
		m, isMarked := value.NewMap(v.Map().Len()), false
		for k, member := range v.Map().All() {
			marked := MarkMasks(member)
			m.Set(k, marked)
			isMarked = isMarked || marked.HasSecret()
		}
		if isMarked {
			return value.OfMap(m)
		}
	}
	return v
}

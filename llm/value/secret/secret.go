// Package secret keeps secrets out of what is printed or stored. A value that is marked as
// a secret ([value.OfSecret]) is masked as such. What lost its mark on the way is found by
// its text, in the forms in which templates and protocols write a text.
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

// Forms returns the ways in which a secret may be written, each once: first as it is,
// then inside JSON, a URL, HTML, base64, hexadecimal digits, in capitals, in small
// letters and backwards; and each long line of a secret of several.
func Forms(secret string) []string {
	forms := []string{secret}
	add := func(form string, least int) {
		if len(form) >= least && !slices.Contains(forms, form) {
			forms = append(forms, form)
		}
	}
	quotedJSON := string(value.AppendQuoted(nil, secret))
	query := url.QueryEscape(secret)
	bytes := []byte(secret)
	digits := hex.EncodeToString(bytes)
	reversed := []rune(secret)
	slices.Reverse(reversed)
	for _, form := range []string{
		quotedJSON[1 : len(quotedJSON)-1],
		query, url.PathEscape(secret),
		strings.NewReplacer("+", "%20", "%7E", "~", "%2F", "/").Replace(query), // the filter urlencode
		html.EscapeString(secret),
		base64.StdEncoding.EncodeToString(bytes), base64.RawStdEncoding.EncodeToString(bytes),
		base64.URLEncoding.EncodeToString(bytes), base64.RawURLEncoding.EncodeToString(bytes),
		digits, strings.ToUpper(digits),
		strings.ToUpper(secret), strings.ToLower(secret), string(reversed),
	} {
		add(form, minForm)
	}
	if strings.Contains(secret, "\n") {
		for line := range strings.Lines(secret) {
			add(strings.TrimSpace(line), minLine)
		}
	}
	return forms
}

// Replacer returns a replacer that puts mask in the place of the secrets, in any of their
// [Forms], and those forms, the longest first. Secrets of white space are left out.
func Replacer(secrets []string, mask string) (replacer *strings.Replacer, forms []string) {
	for _, s := range secrets {
		if strings.TrimSpace(s) != "" {
			forms = append(forms, Forms(s)...)
		}
	}
	return NewReplacer(forms, mask), forms
}

// NewReplacer returns a replacer that puts mask in the place of the forms, which it sorts:
// the longest first.
func NewReplacer(forms []string, mask string) *strings.Replacer {
	// The replacer takes the first that fits.
	slices.SortStableFunc(forms, func(a, b string) int { return len(b) - len(a) })
	pairs := make([]string, 0, 2*len(forms))
	for _, form := range forms {
		pairs = append(pairs, form, mask)
	}
	return strings.NewReplacer(pairs...)
}

// MarkMasks returns a value of a record with a mark ([value.OfSecret]) on every [Mask] in its texts:
// it stands for a secret, of whatever length.
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

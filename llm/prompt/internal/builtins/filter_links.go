package builtins

import (
	"regexp"
	"strings"
	"sync"
)

// linkWriter makes links of the addresses in a text that is HTML, as Jinja2's urlize does.
type linkWriter struct {
	limit      int      // characters of an address that are shown; below 0 for all
	attributes string   // of a link
	schemes    []string // that make a link besides http and https
}

// The addresses that become links, and the prefixes that may make more.
var (
	webPattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^(?:(?:https?://|www\.)(?:(?:[\p{L}\p{N}_%-]+\.)+)?(?:[a-z]{2,63}|xn--[\p{L}\p{N}_%]{2,59})` +
			`|(?:[\p{L}\p{N}_%-]{2,63}\.)+(?:com|net|int|edu|gov|org|info|mil)` +
			`|https?://(?:\p{Nd}{1,3}(?:\.\p{Nd}{1,3}){3}|\[(?:[\p{Nd}a-f]{0,4}:){2}(?:[\p{Nd}a-f]{0,4}:?){1,6}\]))` +
			`(?::\p{Nd}{1,5})?(?:[/?#]\S*)?$`)
	})
	mailPattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\S+@[\p{L}\p{N}_][\p{L}\p{N}_.-]*\.[\p{L}\p{N}_]+$`)
	})
	schemePattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\p{L}\p{N}_.+-]{2,}:/{0,2}$`) })
)

// writeWord writes a word, as a link if it is an address.
func (w *linkWriter) writeWord(b *strings.Builder, word string) {
	start, end := linkBounds(word)
	b.WriteString(word[:start])
	b.WriteString(w.linkOf(word[start:end]))
	b.WriteString(word[end:])
}

// cutAny cuts one of the parts off the beginning, or the end, of a text; length 0 is none of them.
func cutAny(s string, has func(s, part string) bool, parts ...string) (length int) {
	for _, part := range parts {
		if has(s, part) {
			return len(part)
		}
	}
	return 0
}

// linkBounds returns the part of a word that may be an address: without opening brackets at its
// beginning, and closing ones and punctuation at its end, unless they close a bracket within.
func linkBounds(word string) (start, end int) {
	for {
		n := cutAny(word[start:], strings.HasPrefix, "(", "<", "&lt;")
		if n == 0 {
			break
		}
		start += n
	}
	end = len(word)
	for end > start {
		n := cutAny(word[start:end], strings.HasSuffix, ")", ">", ".", ",", "&gt;")
		if n == 0 {
			break
		}
		end -= n
	}
	for _, pair := range [...][2]string{{"(", ")"}, {"<", ">"}, {"&lt;", "&gt;"}} {
		opened := strings.Count(word[start:end], pair[0])
		if opened <= strings.Count(word[start:end], pair[1]) {
			continue
		}
		for range min(opened, strings.Count(word[end:], pair[1])) {
			end += strings.Index(word[end:], pair[1]) + len(pair[1])
		}
	}
	return start, end
}

// linkOf returns the link of an address, and any other text unchanged.
func (w *linkWriter) linkOf(text string) string {
	link := func(to, shown string) string { return `<a href="` + to + `"` + w.attributes + `>` + shown + `</a>` }
	isOther := strings.HasPrefix(text, "www.") || strings.HasPrefix(text, "@") || strings.Contains(text, ":")
	address, hasScheme := strings.CutPrefix(text, "mailto:")
	switch {
	case webPattern().MatchString(text):
		to := text
		if !strings.HasPrefix(text, "https://") && !strings.HasPrefix(text, "http://") {
			to = "https://" + text
		}
		return link(to, w.trimLink(text))
	case hasScheme && mailPattern().MatchString(address):
		return `<a href="` + text + `">` + address + `</a>`
	case !isOther && mailPattern().MatchString(text):
		return `<a href="mailto:` + text + `">` + text + `</a>`
	}
	for _, scheme := range w.schemes {
		if text != scheme && strings.HasPrefix(text, scheme) {
			return link(text, text)
		}
	}
	return text
}

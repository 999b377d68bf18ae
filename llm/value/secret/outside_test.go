package secret_test

import (
	"encoding/base64"
	"fmt"
	"html"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/secret"
)

const key = "sk-k3y/of+the=door"

// leak returns a piece of the key of at least four bytes that a text has.
func leak(text string) string {
	for i := range len(key) - 3 {
		if part := key[i : i+4]; strings.Contains(text, part) {
			return part
		}
	}
	return ""
}

// A secret at every offset around a cut leaves nothing of it.
func TestCuts(t *testing.T) {
	s := secret.SetOf(key)
	const limit = 40
	for offset := range 3 * limit {
		text := strings.Repeat("é", offset/2) + strings.Repeat(".", offset%2) + key + strings.Repeat(" x", limit)
		for name, shown := range map[string]string{
			"message":    s.Message(text, limit),
			"line":       s.Line(text, limit),
			"first line": s.FirstLine(text+"\nmore", limit),
			"end":        s.End(text, limit, false),
			"cut input":  s.MaskCut(text[:min(limit, len(text))]),
			"after half": s.End(text[min(offset, len(text)):]+strings.Repeat("z", secret.Margin), secret.Margin+limit, true),
		} {
			if part := leak(shown); part != "" {
				t.Errorf("%s: the secret at %d: %q is in %q", name, offset, part, shown)
			}
		}
	}
	if got := s.Line("a \x1b[2J\n  b "+key, 40); got != `a \u001b[2J b ***` {
		t.Errorf("got %q", got)
	}
	var none *secret.Set
	if got := none.End("the end", 3, true) + none.Message(key, 100) + none.MaskCut("x"); got != "end"+key+"x" {
		t.Errorf("without secrets: %q", got)
	}
}

// encodings write a text in other characters.
var encodings = map[string]func(string) string{
	"JSON": func(s string) string {
		quoted := string(value.AppendQuoted(nil, s))
		return quoted[1 : len(quoted)-1]
	},
	`\u`:      func(s string) string { return eachRune(s, `\u%04x`) },
	`\x`:      func(s string) string { return eachRune(s, `\x%02X`) },
	"&#":      func(s string) string { return eachRune(s, "&#%d;") },
	"&#x":     func(s string) string { return eachRune(s, "&#x%X;") },
	"HTML":    html.EscapeString,
	"URL":     url.QueryEscape,
	"%":       func(s string) string { return eachRune(s, "%%%02x") },
	"slashes": func(s string) string { return strings.ReplaceAll(s, "/", `\/`) },
}

func eachRune(s, format string) string {
	var b strings.Builder
	for _, r := range s {
		fmt.Fprintf(&b, format, r)
	}
	return b.String()
}

// The key is masked in any escapes, up to three of them one around the other, in any pieces.
func TestEscapes(t *testing.T) {
	names := []string{`\u`, `\x`, "&#", "&#x", "%", "JSON", "HTML", "URL", "slashes"}
	rapid.Check(t, func(t *rapid.T) {
		s := secret.SetOf(key, `p&s w/"1`)
		given := rapid.SampledFrom([]string{key, `p&s w/"1`}).Draw(t, "secret")
		written := given
		for range rapid.IntRange(0, 3).Draw(t, "levels") {
			written = encodings[rapid.SampledFrom(names).Draw(t, "encoding")](written)
		}
		text := "before " + written + " after"
		if got := s.MaskText(text); got != "before *** after" {
			t.Fatalf("%q becomes %q", text, got)
		}
		if got := s.MaskedRanges(value.OfString(text)); len(got) != 1 || text[got[0].Start:got[0].End] != written {
			t.Fatalf("%q: ranges %v", text, got)
		}
		shown, held := "", ""
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			masked := s.MaskText(held + rest[:n])
			rest = rest[n:]
			open := s.OpenEnd(masked)
			shown, held = shown+masked[:open], masked[open:]
		}
		if shown += s.MaskText(held); shown != "before *** after" {
			t.Fatalf("in pieces %q becomes %q", text, shown)
		}
	})
}

func TestInsideBase64(t *testing.T) {
	s := secret.SetOf(key)
	for offset := range 7 {
		whole := strings.Repeat("a", offset) + `{"key":"` + key + `"}` + strings.Repeat("b", 90)
		for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawURLEncoding} {
			text := encoding.EncodeToString([]byte(whole))
			var lines strings.Builder
			for i := 0; i < len(text); i += 76 {
				lines.WriteString(text[i:min(i+76, len(text))] + "\r\n")
			}
			for _, text := range []string{text, lines.String()} {
				if got := s.MaskText(text); !strings.Contains(got, "***") || len(got) > len(text)-len(key) {
					t.Errorf("at %d: %q becomes %q", offset, text, got)
				}
			}
		}
	}
	wrapped := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("c", 50) + key + "dddd"))
	if got := s.MaskText(wrapped[:76] + "\n" + wrapped[76:]); !strings.Contains(got, "***") {
		t.Errorf("over two lines: %q", got)
	}
}

// Texts that have escapes and no secrets stay unchanged.
func TestHarmlessEscapes(t *testing.T) {
	s := secret.SetOf(key)
	for _, text := range []string{"", `\`, `\u`, `\u12`, `\uD83D`, `\uD83D\u`, "&", "&amp", "%", "%4", "100%\n", `C:\new\user`, "a\nb", "\xff&#65;"} {
		if got := s.MaskText(text); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
		s.OpenEnd(text)
	}
}

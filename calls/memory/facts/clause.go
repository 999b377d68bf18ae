package facts

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/callnode/scheduler/llm/value"
)

// source is a content that is read. lower has the same length, with small letters and with blanks in place of
// quotations, brackets and foreign spans.
type source struct {
	raw, lower string
}

// quotation is more than two words in quotation marks, or anything in brackets.
var quotation = value.CompileLater(`"[^"\s]+ [^"\s]+ [^"]+"|“[^”]{12,}”|「[^」]{18,}」|\([^()]*\)|（[^（）]*）|\[[^\]]*\]|【[^】]*】`)

func newSource(t *Text) *source {
	raw := strings.ToValidUTF8(t.Content[:min(len(t.Content), MaxContent)], "")
	if !strings.HasPrefix(t.Content, raw) { // the cut was within a character, or the content is not UTF-8
		raw = validPrefix(t.Content[:min(len(t.Content), MaxContent)])
	}
	lower := []byte(foldASCII(raw))
	blank := func(start, end int) {
		for i := start; i < min(end, len(lower)); i++ {
			lower[i] = ' '
		}
	}
	for _, m := range quotation().FindAllStringIndex(raw, -1) {
		blank(m[0], m[1])
	}
	for _, s := range t.Foreign {
		blank(max(0, s.Start), s.End)
	}
	return &source{raw: raw, lower: string(lower)}
}

func validPrefix(text string) string {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && size <= 1 {
			return text[:i]
		}
		i += size
	}
	return text
}

// sentence is a part of a source, with its clauses.
type sentence struct {
	span    Span
	asks    bool
	clauses []Span
}

// abbreviation has a full stop that does not end a sentence, for example Dr.
var abbreviation = regexp.MustCompile(`\b(?:dr|mr|mrs|ms|st|prof|no|vs|e\.g|i\.e)$`)

// splitSentences splits at full stops, question marks and the ends of lines.
func (s *source) splitSentences() (out []sentence) {
	start := 0
	add := func(end int, asks bool) {
		if strings.TrimSpace(s.lower[start:end]) != "" && len(out) < MaxClauses {
			out = append(out, sentence{span: Span{start, end}, asks: asks})
		}
	}
	for i, r := range s.lower {
		if i < start {
			continue
		}
		size := utf8.RuneLen(r)
		switch r {
		case '.':
			atEnd := i+1 == len(s.lower) || unicode.IsSpace(rune(s.lower[i+1])) || s.lower[i+1] == '.' || s.lower[i+1] == '"'
			if !atEnd || abbreviation.MatchString(s.lower[max(0, i-6):i]) {
				continue
			}
			add(i, false)
		case '!', ';', '\n', '。', '！', '；', '…', '～':
			add(i, false)
		case '?', '？':
			add(i, true)
		default:
			continue
		}
		start = i + size
	}
	add(len(s.lower), false)
	return out
}

// splitClauses splits a sentence at commas and colons, and at words such as and if a clause of its own follows.
func (s *source) splitClauses(of Span, t *table) (out []Span) {
	text := s.lower[of.Start:of.End]
	start := 0
	cut := func(end, next int) {
		if strings.TrimSpace(text[start:end]) != "" {
			out = append(out, Span{of.Start + start, of.Start + end})
		}
		start = next
	}
	for _, m := range t.patterns["split"].FindAllStringIndex(text, -1) {
		inNumber := m[0] > 0 && m[1] < len(text) && isDigit(text[m[0]-1]) && isDigit(text[m[1]])
		if m[0] < start || inNumber {
			continue
		}
		mark := strings.TrimSpace(text[m[0]:m[1]])
		isWord := unicode.IsLetter(rune(mark[0]))
		if mark == ":" && t.find("nocolon", text[start:m[0]]) != nil {
			continue
		}
		if t.spaced && isWord && !t.beginsClause(text[m[1]:], text[start:m[0]]) {
			continue
		}
		if t.find("nosplit", text[start:m[0]]) != nil {
			continue
		}
		cut(m[0], m[1])
	}
	cut(len(text), len(text))
	return out
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// beginsClause reports whether a clause of its own follows a word such as and.
func (t *table) beginsClause(after, before string) bool {
	if strings.Count(strings.TrimSpace(before), " ") == 0 { // Priya and I
		return false
	}
	word, _, _ := strings.Cut(strings.TrimSpace(after), " ")
	word, _, _ = strings.Cut(strings.ReplaceAll(word, "’", "'"), "'")
	return t.sets["starter"][word] || len(t.byWord[word]) > 0
}

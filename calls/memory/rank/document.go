// Package rank finds the memories that matter for a query, by words alone: BM25 of a memory, of its neighbours in
// the dialogue and of its session, with boosts for its speaker and its time. It needs no model and no store: a
// store gives it an [Index] of one user's memories and the postings of terms.
//
// A memory scores its own BM25, 0.3 of the BM25 of the memory before it (0.8 if that is a question: this may be
// the answer), 1.25 of the window of two memories to either side, 0.75 of the window of six, 0.2 of the session,
// and its snapshots. The words of a memory that is alone in its session, or in none, count as often as if it were
// its own windows and session. The sum counts 0.75 more when a speaker whom the query names said the memory, 0.5
// more when the query asks for a time and the memory speaks of one, up to once more when the memory is of a time
// that the query names, 0.3 less when it is a question, up to 0.1 more for its length, and a little more when it
// is new. A query that names a class, for example activities, is also about its members (classes.txt), and one
// that asks whether something still goes on finds endings first (endings.txt). Windows never cross sessions. The
// weights are round, and were chosen by hand on dialogues that are not in this repository.
//
// Everything is deterministic. The order in which postings arrive does not matter.
package rank

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/callnode/scheduler/calls/internal/date"
	"github.com/callnode/scheduler/llm/value"
)

// AnalysisVersion is the version of the results of [Analyze]. A store keeps it beside its index and reindexes when
// it differs, because texts indexed by other rules would not be found. Every change to terms, speakers or marks
// increases it.
const AnalysisVersion = 3

// Frequency is the number of occurrences of a term.
type Frequency struct {
	Term string
	N    int
}

// Document is the part of a text that the index needs. [Analyze] creates it.
type Document struct {
	// Terms are sorted by their text.
	Terms []Frequency
	// Len is the number of terms, with repetitions.
	Len int
	// MentionsTime reports whether the text mentions a time: yesterday, in June, 去年.
	MentionsTime bool
	// Question reports whether the text ends with a question mark.
	Question bool
	// Speaker is the given speaker, or the name that the text begins with ("Ann: hello").
	Speaker string
}

// Analyze returns the terms and marks of a text. If speaker is "", a name at the beginning of the text counts as
// the speaker. That name stays among the terms, because it may be a label ("Address: 12 Mill Street"); the name of
// a given speaker is not a term.
func Analyze(content, speaker string) Document {
	text := norm.NFKC.String(content)
	name, rest := speakerPrefix(text)
	if speaker == "" {
		speaker = name
	} else if strings.EqualFold(name, speaker) {
		text = rest
	}
	doc := Document{Speaker: speaker}
	counts := map[string]int{}
	tokenize(text, func(t token) {
		counts[t.term]++
		doc.Len++
	})
	doc.Terms = make([]Frequency, 0, len(counts))
	for term, n := range counts {
		doc.Terms = append(doc.Terms, Frequency{term, n})
	}
	slices.SortFunc(doc.Terms, func(a, b Frequency) int { return strings.Compare(a.Term, b.Term) })
	doc.MentionsTime = date.MentionsTime(text)
	trimmed := strings.TrimRightFunc(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`"'”’)`, r) })
	doc.Question = strings.HasSuffix(trimmed, "?")
	return doc
}

// labels look like a name at the beginning of a text, but are not.
var labels = value.WordSet(`note notes todo question answer q a warning error info debug title summary re fwd subject from to cc date
http https ps nb tip hint example fact facts reminder update user assistant system tool address phone email password
ingredients birthday deadline budget 备注 注意 提示 问题 答案 例如 比如 地址 时间 地点 作者 主演 导演 简介 标题 来源 日期 总结 摘要 结论
原因 结果 电话 价格 优点 缺点 特点 目的 方法 步骤 要求 用户 助手 系统 工具 待办 更新 目标 内容 密码 生日 邮箱`)

// speakerPrefix splits "Ann: hello" into the name and the rest.
func speakerPrefix(text string) (name, rest string) {
	i := strings.IndexByte(text[:min(len(text), 40)], ':')
	if i <= 0 {
		return "", text
	}
	name, rest = text[:i], text[i+1:]
	if !isName(name) || strings.TrimSpace(rest) == "" {
		return "", text
	}
	if r, _ := utf8.DecodeRuneInString(name); !isSpaceless(r) && !strings.HasPrefix(rest, " ") {
		return "", text
	}
	return name, strings.TrimSpace(rest)
}

// SpeakerOf returns the name in a text that is only a name, for example "Ann" or "speaker: Ann". It returns "" for
// other texts.
func SpeakerOf(text string) string {
	text = strings.TrimSpace(norm.NFKC.String(text))
	for _, label := range []string{"speaker:", "说话人:"} {
		if len(text) > len(label) && strings.EqualFold(text[:len(label)], label) {
			text = strings.TrimSpace(text[len(label):])
		}
	}
	if !isName(text) {
		return ""
	}
	return text
}

// isName reports whether a text looks like a name: up to three capitalized words, or
// two to four characters of a script without spaces, with a Latin name among them.
func isName(s string) bool {
	if labels(strings.ToLower(s)) || len(s) > 60 {
		return false
	}
	if r, _ := utf8.DecodeRuneInString(s); isSpaceless(r) {
		characters, n := 0, 0
		for _, r := range s {
			if !unicode.IsLetter(r) && r != 'ー' {
				return false
			}
			n++
			if isSpaceless(r) {
				characters++
			}
		}
		return characters <= 4 && 2 <= n && n <= 10
	}
	words := strings.Split(s, " ")
	for _, w := range words {
		for i, r := range w {
			isPart := unicode.IsLetter(r) || strings.ContainsRune(".-'", r)
			if i == 0 {
				isPart = unicode.IsUpper(r)
			}
			if !isPart {
				return false
			}
		}
		if w == "" {
			return false
		}
	}
	return len(words) <= 3
}

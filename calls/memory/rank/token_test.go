package rank

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/callnode/scheduler/test/slow"
)

func TestTokens(t *testing.T) {
	for text, want := range map[string]string{
		"The dogs were running.":    "dog run",
		"Caroline's kids went home": "carolin child go home",
		"I don't, you'll, we've":    "",
		"She bought 2 movies":       "buy 2 film",
		"my favourite colour":       "favorit color",
		"organised organization":    "organ organ",
		"the theatres' centre":      "theater center",
		"surprised by a surprise":   "surpriz surpriz",
		"our four hours":            "four hour",
		"fam pics from the fest":    "famili photo festiv",
		"self-care mother-in-law":   "self care mother law",
		"e-mail me at a.b@c.org":    "e mail a.b@c.org b c org",
		"PostgreSQL parse_config":   "postgresql postgr sql parse_config pars config",
		"HTTPServer v2.1 ERR-4021":  "httpserver http server v2.1 v 2 1 err-4021 err 4021",
		"1,200 people at 9:30":      "1200 1 200 person 9:30 9 30",
		"Café Müller":               "cafe muller",
		"人工智能":                      "人 工 人工 智 工智 能 智能",
		"用Go写":                      "用 go 写",
		"アニメ":                       "ア ニ アニ メ ニメ",
		"한국":                        "한 국 한국",
		"ＡＢＣ１２３":                    "abc123 abc 123",
		"LGBTQ+ C++":                "lgbtq c",
		"":                          "", "?! ...": "",
	} {
		var got []string
		tokenize(norm.NFKC.String(text), func(x token) { got = append(got, x.term) })
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", text, strings.Join(got, " "), want)
		}
	}
}

func TestStemKeepsForms(t *testing.T) {
	for _, forms := range []string{
		"exercise exercises exercised exercising", "promise promised promising promises", "raise raised raises raising", "organize organise organised organizing organisation",
		"colour color colours colored coloured", "travel travelling traveling travelled", "neighbour neighbors neighbourhood", "centre center centres",
		"encourage encouraged encouraging", "leave leaves leaving left", "buy bought buying", "child children kids", "freeze froze frozen", "analyse analyzed analysing",
		"two two", "harbour harbors", "resource resources", "journey journeys",
	} {
		list := strings.Fields(forms)
		for _, form := range list[1:] {
			if a, b := Stem(list[0]), Stem(form); a != b && form != "neighbourhood" {
				t.Errorf("%s is %q, %s is %q", list[0], a, form, b)
			}
		}
	}
}

func TestSpeakers(t *testing.T) {
	for _, test := range []struct{ content, given, speaker, terms string }{
		{"Ann: the tea is ready", "", "Ann", "ann readi tea"},
		{"Ann: the tea is ready", "Ann", "Ann", "readi tea"},
		{"Ann: the tea is ready", "Ben", "Ben", "ann readi tea"},
		{"Address: 12 Mill Street", "", "", "12 address mill street"},
		{"see http://a.b", "", "", "a.b b http see"},
		{"Time 10:30", "", "", "10 10:30 30 time"},
		{"Dr. Mary-Ann O'Neil: hi", "", "Dr. Mary-Ann O'Neil", ""},
		{"One Two Three Four: hi", "", "", "4 four hi one three two"},
		{"小雨：我在吃饭", "小雨", "小雨", "吃 吃饭 在 在吃 我 我在 饭"},
		{"阿May：好", "", "阿May", ""},
		{"备注：好", "", "", "备 备注 好 注"},
		{"Ann:", "", "", "ann"},
	} {
		doc := Analyze(test.content, test.given)
		var terms []string
		for _, f := range doc.Terms {
			terms = append(terms, f.Term)
		}
		if got := strings.Join(terms, " "); doc.Speaker != test.speaker || test.terms != "" && got != test.terms && test.speaker != "" {
			t.Errorf("%q of %q: speaker %q, terms %q", test.content, test.given, doc.Speaker, got)
		}
	}
	for text, want := range map[string]string{
		"Caroline": "Caroline", " Mary Ann ": "Mary Ann", "speaker: Bob": "Bob", "说话人：小雨": "小雨", "小雨": "小雨", "a text about something": "", "": "", "42": "",
		"note": "", "{\"a\": 1}": "", "其他上下文信息": "", "Ünal": "Ünal", "김민수": "김민수",
	} {
		if got := SpeakerOf(text); got != want {
			t.Errorf("%q names %q, want %q", text, got, want)
		}
	}
}

func FuzzAnalyze(f *testing.F) {
	for _, seed := range []string{"Ann: I don't know", "HTTPServer_v2.1,000", "小雨：人工智能", "ﬀ½Ⅷ", "'s’t", "a\xff\xfeb", "İıſ", "ourour isations"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		doc := Analyze(text, "")
		n := 0
		for i, x := range doc.Terms {
			n += x.N
			if x.Term == "" || i > 0 && x.Term <= doc.Terms[i-1].Term {
				t.Fatalf("%q: terms %v", text, doc.Terms)
			}
		}
		if n != doc.Len {
			t.Fatalf("%q: %d terms, length %d", text, n, doc.Len)
		}
		normal := norm.NFKC.String(text)
		tokenize(normal, func(x token) {
			if x.start < 0 || x.end > len(normal) || x.start >= x.end || utf8.ValidString(normal) && !utf8.ValidString(normal[x.start:x.end]) {
				t.Fatalf("%q: %+v", text, x)
			}
		})
	})
}

// A text of a megabyte takes a moment, whatever it says: each of these once took the
// square of its length, which is minutes.
func TestLongTexts(t *testing.T) {
	slow.Test(t)
	const n = 1 << 20
	for name, text := range map[string]string{
		"digits": strings.Repeat("1", n), "contractions": strings.Repeat("a", n/2) + strings.Repeat("'s", n/4),
		"Chinese with digits": strings.Repeat("中1", n/4), "Chinese with commas": strings.Repeat("你好,", n/7), "dates": strings.Repeat("2026-05-01 ", n/11),
		"words": strings.Repeat("the tea ", n/8), "marks": "b" + strings.Repeat("\u0301", n/2),
	} {
		if doc := Analyze(text, ""); doc.Len == 0 {
			t.Errorf("%s: no terms", name)
		}
		a := analyzeQuery(&Query{Text: text, Earlier: []string{text}, Now: time.Unix(0, 0)}, NewIndex(nil))
		if len(a.Terms) > maxTerms || len(a.periods) > maxText {
			t.Errorf("%s: %d terms, %d periods", name, len(a.Terms), len(a.periods))
		}
	}
}

func TestWords(t *testing.T) {
	got := strings.Join(Words("The keeper's lamp, 1,200 lux: 灯塔 is OPEN."), "|")
	if want := "the|keeper's|lamp|1,200|lux|灯|塔|is|open"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

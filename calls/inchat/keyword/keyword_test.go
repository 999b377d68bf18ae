package keyword

import (
	"math/rand"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestEval(t *testing.T) {
	text := "你好艾拉，她是机械工程师。New York, AT&T (Yahoo!) 王都"
	tests := []struct {
		param    string
		want     bool
		warnings int
	}{
		{"", false, 0},
		{"  ", false, 0},
		{"艾拉", true, 0},
		{"ella", false, 0},
		{"露,艾拉", true, 0},
		{"露|艾拉", true, 0},
		{"露 || 艾拉", true, 0},
		{"艾拉 && 机械", true, 0},
		{"艾拉&!露", true, 0},
		{"!露&艾拉", true, 0},
		{"!艾拉 ^ 露", false, 0},
		{"!!艾拉", true, 0},
		{"艾拉 ^ 王都", false, 0},
		{"艾拉 ^ 王都 ^ 机械", true, 0},
		{"艾拉 | 露 & 无", true, 0},
		{"(艾拉 | 露) & 无", false, 0},
		{"New York", true, 0},
		{"New  York", false, 0},
		{"艾拉 工程师", false, 0},
		{`"AT&T"`, true, 0},
		{`'Yahoo!' & “New York”`, true, 0},
		{"艾拉，露", true, 0},
		{"露、无", false, 0},
		{"（艾拉｜露）＆！无", true, 0},
		{"艾拉 ＾ 露", true, 0},
		{"你好！", false, 0},
		{"露,", false, 1},
		{",艾拉", true, 1},
		{"露,,艾拉", true, 1},
		{"(露,)", false, 1},
		{"(露,,)", false, 1},
		{"any::露,无", false, 0},
		{"ANY :: New York", true, 0},
		{"some::无,王都", true, 0},
		{"any::无,", false, 1},
		{"any::,无", false, 1},
		{"any::", true, 1},
		{"any::,", true, 1},
		{"all::艾拉,工程师", true, 0},
		{"all::艾拉,露", false, 0},
		{"none::露,无", true, 0},
		{"none::艾拉", false, 0},
		{"none::", false, 1},
		{"xor::艾拉,露", true, 0},
		{"xor::艾拉,工程师", false, 0},
		{"xor::艾拉,工程师,王都", false, 0},
		{"include::艾拉::exclude::露", true, 0},
		{"include::艾拉,王都::exclude::无,机械", false, 0},
		{"include::艾拉,露", false, 0},
		{"include::::exclude::露", true, 1},
		{"include::艾拉::exclude::", true, 1},
		{"exclude::露", true, 0},
		{"expr::艾拉 & 工程师 | !露", true, 0},
		{"艾拉::工程师", false, 1},
		{`any::"New York, AT",露`, true, 0},
		{`any::Yahoo!`, true, 0},
		{`""`, true, 0},
	}
	for _, tt := range tests {
		e, err := Parse(tt.param)
		if err != nil {
			t.Errorf("%q: %v", tt.param, err)
			continue
		}
		found := Find(text, e.Words())
		got := e.Eval(func(w string) bool { return found[w] })
		if got != tt.want || len(e.Warnings()) != tt.warnings {
			t.Errorf("%q = %v, want %v; warnings %q, want %d", tt.param, got, tt.want, e.Warnings(), tt.warnings)
		}
	}
}

func TestParseErrors(t *testing.T) {
	tests := map[string]string{
		"艾拉 ^ !露":                       "missing before",
		"!":                             "missing at the end",
		"艾拉 &":                          "missing at the end",
		"& 艾拉":                          "missing before",
		"(艾拉":                           "parenthesis",
		"艾拉)":                           "unexpected",
		"艾拉 (露)":                        "unexpected",
		"Yahoo!":                        "quotes",
		`"艾拉`:                           "not closed",
		`"艾拉"露`:                         "unexpected",
		`any::"艾拉"露`:                    "unexpected",
		`any::"艾拉`:                      "not closed",
		`all::a,"`:                      "not closed",
		"include::a::b::":               "include or exclude",
		`include::"`:                    "not closed",
		`exclude::"`:                    "not closed",
		"expr::":                        "missing at the end",
		strings.Repeat("(", 200) + "a":  "nested deeper",
		strings.Repeat("a", maxBytes+1): "more than",
	}
	for param, want := range tests {
		if _, err := Parse(param); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want an error with %q", param, err, want)
		}
	}
}

// Aho-Corasick and strings.Contains agree for any words and text. A small
// alphabet makes overlaps and suffix links frequent.
func TestFindEqualsContains(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		alphabet := rapid.SampledFrom([]string{"ab", "abc", "艾拉露ab\x00\xff"}).Draw(t, "alphabet")
		word := rapid.StringOfN(rapid.RuneFrom([]rune(alphabet)), 0, 6, -1)
		text := rapid.StringOfN(rapid.RuneFrom([]rune(alphabet)), 0, 60, -1).Draw(t, "text")
		words := rapid.SliceOfN(word, 0, 20).Draw(t, "words")
		found := Find(text, words)
		for _, w := range words {
			if found[w] != strings.Contains(text, w) {
				t.Fatalf("%q in %q: %v", w, text, found[w])
			}
		}
	})
}

func FuzzKeywordExpr(f *testing.F) {
	for _, s := range []string{
		"", "艾拉,工程师", "any::a,,b", "include::a::exclude::b", "expr::(a|b)&!c^d", "a ^ !b", "((((", "“a”", ",,,",
		"！（a，b）", "xor::'a','b'",
	} {
		f.Add(s, "艾拉 a b")
	}
	f.Fuzz(func(t *testing.T, param, text string) {
		e, err := Parse(param)
		if err != nil {
			return
		}
		found := Find(text, e.Words())
		a := e.Eval(func(w string) bool { return found[w] })
		b := e.Eval(func(w string) bool { return strings.Contains(text, w) })
		if a != b {
			t.Fatalf("%q over %q: %v by Find, %v by strings.Contains", param, text, a, b)
		}
	})
}

func BenchmarkFind(b *testing.B) {
	r := rand.New(rand.NewSource(1))
	han := func(n int) string {
		var s strings.Builder
		for range n {
			s.WriteRune(rune(0x4e00 + r.Intn(3000)))
		}
		return s.String()
	}
	words := make([]string, 40_000)
	for i := range words {
		words[i] = han(2 + r.Intn(3))
	}
	text := han(770_000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Find(text, words)
	}
}

package memory

import "testing"

// The same words with other case, blanks or marks are one; other words, or words that a blank parts, are not.
func TestWordsKey(t *testing.T) {
	for _, c := range []struct {
		name, a, b string
		isOne      bool
	}{
		{"case, blanks and a mark", "I like tea", "i  like TEA!", true},
		{"a Chinese full stop", "我喜欢绿茶", "我喜欢绿茶。", true},
		{"a blank between Chinese characters", "我喜欢绿茶", "我喜欢 绿茶！", true},
		{"a blank beside Latin letters", "我用 Go 写代码", "我用Go写代码", true},
		{"Japanese", "お茶が好き", "お茶 が 好き。", true},
		{"full-width letters", "ＴＥＡ", "tea", true},
		{"blanks between words", "an ice", "anice", false},
		{"Korean has blanks", "나는 차", "나는차", false},
		{"other words", "我喜欢绿茶", "我不喜欢绿茶", false},
		{"marks alone", "!", "?", false},
	} {
		if isOne := wordsKey(c.a) == wordsKey(c.b); isOne != c.isOne {
			t.Errorf("%s: %q and %q: %v", c.name, wordsKey(c.a), wordsKey(c.b), isOne)
		}
	}
}

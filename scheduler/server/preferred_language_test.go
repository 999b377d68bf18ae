package server

import "testing"

func TestPreferredLanguage(t *testing.T) {
	for _, tt := range []struct{ header, fallback, want string }{
		{"", "en", "en"},
		{"", "zh", "zh"},
		{"zh", "en", "zh"},
		{"zh-CN,zh;q=0.9,en;q=0.8", "en", "zh"},
		{"en-GB,en;q=0.9,zh;q=0.8", "zh", "en"},
		{"en;q=0.2, ZH-Hant;q=0.7", "en", "zh"},
		{"fr, de;q=0.5", "zh", "zh"},
		{"fr, en;q=0.1", "zh", "en"},
		{"en, zh", "zh", "en"},
		{"*", "zh", "zh"},
		{"*;q=0.1, en", "zh", "en"},
		{"zh;q=0", "zh", "en"},
		{"zh;q=0, *", "en", "en"},
		{"zh;q=2, zh;x=1, zh;q=nan", "en", "en"},
		{",;,zh ; q=0.5,", "en", "zh"},
	} {
		if got := preferredLanguage(tt.header, tt.fallback); got != tt.want {
			t.Errorf("%q on a server in %s: got %s, want %s", tt.header, tt.fallback, got, tt.want)
		}
	}
}

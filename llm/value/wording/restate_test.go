package wording

import (
	"strings"
	"testing"
)

var _ = Add(Catalog{
	"budget: it takes %d tokens, %d of %d are left": "预算：需要 %d 个 token，只剩 %d/%d",
	"condition %s is false":                         "条件 %s 不成立",
	"%s: found none of its keywords":                "%s：没有找到任何关键词",
	"found %s":                                      "找到 %s",
	"entry":                                         "条目",
	"always included":                               "总是放入",
	"%d of the newest in %s":                        "%[2]s 中最新的 %[1]d 条",
	"not an entry but %s":                           "不是条目，而是%s",
	"the message %q is odd":                         "消息 %q 很奇怪",
	"%s: %s":                                        "%s：%s",
})

// A message that was recorded in one language is known in the other.
func TestRestate(t *testing.T) {
	tests := []struct{ name, en, zh string }{
		{"numbers", "budget: it takes 12 tokens, 3 of 400 are left", "预算：需要 12 个 token，只剩 3/400"},
		{"text of a user", "condition {{ 山丘 }} is false", "条件 {{ 山丘 }} 不成立"},
		{"message in a message", "condition {{ hill }} is false: found none of its keywords", "条件 {{ hill }} 不成立：没有找到任何关键词"},
		{"clauses", "always included; 5 of the newest in the history", "总是放入；the history 中最新的 5 条"},
		{"clause of a plugin", "mood: always included", "mood：总是放入"},
		{"type", "not an entry but array", "不是条目，而是数组"},
		{"quoted", `the message "say \"entry\"" is odd`, `消息 "say \"entry\"" 很奇怪`},
		{"keyword that is a word of the program", "found entry", "找到 entry"},
		{"without arguments", "entry", "条目"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, recorded := range []string{test.en, test.zh} {
				if got := Restate(recorded); got != (Text{test.en, test.zh}) {
					t.Errorf("%q is %q", recorded, got)
				}
			}
		})
	}
}

// A text that the program has not made stays unchanged.
func TestRestateUnknown(t *testing.T) {
	for _, text := range []string{
		"", "Berlin: hot", "budget: it takes many tokens, 3 of 400 are left", "the message odd is odd", "今天很热",
		"budget: it takes 12 tokens, 3 of 400 are left " + strings.Repeat("and more ", maxRestated),
	} {
		if got := Restate(text); got != Same(text) {
			t.Errorf("%q is %q", text, got)
		}
	}
}

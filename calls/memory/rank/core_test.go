package rank

import (
	"strings"
	"testing"
)

func TestSplitQuestion(t *testing.T) {
	for text, want := range map[string]string{
		"What is Ann allergic to? She comes for dinner tomorrow.":         "She comes for dinner tomorrow.",
		"I'm cooking for Ann tonight, what is she allergic to?":           "I'm cooking for Ann tonight,",
		"Long day. The trains were late again. Where did I put the keys?": "Long day. The trains were late again.",
		"ok so which bus goes to the clinic again, I need to leave soon":  "I need to leave soon",
		"She comes tomorrow - what does she drink?":                       "She comes tomorrow -",
		"明天她来吃饭,她对什么过敏来着?":                                                "明天她来吃饭,",
		"牙医叫什么名字?我明天要去.":                                                  "我明天要去.",
		"After the move to Berlin, who helped me?":                        "",
		"When did I pay 1,000 euros, and to whom?":                        "",
		"Who is Dr. Smith?":               "",
		"What did I eat, drink and read?": "",
		"在二战中,谁指挥了这场战役?":                  "",
		"antibiotics":                     "",
		"I like tea. I like coffee.":      "",
		"":                                "",
	} {
		_, talk := splitQuestion(text)
		if got := trimSpaces(talk); got != want {
			t.Errorf("%q: the talk is %q, want %q", text, got, want)
		}
	}
}

// trimSpaces replaces several blanks with one, and removes blanks at the ends.
func trimSpaces(s string) string { return strings.Join(strings.Fields(s), " ") }

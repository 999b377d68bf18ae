package schema_test

import (
	"testing"

	"github.com/callnode/scheduler/calls/schema"
)

// TestIsNoAnswer: questions, greetings and refusals are not values; words that answer something are.
func TestIsNoAnswer(t *testing.T) {
	for text, want := range map[string]bool{
		"why?": true, "Why???": true, " Hello! ": true, "skip": true, "SKIP IT.": true, "I don’t know": true, "What": true, "what?": true,
		"为什么？": true, "跳过。": true, "你好！": true, "不知道": true, "什么?": true, "...": false, "": false,
		"Not now.": true, "none of your business!": true, "拒绝": true, "IDK": true, "dunno": true, "quit!": true, "nevermind": true, "不记得了。": true, "quit smoking": false, "不用了。": true, "not nowhere": false, "不用了谢谢你": false,
		"no": false, "none": false, "无": false, "不": false, "Lin": false, "Whyte": false, "skip the queue": false, "why not red": false,
	} {
		if got := schema.IsNoAnswer(text); got != want {
			t.Errorf("%q: got %t", text, got)
		}
	}
}

// TestUtterances: messages are recognised by their beginnings and ends, even if no list has the whole text.
func TestUtterances(t *testing.T) {
	isUnknown := func(text string) bool { return schema.IsUnknown(text) }
	for _, c := range []struct {
		name    string
		is      func(string) bool
		yes, no []string
	}{
		{"question", schema.IsQuestion,
			[]string{"When?", "什么时候？", "When do you open", "do you deliver to Lyon", "What's that for", "tell me your hours", "Show me the menu", "I'd like to know the price", "告诉我营业时间", "你们几点开门", "请问有货", "能送货吗", "那运费呢。", "How"},
			[]string{"? no", "Whitman", "Dolores", "Howard", "Isabel", "Lin", "林小雨", "Whose-line", "Tellman", "Lin, tell me more", "到了请告诉我"}},
		{"denial", schema.IsDenial,
			[]string{"nope", "idk", "Dunno.", "quit", "Nevermind", "never mind that", "who cares", "走开", "Nope!", "No, thanks", "no way", "I won’t tell you", "not today", "不要", "不要问我", "我才不告诉你", "拒绝回答", "别问了"},
			[]string{"Norah", "Notting Hill", "Quito", "Quitman", "none", "没有", "无", "Nadia", "Lin", "我叫林小雨"}},
		{"unknown value", isUnknown,
			[]string{"", "-", "--", "TBD", "N/A", "n/a.", "N.A.", "<UNKNOWN>", "(none)", "[not provided]", "不知道", "待定。", "（未知）", "?", " Not  Specified "},
			[]string{"Unknown Street 5", "Nil Desperandum", "a-b", "*", "/", ".", "0", "false", "待定义", "Null Island"}},
		{"unknown value in another writing", isUnknown,
			[]string{"T.B.D.", "t. b. d", "N / A", "n. a.", "'N/A'", "‘N/A’", "{unknown}", "[[missing]]", "NaN", "TODO", "missing", "没有", "Not provided yet", "not specified by the user", "Unknown (not stated)", "N/A (not mentioned by the user)", "string", "xxx"},
			[]string{"A. B. Lin", "t.b.x", "None (vegetarian)", "Missing Street 5", "stringent", "not available on Mondays", "user", "anonymous", "<name>", "没有辣椒", "Nan Lin", "xxx-large"}},
		{"unknown name of a person", func(text string) bool { return schema.IsUnknown(text, "full_name", "Your full name") },
			[]string{"<name>", "[name]", "{name}", "<FULL_NAME>", "{{ fullName }}", "[Your Name]", "unknown name", "Name unknown", "your name here", "user", "Anonymous", "用户"},
			[]string{"Lin", "name of the rose", "Unknown Pleasures", "Guest House", "<b>Lin</b>", "User Lin"}},
		{"unknown order", func(text string) bool { return schema.IsUnknown(text, "order") },
			[]string{"<order>", "unknown order"}, []string{"user", "guest", "order", "my order"}},
	} {
		for _, text := range c.yes {
			if !c.is(text) {
				t.Errorf("%q is no %s", text, c.name)
			}
		}
		for _, text := range c.no {
			if c.is(text) {
				t.Errorf("%q is a %s", text, c.name)
			}
		}
	}
}

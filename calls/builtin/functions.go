package builtin

import (
	"context"
	"iter"
	"slices"
	"strings"
	"unicode"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/plugins"
)

// Function is a built-in importance function.
type Function struct {
	Name    string
	Summary calls.Text
	plugins.Importance
}

// Functions returns the built-in importance functions. They judge the dialogue, not
// the item: all items of a batch get the same verdict.
func Functions() []Function {
	return []Function{
		{"always", calls.Text{En: "Always in.", Zh: "总是包含。"}, includeAlways(true)},
		{"never", calls.Text{En: "Never in.", Zh: "总是排除。"}, includeAlways(false)},
		{"is_relevant", calls.Text{
			En: "The user speaks of what was before (before, remember, history, summary ...), or shares words with a memory that was found.",
			Zh: "用户提到过去（之前、以前、记得、历史、总结、回顾等），或用词与检索到的记忆相同。",
		}, whether(isRelevant)},
		{"is_relevant_func", calls.Text{En: "Another name of is_relevant.", Zh: "is_relevant 的别名。"}, whether(isRelevant)},
		{"has_input", calls.Text{En: "The user said something.", Zh: "用户输入不为空。"}, whether(hasInput)},
		{"has_history", calls.Text{En: "The dialogue has begun before this turn.", Zh: "此前已有对话。"}, whether(hasHistory)},
		{"is_first_turn", calls.Text{En: "Nothing was said before.", Zh: "此前没有对话。"}, whether(isFirstTurn)},
		{"has_memories", calls.Text{En: "Something was found in the long-term memory.", Zh: "检索到了长期记忆。"}, whether(hasMemories)},
		{"is_question", calls.Text{En: "The user asks something.", Zh: "用户在提问。"}, whether(isQuestion)},
	}
}

// whether makes an importance function of one that judges the dialogue.
type whether func(ctx context.Context, s plugins.State) (include bool, reason string, err error)

// Judge returns every item the same verdict.
func (f whether) Judge(ctx context.Context, s plugins.State, items []plugins.Item) ([]plugins.Verdict, error) {
	include, reason, err := f(ctx, s)
	if err != nil {
		return nil, err
	}
	return slices.Repeat([]plugins.Verdict{{Include: include, Reason: reason}}, len(items)), nil
}

func includeAlways(include bool) whether {
	return func(_ context.Context, s plugins.State) (bool, string, error) {
		return include, say(s, "as its name says"), nil
	}
}

// say returns a reason in the language of the run.
func say(s plugins.State, format string, args ...any) string {
	return wording.Say(format, args...).In(s.Language)
}

func hasInput(_ context.Context, s plugins.State) (bool, string, error) {
	if strings.TrimSpace(s.Input) == "" {
		return false, say(s, "the input is empty"), nil
	}
	return true, say(s, "the user said something"), nil
}

func hasHistory(_ context.Context, s plugins.State) (bool, string, error) {
	if len(s.History) == 0 {
		return false, say(s, "nothing was said before"), nil
	}
	return true, say(s, "%d utterances before this one", len(s.History)), nil
}

func isFirstTurn(ctx context.Context, s plugins.State) (bool, string, error) {
	include, reason, err := hasHistory(ctx, s)
	return !include, reason, err
}

func hasMemories(ctx context.Context, s plugins.State) (bool, string, error) {
	found, err := readMemories(ctx, s)
	if err != nil || len(found) == 0 {
		return false, say(s, "no memory was found"), err
	}
	return true, say(s, "%d memories were found", len(found)), nil
}

func readMemories(ctx context.Context, s plugins.State) ([]plugins.Recalled, error) {
	if s.Retrieve == nil {
		return nil, nil
	}
	return s.Retrieve(ctx)
}

// What people say when they speak of the past. Chinese is searched as it stands,
// English word by word.
var (
	pastChinese = []string{"之前", "以前", "记得", "历史", "总结", "回顾", "上次", "刚才", "曾经"}
	pastEnglish = wordSet(`before earlier previous previously remember remembered recall history
		summary summarize summarise recap review already ago`)
)

func isRelevant(ctx context.Context, s plugins.State) (bool, string, error) {
	for _, k := range pastChinese {
		if strings.Contains(s.Input, k) {
			return true, say(s, "the input says %q", k), nil
		}
	}
	for w := range wordsOf(s.Input) {
		if pastEnglish[w] {
			return true, say(s, "the input says %q", w), nil
		}
	}
	found, err := readMemories(ctx, s)
	if err != nil {
		return false, "", err
	}
	said := map[string]bool{}
	for _, term := range termsOf(s.Input) {
		said[term] = true
	}
	for _, memory := range found {
		for _, term := range termsOf(memory.Text) {
			if said[term] {
				return true, say(s, "input and memory share %q", term), nil
			}
		}
	}
	return false, say(s, "the input has nothing in common with what was before"), nil
}

var (
	asksChinese = []string{"吗", "呢", "什么", "怎么", "怎样", "为什么", "为何", "谁", "哪", "几点", "多少", "如何", "是否", "能不能", "可不可以", "是不是", "有没有"}
	asksEnglish = wordSet(`who what when where why how which whose whom is are am was were do does did
		can could will would shall should may might has have`)
)

func isQuestion(_ context.Context, s plugins.State) (bool, string, error) {
	text := strings.TrimSpace(s.Input)
	if strings.ContainsAny(text, "?？") {
		return true, say(s, "the input has a question mark"), nil
	}
	for _, k := range asksChinese {
		if strings.Contains(text, k) {
			return true, say(s, "the input says %q", k), nil
		}
	}
	for w := range wordsOf(text) {
		if asksEnglish[w] {
			return true, say(s, "the input begins with %q", w), nil
		}
		break
	}
	return false, say(s, "the input asks nothing"), nil
}

// Words that say nothing about what a text is about.
var (
	emptyEnglish = wordSet(`the and for that this with you your are was were what who how why when where which
		have has had can could will would shall should not but from they them their his her its our out about into
		than then there here some any all just like get got let please tell know want does did been being`)
	emptyChinese = wordSet(`什么 怎么 怎样 为什 一个 一下 一些 这个 那个 这些 那些 我们 你们 他们 她们 自己 可以 没有 不是
		是不 就是 还是 但是 因为 所以 如果 知道 觉得 现在 今天 请问 时候 可能 应该`)
)

// termsOf returns the words and, in Chinese, the pairs of neighbouring characters that
// a text is about.
func termsOf(text string) []string {
	var list []string
	for w := range wordsOf(text) {
		if len(w) > 2 && !emptyEnglish[w] {
			list = append(list, w)
		}
	}
	before := rune(0)
	for _, r := range text {
		if unicode.Is(unicode.Han, before) && unicode.Is(unicode.Han, r) {
			if pair := string([]rune{before, r}); !emptyChinese[pair] {
				list = append(list, pair)
			}
		}
		before = r
	}
	return list
}

// wordsOf ranges over the words of a text in lower case, without Chinese ones.
func wordsOf(text string) iter.Seq[string] {
	return strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool {
		isInWord := unicode.IsLetter(r) || unicode.IsDigit(r)
		return !isInWord || unicode.Is(unicode.Han, r)
	})
}

func wordSet(list string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		set[w] = true
	}
	return set
}

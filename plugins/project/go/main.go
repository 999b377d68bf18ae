// Sample-plugin is a plugin of scheduler with one function of every kind, to start
// from.
package main

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/plugins/sdk"
)

func main() { sdk.Serve(plugin()) }

func plugin() sdk.Plugin {
	return sdk.Plugin{Name: "sample-plugin", Version: "0.1.0", Functions: []sdk.Function{
		sdk.Importance("is_short", sdk.Doc{En: "Includes what has at most 100 characters.", Zh: "选入不超过 100 个字符的内容。"}, isShort),
		sdk.Variable("sample_plugin_turns", sdk.Doc{En: "How many turns the dialogue has.", Zh: "对话的轮数。"}, turns),
		sdk.Check("is_quiet", sdk.Doc{En: "Passes where a text has no word in capitals.", Zh: "文本中没有全大写的单词时通过。"}, isQuiet),
		sdk.Stream("shout", sdk.Doc{En: "Gives a text in capitals, word by word.", Zh: "逐词输出大写文本。"}, shout,
			sdk.Example("A greeting", "{text: good morning}")),
	}}
}

func isShort(_ context.Context, _ plugins.State, item plugins.Item) (plugins.Verdict, error) {
	n := len([]rune(item.Text))
	score := 1 / (1 + float64(n)/100)
	return plugins.Verdict{Include: n <= 100, Score: &score, Reason: fmt.Sprintf("%d characters", n)}, nil
}

func turns(_ context.Context, state plugins.State) (int, error) { return len(state.History), nil }

func isQuiet(_ context.Context, _ plugins.State, item plugins.Item) (plugins.Verdict, error) {
	for word := range strings.FieldsSeq(item.Text) {
		if len([]rune(word)) > 1 && strings.ToUpper(word) == word && strings.ToLower(word) != word {
			return plugins.Verdict{Reason: fmt.Sprintf("%q is in capitals", word)}, nil
		}
	}
	return plugins.Verdict{Include: true}, nil
}

// Text is the parameters of shout.
type Text struct {
	Text string `json:"text" doc:"What is shouted"`
}

func shout(_ context.Context, p Text) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if p.Text == "" {
			yield("", &sdk.Error{Kind: "invalid", Message: "there is nothing to shout", Hint: "give a text"})
			return
		}
		for word := range strings.FieldsSeq(p.Text) {
			if !yield(strings.ToUpper(word)+" ", nil) {
				return
			}
		}
	}
}

package endpoint

import (
	"encoding/json"
	"fmt"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"

	"github.com/callnode/scheduler/llm"
)

func TestMarkHalves(t *testing.T) {
	for text, want := range map[string]string{
		`"a"`:                        "a",
		`"\ud83d\ude00"`:             "😀",
		`"\ud83d"`:                   "\uFFFD",
		`"\ude00\ud83d\ud83d\u0041"`: "\uFFFD\uFFFD\uFFFDA",
		`"\\ud83d\n\ud83"`:           "", // not JSON
		`"\\ud83d\uD83D\\"`:          `\ud83d` + "\uFFFD" + `\`,
	} {
		marked := markHalves([]byte(text))
		var got string
		if err := json.Unmarshal(marked, &got); err != nil && want != "" {
			t.Errorf("%s: %v", text, err)
		}
		if got := withoutMarks(got); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
		var before, after any
		_ = json.Unmarshal([]byte(text), &before) // a wrong text gives nil
		_ = json.Unmarshal(unmarkJSON(marked), &after)
		if before != after {
			t.Errorf("%s: unmarked it is %q, not %q", text, after, before)
		}
	}
}

// However a text is cut into chunks, the joined pieces are the text.
func TestJoinHalves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune("aé好😀🏳\\\""))).Draw(t, "text")
		kind := rapid.IntRange(0, 2).Draw(t, "kind")
		var halves halfJoiner
		var joined llm.AnswerBuilder
		escaped := ""
		flush := func() {
			var piece string
			if err := json.Unmarshal(markHalves([]byte(`"`+escaped+`"`)), &piece); err != nil {
				t.Fatal(err)
			}
			escaped = ""
			joined.Add(halves.join([]llm.Delta{
				{Text: piece}, {Reasoning: piece}, {ToolCalls: []llm.ToolCallDelta{{Index: 3, Arguments: piece}}},
			}[kind]))
		}
		for _, unit := range utf16.Encode([]rune(text)) {
			escaped += fmt.Sprintf(`\u%04x`, unit)
			if rapid.Bool().Draw(t, "cut") {
				flush()
			}
		}
		flush()
		answer := joined.Answer()
		got := answer.Text + answer.Reasoning
		if kind == 2 {
			got = answer.ToolCalls[0].Arguments
		}
		if got != text {
			t.Errorf("got %q, want %q", got, text)
		}
	})
}

func TestHalfWithoutEnd(t *testing.T) {
	var halves halfJoiner
	var half string
	if err := json.Unmarshal(markHalves([]byte(`"a\ud83d"`)), &half); err != nil {
		t.Fatal(err)
	}
	got := halves.join(llm.Delta{Text: half}).Text
	got += halves.join(llm.Delta{FinishReason: "stop"}).Text
	if got != "a\uFFFD" {
		t.Errorf("got %q", got)
	}
}

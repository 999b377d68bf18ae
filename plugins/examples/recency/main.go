// Recency is a plugin with two importance functions: one includes fresh entries, the other entries about the
// matter at hand.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/plugins/sdk"
)

func main() { sdk.Serve(plugin()) }

func plugin() sdk.Plugin {
	return sdk.Plugin{Name: "recency", Version: "1.0.0", Functions: []sdk.Function{
		sdk.Importance("is_fresh", sdk.Doc{
			En: "Includes what is dated within the last 14 days; the score halves every 7 days. What has no date is included.",
			Zh: "选入最近 14 天内的内容，分数每 7 天减半；没有日期的内容也会选入。",
		}, isFresh),
		sdk.Importance("is_topical", sdk.Doc{
			En: "Includes what shares words with the user's input or with the memories found for it.",
			Zh: "选入与用户输入或相关记忆有共同词语的内容。",
		}, isTopical, sdk.Retrieves()),
	}}
}

const (
	halfLife = 7 * 24 * time.Hour
	oldest   = 2 * halfLife
)

func isFresh(_ context.Context, state plugins.State, item plugins.Item) (plugins.Verdict, error) {
	newest, ok := newestDate(item)
	if !ok {
		return plugins.Verdict{Include: true, Reason: "it has no date"}, nil
	}
	age := max(0, state.Now.Sub(newest))
	score := math.Exp2(-float64(age) / float64(halfLife))
	return plugins.Verdict{Include: age <= oldest, Score: &score, Reason: "dated " + newest.Format(time.DateOnly)}, nil
}

var date = regexp.MustCompile(`\b\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}:\d{2}(?:Z|[+-]\d{2}:\d{2}))?`)

// newestDate returns the member timestamp of the item's data, else the newest date that
// its text or data mentions.
func newestDate(item plugins.Item) (newest time.Time, ok bool) {
	var data struct {
		Timestamp time.Time `json:"timestamp"`
	}
	if json.Unmarshal(item.Data, &data) == nil && !data.Timestamp.IsZero() {
		return data.Timestamp, true
	}
	for _, text := range date.FindAllString(item.Text+" "+string(item.Data), -1) {
		layout := time.DateOnly
		if len(text) > len(layout) {
			layout = time.RFC3339
		}
		if t, err := time.Parse(layout, text); err == nil && t.After(newest) {
			newest, ok = t, true
		}
	}
	return newest, ok
}

func isTopical(ctx context.Context, state plugins.State, item plugins.Item) (plugins.Verdict, error) {
	topic := words(state.Input)
	if state.Retrieve != nil {
		memories, err := state.Retrieve(ctx)
		if err != nil {
			return plugins.Verdict{}, err
		}
		for _, m := range memories {
			for word := range words(m.Text) {
				topic[word] = true
			}
		}
	}
	own := words(item.Text + " " + string(item.Data))
	shared := 0
	for word := range own {
		if topic[word] {
			shared++
		}
	}
	score := float64(shared) / math.Max(1, math.Min(float64(len(topic)), float64(len(own))))
	return plugins.Verdict{Include: shared > 0, Score: &score, Reason: fmt.Sprintf("%d shared words", shared)}, nil
}

// words returns the words of a text that are long enough to mean something: letters of
// alphabets from three on, pairs of ideographs.
func words(text string) map[string]bool {
	set := map[string]bool{}
	for _, field := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		runes := []rune(field)
		if !unicode.Is(unicode.Han, runes[0]) {
			if len(runes) >= 3 {
				set[field] = true
			}
			continue
		}
		for i := range len(runes) - 1 {
			set[string(runes[i:i+2])] = true
		}
	}
	return set
}

package memory

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/llm/value/wording"
)

// The pieces of a reason.
var (
	reasonWords      = calls.Text{En: "matches %s", Zh: "匹配%s"}
	reasonCharacters = calls.Text{En: "shares characters with the query", Zh: "与问题有相同的字"}
	reasonMeaning    = calls.Text{En: "means something similar", Zh: "含义相近"}
	reasonNear       = calls.Text{En: "its neighbours match the query", Zh: "相邻的记忆与问题匹配"}
	reasonSaid       = calls.Text{En: "said by %s", Zh: "由%s说"}
	reasonTimed      = calls.Text{En: "speaks of a time", Zh: "提到时间"}
	reasonAgain      = calls.Text{En: "said %d times", Zh: "说过 %d 次"}
	reasonSnapshot   = calls.Text{En: "in snapshot %s", Zh: "见快照%s"}
)

// maxWords bounds the words in a reason.
const maxWords = 4

// explainHit returns why a memory was found, in the language of the asker; dates are in the asker's time zone.
func (q *Query) explainHit(a *rank.Analysis, c *candidate, snapshots []string, answers *verdicts) string {
	language, quote, and, end := q.Language, "“%s”", ", ", "; "
	if language == "" && a.Chinese {
		language = "zh"
	}
	isChinese := wording.IsChinese(language)
	if isChinese {
		and, end = "、", "；"
	}
	var parts []string
	add := func(text calls.Text, args ...any) {
		parts = append(parts, fmt.Sprintf(text.In(language), args...))
	}
	if said := q.explainFact(answers, c.hit.Seq, language); said != "" {
		parts = append(parts, said)
	}
	switch {
	case len(c.match.Words) > 0:
		words := slices.Clone(c.match.Words[:min(len(c.match.Words), maxWords)])
		for i, w := range words {
			words[i] = fmt.Sprintf(quote, w)
		}
		add(reasonWords, strings.Join(words, and))
	case c.match.Any:
		add(reasonCharacters)
	case c.hit.InWindow:
		add(reasonNear)
	}
	if c.byMeaning || c.onlyByMeaning {
		add(reasonMeaning)
	}
	if c.hit.BySpeaker {
		add(reasonSaid, c.doc.Speaker)
	}
	if c.hit.Date > 0 {
		parts = append(parts, dateText(c.memory.Timestamp.In(q.Now.Location()), isChinese))
	}
	if c.hit.Timed {
		add(reasonTimed)
	}
	if c.again > 0 {
		add(reasonAgain, c.again+1)
	}
	if len(snapshots) > 0 {
		add(reasonSnapshot, snapshots[0])
	}
	return strings.Join(parts, end)
}

func dateText(t time.Time, chinese bool) string {
	if chinese {
		return t.Format("2006年1月2日")
	}
	return t.Format("2 January 2006")
}

package budget

import (
	"unicode/utf8"

	"github.com/callnode/scheduler/llm"
)

// answerCount counts the tokens of an answer in pieces that are long enough to be
// worth counting, and keeps nothing but the piece that grows.
type answerCount struct {
	tokens llm.Counter
	// every is how long a piece is, in bytes.
	every int
	// each is called with the count after every piece; its error ends the counting.
	each    func(count int) error
	pending []byte
	count   int
}

// How long a piece is, in bytes: short if a budget applies, else long, because most answers end earlier with the
// provider's own count.
const (
	watchedPiece   = 512
	unwatchedPiece = 64 << 10
)

func (a *answerCount) addDelta(d llm.Delta) error {
	texts := []string{d.Text, d.Reasoning}
	for _, call := range d.ToolCalls {
		texts = append(texts, call.Name, call.Arguments)
	}
	for _, text := range texts {
		if err := a.addText(text); err != nil {
			return err
		}
	}
	return nil
}

func (a *answerCount) addText(text string) error {
	for len(a.pending)+len(text) >= a.every {
		n := a.every - len(a.pending)
		for range utf8.UTFMax - 1 { // a character stays whole
			if 0 < n && n < len(text) && !utf8.RuneStart(text[n]) {
				n--
			}
		}
		a.pending, text = append(a.pending, text[:n]...), text[n:]
		if err := a.each(a.totalTokens()); err != nil {
			return err
		}
	}
	a.pending = append(a.pending, text...)
	return nil
}

func (a *answerCount) totalTokens() int {
	if len(a.pending) > 0 {
		a.count += a.tokens.Count(string(a.pending))
		a.pending = a.pending[:0]
	}
	return a.count
}

// byLength counts without looking at the text: four bytes a token.
type byLength struct{}

func (byLength) Count(text string) int { return (len(text) + 3) / 4 }

package explain

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value/secret"
)

// alignSecrets returns the member of a trace with its text as it is on record. A parameter is
// rendered again with masks in the place of secrets, so whatever was made of one may differ: its
// mask, or its length. ok is false where the rest does not stand in the recorded text.
func alignSecrets(m prompt.Member, rendered, recorded string) (aligned prompt.Member, ok bool) {
	m.Spans, ok = prompt.AlignSpans(m.Spans, rendered, recorded, secret.Mask)
	return m, ok
}

// alignMasks returns the pieces of a text as those of the same text with other masks: a call has
// read the text with its secrets, and what it made of it has masks of its own. ok is false where the text
// between the masks is not the same.
func (p placer) alignMasks(pieces []Piece, given, stretch string, place Source) (aligned []Piece, ok bool) {
	fixed := strings.Split(given, secret.Mask)
	if len(fixed) == 1 {
		return nil, false
	}
	hidden := slices.Repeat([]int{len(secret.Mask)}, len(fixed)-1)
	gaps, ok := prompt.GapsBetween(fixed, stretch)
	if !ok { // only the ends are certain
		first, last := fixed[0], fixed[len(fixed)-1]
		fixed, hidden = []string{first, last}, []int{len(given) - len(first) - len(last)}
		gaps, ok = prompt.GapsBetween(fixed, stretch)
	}
	if !ok {
		return nil, false
	}
	at := 0
	for i, text := range fixed {
		aligned = append(aligned, cutPieces(pieces, at, at+len(text))...)
		at += len(text)
		if i == len(gaps) {
			break
		}
		if gap := stretch[gaps[i].Start:gaps[i].End]; gap != "" {
			aligned = append(aligned, p.mergePieces(gap, cutPieces(pieces, at, at+hidden[i]), place)...)
		}
		at += hidden[i]
	}
	return aligned, true
}

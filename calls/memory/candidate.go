package memory

import "github.com/callnode/scheduler/calls/memory/rank"

// candidate is a hit with its memory.
type candidate struct {
	hit    rank.Hit
	memory BaseMemory
	doc    rank.Document
	match  rank.Match
	// byMeaning reports whether its meaning alone makes it worth showing, onlyByMeaning
	// whether no word found it.
	byMeaning, onlyByMeaning bool
	// again counts the other memories with the same words, which are not listed.
	again int
}

// isFoundByItself reports whether more makes it a hit than the memories around it and words that
// say too little.
func (c *candidate) isFoundByItself() bool {
	h := &c.hit
	byContent := c.match.Telling || c.byMeaning || c.onlyByMeaning
	byCircumstance := h.BySpeaker || h.Timed || h.Date != 0
	return byContent || byCircumstance || h.InExtra
}

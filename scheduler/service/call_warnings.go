package service

import (
	"cmp"
	"slices"
	"sync"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// maxCallWarnings bounds the warnings of one call; the rest is counted in one more.
const maxCallWarnings = 100

// collectedWarnings keeps the warnings of one call outside of flows. [Caller.Call] makes
// one for each request. It is safe for concurrent use.
type collectedWarnings struct {
	mu       sync.Mutex
	warnings []calls.Warning
	dropped  int
}

var _ calls.Warner = (*collectedWarnings)(nil)

// Warn keeps the warning; one that is kept already is not kept twice.
func (c *collectedWarnings) Warn(w calls.Warning) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.Contains(c.warnings, w) {
		return
	}
	if len(c.warnings) == maxCallWarnings {
		c.dropped++
		return
	}
	c.warnings = append(c.warnings, w)
}

// notes returns the warnings for the user.
func (c *collectedWarnings) notes() []Note {
	c.mu.Lock()
	defer c.mu.Unlock()
	notes := make([]Note, 0, len(c.warnings)+1)
	for _, w := range c.warnings {
		notes = append(notes, Note{Level: LevelWarning, Text: wording.Same(w.Text), Code: w.Code, Source: cmp.Or(w.Source, w.Pointer)})
	}
	if c.dropped > 0 {
		more := newWarning("%d more warnings were left out", c.dropped)
		more.Code = "more"
		notes = append(notes, more)
	}
	return notes
}

// isCallWarning reports whether the note is a warning of a call.
func isCallWarning(n Note) bool { return n.Code != "" }

// warningList returns the warnings of calls among the notes as data, in a language.
func warningList(notes []Note, language string) []value.Value {
	var list []value.Value
	for _, n := range notes {
		if !isCallWarning(n) {
			continue
		}
		w := value.Pairs("code", n.Code, "text", n.Text.In(language))
		if n.Source != "" {
			w.Set("source", value.OfString(n.Source))
		}
		list = append(list, value.OfMap(w))
	}
	return list
}

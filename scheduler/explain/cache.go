package explain

import (
	"unicode/utf8"

	"github.com/callnode/scheduler/llm"
)

// CompareCaches sets the Cache of prompts that were sent: of each by the one before it in
// the list, of the first by the first of earlier, which are the prompts of the step in an
// earlier run, or of the item before. Without any there is none.
func CompareCaches(prompts, earlier []*Explanation, run string, counter llm.Counter) {
	var before *Explanation
	for _, e := range earlier {
		if e.isSent {
			before = e
			break
		}
	}
	for _, e := range prompts {
		if !e.isSent {
			continue
		}
		if before != nil {
			e.Cache = compareCache(e, before, run, counter)
		}
		before, run = e, ""
	}
}

// ComparePrompts returns how much of a prompt is at its beginning as in another, which may be of
// another run.
func ComparePrompts(e, other *Explanation, counter llm.Counter) *Cache {
	return compareCache(e, other, "", counter)
}

// compareCache compares a prompt with the one before it.
func compareCache(e, before *Explanation, run string, counter llm.Counter) *Cache {
	c := &Cache{Run: run, Step: before.Step}
	for i, m := range e.Messages {
		if i == len(before.Messages) {
			return c
		}
		size := 0
		if other := before.Messages[i]; m.Role == other.Role {
			var isSame bool
			size, isSame = m.sharedPrefix(&other)
			if isSame {
				c.Messages++
				c.Tokens += m.Tokens
				continue
			}
		}
		c.Broken = m.breakAt(i, size, c, counter)
		c.Broken.Tokens = e.Tokens - c.Tokens
		return c
	}
	return c
}

// sharedPrefix returns how many bytes two messages begin with alike, in whole characters,
// and whether they are the same.
func (m *ExplainedMessage) sharedPrefix(other *ExplainedMessage) (size int, isSame bool) {
	a, b := m.text(), other.text()
	for size < min(len(a), len(b)) && a[size] == b[size] {
		size++
	}
	isSame = a == b
	if !isSame {
		for size > 0 && size < len(a) && !utf8.RuneStart(a[size]) {
			size--
		}
	}
	return size, isSame
}

func (m *ExplainedMessage) text() string {
	var text []byte
	for _, p := range m.Pieces {
		text = append(text, p.Text...)
	}
	return string(text)
}

// breakAt returns the piece of the message, the one of an index, that holds the byte at size,
// and adds the tokens before that byte.
func (m *ExplainedMessage) breakAt(index, size int, c *Cache, counter llm.Counter) *CacheBreak {
	broken := &CacheBreak{Message: index}
	for _, p := range m.Pieces {
		broken.Piece = p
		if size < len(p.Text) {
			c.Tokens += counter.Count(p.Text[:size])
			return broken
		}
		size -= len(p.Text)
		c.Tokens += p.Tokens
	}
	return broken
}

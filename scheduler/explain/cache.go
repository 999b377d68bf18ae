package explain

import (
	"unicode/utf8"

	"github.com/callnode/scheduler/llm"
)

// CompareCaches sets the Cache of prompts that were sent. Each prompt is compared with the one before it in the
// list, and the first with the first of earlier: the prompts of the step in an earlier run, or of the item before.
// A prompt with nothing to compare gets no Cache.
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

// ComparePrompts returns how much two prompts share from the beginning; other may be from another run.
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

// sharedPrefix returns the number of bytes that two messages share from the beginning, in whole characters, and
// whether the messages are the same.
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

// breakAt returns the piece that holds the byte at size of the message with this index, and adds the tokens before
// that byte.
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

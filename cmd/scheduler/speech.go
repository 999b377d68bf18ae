package main

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/value"
)

// speech lets one to_user step speak at a time: texts of steps that run in
// parallel must not mix. The others are kept until it is their turn.
type speech struct {
	queue []string // steps that speak or wait to, in order
	texts map[string]*strings.Builder
	done  []string
	tail  byte // the last byte that was said
	// heard is what steps said before the run came to wait, when it goes on in the same
	// session: they say it again.
	heard map[string]string
}

// start enters a step that speaks to the user. A step around it, a for_each or a
// sub-flow, has nothing to say then: its output is what those inside said. What is
// said is of those that it kept waiting.
func (s *speech) start(step string, toUser bool) (said string) {
	if !toUser {
		return ""
	}
	first := ""
	if len(s.queue) > 0 {
		first = s.queue[0]
	}
	s.queue = slices.DeleteFunc(s.queue, func(outer string) bool {
		around := strings.HasPrefix(step, outer+"/") || strings.HasPrefix(step, outer+"[")
		if around {
			delete(s.texts, outer)
		}
		return around
	})
	if len(s.queue) > 0 && s.queue[0] != first {
		said = s.turn()
	}
	if s.texts[step] == nil {
		s.queue = append(s.queue, step)
		s.texts[step] = &strings.Builder{}
	}
	return said
}

// turn gives what the step at the head of the queue has kept, and what those after it
// have, as far as it and they have ended.
func (s *speech) turn() (said string) {
	for len(s.queue) > 0 {
		said += s.note(s.news(s.queue[0], s.texts[s.queue[0]].String()))
		if !slices.Contains(s.done, s.queue[0]) {
			break
		}
		said += s.leave()
	}
	return said
}

// leave takes the step at the head from the queue. Its last line ends.
func (s *speech) leave() string {
	delete(s.texts, s.queue[0])
	s.queue = s.queue[1:]
	return s.note(s.newline())
}

// speaking says whether a step is in the middle of its text.
func (s *speech) speaking() bool {
	return len(s.queue) > 0 && s.texts[s.queue[0]].Len() > 0
}

// add takes a piece of a step's text and gives what may be said now.
func (s *speech) add(step, text string) string {
	b := s.texts[step]
	if b == nil {
		return ""
	}
	b.WriteString(text)
	if s.queue[0] != step {
		return ""
	}
	return s.note(s.news(step, text))
}

// news is what of a text was not heard before.
func (s *speech) news(step, text string) string {
	heard := s.heard[step]
	if heard == "" {
		return text
	}
	if strings.HasPrefix(heard, text) {
		s.heard[step] = heard[len(text):]
		return ""
	}
	delete(s.heard, step)
	if rest, ok := strings.CutPrefix(text, heard); ok {
		return rest
	}
	return s.texts[step].String() // it says something else now
}

// void forgets a failed attempt's text; what was said already is marked.
func (s *speech) void(step string) string {
	b := s.texts[step]
	if b == nil || b.Len() == 0 {
		return ""
	}
	b.Reset()
	delete(s.heard, step)
	if s.queue[0] != step {
		return ""
	}
	return s.note(s.newline() + "[the answer broke off; it begins anew]\n")
}

// finish ends a step and gives what is said because of it: its output where it
// streamed nothing, and the texts of those that waited.
func (s *speech) finish(step string, output *value.Value) string {
	b := s.texts[step]
	if b == nil {
		return ""
	}
	said := ""
	if b.Len() == 0 && output != nil {
		text := plain(*output)
		b.WriteString(text)
		if s.queue[0] == step {
			said = s.note(text)
		}
	}
	s.done = append(s.done, step)
	if slices.Contains(s.done, s.queue[0]) { // it was heard while it spoke
		said += s.leave()
		said += s.turn()
	}
	return said
}

// pause gives what is left to say when the run waits for values. Those that were in
// the middle of their text begin anew when it goes on.
func (s *speech) pause() string {
	if len(s.queue) == 0 {
		return ""
	}
	heard := map[string]string{}
	for _, step := range s.queue {
		heard[step] = s.texts[step].String()
	}
	s.done = append(s.done, s.queue...)
	said := s.finish(s.queue[0], nil)
	s.heard = heard
	return said
}

// plain is the text of an output, or its JSON where it has none.
func plain(output value.Value) string {
	for _, name := range []string{"text", "prompt"} {
		v, _ := output.Get(name)
		if text, ok := v.Str(); ok {
			return text
		}
	}
	return jsonText(output)
}

func (s *speech) note(text string) string {
	if text != "" {
		s.tail = text[len(text)-1]
	}
	return text
}

func (s *speech) newline() string {
	if s.tail != 0 && s.tail != '\n' {
		return "\n"
	}
	return ""
}

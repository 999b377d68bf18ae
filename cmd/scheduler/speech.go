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
}

// start enters a step that speaks to the user. A step around it, a for_each or a
// sub-flow, has nothing to say then: its output is what those inside said.
func (s *speech) start(step string, toUser bool) {
	if !toUser {
		return
	}
	s.queue = slices.DeleteFunc(s.queue, func(outer string) bool {
		around := strings.HasPrefix(step, outer+"/") || strings.HasPrefix(step, outer+"[")
		if around {
			delete(s.texts, outer)
		}
		return around
	})
	if s.texts[step] == nil {
		s.queue = append(s.queue, step)
		s.texts[step] = &strings.Builder{}
	}
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
	return s.note(text)
}

// void forgets a failed attempt's text; what was said already is marked.
func (s *speech) void(step string) string {
	b := s.texts[step]
	if b == nil || b.Len() == 0 {
		return ""
	}
	b.Reset()
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
	for len(s.queue) > 0 && slices.Contains(s.done, s.queue[0]) {
		delete(s.texts, s.queue[0])
		s.queue = s.queue[1:]
		said += s.note(s.newline())
		if len(s.queue) > 0 {
			said += s.note(s.texts[s.queue[0]].String())
		}
	}
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
	return string(output.AppendIndented(nil, "  "))
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

package service

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/journal"
)

// Speech turns the events of a run into one text for the user: the text of its to_user steps, one step at a time.
// The texts of parallel steps do not mix: one step's text is shown, the others' texts are kept until it is their
// turn. [NewSpeech] makes one for each stretch of a run; it is for one goroutine.
type Speech struct {
	queue []string // steps that speak or wait to, in order
	texts map[string]*strings.Builder
	ended []string
	last  byte // the last byte of the text so far
	// heard has the text of steps before the run began to wait: when it continues, they produce it again.
	heard map[string]string
	// language is the flow's.
	language string
}

// NewSpeech returns a Speech that leaves out text that the user has already read: the [Speech.Heard] of the
// stretch before this one, nil for the first. Its own remarks are in the language.
func NewSpeech(language string, heard map[string]string) *Speech {
	return &Speech{texts: map[string]*strings.Builder{}, heard: heard, language: language}
}

// Add takes the next event and returns the text that the user gets because of it.
func (s *Speech) Add(e *journal.Event) string {
	step := journal.StepPath(e.Step, e.Index)
	switch e.Type { //nolint:exhaustive // the others have no text
	case journal.StepStarted:
		return s.startStep(step, e.Data.ToUser)
	case journal.StepDelta:
		return s.addText(step, e.Data.Text)
	case journal.StepRetrying:
		return s.voidAttempt(step)
	case journal.StepFinished:
		if e.Data.Error != nil { // the flow continues without its output
			return s.finishStep(step, nil)
		}
		return s.finishStep(step, e.Data.Output)
	case journal.StepFailed, journal.StepSkipped:
		return s.finishStep(step, nil)
	case journal.FlowWaiting:
		return s.pauseRun()
	case journal.FlowFailed:
		if e.Data.Text != "" { // the flow's own reply to the error
			return s.trackLineEnd(s.lineEnd() + e.Data.Text + "\n")
		}
	}
	return ""
}

// Heard returns the text of steps before the run began to wait, for [NewSpeech].
func (s *Speech) Heard() map[string]string { return s.heard }

// IsSpeaking reports whether a step is in the middle of its text.
func (s *Speech) IsSpeaking() bool {
	return len(s.queue) > 0 && s.texts[s.queue[0]].Len() > 0
}

// InLine reports whether the text so far ends within a line.
func (s *Speech) InLine() bool { return s.last != 0 && s.last != '\n' }

// startStep enters a step that speaks to the user. A step around it, a for_each or a sub-flow, then has no text of
// its own: its output is the text of the steps inside. It returns the text of steps that the outer one kept
// waiting.
func (s *Speech) startStep(step string, toUser bool) (said string) {
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
		said = s.sayHead()
	}
	if s.texts[step] == nil {
		s.queue = append(s.queue, step)
		s.texts[step] = &strings.Builder{}
	}
	return said
}

// sayHead returns the kept text of the step at the head of the queue, and if it has ended, of the steps after it
// up to the first that has not ended.
func (s *Speech) sayHead() (said string) {
	for len(s.queue) > 0 {
		said += s.trackLineEnd(s.withoutHeard(s.queue[0], s.texts[s.queue[0]].String()))
		if !slices.Contains(s.ended, s.queue[0]) {
			break
		}
		said += s.dropHead()
	}
	return said
}

// dropHead takes the step at the head from the queue and ends its last line.
func (s *Speech) dropHead() string {
	delete(s.texts, s.queue[0])
	s.queue = s.queue[1:]
	return s.trackLineEnd(s.lineEnd())
}

// addText adds a piece of a step's text and returns the text that may be shown now.
func (s *Speech) addText(step, text string) string {
	b := s.texts[step]
	if b == nil {
		return ""
	}
	b.WriteString(text)
	if s.queue[0] != step {
		return ""
	}
	return s.trackLineEnd(s.withoutHeard(step, text))
}

// withoutHeard returns the part of a text that the user has not heard before.
func (s *Speech) withoutHeard(step, text string) string {
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

// voidAttempt forgets the text of a failed attempt; the part already shown is marked.
func (s *Speech) voidAttempt(step string) string {
	b := s.texts[step]
	if b == nil || b.Len() == 0 {
		return ""
	}
	b.Reset()
	delete(s.heard, step)
	if s.queue[0] != step {
		return ""
	}
	return s.trackLineEnd(s.lineEnd() + wording.Say("[the answer broke off; it starts over]").In(s.language) + "\n")
}

// finishStep ends a step and returns the text to show because of it: its output if it streamed nothing, and the
// texts of waiting steps.
func (s *Speech) finishStep(step string, output *value.Value) string {
	b := s.texts[step]
	if b == nil {
		return ""
	}
	said := ""
	if b.Len() == 0 && output != nil {
		text := outputText(*output)
		b.WriteString(text)
		if s.queue[0] == step {
			said = s.trackLineEnd(text)
		}
	}
	s.ended = append(s.ended, step)
	if slices.Contains(s.ended, s.queue[0]) { // its text was said while it came
		said += s.dropHead()
		said += s.sayHead()
	}
	return said
}

// pauseRun returns the remaining text when the run waits for values. Steps in the middle of their text start over
// when it continues.
func (s *Speech) pauseRun() string {
	if len(s.queue) == 0 {
		return ""
	}
	heard := map[string]string{}
	for _, step := range s.queue {
		heard[step] = s.texts[step].String()
	}
	s.ended = append(s.ended, s.queue...)
	said := s.finishStep(s.queue[0], nil)
	s.heard = heard
	return said
}

// outputText returns the text of an output, or its JSON if it has none.
func outputText(output value.Value) string {
	for _, name := range []string{"text", "prompt"} {
		v, _ := output.Get(name)
		if text, ok := v.Str(); ok {
			return text
		}
	}
	return string(output.AppendIndented(nil, "  "))
}

// trackLineEnd notes how a text ends, and returns it.
func (s *Speech) trackLineEnd(text string) string {
	if text != "" {
		s.last = text[len(text)-1]
	}
	return text
}

// lineEnd returns the line break that ends an unfinished line, or "".
func (s *Speech) lineEnd() string {
	if s.InLine() {
		return "\n"
	}
	return ""
}

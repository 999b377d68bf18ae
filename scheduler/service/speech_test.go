package service

import (
	"testing"

	"github.com/callnode/scheduler/llm/value"
)

// TestSpeechWaits: what was kept is said when the run comes to wait, and what was
// heard in a session is not said twice.
func TestSpeechWaits(t *testing.T) {
	s := *NewSpeech(nil)
	s.start("a", true)
	s.start("b", true)
	s.start("c", true)
	said := s.addText("a", "Let me ") + s.addText("b", "second") + s.addText("a", "look.") + s.addText("c", "third") + s.finish("b", nil)
	if said += s.pause(); said != "Let me look.\nsecond\nthird\n" {
		t.Errorf("said %q", said)
	}
	if again := s.pause(); again != "" {
		t.Errorf("said %q with nobody speaking", again)
	}

	s = *NewSpeech(s.heard)
	s.start("a", true)
	s.start("c", true)
	said = s.addText("a", "Let me look.") + s.addText("c", "thi") + s.addText("c", "nking") + s.addText("a", " It is done.")
	output := value.OfMap(value.Pairs("text", "x"))
	if said += s.finish("a", &output) + s.finish("c", &output); said != " It is done.\nthinking\n" {
		t.Errorf("said %q", said)
	}
}

// TestSpeechOfOuterSteps: a step around others gives its turn away when one inside it
// begins; those that ended while it had its turn are heard all the same.
func TestSpeechOfOuterSteps(t *testing.T) {
	output := value.OfMap(value.Pairs("text", "x"))
	s := *NewSpeech(nil)
	said := s.start("outer", true) + s.start("b", true) + s.start("c", true) + s.start("d", true)
	said += s.addText("b", "second") + s.finish("b", nil) + s.finish("c", &output) + s.addText("d", "thi")
	if said != "" {
		t.Errorf("said %q out of turn", said)
	}
	said = s.start("outer/in", true) + s.addText("outer/in", "inner") + s.addText("d", "rd")
	said += s.finish("d", nil) + s.finish("outer/in", nil) + s.finish("outer", &output)
	if said != "second\nx\nthird\ninner\n" {
		t.Errorf("said %q", said)
	}
}

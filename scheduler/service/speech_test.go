package service

import (
	"testing"

	"github.com/callnode/scheduler/llm/value"
)

// TestSpeechWaits: kept text is shown when the run begins to wait, and text shown in one session is not repeated
// in the next.
func TestSpeechWaits(t *testing.T) {
	s := *NewSpeech("", nil)
	s.startStep("a", true)
	s.startStep("b", true)
	s.startStep("c", true)
	said := s.addText("a", "Let me ") + s.addText("b", "second") + s.addText("a", "look.") + s.addText("c", "third") + s.finishStep("b", nil)
	said += s.pauseRun()
	if said != "Let me look.\nsecond\nthird\n" {
		t.Errorf("said %q", said)
	}
	if again := s.pauseRun(); again != "" {
		t.Errorf("said %q with nobody speaking", again)
	}

	s = *NewSpeech("", s.heard)
	s.startStep("a", true)
	s.startStep("c", true)
	said = s.addText("a", "Let me look.") + s.addText("c", "thi") + s.addText("c", "nking") + s.addText("a", " It is done.")
	output := value.OfMap(value.Pairs("text", "x"))
	said += s.finishStep("a", &output) + s.finishStep("c", &output)
	if said != " It is done.\nthinking\n" {
		t.Errorf("said %q", said)
	}
}

// TestSpeechOfOuterSteps: a step around others gives its turn away when one inside it begins; the text of steps
// that ended during its turn is still shown.
func TestSpeechOfOuterSteps(t *testing.T) {
	output := value.OfMap(value.Pairs("text", "x"))
	s := *NewSpeech("", nil)
	said := s.startStep("outer", true) + s.startStep("b", true) + s.startStep("c", true) + s.startStep("d", true)
	said += s.addText("b", "second") + s.finishStep("b", nil) + s.finishStep("c", &output) + s.addText("d", "thi")
	if said != "" {
		t.Errorf("said %q out of turn", said)
	}
	said = s.startStep("outer/in", true) + s.addText("outer/in", "inner") + s.addText("d", "rd")
	said += s.finishStep("d", nil) + s.finishStep("outer/in", nil) + s.finishStep("outer", &output)
	if said != "second\nx\nthird\ninner\n" {
		t.Errorf("said %q", said)
	}
}

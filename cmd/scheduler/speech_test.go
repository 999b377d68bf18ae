package main

import (
	"strings"
	"testing"

	"github.com/callnode/scheduler/llm/value"
)

// TestSpeechWaits: what was kept is said when the run comes to wait, and what was
// heard in a session is not said twice.
func TestSpeechWaits(t *testing.T) {
	s := speech{texts: map[string]*strings.Builder{}}
	s.start("a", true)
	s.start("b", true)
	s.start("c", true)
	said := s.add("a", "Let me ") + s.add("b", "second") + s.add("a", "look.") + s.add("c", "third") + s.finish("b", nil)
	if said += s.pause(); said != "Let me look.\nsecond\nthird\n" {
		t.Errorf("said %q", said)
	}
	if again := s.pause(); again != "" {
		t.Errorf("said %q with nobody speaking", again)
	}

	s = speech{texts: map[string]*strings.Builder{}, heard: s.heard}
	s.start("a", true)
	s.start("c", true)
	said = s.add("a", "Let me look.") + s.add("c", "thi") + s.add("c", "nking") + s.add("a", " It is done.")
	output := value.OfMap(value.Pairs("text", "x"))
	if said += s.finish("a", &output) + s.finish("c", &output); said != " It is done.\nthinking\n" {
		t.Errorf("said %q", said)
	}
}

// TestSpeechOfOuterSteps: a step around others gives its turn away when one inside it
// begins; those that ended while it had its turn are heard all the same.
func TestSpeechOfOuterSteps(t *testing.T) {
	output := value.OfMap(value.Pairs("text", "x"))
	s := speech{texts: map[string]*strings.Builder{}}
	said := s.start("outer", true) + s.start("b", true) + s.start("c", true) + s.start("d", true)
	said += s.add("b", "second") + s.finish("b", nil) + s.finish("c", &output) + s.add("d", "thi")
	if said != "" {
		t.Errorf("said %q out of turn", said)
	}
	said = s.start("outer/in", true) + s.add("outer/in", "inner") + s.add("d", "rd")
	said += s.finish("d", nil) + s.finish("outer/in", nil) + s.finish("outer", &output)
	if said != "second\nx\nthird\ninner\n" {
		t.Errorf("said %q", said)
	}
}

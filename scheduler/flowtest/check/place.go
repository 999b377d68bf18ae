package check

import (
	"strings"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/explain"
)

// placeWant is where in a prompt a piece is.
type placeWant struct {
	Role    string `json:"role,omitempty" doc:"The role of its message."`
	Message *int   `json:"message,omitempty" doc:"The index of its message, from 0; from the end, -1 is the last."`
}

// placeOf reads the key in.
func placeOf(a *argument) (placeWant, bool) {
	other, ok := a.take("in")
	if !ok {
		return placeWant{}, true
	}
	want, ok := decode[placeWant](other, schema.MustFor[placeWant]())
	return want, ok && other.holds("/role", other.scope.knownNames().CheckRole(want.Role))
}

// holds reports whether a message is the place.
func (w placeWant) holds(e *explain.Explanation, message int) bool {
	if w.Role != "" && roleAt(e, message) != w.Role {
		return false
	}
	isMessage := message < len(e.Messages)
	return w.Message == nil || isMessage && (*w.Message == message || *w.Message == message-len(e.Messages))
}

// text returns the place as messages name it.
func (w placeWant) text() wording.Text {
	if w.Message == nil {
		return wording.Say("a message of the role %s", w.Role)
	}
	if w.Role == "" {
		return wording.Say("message %d", *w.Message)
	}
	return wording.Say("message %d of the role %s", *w.Message, w.Role)
}

// checkSelector reports a selector that names every piece, or what no piece has.
func checkSelector(a *argument, below string, s selector) bool {
	return checkPart(a, below, s) && a.holds(below+"/source", a.scope.knownNames().CheckSource(a.subject.step, s.Source))
}

// checkPart is checkSelector without the source.
func checkPart(a *argument, below string, s selector) bool {
	if s.isEmpty() || s.Kind == "" && s.Source == "" && strings.Trim(s.Name, "*") == "" {
		a.report(below, wording.Say("it names no piece"), wording.Say("give kind, name or source"))
		return false
	}
	names := a.scope.knownNames()
	if !a.holds(below+"/kind", names.CheckKind(s.Kind)) {
		return false
	}
	isContent := a.prefix != "" || below == "/of" // it passes where there is no such piece; others fail then, and say what there is
	return !isContent || a.holds(below+"/name", names.CheckPiece(s.Kind, s.Name))
}

package check

import (
	"context"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
	"github.com/callnode/scheduler/scheduler/journal"
)

// resolvePrompt finds the prompts of the step: the one of a round, or all.
func (s *subject) resolvePrompt(ctx context.Context) *verdict {
	prompts, err := s.of.Explain(ctx, s.step)
	switch {
	case err == nil:
	case s.of.hasEndedBefore(s.step):
		failed := failf("the step %s has no prompt: it had ended before the run began", s.step)
		failed.hint = wording.Say("take %s out of state", s.step)
		return failed
	case calls.KindOf(err) == calls.Missing && s.of.Record.Error != nil:
		run := s.of.Record.Error
		return failf("the step %s has no prompt: the run failed: %s", s.step, run.Message)
	case calls.KindOf(err) == calls.Missing:
		return failOf(err)
	default:
		return errorOf(err)
	}
	s.prompts, s.sent = prompts, prompts
	if s.round == 0 {
		return nil
	}
	for _, p := range prompts {
		if strings.HasSuffix(p.Step, "/round-"+strconv.Itoa(s.round)) {
			s.prompts = []*explain.Explanation{p}
			return nil
		}
	}
	if isAgent := strings.Contains(prompts[len(prompts)-1].Step, "/round-"); !isAgent && s.round <= len(prompts) {
		s.prompts = prompts[s.round-1 : s.round]
		return nil
	}
	return failf("the step %s has no round %d: it sent %d prompts", s.step, s.round, len(prompts))
}

// hasEndedBefore reports whether a step has an output and has never begun: it is in the state of the case.
func (e *Evidence) hasEndedBefore(step string) bool {
	got := e.Record.Step(step)
	return got != nil && got.State == journal.StepStatusFinished && got.Attempts == 0
}

// messageText returns the text of a message.
func messageText(m *explain.ExplainedMessage) string {
	var b strings.Builder
	for i := range m.Pieces {
		b.WriteString(m.Pieces[i].Text)
	}
	return b.String()
}

// textAt returns the text of a message, or of a text beside the messages.
func textAt(e *explain.Explanation, message int) string {
	beside := besideAt(e, message)
	if beside == nil {
		return messageText(&e.Messages[message])
	}
	return messageText(&explain.ExplainedMessage{Pieces: beside.Pieces})
}

// promptText returns the texts of all messages, with an empty line between them.
func promptText(e *explain.Explanation) string {
	texts := make([]string, len(e.Messages))
	for i := range e.Messages {
		texts[i] = messageText(&e.Messages[i])
	}
	return strings.Join(texts, "\n\n")
}

// messagesValue returns the messages as {role, content}.
func messagesValue(e *explain.Explanation) value.Value {
	items := make([]value.Value, len(e.Messages))
	for i := range e.Messages {
		items[i] = value.OfMap(value.Pairs("role", e.Messages[i].Role, "content", messageText(&e.Messages[i])))
	}
	return value.OfList(items...)
}

// promptValue returns the prompt as expressions see it.
func promptValue(e *explain.Explanation) value.Value {
	var pieces []value.Value
	for i := range e.Messages {
		for j := range e.Messages[i].Pieces {
			p := &e.Messages[i].Pieces[j]
			kind, name := result.NameOf(p.Sources)
			pieces = append(pieces, value.OfMap(value.Pairs(
				"kind", kind, "name", name, "role", e.Messages[i].Role, "message", i, "text", p.Text, "tokens", p.Tokens,
			)))
		}
	}
	out := make([]value.Value, len(e.LeftOut))
	for i, l := range e.LeftOut {
		out[i] = value.OfMap(value.Pairs("kind", l.Kind, "name", l.Name, "step", l.Step, "reason", l.Reason, "code", l.Code, "tokens", l.Tokens))
	}
	return value.OfMap(value.Pairs(
		"step", e.Step, "tokens", e.Total, "text", promptText(e), "messages", messagesValue(e),
		"pieces", value.OfList(pieces...), "left_out", value.OfList(out...),
	))
}

// pieceOf names a piece of a message.
func pieceOf(e *explain.Explanation, message int, p *explain.Piece) pieceRef {
	kind, name := result.NameOf(p.Sources)
	role, number := roleAt(e, message), message
	if besideAt(e, message) != nil {
		number = -1
	}
	return func(language string) *result.PieceRef {
		return &result.PieceRef{
			Step: e.Step, Kind: kind, Name: name, Source: p.Way().In(language), Message: number, Role: role,
			Text: value.Truncate(p.Text, maxShown),
		}
	}
}

// leftOutPiece names a piece that was left out.
func leftOutPiece(e *explain.Explanation, l *explain.LeftOut) pieceRef {
	return func(string) *result.PieceRef {
		return &result.PieceRef{Step: e.Step, Kind: l.Kind, Name: l.Name, Message: -1, Reason: l.Reason, Code: l.Code}
	}
}

// mockedPrompt returns the verdict on a prompt of a step that got its output from a mock, so that no request was made; nil for any other.
func (s *subject) mockedPrompt() *verdict {
	step := s.lastPrompt().Step
	if got := s.of.Record.Step(step); got == nil || !got.IsGiven {
		return nil
	}
	return errorf("cannot be decided: the step %s is mocked, so that nothing was sent", step).
		withHint("stop before the answer with until, or give the answer under llm")
}

// besideAt returns the text beside the messages that is counted as a message; nil for a message.
func besideAt(e *explain.Explanation, message int) *explain.BesideText {
	if i := message - len(e.Messages); i >= 0 {
		return &e.Beside[i]
	}
	return nil
}

// roleAt returns the role of a message, or of a text beside the messages.
func roleAt(e *explain.Explanation, message int) string {
	if beside := besideAt(e, message); beside != nil {
		return beside.Role
	}
	return e.Messages[message].Role
}

// placeText returns a message, or a text beside the messages, as people name it.
func placeText(e *explain.Explanation, message int) wording.Text {
	if beside := besideAt(e, message); beside != nil {
		return wording.Say("%s of the role %s, beside the messages", beside.Pointer, beside.Role)
	}
	return wording.Say("message %d of the role %s", message, e.Messages[message].Role)
}

// placeWant is the place of a piece in a prompt.
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

package calls

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls/internal/transcript"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/plugins"
)

// Dialogue has the messages before the current question, oldest first. [Env.Dialogue] makes it for one call, which
// only reads it. The zero value is a dialogue that begins.
type Dialogue struct {
	// Messages have the shape {role, content}, and in a conversation all keys that the caller
	// sent, for example tool_calls.
	Messages []*value.Map
	// Turns are the turns behind Messages if they come from the memory of the session; nil for a conversation.
	Turns []plugins.Turn
	// Err is why the memory could not be read; the step was warned of it.
	Err error
}

// ReadDialogue returns the messages before the current question: the conversation that the caller sent, else the
// newest turns that the memory of the flow has of the session, at most limit; in a flow without memory there are
// none. It never mixes the two, so that no turn is in a prompt twice. Every call that uses such messages calls
// this, or [Env.Dialogue], if the step gives no messages of its own; its definition says so
// ([Definition.ReadsConversation]). next is the next text of the prompt, which a flow may have saved already: it
// is left out.
func (e *Env) ReadDialogue(ctx context.Context, limit int, next string) (Dialogue, error) {
	if sent := ConversationOf(e.Vars); len(sent) > 0 {
		return Dialogue{Messages: sent}, nil
	}
	turns, err := e.Memory.Recent(ctx, e.Vars.Scope, limit)
	return Remembered(withoutSaved(turns, next, e.Vars.Run.StartedAt)), err
}

// withoutSaved returns turns without the newest one that the run has saved of a text of the user: it was begun at a time,
// which stores know to the millisecond.
func withoutSaved(turns []plugins.Turn, text string, began time.Time) []plugins.Turn {
	if text == "" || began.IsZero() {
		return turns
	}
	began = began.Truncate(time.Millisecond)
	for i, t := range slices.Backward(turns) {
		if t.Timestamp.Before(began) {
			break
		}
		if t.Role == "user" && t.Content == text {
			return slices.Delete(slices.Clone(turns), i, i+1)
		}
	}
	return turns
}

// Dialogue is [Env.ReadDialogue] within the bounds of the short-term memory. An error of the
// memory is a warning of the step: the prompt is made without.
func (e *Env) Dialogue(ctx context.Context, next string) Dialogue {
	d, err := e.ReadDialogue(ctx, transcript.DefaultMaxTurns, next)
	if err != nil {
		e.Warn("source", "history: what was said before cannot be read: %v", err)
		return Dialogue{Err: err}
	}
	if !d.IsRemembered() {
		return d
	}
	trimmer := transcript.NewTrimmer(transcript.DefaultMaxTurns, transcript.DefaultMaxTokens, e.Tokens)
	for _, t := range d.Turns {
		trimmer.Add(t)
	}
	return Remembered(trimmer.Turns())
}

// Remembered returns a dialogue of turns that the memory has given.
func Remembered(turns []plugins.Turn) Dialogue {
	d := Dialogue{Messages: make([]*value.Map, 0, len(turns)), Turns: turns}
	for _, t := range turns {
		d.Messages = append(d.Messages, value.Pairs("role", t.Role, "content", t.Content))
	}
	return d
}

// ConversationOf returns the messages that the caller sent before the question. Unlike
// [Env.Dialogue] it needs no memory, so that Init may use it.
func ConversationOf(vars *Vars) []*value.Map {
	return MessagesIn(vars.Conversation)
}

// IsRemembered reports whether the messages come from the memory of the session.
func (d Dialogue) IsRemembered() bool { return len(d.Turns) > 0 }

// Origin returns the source of a member of a message, such as /content or /tool_calls. It covers
// no bytes: the caller says which of its own text do.
func (d Dialogue) Origin(message int, member string) Origin {
	if !d.IsRemembered() {
		return Origin{Kind: OriginConversation, Pointer: "/" + strconv.Itoa(message) + member}
	}
	t := d.Turns[message]
	isText := member == "" || member == "/content"
	isCopy := isText && !strings.HasSuffix(t.Content, llm.TruncationMarker)
	return Origin{Kind: OriginMemory, Name: cmp.Or(t.ID, "session"), Computed: !isCopy}
}

// AsTurns returns the dialogue as plugins see it: the text of each message, without messages
// that have none. at are their indexes in Messages.
func (d Dialogue) AsTurns() (turns []plugins.Turn, at []int) {
	for i, m := range d.Messages {
		role, _ := m.Get("role")
		who, _ := role.Str()
		turn := plugins.Turn{Role: who, Content: MessageText(m)}
		if d.IsRemembered() {
			turn = d.Turns[i]
		}
		if turn.Content != "" {
			turns, at = append(turns, turn), append(at, i)
		}
	}
	return turns, at
}

// Text returns the text of a message with its sources: its content, or the texts of the parts of it.
func (d Dialogue) Text(message int) Traced {
	content, _ := d.Messages[message].Get("content")
	traced := func(member, text string) Traced {
		source := d.Origin(message, member)
		source.End = len(text)
		return Traced{text, CutOrigins([]Origin{source}, len(text))}
	}
	if text, ok := content.Str(); ok {
		return traced("/content", text)
	}
	var parts []Traced
	for i, part := range content.List() {
		member, _ := part.Get("text")
		if text, ok := member.Str(); ok {
			parts = append(parts, traced("/content/"+strconv.Itoa(i)+"/text", text))
		}
	}
	return JoinTraced(parts, "\n")
}

// MessageText returns the text of a message: its content, or the texts of the parts of it.
func MessageText(m *value.Map) string {
	content, _ := m.Get("content")
	if text, ok := content.Str(); ok {
		return text
	}
	var texts []string
	for _, part := range content.List() {
		member, _ := part.Get("text")
		if text, ok := member.Str(); ok {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}

package calls

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls/transcript"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/plugins"
)

// Dialogue is what was said before the current question, oldest first. [Env.Dialogue] makes
// it for one call, which only reads it. The zero value is a dialogue that begins.
type Dialogue struct {
	// Messages have the shape {role, content}, and in a conversation all keys that the caller
	// sent, for example tool_calls.
	Messages []*value.Map
	// Turns are the turns behind Messages where they come from the memory of the session; nil
	// for a conversation.
	Turns []plugins.Turn
	// Err is why the memory could not be read; the step was warned of it.
	Err error
}

// Dialogue returns what was said before the current question: the conversation that the
// caller sent, else the newest turns that the memory of the flow has of the session, which in
// a flow without memory are none. It never mixes the two, so that no turn is in a prompt
// twice. Every call that takes such messages by itself asks here, if the step gives no
// messages of its own; its definition says so ([Definition.ReadsConversation]).
//
// An error of the memory is a warning of the step: the prompt is made without.
func (e *Env) Dialogue(ctx context.Context) Dialogue {
	if sent := ConversationOf(e.Vars); len(sent) > 0 {
		return Dialogue{Messages: sent}
	}
	turns, err := e.Memory.Recent(ctx, e.Vars.Scope, transcript.DefaultMaxTurns)
	if err != nil {
		e.Warn("source", "history: what was said before cannot be read: %v", err)
	}
	trimmer := transcript.NewTrimmer(transcript.DefaultMaxTurns, transcript.DefaultMaxTokens, e.Tokens)
	for _, t := range turns {
		trimmer.Add(t)
	}
	d := Remembered(trimmer.Turns())
	d.Err = err
	return d
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
	list := vars.Conversation.List()
	messages := make([]*value.Map, len(list))
	for i, m := range list {
		messages[i] = m.Map()
	}
	return messages
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
	return Origin{Kind: OriginMemory, Name: cmp.Or(t.ID, "session"), Computed: strings.HasSuffix(t.Content, llm.TruncationMarker)}
}

// AsTurns returns the dialogue as plugins see it: the text of each message, without messages
// that have none.
func (d Dialogue) AsTurns() []plugins.Turn {
	if d.IsRemembered() {
		return d.Turns
	}
	var turns []plugins.Turn
	for _, m := range d.Messages {
		role, _ := m.Get("role")
		who, _ := role.Str()
		if text := MessageText(m); text != "" {
			turns = append(turns, plugins.Turn{Role: who, Content: text})
		}
	}
	return turns
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

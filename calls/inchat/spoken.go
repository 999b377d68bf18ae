package inchat

import (
	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
)

// spoken is the history that in-chat uses by itself if the step gives none: the dialogue before the question, and
// the question.
type spoken struct {
	before   calls.Dialogue
	question string
}

// history returns the messages in the form of the parameter history. The role developer is another
// word for system.
func (s spoken) history() value.Value {
	var list []value.Value
	for _, m := range s.before.Messages {
		if role, _ := m.Get("role"); isDeveloper(role) {
			m = m.Clone()
			m.Set("role", value.OfString("system"))
		}
		list = append(list, value.OfMap(m))
	}
	if s.question != "" {
		list = append(list, value.OfMap(value.Pairs("role", "user", "content", s.question)))
	}
	return value.OfList(list...)
}

func isDeveloper(role value.Value) bool {
	name, _ := role.Str()
	return name == "developer"
}

// origin returns the source of a member of a message, such as /content; ok is false for text that the call has
// written.
func (s spoken) origin(message int, member string) (o calls.Origin, ok bool) {
	if message >= len(s.before.Messages) {
		return calls.Origin{Kind: calls.OriginName, Name: "question"}, member == "/content"
	}
	if member == "/role" {
		role, _ := s.before.Messages[message].Get("role")
		if isDeveloper(role) || s.before.IsRemembered() {
			return o, false
		}
	}
	return s.before.Origin(message, member), true
}

// credit sets the sources of messages with a text as content.
func (s spoken) credit(messages []message) {
	for i := range messages {
		m := &messages[i]
		o, ok := s.origin(m.index, "/content")
		if o.End = len(m.content); ok && o.End > 0 {
			m.origins = []calls.Origin{o}
		}
	}
}

// originsOfSpoken returns the source of a member of a message, of a step that is on record and gave no
// history.
func originsOfSpoken(of calls.Record, index value.Value, member string) []calls.Origin {
	i, isIndex := index.Int()
	if of.Seen == nil || !isIndex {
		return nil
	}
	seen := of.Seen()
	s := spoken{calls.Dialogue{Messages: calls.ConversationOf(seen)}, seen.Question}
	if o, ok := s.origin(int(i), "/"+member); ok {
		return []calls.Origin{o}
	}
	return nil
}

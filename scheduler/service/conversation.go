package service

import (
	"slices"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flow"
)

// chatInputs are the inputs that a conversation fills by itself.
var chatInputs = []string{"question", "messages", "history", "user"}

// ChatInputs lists the inputs that a conversation fills by itself: a flow that needs no others can be
// chatted with.
func ChatInputs() []string { return slices.Clone(chatInputs) }

// IsModel reports whether a flow needs no other inputs than a conversation's.
func IsModel(f *flow.Flow) bool {
	given := f.Inputs.ApplyDefaults(value.OfMap(nil))
	required, _ := f.Inputs.Doc().Get("required")
	for _, name := range required.List() {
		key, _ := name.Str()
		if _, ok := given.Get(key); !ok && !slices.Contains(chatInputs, key) {
			return false
		}
	}
	return true
}

// ReadsConversation reports whether a flow uses the messages before the question: a step reads the conversation,
// or an input receives it.
func ReadsConversation(f *flow.Flow) bool {
	properties, _ := f.Inputs.Doc().Get("properties")
	for _, name := range []string{"messages", "history"} {
		if _, takes := properties.Get(name); takes {
			return true
		}
	}
	return f.ReadsConversation
}

// ConversationIgnored returns a warning if a flow gets a conversation that it does not read.
func ConversationIgnored(f *flow.Flow, conversation value.Value) []Note {
	if len(conversation.List()) == 0 || f.ReadsConversation {
		return nil
	}
	return []Note{newWarning("the flow reads the question alone: no step reads the conversation (give a step conversation, or use context, agent or in-chat, which read it by themselves)")}
}

// LastMessageOnly returns a note about a flow that can be chatted with but ignores the messages before the
// question; none for any other flow.
func LastMessageOnly(f *flow.Flow) []Note {
	asks := slices.ContainsFunc(f.Steps, func(s *flow.Step) bool { return s.Def.Info != nil && s.Def.Info.UsesLLM })
	if !asks || !IsModel(f) || ReadsConversation(f) {
		return nil
	}
	return []Note{{Level: LevelNote, Text: wording.Say("%s: in a chat this flow reads the last message only: no step reads conversation (context, agent and in-chat read it by themselves; elsewhere write {{ conversation }})", f.File)}}
}

package naming

import (
	"slices"

	"github.com/callnode/scheduler/scheduler/explain"
)

// sourceWords are the words for sources that are not names.
func sourceWords() []string { return []string{"http", "tool", "model", "memory", "user", "clock"} }

// scopeWords are the names that templates of flows know beside their steps, without question, which is inputs.question.
func scopeWords() []string {
	return []string{"inputs", "conversation", "history", "summary", "facts", "vars", "run", "item", "index", "error", "secrets"}
}

// memoryWords are the names of memories without an id.
func memoryWords() []string { return []string{"session", "long_term"} }

// messageRoles lists the roles of messages, and the roles that [explain.Explain] gives to texts other than
// messages.
func messageRoles() []string {
	return []string{"system", "developer", "user", "assistant", "tool", "function", "prompt", "text", explain.RoleTools}
}

// partKinds lists the kinds of the parts that built-in calls make of prompts: their own, and the names in their texts.
func partKinds() []string {
	return []string{
		"answer", "append", "file", "heading", "history", "identity", "image", "memory", "message", "messages", "module", "preset",
		"recalled", "runtime", "separator", "session", "skill", "skill_entry", "slot", "text", "tool", "world_book",
		"asked", "before", "categories", "category", "channel", "chat_id", "choices", "conversation", "domains", "facts", "instructions",
		"known", "left", "limit", "max_words", "memories", "now", "nullable", "optional", "problem", "question", "rejected", "schema",
		"skills", "snapshots", "summary", "time", "tools", "values", "workspace",
	}
}

// pieceKinds lists the kinds of pieces: the kinds of parts and of sources.
func pieceKinds() []string {
	kinds := partKinds()
	for _, kind := range []explain.SourceKind{
		explain.SourceFlow, explain.SourceInput, explain.SourceName, explain.SourceComputed, explain.SourceFile, explain.SourceStep,
		explain.SourcePart, explain.SourceModel, explain.SourceTool, explain.SourceMemory, explain.SourceUser, explain.SourceText,
		explain.SourceClock, explain.SourceParams, explain.SourceConversation,
	} {
		if !slices.Contains(kinds, string(kind)) {
			kinds = append(kinds, string(kind))
		}
	}
	return kinds
}

// wordQuestion is the name of the input question in templates. Texts from there come from inputs.question.
const wordQuestion = "question"

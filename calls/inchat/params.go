package inchat

import (
	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
)

// Params are the parameters of in-chat: history, presets_in_chat and world_books, which the
// documents have, and further ones.
type Params struct {
	History       value.Value `json:"history,omitzero" type:"array|null" doc:"Chat messages {role, content}, oldest first; role is system, user, assistant, tool or thinking. A content is a text or a list of parts; members such as name and tool_calls are passed on. Default: the conversation that came with the question (in a flow with memory, without one, the last turns of the session), and the question."`
	PresetsInChat value.Value `json:"presets_in_chat,omitzero" type:"array|null" doc:"Preset entries; those with position in-chat are used: {identifier, name, position, enabled, role, depth, order, mode, condition, content, priority, ignore_budget}."`
	WorldBooks    value.Value `json:"world_books,omitzero" doc:"World-book entries: a list of them, nested as you like, {entries: list or map}, {world_book: ...} or one entry: {id, name, position, enabled, depth, order, mode, condition, content, priority, ignore_budget}."`
	Variables     value.Value `json:"variables,omitzero" type:"object|null" doc:"Variables that conditions read; chat_history_text is the text in which keywords are searched, where it is given."`
	ScanDepth     *int        `json:"scan_depth,omitempty" min:"0" doc:"Search keywords only in that many newest messages; all of them by default."`
	Budget        *int        `json:"budget,omitempty" min:"0" doc:"Tokens that presets and world-book entries may take together. Entries with ignore_budget go first, then those with a higher priority, then those with a higher order; what does not fit is left out. No limit by default."`
}

// Input is the data of the step: the parameters.
type Input = Params

// Output has the messages, the reason why each entry is in or out, and probable mistakes.
type Output struct {
	Messages []*value.Map `json:"messages" doc:"The history with the entries in it: {role, content, source}. A content is a text, or the parts of a message of the history; other members of that, such as name and tool_calls, are kept. The source says where the message comes from: {type: history.<role>, id, index}, or {type: preset.in-chat or world_book.in-chat, id, ...} with all fields of the entry in their order."`
	Parts    []calls.Part `json:"parts" doc:"Where the messages of the history come from; their texts are those of messages."`
	Slots    Slots        `json:"slots" doc:"The texts of entries with position before_char or after_char, by that position, for context (parameter slots) and templates. Entries are joined by line feeds, a higher order nearer the end."`
	Trace    []calls.Part `json:"trace" doc:"Every preset and world-book entry, in the order given: whether it is in, and why."`
	Warnings []string     `json:"warnings,omitempty" doc:"Conditions that cannot be read, deprecated fields, entries that look wrong."`
}

// Slots are the texts of entries with position before_char or after_char, which go outside of
// the chat; "" if no entry is in.
type Slots struct {
	BeforeChar string `json:"before_char"`
	AfterChar  string `json:"after_char"`
}

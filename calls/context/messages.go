package context

import (
	"cmp"
	"context"
	"fmt"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/internal/skill"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
)

// historyMessages returns the given history, or else the dialogue before the question, without the messages that
// providers refuse. tail are the messages after the user's.
func (b *builder) historyMessages(ctx context.Context, tail []*value.Map) []*value.Map {
	given := calls.Dialogue{Messages: b.params.History}
	if given.Messages == nil {
		b.before = b.env.Dialogue(ctx, b.in.CurrentMessage)
		if err := b.before.Err; err != nil {
			b.warnings = append(b.warnings, b.env.Say("history: what was said before cannot be read: %v", err))
		}
		given = b.before
	}
	var notes []calls.MessageNote
	b.past, notes = given.Repaired(tail)
	for _, n := range notes {
		b.warn("history[%d]: %s", n.Index, n.Text)
	}
	return calls.MapsOf(b.past)
}

func (b *builder) writeHistory(h *history) {
	say := b.env.Say
	reason, from := say("kept as it is"), ""
	switch {
	case b.before.IsRemembered():
		reason, from = say("from the memory of the session"), " "+say("from memory")
	case len(b.before.Messages) > 0:
		reason, from = say("from the conversation of the request"), " "+say("from the conversation")
	}
	for i, m := range h.messages {
		name := fmt.Sprintf("%d %s%s", b.past[i].Index, roleOf(m), from)
		if i < h.from {
			b.addLeftOut("history", name, say("left out: over the token budget"), codeBudget, h.costs[i]-llm.MessageOverhead)
			continue
		}
		b.addMessagePart("history", name, contentText(m), reason, 0, h.costs[i]-llm.MessageOverhead, b.historyOrigins(b.past[i])...)
		b.addMessage(m)
	}
}

// writeUserMessage writes the user's words, after the images if there are any:
// _build_user_content in the documents.
func (b *builder) writeUserMessage(w *userWords) {
	b.out.Parts = append(b.out.Parts, b.unsent...)
	if w == nil {
		return
	}
	count := b.env.Tokens.Count
	content := make([]value.Value, 0, len(w.images)+1)
	for _, p := range w.images {
		b.addMessagePart("image", p.name, "", p.reason(b.env), 0, p.tokens, calls.Origin{File: p.name, Computed: p.note != ""})
		content = append(content, value.OfMap(value.Pairs("type", "image_url", "image_url", value.Pairs("url", p.url))))
	}
	b.addMessagePart("message", "current_message", w.text, b.env.Say("the current message"), 0, count(w.text), calls.FromParam("/current_message", w.text)...)
	text := w.text
	if runtime := w.runtime.text; runtime != "" {
		b.addMessagePart("runtime", "", runtime, b.env.Say("runtime_context is message"), len(text), count(runtime), w.runtime.origins...)
		text += runtime
	}
	for _, x := range w.skills {
		body := blankLine + skillText(x)
		b.addMessagePart("skill", x.Name, body, b.env.Say("asked for by $%s", x.Name), len(text), count(body), shiftOrigins(skillOrigins(x), len(blankLine))...)
		text += body
	}
	if len(w.images) == 0 {
		b.addMessage(value.Pairs("role", "user", "content", text))
		return
	}
	content = append(content, value.OfMap(value.Pairs("type", "text", "text", text)))
	b.addMessage(value.Pairs("role", "user", "content", value.OfList(content...)))
}

func (b *builder) writeAppended(tail []*value.Map) {
	for i, m := range tail {
		b.addMessagePart("append", fmt.Sprintf("%d %s", i, roleOf(m)), contentText(m), b.env.Say("parameter append"), 0, messageTokens(m, b.env.Tokens), b.appendOrigins(i, m)...)
		b.addMessage(m)
	}
}

func (b *builder) countTokens() {
	b.out.Tokens = len(b.out.Messages) * llm.MessageOverhead
	for _, p := range b.out.Parts {
		if p.Included {
			b.out.Tokens += p.Tokens
		}
	}
}

// historyOrigins returns the origins of the text of a message of the history.
func (b *builder) historyOrigins(m calls.RepairedMessage) []calls.Origin {
	content := memberOf(m.Map, "content")
	if b.params.History == nil {
		return contentOrigins(content, b.before.Origin(m.Index, "/content"))
	}
	return contentOrigins(content, calls.Origin{Pointer: fmt.Sprintf("/history/%d/content", m.Index)})
}

// appendOrigins returns the origins of the text of an appended message.
func (b *builder) appendOrigins(i int, m *value.Map) []calls.Origin {
	given := b.params.Append[i]
	key := cmp.Or(given.FirstKey("content", "result"), "result")
	pointer, content := fmt.Sprintf("/append/%d/%s", i, key), memberOf(given, key)
	if content.Kind() == value.String || isParts(content) {
		return contentOrigins(content, calls.Origin{Pointer: pointer})
	}
	return []calls.Origin{{End: len(contentText(m)), Pointer: pointer, Computed: true}} // as JSON
}

// contentOrigins returns the origins of [contentText]: the content, with the origin source, or its text parts.
func contentOrigins(content value.Value, source calls.Origin) (origins []calls.Origin) {
	if text, ok := content.Str(); ok {
		source.End = len(text)
		return calls.CutOrigins([]calls.Origin{source}, len(text))
	}
	end := 0
	for i, part := range content.List() {
		member, _ := part.Get("text")
		text, _ := member.Str()
		one := source
		one.Start, one.End, one.Pointer = end, end+len(text), fmt.Sprintf("%s/%d/text", source.Pointer, i)
		origins = append(origins, one)
		end += len(text)
	}
	return calls.CutOrigins(origins, end)
}

// userWords are the user's message: the user's words and the call's additions.
type userWords struct {
	text    string
	runtime tracedText
	skills  []*skill.Skill
	images  []*picture
}

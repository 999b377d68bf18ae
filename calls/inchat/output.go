package inchat

import (
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// outputTables make the objects of the output, which long chats have tens of thousands of.
type outputTables struct {
	env                               *calls.Env
	messages, sources, parts, origins *value.Table
	roles                             map[string]roleValues
}

// roleValues are a role, and the type of the messages of the history that have it.
type roleValues struct{ role, source value.Value }

// buildOutput returns the value of [Output].
func (b *builder) buildOutput(messages []message) value.Value {
	t := &outputTables{
		env:      b.env,
		messages: value.NewTable(len(messages), "role", "content", "source"),
		sources:  value.NewTable(len(messages), "type", "id", "index"),
		parts: value.NewTable(len(messages)+len(b.candidates), "kind", "name", "message", "at", "start", "end", "text", "tokens",
			"included", "reason", "code", "origins"),
		origins: value.NewTable(len(messages), "start", "end", "pointer", "computed"),
		roles:   map[string]roleValues{},
	}
	list := make([]value.Value, len(messages))
	for i := range messages {
		m := &messages[i]
		list[i] = t.messageOf(m)
		if m.entry != nil {
			m.entry.message = i
		}
	}
	slots := b.fillSlots()
	trace := make([]value.Value, len(b.candidates))
	for i := range b.candidates {
		trace[i] = t.part(&b.candidates[i])
	}
	out := value.NewMap(5)
	out.Set("messages", value.OfList(list...))
	out.Set("parts", t.historyParts(messages))
	out.Set("slots", value.OfMap(slots))
	out.Set("trace", value.OfList(trace...))
	if len(b.warnings) > 0 {
		out.Set("warnings", value.Must(b.warnings))
	}
	return value.OfMap(out)
}

// messageOf returns a message with its source.
func (t *outputTables) messageOf(m *message) value.Value {
	content := m.given
	if !m.hasParts() {
		content = textValue(m.content, m.given)
	}
	role := t.roleOf(m.role).role
	if m.others == nil {
		return t.messages.Row(role, content, t.source(m))
	}
	out := value.NewMap(3 + m.others.Len())
	out.Set("role", role)
	out.Set("content", content)
	for name, member := range m.others.All() {
		out.Set(name, member)
	}
	out.Set("source", t.source(m))
	return value.OfMap(out)
}

func (t *outputTables) roleOf(role string) roleValues {
	known, ok := t.roles[role]
	if !ok {
		known = roleValues{value.OfString(role), value.OfString("history." + role)}
		t.roles[role] = known
	}
	return known
}

// textValue returns a text as a value: the given one, if it is that text.
func textValue(text string, given value.Value) value.Value {
	if s, isText := given.Str(); isText && s == text && !given.HasSecret() {
		return given
	}
	return value.OfString(text)
}

// numbered returns a text with a number in it, for example history_12.
func numbered(before string, number int, after string) string {
	var room [64]byte
	return string(append(strconv.AppendInt(append(room[:0], before...), int64(number), 10), after...))
}

// fillSlots joins the texts that go outside of the chat, and sets their places. Both slots are
// always there, so that templates can name them.
func (b *builder) fillSlots() *value.Map {
	entries := slices.DeleteFunc(b.included(), func(c *candidate) bool { return c.slot == "" })
	sortEntries(entries)
	texts, sizes := map[string][]string{}, map[string]int{}
	for _, c := range entries {
		c.start = sizes[c.slot]
		sizes[c.slot] += len(c.content) + len("\n")
		texts[c.slot] = append(texts[c.slot], c.content)
	}
	slots := value.NewMap(2)
	for _, name := range []string{"before_char", "after_char"} {
		slots.Set(name, value.OfString(strings.Join(texts[name], "\n")))
	}
	return slots
}

// source returns the source of a message: _build_source_for_history, _build_source_for_preset and
// _build_source_for_wb of the documents in one. The id of a world-book entry is its wb_id there.
func (t *outputTables) source(m *message) value.Value {
	c := m.entry
	if c == nil {
		return t.sources.Row(t.roleOf(m.role).source, value.OfString(numbered("history_", m.index, "")), value.OfInt(int64(m.index)))
	}
	s := value.NewMap(c.entry.Len() + 3)
	if c.kind == kindPreset {
		s.Set("type", value.OfString("preset.in-chat"))
		s.Set("id", value.OfString("preset_"+c.name))
		for key, v := range c.entry.All() {
			s.Set(key, v)
		}
		return value.OfMap(s)
	}
	id := strconv.Itoa(c.index)
	if v, ok := c.entry.Get("id"); ok && !v.IsNull() {
		id = plainText(v)
	}
	s.Set("type", value.OfString("world_book.in-chat"))
	s.Set("id", value.OfString("wb_"+id))
	for key, v := range c.entry.All() {
		s.Set(sourceField(key), v)
	}
	if _, own := c.entry.Get("role"); !own {
		s.Set("role", t.roleOf(c.role).role)
	}
	return value.OfMap(s)
}

// part returns the entry's line in the trace, a calls.Part.
func (t *outputTables) part(c *candidate) value.Value {
	var message, at, code, origins value.Value
	text, reason := "", c.reason
	if !c.out {
		text = c.content
		if c.slot == "" {
			message = value.OfInt(int64(c.message))
		} else {
			at = value.OfString("/slots/" + c.slot)
			reason = wording.Say("%s; in the slot %s", reason, c.slot)
		}
	}
	if c.code != "" {
		code = value.OfString(c.code)
	}
	if text != "" {
		origins = t.originsOf(c)
	}
	given, _ := c.entry.Get("content")
	name, _ := c.entry.Get("name")
	return t.parts.Row(
		value.OfString(c.kind), textValue(c.name, name), message, at, value.OfInt(int64(c.start)), value.OfInt(int64(c.start+len(text))),
		textValue(text, given), value.OfInt(int64(c.tokens)), value.OfBool(!c.out), value.OfString(t.env.TextOf(reason)), code, origins,
	)
}

// historyParts returns the parts of the messages that are of the history.
func (t *outputTables) historyParts(messages []message) value.Value {
	parts := make([]value.Value, 0, len(messages))
	empty, zero, yes := value.OfString(""), value.OfInt(0), value.OfBool(true)
	reason := value.OfString(t.env.Say("kept as it is"))
	for i := range messages {
		m := &messages[i]
		if m.entry != nil || m.content == "" {
			continue
		}
		parts = append(parts, t.parts.Row(
			empty, empty, value.OfInt(int64(i)), value.Value{}, zero, value.OfInt(int64(len(m.content))), // without kind it is passed on
			empty, zero, yes, reason, value.Value{}, t.sourcesOf(m),
		))
	}
	return value.OfList(parts...)
}

// originsOf returns the [calls.Origin] list of an entry's text.
func (t *outputTables) originsOf(c *candidate) value.Value {
	if c.expanded != nil {
		return value.Must(c.expanded)
	}
	return t.wholeOrigin(c.pointer+"/content", len(c.content), false)
}

// sourcesOf returns the [calls.Origin] list of a message of the history: its content, or the content's JSON.
func (t *outputTables) sourcesOf(m *message) value.Value {
	if m.origins != nil {
		return value.Must(m.origins)
	}
	pointer := numbered("/history/", m.index, "/content")
	if m.given.Kind() == value.Object || m.given.Kind() == value.List {
		return value.Must(calls.TracedJSON(m.given, func(below string) calls.Origin {
			return calls.Origin{Pointer: pointer + below}
		}).Origins)
	}
	return t.wholeOrigin(pointer, len(m.content), m.given.Kind() != value.String)
}

// wholeOrigin returns a list of one [calls.Origin], the source of a whole text.
func (t *outputTables) wholeOrigin(pointer string, size int, isComputed bool) value.Value {
	var computed value.Value
	if isComputed {
		computed = value.OfBool(true)
	}
	return value.OfList(t.origins.Row(value.OfInt(0), value.OfInt(int64(size)), value.OfString(pointer), computed))
}

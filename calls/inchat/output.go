package inchat

import (
	"slices"
	"strconv"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// buildOutput returns the value of [Output], made by hand: long chats have tens of
// thousands of messages and entries.
func (b *builder) buildOutput(messages []message) value.Value {
	list := make([]value.Value, len(messages))
	for i := range messages {
		m := &messages[i]
		out := value.NewMap(3 + m.others.Len())
		out.Set("role", value.OfString(m.role))
		if m.hasParts() {
			out.Set("content", m.given)
		} else {
			out.Set("content", value.OfString(m.content))
		}
		for name, member := range m.others.All() {
			out.Set(name, member)
		}
		out.Set("source", m.source())
		list[i] = value.OfMap(out)
		if m.entry != nil {
			m.entry.message = i
		}
	}
	slots := b.fillSlots()
	trace := make([]value.Value, len(b.candidates))
	for i := range b.candidates {
		trace[i] = b.candidates[i].part(b.env)
	}
	out := value.NewMap(5)
	out.Set("messages", value.OfList(list...))
	out.Set("parts", historyParts(messages, b.env.Say("kept as it is")))
	out.Set("slots", value.OfMap(slots))
	out.Set("trace", value.OfList(trace...))
	if len(b.warnings) > 0 {
		out.Set("warnings", value.Must(b.warnings))
	}
	return value.OfMap(out)
}

// fillSlots joins the texts that go outside of the chat, and sets their places. Both slots are
// always there, so that templates can name them.
func (b *builder) fillSlots() *value.Map {
	entries := slices.DeleteFunc(b.included(), func(c *candidate) bool { return c.slot == "" })
	sortEntries(entries)
	joined := map[string]string{}
	for _, c := range entries {
		if text, ok := joined[c.slot]; ok {
			joined[c.slot] = text + "\n"
		}
		c.start = len(joined[c.slot])
		joined[c.slot] += c.content
	}
	slots := value.NewMap(2)
	for _, name := range []string{"before_char", "after_char"} {
		slots.Set(name, value.OfString(joined[name]))
	}
	return slots
}

// source returns where a message comes from: _build_source_for_history,
// _build_source_for_preset and _build_source_for_wb of the documents in one. The id of a
// world-book entry is its wb_id there.
func (m *message) source() value.Value {
	c := m.entry
	if c == nil {
		s := value.NewMap(3)
		s.Set("type", value.OfString("history."+m.role))
		s.Set("id", value.OfString("history_"+strconv.Itoa(m.index)))
		s.Set("index", value.OfInt(int64(m.index)))
		return value.OfMap(s)
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
		s.Set("role", value.OfString(c.role))
	}
	return value.OfMap(s)
}

// part returns the entry's line in the trace, a calls.Part.
func (c *candidate) part(env *calls.Env) value.Value {
	p := value.NewMap(c.partSize())
	p.Set("kind", value.OfString(c.kind))
	p.Set("name", value.OfString(c.name))
	text := ""
	if !c.out {
		text = c.content
		if c.slot == "" {
			p.Set("message", value.OfInt(int64(c.message)))
		} else {
			p.Set("at", value.OfString("/slots/"+c.slot))
		}
	}
	p.Set("start", value.OfInt(int64(c.start)))
	p.Set("end", value.OfInt(int64(c.start+len(text))))
	p.Set("text", value.OfString(text))
	p.Set("tokens", value.OfInt(int64(c.tokens)))
	p.Set("included", value.OfBool(!c.out))
	reason := c.reason
	if c.slot != "" && !c.out {
		reason = wording.Say("%s; in the slot %s", reason, c.slot)
	}
	p.Set("reason", value.OfString(env.TextOf(reason)))
	if c.code != "" {
		p.Set("code", value.OfString(c.code))
	}
	if text != "" {
		p.Set("origins", c.origins())
	}
	return value.OfMap(p)
}

// partSize returns how many members [candidate.part] sets.
func (c *candidate) partSize() int {
	size := 8
	if c.code != "" {
		size++
	}
	if !c.out {
		size += 2 // message or at, and origins
	}
	return size
}

// historyParts returns the parts of the messages that are of the history.
func historyParts(messages []message, reason string) value.Value {
	parts := make([]value.Value, 0, len(messages))
	said := value.OfString(reason)
	for i := range messages {
		m := &messages[i]
		if m.entry != nil || m.content == "" {
			continue
		}
		p := value.NewMap(10)
		p.Set("kind", value.OfString("")) // passed on
		p.Set("name", value.OfString(""))
		p.Set("message", value.OfInt(int64(i)))
		p.Set("start", value.OfInt(0))
		p.Set("end", value.OfInt(int64(len(m.content))))
		p.Set("text", value.OfString(""))
		p.Set("tokens", value.OfInt(0))
		p.Set("included", value.OfBool(true))
		p.Set("reason", said)
		p.Set("origins", m.sources())
		parts = append(parts, value.OfMap(p))
	}
	return value.OfList(parts...)
}

// origins returns the [calls.Origin] list of an entry's text.
func (c *candidate) origins() value.Value {
	if c.expanded != nil {
		return value.Must(c.expanded)
	}
	return originOf(c.pointer+"/content", len(c.content), false)
}

// sources returns the [calls.Origin] list of a message of the history: its content, or the
// JSON of that.
func (m *message) sources() value.Value {
	if m.origins != nil {
		return value.Must(m.origins)
	}
	pointer := "/history/" + strconv.Itoa(m.index) + "/content"
	if m.given.Kind() == value.Object || m.given.Kind() == value.List {
		return value.Must(calls.TracedJSON(m.given, func(below string) calls.Origin {
			return calls.Origin{Pointer: pointer + below}
		}).Origins)
	}
	return originOf(pointer, len(m.content), m.given.Kind() != value.String)
}

// originOf returns a list of one [calls.Origin], that of a whole text.
func originOf(pointer string, size int, computed bool) value.Value {
	o := value.NewMap(3)
	o.Set("start", value.OfInt(0))
	o.Set("end", value.OfInt(int64(size)))
	o.Set("pointer", value.OfString(pointer))
	if computed {
		o.Set("computed", value.OfBool(true))
	}
	return value.OfList(value.OfMap(o))
}

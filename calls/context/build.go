package context

import (
	"context"
	"fmt"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/ask"
	"github.com/callnode/scheduler/calls/context/skill"
	"github.com/callnode/scheduler/calls/transcript"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
)

// builder puts one prompt together.
type builder struct {
	params    *Params
	env       *calls.Env
	in        Input
	workspace *place

	// remembered says that the history comes from the memory of the session.
	remembered bool

	out      Output
	system   strings.Builder
	warnings []string
	// unsent are the parts of media that cannot be used.
	unsent []calls.Part
}

// build reads all sources, cuts them to the budget, and writes the messages.
func build(ctx context.Context, env *calls.Env, params *Params, in Input) (*Output, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	b := &builder{params: params, env: env, in: in, warnings: []string{}}
	if params.Workspace != "" {
		var err error
		if b.workspace, err = open(env.Dir, params.Workspace); err != nil {
			b.warn("workspace %s: no instruction files, memory or skills are read: %v", params.Workspace, err)
		}
		defer b.workspace.close()
	}
	identity, reason, err := b.identity()
	if err != nil {
		return nil, err
	}
	active, list, later, err := b.skills(ctx)
	if err != nil {
		return nil, err
	}
	user, err := b.user(ctx, later)
	if err != nil {
		return nil, err
	}
	tail, err := b.tail()
	if err != nil {
		return nil, err
	}
	// The order of the sections is that of the text; the order of the budget is
	// that of who gets what is left over.
	bootstrap, memory, recalled := b.bootstrap(), b.memory(), b.recalled()
	past := newHistory(b.said(ctx), tail, env.Tokens)
	session := b.session()
	if err := b.budget(b.fixed(identity, session, user, tail)+past.fixed(), []cuttable{active, bootstrap, past, memory, recalled, list}); err != nil {
		return nil, err
	}
	b.add("identity", "identity", identity, reason, env.Tokens.Count(identity))
	for _, s := range []*section{bootstrap, memory, recalled, active, list} {
		b.write(s)
	}
	if session != "" {
		b.add("session", params.Channel, session, "channel and chat_id are given", env.Tokens.Count(session))
	}
	b.out.System = b.system.String()
	b.message(value.Pairs("role", "system", "content", b.out.System))
	b.past(past)
	b.current(user)
	b.follow(tail)
	b.total()
	b.out.Warnings = b.warnings
	return &b.out, nil
}

func (b *builder) warn(format string, args ...any) {
	b.warnings = append(b.warnings, fmt.Sprintf(format, args...))
}

func (b *builder) section(name, head, join, tail string, percent int) *section {
	return &section{name: name, head: head, join: join, tail: tail, percent: percent, count: b.env.Tokens}
}

func (b *builder) unit(s *section, u *unit) {
	u.tokens = b.env.Tokens.Count(u.text)
	s.units = append(s.units, u)
}

// identity is the text that the system prompt begins with, and where it comes from.
func (b *builder) identity() (text, reason string, err error) {
	if b.params.Identity != "" {
		return b.params.Identity, "parameter identity", nil
	}
	f := facts{Runtime: system()}
	if !b.runtimeInMessage() {
		f.Time = clock(b.in.Now, b.in.Language)
	}
	if b.params.Workspace != "" {
		f.Workspace = shown(b.params.Workspace)
	}
	text, parts, err := ask.Traced(b.env, "context", texts, "identity", f)
	reason = "built in"
	for _, p := range parts {
		if p.Kind == "text" && p.Name != "context identity.txt" {
			reason = "the text " + p.Name // of a user
		}
	}
	return text, reason, err
}

func (b *builder) session() string {
	if b.params.Channel == "" || b.params.ChatID == "" || b.runtimeInMessage() {
		return ""
	}
	return "\n\n## Current Session\nChannel: " + b.params.Channel + "\nChat ID: " + b.params.ChatID
}

// words are the user's message: what was said and what the call adds to it.
type words struct {
	text, runtime string
	skills        []*skill.Skill
	images        []*picture
}

// hasUser says whether there is a user's message.
func (b *builder) hasUser() bool { return b.params.CurrentMessage != nil || len(b.params.Media) > 0 }

// runtimeInMessage says whether what changes from turn to turn goes into the
// user's message instead of the system prompt.
func (b *builder) runtimeInMessage() bool { return b.params.RuntimeContext == "message" && b.hasUser() }

// user makes the user's message; nil where there is none.
func (b *builder) user(ctx context.Context, later []*skill.Skill) (*words, error) {
	images, err := b.images(ctx)
	if err != nil || !b.hasUser() {
		return nil, err
	}
	w := &words{text: b.in.CurrentMessage, skills: later, images: images}
	if b.runtimeInMessage() {
		f := facts{Time: clock(b.in.Now, b.in.Language)}
		if b.params.Channel != "" && b.params.ChatID != "" {
			f.Channel, f.ChatID = b.params.Channel, b.params.ChatID
		}
		w.runtime, err = b.local("runtime", f)
	}
	return w, err
}

func (b *builder) tail() ([]*value.Map, error) {
	var tail []*value.Map
	for i, m := range b.params.Append {
		normal, err := appended(i, m)
		if err != nil {
			return nil, err
		}
		tail = append(tail, normal)
	}
	return tail, nil
}

// fixed is what the parts cost that are never cut.
func (b *builder) fixed(identity, session string, user *words, tail []*value.Map) int {
	count := b.env.Tokens.Count
	n := count(identity) + count(session) + llm.MessageOverhead
	if user != nil {
		n += count(user.text) + count(user.runtime) + llm.MessageOverhead
		for _, x := range user.skills {
			n += count(blankLine + skillText(x))
		}
		for _, p := range user.images {
			n += p.tokens
		}
	}
	for _, m := range tail {
		n += messageTokens(m, b.env.Tokens) + llm.MessageOverhead
	}
	return n
}

// budget cuts what can be cut.
func (b *builder) budget(fixed int, all []cuttable) error {
	limit := b.params.MaxTokens
	if limit == 0 {
		return nil
	}
	if fixed > limit {
		return calls.Errorf(calls.Budget, "the identity, the current message and what is appended, with the tool calls that it answers, need %d tokens, more than max_tokens %d", fixed, limit).
			WithHint("raise max_tokens to %d or more, or shorten identity, current_message, media or append", fixed)
	}
	before := make([]int, len(all))
	for i, c := range all {
		before[i] = c.need()
	}
	allocate(all, limit-fixed)
	for i, c := range all {
		if after := c.need(); after < before[i] {
			b.warn("max_tokens %d: %s cut from %d to %d tokens", limit, c.label(), before[i], after)
		}
	}
	return nil
}

// add writes a piece of the system text and notes where it comes from.
func (b *builder) add(kind, name, text, reason string, tokens int) {
	if text == "" {
		return
	}
	start := b.system.Len()
	b.system.WriteString(text)
	b.out.Parts = append(b.out.Parts, calls.Part{
		Kind: kind, Name: name, Message: new(int), Start: start, End: b.system.Len(),
		Text: text, Tokens: tokens, Included: true, Reason: reason,
	})
}

// drop notes a piece that is not in the prompt.
func (b *builder) drop(kind, name, reason string, tokens int) {
	b.out.Parts = append(b.out.Parts, calls.Part{Kind: kind, Name: name, Tokens: tokens, Reason: reason})
}

// write writes a section, its separator before it.
func (b *builder) write(s *section) {
	written := 0
	left := len(s.included())
	if left > 0 {
		b.add("separator", s.name, sectionBreak, "between sections", s.count.Count(sectionBreak))
		b.add("heading", s.name, s.head, "heading of the section", s.count.Count(s.head))
	}
	for _, u := range s.units {
		if u.out {
			b.drop(u.kind, u.name, u.reason, u.tokens)
			continue
		}
		if written > 0 {
			b.add("separator", s.name, s.join, "between the pieces of a section", s.count.Count(s.join))
		}
		b.add(u.kind, u.name, u.text, u.reason, u.tokens)
		if u.lost > 0 {
			b.drop(u.kind, u.name, "left out: the rest, over the token budget", u.lost)
		}
		written++
	}
	if left > 0 {
		b.add("heading", s.name, s.tail, "end of the section", s.count.Count(s.tail))
	}
}

func (b *builder) message(m *value.Map) { b.out.Messages = append(b.out.Messages, m) }

// piece notes a piece of the message that is written next, which begins at start
// of the message's text.
func (b *builder) piece(kind, name, text, reason string, start, tokens int) {
	index := len(b.out.Messages)
	b.out.Parts = append(b.out.Parts, calls.Part{
		Kind: kind, Name: name, Message: &index, Start: start, End: start + len(text),
		Text: text, Tokens: tokens, Included: true, Reason: reason,
	})
}

// said is the history that is given, or else what the memory of the flow has of the
// session.
func (b *builder) said(ctx context.Context) []*value.Map {
	if b.params.History != nil {
		return b.params.History
	}
	turns, err := b.env.Memory.Recent(ctx, b.env.Vars.Scope, transcript.DefaultMaxTurns)
	if err != nil {
		b.warn("history: what was said before cannot be read: %v", err)
	}
	window := transcript.New(transcript.DefaultMaxTurns, transcript.DefaultMaxTokens, b.env.Tokens)
	for _, t := range turns {
		window.Add(t)
	}
	messages := make([]*value.Map, 0, window.Len())
	for _, t := range window.Turns() {
		messages = append(messages, value.Pairs("role", t.Role, "content", t.Content))
	}
	b.remembered = len(messages) > 0
	return messages
}

func (b *builder) past(h *history) {
	reason, from := "kept as it is", ""
	if b.remembered {
		reason, from = "said in the session, as the memory has it", " from memory"
	}
	for i, m := range h.messages {
		name := fmt.Sprintf("%d %s%s", i, role(m), from)
		if i < h.from {
			b.drop("history", name, "left out: over the token budget", h.costs[i]-llm.MessageOverhead)
			continue
		}
		b.piece("history", name, contentText(m), reason, 0, h.costs[i]-llm.MessageOverhead)
		b.message(m)
	}
}

func (b *builder) current(w *words) {
	b.out.Parts = append(b.out.Parts, b.unsent...)
	if w == nil {
		return
	}
	count := b.env.Tokens.Count
	content := make([]value.Value, 0, len(w.images)+1)
	for _, p := range w.images {
		b.piece("image", p.name, "", p.reason(), 0, p.tokens)
		content = append(content, value.OfMap(value.Pairs("type", "image_url", "image_url", value.Pairs("url", p.url))))
	}
	b.piece("message", "current_message", w.text, "the current message", 0, count(w.text))
	text := w.text
	if w.runtime != "" {
		b.piece("runtime", "", w.runtime, "runtime_context is message", len(text), count(w.runtime))
		text += w.runtime
	}
	for _, x := range w.skills {
		body := blankLine + skillText(x)
		b.piece("skill", x.Name, body, "asked for by $"+x.Name, len(text), count(body))
		text += body
	}
	if len(w.images) == 0 {
		b.message(value.Pairs("role", "user", "content", text))
		return
	}
	content = append(content, value.OfMap(value.Pairs("type", "text", "text", text)))
	b.message(value.Pairs("role", "user", "content", value.OfList(content...)))
}

func (b *builder) follow(tail []*value.Map) {
	for i, m := range tail {
		b.piece("append", fmt.Sprintf("%d %s", i, role(m)), contentText(m), "parameter append", 0, messageTokens(m, b.env.Tokens))
		b.message(m)
	}
}

func (b *builder) total() {
	b.out.Tokens = len(b.out.Messages) * llm.MessageOverhead
	for _, p := range b.out.Parts {
		if p.Included {
			b.out.Tokens += p.Tokens
		}
	}
}

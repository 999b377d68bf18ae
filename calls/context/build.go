package context

import (
	"context"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/internal/skill"
	"github.com/callnode/scheduler/llm/value"
)

// buildPrompt is build_system_prompt and build_messages of the documents. It reads all sources, cuts them to the budget, and writes the messages.
func buildPrompt(ctx context.Context, env *calls.Env, params *Params, in Input) (*Output, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	b := &builder{params: params, env: env, in: in, warnings: []string{}}
	if params.Workspace != "" {
		var err error
		b.workspace, err = openDir(env.Dir, params.Workspace)
		if err != nil {
			b.warn("workspace %s: no instruction files, memory or skills are read: %v", params.Workspace, err)
		}
		defer b.workspace.close()
	}
	identity, err := b.identityText(ctx)
	if err != nil {
		return nil, err
	}
	active, list, later, err := b.skillSections(ctx)
	if err != nil {
		return nil, err
	}
	user, err := b.userMessage(ctx, later)
	if err != nil {
		return nil, err
	}
	tail, err := b.appendedMessages()
	if err != nil {
		return nil, err
	}
	// The order of the sections is their order in the text; the order of the budget decides which gets the
	// remaining tokens.
	bootstrap, memory, recalled := b.bootstrapSection(), b.memorySection(), b.recalledSection()
	past := newHistory(b.historyMessages(ctx, tail), tail, env.Tokens)
	session := b.sessionText()
	if err := b.applyBudget(b.fixedTokens(identity.text, session, user, tail)+past.fixedTokens(), []shrinkable{active, bootstrap, past, memory, recalled, list}); err != nil {
		return nil, err
	}
	before, after := b.surroundings()
	b.addSystemText("slot", "before_char", before, env.Say("parameter slots"), env.Tokens.Count(before),
		calls.FromParam("/slots/before_char", params.Slots.BeforeChar)...)
	b.addSystemText("identity", "identity", identity.text, identity.reason, env.Tokens.Count(identity.text), identity.origins...)
	b.addSystemText("slot", "after_char", after, env.Say("parameter slots"), env.Tokens.Count(after),
		shiftOrigins(calls.FromParam("/slots/after_char", params.Slots.AfterChar), len(sectionBreak))...)
	for _, s := range []*section{bootstrap, memory, recalled, active, list} {
		b.writeSection(s)
	}
	if session != "" {
		b.addSystemText("session", params.Channel, session, b.env.Say("channel and chat_id are given"), env.Tokens.Count(session), b.sessionOrigins(session)...)
	}
	b.out.System = b.system.String()
	b.addMessage(value.Pairs("role", "system", "content", b.out.System))
	b.writeHistory(past)
	b.writeUserMessage(user)
	b.writeAppended(tail)
	b.countTokens()
	b.out.Warnings = b.warnings
	return &b.out, nil
}

// identityText returns the text that the system prompt begins with: _get_identity in the
// documents.
func (b *builder) identityText(ctx context.Context) (tracedText, error) {
	if given := b.params.Identity; given != "" {
		return tracedText{given, b.env.Say("parameter identity"), calls.FromParam("/identity", given)}, nil
	}
	f := facts{Runtime: platformName(), Tools: b.in.Tools}
	if !b.runtimeInMessage() {
		f.Time = formatClock(b.in.Now, b.in.Language)
	}
	if b.params.Workspace != "" {
		f.Workspace = b.shownPath(b.params.Workspace)
	}
	return b.renderTraced(ctx, "identity", f)
}

func (b *builder) sessionText() string {
	if b.params.Channel == "" || b.params.ChatID == "" || b.runtimeInMessage() {
		return ""
	}
	return sessionHead + b.params.Channel + sessionChat + b.params.ChatID
}

const (
	sessionHead = "\n\n## Current Session\nChannel: "
	sessionChat = "\nChat ID: "
)

func (b *builder) sessionOrigins(session string) []calls.Origin {
	channel := shiftOrigins(calls.FromParam("/channel", b.params.Channel), len(sessionHead))
	chat := shiftOrigins(calls.FromParam("/chat_id", b.params.ChatID), len(session)-len(b.params.ChatID))
	return append(channel, chat...)
}

// userMessage makes the user's message; nil if there is none.
func (b *builder) userMessage(ctx context.Context, later []*skill.Skill) (*userWords, error) {
	images, err := b.prepareImages(ctx)
	if err != nil || !b.hasUser() {
		return nil, err
	}
	w := &userWords{text: b.in.CurrentMessage, skills: later, images: images}
	if b.runtimeInMessage() {
		f := facts{Time: formatClock(b.in.Now, b.in.Language)}
		if b.params.Channel != "" && b.params.ChatID != "" {
			f.Channel, f.ChatID = b.params.Channel, b.params.ChatID
		}
		w.runtime, err = b.renderTraced(ctx, "runtime", f)
	}
	return w, err
}

func (b *builder) appendedMessages() ([]*value.Map, error) {
	var tail []*value.Map
	for i, m := range b.params.Append {
		normal, err := normalizeAppended(m)
		if err != nil {
			return nil, calls.Errorf(calls.Invalid, "append/%d: %w", i, err)
		}
		tail = append(tail, normal)
	}
	return tail, nil
}

// writeSection writes a section, its separator before it.
func (b *builder) writeSection(s *section) {
	written := 0
	left := len(s.included())
	if left > 0 {
		b.addSystemText("separator", s.name, sectionBreak, s.say("between sections"), s.count.Count(sectionBreak))
		b.addSystemText("heading", s.name, s.head, s.say("heading of the section"), s.count.Count(s.head), s.headOrigins...)
	}
	for _, u := range s.units {
		if u.out {
			b.addLeftOut(u.kind, u.name, u.reason, u.code, u.tokens)
			continue
		}
		if written > 0 {
			b.addSystemText("separator", s.name, s.join, s.say("between the pieces of a section"), s.count.Count(s.join))
		}
		b.addSystemText(u.kind, u.name, u.text, u.reason, u.tokens, u.origins...)
		if u.lost > 0 {
			b.addLeftOut(u.kind, u.name, s.say("left out: the rest, over the token budget"), codeBudget, u.lost)
		}
		written++
	}
	if left > 0 {
		b.addSystemText("heading", s.name, s.tail, s.say("end of the section"), s.count.Count(s.tail))
	}
}

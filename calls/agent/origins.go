package agent

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/plugins"
)

// begin makes the first messages. The session's turns from the memory are on record: a step that is tried again
// asks the model the same.
func (l *loop) begin(ctx context.Context, in Input) error {
	switch {
	case l.params.Messages != nil:
		l.warnOfRepairs("messages", l.params.Messages)
	case in.Messages != nil:
		l.before.Messages = calls.ConversationOf(l.env.Vars)
		l.warnOfRepairs("conversation", l.before.Messages)
	default:
		turns, err := calls.Once(ctx, l.env, calls.DialogueSubstep, struct{}{}, func(ctx context.Context, env *calls.Env) ([]plugins.Turn, error) {
			return env.Dialogue(ctx, in.Prompt).Turns, nil
		})
		if err != nil {
			return err
		}
		l.before = calls.Remembered(turns)
		in.Messages = in.messagesAround(l.before.Messages)
		for _, t := range turns {
			l.out.Recalled = append(l.out.Recalled, t.ID)
		}
	}
	l.out.Messages = slices.Clone(in.Messages)
	return nil
}

// warnOfRepairs warns of messages that are not sent as they were given.
func (l *loop) warnOfRepairs(name string, given []*value.Map) {
	_, notes := calls.RepairMessages(given, nil)
	for _, n := range notes {
		l.out.Warnings = append(l.out.Warnings, l.env.Say("%s[%d]: %s", name, n.Index, n.Text))
		l.env.Warn("messages", "%s[%d]: %s", name, n.Index, n.Text)
	}
}

// dialogueOf returns the conversation before the prompt of a recorded step.
func (p Params) dialogueOf(of calls.Record, side string, out *Output) (before calls.Dialogue) {
	if p.Messages != nil || of.Seen == nil {
		return before
	}
	before.Messages = calls.ConversationOf(of.Seen())
	if len(before.Messages) > 0 || side != "output" {
		return before
	}
	first := 0
	if p.System != "" {
		first = 1
	}
	turns := make([]plugins.Turn, len(out.Recalled))
	for i, id := range out.Recalled {
		turns[i].ID = id
		if first+i < len(out.Messages) {
			turns[i].Content = calls.MessageText(out.Messages[first+i])
		}
	}
	return calls.Remembered(turns)
}

// firstParts returns the parts of the messages that the work begins with.
func (p Params) firstParts(before calls.Dialogue) (parts []calls.Part) {
	if p.Messages != nil {
		kept, _ := calls.RepairMessages(p.Messages, nil)
		for i, m := range kept {
			parts = append(parts, calls.MessagePart(i, calls.Origin{Pointer: fmt.Sprintf("/messages/%d", m.Index)}))
		}
		return parts
	}
	if p.System != "" {
		parts = append(parts, calls.NewPart(0, "", calls.TracedParam("/system", p.System)))
	}
	kept, _ := before.Repaired(nil)
	for _, m := range kept {
		parts = append(parts, calls.MessagePart(len(parts), before.Origin(m.Index, "")))
	}
	prompt := calls.MessagePart(len(parts), calls.Origin{Kind: calls.OriginName, Name: "question"})
	if p.Prompt != "" {
		prompt = calls.NewPart(len(parts), "", calls.TracedParam("/prompt", p.Prompt))
	}
	return append(parts, prompt)
}

// addedMessage describes a message that the work has added: the answer of a round, or the result of a tool use.
type addedMessage struct {
	round    int
	isResult bool
	tool     string
	used     usedTool
	// pictures are the uses that the pictures of the message are of, one for each; nil in a message without.
	pictures []usedTool
}

// addedMessages describes the messages that the work has added, from the first.
func (o *Output) addedMessages(first int) (all []addedMessage) {
	uses := usesOf(o.Rounds)
	round, done := 0, 0
	var shown []usedTool
	for _, m := range o.Messages[min(first, len(o.Messages)):] {
		added := addedMessage{round: round}
		added.tool, added.isResult = toolOf(value.OfMap(m))
		switch {
		case !added.isResult && len(shown) > 0:
			added.pictures, shown = shown, nil
		case !added.isResult:
			round++
		case done < len(uses):
			added.used = uses[done]
			shown = append(shown, slices.Repeat([]usedTool{added.used}, added.used.Pictures)...)
			done++
		}
		all = append(all, added)
	}
	return all
}

// usedTool is a use of a tool, with the piece of work in which it was used.
type usedTool struct {
	Use
	piece string
}

// resultPart returns the part of a message with a tool use's result. Text that the tool has not given is the
// agent's.
func resultPart(message int, m addedMessage, text string) calls.Part {
	result := calls.Traced{Text: text}
	if m.used.NotRun {
		return calls.NewPart(message, "refusal", result)
	}
	result.Origins = m.used.resultOrigins(m.tool, text)
	result.Origins[0].End = len(text) - m.used.Added
	return calls.NewPart(message, "tool", result)
}

// pictureParts returns the parts of a message with pictures.
func pictureParts(message int, pictures []usedTool) []calls.Part {
	parts := make([]calls.Part, len(pictures))
	for i, used := range pictures {
		parts[i] = calls.Part{Kind: "tool", Message: &message, At: fmt.Sprintf("/content/%d", i), Included: true, Origins: []calls.Origin{used.origin()}}
	}
	return parts
}

// origin returns the source of a picture that a tool has given.
func (u usedTool) origin() calls.Origin {
	return calls.Origin{Kind: calls.OriginTool, Name: sentName(u.Name), Use: u.piece}
}

// pictureOrigins returns the origins of a member of a message with pictures, such as content/0/image_url/url.
func pictureOrigins(pictures []usedTool, member string) []calls.Origin {
	below, isContent := strings.CutPrefix(member, "content/")
	number, _, _ := strings.Cut(below, "/")
	i, err := strconv.Atoi(number)
	if !isContent || err != nil || i >= len(pictures) {
		return nil
	}
	return []calls.Origin{pictures[i].origin()}
}

// resultOrigins returns the origins of a tool's result, as a finished step has it.
func (u usedTool) resultOrigins(tool, result string) []calls.Origin {
	if u.NotRun {
		return nil
	}
	o := calls.Origin{Kind: calls.OriginTool, Name: tool, Use: u.piece}
	if u.Added > 0 { // it is at the end, behind text that may have masks of secrets
		o.End = max(len(result)-u.Added, 1)
	}
	return []calls.Origin{o}
}

// madeOfAnswer is the source of members that differ from the model's own text.
var madeOfAnswer = calls.Origin{Kind: calls.OriginAnswer, Computed: true}

// alteredMembers returns the pointers of the members that were sent otherwise than the model has written them.
func alteredMembers(sent value.Value, written Use) (pointers []string) {
	for pointer, was := range map[string]string{"/function/name": written.Name, "/function/arguments": written.Arguments} {
		is, _ := sent.At(pointer)
		if text, _ := is.Str(); text != was {
			pointers = append(pointers, pointer)
		}
	}
	return pointers
}

// vendorParts returns the parts of the members with which an answer goes back to its vendor,
// for example response_items with the thoughts of the model.
func vendorParts(i int, message value.Value) (parts []calls.Part) {
	for name := range message.Map().All() {
		switch name {
		case "role", "content", "tool_calls":
		default:
			parts = append(parts, calls.Part{
				Kind: "answer", Message: &i, At: value.FormatPointer(name), Included: true,
				Origins: []calls.Origin{{Kind: calls.OriginAnswer}},
			})
		}
	}
	return parts
}

// toolOf returns the tool whose result is in a message.
func toolOf(message value.Value) (name string, ok bool) {
	role, _ := message.Get("role")
	given, _ := message.Get("name")
	name, _ = given.Str()
	kind, _ := role.Str()
	return name, kind == "tool"
}

// outputOrigins returns the origins of the messages: parameters, answers of the model, results of tools.
func outputOrigins(_ context.Context, of calls.Record, pointer string) []calls.Origin {
	switch pointer {
	case "/input/system":
		return of.OriginOfParam("/system")
	case "/input/prompt":
		return of.OriginOfParamOr("/prompt", "question")
	}
	if use, ok := strings.CutSuffix(pointer, "/result"); ok {
		return resultOfUse(of.Output, strings.TrimPrefix(use, "/output"))
	}
	side, at, ok := strings.Cut(strings.TrimPrefix(pointer, "/"), "/messages/")
	number, below, _ := strings.Cut(at, "/")
	i, err := strconv.Atoi(number)
	var p Params
	if !ok || err != nil || value.Decode(of.Params, &p) != nil {
		return nil
	}
	var out Output
	if side == "output" && value.Decode(of.Output, &out) != nil {
		return nil
	}
	parts := p.firstParts(p.dialogueOf(of, side, &out))
	if i < len(parts) {
		o := parts[i].Origins[0]
		o.Start, o.End = 0, 0
		isWhole := p.Messages != nil || o.Kind == calls.OriginConversation
		if isWhole {
			o.Pointer += "/" + below
		} else if below != "content" {
			return nil
		}
		return []calls.Origin{o}
	}
	if side != "output" {
		return nil
	}
	message, _ := of.Output.At("/messages/" + number)
	all := out.addedMessages(len(parts))
	if i-len(parts) >= len(all) {
		return nil
	}
	added := all[i-len(parts)]
	if added.isResult && below == "content" {
		content, _ := message.Get("content")
		text, _ := content.Str()
		return added.used.resultOrigins(added.tool, text)
	}
	if len(added.pictures) > 0 {
		return pictureOrigins(added.pictures, below)
	}
	return originOfMember(message, below, added.round, out.Rounds)
}

// resultOfUse returns the origins of the result of the tool use at a pointer of the output.
func resultOfUse(output value.Value, pointer string) []calls.Origin {
	var out Output
	var round, use int
	_, err := fmt.Sscanf(pointer, "/rounds/%d/tool_calls/%d", &round, &use)
	if isKnown := err == nil && value.Decode(output, &out) == nil && round < len(out.Rounds) && use < len(out.Rounds[round].ToolCalls); !isKnown {
		return nil
	}
	uses := usesOf(out.Rounds)
	for _, before := range out.Rounds[:round] {
		uses = uses[len(before.ToolCalls):]
	}
	return uses[use].resultOrigins(uses[use].Name, uses[use].Result)
}

// usesOf returns the uses of tools of rounds, in their order.
func usesOf(rounds []Round) (uses []usedTool) {
	counts := map[string]int{}
	for _, round := range rounds {
		counts[calls.RoundSubstep]++
		for _, u := range round.ToolCalls {
			name := calls.ToolSubstep(u.Name)
			counts[name]++
			uses = append(uses, usedTool{u, fmt.Sprintf("%s-%d", name, counts[name])})
		}
	}
	return uses
}

// isAltered reports whether a member of the message of a round, or a value in it, differs from the model's own
// text.
func isAltered(message value.Value, member string, round int, rounds []Round) bool {
	list, _ := message.Get("tool_calls")
	for i, sent := range list.List() {
		if round >= len(rounds) || i >= len(rounds[round].ToolCalls) {
			break
		}
		for _, pointer := range alteredMembers(sent, rounds[round].ToolCalls[i]) {
			if altered := fmt.Sprintf("tool_calls/%d%s", i, pointer); altered == member || strings.HasPrefix(altered, member+"/") {
				return true
			}
		}
	}
	return false
}

// originOfMember returns the origin of a member of a message that the work has added.
func originOfMember(message value.Value, member string, round int, rounds []Round) []calls.Origin {
	if member == "role" {
		return nil
	}
	if member != "content" { // the calls of the model
		if isAltered(message, member, round, rounds) {
			return []calls.Origin{madeOfAnswer}
		}
		return []calls.Origin{{Kind: calls.OriginAnswer, From: -1}}
	}
	return []calls.Origin{{Kind: calls.OriginAnswer}}
}

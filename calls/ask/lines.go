package ask

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
)

// Line is one utterance of a speaker.
type Line struct {
	Who  string `json:"who"`
	Text string `json:"text"`
}

// TracedLine is a [Line] whose texts know their origins.
type TracedLine struct{ Who, Text calls.Traced }

// readMessages returns the lines of messages; source is the origin of a member of a message, such as /content. It
// leaves out messages that are not dialogue: instructions for the model and messages without text.
func readMessages(messages []*value.Map, source func(message int, member string) calls.Origin) (lines []TracedLine) {
	for i, m := range messages {
		role, _ := m.Get("role")
		who, _ := role.Str()
		if who == "system" || who == "developer" || who == "thinking" {
			continue
		}
		content, _ := m.Get("content")
		given, _ := content.Str()
		text := tracedFrom(source(i, "/content"), given)
		for j, part := range content.List() {
			piece, _ := part.Get("text")
			s, _ := piece.Str()
			text = text.Append(calls.Traced{Text: "\n"}, tracedFrom(source(i, fmt.Sprintf("/content/%d/text", j)), s)).TrimSpace()
		}
		if strings.TrimSpace(text.Text) != "" {
			lines = append(lines, TracedLine{tracedFrom(source(i, "/role"), who), text})
		}
	}
	return lines
}

// tracedFrom returns a text that is all of its source.
func tracedFrom(source calls.Origin, text string) calls.Traced {
	if text == "" {
		return calls.Traced{}
	}
	source.End = len(text)
	return calls.Traced{Text: text, Origins: []calls.Origin{source}}
}

// paramMessages returns the source of messages that a parameter has.
func paramMessages(name string) func(message int, member string) calls.Origin {
	return func(message int, member string) calls.Origin {
		return calls.Origin{Pointer: fmt.Sprintf("/%s/%d%s", name, message, member)}
	}
}

// FormatDialogue writes the dialogue before the question as text for the model, within a budget of tokens: the
// messages that the step gives in the parameter messages, else [calls.Env.Dialogue]. The text cannot end the XML
// element of that name that a prompt puts around it.
func FormatDialogue(ctx context.Context, env *calls.Env, messages []*value.Map, budget int, element string) calls.Traced {
	source := paramMessages("messages")
	if messages == nil {
		before := env.Dialogue(ctx, env.Vars.Question)
		messages, source = before.Messages, before.Origin
	}
	lines := readMessages(messages, source)
	kept, left := keepNewest(lines, max(budget, llm.MessageOverhead), env.Tokens)
	if left > 0 {
		env.Warn("cut", "of %d messages before the question, the oldest %d were not shown: %d tokens are the limit", len(lines), left, budget)
	}
	return FormatLines(kept, element)
}

// readRecords returns the lines of finished steps: their outputs, as text if the output is one.
func readRecords(records []calls.FinishedStep) (lines []TracedLine) {
	for i, r := range records {
		who := calls.TracedName("history", fmt.Sprintf("/%d/name", i), r.Name)
		if r.Name == "" {
			who = calls.TracedName("history", fmt.Sprintf("/%d/id", i), r.ID)
		}
		if text := RecordText(r); strings.TrimSpace(text.Text) != "" {
			lines = append(lines, TracedLine{who, text})
		}
	}
	return lines
}

// RecordText returns the output of a finished step: its text, else its JSON; nothing if it had no output.
func RecordText(r calls.FinishedStep) calls.Traced {
	output, _ := r.Output.Get("text")
	if text, isText := output.Str(); isText {
		return calls.TracedName(r.ID, "/text", text)
	}
	if r.Output.Map().Len() == 0 {
		return calls.Traced{}
	}
	return RecordJSON(r)
}

// RecordJSON returns the output of a finished step as JSON. It leaves out the provider of a model's answer: a
// prompt is the same whichever provider of a list has answered the step before.
func RecordJSON(r calls.FinishedStep) calls.Traced {
	output := r.Output
	_, isAnswer := output.Get("finish_reason")
	if _, named := output.Get("provider"); named && isAnswer {
		output = value.OfMap(output.Map().Clone())
		output.Map().Delete("provider")
	}
	return calls.TracedJSON(output, func(pointer string) calls.Origin {
		return calls.Origin{Kind: calls.OriginName, Name: r.ID, Pointer: pointer}
	})
}

func plainLines(traced []TracedLine) []Line {
	var lines []Line
	for _, l := range traced {
		lines = append(lines, Line{l.Who.Text, l.Text.Text})
	}
	return lines
}

// keepNewest keeps the newest lines that fit into a budget of tokens, oldest first, and returns how many it left
// out. If the last line is too long by itself, its beginning stays.
func keepNewest(lines []TracedLine, budget int, tokens llm.Counter) (kept []TracedLine, left int) {
	room, from := budget, len(lines)
	for from > 0 {
		cost := tokens.Count(lines[from-1].Text.Text) + llm.MessageOverhead
		if cost > room {
			break
		}
		room -= cost
		from--
	}
	if from == len(lines) && from > 0 {
		last := lines[from-1]
		last.Text = last.Text.Truncate(budget-llm.MessageOverhead, tokens)
		return []TracedLine{last}, from - 1
	}
	return lines[from:], from
}

// FormatLines writes lines as text for the model. The text cannot end the XML element of that name that a prompt
// puts around it.
func FormatLines(lines []TracedLine, element string) calls.Traced {
	texts := make([]calls.Traced, len(lines))
	for i, line := range lines {
		if line.Who.Text != "" {
			texts[i] = line.Who.Append(calls.Traced{Text: ": "})
		}
		texts[i] = texts[i].Append(line.Text)
	}
	return EscapeElement(calls.JoinTraced(texts, "\n"), element)
}

// FormatNewest writes the newest of the lines that fit as text for the model, and returns how many it left out; if
// there were some, the step gets a warning. The text cannot end the XML element of that name that a prompt puts
// around it.
func (s Source) FormatNewest(env *calls.Env, lines []TracedLine, element string) (text calls.Traced, left int) {
	kept, left := keepNewest(lines, s.MaxInputTokens, env.Tokens)
	if left > 0 {
		env.Warn("cut", "of %d entries, the oldest %d were not read: max_input_tokens is %d", len(lines), left, s.MaxInputTokens)
	}
	if n := len(kept); n > 0 && len(kept[n-1].Text.Text) < len(lines[len(lines)-1].Text.Text) {
		env.Warn("cut", "only the beginning of the newest entry was read: max_input_tokens is %d", s.MaxInputTokens)
	}
	return FormatLines(kept, element), left
}

// EscapeElement makes a text harmless inside the XML element of that name.
func EscapeElement(text calls.Traced, element string) calls.Traced {
	return text.ReplaceAll("</"+element, "<\\/"+element)
}

// Source is the text that a call reads: parameters that its own embed.
type Source struct {
	Text           string       `json:"text,omitempty" doc:"The text to read. Without it and messages: the conversation that came with the question (in a flow with memory, without one, the last turns of the session), the question, and what the finished steps before this one put out." example:"Lin moved to Hangzhou in May."`
	Messages       []*value.Map `json:"messages,omitempty" doc:"The chat messages to read, oldest first: {role, content}."`
	MaxInputTokens int          `json:"max_input_tokens,omitempty" default:"8000" min:"100" max:"10000000" doc:"How much is read, in tokens; of more, the newest."`
}

// CheckSource is the [calls.Info] Check of a call with a [Source]. It refuses messages that say nothing in the way of messages: they
// would be left out without a word.
func CheckSource(params value.Value, env calls.LintEnv) (problems []schema.Problem) {
	messages, _ := params.Get("messages")
	for i, m := range messages.List() {
		at := fmt.Sprintf("/messages/%d", i)
		if m.Kind() != value.Object || env.IsComputed(at+"/content") { // the schema refuses all but objects
			continue
		}
		content, has := m.Get("content")
		_, uses := m.Get("tool_calls")
		isText := content.Kind() == value.String || content.IsNull()
		notParts := slices.ContainsFunc(content.List(), func(part value.Value) bool { return part.Kind() != value.Object })
		if !has && !uses {
			problems = append(problems, schema.Problem{Pointer: at}.WithMessage("the message has no content").
				WithHint("messages are {role, content}; for anything else there is text"))
			continue
		}
		isParts := content.Kind() == value.List && !notParts
		if !isText && !isParts {
			problems = append(problems, schema.Problem{Pointer: at}.WithMessage("the content is of type %s, want text or a list of parts", content.Kind()))
		}
	}
	return problems
}

// Lines returns the lines to read.
func (s Source) Lines(vars *calls.Vars) []Line { return plainLines(s.tracedLines(vars)) }

// InputOrigins returns the origins of a text of the lines, as [Source.Lines] gives them, in the input
// of a step: of the member at a pointer such as /3/text.
func (s Source) InputOrigins(of calls.Record, pointer string) []calls.Origin {
	vars := &calls.Vars{}
	if of.Seen != nil {
		vars = of.Seen()
	}
	number, member, _ := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
	i, err := strconv.Atoi(number)
	lines := s.tracedLines(vars)
	if err != nil || i < 0 || i >= len(lines) {
		return nil
	}
	switch member {
	case "who":
		return lines[i].Who.Origins
	case "text":
		return lines[i].Text.Origins
	}
	return nil
}

// AllLines returns the lines to read, including the session's lines in the memory if the request brought no
// conversation.
func (s Source) AllLines(ctx context.Context, env *calls.Env) []TracedLine {
	lines := s.tracedLines(env.Vars)
	if s.hasOwn() {
		return lines
	}
	if before := env.Dialogue(ctx, env.Vars.Question); before.IsRemembered() {
		lines = append(readMessages(before.Messages, before.Origin), lines...)
	}
	return lines
}

// hasOwn reports whether the parameters give the text to read.
func (s Source) hasOwn() bool { return s.Messages != nil || s.Text != "" }

// tracedLines returns the text that the parameters give, else the conversation, the question and the outputs of
// finished steps.
func (s Source) tracedLines(vars *calls.Vars) []TracedLine {
	if !s.hasOwn() {
		lines := readMessages(calls.ConversationOf(vars), calls.Dialogue{}.Origin)
		if vars.Question != "" {
			lines = append(lines, TracedLine{calls.Traced{Text: "user"}, calls.TracedName("question", "", vars.Question)})
		}
		return append(lines, readRecords(vars.History())...)
	}
	lines := readMessages(s.Messages, paramMessages("messages"))
	if strings.TrimSpace(s.Text) != "" {
		lines = append(lines, TracedLine{Text: calls.TracedParam("/text", s.Text)})
	}
	return lines
}

package ask

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
)

// Line is what somebody said.
type Line struct {
	Who  string `json:"who"`
	Text string `json:"text"`
}

// Messages returns the lines of chat messages. What is not dialogue, instructions for the
// model and messages without text, is left out.
func Messages(messages []*value.Map) (lines []Line) {
	for _, m := range messages {
		role, _ := m.Get("role")
		who, _ := role.Str()
		if who == "system" || who == "developer" || who == "thinking" {
			continue
		}
		content, _ := m.Get("content")
		text, _ := content.Str()
		for _, part := range content.List() {
			piece, _ := part.Get("text")
			s, _ := piece.Str()
			text = strings.TrimSpace(text + "\n" + s)
		}
		if strings.TrimSpace(text) != "" {
			lines = append(lines, Line{who, text})
		}
	}
	return lines
}

// Records returns the lines of finished steps: what they put out, as text where it is
// one.
func Records(records []calls.FinishedStep) (lines []Line) {
	for _, r := range records {
		who := r.Name
		if who == "" {
			who = r.ID
		}
		output, _ := r.Output.Get("text")
		text, isText := output.Str()
		if !isText && r.Output.Map().Len() > 0 {
			text = r.Output.JSON()
		}
		if strings.TrimSpace(text) != "" {
			lines = append(lines, Line{who, text})
		}
	}
	return lines
}

// Newest keeps the newest lines that fit into a budget of tokens, oldest first, and
// tells how many it left out. Of a last line that is too long by itself, the
// beginning stays.
func Newest(lines []Line, budget int, tokens llm.Counter) (kept []Line, left int) {
	room, from := budget, len(lines)
	for from > 0 {
		cost := tokens.Count(lines[from-1].Text) + llm.MessageOverhead
		if cost > room {
			break
		}
		room -= cost
		from--
	}
	if from == len(lines) && from > 0 {
		last := lines[from-1]
		last.Text, _ = llm.TruncateTokens(last.Text, budget-llm.MessageOverhead, tokens)
		return []Line{last}, from - 1
	}
	return lines[from:], from
}

// Talk writes lines as text for the model. What stands in it cannot end the XML
// element of that name that a prompt puts around it.
func Talk(lines []Line, element string) string {
	var b strings.Builder
	for i, line := range lines {
		if i > 0 {
			b.WriteString("\n")
		}
		if line.Who != "" {
			b.WriteString(line.Who + ": ")
		}
		b.WriteString(line.Text)
	}
	return Inside(b.String(), element)
}

// Inside makes a text harmless inside the XML element of that name.
func Inside(text, element string) string {
	return strings.ReplaceAll(text, "</"+element, "<\\/"+element)
}

// Source is what a call reads: parameters that its own embed.
type Source struct {
	Text           string       `json:"text,omitempty" doc:"The text to read. Without it and messages: the question of the run and what the finished steps before this one put out."`
	Messages       []*value.Map `json:"messages,omitempty" doc:"The chat messages to read, oldest first: {role, content}."`
	MaxInputTokens int          `json:"max_input_tokens,omitempty" default:"8000" min:"100" max:"10000000" doc:"How much is read, in tokens; of more, the newest."`
}

// Validate refuses messages that say nothing in the way of messages: they would be
// left out without a word.
func (s Source) Validate() error {
	for i, m := range s.Messages {
		content, has := m.Get("content")
		_, uses := m.Get("tool_calls")
		isText := content.Kind() == value.String || content.IsNull()
		notParts := slices.ContainsFunc(content.List(), func(part value.Value) bool { return part.Kind() != value.Object })
		if !has && !uses {
			return calls.Errorf(calls.Invalid, "messages/%d: the message has no content", i).
				WithHint("messages are {role, content}; for anything else there is text")
		}
		if !isText && (content.Kind() != value.List || notParts) {
			return calls.Errorf(calls.Invalid, "messages/%d: the content is of type %s, want text or a list of parts", i, content.Kind())
		}
	}
	return nil
}

// Lines returns what there is to read.
func (s Source) Lines(vars *calls.Vars) []Line {
	var lines []Line
	if s.Messages == nil && s.Text == "" {
		lines = Records(vars.History())
		if vars.Question != "" {
			lines = append([]Line{{"user", vars.Question}}, lines...)
		}
		return lines
	}
	lines = Messages(s.Messages)
	if strings.TrimSpace(s.Text) != "" {
		lines = append(lines, Line{Text: s.Text})
	}
	return lines
}

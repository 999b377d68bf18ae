package journal

import (
	"regexp"
	"strings"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
)

// Summary is a run in two lines, for lists: a question, a reply, and the cost. A journal keeps it beside the run, so that
// a list reads no events; it is the zero Summary for runs of older programs. It is only data.
type Summary struct {
	// Question and Reply are one line each, cut at 240 characters, without secrets and images.
	Question string `json:"question,omitempty"`
	Reply    string `json:"reply,omitempty"`
	// Error is the message of a run that failed.
	Error string `json:"error,omitempty"`
	// Usage is the total of the steps that have ended.
	Usage llm.Usage `json:"usage"`
	// Speaker is the step whose text is for the user: its output is the reply of a flow without outputs.
	Speaker string `json:"speaker,omitempty"`
}

// maxSummaryLine bounds the lines of a summary: every append may write them.
const maxSummaryLine = 240

// After returns the summary once the event happened.
func (s Summary) After(ev *Event) Summary {
	data := ev.Data
	if data == nil {
		data = &Data{}
	}
	if ev.Step != "" {
		return s.afterStep(ev, data)
	}
	switch ev.Type { //nolint:exhaustive // the others change nothing
	case FlowStarted:
		if data.Inputs != nil {
			s.Question = summaryLine(questionIn(*data.Inputs))
		}
	case FlowResumed:
		s.Reply, s.Error = "", ""
	case FlowFinished:
		if data.Outputs != nil {
			s.Reply = lineOr(replyIn(*data.Outputs), s.Reply)
		}
	case FlowFailed:
		s.Reply = summaryLine(value.OfString(data.Text))
		if data.Error != nil {
			s.Error = summaryLine(value.OfString(data.Error.Message))
		}
	}
	if data.Usage != nil {
		s.Usage = *data.Usage
	}
	return s
}

// afterStep takes an event of a step of the flow itself. Steps inside another one are left out: its usage includes
// theirs.
func (s Summary) afterStep(ev *Event, data *Data) Summary {
	if ev.Index != nil || strings.Contains(ev.Step, "/") {
		return s
	}
	if data.Usage != nil {
		s.Usage.Add(*data.Usage)
	}
	if data.ToUser {
		s.Speaker = ev.Step
	}
	if ev.Type == StepFinished && ev.Step == s.Speaker && data.Output != nil {
		text, _ := data.Output.Get("text")
		s.Reply = summaryLine(text)
	}
	return s
}

// lineOr returns the line of a text, or otherwise if the text is empty.
func lineOr(text value.Value, otherwise string) string {
	if line := summaryLine(text); line != "" {
		return line
	}
	return otherwise
}

// questionIn returns the input that is the question of the user: question, else the last of messages, else the first
// text, for example topic.
func questionIn(inputs value.Value) value.Value {
	if question, ok := inputs.Get("question"); ok {
		return question
	}
	messages, _ := inputs.Get("messages")
	if list := messages.List(); len(list) > 0 {
		content, _ := list[len(list)-1].Get("content")
		return content
	}
	return firstText(inputs)
}

// replyIn returns the output that is for the user: reply, else the first text, else all outputs.
func replyIn(outputs value.Value) value.Value {
	if reply, ok := outputs.Get("reply"); ok {
		return reply
	}
	if text := firstText(outputs); !text.IsNull() {
		return text
	}
	if outputs.Map().Len() == 0 {
		return value.Value{}
	}
	return outputs
}

// summaryLine returns a value as one line: of a message in parts its texts, of other objects their JSON. Long words of
// base64, such as images and keys, are left out.
func summaryLine(v value.Value) string {
	text, isText := v.Str()
	switch {
	case isText || v.IsNull():
	case len(v.List()) > 0 && !textOfParts(v).IsNull():
		return summaryLine(textOfParts(v))
	default:
		text = v.JSON()
	}
	const most = 16 * maxSummaryLine // the rest is beyond the line, however much white space there is
	text = longCode.ReplaceAllString(value.FirstBytes(text, most), "…")
	return value.Truncate(strings.Join(strings.Fields(text), " "), maxSummaryLine)
}

// longCode looks like base64, for example an image or a key.
var longCode = regexp.MustCompile(`[A-Za-z0-9+/=_-]{40,}`)

// textOfParts returns the texts of a list of {type: text, text: ...}; null for other lists.
func textOfParts(list value.Value) value.Value {
	var texts []string
	for _, part := range list.List() {
		text, _ := part.Get("text")
		if one, ok := text.Str(); ok {
			texts = append(texts, one)
		}
	}
	if texts == nil {
		return value.Value{}
	}
	return value.OfString(strings.Join(texts, " "))
}

func firstText(object value.Value) value.Value {
	for _, v := range object.Map().All() {
		if text, ok := v.Str(); ok && strings.TrimSpace(text) != "" {
			return v
		}
	}
	return value.Value{}
}

package explain

import (
	"fmt"
	"slices"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// promptMessage is one message with its texts: one, or several text parts.
type promptMessage struct {
	role  string
	texts []located
}

// located is a text at a pointer of a step's input or output.
type located struct {
	text, pointer string
	of            side
	// inMessage is its pointer in the message; isContent is set for text of the content.
	inMessage string
	isContent bool
	// media is the image, or other medium, that text is a placeholder for.
	media value.Value
}

// finalPrompt finds the messages in the input of a step that asks (chat), or in the output of one that builds a
// prompt (input, context, in-chat, template). s is nil if the flow of the step is not known.
func finalPrompt(s *flow.Step, got *journal.StepState) []promptMessage {
	asks := s != nil && s.Def.Info.UsesLLM
	if list, ok := got.Input.Get("messages"); ok && len(list.List()) > 0 {
		if _, builds := got.Output.Get("messages"); asks || !builds {
			return promptMessages(list, ofInput)
		}
	}
	if asks || len(got.Prompts) > 0 {
		return nil // its output is the model's words
	}
	if list, ok := got.Output.Get("messages"); ok {
		return promptMessages(list, ofOutput)
	}
	for _, name := range []string{"prompt", "system", "text"} {
		v, _ := got.Output.Get(name)
		if text, ok := v.Str(); ok {
			return []promptMessage{{role: name, texts: []located{{text: text, pointer: "/" + name, of: ofOutput}}}}
		}
	}
	return nil
}

// mediaMark returns the placeholder of a message part that is not text, for example "[image_url]".
func mediaMark(part value.Value) string {
	kind, _ := part.Get("type")
	name, _ := kind.Str()
	return "[" + name + "]"
}

// thoughtMembers are the members of an assistant message in which thoughts go back to the
// vendor that wants them.
var thoughtMembers = []string{"reasoning_content", "reasoning", "reasoning_details", "response_items", "content_blocks"}

// withoutSeals returns thoughts without the texts that only the vendor can read: people see
// how long they are, for example "(1200 bytes)".
func withoutSeals(v value.Value) value.Value {
	switch v.Kind() {
	case value.List:
		items := make([]value.Value, len(v.List()))
		for i, item := range v.List() {
			items[i] = withoutSeals(item)
		}
		return value.OfList(items...)
	case value.Object:
		m := value.NewMap(v.Map().Len())
		for name, member := range v.Map().All() {
			if text, ok := member.Str(); ok && slices.Contains(sealMembers, name) {
				member = value.OfString(fmt.Sprintf("(%d bytes)", len(text)))
			}
			m.Set(name, withoutSeals(member))
		}
		return value.OfMap(m)
	}
	return v
}

// sealMembers are the members of a thought that only the vendor can read.
var sealMembers = []string{"encrypted_content", "signature", "data"}

func promptMessages(list value.Value, of side) []promptMessage {
	out := make([]promptMessage, 0, len(list.List()))
	for i, m := range list.List() {
		roleValue, _ := m.Get("role")
		role, _ := roleValue.Str()
		message := promptMessage{role: role}
		at := fmt.Sprintf("/messages/%d", i)
		add := func(text, inMessage string, isContent bool, media value.Value) {
			message.texts = append(message.texts, located{text, at + inMessage, of, inMessage, isContent, media})
		}
		content, _ := m.Get("content")
		if text, ok := content.Str(); ok {
			add(text, "/content", true, value.Value{})
		}
		for j, part := range content.List() {
			inMessage := fmt.Sprintf("/content/%d", j)
			textValue, _ := part.Get("text")
			if text, ok := textValue.Str(); ok {
				add(text, inMessage+"/text", true, value.Value{})
				continue
			}
			add(mediaMark(part), inMessage, false, part)
		}
		if calls, ok := m.Get("tool_calls"); ok {
			add(calls.JSON(), "/tool_calls", false, value.Value{})
		}
		for _, name := range thoughtMembers {
			if thoughts, ok := m.Get(name); ok {
				add(withoutSeals(thoughts).PlainText(), "/"+name, false, value.Value{})
			}
		}
		out = append(out, message)
	}
	return out
}

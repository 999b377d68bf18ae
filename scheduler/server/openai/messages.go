package openai

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// checkMessages returns the error of the first message that the OpenAI API would refuse, because its text could not be
// read: the flow would get an empty question instead. param of the error is the place, such as messages[0].content.
func checkMessages(messages []value.Value) error {
	for i, m := range messages {
		at := fmt.Sprintf("messages[%d]", i)
		if m.Kind() != value.Object {
			return invalidMessage(at, wording.Say("%s is not an object (write {%q: %q, %q: ...})", at, "role", "user", "content"))
		}
		if roleOf(m) == "" {
			return invalidMessage(at+".role", wording.Say("%s is missing (use user, assistant or system)", at+".role"))
		}
		if err := checkContent(at+".content", m); err != nil {
			return err
		}
	}
	return nil
}

// checkContent checks the content of a message. It may be null if the message is not the user's: an assistant that
// calls tools has no text.
func checkContent(at string, message value.Value) error {
	content, _ := message.Get("content")
	_, isText := content.Str()
	mayBeNull := roleOf(message) != "user"
	isList := content.Kind() == value.List && len(content.List()) > 0
	switch {
	case isText, content.IsNull() && mayBeNull:
		return nil
	case !isList:
		return invalidMessage(at, wording.Say("%s is not a text or a list of parts", at))
	}
	for i, part := range content.List() {
		if err := checkPart(fmt.Sprintf("%s[%d]", at, i), part); err != nil {
			return err
		}
	}
	return nil
}

// checkPart checks a part of a content. As in the OpenAI API it needs a type, even if it has only a text.
func checkPart(at string, part value.Value) error {
	if part.Kind() != value.Object {
		return invalidMessage(at, wording.Say("%s is not an object (write {%q: %q, %q: ...})", at, "type", "text", "text"))
	}
	kind, _ := part.Get("type")
	name, _ := kind.Str()
	if name == "" {
		return invalidMessage(at+".type", wording.Say("%s is missing: the OpenAI API requires it (write %q: %q)", at+".type", "type", "text"))
	}
	text, _ := part.Get("text")
	if _, isText := text.Str(); name == "text" && !isText {
		return invalidMessage(at+".text", wording.Say("%s is not a text", at+".text"))
	}
	return nil
}

// invalidMessage is the answer to a message that is wrong at a place.
func invalidMessage(at string, text wording.Text) error {
	return NewError(http.StatusBadRequest, text, at, "invalid_value")
}

// textOf returns the text of a message: its content, or the texts of the parts of it.
func textOf(message value.Value) string {
	content, _ := message.Get("content")
	if text, ok := content.Str(); ok {
		return text
	}
	var texts []string
	for _, part := range content.List() {
		v, _ := part.Get("text")
		if text, ok := v.Str(); ok {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}

func roleOf(message value.Value) string {
	role, _ := message.Get("role")
	text, _ := role.Str()
	return text
}

// said is a message in a form in which two ways to send the same are equal: a text and a list of one text part, "Hi" and "Hi ".
type said struct {
	role string
	text string
	// rest is the JSON of all else that distinguishes messages: names, pictures, tool calls.
	rest string
}

// splitTalk returns the messages that were said, and the texts of the client's instructions, which are messages of the roles system and
// developer.
func splitTalk(messages []value.Value) (talk []said, instructions string) {
	for _, m := range messages {
		one := newSaid(m)
		if one.role == "system" || one.role == "developer" {
			instructions += one.text + "\n"
			continue
		}
		talk = append(talk, one)
	}
	return talk, instructions
}

func newSaid(message value.Value) said {
	var rest []value.Value
	for _, name := range []string{"name", "tool_calls", "tool_call_id"} {
		if v, _ := message.Get(name); !isNothing(v) {
			rest = append(rest, v)
		}
	}
	content, _ := message.Get("content")
	for _, part := range content.List() {
		if kind, _ := part.Get("type"); kind.PlainText() != "text" {
			rest = append(rest, part)
		}
	}
	return said{roleOf(message), plainWords(textOf(message)), value.OfList(rest...).JSON()}
}

// joinTalk returns messages as one text.
func joinTalk(talk []said) string {
	parts := make([]string, 0, 3*len(talk))
	for _, one := range talk {
		parts = append(parts, one.role, one.text, one.rest)
	}
	return value.Must(parts).JSON()
}

// plainWords returns a text whose white space does not count.
func plainWords(text string) string { return strings.Join(strings.Fields(text), " ") }

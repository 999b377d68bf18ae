package chat

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// roles are the roles that chat APIs know.
var roles = []string{"system", "developer", "user", "assistant", "tool", "function"}

// thinking is the role of notes that in-chat keeps and no model API takes.
const thinking = "thinking"

// buildMessages returns the messages as they are sent, and warnings about left-out parts and parts that vendors
// will probably refuse.
func (p Params) buildMessages() (messages []*value.Map, warnings []wording.Text, err error) {
	if p.Messages == nil { // the short form
		if p.System != "" {
			messages = append(messages, value.Pairs("role", "system", "content", p.System))
		}
		return append(messages, value.Pairs("role", "user", "content", p.User)), nil, nil
	}
	kept, notes := calls.RepairMessages(p.Messages, nil)
	dropped := 0
	for _, m := range kept {
		if isThinking(m.Map) {
			dropped++
			continue
		}
		if _, ok := m.Get("source"); ok {
			m.Map = m.Clone()
			m.Delete("source")
		}
		messages = append(messages, m.Map)
	}
	if len(messages) == 0 && len(notes) > 0 {
		return nil, nil, calls.Errorf(calls.Invalid, "messages/%d: %s", notes[0].Index, notes[0].Text).WithHint("a model needs at least one message")
	}
	if len(messages) == 0 {
		return nil, nil, calls.Errorf(calls.Invalid, "messages is empty").WithHint("a model needs at least one message")
	}
	if dropped > 0 {
		warnings = append(warnings, wording.Say("%d of the messages have the role thinking and were left out: models do not take it", dropped))
	}
	for _, n := range notes {
		warnings = append(warnings, wording.Say("messages/%d: %s", n.Index, n.Text))
	}
	return messages, warnings, nil
}

// isThinking reports whether a message is a note that no model gets.
func isThinking(m *value.Map) bool {
	role, _ := m.Get("role")
	name, _ := role.Str()
	return name == thinking
}

// inputOrigins returns the origins of the messages that were sent, and of the rest of the request: parameters.
func inputOrigins(ctx context.Context, of calls.Record, pointer string) []calls.Origin {
	at, isOfMessage := strings.CutPrefix(pointer, "/input/messages/")
	if !isOfMessage {
		return calls.ParamsAsInput(ctx, of, pointer)
	}
	number, below, _ := strings.Cut(at, "/")
	sent, err := strconv.Atoi(number)
	if err != nil {
		return nil
	}
	given, _ := of.Params.Get("messages")
	taken, _ := of.Input.Get("messages")
	if n := len(given.List()); sent < n && n == len(taken.List()) { // all were sent: there may be thousands
		return []calls.Origin{{Pointer: "/messages/" + at}}
	}
	kept, _ := calls.RepairMessages(calls.MessagesIn(given), nil)
	for _, m := range kept {
		if isThinking(m.Map) {
			continue
		}
		if sent == 0 {
			return []calls.Origin{{Pointer: fmt.Sprintf("/messages/%d/%s", m.Index, below)}}
		}
		sent--
	}
	system, _ := of.Params.Get("system")
	text, _ := system.Str()
	if !given.IsNull() {
		return nil
	}
	if text != "" && sent == 0 {
		return []calls.Origin{{Pointer: "/system"}}
	}
	return []calls.Origin{{Pointer: "/user"}}
}

// checkMessage returns an error for a message without a known role, or without content.
func checkMessage(m *value.Map) error {
	if m == nil {
		return wording.Errorf("a message must be an object {role, content}, not null")
	}
	given, _ := m.Get("role")
	role, ok := given.Str()
	if !ok {
		return wording.Errorf("the message has no role")
	}
	if role != thinking && !slices.Contains(roles, role) {
		known := wording.Say("known are %s", strings.Join(roles, ", "))
		if near := value.DidYouMean(role, roles); near != "" {
			known = wording.Of(near)
		}
		return wording.Errorf("unknown role %q (%s)", role, known)
	}
	content, _ := m.Get("content")
	switch content.Kind() {
	case value.String, value.List:
		return nil
	case value.Null:
		for _, instead := range []string{"tool_calls", "function_call", "audio"} {
			if _, ok := m.Get(instead); ok && role == "assistant" {
				return nil
			}
		}
		return wording.Errorf("the %s message has no content", role)
	default:
		return wording.Errorf("the content is of type %s, want text or a list of parts", content.Kind())
	}
}

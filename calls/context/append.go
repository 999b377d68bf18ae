package context

import (
	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
)

// normalizeAppended brings messages after the user's into the shape that providers accept. Assistant messages and
// tool results get their members in the usual order; members of their own, such as reasoning_content, stay. Other
// roles are passed on as they are. For example, {tool_call_id: a, result: 18} becomes {role: tool, tool_call_id:
// a, content: "18"}.
func normalizeAppended(m *value.Map) (*value.Map, error) {
	_, answersCall := m.Get("tool_call_id")
	switch r := roleOf(m); {
	case r == "tool", r == "" && answersCall:
		if !answersCall {
			return nil, calls.Errorf(calls.Invalid, "a tool result needs tool_call_id").
				WithHint("give it the id of the tool call that it answers")
		}
		return toolResult(m), nil
	case r == "assistant":
		return assistantMessage(m), nil
	case r == "":
		return nil, calls.Errorf(calls.Invalid, "the message has no role").
			WithHint("role is assistant or tool")
	}
	return m, nil
}

// toolResult returns the message that add_tool_result of the documents adds:
// {role, tool_call_id, name, content}. tool_name and result are
// other words for name and content. A result that is not text becomes JSON text.
func toolResult(m *value.Map) *value.Map {
	out := value.Pairs("role", "tool", "tool_call_id", memberOf(m, "tool_call_id"))
	if name, _ := m.First("name", "tool_name"); !name.IsNull() {
		out.Set("name", name)
	}
	content, _ := m.First("content", "result")
	if content.IsNull() {
		content = value.OfString("")
	} else if content.Kind() != value.String && !isParts(content) {
		content = value.OfString(content.JSON())
	}
	out.Set("content", content)
	return addRest(out, m, "tool_name", "result")
}

// assistantMessage returns the message that add_assistant_message of the documents adds:
// {role, content, tool_calls}, with an empty text without content and no member without calls.
func assistantMessage(m *value.Map) *value.Map {
	content := memberOf(m, "content")
	if content.IsNull() {
		content = value.OfString("")
	}
	out := value.Pairs("role", "assistant", "content", content)
	if list := memberOf(m, "tool_calls").List(); len(list) > 0 {
		normal := make([]value.Value, len(list))
		for i, call := range list {
			normal[i] = toolCallMember(call)
		}
		out.Set("tool_calls", value.OfList(normal...))
	}
	return addRest(out, m, "tool_calls")
}

// toolCallMember is {id, type, function: {name, arguments}} with the arguments as JSON
// text. A flat {id, name, arguments} is brought into that shape.
func toolCallMember(call value.Value) value.Value {
	m := call.Map()
	function := memberOf(m, "function").Map()
	if function == nil {
		if _, flat := m.Get("name"); !flat {
			return call
		}
		function = value.Pairs("name", memberOf(m, "name"), "arguments", memberOf(m, "arguments"))
	}
	if arguments := memberOf(function, "arguments"); arguments.Kind() != value.String {
		function = function.Clone()
		text := "{}"
		if !arguments.IsNull() {
			text = arguments.JSON()
		}
		function.Set("arguments", value.OfString(text))
	}
	out := value.Pairs("id", memberOf(m, "id"), "type", "function", "function", function)
	return value.OfMap(addRest(out, m, "name", "arguments"))
}

// addRest adds the members of m that out does not have, but for some.
func addRest(out, m *value.Map, but ...string) *value.Map {
	for _, key := range but {
		if _, has := out.Get(key); !has {
			m = m.Clone()
			m.Delete(key)
		}
	}
	for key, v := range m.All() {
		if _, has := out.Get(key); !has {
			out.Set(key, v)
		}
	}
	return out
}

// isParts reports whether content is a list of content parts.
func isParts(content value.Value) bool {
	for _, part := range content.List() {
		if _, ok := part.Get("type"); !ok {
			return false
		}
	}
	return len(content.List()) > 0
}

package responses

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/endpoint"
	"github.com/callnode/scheduler/llm/value/wording"
)

// message is a chat message in the shape of the chat-completions API. The API refuses unknown
// members, so others are not sent.
type message struct {
	Role       string            `json:"role"`
	Content    json.RawMessage   `json:"content"`
	ToolCallID string            `json:"tool_call_id"`
	ToolCalls  []toolCall        `json:"tool_calls"`
	Items      []json.RawMessage `json:"response_items"`
}

type toolCall struct {
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// inputItem is an item of the input as the API takes it: a message, a call of a tool, a
// result, or an item of an earlier answer as it came.
type inputItem = any

// translateMessages returns the input. Each message stays in its place: instructions too,
// for the member instructions of the API has one place only.
func translateMessages(raws []llm.Message) ([]inputItem, error) {
	input := []inputItem{}
	for i, raw := range raws {
		var m message
		if err := json.Unmarshal(raw, &m); err != nil {
			return nil, wording.Errorf("messages/%d: %w", i, err)
		}
		items, err := m.translate()
		if err != nil {
			return nil, wording.Errorf("messages/%d: %w", i, err)
		}
		input = append(input, items...)
	}
	if len(input) == 0 {
		return nil, wording.Errorf("the request has no messages with content")
	}
	return input, nil
}

func (m *message) translate() ([]inputItem, error) {
	switch m.Role {
	case "system", "developer", "user":
		parts, err := translateContent(m.Content, "input_text")
		if err != nil || len(parts) == 0 {
			return nil, err
		}
		return []inputItem{messageItem(m.Role, parts, "")}, nil
	case "assistant":
		return m.assistantItems()
	case "tool":
		output, err := m.toolOutput()
		if err != nil {
			return nil, err
		}
		return []inputItem{map[string]any{"type": "function_call_output", "call_id": m.ToolCallID, "output": output}}, nil
	}
	return nil, wording.Errorf("the Responses API has no role %q", m.Role)
}

// messageItem returns the item of a message; phase is "" for none.
func messageItem(role string, parts []any, phase string) inputItem {
	item := map[string]any{"type": "message", "role": role, "content": parts}
	if phase != "" {
		item["phase"] = phase
	}
	return item
}

// callItem returns the item of a call of a tool. It has no id: the server keeps nothing to
// find by it.
func callItem(call toolCall) inputItem {
	arguments := cmp.Or(strings.TrimSpace(call.Function.Arguments), "{}")
	return map[string]any{"type": "function_call", "call_id": call.ID, "name": call.Function.Name, "arguments": arguments}
}

// toolOutput returns the result of a tool: a text, or a list of parts.
func (m *message) toolOutput() (any, error) {
	var text string
	if json.Unmarshal(m.Content, &text) == nil || endpoint.IsNull(m.Content) {
		return text, nil
	}
	parts, err := translateContent(m.Content, "input_text")
	if parts == nil {
		return "", err
	}
	return parts, err
}

// translateContent takes a text, or a list of parts, and returns parts in the API's form;
// texts are of the type textType. Empty texts are left out.
func translateContent(content json.RawMessage, textType string) (parts []any, err error) {
	if endpoint.IsNull(content) {
		return nil, nil
	}
	var text string
	if json.Unmarshal(content, &text) == nil {
		return textParts(textType, text), nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(content, &list); err != nil {
		return nil, wording.Errorf("the content is neither text nor a list of parts")
	}
	for i, raw := range list {
		translated, err := translatePart(raw, textType)
		if err != nil {
			return nil, wording.Errorf("content/%d: %w", i, err)
		}
		parts = append(parts, translated...)
	}
	return parts, nil
}

func textParts(textType, text string) []any {
	if text == "" {
		return nil
	}
	return []any{map[string]any{"type": textType, "text": text}}
}

// translatePart takes {type: text, text}, {type: image_url, image_url: {url, detail}} and
// {type: file, file: {file_data, filename, file_id}}. Other parts are sent as they are.
func translatePart(raw json.RawMessage, textType string) ([]any, error) {
	var part struct {
		Type     string          `json:"type"`
		Text     string          `json:"text"`
		ImageURL json.RawMessage `json:"image_url"`
		File     json.RawMessage `json:"file"`
	}
	if err := json.Unmarshal(raw, &part); err != nil {
		return nil, wording.Errorf("a part is not an object: %w", err)
	}
	switch part.Type {
	case "text", "input_text", "output_text":
		return textParts(textType, part.Text), nil
	case "image_url":
		url := endpoint.ImageURL(part.ImageURL)
		if url == "" {
			return nil, wording.Errorf("an image_url must be {url} or a text")
		}
		var image struct {
			Detail string `json:"detail"`
		}
		_ = json.Unmarshal(part.ImageURL, &image) // the address alone has none
		return []any{map[string]any{"type": "input_image", "image_url": url, "detail": cmp.Or(image.Detail, "auto")}}, nil
	case "file":
		return []any{flatten(endpoint.MustEncode(map[string]any{"type": "input_file", "file": part.File}), "file")}, nil
	}
	return []any{raw}, nil
}

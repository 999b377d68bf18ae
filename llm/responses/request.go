package responses

import (
	"encoding/json"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/endpoint"
	"github.com/callnode/scheduler/llm/value/wording"
)

// translateRequest returns the body to send.
func (p *Provider) translateRequest(req *llm.Request, withThoughts bool) ([]byte, error) {
	if len(req.Messages) == 0 {
		return nil, wording.Errorf("the request has no messages")
	}
	if err := endpoint.CheckImages(req.Messages); err != nil {
		return nil, err
	}
	input, err := translateMessages(req.Messages)
	if err != nil {
		return nil, err
	}
	text := map[string]any{}
	members := map[string]any{
		"model": p.modelOf(req), "input": input, "stream": true, "store": false,
		"text": text, "reasoning": map[string]any{}, // for extra members to be merged with
	}
	if withThoughts {
		members["include"] = []string{"reasoning.encrypted_content"}
	}
	if req.Temperature != nil {
		members["temperature"] = *req.Temperature
	}
	if req.MaxTokens > 0 {
		members["max_output_tokens"] = req.MaxTokens
	}
	if len(req.Tools) > 0 {
		tools := make([]json.RawMessage, len(req.Tools))
		for i, raw := range req.Tools {
			tools[i], err = translateTool(raw)
			if err != nil {
				return nil, wording.Errorf("tools/%d: %w", i, err)
			}
		}
		members["tools"] = tools
	}
	if len(req.ResponseSchema) > 0 {
		text["format"] = map[string]any{"type": "json_schema", "name": "answer", "schema": req.ResponseSchema}
	}
	return endpoint.EncodeBody(members, translateExtra, p.config.Extra, req.Extra)
}

// translateTool takes {type: function, function: {name, description, parameters, strict}}.
// Tools of the vendor, such as web search, are flat already and sent as they are.
func translateTool(raw json.RawMessage) (json.RawMessage, error) {
	var tool struct {
		Function *struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
			Strict      bool            `json:"strict"`
		} `json:"function"`
	}
	if err := json.Unmarshal(raw, &tool); err != nil {
		return nil, wording.Errorf("decoding the tool: %w", err)
	}
	if tool.Function == nil {
		return raw, nil
	}
	own := struct {
		Type        string          `json:"type"`
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
		// Strict is always sent: without it the vendor may rewrite the schema.
		Strict bool `json:"strict"`
	}{"function", tool.Function.Name, tool.Function.Description, tool.Function.Parameters, tool.Function.Strict}
	if endpoint.IsNull(own.Parameters) {
		own.Parameters = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return endpoint.MustEncode(own), nil
}

// translateExtra returns a member of chat completions under the name and in the form that
// this API has for it; others as they are. For example verbosity: low becomes
// text: {verbosity: low}.
func translateExtra(name string, member json.RawMessage) (string, json.RawMessage) {
	switch name {
	case "max_tokens", "max_completion_tokens":
		return "max_output_tokens", member
	case "reasoning_effort":
		return "reasoning", within("effort", member)
	case "verbosity":
		return "text", within("verbosity", member)
	case "response_format":
		return "text", within("format", flatten(member, "json_schema"))
	case "tool_choice":
		return name, flatten(member, "function")
	}
	return name, member
}

// within returns the object {name: member}.
func within(name string, member json.RawMessage) json.RawMessage {
	return endpoint.MustEncode(map[string]json.RawMessage{name: member})
}

// flatten moves the members of the object's member inner up into it: {type: function,
// function: {name: f}} becomes {type: function, name: f}. Another value stays as it is.
func flatten(raw json.RawMessage, inner string) json.RawMessage {
	var outer, nested map[string]json.RawMessage
	if json.Unmarshal(raw, &outer) != nil || json.Unmarshal(outer[inner], &nested) != nil {
		return raw
	}
	delete(outer, inner)
	for name, member := range nested {
		outer[name] = member
	}
	return endpoint.MustEncode(outer)
}

package anthropic

import (
	"cmp"
	"encoding/json"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/endpoint"
	"github.com/callnode/scheduler/llm/value/wording"
)

// translateRequest returns the body to send.
func (p *Provider) translateRequest(req *llm.Request) ([]byte, error) {
	model := p.modelOf(req)
	if model == "" {
		return nil, wording.Errorf("the request names no model, and the provider's setting model is empty")
	}
	members := map[string]any{"model": model, "max_tokens": cmp.Or(max(req.MaxTokens, 0), p.config.MaxTokens), "stream": true}
	if req.Temperature != nil {
		members["temperature"] = *req.Temperature
	}
	system, messages, err := translateMessages(req.Messages)
	if err != nil {
		return nil, err
	}
	members["messages"] = messages
	if system != nil {
		members["system"] = system
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
		schema, err := translateSchema(req.ResponseSchema)
		if err != nil {
			return nil, err
		}
		members["output_config"] = map[string]any{"format": map[string]any{"type": "json_schema", "schema": schema}}
	}
	return endpoint.EncodeBody(members, translateExtra, p.config.Extra, req.Extra)
}

// translateTool takes {type: function, function: {name, description, parameters}}. Tools
// of the vendor, such as web search, have another form and are sent as they are.
func translateTool(raw json.RawMessage) (json.RawMessage, error) {
	var tool struct {
		Function *struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
			Strict      *bool           `json:"strict"`
		} `json:"function"`
		CacheControl json.RawMessage `json:"cache_control"`
	}
	if err := json.Unmarshal(raw, &tool); err != nil {
		return nil, wording.Errorf("decoding the tool: %w", err)
	}
	if tool.Function == nil {
		return raw, nil
	}
	own := struct {
		Name         string          `json:"name"`
		Description  string          `json:"description,omitempty"`
		InputSchema  json.RawMessage `json:"input_schema"`
		Strict       *bool           `json:"strict,omitempty"`
		CacheControl json.RawMessage `json:"cache_control,omitempty"`
	}{tool.Function.Name, tool.Function.Description, tool.Function.Parameters, tool.Function.Strict, notNull(tool.CacheControl)}
	if endpoint.IsNull(own.InputSchema) {
		own.InputSchema = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return endpoint.MustEncode(own), nil
}

// translateExtra returns a member that callers of any provider use, such as tool_choice,
// under the name and in the form that this API has for it; others as they are.
func translateExtra(name string, member json.RawMessage) (string, json.RawMessage) {
	switch name {
	case "tool_choice":
		return name, translateToolChoice(member)
	case "max_completion_tokens":
		return "max_tokens", member
	case "stop":
		var one string
		if json.Unmarshal(member, &one) == nil && !endpoint.IsNull(member) {
			return "stop_sequences", endpoint.MustEncode([]string{one})
		}
		return "stop_sequences", member
	}
	return name, member
}

// translateToolChoice takes auto, none, required and {type: function, function: {name}}.
func translateToolChoice(member json.RawMessage) json.RawMessage {
	type choice struct {
		Type string `json:"type"`
		Name string `json:"name,omitempty"`
	}
	var word string
	if json.Unmarshal(member, &word) == nil && !endpoint.IsNull(member) {
		if word == "required" {
			word = "any"
		}
		return endpoint.MustEncode(choice{Type: word})
	}
	var function struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if json.Unmarshal(member, &function) == nil && function.Function.Name != "" {
		return endpoint.MustEncode(choice{Type: "tool", Name: function.Function.Name})
	}
	return member
}

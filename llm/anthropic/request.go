package anthropic

import (
	"encoding/json"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/endpoint"
	"github.com/callnode/scheduler/llm/value/wording"
)

// translateRequest returns a request in the API's shape and the body to send, which has
// the extra members too.
func (p *Provider) translateRequest(req *llm.Request) (params sdk.MessageNewParams, body []byte, err error) {
	model := req.Model
	if model == "" {
		model = p.config.Model
	}
	if model == "" {
		return params, nil, wording.Errorf("the request names no model, and the provider's setting model is empty")
	}
	params.Model = model
	params.MaxTokens = int64(p.config.MaxTokens)
	if req.MaxTokens > 0 {
		params.MaxTokens = int64(req.MaxTokens)
	}
	if req.Temperature != nil {
		params.Temperature = param.NewOpt(*req.Temperature)
	}
	params.System, params.Messages, err = translateMessages(req.Messages)
	if err != nil {
		return params, nil, err
	}
	for i, raw := range req.Tools {
		tool, err := translateTool(raw)
		if err != nil {
			return params, nil, wording.Errorf("tools/%d: %w", i, err)
		}
		params.Tools = append(params.Tools, tool)
	}
	if len(req.ResponseSchema) > 0 {
		params.OutputConfig.Format, err = translateSchema(req.ResponseSchema)
		if err != nil {
			return params, nil, err
		}
	}
	body, err = encodeBody(params, p.config.Extra, req.Extra)
	return params, body, err
}

// translateTool takes {type: function, function: {name, description, parameters}}. Tools
// of the vendor, such as web search, have another form and are sent as they are.
func translateTool(raw json.RawMessage) (sdk.ToolUnionParam, error) {
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
		return sdk.ToolUnionParam{}, wording.Errorf("decoding the tool: %w", err)
	}
	if tool.Function == nil {
		return param.Override[sdk.ToolUnionParam](raw), nil
	}
	schema := json.RawMessage(`{"type":"object","properties":{}}`)
	if !endpoint.IsNull(tool.Function.Parameters) {
		schema = tool.Function.Parameters
	}
	own := sdk.ToolParam{Name: tool.Function.Name, InputSchema: param.Override[sdk.ToolInputSchemaParam](schema)}
	if tool.Function.Description != "" {
		own.Description = param.NewOpt(tool.Function.Description)
	}
	if tool.Function.Strict != nil {
		own.Strict = param.NewOpt(*tool.Function.Strict)
	}
	own.CacheControl = cacheControl(tool.CacheControl)
	return sdk.ToolUnionParam{OfTool: &own}, nil
}

// translateSchema returns a schema with what the API does not take, such as bounds of
// numbers, said in descriptions.
func translateSchema(raw json.RawMessage) (format sdk.JSONOutputFormatParam, err error) {
	var schema map[string]any
	if err := json.Unmarshal(raw, &schema); err != nil {
		return format, wording.Errorf("the schema of the answer: %w", err)
	}
	translated, ok := sdk.BetaJSONSchemaOutputFormat(schema).Schema.(map[string]any)
	if !ok {
		return format, wording.Errorf("the schema of the answer cannot be translated")
	}
	format.Schema = translated
	return format, nil
}

// encodeBody returns the JSON of params with extra members laid over it, later ones over
// earlier ones.
func encodeBody(params sdk.MessageNewParams, extras ...map[string]json.RawMessage) ([]byte, error) {
	text, err := json.Marshal(params)
	if err != nil {
		return nil, wording.Errorf("encoding the request: %w", err)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, wording.Errorf("encoding the request: %w", err)
	}
	for _, extra := range extras {
		for name, member := range extra {
			name, member = translateExtra(name, member)
			members[name] = member
			if endpoint.IsNull(member) {
				delete(members, name)
			}
		}
	}
	return json.Marshal(members)
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
			return "stop_sequences", mustEncode([]string{one})
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
		return mustEncode(choice{Type: word})
	}
	var function struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if json.Unmarshal(member, &function) == nil && function.Function.Name != "" {
		return mustEncode(choice{Type: "tool", Name: function.Function.Name})
	}
	return member
}

package anthropic

import (
	"encoding/json"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/endpoint"
	"github.com/callnode/scheduler/llm/value/wording"
)

// blocksMember is the member of an assistant message that holds blocks of an earlier
// answer that are neither text nor calls of tools: thoughts with their signature,
// results of the vendor's own tools. They come in the Extra of the answer and are sent
// back as they were.
const blocksMember = "content_blocks"

// message is a chat message in the shape of the OpenAI API, with the members that this
// API takes beyond it.
type message struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
	Blocks       []json.RawMessage `json:"content_blocks"`
	CacheControl json.RawMessage   `json:"cache_control"`
}

// translateMessages splits the instructions off that a conversation begins with. Later
// ones become words of the user, for the API takes instructions in front only; so do
// all of a conversation that has nothing else. Messages of one role that follow each
// other become one: the results of tools must be in one message.
func translateMessages(raws []llm.Message) (system []sdk.TextBlockParam, messages []sdk.MessageParam, err error) {
	parsed := make([]message, len(raws))
	leading := 0
	for i, raw := range raws {
		if err := json.Unmarshal(raw, &parsed[i]); err != nil {
			return nil, nil, wording.Errorf("messages/%d: %w", i, err)
		}
		if leading == i && parsed[i].isInstruction() {
			leading++
		}
	}
	if leading == len(parsed) {
		leading = 0
	}
	for i, m := range parsed {
		blocks, err := m.translate()
		if err != nil {
			return nil, nil, wording.Errorf("messages/%d: %w", i, err)
		}
		if i < leading {
			system = append(system, textsOf(blocks)...)
			continue
		}
		role := sdk.MessageParamRoleUser
		if m.Role == "assistant" {
			role = sdk.MessageParamRoleAssistant
		}
		last := len(messages) - 1
		switch {
		case len(blocks) == 0: // an empty message, which the API refuses
		case last >= 0 && messages[last].Role == role:
			messages[last].Content = append(messages[last].Content, blocks...)
		default:
			messages = append(messages, sdk.MessageParam{Role: role, Content: blocks})
		}
	}
	if len(messages) == 0 {
		return nil, nil, wording.Errorf("the request has no messages with content")
	}
	trimPrefill(messages)
	return system, messages, nil
}

func (m *message) isInstruction() bool { return m.Role == "system" || m.Role == "developer" }

// textsOf returns the texts among blocks.
func textsOf(blocks []sdk.ContentBlockParamUnion) (texts []sdk.TextBlockParam) {
	for _, b := range blocks {
		if b.OfText != nil {
			texts = append(texts, *b.OfText)
		}
	}
	return texts
}

// trimPrefill cuts the white space at the end of a last message of the assistant, the
// beginning of the answer: the API refuses it.
func trimPrefill(messages []sdk.MessageParam) {
	last := messages[len(messages)-1]
	end := last.Content[len(last.Content)-1]
	if last.Role == sdk.MessageParamRoleAssistant && end.OfText != nil {
		end.OfText.Text = strings.TrimRight(end.OfText.Text, " \t\r\n")
	}
}

// translate returns the content of a message.
func (m *message) translate() (blocks []sdk.ContentBlockParamUnion, err error) {
	switch m.Role {
	case "system", "developer", "user":
		blocks, err = translateContent(m.Content)
	case "assistant":
		blocks, err = m.assistantBlocks()
	case "tool":
		blocks, err = m.toolResult()
	default:
		return nil, wording.Errorf("the Messages API has no role %q", m.Role)
	}
	if err == nil && len(blocks) > 0 {
		setCacheControl(&blocks[len(blocks)-1], m.CacheControl)
	}
	return blocks, err
}

// assistantBlocks returns the blocks of an earlier answer in the order in which models
// write them: thoughts, text, calls of tools.
func (m *message) assistantBlocks() ([]sdk.ContentBlockParamUnion, error) {
	var blocks []sdk.ContentBlockParamUnion
	for _, raw := range m.Blocks {
		blocks = append(blocks, param.Override[sdk.ContentBlockParamUnion](raw))
	}
	content, err := translateContent(m.Content)
	if err != nil {
		return nil, err
	}
	blocks = append(blocks, content...)
	for _, call := range m.ToolCalls {
		blocks = append(blocks, sdk.NewToolUseBlock(call.ID, toolInput(call.Function.Arguments), call.Function.Name))
	}
	return blocks, nil
}

// toolInput returns the arguments of a tool call as the object that the API wants. What
// the model wrote and is not an object stays visible to it.
func toolInput(arguments string) json.RawMessage {
	var object map[string]json.RawMessage
	if strings.TrimSpace(arguments) == "" {
		return json.RawMessage("{}")
	}
	if json.Unmarshal([]byte(arguments), &object) == nil && object != nil {
		return json.RawMessage(arguments)
	}
	return mustEncode(map[string]string{"arguments": arguments})
}

func (m *message) toolResult() ([]sdk.ContentBlockParamUnion, error) {
	content, err := translateContent(m.Content)
	if err != nil {
		return nil, err
	}
	result := sdk.ToolResultBlockParam{ToolUseID: m.ToolCallID}
	for _, b := range content {
		switch {
		case b.OfText != nil:
			result.Content = append(result.Content, sdk.ToolResultBlockParamContentUnion{OfText: b.OfText})
		case b.OfImage != nil:
			result.Content = append(result.Content, sdk.ToolResultBlockParamContentUnion{OfImage: b.OfImage})
		case b.OfDocument != nil:
			result.Content = append(result.Content, sdk.ToolResultBlockParamContentUnion{OfDocument: b.OfDocument})
		}
	}
	return []sdk.ContentBlockParamUnion{{OfToolResult: &result}}, nil
}

// translateContent takes a text, or a list of parts. Empty texts are left out: the API
// refuses them.
func translateContent(content json.RawMessage) (blocks []sdk.ContentBlockParamUnion, err error) {
	if endpoint.IsNull(content) {
		return nil, nil
	}
	var text string
	if json.Unmarshal(content, &text) == nil {
		if text != "" {
			blocks = append(blocks, sdk.NewTextBlock(text))
		}
		return blocks, nil
	}
	var parts []json.RawMessage
	if err := json.Unmarshal(content, &parts); err != nil {
		return nil, wording.Errorf("the content is neither text nor a list of parts")
	}
	for i, raw := range parts {
		block, ok, err := translatePart(raw)
		if err != nil {
			return nil, wording.Errorf("content/%d: %w", i, err)
		}
		if ok {
			blocks = append(blocks, block)
		}
	}
	return blocks, nil
}

// translatePart takes {type: text, text}, {type: image_url, image_url: {url}} and
// {type: file, file: {file_data}}. Other parts are sent as they are: images and
// documents in the API's own form. ok is false for an empty text.
func translatePart(raw json.RawMessage) (block sdk.ContentBlockParamUnion, ok bool, err error) {
	var part struct {
		Type         string          `json:"type"`
		Text         string          `json:"text"`
		ImageURL     json.RawMessage `json:"image_url"`
		CacheControl json.RawMessage `json:"cache_control"`
		File         struct {
			Data string `json:"file_data"`
		} `json:"file"`
	}
	if err := json.Unmarshal(raw, &part); err != nil {
		return block, false, wording.Errorf("a part is not an object: %w", err)
	}
	switch {
	case part.Type == "text", part.Type == "input_text":
		block = sdk.NewTextBlock(part.Text)
		ok = part.Text != ""
	case part.Type == "image_url", part.Type == "input_image":
		block, err = translateImage(part.ImageURL)
		ok = true
	case part.Type == "file" && strings.HasPrefix(part.File.Data, pdfURL):
		block = sdk.NewDocumentBlock(sdk.Base64PDFSourceParam{Data: strings.TrimPrefix(part.File.Data, pdfURL)})
		ok = true
	default:
		return param.Override[sdk.ContentBlockParamUnion](raw), true, nil
	}
	setCacheControl(&block, part.CacheControl)
	return block, ok, err
}

// pdfURL begins the data URL of a PDF document.
const pdfURL = "data:application/pdf;base64,"

// translateImage takes {url} and the URL alone. The media type is that of the bytes: the
// API refuses an image that is called something else.
func translateImage(raw json.RawMessage) (sdk.ContentBlockParamUnion, error) {
	url := endpoint.ImageURL(raw)
	if url == "" {
		return sdk.ContentBlockParamUnion{}, wording.Errorf("an image_url must be {url} or a text")
	}
	mediaType, data, isData, err := endpoint.ImageData(url)
	if err != nil {
		return sdk.ContentBlockParamUnion{}, err
	}
	if isData {
		return sdk.NewImageBlockBase64(mediaType, data), nil
	}
	return sdk.NewImageBlock(sdk.URLImageSourceParam{URL: url}), nil
}

// setCacheControl marks a block as the end of a prefix that the vendor keeps.
func setCacheControl(block *sdk.ContentBlockParamUnion, raw json.RawMessage) {
	if endpoint.IsNull(raw) {
		return
	}
	if own := block.GetCacheControl(); own != nil {
		*own = cacheControl(raw)
	}
}

func cacheControl(raw json.RawMessage) (control sdk.CacheControlEphemeralParam) {
	if endpoint.IsNull(raw) {
		return control
	}
	return param.Override[sdk.CacheControlEphemeralParam](raw)
}

func mustEncode(x any) json.RawMessage {
	raw, err := json.Marshal(x)
	if err != nil {
		panic(err) // texts and valid JSON always encode
	}
	return raw
}

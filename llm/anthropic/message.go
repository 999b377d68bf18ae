package anthropic

import (
	"encoding/json"
	"strings"

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

// ownMessage is a message as the API takes it.
type ownMessage struct {
	Role    string         `json:"role"`
	Content []contentBlock `json:"content"`
}

// contentBlock is a block of a message as the API takes it.
type contentBlock struct {
	Type         string          `json:"type"`
	Text         string          `json:"text,omitempty"`        // text
	Source       *source         `json:"source,omitempty"`      // image, document
	ID           string          `json:"id,omitempty"`          // tool_use
	Name         string          `json:"name,omitempty"`        // tool_use
	Input        json.RawMessage `json:"input,omitempty"`       // tool_use
	ToolUseID    string          `json:"tool_use_id,omitempty"` // tool_result
	Content      []contentBlock  `json:"content,omitempty"`     // tool_result
	CacheControl json.RawMessage `json:"cache_control,omitempty"`

	asIs json.RawMessage // a block in the API's own form; the fields are empty then
}

// source is the data of an image or a document, or its address.
type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type,omitempty"`
	Data      string `json:"data,omitempty"`
	URL       string `json:"url,omitempty"`
}

// MarshalJSON returns the block as the API takes it.
func (b contentBlock) MarshalJSON() ([]byte, error) {
	if b.asIs != nil {
		return b.asIs, nil
	}
	type plain contentBlock // without this method
	return json.Marshal(plain(b))
}

// translateMessages splits the instructions off that a conversation begins with. Later
// ones become words of the user, for the API takes instructions in front only; so do
// all of a conversation that has nothing else. Messages of one role that follow each
// other become one: the results of tools must be in one message.
func translateMessages(raws []llm.Message) (system []contentBlock, messages []ownMessage, err error) {
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
		role := "user"
		if m.Role == "assistant" {
			role = m.Role
		}
		last := len(messages) - 1
		switch {
		case len(blocks) == 0: // an empty message, which the API refuses
		case last >= 0 && messages[last].Role == role:
			messages[last].Content = append(messages[last].Content, blocks...)
		default:
			messages = append(messages, ownMessage{Role: role, Content: blocks})
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
func textsOf(blocks []contentBlock) (texts []contentBlock) {
	for _, b := range blocks {
		if b.Type == "text" {
			texts = append(texts, b)
		}
	}
	return texts
}

// trimPrefill cuts the white space at the end of a last message of the assistant, the
// beginning of the answer: the API refuses it.
func trimPrefill(messages []ownMessage) {
	last := messages[len(messages)-1]
	end := &last.Content[len(last.Content)-1]
	if last.Role == "assistant" && end.Type == "text" {
		end.Text = strings.TrimRight(end.Text, " \t\r\n")
	}
}

// translate returns the content of a message.
func (m *message) translate() (blocks []contentBlock, err error) {
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
		blocks[len(blocks)-1].setCacheControl(m.CacheControl)
	}
	return blocks, err
}

// assistantBlocks returns the blocks of an earlier answer in the order in which models
// write them: thoughts, text, calls of tools.
func (m *message) assistantBlocks() ([]contentBlock, error) {
	var blocks []contentBlock
	for _, raw := range m.Blocks {
		blocks = append(blocks, contentBlock{asIs: raw})
	}
	content, err := translateContent(m.Content)
	if err != nil {
		return nil, err
	}
	blocks = append(blocks, content...)
	for _, call := range m.ToolCalls {
		blocks = append(blocks, contentBlock{Type: "tool_use", ID: call.ID, Name: call.Function.Name, Input: toolInput(call.Function.Arguments)})
	}
	return blocks, nil
}

// toolInput returns the arguments of a tool call as the object that the API wants. Arguments of the model that are
// not an object stay visible to it. For example, the text [1] becomes {"arguments": "[1]"}.
func toolInput(arguments string) json.RawMessage {
	var object map[string]json.RawMessage
	if strings.TrimSpace(arguments) == "" {
		return json.RawMessage("{}")
	}
	if json.Unmarshal([]byte(arguments), &object) == nil && object != nil {
		return json.RawMessage(arguments)
	}
	return endpoint.MustEncode(map[string]string{"arguments": arguments})
}

// toolResult returns the result of a tool, which may have texts, images and documents.
func (m *message) toolResult() ([]contentBlock, error) {
	content, err := translateContent(m.Content)
	if err != nil {
		return nil, err
	}
	result := contentBlock{Type: "tool_result", ToolUseID: m.ToolCallID}
	for _, b := range content {
		if b.asIs == nil {
			result.Content = append(result.Content, b)
		}
	}
	return []contentBlock{result}, nil
}

// translateContent takes a text, or a list of parts. Empty texts are left out: the API
// refuses them.
func translateContent(content json.RawMessage) (blocks []contentBlock, err error) {
	if endpoint.IsNull(content) {
		return nil, nil
	}
	var text string
	if json.Unmarshal(content, &text) == nil {
		if text != "" {
			blocks = append(blocks, contentBlock{Type: "text", Text: text})
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
func translatePart(raw json.RawMessage) (block contentBlock, ok bool, err error) {
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
	pdf, isPDF := strings.CutPrefix(part.File.Data, pdfURL)
	switch {
	case part.Type == "text", part.Type == "input_text":
		block = contentBlock{Type: "text", Text: part.Text}
		ok = part.Text != ""
	case part.Type == "image_url", part.Type == "input_image":
		block, err = translateImage(part.ImageURL)
		ok = true
	case part.Type == "file" && isPDF:
		block = contentBlock{Type: "document", Source: &source{Type: "base64", MediaType: "application/pdf", Data: pdf}}
		ok = true
	default:
		return contentBlock{asIs: raw}, true, nil
	}
	block.setCacheControl(part.CacheControl)
	return block, ok, err
}

// pdfURL begins the data URL of a PDF document.
const pdfURL = "data:application/pdf;base64,"

// translateImage accepts {url} and the URL alone. The media type is decided by the bytes: the API refuses an image
// with another type than its own.
func translateImage(raw json.RawMessage) (contentBlock, error) {
	url := endpoint.ImageURL(raw)
	if url == "" {
		return contentBlock{}, wording.Errorf("an image_url must be {url} or a text")
	}
	mediaType, data, isData, err := endpoint.ImageData(url)
	if err != nil {
		return contentBlock{}, err
	}
	from := &source{Type: "url", URL: url}
	if isData {
		from = &source{Type: "base64", MediaType: mediaType, Data: data}
	}
	return contentBlock{Type: "image", Source: from}, nil
}

// setCacheControl marks a block as the end of a prefix that the vendor keeps. A block in the
// API's own form says so itself.
func (b *contentBlock) setCacheControl(raw json.RawMessage) {
	if raw := notNull(raw); raw != nil && b.asIs == nil {
		b.CacheControl = raw
	}
}

// notNull returns raw, or nil for null.
func notNull(raw json.RawMessage) json.RawMessage {
	if endpoint.IsNull(raw) {
		return nil
	}
	return raw
}

package mcp

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/service"
)

// listPrompts returns the prompts: the flows with a step that makes one.
func (c *client) listPrompts() (*sdk.ListPromptsResult, error) {
	flows, err := c.api.options.Library.Flows()
	if err != nil {
		return nil, err
	}
	list := &sdk.ListPromptsResult{Prompts: []*sdk.Prompt{}, Cacheable: sdk.Cacheable{CacheScope: "private"}}
	names := flowTools(flows)
	for _, f := range flows {
		if makesPrompt(f) {
			list.Prompts = append(list.Prompts, &sdk.Prompt{
				Name: promptName(names[f.ID]), Title: cmp.Or(f.Flow.Name, f.ID), Description: f.Flow.Description, Arguments: c.promptArguments(f.Flow),
			})
		}
	}
	return list, nil
}

func makesPrompt(f *service.LibraryFlow) bool {
	return f.Flow != nil && service.PromptStep(f.Flow) != nil
}

// promptName returns the name of the prompt of a flow that is the tool of this name.
func promptName(tool string) string { return strings.TrimPrefix(tool, flowToolPrefix) }

// promptArguments describes the inputs of a flow, and the conversation if it reads one. All are texts, which the
// schemas of the inputs type: 3 for a number, JSON for a list.
func (c *client) promptArguments(f *flow.Flow) (list []*sdk.PromptArgument) {
	doc := argumentsSchema(f)
	properties, _ := doc.Get("properties")
	required, _ := doc.Get("required")
	defaults := f.Inputs.ApplyDefaults(value.OfMap(nil))
	for name, property := range properties.Map().All() {
		text := func(member string) string {
			v, _ := property.Get(member)
			text, _ := v.Str()
			return text
		}
		one := &sdk.PromptArgument{Name: name, Title: text("title"), Description: text("description")}
		if name == conversationArgument && takesConversation(f) {
			one.Description += " A JSON list."
		}
		for _, needed := range required.List() {
			key, _ := needed.Str()
			_, hasDefault := defaults.Get(key)
			isUser := key == "user" && c.by.User != ""
			one.Required = one.Required || key == name && !hasDefault && !isUser
		}
		list = append(list, one)
	}
	return list
}

// interceptPrompt finds the flow of a prompt and lets the library answer with it.
func (c *client) interceptPrompt(ctx context.Context, next sdk.MethodHandler, r sdk.Request) (sdk.Result, error) {
	params, _ := r.GetParams().(*sdk.GetPromptParams)
	if params == nil {
		return next(ctx, methodGetPrompt, r)
	}
	flows, err := c.api.options.Library.Flows()
	if err != nil {
		return nil, err
	}
	names := flowTools(flows)
	at := slices.IndexFunc(flows, func(f *service.LibraryFlow) bool { return promptName(names[f.ID]) == params.Name && makesPrompt(f) })
	if at < 0 {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown prompt %q", value.Truncate(params.Name, 80))}
	}
	c.server.AddPrompt(&sdk.Prompt{Name: params.Name}, func(ctx context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		found, _ := ctx.Value(toolKey{}).(*service.LibraryFlow)
		return c.makePrompt(ctx, r, found)
	})
	ctx, end := c.api.untilClosed(context.WithValue(ctx, toolKey{}, flows[at]))
	defer end()
	return next(ctx, methodGetPrompt, r)
}

// makePrompt runs a flow until it would ask the model, and answers with the messages that this would get.
func (c *client) makePrompt(ctx context.Context, r *sdk.GetPromptRequest, f *service.LibraryFlow) (*sdk.GetPromptResult, error) {
	arguments, err := typedArguments(f.Flow, r.Params.Arguments)
	if err != nil {
		return nil, invalidParams(err)
	}
	t := c.newTurn(&sdk.CallToolRequest{Session: r.Session, Extra: r.Extra, Params: &sdk.CallToolParamsRaw{
		Meta: r.Params.Meta, Name: r.Params.Name, Arguments: arguments.AppendJSON(nil),
		InputResponses: r.Params.InputResponses, RequestState: r.Params.RequestState,
	}})
	t.until = service.PromptStep(f.Flow).ID
	result, err := t.runFlow(ctx, f)
	switch {
	case err != nil:
		return nil, err
	case result.InputRequests != nil:
		return &sdk.GetPromptResult{InputRequests: result.InputRequests, RequestState: result.RequestState}, nil
	case len(t.messages) > 0:
		return &sdk.GetPromptResult{Description: f.Flow.Description, Messages: promptMessages(t.messages)}, nil
	}
	return nil, t.noPrompt(ctx, result)
}

// noPrompt returns why a run has made no prompt. A run that waits for the user is ended: the client cannot
// continue it.
func (t *turn) noPrompt(ctx context.Context, result *sdk.CallToolResult) error {
	said := ""
	for _, part := range result.Content {
		if text, isText := part.(*sdk.TextContent); isText {
			said = text.Text
		}
	}
	doc, _ := value.ParseJSON([]byte(said)) // all results of a turn are documents
	textOf := func(pointer string) string {
		v, _ := doc.At(pointer)
		text, _ := v.Str()
		return text
	}
	if question := textOf("/question"); question != "" {
		_ = t.api.options.Dispatcher.Cancel(ctx, t.by.Principal, t.run) // it may have been answered elsewhere
		return invalidParams(calls.Errorf(calls.Missing, "the flow asks the user first: %s", question).
			WithHint("say it in the arguments, or call the tool of the flow, which can ask"))
	}
	if message := textOf("/error/message"); message != "" {
		return invalidParams(calls.Errorf(calls.Kind(textOf("/error/kind")), "%s", message).WithHint("%s", textOf("/error/hint")))
	}
	return invalidParams(calls.Errorf(calls.Missing, "the run %s made no prompt: it did not come to the step %s", t.run, t.until))
}

// invalidParams returns an error in the shape of the protocol, with its hint.
func invalidParams(err error) error {
	text := err.Error()
	if hint := calls.HintOf(err); hint != "" {
		text += " (" + hint + ")"
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: text}
}

// typedArguments returns the arguments of a prompt, which are texts, as the inputs of the flow and the conversation. An
// empty text is one that the person has not filled in, unless the input is required.
func typedArguments(f *flow.Flow, texts map[string]string) (value.Value, error) {
	typed := value.NewMap(len(texts))
	required, _ := f.Inputs.Doc().Get("required")
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		text := texts[name]
		isRequired := slices.ContainsFunc(required.List(), func(v value.Value) bool { return v.PlainText() == name })
		if text == "" && !isRequired {
			continue
		}
		if name == conversationArgument && takesConversation(f) {
			messages, err := value.ParseStrictJSON([]byte(text))
			if err != nil {
				return value.Value{}, calls.Errorf(calls.Invalid, "the argument conversation is not JSON: %w", err).WithHint(`write [{"role": "user", "content": "Hello"}]`)
			}
			typed.Set(name, messages)
			continue
		}
		if err := service.CheckInputName(f, name); err != nil {
			return value.Value{}, err
		}
		v, err := service.ParseInput(f, name, text)
		if err != nil {
			return value.Value{}, calls.Errorf(calls.Invalid, "the argument %s: %w", name, err)
		}
		typed.Set(name, v)
	}
	return value.OfMap(typed), nil
}

// promptMessages returns the messages of a prompt in the shape of the protocol, which has the roles user and assistant
// alone and one part to a message: instructions become the user's messages, because clients insert a picked prompt
// as the user's, and a message with a picture becomes two.
func promptMessages(messages []value.Value) []*sdk.PromptMessage {
	list := make([]*sdk.PromptMessage, 0, len(messages))
	for _, m := range messages {
		given, _ := m.Get("role")
		role := sdk.Role("user")
		if given.PlainText() == "assistant" {
			role = "assistant"
		}
		content, _ := m.Get("content")
		parts := content.List()
		if text, isText := content.Str(); isText {
			parts = []value.Value{value.OfMap(value.Pairs("type", "text", "text", text))}
		}
		for _, part := range parts {
			if block := contentBlock(part); block != nil {
				list = append(list, &sdk.PromptMessage{Role: role, Content: block})
			}
		}
	}
	return list
}

// contentBlock returns a part of a message in the shape of the protocol; nil for an empty text. Anything else is named: a
// picture, whose bytes no reader of a record gets, as [image/png, 70 bytes], another part by its type, as [input_audio].
func contentBlock(part value.Value) sdk.Content {
	text, isText := part.Get("text")
	if isText && text.PlainText() == "" {
		return nil
	}
	if isText {
		return &sdk.TextContent{Text: text.PlainText()}
	}
	url, _ := part.At("/image_url/url")
	kind, _ := part.Get("type")
	note := kind.PlainText()
	if hidden := hiddenPicture.FindStringSubmatch(url.PlainText()); hidden != nil {
		note = hidden[1] + ", " + hidden[2] + " bytes"
	}
	return &sdk.TextContent{Text: "[" + note + "]"}
}

// hiddenPicture is how a journal shows a picture.
var hiddenPicture = regexp.MustCompile(`^data:([^;]+);sha256=[0-9a-f]+;size=(\d+)$`)

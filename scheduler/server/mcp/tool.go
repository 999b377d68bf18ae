package mcp

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/dispatch"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/service"
)

// tool is something that the client may call.
type tool struct {
	about *sdk.Tool
	call  func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error)
}

const (
	methodListTools     = "tools/list"
	methodCallTool      = "tools/call"
	methodListResources = "resources/list"
	methodListPrompts   = "prompts/list"
	methodGetPrompt     = "prompts/get"
)

type toolKey struct{}

// hideFolders takes the paths of the server's folders out of errors.
func (c *client) hideFolders(next sdk.MethodHandler) sdk.MethodHandler {
	hide := c.api.options.HideFolders
	if hide == nil {
		return next
	}
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		result, err := next(ctx, method, r)
		var wire *jsonrpc.Error
		switch {
		case errors.As(err, &wire):
			whole := *wire
			whole.Message = hide(wire.Message)
			return result, &whole
		case err != nil && hide(err.Error()) != err.Error():
			return result, errors.New(hide(err.Error()))
		}
		if called, ok := result.(*sdk.CallToolResult); ok && called != nil && called.IsError {
			for _, content := range called.Content {
				if text, ok := content.(*sdk.TextContent); ok {
					text.Text = hide(text.Text)
				}
			}
		}
		return result, err
	}
}

// interceptMethods answers lists, and finds the tool of a call.
func (c *client) interceptMethods(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		switch method {
		case methodListTools:
			return c.listTools()
		case methodListResources:
			return c.listResources()
		case methodListPrompts:
			return c.listPrompts()
		case methodGetPrompt:
			return c.interceptPrompt(ctx, next, r)
		case methodCallTool:
			params, _ := r.GetParams().(*sdk.CallToolParamsRaw)
			if params == nil {
				return next(ctx, method, r)
			}
			one, err := c.findTool(params.Name)
			if err != nil {
				return nil, err
			}
			if one == nil {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown tool %q", value.Truncate(params.Name, 80))}
			}
			// The library calls tools by their names; its arguments are checked here.
			c.server.AddTool(&sdk.Tool{Name: params.Name, InputSchema: anyObject()}, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				found, _ := ctx.Value(toolKey{}).(*tool)
				return found.call(ctx, r)
			})
			ctx, end := c.api.untilClosed(context.WithValue(ctx, toolKey{}, one))
			defer end()
			return next(ctx, method, r)
		}
		return next(ctx, method, r)
	}
}

// untilClosed returns a context that also ends when the API is closed, with [dispatch.ErrStopping].
func (a *API) untilClosed(ctx context.Context) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(a.open, func() { cancel(dispatch.ErrStopping) })
	return ctx, func() { stop(); cancel(nil) }
}

// listTools returns the tools that the caller may call.
func (c *client) listTools() (*sdk.ListToolsResult, error) {
	all, err := c.listedTools()
	if err != nil {
		return nil, err
	}
	list := &sdk.ListToolsResult{Tools: []*sdk.Tool{}, Cacheable: sdk.Cacheable{CacheScope: "private"}}
	for _, one := range all {
		list.Tools = append(list.Tools, one.about)
	}
	return list, nil
}

// listedTools returns the tools that the caller may call.
func (c *client) listedTools() (all []*tool, err error) {
	flows, err := c.api.options.Library.Flows()
	if err != nil {
		return nil, err
	}
	all = []*tool{c.answerTool()}
	names := flowTools(flows)
	for _, f := range flows {
		if f.Flow != nil {
			all = append(all, c.flowTool(names[f.ID], f))
		}
	}
	if !c.by.CanCall {
		return all, nil
	}
	for _, name := range c.api.options.Calls {
		def, err := c.api.options.Service.CallDefinition(name)
		if err != nil {
			c.api.missCall(name, err)
			continue
		}
		all = append(all, c.callTool(def))
	}
	return all, nil
}

// findTool returns the tool of a name; nil for none.
func (c *client) findTool(name string) (*tool, error) {
	all, err := c.listedTools()
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		if one.about.Name == name {
			return one, nil
		}
	}
	return nil, nil
}

// flowToolPrefix begins the names of the tools that run flows.
const flowToolPrefix = "flow_"

// maxToolName is how long the name of a tool may be: model APIs take no more.
const maxToolName = 64

// safeName returns a name in the characters that tools have, and whether it had no others.
func safeName(name string) (safe string, isSame bool) {
	safe = strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
	return safe, safe == name
}

// flowTools returns the names of the tools of flows by the ids of the flows. An id that tools cannot have is made
// to fit; if that makes two alike, their names end with a hash.
func flowTools(flows []*service.LibraryFlow) map[string]string {
	names, taken := map[string]string{}, map[string]string{}
	for _, wantSame := range []bool{true, false} { // an id that fits keeps its name
		for _, f := range flows {
			safe, isSame := safeName(strings.ReplaceAll(f.ID, "~", "__"))
			isSame = isSame && !strings.Contains(f.ID, "~")
			if isSame != wantSame {
				continue
			}
			name := flowToolPrefix + safe
			if taken[name] != "" || len(name) > maxToolName {
				sum := sha256.Sum256([]byte(f.ID))
				name = name[:min(len(name), maxToolName-9)] + "_" + hex.EncodeToString(sum[:4])
			}
			names[f.ID], taken[name] = name, f.ID
		}
	}
	return names
}

// flowTool returns the tool that runs a flow.
func (c *client) flowTool(name string, f *service.LibraryFlow) *tool {
	return &tool{
		about: &sdk.Tool{
			Name: name, Title: cmp.Or(f.Flow.Name, f.ID), Description: f.Flow.Description,
			InputSchema: objectSchema(argumentsSchema(f.Flow)), OutputSchema: runSchema(f.Flow.OutputSchema()),
		},
		call: func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return c.newTurn(r).runFlow(ctx, f)
		},
	}
}

// conversationArgument is the argument of a flow's tool that is not an input: the messages before the question.
const conversationArgument = "conversation"

// takesConversation reports whether the tool of a flow takes the messages before the question: the flow reads them, and
// has no input of that name.
func takesConversation(f *flow.Flow) bool {
	properties, _ := f.Inputs.Doc().Get("properties")
	_, isInput := properties.Get(conversationArgument)
	return f.ReadsConversation && !isInput
}

// argumentsSchema returns the schema of the arguments of a flow's tool: its inputs, and the conversation.
func argumentsSchema(f *flow.Flow) value.Value {
	if !takesConversation(f) {
		return f.Inputs.Doc()
	}
	return schema.WithProperty(f.Inputs.Doc(), conversationArgument, value.OfMap(value.Pairs(
		"type", "array", "items", value.OfMap(value.Pairs("type", "object")),
		"description", "The messages of the chat before this question, oldest first: {role, content}.")))
}

// answerTool returns the tool that answers the questions of a run.
func (c *client) answerTool() *tool {
	text := func(doc string) value.Value { return value.OfMap(value.Pairs("type", "string", "description", doc)) }
	answer := value.OfMap(value.Pairs("type", "object", "required", []string{"pointer", "value"}, "properties", value.OfMap(value.Pairs(
		"step", text("The step that waits; it may be left out where one waits."),
		"pointer", text("The JSON pointer of what it waits for, a property of its remaining_schema."),
		"value", value.OfMap(nil),
	))))
	answers := value.OfMap(value.Pairs("type", "array", "minItems", 1, "items", answer))
	return &tool{
		about: &sdk.Tool{
			Name: "answer_run", Title: "Answer a run", Description: "Give a run that waits the values that the user has told, and go on with it.",
			InputSchema: value.OfMap(value.Pairs("type", "object", "required", []string{"run"},
				"properties", value.OfMap(value.Pairs("run", text("The id of the run."),
					"message", text("What the user has written to the question, as it is: the run reads it."), "answers", answers)))),
			OutputSchema: runSchema(value.Value{}),
		},
		call: func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return c.newTurn(r).answerRun(ctx)
		},
	}
}

// callTool returns the tool that makes one call without a flow.
func (c *client) callTool(def calls.Definition) *tool {
	safe, _ := safeName(def.Info.Name)
	about := &sdk.Tool{
		Name: "call_" + safe, Title: def.Info.Name, Description: def.Info.Summary.In(c.api.options.Language),
		InputSchema: objectSchema(def.Info.Params.Doc()),
	}
	isObject := typeOf(def.Info.Output.Doc()) == "object"
	if isObject {
		about.OutputSchema = withoutHeaders(def.Info.Output.Doc())
	}
	return &tool{about: about, call: func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		with, err := argumentsOf(r)
		if err != nil {
			return failureResult(err, ""), nil
		}
		caller := c.api.options.Service.Caller(c.by.Principal, def)
		output, _, _, err := caller.CallMetered(ctx, &service.CallRequest{With: with, Vars: service.RequestVars{User: c.by.User}})
		if err != nil {
			return failureResult(err, ""), nil
		}
		result := &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: output.PlainText()}}}
		if isObject {
			result.StructuredContent = output
		}
		return result, nil
	}}
}

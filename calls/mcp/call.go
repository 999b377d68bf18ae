package mcp

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Output is a tool's output.
type Output struct {
	// Text is the texts of the answer, a line break between them.
	Text string `json:"text"`
	// Data is the structured content; null if the tool returns none.
	Data value.Value `json:"data,omitzero"`
	// Content are the parts that are not text, as the server has sent them.
	Content []value.Value `json:"content,omitempty"`
}

// round is one answer of a tool: its output, or questions to people that come first.
type round struct {
	Output
	Asks *questions `json:"asks,omitempty"`
}

// call is one use of a tool, in one step.
type call struct {
	host   *Host
	server *Server
	tool   *Tool
	info   *calls.Info
	params value.Value
}

var _ calls.CoreCall = (*call)(nil)

// newDefinition returns the call of a tool.
func (h *Host) newDefinition(s *Server, t *Tool) calls.Definition {
	info := &calls.Info{Name: callName(s.Name, t.Name), MayAsk: true}
	summary := "A tool of the MCP server " + s.Name + "."
	if line, _, _ := strings.Cut(strings.TrimSpace(t.Description), "\n"); line != "" {
		summary = line
	}
	info.Summary = calls.Text{En: summary, Zh: summary}
	info.Params = objectSchema(t.Input)
	info.Input, info.Output = info.Params, outputSchema(t.Output)
	return calls.Definition{Info: info, Origins: calls.ParamsAsInput, New: func(params value.Value) (calls.CoreCall, error) {
		if params.IsNull() {
			params = value.OfMap(nil)
		}
		params = info.Params.ApplyDefaults(params)
		if problems := info.Params.Check(params); problems != nil {
			return nil, calls.Errorf(calls.Invalid, "parameters of %s: %w", info.Name, problems)
		}
		return &call{host: h, server: s, tool: t, info: info, params: params}, nil
	}}
}

const (
	// defaultDraft is the $schema of tools' schemas without one, since the protocol's version 2025-11-25.
	defaultDraft = "https://json-schema.org/draft/2020-12/schema"
	// olderDraft is tried for schemas that do not fit defaultDraft, for example with the items: [...] of older
	// servers.
	olderDraft = "http://json-schema.org/draft-07/schema#"
)

// parseOfServer compiles the schema that describe makes of a server's schema. It tries the draft that the server's
// schema names, then the protocol's default, then an older one. describe gets the members of the server's schema
// without $schema.
func parseOfServer(doc value.Value, describe func(members *value.Map) *value.Map) (*schema.Schema, error) {
	members := doc.Map().Clone()
	members.Delete("$schema")
	drafts := []value.Value{value.OfString(defaultDraft), value.OfString(olderDraft)}
	if own, has := doc.Get("$schema"); has {
		drafts = slices.Insert(drafts, 0, own)
	}
	var lastErr error
	for _, draft := range drafts {
		whole := describe(members.Clone())
		whole.Set("$schema", draft)
		parsed, err := schema.Parse(value.OfMap(whole))
		if err == nil {
			return parsed, nil
		}
		lastErr = err
	}
	return nil, lastErr
}

// objectSchema returns the schema of a tool's arguments. If the server's schema cannot be used, any object is
// allowed.
func objectSchema(doc value.Value) *schema.Schema {
	if doc.Kind() == value.Object {
		parsed, err := parseOfServer(doc, func(members *value.Map) *value.Map {
			members.Set("type", value.OfString("object"))
			return members
		})
		if err == nil {
			return parsed
		}
	}
	open, _ := schema.Parse(value.OfMap(value.Pairs("type", "object"))) // it is a schema
	return open
}

// outputSchema returns the schema of the output of a tool; data is the schema of its structured content, null for
// none.
func outputSchema(data value.Value) *schema.Schema {
	describe := func(members *value.Map) *value.Map {
		return value.Pairs("type", "object", "required", []string{"text"}, "additionalProperties", false, "properties", value.OfMap(value.Pairs(
			"text", value.OfMap(value.Pairs("type", "string", "description", "The texts of the answer.")),
			"data", value.OfMap(members),
			"content", value.OfMap(value.Pairs("type", "array", "description", "The parts of the answer that are not text: images, resources.")),
		)))
	}
	if data.Kind() == value.Object && !strings.Contains(data.JSON(), `"$ref"`) { // it would point into this schema
		if parsed, err := parseOfServer(data, describe); err == nil {
			return parsed
		}
	}
	parsed, _ := schema.Parse(value.OfMap(describe(nil))) // it is a schema
	return parsed
}

// Info describes the call.
func (c *call) Info() *calls.Info { return c.info }

// Init returns the parameters.
func (c *call) Init(context.Context, *calls.Vars) (value.Value, error) { return c.params, nil }

// maxRounds bounds how often a tool asks people before it answers.
const maxRounds = 16

// Exec uses the tool once: a step that is tried again after the tool has answered, or a run that is resumed, reads
// the answer from the record. If the tool asks people, the step waits for their answers.
func (c *call) Exec(ctx context.Context, env *calls.Env, input value.Value) iter.Seq2[calls.Chunk, error] {
	return func(yield func(calls.Chunk, error) bool) {
		out, err := c.useInRounds(ctx, env, input)
		if err != nil {
			yield(calls.Chunk{}, err)
			return
		}
		yield(calls.DataChunk(out))
	}
}

// useInRounds uses the tool until it asks no more.
func (c *call) useInRounds(ctx context.Context, env *calls.Env, input value.Value) (Output, error) {
	with := value.OfMap(value.Pairs("tool", c.info.Name, "arguments", input))
	var given responses
	for range maxRounds {
		one, err := calls.Once(ctx, env, "tool", with, func(ctx context.Context, env *calls.Env) (round, error) {
			return calls.Exchange(ctx, env.Tape, calls.TapedMCP, c.info.Name, with, func(ctx context.Context) (round, error) { return c.useTool(ctx, input, given) })
		})
		if err != nil || one.Asks == nil {
			return one.Output, err
		}
		if env.Asker == nil {
			return Output{}, c.askedError(one.Asks.message())
		}
		answers, err := env.Asker.Ask(ctx, c.info.Name+": "+one.Asks.message(), one.Asks.schema())
		if err != nil {
			return Output{}, err
		}
		given = one.Asks.responses(answers)
		with = value.OfMap(value.Pairs("tool", c.info.Name, "arguments", input, "state", one.Asks.State, "answers", answers))
	}
	return Output{}, c.server.errorf(calls.Plugin, "the tool %s asks without an end", c.tool.Name)
}

// useTool uses the tool, with the responses to the questions it asked last time.
func (c *call) useTool(ctx context.Context, input value.Value, given responses) (round, error) {
	within, cancel := context.WithTimeout(ctx, c.server.Timeout)
	defer cancel()
	live, err := c.host.acquireSession(within, c.server)
	if err != nil {
		return round{}, outerError(ctx, err)
	}
	now, err := live.findTool(within, c.tool.Name)
	if err != nil {
		return round{}, outerError(ctx, err)
	}
	if err := c.checkUnchanged(now); err != nil {
		return round{}, err
	}
	result, err := live.client.CallTool(within, &sdk.CallToolParams{
		Name: c.tool.Name, Arguments: json.RawMessage(input.AppendJSON(nil)), InputResponses: given.byID, RequestState: given.state,
	})
	if asked := live.takeAsked(); asked != "" {
		return round{}, c.askedError(c.host.options.secretsOf(ctx).Message(asked, maxQuestion))
	}
	if err != nil {
		return round{}, outerError(ctx, live.explainError(within, err))
	}
	if result.NeedsInput() {
		asks, err := readQuestions(c.host.options.secretsOf(ctx), c.server, c.tool, result)
		return round{Asks: asks}, err
	}
	out, err := c.readOutput(ctx, result)
	return round{Output: out}, err
}

// outerError returns the step's error if the step has ended, else err.
func outerError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// checkUnchanged refuses a tool that is not as it was when it was trusted.
func (c *call) checkUnchanged(now *Tool) error {
	if now == nil {
		return c.server.errorf(calls.NotFound, "it has no tool %s any more", c.tool.Name).
			WithHint("look at it and trust it again: scheduler mcp trust %s", c.server.Name)
	}
	if now.SHA256 != c.tool.SHA256 {
		return c.server.errorf(calls.Invalid, "the tool %s is not as it was trusted: %s changed", c.tool.Name, c.tool.changesIn(now)).
			WithHint("look at it and trust it again: scheduler mcp trust %s", c.server.Name)
	}
	return nil
}

// askedError is the error of a tool that cannot go on without an answer of the user.
func (c *call) askedError(question string) error {
	return c.server.errorf(calls.Missing, "the tool %s asks the user: %s", c.tool.Name, question).
		WithHint("give it what it asks for in the parameters of the step")
}

// readOutput returns the output of an answer. If the answer reports an error, the step fails with it.
func (c *call) readOutput(ctx context.Context, r *sdk.CallToolResult) (Output, error) {
	hidden := c.host.options.secretsOf(ctx)
	var out Output
	var texts []string
	for _, part := range r.Content {
		if text, ok := part.(*sdk.TextContent); ok {
			texts = append(texts, text.Text)
			continue
		}
		raw, err := part.MarshalJSON()
		if err != nil {
			return out, c.server.errorf(calls.Plugin, "its answer: %w", err)
		}
		v, err := value.ParseJSON(raw)
		if err != nil {
			return out, c.server.errorf(calls.Plugin, "its answer: %w", err)
		}
		out.Content = append(out.Content, v)
	}
	out.Text = strings.ToValidUTF8(strings.Join(texts, "\n"), "\uFFFD")
	if r.IsError {
		text := wording.Same(hidden.Message(out.Text, maxQuestion))
		if text.En == "" {
			text = wording.Say("it gives no reason")
		}
		return out, c.server.errorf(calls.Plugin, "the tool %s failed: %s", c.tool.Name, text)
	}
	if r.StructuredContent != nil {
		var err error
		out.Data, err = asWritten(r.StructuredContent)
		if err != nil {
			return out, c.server.errorf(calls.Plugin, "its answer: %w", err)
		}
	}
	whole, err := value.Of(out)
	if err != nil {
		return out, c.server.errorf(calls.Plugin, "its answer: %w", err)
	}
	if problems := c.info.Output.Check(hidden.Mark(whole)); problems != nil {
		return out, c.server.errorf(calls.Plugin, "the answer of the tool %s does not fit the schema that the server tells: %s", c.tool.Name, wording.Text{En: hidden.Message(problems.Error(), 300), Zh: hidden.Message(problems.In("zh"), 300)})
	}
	return out, nil
}

// Package chat is the call that asks the model: messages, tools and a JSON Schema in; the text as it is written,
// then the whole answer out. For example, {user: hello} sends one message of the user.
package chat

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/ask"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Params are the parameters of the call: either Messages, or User with or without
// System.
type Params struct {
	Messages       []*value.Map `json:"messages,omitempty" doc:"Chat messages, oldest first: {role, content, ...}. Further keys go to the provider as they are, but for source (of in-chat). Use either messages or user."`
	System         string       `json:"system,omitempty" doc:"Instructions for the model; goes with user."`
	User           string       `json:"user,omitempty" doc:"What the user says: a short form of messages."`
	Model          string       `json:"model,omitempty" doc:"The model to ask; the provider's setting where it is not given." example:"some-model"`
	Temperature    *float64     `json:"temperature,omitempty" min:"0" max:"2" doc:"How freely the model chooses its words."`
	MaxTokens      int          `json:"max_tokens,omitempty" min:"1" max:"10000000" doc:"The longest answer, in tokens; the vendor's limit where it is not given." example:"500"`
	ResponseSchema *value.Map   `json:"response_schema,omitempty" doc:"A JSON Schema (draft 7, or that of its $schema) for the answer. The parsed answer is in json; one that does not fit is an error. Taken as written."`
	Tools          []*value.Map `json:"tools,omitempty" doc:"Tools that the model may call: {type: function, function: {name, description, parameters}}. Taken as written." example:"[{type: function, function: {name: price, parameters: {type: object}}}]"`
	Extra          *value.Map   `json:"extra,omitempty" doc:"Further members of the request body, by the vendor's names. They win over all others; null takes one out. Messages, system, model, tools and stream cannot be replaced." example:"{reasoning_effort: low}"`
}

// Input is the request: messages in the OpenAI shape, and how they are answered.
type Input struct {
	Messages       []*value.Map `json:"messages"`
	Model          string       `json:"model,omitempty"`
	Temperature    *float64     `json:"temperature,omitempty"`
	MaxTokens      int          `json:"max_tokens,omitempty"`
	ResponseSchema *value.Map   `json:"response_schema,omitempty"`
	Tools          []*value.Map `json:"tools,omitempty"`
	Extra          *value.Map   `json:"extra,omitempty"`
	Warnings       []string     `json:"warnings,omitempty"`
}

// Output is the whole answer.
type Output struct {
	Text         string                     `json:"text" doc:"The text of the answer."`
	ToolCalls    []ToolCall                 `json:"tool_calls" doc:"The tools that the model wants to be called."`
	Usage        llm.Usage                  `json:"usage" doc:"What the answer cost; zeros where the provider does not say."`
	FinishReason string                     `json:"finish_reason" doc:"Why the answer ends: stop, length, tool_calls, content_filter or a vendor's word."`
	Provider     string                     `json:"provider,omitempty" doc:"The name of the model provider that answered: of a list under llm, the one that did."`
	JSON         *value.Value               `json:"json,omitempty" doc:"The parsed answer; only with response_schema."`
	Reasoning    string                     `json:"reasoning,omitempty" doc:"What the model thought aloud."`
	Extra        map[string]json.RawMessage `json:"extra,omitempty" doc:"Further fields of the vendor's message."`
	Warnings     []string                   `json:"warnings,omitempty" doc:"What was left out of the request, and what is odd about the answer."`
}

// Definition returns the call chat as a registry knows it: schemas, texts, examples.
func Definition() calls.Definition {
	def := calls.Define[Params, Input, Output](calls.Info{
		Name:        "chat",
		IsContained: true,
		NoSubsteps:  true,
		Summary: calls.Text{
			En: "Ask the model and stream its answer.",
			Zh: "向模型提问，并流式返回回答。",
		},
		Literal:   []string{"response_schema", "tools"},
		Messages:  []string{"messages"},
		OnlyWith:  map[string]string{"json": "response_schema"},
		UsesLLM:   true,
		Operation: calls.OperationChat,
		FromModel: []string{"text", "json"},
		Examples: []calls.Example{
			{
				Title:   "A question",
				With:    "system: You are a terse assistant.\nuser: What is the capital of France?\ntemperature: 0\n",
				Answers: []string{"Paris."},
			},
			{
				Title: "An answer by a schema",
				With: `messages:
  - {role: system, content: Take the order from what the customer says.}
  - {role: user, content: Two coffees please!}
response_schema:
  type: object
  required: [item, count]
  properties: {item: {type: string}, count: {type: integer}}
`,
				Answers: []string{"```json\n{\"item\": \"coffee\", \"count\": 2}\n```"},
			},
		},
	})
	def.Lint = lintParams
	def.Needs = abilities
	def.Info.Check = checkParams
	def.Tools = listTools
	def.OutputFor = func(output, params value.Value) value.Value {
		if answer, _ := params.Get("response_schema"); answer.Kind() == value.Object {
			return schema.WithProperty(output, "json", answer)
		}
		return output
	}
	def.Origins = inputOrigins
	def.Composes = func(pointer string, _ value.Value) []calls.PromptPiece {
		if pointer != "" {
			return nil
		}
		return append(calls.PromptTexts("/system", "/user"), calls.PromptPiece{Messages: "/messages"})
	}
	return def
}

// abilities returns the abilities that the model must have.
func abilities(params value.Value) (needs []string) {
	if tools, ok := params.Get("tools"); ok && len(tools.List()) > 0 {
		needs = append(needs, llm.CallsTools)
	}
	if _, ok := params.Get("response_schema"); ok {
		needs = append(needs, llm.BySchema)
	}
	messages, _ := params.Get("messages")
	for _, m := range messages.List() {
		content, _ := m.Get("content")
		for _, part := range content.List() {
			kind, _ := part.Get("type")
			if text, _ := kind.Str(); text == "image_url" {
				return append(needs, llm.Images)
			}
		}
	}
	return needs
}

// lintParams finds faults in response_schema, and members of extra that the call makes itself.
func lintParams(params value.Value, env calls.LintEnv) []schema.Problem {
	answer, _ := params.Get("response_schema")
	problems := append(schema.InvalidAt("/response_schema", answer), schema.LintAt("/response_schema", answer, env.IsComputed).AsWarnings()...)
	return append(problems, ask.LintExtra(params)...)
}

// checkParams reports messages beside their short form, a lack of both, and messages and tools that no model
// accepts.
func checkParams(params value.Value, env calls.LintEnv) []schema.Problem {
	if problems := env.CheckExclusive(params, "messages", "system", "user"); problems != nil {
		return problems
	}
	if !env.HasOneOf(params, "messages", "user") {
		return []schema.Problem{schema.Problem{}.WithMessage("there is nothing to say: messages is not given, and user is empty").
			WithHint("give messages, or user with or without system")}
	}
	return append(checkMessages(params, env), checkTools(params, env)...)
}

// checkMessages finds messages that no model takes, as far as they are known.
func checkMessages(params value.Value, env calls.LintEnv) (problems []schema.Problem) {
	messages, isGiven := params.Get("messages")
	if isGiven && messages.Kind() == value.List && len(messages.List()) == 0 {
		return []schema.Problem{schema.Problem{}.WithMessage("messages is empty").WithHint("a model needs at least one message")}
	}
	for i, v := range messages.List() {
		at := fmt.Sprintf("/messages/%d", i)
		if v.Kind() != value.Object || env.IsComputed(at+"/role") { // the schema refuses all but objects
			continue
		}
		m := v.Map()
		if env.IsComputed(at + "/content") {
			m = m.Clone()
			m.Set("content", value.OfString(""))
		}
		if err := checkMessage(m); err != nil {
			problems = append(problems, calls.ProblemOf(at, err))
		}
	}
	return problems
}

// checkTools finds values that are not tools, as far as they are known.
func checkTools(params value.Value, env calls.LintEnv) (problems []schema.Problem) {
	tools, _ := params.Get("tools")
	for i, tool := range tools.List() {
		at := fmt.Sprintf("/tools/%d", i)
		if tool.Kind() != value.Object || env.IsComputed(at+"/type") || env.IsComputed(at+"/function/name") {
			continue
		}
		if err := checkTool(tool); err != nil {
			problems = append(problems, calls.ProblemOf(at, err).WithHint("a tool is {type: function, function: {name, description, parameters}}"))
		}
	}
	return problems
}

// Validate checks rules that the parameters' schema cannot express.
func (p Params) Validate() error {
	if _, _, err := p.buildMessages(); err != nil {
		return err
	}
	if _, err := p.compileSchema(); err != nil {
		return err
	}
	if err := ask.CheckExtra(p.Extra); err != nil {
		return err
	}
	return nil
}

// compileSchema returns the compiled response_schema; nil if there is none.
func (p Params) compileSchema() (*schema.Schema, error) {
	if p.ResponseSchema == nil {
		return nil, nil
	}
	s, err := schema.Parse(value.OfMap(p.ResponseSchema))
	if err != nil {
		return nil, calls.Errorf(calls.Invalid, "response_schema: %w", err)
	}
	return s, nil
}

func checkTool(tool value.Value) error {
	kind, _ := tool.Get("type")
	toolType, _ := kind.Str()
	if toolType == "" {
		return wording.Errorf("the type is missing")
	}
	if toolType != "function" {
		return nil // a vendor's own tool
	}
	name, _ := tool.At("/function/name")
	if text, _ := name.Str(); text == "" {
		return wording.Errorf("function.name is missing")
	}
	return nil
}

// Init makes the request; parameters that it leaves out become warnings.
func (p Params) Init(_ context.Context, vars *calls.Vars) (Input, error) {
	messages, odd, err := p.buildMessages()
	var warnings []string
	for _, one := range odd {
		warnings = append(warnings, one.In(vars.Language))
	}
	return Input{
		Messages: messages, Model: p.Model, Temperature: p.Temperature, MaxTokens: p.MaxTokens,
		ResponseSchema: p.ResponseSchema, Tools: p.Tools, Extra: p.Extra, Warnings: warnings,
	}, err
}

// Exec asks the model. Its text is streamed as it comes, the output is the last chunk.
func (p Params) Exec(ctx context.Context, env *calls.Env, in Input) iter.Seq2[calls.Chunk, error] {
	return func(yield func(calls.Chunk, error) bool) {
		var answer llm.AnswerBuilder
		for d, err := range env.LLM.Chat(ctx, in.newRequest()) {
			if err != nil {
				yield(calls.Chunk{}, err)
				return
			}
			answer.Add(d)
			if d.Text != "" && !yield(calls.TextChunk(d.Text), nil) {
				return
			}
		}
		out, err := p.newOutput(env, in, answer.Answer())
		if err != nil {
			yield(calls.Chunk{}, err)
			return
		}
		yield(calls.DataChunk(out))
	}
}

func (in Input) newRequest() *llm.Request {
	req := &llm.Request{
		Model: in.Model, Temperature: in.Temperature, MaxTokens: in.MaxTokens,
		Messages: rawJSONList(in.Messages), Tools: rawJSONList(in.Tools),
	}
	if in.ResponseSchema != nil {
		req.ResponseSchema = rawJSON(schema.WithoutDraft(value.OfMap(in.ResponseSchema)))
	}
	if in.Extra.Len() > 0 {
		req.Extra = make(map[string]json.RawMessage, in.Extra.Len())
		for name, member := range in.Extra.All() {
			req.Extra[name] = rawJSON(member)
		}
	}
	return req
}

func rawJSON(v value.Value) json.RawMessage { return v.AppendJSON(nil) }

func rawJSONList(objects []*value.Map) []json.RawMessage {
	list := make([]json.RawMessage, len(objects))
	for i, o := range objects {
		list[i] = rawJSON(value.OfMap(o))
	}
	return list
}

// newOutput judges the answer.
func (p Params) newOutput(env *calls.Env, in Input, answer llm.Answer) (Output, error) {
	out := Output{
		Text: answer.Text, Reasoning: answer.Reasoning, Usage: answer.Usage, FinishReason: answer.FinishReason,
		Provider: answer.Provider, Extra: answer.Extra, ToolCalls: []ToolCall{},
	}
	warn := func(code, format string, args ...any) {
		out.Warnings = append(out.Warnings, env.Say(format, args...))
		env.Warn(code, format, args...)
	}
	for _, text := range in.Warnings {
		warn("messages", "%s", text)
	}
	for _, c := range answer.ToolCalls {
		call := ToolCall{ID: c.ID, Function: Function{c.Name, c.Arguments}, Extra: c.Extra}
		if c.Arguments != "" && !json.Valid([]byte(c.Arguments)) {
			warn("tool-call", "the arguments of the tool call %s (%s) are not JSON", c.ID, c.Name)
		}
		out.ToolCalls = append(out.ToolCalls, call)
	}
	blank := strings.TrimSpace(answer.Text) == ""
	refusal := answer.Refusal()
	if refusal != "" {
		warn("refused", "the model refused to answer: %s", refusal)
	} else if cut := ask.WarnOfCut(env, answer.FinishReason, "max_tokens"); cut != "" {
		out.Warnings = append(out.Warnings, cut)
	} else if blank && len(out.ToolCalls) == 0 {
		warn("empty", "the model gave no text")
	}
	s, err := p.compileSchema()
	onlyCallsTools := blank && len(out.ToolCalls) > 0
	if err != nil || s == nil || onlyCallsTools {
		return out, err
	}
	fitting, err := ask.Fit(answer.Text, s)
	if err != nil {
		if refusal != "" {
			return out, calls.Errorf(calls.Provider, "the model refused to answer: %s", refusal).
				WithHint("ask for it in other words, or ask another model")
		}
		e := calls.Errorf(calls.Provider, "the answer does not fit response_schema: %w", err)
		if answer.FinishReason == llm.FinishLength {
			return out, e.WithHint("the answer was cut at the limit of tokens: raise %s", "max_tokens")
		}
		return out, e.WithHint("let the step retry, or tell the model in its instructions what to answer")
	}
	out.JSON = &fitting
	return out, nil
}

// listTools returns the tools that the parameters write out: the caller of the model runs them.
func listTools(params value.Value) (tools []calls.Tool, isWhole bool) {
	list, hasTools := params.Get("tools")
	isWhole = !hasTools || !list.IsNull()
	for i, tool := range list.List() {
		v, _ := tool.At("/function/name")
		name, ok := v.Str()
		isWhole = isWhole && ok
		if ok {
			tools = append(tools, calls.Tool{Name: name, Pointer: "/tools/" + strconv.Itoa(i)})
		}
	}
	return tools, isWhole
}

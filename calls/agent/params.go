package agent

import (
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
)

// Params are the parameters of the call: either Messages, or Prompt with or without
// System.
type Params struct {
	Messages       []*value.Map `json:"messages,omitempty" doc:"Chat messages to begin with, oldest first, as context gives them." example:"[{role: user, content: 'Which bread is cheapest?'}]"`
	System         string       `json:"system,omitempty" doc:"Instructions for the model; goes with prompt."`
	Prompt         string       `json:"prompt,omitempty" doc:"What the user wants: a short form of messages. Default, without messages: the question of the run. The conversation that came with it stands before; without one, in a flow with memory, the last turns of the session."`
	Tools          Tools        `json:"tools,omitempty" doc:"What the model may use. The with of a tool is fixed: the model neither sees nor changes it, and sets the rest." example:"{calls: [{call: memory-retrieve}]}"`
	Workspace      string       `json:"workspace,omitempty" doc:"Directory whose files the model may read, with read_file, and whose skills, with read_skill. Nothing outside of it is read."`
	BuiltinSkills  string       `json:"builtin_skills,omitempty" doc:"Another directory of skills. Skills of the workspace win over those of the same name." example:"./skills"`
	MaxRounds      int          `json:"max_rounds,omitempty" default:"10" min:"1" max:"200" doc:"How many rounds of tools there may be. Then the model has to answer with what it has."`
	MaxTokens      int          `json:"max_tokens,omitempty" min:"1" doc:"How many tokens all rounds together may cost. When they are used up the call ends with what there is. Without it, only the budget of the flow counts." example:"20000"`
	MaxRepeats     int          `json:"max_repeats,omitempty" default:"3" min:"1" max:"100" doc:"How often the same tool may be used with the same arguments."`
	MaxResultBytes int          `json:"max_result_bytes,omitempty" default:"32768" min:"256" max:"4194304" doc:"How much of a tool's result the model gets to see."`
	Images         *bool        `json:"images,omitempty" doc:"Whether the model sees the pictures that tools of MCP servers give and that it reads with read_file, or reads a note such as [image/png, 70 bytes] in their place. Default: it does if the settings know that its model takes pictures (has: [images])." example:"false"`
	Timeout        string       `json:"timeout,omitempty" doc:"How long it all may take, as 90s or 5m. When it is over the call ends with what there is." example:"90s"`
	Model          string       `json:"model,omitempty" doc:"The model to ask; the provider's setting where it is not given." example:"some-model"`
	Temperature    *float64     `json:"temperature,omitempty" min:"0" max:"2" doc:"How freely the model chooses its words." example:"0.2"`
	ResponseSchema *value.Map   `json:"response_schema,omitempty" doc:"A JSON Schema for the last answer, which json has. One that does not fit is asked for again, without tools. Taken as written." example:"{type: object, required: [price], properties: {price: {type: number}}}"`
	Extra          *value.Map   `json:"extra,omitempty" doc:"Further members of the request body, by the vendor's names." example:"{reasoning_effort: low}"`
}

// Tools are the tools beside the workspace's own.
type Tools struct {
	Flows []FlowTool `json:"flows,omitempty" doc:"Flows; their inputs are the arguments." example:"[{path: ./order.yaml}]"`
	Calls []CallTool `json:"calls,omitempty" doc:"Calls; their parameters are the arguments." example:"[{call: memory-retrieve, with: {limit: 5}}]"`
	HTTP  []HTTPTool `json:"http,omitempty" doc:"HTTP requests: each parameter of the operation, and each member of its JSON body, is an argument." example:"[{name: price, with: {url: 'https://api.example.com/prices'}}]"`
	MCP   []MCPTools `json:"mcp,omitempty" doc:"Tools of trusted MCP servers; they are SERVER_TOOL to the model." example:"[{server: github, tools: [search_issues]}]"`
}

// FlowTool runs a flow.
type FlowTool struct {
	Path        string     `json:"path" min:"1" doc:"The flow file, relative to the flow of this step." example:"./order.yaml"`
	Name        string     `json:"name,omitempty" doc:"Its name for the model. Default: the name of the file." example:"place_order"`
	Description string     `json:"description,omitempty" doc:"What it does, for the model. Default: the flow's description." example:"Orders bread."`
	Parameters  *value.Map `json:"parameters,omitempty" doc:"JSON Schema of the arguments. Default: the flow's inputs." example:"{properties: {bread: {type: string}}}"`
	With        *value.Map `json:"with,omitempty" doc:"Inputs that are fixed." example:"{shop: main}"`

	LLM     calls.ProviderNames `json:"llm,omitempty" doc:"The model providers of the flow, where it names none: a name or a list, as llm of a step. Default: those of the agent." example:"small"`
	Approve calls.ApprovalRule  `json:"approve,omitempty" doc:"A person decides about each use, with its arguments: true, or a map with when, message, edit, by and timeout. See help approvals." example:"true"`
}

// CallTool runs a call.
type CallTool struct {
	Call        string     `json:"call" min:"1" doc:"The call's name." example:"memory-retrieve"`
	Name        string     `json:"name,omitempty" doc:"Its name for the model. Default: the call's." example:"remember"`
	Description string     `json:"description,omitempty" doc:"What it does, for the model. Default: the call's summary." example:"Finds what the user said before."`
	Parameters  *value.Map `json:"parameters,omitempty" doc:"JSON Schema of the arguments. Default: the call's parameters but for those of with." example:"{properties: {current_query: {type: string}}}"`
	With        *value.Map `json:"with,omitempty" doc:"Parameters that are fixed." example:"{limit: 5}"`

	LLM     calls.ProviderNames `json:"llm,omitempty" doc:"The model providers that the call asks: a name or a list, as llm of a step. Default: those of the agent." example:"small"`
	Approve calls.ApprovalRule  `json:"approve,omitempty" doc:"A person decides about each use, with its arguments: true, or a map with when, message, edit, by and timeout. See help approvals." example:"true"`
}

// HTTPTool sends a request by the call http.
type HTTPTool struct {
	Name          string             `json:"name,omitempty" doc:"Its name for the model. Default: the operation." example:"price"`
	Description   string             `json:"description,omitempty" doc:"What it does, for the model. Default: what the OpenAPI document says." example:"Returns the price of a bread."`
	Parameters    *value.Map         `json:"parameters,omitempty" doc:"JSON Schema of the arguments, by their names in the operation, or as an object of path, query, headers and body. Default: those of the operation; arguments of one name get their place before it, as query_id and body_id. With a url: names in its braces are of the path, others of the body for POST, PUT and PATCH, else of the query." example:"{properties: {bread: {type: string}}}"`
	ResultHeaders []string           `json:"result_headers,omitempty" doc:"Headers of the answer that the model gets to see beside the body. It sees no others." example:"[retry-after]"`
	With          *value.Map         `json:"with" doc:"Parameters of the call http that are fixed: url, or openapi with operation; headers with keys." example:"{openapi: shop.json, operation: getPrice}"`
	Approve       calls.ApprovalRule `json:"approve,omitempty" doc:"A person decides about each use, with its arguments: true, or a map with when, message, edit, by and timeout. See help approvals." example:"true"`
}

// MCPTools are tools of an MCP server; to the model they are SERVER_TOOL.
type MCPTools struct {
	Server  string             `json:"server" min:"1" doc:"The name of the server in the settings."`
	Tools   []string           `json:"tools" min:"1" doc:"The names of the tools that the model may use."`
	With    *value.Map         `json:"with,omitempty" doc:"Parameters that are fixed, for all of these tools." example:"{repo: shop}"`
	Approve calls.ApprovalRule `json:"approve,omitempty" doc:"A person decides about each use, with its arguments: true, or a map with when, message, edit, by and timeout. See help approvals." example:"true"`
}

// Input is the work's first input: Messages, or System and Prompt with the session's turns from the memory between
// them.
type Input struct {
	Messages []*value.Map `json:"messages,omitempty"`
	System   string       `json:"system,omitempty"`
	Prompt   string       `json:"prompt,omitempty"`
}

// Output is the answer and how it came about.
type Output struct {
	Text         string       `json:"text" doc:"The answer: the text of the last round."`
	JSON         *value.Value `json:"json,omitempty" doc:"The parsed answer; only with response_schema."`
	Messages     []*value.Map `json:"messages" doc:"The whole conversation, tool calls and results included."`
	Recalled     []string     `json:"recalled,omitempty" doc:"The ids of the memories that stand before the prompt: the turns of the session, where the request brought no conversation."`
	Rounds       []Round      `json:"rounds" doc:"What the model said and did, in order."`
	Usage        llm.Usage    `json:"usage" doc:"What all rounds cost; tokens of tools are not in it."`
	FinishReason string       `json:"finish_reason" doc:"Why it ended: stop, length, content_filter or a vendor's word; max_rounds, max_tokens, timeout, or repeated where the model used the same tools again and again."`
	Provider     string       `json:"provider,omitempty" doc:"The name of the model provider that gave the last round."`
	Warnings     []string     `json:"warnings,omitempty" doc:"The skills of the workspace that cannot be used, and why; and that the model wrote no answer, or that its answer was cut."`
}

// Round is one answer of the model and the tools it used.
type Round struct {
	Text         string    `json:"text"`
	ToolCalls    []Use     `json:"tool_calls"`
	Usage        llm.Usage `json:"usage"`
	FinishReason string    `json:"finish_reason"`
}

// Use is one use of a tool.
type Use struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments" doc:"JSON text as the model wrote it."`
	Result    string `json:"result" doc:"What the model got to see."`
	Error     string `json:"error,omitempty" doc:"The kind of error, where it was one."`
	NotRun    bool   `json:"not_run,omitempty" doc:"The tool was not run: it was refused, there is none of that name, or the arguments do not fit."`
	Pictures  int    `json:"pictures,omitempty" doc:"How many pictures it gave that the model got to see, in the message after the results of the round."`
	Added     int    `json:"added,omitempty" doc:"How many bytes at the end of the result are the agent's: a note that the result was cut."`
}

// timeout returns 0 if the step sets none.
func (p Params) timeout() (time.Duration, error) {
	if p.Timeout == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(p.Timeout)
	if err != nil || d <= 0 {
		return 0, calls.Errorf(calls.Invalid, "timeout: invalid duration %q", p.Timeout).WithHint("use 90s or 5m")
	}
	return d, nil
}

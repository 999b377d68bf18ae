package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// tool is a tool that the model may use.
type tool struct {
	name, description string
	parameters        *schema.Schema
	// flat places the arguments in an HTTP request; nil if the tool gets the arguments unchanged.
	flat *flatArguments
	// literals are the arguments that the call reads as templates: the model's are made literal.
	literals []string
	// words translates the descriptions of the parameters; nil leaves them as they are.
	words func(format string, args ...any) string
	// fixed are the parameters that lie over the arguments.
	fixed *value.Map
	// call is the name of the call or flow it runs, "" for a tool of the workspace; approve is the rule by which a
	// person approves its uses, and at its pointer.
	call, at string
	approve  calls.ApprovalRule
	run      func(ctx context.Context, env *calls.Env, params value.Value) (toolOutput, error)
}

// approvedParams returns the parameters of a use of the tool: the arguments, with the fixed parameters over them,
// and with the changes of a person who had to approve the use.
func (t tool) approvedParams(ctx context.Context, env *calls.Env, arguments value.Value) (value.Value, error) {
	if t.call == "" {
		return arguments, nil
	}
	params := overlayFixed(arguments, t.fixed)
	if env.Approver != nil {
		return env.Approver.Approve(ctx, calls.ApprovalUse{Call: t.call, Name: t.name, Rule: t.approve, At: t.at, Params: params})
	}
	if t.approve.Asked {
		return value.Value{}, calls.Errorf(calls.Invalid, "the tool %s needs the leave of a person, and there is no run that could wait for it", t.name).
			WithHint("use it in a flow")
	}
	return params, nil
}

// toolOutput is the output of a tool. file is the path, as the flow writes it, of the file that a tool of the
// workspace has read; pictures are data URLs.
type toolOutput struct {
	value.Value
	file     string
	pictures []string
}

// describedParameters returns the schema of the parameters with descriptions in the language
// of the run.
func (t *tool) describedParameters() value.Value {
	doc := schema.WithoutDraft(t.parameters.Doc())
	if t.words == nil {
		return doc
	}
	return schema.Rewrite(doc, func(keywords *value.Map) {
		description, _ := keywords.Get("description")
		if text, ok := description.Str(); ok {
			keywords.Set("description", value.OfString(t.words(text)))
		}
	})
}

// plainText returns an output as text: its text if it has nothing else, else JSON.
func plainText(v value.Value) string {
	if m := v.Map(); m.Len() == 1 {
		if text, ok := m.Get("text"); ok && text.Kind() == value.String {
			v = text
		}
	}
	return v.PlainText()
}

// toolPlan is a tool as the parameters describe it.
type toolPlan struct {
	place             string // in the parameters
	callPlace         string // the pointer to the name of the call or flow; "" for the member call or path
	name, description string
	flow, call        string // one of them
	parameters, with  *value.Map
	llm               calls.ProviderNames // the providers that answer it; empty: the agent's
	approve           calls.ApprovalRule
	resultHeaders     []string // headers of an HTTP response that the model sees
}

const (
	callFlow = "flow"
	callHTTP = "http"
	callMCP  = "mcp." // the names of tools of MCP servers begin with it
)

// toolPlans returns the tools of the parameters.
func (p Params) toolPlans() (plans []toolPlan) {
	for i, t := range p.Tools.Flows {
		name := t.Name
		if name == "" {
			name = calls.FlowToolName(t.Path)
		}
		plans = append(plans, toolPlan{place: fmt.Sprintf("tools/flows/%d", i), name: name, description: t.Description,
			flow: t.Path, parameters: t.Parameters, with: t.With, llm: t.LLM, approve: t.Approve})
	}
	for i, t := range p.Tools.Calls {
		name := t.Name
		if name == "" {
			name = calls.ToolName(t.Call)
		}
		plans = append(plans, toolPlan{place: fmt.Sprintf("tools/calls/%d", i), name: name, description: t.Description,
			call: t.Call, parameters: t.Parameters, with: t.With, llm: t.LLM, approve: t.Approve})
	}
	for i, t := range p.Tools.HTTP {
		name := t.Name
		if operation, _ := t.With.Get("operation"); name == "" {
			text, _ := operation.Str()
			name = calls.ToolName(text)
		}
		plans = append(plans, toolPlan{place: fmt.Sprintf("tools/http/%d", i), name: name, description: t.Description,
			call: callHTTP, parameters: t.Parameters, with: t.With, approve: t.Approve, resultHeaders: t.ResultHeaders})
	}
	for i, t := range p.Tools.MCP {
		for j, name := range t.Tools {
			plans = append(plans, toolPlan{place: fmt.Sprintf("tools/mcp/%d", i), name: calls.ToolName(t.Server + "_" + name),
				callPlace: fmt.Sprintf("tools/mcp/%d/tools/%d", i, j), call: callMCP + t.Server + "." + name, with: t.With, approve: t.Approve})
		}
	}
	return plans
}

var toolName = value.CompileLater(`^[A-Za-z0-9_-]{1,64}$`)

// check refuses a tool that providers or prudence do not allow.
func (t toolPlan) check() error {
	_, hasURL := t.with.Get("url")
	_, hasOperation := t.with.Get("operation")
	switch {
	case !toolName().MatchString(t.name):
		return calls.Errorf(calls.Invalid, "%q is not a valid tool name", t.name).
			WithHint("give it a name of at most 64 letters, digits, - and _")
	case t.call == callFlow:
		return calls.Errorf(calls.Invalid, "a model must not choose any flow").WithHint("list the flow under tools.flows")
	case t.call == "agent":
		return calls.Errorf(calls.Invalid, "a model must not choose the tools of an agent").
			WithHint("put the inner agent into a flow, and list that under tools.flows")
	case t.call == callHTTP && !hasURL && !hasOperation:
		return calls.Errorf(calls.Invalid, "a model must not choose any address").
			WithHint("fix url, or openapi and operation, under with")
	}
	if t.parameters != nil {
		if _, err := t.givenSchema(); err != nil {
			return calls.Errorf(calls.Invalid, "parameters: %w", err)
		}
	}
	return nil
}

// invalidParameters returns why the parameters that the tool spells out are not a schema; nil if they are, or are
// known only later.
func (t toolPlan) invalidParameters() schema.Problems {
	return schema.InvalidAt("/"+t.place+"/parameters", value.OfMap(t.parameters))
}

// givenSchema returns the schema of the arguments that the parameters spell out. It is closed: no other arguments
// may get through.
func (t toolPlan) givenSchema() (*schema.Schema, error) {
	m := t.parameters.Clone()
	if kind, ok := m.Get("type"); !ok {
		m.Set("type", value.OfString("object"))
	} else if name, _ := kind.Str(); name != "object" {
		return nil, wording.Errorf("the arguments of a tool are an object: write type: object")
	}
	m.Set("additionalProperties", value.OfBool(false))
	return schema.Parse(value.OfMap(m))
}

// newTool looks up the call or flow that the plan names.
func (t toolPlan) newTool(ctx context.Context, env *calls.Env) (tool, error) {
	made := tool{name: t.name, description: t.description, fixed: t.with, call: t.call, approve: t.approve, at: "/" + t.place + "/approve"}
	var whole *schema.Schema
	var err error
	if t.flow != "" {
		made.call = callFlow
		made.run = func(ctx context.Context, env *calls.Env, inputs value.Value) (toolOutput, error) {
			outputs, err := env.Flows.RunFlow(calls.WithProviders(ctx, t.llm), t.flow, inputs)
			return toolOutput{Value: outputs}, err
		}
		whole, err = t.ofFlow(ctx, env, &made)
	} else {
		made.run = func(ctx context.Context, env *calls.Env, params value.Value) (toolOutput, error) {
			output, err := env.Calls.RunCall(calls.WithProviders(ctx, t.llm), t.call, withLiterals(params, made.literals))
			if err != nil {
				return toolOutput{}, err
			}
			return toolOutput{Value: value.OfString(t.resultText(output)), pictures: t.pictures(output)}, nil
		}
		whole, err = t.ofCall(ctx, env, &made)
	}
	if err != nil {
		return tool{}, err
	}
	switch {
	case t.call == callHTTP:
		err = t.takeFlat(whole.Doc(), &made)
	case t.parameters != nil:
		made.parameters, err = t.givenSchema()
	default:
		made.parameters, err = schema.Parse(withoutFixed(whole.Doc(), t.with))
	}
	if err != nil {
		return tool{}, calls.Errorf(calls.Invalid, "the arguments of the tool %s: %w", t.name, err).WithHint("%s", calls.HintOf(err))
	}
	return made, nil
}

// ofFlow returns the inputs of the flow.
func (t toolPlan) ofFlow(ctx context.Context, env *calls.Env, made *tool) (*schema.Schema, error) {
	open, err := schema.Parse(value.OfMap(value.Pairs("type", "object")))
	describer, ok := env.Flows.(calls.FlowDescriber)
	if err != nil || !ok {
		return open, err
	}
	info, err := describer.DescribeFlow(ctx, t.flow)
	if err != nil {
		return nil, err
	}
	if made.description == "" {
		made.description = info.Description
	}
	if info.Inputs == nil {
		return open, nil
	}
	return info.Inputs, nil
}

// ofCall returns the parameters of the call.
func (t toolPlan) ofCall(ctx context.Context, env *calls.Env, made *tool) (*schema.Schema, error) {
	def, ok := env.Registry.Call(t.call)
	if !ok {
		return nil, calls.Errorf(calls.NotFound, "there is no call %q that can be run from here", t.call)
	}
	for _, name := range def.Info.Templates {
		if _, isFixed := t.with.Get(name); isFixed {
			continue
		}
		if !t.asksFor(name) {
			return nil, calls.Errorf(calls.Invalid, "the tool %s has no %q: a model does not write templates", t.name, name).
				WithHint("fix %s under with", name)
		}
		made.literals = append(made.literals, name)
	}
	whole := def.Info.Params
	if def.ParamsFor != nil {
		var err error
		whole, err = def.ParamsFor(ctx, env, value.OfMap(t.with))
		if err != nil {
			return nil, err
		}
	}
	whole, err := withoutParams(whole, def.Info.AllUsers)
	if err != nil {
		return nil, err
	}
	if def.Info.Words != nil {
		language := env.Vars.Language
		made.words = func(english string, _ ...any) string { return def.Info.Words(english).In(language) }
	}
	if made.description == "" {
		description, _ := whole.Doc().Get("description")
		made.description, _ = description.Str()
	}
	if made.description == "" {
		made.description = def.Info.Summary.In(env.Vars.Language)
	}
	return whole, nil
}

// asksFor reports whether the flow spells out a parameter of the tool as one that the model gives.
func (t toolPlan) asksFor(name string) bool {
	_, isAsked := value.OfMap(t.parameters).At("/properties/" + value.Escape(name))
	return isAsked
}

// withLiterals returns arguments in which some are templates that print them unchanged: a model's text must not
// run as a template.
func withLiterals(arguments value.Value, names []string) value.Value {
	if len(names) == 0 || arguments.Map() == nil {
		return arguments
	}
	m := arguments.Map().Clone()
	for _, name := range names {
		v, _ := m.Get(name)
		if text, ok := v.Str(); ok {
			m.Set(name, value.OfString(prompt.LiteralSource(text)))
		}
	}
	return value.OfMap(m)
}

// toolProblems returns the problems of the tools, independent of the other parameters.
func (p Params) toolProblems() (problems []schema.Problem) {
	var names []string
	for _, t := range p.toolPlans() {
		err := t.check()
		isTaken := slices.Contains(names, t.name) || p.isReserved(t.name)
		if err == nil && isTaken {
			err = calls.Errorf(calls.Invalid, "there are two tools called %s", t.name).WithHint("give one of them another name")
		}
		var notSchema *schema.InvalidError
		if errors.As(err, &notSchema) {
			problems = append(problems, t.invalidParameters()...)
		} else if err != nil {
			problems = append(problems, calls.ProblemOf("/"+t.place, err))
		}
		names = append(names, t.name)
	}
	return problems
}

// isReserved reports whether a tool of that name is there without being listed.
func (p Params) isReserved(name string) bool {
	switch name {
	case calls.ReadFileTool:
		return p.Workspace != ""
	case calls.ReadSkillTool:
		return p.Workspace != "" || p.BuiltinSkills != ""
	}
	return false
}

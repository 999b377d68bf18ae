package agent

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
)

// toolbox is the tools of an agent.
type toolbox struct {
	tools     []tool
	workspace *workspace
}

func (b *toolbox) close() { b.workspace.close() }

// openToolbox makes the tools.
func (p Params) openToolbox(ctx context.Context, env *calls.Env) (*toolbox, error) {
	ws, err := openWorkspace(ctx, env, p.Workspace, p.BuiltinSkills, p.MaxResultBytes)
	b := &toolbox{workspace: ws}
	if err == nil {
		b.tools, err = ws.workspaceTools(ctx, env)
	}
	if err == nil {
		for _, plan := range p.toolPlans() {
			var t tool
			t, err = plan.newTool(ctx, env)
			if err != nil {
				err = calls.Errorf(calls.KindOf(err), "%s: %w", plan.place, err).WithHint("%s", calls.HintOf(err))
				break
			}
			b.tools = append(b.tools, t)
		}
	}
	if err != nil {
		b.close()
		return nil, err
	}
	ws.warnOfTools(env, b.tools)
	return b, nil
}

// definitions returns the tools in the shape of the API.
func (b *toolbox) definitions() []json.RawMessage {
	list := make([]json.RawMessage, len(b.tools))
	for i, t := range b.tools {
		list[i] = value.OfMap(value.Pairs("type", "function", "function", value.Pairs(
			"name", t.name, "description", t.description, "parameters", t.describedParameters()))).AppendJSON(nil)
	}
	return list
}

// prepareUse returns the tool that a model has called and its arguments. If they are wrong, the error helps the
// model to do better.
func (b *toolbox) prepareUse(c llm.ToolCall) (t tool, arguments value.Value, err error) {
	i := slices.IndexFunc(b.tools, func(t tool) bool { return t.name == c.Name })
	if i < 0 {
		names := make([]string, len(b.tools))
		for i, t := range b.tools {
			names[i] = t.name
		}
		return tool{}, value.Value{}, calls.Errorf(calls.NotFound, "there is no tool %q", c.Name).WithHint("%s", value.DidYouMeanOrList(c.Name, names))
	}
	t, arguments = b.tools[i], value.OfMap(nil)
	if strings.TrimSpace(c.Arguments) != "" {
		arguments, err = value.ParseJSON([]byte(c.Arguments))
		if err != nil {
			return tool{}, value.Value{}, calls.Errorf(calls.Invalid, "the arguments are not JSON: %w", err)
		}
	}
	arguments, problems := t.checkArguments(arguments)
	if problems != nil {
		return tool{}, value.Value{}, calls.Errorf(calls.Invalid, "the arguments do not fit the tool: %w", problems)
	}
	return t, arguments, nil
}

// checkArguments returns the arguments, checked against the tool's schema. A null that the schema does not allow
// is left out: models send it for arguments that they do not want to give.
func (t tool) checkArguments(arguments value.Value) (value.Value, schema.Problems) {
	problems := t.parameters.Check(arguments)
	for _, p := range problems {
		if v, given := arguments.At(p.Pointer); given && v.IsNull() {
			arguments = withoutMember(arguments, strings.Split(p.Pointer, "/")[1:])
		}
	}
	if problems != nil {
		problems = t.parameters.Check(arguments)
	}
	if t.flat == nil || problems != nil {
		return arguments, problems
	}
	return t.flat.request(arguments), t.flat.check(arguments)
}

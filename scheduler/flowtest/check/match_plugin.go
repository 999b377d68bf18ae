package check

import (
	"context"
	"slices"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/plugins"
)

// namePlugin is the matcher that asks a check of a plugin, which may be given anything.
const namePlugin = "plugin"

// pluginMatchers lists the matcher that asks a check of a plugin.
func pluginMatchers() []matcher {
	on := []subjectKind{outputSubject, stepSubject, promptSubject, eventSubject, toolsSubject, retrievedSubject, runSubject}
	return []matcher{
		define(namePlugin, wording.Text{En: "The check of a plugin passes; with beside it is what it is given.", Zh: "插件的检查通过；with 是交给它的值。"}, on, buildPlugin).
			withKeys(modifier{"with", schema.MustFor[value.Value]()}),
	}
}

func buildPlugin(name string, a *argument) test {
	if known := a.scope.PluginChecks; known != nil && !slices.Contains(known, name) {
		a.report("", wording.Say("there is no check %q of a plugin", name), nearHint(name, known))
		return nil
	}
	with, _ := a.beside.Get("with")
	return func(ctx context.Context, of *subject) *verdict {
		f, ok := of.of.Services.Registry.TestCheck(name)
		if !ok {
			return errorOf(calls.Errorf(calls.NotFound, "there is no check %q of a plugin", name).WithHint("install the plugin, and trust it"))
		}
		outputs := of.of.Record.Outputs
		item := plugins.Item{Name: of.String(), Text: of.asText(), Data: value.OfMap(value.Pairs(
			"value", of.asValue(), "with", with, "inputs", of.of.Inputs, "outputs", outputs, "row", of.of.Row,
		)).AppendJSON(nil)}
		verdicts, err := f.Judge(ctx, plugins.State{Input: of.question(), Language: of.of.Language}, []plugins.Item{item})
		if err != nil {
			return errorOf(err)
		}
		if len(verdicts) != 1 {
			return errorOf(calls.Errorf(calls.Plugin, "the check %q returned %d verdicts for one item", name, len(verdicts)))
		}
		v := pass()
		if !verdicts[0].Include {
			v = failf("the check %s does not pass: %s", name, verdicts[0].Reason)
		}
		v.score = verdicts[0].Score
		return v
	}
}

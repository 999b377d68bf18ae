package examples

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/plugins/host"
	"github.com/callnode/scheduler/plugins/manifest"
	"github.com/callnode/scheduler/plugins/pluginstest"
	"github.com/callnode/scheduler/plugins/project"
	"github.com/callnode/scheduler/plugins/sdk"
	"github.com/callnode/scheduler/test/slow"
)

// asksHost has an importance function and a variable that search memories, and ask the model about the results.
func asksHost(t *testing.T, h *host.Host, err error) {
	t.Helper()
	r := registered(t, h, err)
	env := calls.NewEnv()
	env.LLM, env.Memory = scripted.Echo{}, memory{}
	state := plugins.State{Input: "tea"}
	env.AttachServices(&state)
	const want = "Ours is 99.9 %."
	judge, _ := r.Importance("curious.is_known")
	verdicts, err := judge.Judge(t.Context(), state, []plugins.Item{{Text: "SLO"}})
	if err != nil || !verdicts[0].Include || verdicts[0].Reason != want {
		t.Errorf("the importance function: %+v, %v", verdicts, err)
	}
	advice, _ := r.Resolver("advice")
	values, err := advice.Resolve(t.Context(), state, []string{"advice"})
	if err != nil || string(values["advice"]) != `"`+want+`"` {
		t.Errorf("the variable: %s, %v", values, err)
	}
}

func TestServicesInGo(t *testing.T) {
	learn := func(ctx context.Context, query string) (string, error) {
		found, err := sdk.HostOf(ctx).Search(ctx, query, 1)
		if err != nil {
			return "", err
		}
		return sdk.HostOf(ctx).Ask(ctx, found[0].Text)
	}
	doc := sdk.Doc{En: "It asks.", Zh: "提问。"}
	server, err := sdk.Plugin{Name: "curious", Version: "1.0.0", Functions: []sdk.Function{
		sdk.Importance("is_known", doc, func(ctx context.Context, _ plugins.State, item plugins.Item) (plugins.Verdict, error) {
			reason, err := learn(ctx, item.Text)
			return plugins.Verdict{Include: true, Reason: reason}, err
		}),
		sdk.Variable("advice", doc, func(ctx context.Context, s plugins.State) (string, error) { return learn(ctx, s.Input) }),
	}}.Server()
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.InProcess(server, host.Options{}, "llm", "memory")
	asksHost(t, h, err)
	pluginstest.RunInProcess(t, server, "llm", "memory")
}

// newProject returns the folder of a new plugin, as `plugins init` writes it.
func newProject(t *testing.T, language string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if _, err := project.Write(dir, project.Options{Name: "new", Language: language}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// write puts files into a folder.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestServicesInPython(t *testing.T) {
	slow.Test(t)
	pluginstest.Python(t)
	dir := newProject(t, "python")
	write(t, dir, map[string]string{
		manifest.FileName: "name: curious\nversion: 1.0.0\ncommand: python3\nargs: [main.py]\nservices: [llm, memory]\n",
		"main.py": `
from scheduler_plugin import Plugin, Verdict

plugin = Plugin("curious", "1.0.0")


def learn(host, query):
    return host.ask(host.search(query, 1)[0].text)


@plugin.importance("is_known", en="It asks.")
def is_known(state, item):
    return Verdict(True, reason=learn(state.host, item.text))


@plugin.variable("advice", {"type": "string"}, en="It asks.")
def advice(state):
    return learn(state.host, state.input)


plugin.serve()
`,
	})
	h, err := host.Single(t.Context(), dir, host.Options{})
	asksHost(t, h, err)
}

func TestServicesInNode(t *testing.T) {
	slow.Test(t)
	dir := pluginstest.Node(t, newProject(t, "node"))
	write(t, dir, map[string]string{
		manifest.FileName: "name: curious\nversion: 1.0.0\ncommand: node\nargs: [main.js]\nservices: [llm, memory]\n",
		"main.js": `
const { Plugin } = require('./scheduler_plugin')

const plugin = new Plugin('curious', '1.0.0')
const learn = async (host, query) => host.ask((await host.search(query, 1))[0].text)
plugin.importance('is_known', { en: 'It asks.' }, async (state, item) => ({ include: true, reason: await learn(state.host, item.text) }))
plugin.variable('advice', { en: 'It asks.', output: { type: 'string' } }, state => learn(state.host, state.input))
plugin.serve()
`,
	})
	h, err := host.Single(t.Context(), dir, host.Options{})
	asksHost(t, h, err)
}

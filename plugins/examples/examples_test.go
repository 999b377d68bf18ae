// Package examples runs the same suite on plugins in other languages as on those in Go, and uses their functions.
// For example, the plugin lookup in Python is called in a flow.
package examples

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/callstest"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/plugins/host"
	"github.com/callnode/scheduler/plugins/pluginstest"
	"github.com/callnode/scheduler/test/slow"
)

// memory remembers one thing.
type memory struct{ calls.Memory }

func (memory) Retrieve(context.Context, calls.Scope, string, int) ([]plugins.Recalled, error) {
	return []plugins.Recalled{{Text: "Ours is 99.9 %.", Score: 0.8}}, nil
}

// registered returns a registry with the functions of a host, until the test ends.
func registered(t *testing.T, h *host.Host, err error) *calls.Registry {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	r, err := calls.NewRegistry()
	if err == nil {
		err = h.Register(r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// use asks one function of every kind, and a call that uses the host.
func use(t *testing.T, dir, importance, variable, call string, params *value.Map, asks string) {
	t.Helper()
	h, err := host.Single(t.Context(), dir, host.Options{})
	r := registered(t, h, err)
	state := plugins.State{Input: "Which SLO holds for 5 km 灰度发布?"}
	f, _ := r.Importance(importance)
	verdicts, err := f.Judge(t.Context(), state, []plugins.Item{{Text: "the slo, and 3 mi"}, {Text: "nothing"}})
	if err != nil || !verdicts[0].Include || verdicts[1].Include {
		t.Errorf("%s: %+v, %v", importance, verdicts, err)
	}
	v, _ := r.Resolver(variable)
	values, err := v.Resolve(t.Context(), state, []string{variable})
	if err != nil || len(values[variable]) < 10 {
		t.Errorf("%s: %s, %v", variable, values, err)
	}
	env := calls.NewEnv()
	env.LLM, env.Memory, env.Vars = scripted.Echo{}, memory{}, &calls.Vars{Question: state.Input}
	for _, name := range []string{call, asks} {
		def, _ := r.Call(name)
		c, err := def.New(value.OfMap(params))
		if err != nil {
			t.Fatal(err)
		}
		out, err := callstest.CollectOutput(c.Exec(t.Context(), env, value.OfMap(params)))
		if err != nil || name == asks && !strings.Contains(out.JSON(), state.Input) {
			t.Errorf("%s: %s, %v", name, out, err)
		}
	}
}

// clone copies the folder of an example and those that links in it lead to, as they are in
// a clone. It returns the folder of the example: running it in place would leave files.
func clone(t *testing.T, name string) (dir string) {
	t.Helper()
	root := t.TempDir()
	for _, folder := range []string{"examples/" + name, "sdk", "proto"} {
		if err := os.CopyFS(filepath.Join(root, folder), os.DirFS(filepath.Join("..", folder))); err != nil {
			t.Fatal(err)
		}
	}
	dir = filepath.Join(root, "examples", name)
	if links, err := os.ReadDir(dir); err != nil || !slices.ContainsFunc(links, func(e os.DirEntry) bool { return e.Type() == os.ModeSymlink }) {
		t.Fatalf("the SDK in %s is not a link (%v)", dir, err)
	}
	return dir
}

func TestPython(t *testing.T) {
	slow.Test(t)
	pluginstest.Python(t)
	dir := clone(t, "glossary")
	pluginstest.Run(t, dir)
	t.Run("use", func(t *testing.T) {
		use(t, dir, "glossary.mentions_term", "glossary_terms", "glossary.define", value.Pairs("term", "slo"), "glossary.explain")
	})
	endsWithHost(t, dir, "glossary_terms")
}

func TestNode(t *testing.T) {
	slow.Test(t)
	dir := clone(t, "units")
	if err := os.Rename(filepath.Join(pluginstest.Node(t, dir), "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	pluginstest.Run(t, dir)
	t.Run("use", func(t *testing.T) {
		use(t, dir, "units.has_quantity", "quantities", "units.convert", value.Pairs("value", 1, "from", "km", "to", "mi"), "units.picture")
	})
	endsWithHost(t, dir, "quantities")
}

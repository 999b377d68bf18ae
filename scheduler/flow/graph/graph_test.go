package graph_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flow/graph"
	"github.com/callnode/scheduler/test/golden"
)

func loader(t testing.TB) *flow.Loader {
	t.Helper()
	registry, err := builtin.Registry()
	if err != nil {
		t.Fatal(err)
	}
	return &flow.Loader{Registry: registry}
}

func TestGraph(t *testing.T) {
	f, problems := loader(t).Load("testdata/all.yaml")
	if f == nil {
		t.Fatal(problems)
	}
	golden.Check(t, "testdata/all.mmd", graph.Of(f).Mermaid())
	golden.Check(t, "testdata/all.dot", graph.Of(f).Dot())
}

// Flows that share flows would be drawn more often than a person can read.
func TestGraphIsBounded(t *testing.T) {
	inner := &flow.Flow{Name: "inner", Steps: []*flow.Step{{ID: "a", Call: "chat"}}}
	for range 20 {
		inner = &flow.Flow{Name: "outer", Steps: []*flow.Step{{ID: "a", Call: "flow", Sub: inner}, {ID: "b", Call: "flow", Sub: inner}}}
	}
	if n := strings.Count(graph.Of(inner).Mermaid(), "\n"); n > 3*2000 {
		t.Errorf("%d lines", n)
	}
}

// The HTTP API returns the graph: its names are a contract.
func TestGraphJSON(t *testing.T) {
	f, problems := loader(t).Parse("f.yaml", []byte("name: two\nsteps:\n  - {id: a, call: chat, with: {user: x}}\n  - {id: b, call: chat, when: \"{{ a.text != '' }}\", with: {user: y}}\n"))
	if f == nil {
		t.Fatal(problems)
	}
	got, err := json.Marshal(graph.Of(f))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"flow":"two","nodes":[{"id":"a","call":"chat","file":"f.yaml","line":3,"col":5},` +
		`{"id":"b","call":"chat","when":"a.text != ''","file":"f.yaml","line":4,"col":5}],` +
		`"edges":[{"from":"a","to":"b","when":"a.text != ''"}]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func FuzzDraw(f *testing.F) {
	for _, seed := range []string{"testdata/all.yaml", "testdata/inner.yaml"} {
		src, err := os.ReadFile(seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(src))
	}
	l := loader(f)
	l.ReadFile = func(string) ([]byte, error) { return nil, os.ErrNotExist }
	f.Fuzz(func(t *testing.T, src string) {
		read, _ := l.Parse("f.yaml", []byte(src))
		if read == nil {
			return
		}
		g := graph.Of(read)
		if len(g.Nodes) != len(read.Steps) {
			t.Fatalf("%d nodes of %d steps", len(g.Nodes), len(read.Steps))
		}
		for _, line := range strings.Split(strings.TrimSpace(g.Mermaid()), "\n") {
			if strings.Count(line, `"`)%2 != 0 {
				t.Fatalf("a quote of the flow ends a label: %s", line)
			}
		}
		_ = g.Dot()
	})
}

package graph_test

import (
	"fmt"

	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flow/graph"
)

// A flow can be drawn, or returned as data.
func ExampleOf() {
	registry, err := builtin.Registry()
	if err != nil {
		fmt.Println(err)
		return
	}
	loader := &flow.Loader{Registry: registry}
	f, problems := loader.Parse("hello.yaml", []byte(`
steps:
  - {id: greet, call: template, with: {template: "Hello"}}
  - {id: answer, call: chat, with: {user: "{{ greet.text }}"}}
`))
	if f == nil {
		fmt.Println(problems)
		return
	}
	g := graph.Of(f)
	fmt.Print(g.Mermaid())
	fmt.Println(len(g.Nodes), "nodes")
	// Output:
	// flowchart TD
	//   s0["greet<br/>template"]
	//   s1["answer<br/>chat"]
	//   s0 --> s1
	// 2 nodes
}

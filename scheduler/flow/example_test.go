package flow_test

import (
	"fmt"

	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/scheduler/flow"
)

// A Loader reads a flow and reports everything that is wrong in it.
func ExampleLoader() {
	registry, err := builtin.Registry()
	if err != nil {
		fmt.Println(err)
		return
	}
	loader := &flow.Loader{Registry: registry}
	_, problems := loader.Parse("hello.yaml", []byte(`
steps:
  - {id: greet, call: template, with: {template: "Hello, guest"}}
  - {id: answer, call: chat, with: {user: "{{ great.text }}"}, tiemout: 30s}
`))
	for _, p := range problems {
		fmt.Println(p)
	}
	// Output:
	// hello.yaml:4:47: unknown name "great" (did you mean "greet"?)
	// hello.yaml:4:64: unknown key "tiemout" in step (did you mean "timeout"?)
}

// Steps whose order cannot be found are a problem of the file, before anything runs.
func ExampleLoader_order() {
	registry, err := builtin.Registry()
	if err != nil {
		fmt.Println(err)
		return
	}
	loader := &flow.Loader{Registry: registry}
	_, problems := loader.Parse("circle.yaml", []byte(`name: circle
steps:
  - {id: one, needs: [two], call: template, with: {template: hello}}
  - {id: two, needs: [one], call: template, with: {template: hello}}
`))
	for _, problem := range problems {
		fmt.Println(problem)
	}
	// Output:
	// circle.yaml:3:23: steps need each other in a circle: one -> two -> one (take one of them out of needs)
}

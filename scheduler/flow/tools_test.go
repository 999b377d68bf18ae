package flow_test

import (
	"fmt"
	"slices"
	"testing"
)

// TestTools: a step knows the tools of those that get its messages, also through a call that
// passes messages on; tools that only the run knows are left out.
func TestTools(t *testing.T) {
	tests := []struct {
		name, after string
		want        []string
	}{
		{name: "an agent", after: `{id: b, call: agent, with: {messages: "{{ a.messages }}", workspace: ., tools: {calls: [{call: memory-recent, name: say}]}}}`, want: []string{"read_file", "say"}},
		{name: "a chat", after: `{id: b, call: chat, with: {messages: "{{ a.messages }}", tools: [{type: function, function: {name: price}}]}}`, want: []string{"price"}},
		{name: "the system text", after: `{id: b, call: agent, with: {system: "{{ a.system }}", prompt: x, tools: {calls: [{call: memory-recent, name: say}]}}}`, want: []string{"say"}},
		{
			name: "through in-chat, for two", want: []string{"say", "price"},
			after: `{id: b, call: in-chat, with: {history: "{{ a.messages }}"}}
  - {id: c, call: agent, with: {messages: "{{ b.messages }}", tools: {calls: [{call: memory-recent, name: say}]}}}
  - {id: d, call: chat, with: {messages: "{{ b.messages }}", tools: [{type: function, function: {name: price}}]}}`,
		},
		{name: "another prompt", after: `{id: b, call: agent, with: {prompt: "{{ a.tokens }} tokens", tools: {calls: [{call: memory-recent, name: say}]}}}`},
		{name: "tools that are computed", after: `{id: b, call: agent, with: {messages: "{{ a.messages }}", tools: "{{ inputs.tools }}"}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, problems := builtinLoader(t).Parse("f.yaml", fmt.Appendf(nil, "memory: {user: u}\ninputs: {type: object, properties: {tools: {}}}\nsteps:\n  - {id: a, call: context, with: {}}\n  - %s\n", tt.after))
			if err := problems.Err(); err != nil {
				t.Fatal(err)
			}
			if got := f.Steps[0].Tools; !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

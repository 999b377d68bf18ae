package flow_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestTools: a step knows the tools of the steps that get its messages, also through a call that passes messages
// on; tools that only the run knows are left out.
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

// Steps that take their own prompt, or each other's, are refused; the search for the tools after them ends.
func TestPromptsInACircle(t *testing.T) {
	for name, steps := range map[string]string{
		"itself":     "  - {id: a, call: in-chat, with: {history: \"{{ a.messages }}\"}}\n",
		"each other": "  - {id: a, call: in-chat, with: {history: \"{{ b.messages }}\"}}\n  - {id: b, call: in-chat, with: {history: \"{{ a.messages }}\"}}\n",
	} {
		if _, problems := builtinLoader(t).Parse("f.yaml", []byte("name: x\nsteps:\n"+steps)); problems.Err() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// Each step is visited once: with sixty steps that each take the prompts of two, the paths are too many to follow
// one by one.
func TestPromptsOfTwoStepsEach(t *testing.T) {
	var b strings.Builder
	b.WriteString("name: x\nsteps:\n  - {id: s0, call: in-chat, with: {history: []}}\n  - {id: s1, call: in-chat, with: {history: []}}\n")
	for i := 2; i < 60; i++ {
		fmt.Fprintf(&b, "  - {id: s%d, call: in-chat, with: {history: \"{{ s%d.messages + s%d.messages }}\"}}\n", i, i-1, i-2)
	}
	if _, problems := builtinLoader(t).Parse("f.yaml", []byte(b.String())); problems.Err() != nil {
		t.Error(problems.Err())
	}
}

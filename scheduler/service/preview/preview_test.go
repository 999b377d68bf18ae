package preview_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/llm/tokens"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/memory"
	"github.com/callnode/scheduler/scheduler/service/preview"
)

// parse reads a value of YAML.
func parse(t *testing.T, text string) value.Value {
	t.Helper()
	v, err := yaml.ParseValue([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// textOf returns the messages of the last prompt, a line for each.
func textOf(r *preview.Result) string {
	var lines []string
	for _, m := range r.Prompts[len(r.Prompts)-1].Messages {
		line := m.Role + ": "
		for _, piece := range m.Pieces {
			line += piece.Text
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func TestRender(t *testing.T) {
	const recall = "memory: {user: lin}\nsteps:\n  - {id: recall, call: memory-retrieve, with: {current_query: tea, include: [content]}}\n"
	for _, c := range []struct {
		name, flow, step string
		values           preview.Values
		want             string   // in the messages
		unknown          []string // placeholders
		err              string
	}{
		{
			name: "an input that is known", step: "a", values: preview.Values{Inputs: parse(t, "{visitor: Mei}")},
			flow: "inputs: {required: [visitor], properties: {visitor: {type: string}}}\nsteps: [{id: a, call: chat, with: {user: 'Hi {{ inputs.visitor }}'}}]",
			want: "user: Hi Mei",
		},
		{
			name: "an input that is not", step: "a",
			flow: "inputs: {required: [visitor], properties: {visitor: {type: string, pattern: '^[A-Z]+$'}}}\nsteps: [{id: a, call: chat, with: {user: 'Hi {{ inputs.visitor }}'}}]",
			want: "user: Hi ‹inputs.visitor›", unknown: []string{"inputs.visitor"},
		},
		{
			name: "what a memory gave is not asked for again", step: "a", values: preview.Values{Steps: map[string]preview.Step{"recall": {Output: parse(t, "{relevant_memories: [{content: She likes tea}]}")}}},
			flow: recall + "  - {id: a, call: chat, with: {user: '{{ recall.relevant_memories[0].content }}'}}",
			want: "user: She likes tea",
		},
		{
			name: "a memory that nothing is known of", step: "a",
			flow: recall + "  - {id: a, call: chat, with: {user: '{{ recall.relevant_memories[0].content }}'}}",
			want: "user: ‹recall.relevant_memories[0].content›", unknown: []string{"recall"},
		},
		{
			name: "what another call gave says nothing of the step", step: "b", values: preview.Values{Steps: map[string]preview.Step{"a": {Call: "choice", Output: parse(t, "{branch: x}")}}},
			flow: "steps: [{id: a, call: chat, with: {user: hi}}, {id: b, call: chat, with: {user: '{{ a.text }}'}}]",
			want: "user: ‹a.text›", unknown: []string{"a"},
		},
		{
			name: "the edited words of a step before", step: "b",
			flow: "steps: [{id: a, call: context, with: {identity: New words, current_message: hi}}, {id: b, call: chat, with: {messages: '{{ a.messages }}'}}]",
			want: "system: New words\nuser: hi",
		},
		{
			name: "a placeholder for each item", step: "b",
			flow: "steps: [{id: a, call: chat, for_each: [x, y], with: {user: '{{ item }}'}}, {id: b, call: chat, with: {user: '{{ a[0].text }}{{ a[1].text }}'}}]",
			want: "user: ‹a[0].text›‹a[1].text›", unknown: []string{"a"},
		},
		{
			name: "members that no schema describes", step: "b",
			flow: "steps: [{id: a, call: http, with: {url: 'http://example.com'}}, {id: b, call: chat, with: {user: '{{ inputs.place.name }}: {{ a.body.days[1].high }}'}}]",
			want: "user: ‹inputs.place.name›: ‹a.body.days[1].high›", unknown: []string{"inputs.place", "a"},
		},
		{
			name: "a member with a default", step: "a",
			flow: "steps: [{id: a, call: chat, with: {user: \"{{ inputs.place | default('here') }}\"}}]",
			want: "user: here",
		},
		{name: "no items", step: "a", flow: "steps: [{id: a, call: chat, for_each: [], with: {user: '{{ item }}'}}]", err: "has no items"},
		{
			name: "the first item", step: "a",
			flow: "steps: [{id: a, call: chat, for_each: [x, y], with: {user: 'item {{ item }}'}}]",
			want: "user: item x",
		},
		{
			name: "a condition that is false", step: "a",
			flow: "steps: [{id: a, call: chat, when: '{{ false }}', with: {user: hi}}]",
			want: "user: hi",
		},
		{
			name: "a step whose prompt is a text", step: "a",
			flow: "steps: [{id: a, call: template, with: {template: 'x {{ k }}', values: {k: hi}}}]",
			want: "text: x hi",
		},
		{name: "a step that reaches other machines", step: "a", flow: "steps: [{id: a, call: http, with: {url: 'http://example.com'}}]", err: "builds no prompt"},
		{name: "a step that writes", step: "a", flow: "memory: {user: lin}\nsteps: [{id: a, call: memory-save, with: {content: x}}]", err: "builds no prompt"},
		{name: "a step that reads files", step: "a", flow: "steps: [{id: a, call: context, with: {workspace: /etc, current_message: hi}}]", err: "may read files"},
		{name: "a step that offers tools", step: "a", flow: "steps: [{id: a, call: agent, with: {prompt: hi, tools: {http: [{name: x, with: {url: 'http://example.com'}}]}}}]", err: "may read files"},
		{name: "no such step", step: "b", flow: "steps: [{id: a, call: chat, with: {user: hi}}]", err: "has no step"},
		{name: "a template that fails", step: "a", flow: "steps: [{id: a, call: chat, with: {user: '{{ 1 / (inputs.n | default(0)) }}'}}]", err: "x.yaml:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			registry, err := builtin.Registry()
			if err != nil {
				t.Fatal(err)
			}
			loader := &flow.Loader{Registry: registry}
			f, problems := loader.Parse("x.yaml", []byte("name: x\n"+c.flow))
			if f == nil {
				t.Fatal(problems)
			}
			got, err := preview.Render(t.Context(), f, &preview.Options{
				Step: c.step, Values: c.values, Env: calls.NewEnv(), Loader: loader, Counter: tokens.For(""), Journal: func() journal.Journal { return memory.New(time.Now) },
			})
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("the error is %v, want %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if text := textOf(got); text != c.want || !slices.Equal(got.Unknown, c.unknown) {
				t.Errorf("got %q, unknown %v; want %q, unknown %v", text, got.Unknown, c.want, c.unknown)
			}
		})
	}
}

// TestRenderEnds checks that a preview ends with its context.
func TestRenderEnds(t *testing.T) {
	registry, err := builtin.Registry()
	if err != nil {
		t.Fatal(err)
	}
	loader := &flow.Loader{Registry: registry}
	f, problems := loader.Parse("x.yaml", []byte("name: x\nsteps: [{id: a, call: chat, with: {user: hi}}]"))
	if f == nil {
		t.Fatal(problems)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = preview.Render(ctx, f, &preview.Options{Step: "a", Env: calls.NewEnv(), Loader: loader, Counter: tokens.For(""), Journal: func() journal.Journal { return memory.New(time.Now) }})
	if err == nil {
		t.Error("a preview goes on after its context has ended")
	}
}

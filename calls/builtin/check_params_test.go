package builtin_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// TestCheckParams gives calls parameters that contradict each other. Lint and the construction of the call refuse them alike; lint does
// so also while another parameter, COMPUTED in this table, is only known when the step runs.
func TestCheckParams(t *testing.T) {
	registry, err := builtin.Registry()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ call, with, want string }{
		{"agent", "{messages: [{role: user, content: COMPUTED}], prompt: x}", "prompt: messages and prompt are two ways to say the same"},
		{"agent", "{messages: [{role: user, content: x}], system: COMPUTED}", "system: messages and system are two ways"},
		{"agent", "{prompt: COMPUTED, timeout: soon}", `timeout: invalid duration "soon"`},
		{"agent", "{prompt: '', messages: [{role: user, content: COMPUTED}]}", ""},
		{"chat", "{messages: [{role: user, content: COMPUTED}], user: x}", "user: messages and user are two ways"},
		{"chat", "{system: COMPUTED}", "there is nothing to say"},
		{"chat", "{messages: [], model: COMPUTED}", "messages is empty"},
		{"chat", "{messages: [{role: nope, content: COMPUTED}]}", `messages/0: unknown role "nope"`},
		{"chat", "{user: COMPUTED, tools: [{type: function}]}", "tools/0: function.name is missing"},
		{"chat", "{user: COMPUTED}", ""},
		{"http", "{operation: x, query: {a: COMPUTED}}", "operation: it goes together with openapi"},
		{"http", "{query: {a: COMPUTED}}", "there is nowhere to send the request"},
		{"http", "{url: 'https://example.com', body: COMPUTED, timeout: soon}", `timeout: invalid duration "soon"`},
		{"http", "{url: 'https://example.com', headers: {host: COMPUTED}}", "headers/host: the header host is made by the program"},
		{"http", "{url: COMPUTED}", ""},
		{"input", "{user_input: COMPUTED, config: {context_template: []}, config_path: x}", "config_path: config and config_path are two ways"},
		{"input", "{user_input: COMPUTED, strict: true, on_invalid: default}", "on_invalid: strict and on_invalid: default contradict"},
		{"slot", "{data: {a: COMPUTED}, stages: [nope], current_schema: {type: object}}", `stages/0: unknown stage "nope"`},
		{"context", "{current_message: COMPUTED, channel: \"a\\nb\"}", "channel: line breaks"},
		{"context", "{current_message: COMPUTED, append: [{content: x}]}", "append/0: the message has no role"},
		{"summary", "{instructions: COMPUTED, messages: [{role: user}]}", "messages/0: the message has no content"},
		{"facts", "{model: COMPUTED, messages: [{role: user, content: 5}]}", "messages/0: the content is of type integer"},
	} {
		def, ok := registry.Call(tt.call)
		if !ok {
			t.Fatalf("no call %s", tt.call)
		}
		parse := func(computed string) value.Value {
			v, err := yaml.ParseValue([]byte(strings.ReplaceAll(tt.with, "COMPUTED", computed)))
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		sketch := parse("null")
		problems := def.Info.Check(sketch, calls.LintEnv{Computed: nullsIn(sketch, "")})
		got := ""
		if len(problems) > 0 {
			got = strings.TrimPrefix(problems[0].Error(), "/")
		}
		if !strings.HasPrefix(got, tt.want) || (tt.want == "") != (got == "") {
			t.Errorf("lint of %s %s: got %q, want %q", tt.call, tt.with, got, tt.want)
		}
		_, err := def.New(parse("known"))
		if tt.want == "" && err != nil || tt.want != "" && (calls.KindOf(err) != calls.Invalid || !strings.HasPrefix(err.Error(), tt.want)) {
			t.Errorf("construction of %s %s: got %v, want %q", tt.call, tt.with, err, tt.want)
		}
	}
}

// nullsIn returns the pointers of the nulls in a value.
func nullsIn(v value.Value, pointer string) (found []string) {
	switch v.Kind() {
	case value.Null:
		return []string{pointer}
	case value.List:
		for i, item := range v.List() {
			found = slices.Concat(found, nullsIn(item, pointer+"/"+value.OfInt(int64(i)).JSON()))
		}
	case value.Object:
		for name, member := range v.Map().All() {
			found = slices.Concat(found, nullsIn(member, pointer+"/"+value.Escape(name)))
		}
	}
	return found
}

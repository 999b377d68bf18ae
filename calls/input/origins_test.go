package input_test

import (
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/callstest"
	"github.com/callnode/scheduler/calls/input"
	"github.com/callnode/scheduler/llm/value"
)

// Every byte that is a copy of a parameter's is where its origin says, also where all
// texts are equal.
func TestOrigins(t *testing.T) {
	for _, same := range []bool{false, true} {
		text := func(name string) string {
			if same {
				return "yes"
			}
			return "text of " + name
		}
		variable := func(name string) *value.Map { return value.Pairs("type", "variable", "value", name) }
		with := value.OfMap(value.Pairs(
			"config", value.Pairs("context_template", []any{
				value.Pairs("module_name", "a", "segments", []any{value.Pairs("type", "text", "value", text("segment")), variable("v"), variable("o.k"), variable("n")}),
				value.Pairs("module_name", "b", "segments", []any{variable("current_user_input"), variable("short_term_history_content"), variable("long_term_memory_content")}),
			}, "settings", value.Pairs("segment_separator", "|", "long_term_format", "* {text} ({score})")),
			"variables", value.Pairs("v", text("v"), "o", value.Pairs("k", text("k")), "n", 7),
			"user_input", text("input"),
			"memory", value.Pairs("short_term", []any{"", text("turn 0"), value.Pairs("role", "user", "content", text("turn 1"))},
				"long_term", []any{[]any{text("memory 0"), 0.5}, text("memory 1")}),
		))
		call, err := input.Definition().New(with)
		if err != nil {
			t.Fatal(err)
		}
		env := calls.NewEnv()
		in, err := call.Init(t.Context(), env.Vars)
		if err != nil {
			t.Fatal(err)
		}
		got, err := callstest.CollectOutput(call.Exec(t.Context(), env, in))
		if err != nil {
			t.Fatal(err)
		}
		var out input.Output
		if err := value.Decode(got, &out); err != nil {
			t.Fatal(err)
		}
		var places []string
		for _, p := range out.Parts {
			end := 0
			for _, o := range p.Origins {
				if o.Start < end || o.End > len(p.Text) {
					t.Errorf("%+v is out of order in %q", o, p.Text)
					continue
				}
				end = o.End
				places = append(places, o.Pointer)
				v, _ := with.At(o.Pointer)
				if want, _ := v.Str(); !o.Computed && p.Text[o.Start:o.End] != want {
					t.Errorf("%s: %q is not %q", o.Pointer, p.Text[o.Start:o.End], want)
				}
				if o.Computed != (o.Pointer == "/variables/n") {
					t.Errorf("computed: %+v", o)
				}
			}
		}
		want := "/config/context_template/0/segments/0/value /variables/v /variables/o/k /variables/n /user_input" +
			" /memory/short_term/1 /memory/short_term/2/content /memory/long_term/0/0 /memory/long_term/1"
		if got := strings.Join(places, " "); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

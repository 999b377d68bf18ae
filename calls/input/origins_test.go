package input_test

import (
	"cmp"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/callstest"
	"github.com/callnode/scheduler/calls/input"
	"github.com/callnode/scheduler/llm/value"
)

// Every byte copied from a parameter is found at its stated origin, even if all texts are equal.
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
			}, "settings", value.Pairs("prompt_separator", text("separator"), "segment_separator", "|", "user_label", text("user"), "long_term_format", "* {text} ({score})")),
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
			end, covered := 0, 0
			for _, o := range p.Origins {
				if o.Start < end || o.End > len(p.Text) {
					t.Errorf("%+v is out of order in %q", o, p.Text)
					continue
				}
				end = o.End
				places = append(places, cmp.Or(o.Pointer, "built-in"))
				v, isGiven := with.At(o.Pointer)
				want, _ := v.Str()
				if isGiven && !o.Computed && p.Text[o.Start:o.End] != want[o.From:o.From+o.End-o.Start] {
					t.Errorf("%s: %q is not in %q at %d", o.Pointer, p.Text[o.Start:o.End], want, o.From)
				}
				isNumber := o.Pointer == "/variables/n" || o.Pointer == "/memory/long_term/0/1"
				if o.Computed != (isNumber || o.Kind == calls.OriginText) {
					t.Errorf("computed: %+v", o)
				}
				covered += o.End - o.Start
			}
			if own := len(p.Text) - covered; own != strings.Count(p.Text, "\n") || p.Kind == "separator" && own > 0 {
				t.Errorf("%d bytes of %q have no origin", own, p.Text)
			}
		}
		const between = " /config/settings/segment_separator "
		want := "/config/context_template/0/segments/0/value" + between + "/variables/v" + between + "/variables/o/k" + between + "/variables/n" +
			" /config/settings/prompt_separator /user_input" + between + "/memory/short_term/1 /config/settings/user_label built-in /memory/short_term/2/content" + between +
			"/config/settings/long_term_format /memory/long_term/0/0 /config/settings/long_term_format /memory/long_term/0/1 /config/settings/long_term_format built-in /memory/long_term/1"
		if got := strings.Join(places, " "); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

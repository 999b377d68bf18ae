package flow_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/scheduler/flow"
)

// Only a name that changes with every request, before a long text that does not, is
// worth a warning.
func TestLintCaches(t *testing.T) {
	long := strings.Repeat("Answer in one short sentence. ", 150)
	const step, recall = "  - id: a\n    call: chat\n    with:\n", "  - {id: found, call: memory-retrieve, with: {current_query: x}}\n"
	for name, c := range map[string]struct{ steps, want string }{
		"time first":          {step + "      system: \"It is {{ run.started_at }}. LONG\"\n      user: hi\n", `f.yaml:7:25: warning: run.started_at changes with every request of step "a", and 4 KiB`},
		"the clock":           {step + "      system: \"It is {{ vars.current_time }}. LONG\"\n      user: hi\n", "f.yaml:7:25: warning: vars.current_time changes"},
		"what was said":       {step + "      system: \"{{ vars.last_user_message }} LONG\"\n      user: hi\n", "f.yaml:7:19: warning: vars.last_user_message changes"},
		"the date":            {step + "      system: \"{{ vars.current_date }} LONG\"\n      user: hi\n", ""},
		"short-term memory":   {"  - {id: last, call: memory-recent}\n" + step + "      system: \"{{ last.text }} LONG\"\n      user: hi\n", "f.yaml:8:19: warning: last.text changes"},
		"time last":           {step + "      system: \"LONG It is {{ run.started_at }}.\"\n      user: hi\n", ""},
		"time, then little":   {step + "      system: \"It is {{ run.started_at }}. Be brief.\"\n      user: hi\n", ""},
		"the user's words":    {step + "      system: \"{{ inputs.x }} LONG\"\n      user: \"{{ question }}\"\n", ""},
		"memories first":      {recall + step + "      system: \"{{ found.relevant_memories[0].reason }}\"\n      user: \"LONG{{ inputs.x }}\"\n", "f.yaml:8:15: warning: found.relevant_memories.0.reason changes"},
		"memories in between": {recall + step + "      messages:\n        - {role: system, content: \"LONG\"}\n        - {role: user, content: \"{{ found.relevant_memories[0].reason }}\"}\n", ""},
		"before a message":    {step + "      messages:\n        - {role: system, content: \"{{ run.id }}\"}\n        - {role: user, content: \"LONG\"}\n", "f.yaml:8:35: warning: run.id changes"},
		"counter":             {"  - id: a\n    call: chat\n    for_each: [1, 2]\n    with:\n      system: \"Item {{ index }}: LONG\"\n      user: \"{{ item }}\"\n", "f.yaml:8:24: warning: index changes"},
		"files after":         {"  - {id: a, call: context, with: {workspace: ws, identity: \"I am {{ run.id }}.\", current_message: hi}}\n", "f.yaml:4:69: warning: run.id changes with every request, and the files"},
		"no files":            {"  - {id: a, call: context, with: {identity: \"I am {{ run.id }}.\", current_message: hi}}\n", ""},
		"through a template":  {"  - {id: made, call: template, with: {template: 'It is {{ t }}. LONG', values: {t: \"{{ vars.current_time }}\"}}}\n" + step + "      system: \"{{ made.text }}\"\n      user: hi\n", "f.yaml:4:4580: warning: vars.current_time changes with every request of step \"a\", and 4 KiB"},
		"through filters":     {"  - {id: made, call: template, with: {template: '{{ t }}', values: {t: \"{{ run.id }}\"}}}\n" + step + "      system: \"{{ made.text | trim }} LONG\"\n      user: hi\n", "f.yaml:4:72: warning: run.id changes"},
		"through an identity": {"  - {id: p, call: context, with: {identity: \"I am {{ run.id }}.\", history: [{role: user, content: LONG}], current_message: hi}}\n" + step + "      messages: \"{{ p.messages }}\"\n", "f.yaml:4:54: warning: run.id changes with every request of step \"a\""},
		"through an in-chat":  {"  - {id: p, call: context, with: {identity: \"I am {{ run.id }}.\", current_message: LONG}}\n  - {id: i, call: in-chat, with: {history: \"{{ p.messages }}\"}}\n" + step + "      messages: \"{{ i.messages }}\"\n", "f.yaml:4:54: warning: run.id changes"},
		"memories in context": {recall + "  - {id: p, call: context, with: {identity: x, memories: \"{{ found.relevant_memories }}\", current_message: LONG}}\n" + step + "      messages: \"{{ p.messages }}\"\n", "f.yaml:5:58: warning: found.relevant_memories changes"},
		"through an input":    {"  - {id: p, call: input, with: {config: {context_template: [{module_name: a, segments: [{type: variable, value: v}, {type: text, value: LONG}]}]}, variables: {v: \"{{ vars.timestamp }}\"}}}\n" + step + "      user: \"{{ p.prompt }}\"\n", "f.yaml:4:4659: warning: vars.timestamp changes"},
		"a history of input":  {"  - {id: p, call: input, with: {config: {context_template: [{module_name: a, segments: [{type: variable, value: short_term_history_content}, {type: text, value: LONG}]}]}}}\n" + step + "      user: \"{{ p.prompt }}\"\n", "f.yaml:4:"},
		"identity upstream":   {"  - {id: made, call: template, with: {template: 'At {{ t }}', values: {t: \"{{ run.started_at }}\"}}}\n  - {id: a, call: context, with: {workspace: ws, identity: \"{{ made.text }}\", current_message: hi}}\n", "f.yaml:4:75: warning: run.started_at changes with every request, and the files"},
		"a template, last":    {"  - {id: made, call: template, with: {template: 'LONG It is {{ t }}.', values: {t: \"{{ run.id }}\"}}}\n" + step + "      system: \"{{ made.text }}\"\n      user: \"{{ question }}\"\n", ""},
		"a stable template":   {"  - {id: made, call: template, with: {template: '{{ t }} LONG', values: {t: \"{{ inputs.x }}\"}}}\n" + step + "      system: \"{{ made.text }}\"\n      user: hi\n", ""},
		"a value not printed": {"  - {id: made, call: template, with: {template: 'LONG', values: {t: \"{{ run.id }}\"}}}\n" + step + "      system: \"{{ made.text }}\"\n      user: hi\n", ""},
		"asked, not printed":  {"  - {id: made, call: template, with: {template: '{{ t }}', values: {t: \"{{ run.id }}\"}}}\n" + step + "      system: \"{{ 'a' if made.text else 'b' }} LONG\"\n      user: hi\n", ""},
		"what is cut":         {"  - {id: made, call: template, with: {template: '{{ t }} LONG', values: {t: \"{{ run.id }}\"}}}\n" + step + "      system: \"{{ made.text | truncate(9) }}\"\n      user: hi\n", ""},
		"an answer":           {"  - {id: said, call: chat, with: {user: x}}\n" + step + "      system: \"{{ said.text }} LONG\"\n      user: hi\n", "f.yaml:8:19: warning: said.text changes"},
		"how it ended":        {"  - {id: said, call: chat, with: {user: x}}\n" + step + "      system: \"{{ said.finish_reason }} LONG\"\n      user: hi\n", ""},
		"the question first":  {step + "      user: \"{{ question }} LONG\"\n", "f.yaml:7:17: warning: question changes"},
		"the history":         {step + "      system: \"{{ history | tojson }} LONG\"\n      user: hi\n", "f.yaml:7:19: warning: history changes"},
		"an item":             {"  - id: a\n    call: chat\n    for_each: [1, 2]\n    with:\n      system: \"Item {{ item }}: LONG\"\n      user: hi\n", "f.yaml:8:24: warning: item changes"},
		"memories of a loop":  {recall + step + "      system: \"{% for m in found.relevant_memories %}{{ m.content }}{% endfor %} LONG\"\n      user: hi\n", "f.yaml:8:28: warning: found.relevant_memories changes"},
		"the input variable":  {"  - {id: p, call: input, with: {config: {context_template: [{module_name: a, segments: [{type: variable, value: current_user_input}, {type: text, value: LONG}]}]}}}\n" + step + "      user: \"{{ p.prompt }}\"\n", "f.yaml:4:"},
		"a length of one":     {step + "      system: \"{{ run.id | length }} LONG\"\n      user: hi\n", ""},
		"a length of many":    {step + "      system: \"{{ question | length }} LONG\"\n      user: hi\n", "f.yaml:7:19: warning: question changes"},
		"what only decides":   {step + "      system: \"{% if run.id %}x{% elif not question %}y{% endif %}{{ 'a' if question else 'b' }}{{ vars.turn_count > 3 }}{{ question is defined }} LONG\"\n      user: hi\n", ""},
		"one that decides":    {step + "      system: \"{{ 'a' if run.id else 'b' }}\"\n      user: \"LONG {{ inputs.x }}\"\n", ""},
		"what is chosen":      {step + "      system: \"{{ question if inputs.x else 'b' }} LONG\"\n      user: hi\n", "f.yaml:7:19: warning: question changes"},
		"a constant of its":   {step + "      system: \"{% set question = 'x' %}{{ question }} LONG\"\n      user: hi\n", ""},
		"set, not printed":    {step + "      system: \"{% set t = run.id %}{% set u = t %}{% set v %}{{ u }}{% endset %}{% if v %}x{% endif %} LONG\"\n      user: hi\n", ""},
		"set, then printed":   {step + "      system: \"{% set t = run.id %}{% set u %}{{ t }}{% endset %}{{ u }} LONG\"\n      user: hi\n", "f.yaml:7:27: warning: run.id changes"},
		"printed at the end":  {step + "      system: \"{% set t = run.id %} LONG {{ t }}\"\n      user: hi\n", ""},
		"set as a member":     {step + "      system: \"{% set ns = namespace() %}{% set ns.t = run.id %}{{ ns.t }} LONG\"\n      user: hi\n", "f.yaml:7:56: warning: run.id changes"},
		"one of two":          {step + "      system: \"{% set a, b = 1, run.id %}{{ b }} LONG\"\n      user: hi\n", "f.yaml:7:33: warning: run.id changes"},
		"with":                {step + "      system: \"{% with t = run.id %}{{ t }}{% endwith %} LONG\"\n      user: hi\n", "f.yaml:7:28: warning: run.id changes"},
		"with, not printed":   {step + "      system: \"{% with t = run.id %}x{% endwith %} LONG\"\n      user: hi\n", ""},
		"a macro":             {step + "      system: \"{% macro m() %}{{ run.id }}{% endmacro %}{{ m() }} LONG\"\n      user: hi\n", "f.yaml:7:34: warning: run.id changes"},
		"a macro not called":  {step + "      system: \"{% macro m() %}{{ run.id }}{% endmacro %} LONG\"\n      user: hi\n", ""},
		"a body of a call":    {step + "      system: \"{% macro m() %}{{ caller() }}{% endmacro %}{% call m() %}{{ run.id }}{% endcall %} LONG\"\n      user: hi\n", "f.yaml:7:76: warning: run.id changes"},
		"set in a template":   {"  - {id: made, call: template, with: {template: '{% set u = t %}x LONG', values: {t: \"{{ run.id }}\"}}}\n" + step + "      system: \"{{ made.text }}\"\n      user: hi\n", ""},
		"a filtered local":    {"  - {id: made, call: template, with: {template: '{{ t }}{% set u = t | upper %}{{ u }}', values: {t: x}}}\n" + step + "      system: \"{% set u = made.text | upper %}{{ run.id }}{{ u }}\"\n      user: LONG\n", "f.yaml:8:50: warning: run.id changes"},
		"the last message":    {"  - {id: p, call: context, with: {identity: LONG, current_message: \"{{ vars.current_time }}\"}}\n" + step + "      messages: \"{{ p.messages }}\"\n", ""},
		"a text of an item":   {"  - {id: made, call: template, for_each: [1, 2], with: {template: '{{ t }} LONG', values: {t: \"{{ run.id }}\"}}}\n" + step + "      system: \"{{ made[0].text }}\"\n      user: hi\n", ""},
		"a stable identity":   {"  - {id: a, call: context, with: {workspace: ws, identity: \"I am {{ inputs.x }}.\", current_message: hi}}\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			registry, err := builtin.Registry()
			if err != nil {
				t.Fatal(err)
			}
			loader := &flow.Loader{Registry: registry}
			text := "memory: {user: ann}\ninputs: {type: object, properties: {x: {type: string}}}\nsteps:\n" + strings.ReplaceAll(c.steps, "LONG", long)
			f, problems := loader.Parse("f.yaml", []byte(text))
			if f == nil {
				t.Fatal(problems)
			}
			var got []string
			for _, p := range problems {
				if strings.Contains(p.String(), "cannot cache") {
					got = append(got, p.String())
				}
			}
			if all := strings.Join(got, "\n"); (all == "") != (c.want == "") || !strings.HasPrefix(all, c.want) || len(got) > 1 {
				t.Errorf("got %v\nwant %s\nof all %v", got, c.want, problems)
			}
		})
	}
}

// Changing text is followed into the flow that a step runs, and from there out to its inputs.
func TestLintCachesOfSubFlows(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"sub.yaml": "inputs: {type: object, properties: {at: {type: string}}}\nsteps:\n  - {id: made, call: template, with: {template: 'It is {{ t }}.', values: {t: \"{{ inputs.at }}\"}}}\noutputs: {text: \"{{ made.text }}\"}\n",
		"f.yaml": "steps:\n  - {id: inner, call: flow, with: {path: sub.yaml, inputs: {at: \"{{ vars.current_time }}\"}}}\n" +
			"  - {id: ask, call: chat, with: {system: \"{{ inner.text }}\", user: \"" + strings.Repeat("Answer in one short sentence. ", 150) + "\"}}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	registry, err := builtin.Registry()
	if err != nil {
		t.Fatal(err)
	}
	_, problems := (&flow.Loader{Registry: registry}).Load(filepath.Join(dir, "f.yaml"))
	got := fmt.Sprint(problems)
	if want := `f.yaml:2:65: warning: vars.current_time changes with every request of step "ask"`; !strings.Contains(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
}

package flow_test

import (
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

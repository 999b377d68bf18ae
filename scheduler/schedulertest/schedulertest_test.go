package schedulertest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

func TestFiveLines(t *testing.T) {
	r := schedulertest.Run(t, `
name: hello
steps: [{id: hi, call: say, with: {text: "Hello, {{ inputs.name }}!"}}]
`, schedulertest.Inputs(`{"name": "Ada"}`))
	if want := `{"hi":{"text":"Hello, Ada!"}}`; r.Err != nil || r.Outputs.JSON() != want {
		t.Errorf("%s, %v, want %s", r.Outputs, r.Err, want)
	}
	if want := `flow.started {"name":"Ada"}
step.ready hi
step.started hi
step.input hi {"text":"Hello, Ada!"}
step.delta hi "Hello, Ada!"
step.finished hi {"text":"Hello, Ada!"}
flow.finished {"hi":{"text":"Hello, Ada!"}}
`; r.Log() != want {
		t.Error(cmp.Diff(want, r.Log()))
	}
}

func TestFakes(t *testing.T) {
	r := schedulertest.Run(t, `
name: fakes
steps:
  - {id: a, call: ask, with: {prompt: hi}}
  - {id: b, call: fail, with: {kind: plugin, message: oh}, on_error: continue, retry: {max_attempts: 2, initial_interval: 3s}}
  - {id: c, call: block, timeout: 1ms, on_error: continue}
  - {id: d, call: echo, with: !file data.json}
  - {id: e, call: fail, with: {message: "{{ secrets.KEY }}"}}
-- data.json --
{"n": 1}
`, schedulertest.LLM(scripted.Texts("well")), schedulertest.Secret("KEY", "s3cret"))
	log := r.Log()
	for _, want := range []string{
		`step.finished a {"text":"well"} (5 tokens in, 1 out)`,
		"step.retrying b attempt 1, next in 3s plugin: oh",
		`step.finished d {"n":1}`,
		"flow.failed internal: ***",
	} {
		if !strings.Contains(log, want) {
			t.Errorf("%q is missing in\n%s", want, log)
		}
	}
	if diff := cmp.Diff([]time.Duration{3 * time.Second}, r.Slept); diff != "" {
		t.Error(diff)
	}
}

package examples

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/plugins/host"
	"github.com/callnode/scheduler/plugins/pluginstest"
	"github.com/callnode/scheduler/scheduler"
)

// A flow that uses a function of every kind: modules are chosen by an importance
// function, their text has variables, a step is a call of a plugin, whose parameters
// another step fills.
const flow = `
name: concierge
language: en
inputs: {type: object, required: [question], properties: {question: {type: string}}}
plugins: [recency, almanac, lookup]
steps:
  - id: prompt
    call: input
    with:
      user_input: "{{ inputs.question }}"
      config:
        context_template:
          - {module_name: old, importance_func: recency.is_fresh, segments: [{type: text, value: "Closed for repairs since 2020-01-01."}]}
          - {module_name: news, importance_func: recency.is_fresh, segments: [{type: text, value: "The pool is open since 2026-03-01."}]}
          - {module_name: rooms, importance_func: recency.is_topical, segments: [{type: text, value: "A room with a view of the sea."}]}
          - {module_name: today, segments: [{type: text, value: "Today: "}, {type: variable, value: events_today}]}
  - id: rooms
    call: lookup.query
    enable_filling: true
    with: {columns: [room, price], where: {view: sea}, limit: 1}
  - id: answer
    call: template
    with: {template: "Found: {{ t }}", values: {t: "{{ rooms.total }} rooms, first {{ rooms.rows[0].room }}; {{ vars.weather.sky }}, {{ vars.next_event.title }}"}}
outputs: {prompt: "{{ prompt.prompt }}", answer: "{{ answer.text }}"}
`

func newHost(t *testing.T, names ...string) (*host.Host, *calls.Registry) {
	t.Helper()
	var dirs []string
	for _, name := range names {
		dirs = append(dirs, pluginstest.Build(t, name))
	}
	h, err := host.Open(host.Options{Plugins: dirs, LockFile: filepath.Join(t.TempDir(), host.LockName)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, name := range names {
		if _, err := h.Trust(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	r, err := builtin.Registry()
	if err == nil {
		err = h.Register(r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return h, r
}

func TestFlow(t *testing.T) {
	h, r := newHost(t, "recency", "almanac", "lookup")
	loader := scheduler.Loader{Registry: r, Plugins: h.Names(), Secrets: []string{}}
	f, problems := loader.Parse("flow.yaml", []byte(flow))
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	env := calls.NewEnv()
	env.Functions = r
	env.LLM = scripted.Texts(`{"table": "rooms"}`)
	env.Clock = func() time.Time { return time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC) }
	exec := scheduler.StepExecutor{Env: env, Registry: r, Secrets: func(string) (string, bool) { return "", false }}
	result, err := scheduler.Collect(exec.Run(t.Context(), f, value.OfMap(value.Pairs("question", "Is a room with sea view free?"))))
	if err != nil {
		t.Fatal(err)
	}
	got := result.Outputs.JSON()
	for _, want := range []string{"The pool is open", "A room with a view", "Team meeting", "Dinner with Lin", `"answer":"Found: 2 rooms, first 201; light rain, Dinner with Lin"`} {
		if !strings.Contains(got, want) {
			t.Errorf("the outputs lack %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "Closed for repairs") {
		t.Errorf("what is old is in the prompt:\n%s", got)
	}
}

// A misspelt parameter or function of a plugin is found before anything starts.
func TestLint(t *testing.T) {
	h, r := newHost(t, "recency", "lookup")
	loader := scheduler.Loader{Registry: r, Plugins: h.Names(), Secrets: []string{}}
	_, problems := loader.Parse("flow.yaml", []byte(`
name: wrong
plugins: [recency, lookups]
steps:
  - {id: a, call: lookup.query, with: {tabel: rooms}}
  - {id: b, call: lookup.find, with: {}}
  - {id: c, call: input, with: {user_input: x, config: {context_template: [{module_name: m, importance_func: recency.is_frehs, segments: [{type: text, value: y}]}]}}}
  - {id: d, call: template, with: {template: "Found: {{ t }}", values: {t: "{{ vars.wether }}"}}}
`))
	text := problems.Err().Error()
	for _, want := range []string{`lookups`, `tabel`, `lookup.find`, `recency.is_fresh`, `wether`} {
		if !strings.Contains(text, want) {
			t.Errorf("the problems lack %s:\n%s", want, text)
		}
	}
}

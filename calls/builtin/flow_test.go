package builtin_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal/memory"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

// weatherService answers every request with the weather of the city in its query.
type weatherService struct{ asked []string }

func (s *weatherService) Do(req *http.Request) (*http.Response, error) {
	s.asked = append(s.asked, req.Method+" "+req.URL.String()+" "+req.Header.Get("Authorization"))
	return &http.Response{
		StatusCode: http.StatusOK, Request: req, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(`{"city":"` + req.URL.Query().Get("city") + `","degrees":18}`)),
	}, nil
}

const weatherFlow = `
name: weather
inputs: {type: object, properties: {question: {type: string}, hurry: {type: boolean}}}
steps:
  - id: route
    call: choice
    with:
      choices:
        - {branch: short, when: "{{ inputs.hurry }}"}
        - {branch: long, default: true}
  - id: report
    call: http
    when: "{{ route.branch == 'long' }}"
    with: {openapi: api.yaml, operation: getWeather, query: {city: Lyon}}
  - id: notes
    call: summary
    with: {text: "{{ report.body.degrees }} degrees in {{ report.body.city }}"}
  - id: known
    call: facts
  - id: answer
    call: agent
    with:
      prompt: "{{ summary }} {{ facts[0] }}"
      tools:
        http: [{with: {openapi: api.yaml, operation: getWeather, headers: {Authorization: key}}}]
        flows: [{path: order.yaml}]
        calls: [{call: template, name: greet, with: {template: !raw "Hi {{ name }}!"}}]
outputs: {reply: "{{ answer.text }}", route: "{{ route.reason }}"}
-- api.yaml --
openapi: 3.0.3
servers: [{url: https://api.example.com/v1}]
paths:
  /weather:
    get:
      operationId: getWeather
      summary: The weather of a city.
      parameters: [{name: city, in: query, required: true, schema: {type: string}}]
-- order.yaml --
name: order
description: Order something.
inputs: {type: object, required: [item], properties: {item: {type: string}}}
steps:
  - {id: done, call: template, with: {template: "Ordered {{ item }}.", values: {item: "{{ inputs.item }}"}}}
outputs: {text: "{{ done.text }}"}
`

// The calls that talk to models and services work together in a flow.
func TestInAFlow(t *testing.T) {
	service := &weatherService{}
	model := scripted.New(
		scripted.Answer{Text: "It is warm in Lyon."},
		scripted.Answer{Text: `{"facts": ["Lyon has 18 degrees."], "domain": ["weather"]}`},
		scripted.Answer{ToolCalls: []llm.ToolCall{
			{ID: "1", Name: "getWeather", Arguments: `{"city": "Paris"}`},
			{ID: "2", Name: "order", Arguments: `{"item": "tea"}`},
			{ID: "3", Name: "order", Arguments: `{}`},
			{ID: "4", Name: "greet", Arguments: `{"values": {"name": "Ann"}}`},
		}},
		scripted.Answer{Text: "Done."},
	)
	r := schedulertest.Run(t, weatherFlow, schedulertest.With(builtin.Calls()...), schedulertest.LLM(model),
		schedulertest.Inputs(`{"question": "How is it?", "hurry": false}`),
		schedulertest.Executor(func(e *scheduler.StepExecutor) {
			e.Env.HTTP = service
		}))
	if r.Err != nil {
		t.Fatalf("%v\n%s", r.Err, r.Log())
	}
	if got := r.Outputs.JSON(); got != `{"reply":"Done.","route":"the default: no condition is true"}` {
		t.Errorf("got %s", got)
	}
	want := []string{"GET https://api.example.com/v1/weather?city=Lyon ", "GET https://api.example.com/v1/weather?city=Paris key"}
	if diff := cmp.Diff(want, service.asked); diff != "" {
		t.Error(diff)
	}
	requests := model.Requests()
	if text := string(requests[2].Messages[0]); !strings.Contains(text, "It is warm in Lyon. Lyon has 18 degrees.") {
		t.Errorf("the agent was told %s", text)
	}
	var told []string
	for _, m := range requests[3].Messages[2:] {
		told = append(told, string(m))
	}
	for i, want := range []string{`\"degrees\":18`, "Ordered tea.", "the required property", "Hi Ann!"} {
		if i >= len(told) || !strings.Contains(told[i], want) {
			t.Errorf("result %d: want %s in %q", i, want, told)
		}
	}
}

// An agent whose tool waits for a value waits with it, and goes on without running
// its other tools again.
func TestAgentWaits(t *testing.T) {
	service := &weatherService{}
	used := scripted.Answer{ToolCalls: []llm.ToolCall{
		{ID: "1", Name: "look", Arguments: `{"query": {"city": "Paris"}}`},
		{ID: "2", Name: "order", Arguments: `{}`},
	}}
	model := scripted.New(used, scripted.Answer{Text: "Ordered."})
	r := schedulertest.Run(t, `
name: shop
steps:
  - id: work
    call: agent
    with:
      prompt: Order something.
      tools: {flows: [{path: order.yaml}], http: [{name: look, with: {url: "https://api.example.com/"}}]}
outputs: {reply: "{{ work.text }}", said: "{{ work.rounds[0].tool_calls[1].result }}"}
-- order.yaml --
name: order
steps:
  - id: what
    call: slot
    with: {stages: [], current_schema: {type: object, required: [item], properties: {item: {type: string}}}}
outputs: {text: "{{ what.slot_data.item }}"}
`, schedulertest.With(builtin.Calls()...), schedulertest.LLM(model), schedulertest.Executor(func(e *scheduler.StepExecutor) {
		e.Env.HTTP, e.Journal = service, memory.New(e.Env.Clock)
	}))
	var waiting *scheduler.Waiting
	if !errors.As(r.Err, &waiting) || model.Left() != 1 {
		t.Fatalf("got %v, %d answers left\n%s", r.Err, model.Left(), r.Log())
	}
	r = r.Resume(scheduler.Resumption{}, "/item=tea")
	if r.Err != nil {
		t.Fatalf("%v\n%s", r.Err, r.Log())
	}
	if got := r.Outputs.JSON(); got != `{"reply":"Ordered.","said":"tea"}` || len(service.asked) != 1 || model.Left() != 0 {
		t.Errorf("got %s after %v", got, service.asked)
	}
}

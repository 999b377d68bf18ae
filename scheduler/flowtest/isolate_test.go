package flowtest_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
	"github.com/callnode/scheduler/scheduler/flowtest/suite"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

// pluginCall returns a call of a plugin that fails the test if it runs.
func pluginCall(t *testing.T, name string) calls.Definition {
	return schedulertest.Do(name, func(context.Context, *calls.Env, value.Value) (any, error) {
		t.Errorf("the call %s has run", name)
		return map[string]any{"done": true}, nil
	})
}

func TestDenied(t *testing.T) {
	w := newWorld(t, nil, pluginCall(t, "shop.order"), pluginCall(t, "mcp.github.create_issue"))
	r := w.runArchive(t, `
-- a.yaml --
name: a
inputs: {type: object, properties: {do: {type: string, default: nothing}}}
steps:
  - {id: start, call: template, with: {template: !raw "go"}}
  - {id: fetch, call: http, needs: [start], when: "{{ inputs.do == 'fetch' }}", on_error: continue, with: {url: "https://example.com"}}
  - {id: order, call: shop.order, needs: [start], when: "{{ inputs.do == 'order' }}"}
  - id: clerk
    call: agent
    needs: [start]
    when: "{{ inputs.do == 'clerk' }}"
    with:
      prompt: Work.
      tools: {http: [{name: price, with: {url: "https://example.com"}}], calls: [{call: mcp.github.create_issue, name: issue}]}
outputs: {ok: true}
-- a.test.yaml --
defaults:
  expect: [{output: ok, equals: true}]
cases:
  - {name: none}
  - {name: http, inputs: {do: fetch}}
  - {name: not http, inputs: {do: fetch}, expect: [{output: ok, not: {equals: true}}]}
  - {name: plugin, inputs: {do: order}}
  - {name: tool, inputs: {do: clerk}, llm: [{tool_calls: [{name: price, arguments: {}}]}, done]}
  - {name: mcp, inputs: {do: clerk}, llm: [{tool_calls: [{name: issue, arguments: {}}]}, done]}
  - {name: mocked, inputs: {do: order}, mocks: {order: {}}}
  - {name: mocked everywhere, inputs: {do: clerk}, mocks: {"call:http": {status: 200, body: 2.40}}, llm: [{tool_calls: [{name: price, arguments: {}}]}, done]}
`)
	want := map[string]result.Outcome{
		"none": "pass", "http": "error", "not http": "error", "plugin": "error", "tool": "error", "mcp": "error", "mocked": "pass", "mocked everywhere": "pass",
	}
	if got := outcomes(r); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the outcomes are %v\nwant %v\n%s", got, want, lines(t, r))
	}
	for id, hint := range map[string]string{
		"http": "mocks: {fetch: {...}}", "plugin": "allow: [shop.order]", "tool": "mocks: {call:http: {...}}", "mcp": "mocks: {call:mcp.github.create_issue: {...}}",
	} {
		p := caseOf(t, r, id).Repeats[0].Problem
		if p == nil || !strings.Contains(p.Hint, hint) || len(caseOf(t, r, id).Repeats[0].Checks) > 0 {
			t.Errorf("%s: the problem is %+v, want a hint of %s", id, p, hint)
		}
	}
}

func TestAllowed(t *testing.T) {
	var ran atomic.Int64 // cases run side by side
	order := schedulertest.Do("shop.order", func(context.Context, *calls.Env, value.Value) (any, error) {
		ran.Add(1)
		return map[string]any{}, nil
	})
	w := newWorld(t, nil, order)
	const archive = `
-- a.yaml --
name: a
steps: [{id: order, call: shop.order}]
-- a.test.yaml --
cases:
  - {name: by name, allow: [shop.order], expect: [{run: {state: finished}}]}
  - {name: by plugin, allow: [shop], expect: [{run: {state: finished}}]}
  - {name: denied, expect: [{run: {state: finished}}]}
`
	r := w.runArchive(t, archive)
	if got := outcomes(r); got["by name"] != "pass" || got["by plugin"] != "pass" || got["denied"] != "error" || ran.Load() != 2 {
		t.Errorf("the outcomes are %v, and it ran %d times\n%s", got, ran.Load(), lines(t, r))
	}
	w.options.Mode = result.Live
	if got := outcomes(w.runArchive(t, archive)); got["denied"] != "pass" || ran.Load() != 5 {
		t.Errorf("live: the outcomes are %v, and it ran %d times", got, ran.Load())
	}
}

// Cases do not see each other: whatever their order, and however many run at a time, the bytes are equal.
func TestOrderDoesNotMatter(t *testing.T) {
	const archive = `
-- a.yaml --
name: a
inputs: {type: object, properties: {who: {type: string, default: x}}}
memory: {user: "{{ inputs.who }}", session: main}
steps:
  - {id: save, call: memory-save, with: {content: "{{ inputs.who }} likes tea", role: user}}
  - {id: learn, call: memory-save, needs: [save], with: {content: "{{ inputs.who }} wears a hat"}}
  - {id: snapshot, call: memory-snapshot, needs: [learn]}
  - {id: recall, call: memory-retrieve, with: {current_query: tea, min_relevance: 0, include: [content]}}
  - {id: answer, call: chat, with: {user: "{{ recall.relevant_memories }} {{ learn.memory_id }} {{ snapshot.snapshots }} {{ snapshot.meta_snapshots }} {{ run.id }}"}}
  - {id: wait, call: slot, with: {current_schema: {type: object, required: [city], properties: {city: {type: string}}}, stages: []}}
outputs: {memories: "{{ recall.relevant_memories | length }}", ids: ["{{ learn.memory_id }}", "{{ snapshot.snapshots }}", "{{ snapshot.meta_snapshots }}"], city: "{{ wait.slot_data.city }}"}
-- rows.csv --
id,who
1,ann
2,bob
3,ann
-- a.test.yaml --
dataset: {file: rows.csv}
defaults:
  repeat: 2
  llm:
    - {text: '{"key_points": ["who likes tea"], "category": "Taste", "importance": 0.7}'}
    - {text: '{"keywords": ["tea"], "description": "What they like"}'}
    - {text: hello}
cases:
  - name: alone
    answers: {/city: Rome}
    expect:
      - {output: memories, equals: 2}
      - {output: city, equals: Rome}
  - name: waits
    expect: [{run: {state: waiting, waits_for: /city}}]
  - name: given
    answers: {/city: Rome}
    memory: [{id: momo, content: The cat Momo likes tea}]
    expect:
      - {output: memories, equals: 3}
      - {retrieved: recall, recall_at: {k: 3}, relevant: [momo]}
  - name: fails
    answers: {/city: Rome}
    expect: [{output: city, equals: Paris}]
`
	w := newWorld(t, nil)
	dir := unpack(t, archive)
	path := filepath.Join(dir, "a.test.yaml")
	var first string
	for _, parallel := range []int{1, 8, 3} {
		s := w.load(t, dir, path)
		w.options.Parallel = parallel
		reordered := *s
		reordered.Cases = slices.Clone(s.Cases)
		if parallel == 3 {
			slices.Reverse(reordered.Cases)
		}
		r := w.run(t, &reordered)
		if parallel == 3 {
			slices.Reverse(r.Suites[0].Cases)
		}
		if got := lines(t, r); first == "" {
			first = got
		} else if parallel != 3 && got != first {
			t.Errorf("with %d at a time the lines are\n%s\nnot\n%s", parallel, got, first)
		}
		for id, outcome := range outcomes(r) {
			want := result.Pass
			if strings.HasPrefix(id, "fails") {
				want = result.Fail
			}
			if outcome != want {
				t.Errorf("with %d at a time %s is %s\n%s", parallel, id, outcome, lines(t, r))
			}
		}
	}
	if strings.Contains(first, dir) {
		t.Errorf("the lines name the folder:\n%s", first)
	}
}

func TestInterrupted(t *testing.T) {
	const archive = `
-- a.yaml --
name: a
inputs: {type: object, properties: {n: {type: integer}}}
steps: [{id: work, call: test.work, with: {n: "{{ inputs.n }}"}}]
-- a.test.yaml --
defaults: {allow: [test], expect: [{run: {state: finished}}]}
cases:
  - {name: first, inputs: {n: 1}}
  - {name: second, inputs: {n: 2}}
  - {name: third, inputs: {n: 3}}
`
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	work := schedulertest.Do("test.work", func(ctx context.Context, _ *calls.Env, params value.Value) (any, error) {
		if n, _ := params.Get("n"); value.Equal(n, value.OfInt(2)) {
			cancel()
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return map[string]any{}, nil
	})
	w := newWorld(t, nil, work)
	w.options.Parallel = 1
	dir := unpack(t, archive)
	r := runWith(ctx, t, w, w.load(t, dir, filepath.Join(dir, "a.test.yaml")))
	if !r.Interrupted || len(r.Suites[0].Cases) != 1 || outcomes(r)["first"] != result.Pass {
		t.Errorf("interrupted %v, outcomes %v", r.Interrupted, outcomes(r))
	}
}

func TestLimits(t *testing.T) {
	const archive = `
-- a.yaml --
name: a
steps: [{id: answer, call: chat, with: {user: hello}}]
-- a.test.yaml --
limits: {tokens: 150, parallel: 1}
defaults: {expect: [{run: finished}]}
cases:
  - {name: first}
  - {name: second}
  - {name: third}
`
	w := newWorld(t, func(string) (llm.Provider, error) { return costly{llm.Usage{InputTokens: 90, OutputTokens: 10}}, nil })
	w.options.Mode = result.Live
	r := w.runArchive(t, archive)
	passed, undecided := 0, 0
	for _, c := range r.Suites[0].Cases {
		switch {
		case c.Outcome == result.Pass:
			passed++
		case c.Outcome == result.Error && c.Problem != nil && c.Problem.Kind == string(calls.Budget) && len(c.Repeats) == 0:
			undecided++
		}
	}
	if passed != 2 || undecided != 1 || r.Interrupted {
		t.Errorf("%d passed, %d were not run\n%s", passed, undecided, lines(t, r))
	}
}

func TestOtherCases(t *testing.T) {
	r := newWorld(t, nil).runArchive(t, `
-- a.yaml --
name: a
inputs: {type: object, properties: {question: {type: string}}}
steps:
  - {id: answer, call: chat, with: {system: "You are the guide of a museum in a small town by the sea.", user: "{{ inputs.question }}"}}
-- a.test.yaml --
defaults: {until: answer}
cases:
  - name: one
    inputs: {question: one}
    expect: [{prompt: answer, stable_prefix: {with: two, min_tokens: 5}}]
  - name: two
    inputs: {question: two}
    expect: [{prompt: answer, stable_prefix: {with: one, min_tokens: 500}}]
`)
	if got := outcomes(r); got["one"] != result.Pass || got["two"] != result.Fail {
		t.Errorf("the outcomes are %v\n%s", got, lines(t, r))
	}
}

// Parts read before the messages belong to the cached prefix: the provider, the model, the definitions of tools
// and the schema.
func TestStablePrefixBeforeMessages(t *testing.T) {
	r := newWorld(t, nil).runArchive(t, `
-- a.yaml --
name: a
inputs: {type: object, properties: {model: {type: string}, tool: {type: string}, type: {type: string}}}
steps:
  - id: answer
    call: chat
    with:
      model: "{{ inputs.model }}"
      system: You are the guide of a museum in a small town by the sea.
      user: Hello.
      tools: !expr "[{'type': 'function', 'function': {'name': inputs.tool, 'description': 'Finds.', 'parameters': {'type': 'object'}}}]"
      response_schema: !expr "{'type': 'object', 'properties': {'a': {'type': inputs.type}}}"
  - id: clerk
    call: agent
    with:
      model: "{{ inputs.model }}"
      system: You are the guide of a museum in a small town by the sea.
      prompt: Hello.
      tools: {calls: [{call: template, name: greet, description: "{{ inputs.tool }}", with: {template: !raw "{{ w }}", values: {w: "{{ inputs.type }}"}}}]}
  - id: seller
    call: agent
    with:
      system: You are the guide of a museum in a small town by the sea.
      prompt: Hello.
      tools: {flows: [{path: "{{ inputs.type }}.yaml", name: sell, with: {price: "{{ inputs.model }}"}}]}
-- string.yaml --
name: string
description: Sells tickets.
inputs: {type: object, properties: {price: {type: string}, visitors: {type: integer}}}
steps: [{id: s, call: template, with: {template: sold}}]
-- number.yaml --
name: number
description: Sells tickets.
inputs: {type: object, properties: {price: {type: string}, visitors: {type: integer, maximum: 9}}}
steps: [{id: s, call: template, with: {template: sold}}]
-- a.test.yaml --
defaults: {until: answer, inputs: {model: small, tool: find, type: string}}
cases:
  - {name: base}
  - {name: same, expect: [{prompt: answer, stable_prefix: {with: base, min_tokens: 5}}]}
  - {name: model, inputs: {model: large}, expect: [{prompt: answer, stable_prefix: {with: base, min_tokens: 5}}]}
  - {name: tool, inputs: {tool: search}, expect: [{prompt: answer, stable_prefix: {with: base, min_tokens: 5}}]}
  - {name: schema, inputs: {type: number}, expect: [{prompt: answer, stable_prefix: {with: base, min_tokens: 5}}]}
  - {name: provider, llm: judge, expect: [{prompt: answer, stable_prefix: {with: base, min_tokens: 5}}]}
  - {name: agents, until: clerk, mocks: {answer: {text: fine}}}
  - {name: fixed, until: clerk, mocks: {answer: {text: fine}}, inputs: {type: number}, expect: [{prompt: clerk, stable_prefix: {with: agents, min_tokens: 5}}]}
  - {name: described, until: clerk, mocks: {answer: {text: fine}}, inputs: {tool: Greets.}, expect: [{prompt: clerk, stable_prefix: {with: agents, min_tokens: 5}}]}
  - {name: sellers, until: seller, mocks: {answer: {text: fine}}, llm: {clerk: [done]}}
  - {name: fixed input, until: seller, mocks: {answer: {text: fine}}, llm: {clerk: [done]}, inputs: {model: large}, expect: [{prompt: seller, stable_prefix: {with: sellers, min_tokens: 5}}]}
  - {name: schema of a flow, until: seller, mocks: {answer: {text: fine}}, llm: {clerk: [done]}, inputs: {type: number}, expect: [{prompt: seller, stable_prefix: {with: sellers, min_tokens: 5}}]}
  - {name: both mocked, until: clerk, mocks: {answer: {text: fine}}, inputs: {model: large}, expect: [{prompt: answer, stable_prefix: {with: agents, min_tokens: 5}}]}
  - {name: one mocked, until: clerk, mocks: {answer: {text: fine}}, expect: [{prompt: answer, stable_prefix: {with: base, min_tokens: 5}}]}
  - {name: other mocked, expect: [{prompt: answer, stable_prefix: {with: agents, min_tokens: 5}}]}
`)
	want := map[string]result.Outcome{
		"base": result.Pass, "same": result.Pass, "model": result.Fail, "tool": result.Fail, "schema": result.Fail, "provider": result.Fail,
		"agents": result.Pass, "fixed": result.Pass, "described": result.Fail,
		"sellers": result.Pass, "fixed input": result.Pass, "schema of a flow": result.Fail,
		"both mocked": result.Error, "one mocked": result.Error, "other mocked": result.Error,
	}
	if diff := cmp.Diff(want, outcomes(r)); diff != "" {
		t.Error(diff, lines(t, r))
	}
	for name, want := range map[string]string{
		"schema of a flow": "first in that of sell",
		"one mocked":       "cannot be decided: the step answer is mocked",
		"other mocked":     `the case "agents": cannot be decided: the step answer is mocked`,
	} {
		if message := caseOf(t, r, name).Repeats[0].Checks[0].Message; !strings.Contains(message, want) {
			t.Errorf("%s: the message is %q", name, message)
		}
	}
}

func TestSkippedAndSelected(t *testing.T) {
	const archive = `
-- a.yaml --
name: a
steps: [{id: start, call: template, with: {template: !raw "go"}}]
-- a.test.yaml --
defaults: {expect: [{output: start, contains: go}]}
cases:
  - {name: skipped, skip: not yet}
  - {name: only, only: true}
  - {name: other}
`
	w := newWorld(t, nil)
	r := w.runArchive(t, archive)
	if got := outcomes(r); got["skipped"] != "skip" || got["only"] != "pass" || got["other"] != "skip" {
		t.Errorf("the outcomes are %v", got)
	}
	if c := caseOf(t, r, "skipped"); c.Skipped != "not yet" {
		t.Errorf("it was skipped because of %q", c.Skipped)
	}
	w.options.Select = func(_ *suite.Suite, c *suite.Case) bool { return c.Name == "only" }
	if got := outcomes(w.runArchive(t, archive)); len(got) != 1 {
		t.Errorf("the outcomes are %v", got)
	}
}

// TestDeniedInAFlowOfATool: the mock that is named works, though no step of the flow is there.
func TestDeniedInAFlowOfATool(t *testing.T) {
	w := newWorld(t, nil)
	const archive = `
-- a.yaml --
name: a
steps: [{id: clerk, call: agent, with: {prompt: Work., tools: {flows: [{path: inner.yaml, name: inner}]}}}]
-- inner.yaml --
name: inner
description: Looks it up.
steps: [{id: load, call: http, with: {url: "https://example.com"}}]
outputs: {r: "{{ load.body }}"}
-- a.test.yaml --
defaults: {llm: [{tool_calls: [{name: inner, arguments: {}}]}, done], expect: [{run: finished}]}
cases:
  - {name: denied}
  - {name: mocked, mocks: {"call:http": {status: 200, body: x}}}
`
	r := w.runArchive(t, archive)
	if got := outcomes(r); got["denied"] != result.Error || got["mocked"] != result.Pass {
		t.Fatalf("the outcomes are %v\n%s", got, lines(t, r))
	}
	if hint := caseOf(t, r, "denied").Repeats[0].Problem.Hint; !strings.Contains(hint, "mocks: {call:http: {...}}") {
		t.Errorf("the hint is %q", hint)
	}
}

// Results and snapshots do not depend on the working directory, nor on how the test file is named.
func TestSameFromEveryFolder(t *testing.T) {
	dir := unpack(t, `
-- flows/a.yaml --
name: a
inputs: {type: object, properties: {question: {type: string, default: why}}}
steps:
  - {id: sub, call: flow, with: {path: parts/inner.yaml, inputs: {text: "{{ inputs.question | upper }}"}}}
  - {id: answer, call: chat, with: {messages: [{role: system, content: !file rules.txt}, {role: user, content: "{{ sub.said }} {{ sub | tojson }} now"}]}}
-- flows/parts/inner.yaml --
name: inner
inputs: {type: object, properties: {text: {type: string}}}
steps:
  - {id: k, call: template, with: {template: "said {{ t }}: {{ u }}", values: {t: "{{ inputs.text | lower }}", u: !file y.txt}}}
outputs: {said: "{{ k.text }}"}
-- flows/rules.txt --
Be kind.
-- flows/parts/y.txt --
hi
-- flows/a.test.yaml --
cases:
  - name: prompt
    until: answer
    expect:
      - {prompt: answer, snapshot: true}
      - {prompt: answer, confined: {source: parts/y.txt, roles: [system]}}
      - {prompt: answer, confined: {source: inputs.question, roles: [system]}}
      - {prompt: answer, confined: {source: flows/rules.txt, roles: [user]}}
      - {prompt: answer, text: kind, comes_from: {source: y.txt}}
      - {prompt: answer, text: now, comes_from: {source: y.txt}}
      - {prompt: answer, not: {includes: {source: sub/k}}}
`)
	w := newWorld(t, nil)
	w.options.Update = true
	var first string
	for folder, path := range map[string]string{".": "flows/a.test.yaml", "flows": "a.test.yaml", "flows/parts": filepath.Join(dir, "flows", "a.test.yaml")} {
		t.Chdir(filepath.Join(dir, filepath.FromSlash(folder)))
		got := lines(t, w.run(t, w.load(t, dir, path)))
		w.options.Update = false
		if first == "" {
			first = got
		}
		if got != first || strings.Contains(got, dir) {
			t.Errorf("in %s the lines are\n%s\nand before\n%s", folder, got, first)
		}
	}
	if failed := strings.Count(first, `"outcome":"fail"`); failed != 8 {
		t.Errorf("%d failed\n%s", failed, first)
	}
}

// Scripted answers with a cost have one for checks, however small. Nothing is spent, so limits ignore them; the
// same holds if they have no cost.
func TestScriptedCost(t *testing.T) {
	w := newWorld(t, nil)
	w.options.Parallel = 1
	r := w.runArchive(t, `
-- a.yaml --
name: a
steps: [{id: answer, call: chat, with: {user: hello}}]
-- a.test.yaml --
limits: {cost: 0.00001, tokens: 1}
defaults: {llm: [{text: hi, usage: {input_tokens: 5, output_tokens: 1, cost: 0.000015}}]}
cases:
  - {name: cheap, expect: [{run: {cost: 0.00002}}]}
  - {name: dear, expect: [{run: {cost: 0.00001}}]}
  - {name: untold, llm: [hi], expect: [{run: finished}]}
  - {name: not known, llm: [hi], expect: [{run: {cost: 0.00002}}]}
`)
	if got := outcomes(r); got["cheap"] != result.Pass || got["dear"] != result.Fail || got["untold"] != result.Pass || got["not known"] != result.Error {
		t.Errorf("the outcomes are %v", got)
	}
	if text := lines(t, r); !strings.Contains(text, "it is 0.000015 USD, more than 0.00001") {
		t.Error(text)
	}
}

// A step saves memories in the store of its case; a tool that writes is denied, in a flow that is a tool too, unless it is mocked or
// allowed.
func TestToolsThatWrite(t *testing.T) {
	const archive = `
-- a.yaml --
name: a
memory: {user: Mei, session: main}
steps:
  - {id: save, call: memory-save, with: {content: Mei likes tea}}
  - {id: sub, call: flow, with: {path: keep.yaml, inputs: {what: tea}}}
  - id: clerk
    call: agent
    with:
      prompt: hello
      tools: {calls: [{call: memory-save, name: note}], flows: [{path: keep.yaml, name: keep}]}
outputs: {reply: "{{ clerk.text }}", id: "{{ sub.id }}"}
-- keep.yaml --
name: keep
memory: {user: Mei, session: main}
inputs: {type: object, properties: {what: {type: string}}}
steps: [{id: save, call: memory-save, with: {content: "{{ inputs.what }}"}}]
outputs: {id: "{{ save.memory_id }}"}
-- a.test.yaml --
defaults: {expect: [{output: reply, equals: done}]}
cases:
  - {name: steps, llm: [done]}
  - {name: tool, llm: [{tool_calls: [{name: note, arguments: {content: x}}]}, done]}
  - {name: flow, llm: [{tool_calls: [{name: keep, arguments: {what: x}}]}, done]}
  - {name: allowed, allow: [memory-save], llm: [{tool_calls: [{name: note, arguments: {content: x}}]}, {tool_calls: [{name: keep, arguments: {what: x}}]}, done]}
  - {name: mocked, mocks: {"call:memory-save": {memory_id: memory_1}}, llm: [{tool_calls: [{name: note, arguments: {content: x}}]}, done]}
`
	r := newWorld(t, nil).runArchive(t, archive)
	for name, want := range map[string]string{
		"steps": "", "allowed": "", "mocked": "",
		"tool": "the tool clerk/note-1/memory-save-1 runs memory-save, which writes, and a test does not let tools write (add mocks: {call:memory-save: {...}} to the case, or allow: [memory-save])",
		"flow": "the tool clerk/keep-1/flow-1/save runs memory-save, which writes, and a test does not let tools write (add mocks: {call:memory-save: {...}} to the case, or allow: [memory-save])",
	} {
		one := caseOf(t, r, name).Repeats[0]
		got := ""
		if one.Problem != nil {
			got = one.Problem.Message + " (" + one.Problem.Hint + ")"
		}
		if got != want || (one.Outcome == result.Pass) != (want == "") {
			t.Errorf("%s: %s: %q, want %q", name, one.Outcome, got, want)
		}
	}
}

// If there are several flows, the flow that prefer compares the others with is not compared with itself.
func TestPreferAmongFlows(t *testing.T) {
	asked := 0
	w := newWorld(t, func(string) (llm.Provider, error) {
		return llmFunc(func(r *llm.Request) string {
			asked++
			return `{"reason": "the first", "better": "first"}`
		}), nil
	})
	w.options.Mode = result.Live
	r := w.runArchive(t, `
-- one.yaml --
name: one
steps: [{id: say, call: template, with: {template: one}}]
outputs: {reply: "{{ say.text }}"}
-- two.yaml --
name: two
steps: [{id: say, call: template, with: {template: two}}]
outputs: {reply: "{{ say.text }}"}
-- a.test.yaml --
flows: [one.yaml, two.yaml]
cases: [{name: better, expect: [{output: reply, prefer: {over: two.yaml, criteria: [it is short], min: 1}}, {output: reply, words: 1}]}]
`)
	one, two := caseOf(t, r, "better [flow=one.yaml]"), caseOf(t, r, "better [flow=two.yaml]")
	if one.Outcome != result.Fail || two.Outcome != result.Pass || asked != 2 {
		t.Errorf("one is %s, two is %s, after %d questions\n%s", one.Outcome, two.Outcome, asked, lines(t, r))
	}
	if c := two.Repeats[0].Checks[0]; c.Outcome != result.Skip || c.Weight != 0 {
		t.Errorf("two against itself: %+v", c)
	}
}

// The user of a case is run.user, and the memories of a case that name no user are the flow's user's.
func TestUserOfCase(t *testing.T) {
	const archive = `
-- a.yaml --
name: a
memory: {user: "{{ run.user }}", session: main}
steps:
  - {id: said, call: memory-recent}
outputs: {user: "{{ run.user }}", said: "{{ said.text }}"}
-- a.test.yaml --
defaults: {user: lin, memory: [{content: I like tea., role: user}, {content: I like rum., role: user, user: bo}]}
cases:
  - {name: default, expect: [{output: user, equals: lin}, {output: said, equals: "user: I like tea."}]}
  - {name: other, user: bo, memory: [{content: I like rum., role: user}], expect: [{output: user, equals: bo}, {output: said, equals: "user: I like rum."}]}
`
	r := newWorld(t, nil).runArchive(t, archive)
	for _, name := range []string{"default", "other"} {
		if one := caseOf(t, r, name).Repeats[0]; one.Outcome != result.Pass {
			t.Errorf("%s: %s %+v", name, one.Outcome, one)
		}
	}
}

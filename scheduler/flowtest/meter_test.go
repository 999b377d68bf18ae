package flowtest_test

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
)

// costly is a judge whose answers report a usage, and a provider of embeddings.
type costly struct{ usage llm.Usage }

func (c costly) Chat(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		yield(llm.Delta{Text: `{"criteria":[{"reason":"it does","met":true}]}`, FinishReason: "stop", Usage: &c.usage}, nil)
	}
}

func (costly) Embedder(string, int) llm.Embedder { return likeVectors{} }

// likeVectors embeds all texts alike.
type likeVectors struct{}

func (likeVectors) Model() string { return "like" }

func (likeVectors) Embed(_ context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i := range vectors {
		vectors[i] = []float32{1}
	}
	return vectors, nil
}

const judged = `
-- a.yaml --
name: a
steps: [{id: answer, call: template, with: {template: hi}}]
-- a.test.yaml --
limits: {LIMIT}
judge: {llm: judge}
cases:
  - {name: one, repeat: 5, expect: [{output: answer, CHECK}]}
`

// Model requests of checks count towards the limits, and are in the totals.
func TestJudgesSpend(t *testing.T) {
	const judge, similar = "judge: {criteria: [Greets]}", "similar: {to: hello, min: 0.5}"
	tests := []struct {
		name, limit, check string
		usage              llm.Usage
		outcome            result.Outcome
		problem            string
	}{
		{"cost of a judge", "cost: 1", judge, llm.Usage{InputTokens: 90, OutputTokens: 10, Cost: 1}, result.Error, "may cost $1.0000"},
		{"tokens of a judge", "tokens: 100", judge, llm.Usage{InputTokens: 90, OutputTokens: 10}, result.Error, "may use 100"},
		{"judge without a price", "cost: 1", judge, llm.Usage{InputTokens: 90}, result.Error, "is not known"},
		{"below the limit", "cost: 9, tokens: 900", judge, llm.Usage{InputTokens: 90, OutputTokens: 10, Cost: 1}, result.Pass, ""},
		{"cost of embeddings", "cost: 1", similar, llm.Usage{}, result.Error, "may cost $1.0000"},
		{"tokens of embeddings", "tokens: 1", similar, llm.Usage{}, result.Error, "2 of them for embeddings, and may use 1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, func(string) (llm.Provider, error) { return costly{test.usage}, nil })
			w.options.Mode = result.Live
			w.options.Models.Cost = func(string, string, llm.Usage) (float64, bool) { return 2, true }
			archive := strings.NewReplacer("LIMIT", test.limit, "CHECK", test.check).Replace(judged)
			r := w.runArchive(t, archive)
			one := caseOf(t, r, "one")
			if one.Outcome != test.outcome {
				t.Fatal(lines(t, r))
			}
			if test.problem == "" {
				if got, embedded := r.Usage(); len(one.Repeats) != 5 || got.Cost != 5 || got.Total() != 500 || embedded.Total() != 0 || one.Repeats[0].JudgeUsage != test.usage {
					t.Errorf("%d repeats used %+v", len(one.Repeats), got)
				}
				return
			}
			if one.Problem == nil || !strings.Contains(one.Problem.Message, test.problem) || len(one.Repeats) != 1 {
				t.Error(lines(t, r))
			}
			got, embedded := r.Usage()
			if isEmbedded := test.check == similar; isEmbedded != (embedded.Total() > 0) || isEmbedded == (got.Total() > 0) {
				t.Errorf("used %+v, for embeddings %+v", got, embedded)
			}
			if strings.Contains(test.problem, "may") && one.Problem.Kind != string(calls.Budget) {
				t.Errorf("the problem is of kind %s", one.Problem.Kind)
			}
		})
	}
}

// A limit is checked before each request of a case, of its flow and of its checks: one case with many requests
// does not overrun it, whatever the flow does after the refusal.
func TestLimitsHoldWithinACase(t *testing.T) {
	const flow = "-- a.yaml --\nname: a\nsteps:\n  - {id: answer, call: template, with: {template: hi}}\n"
	judges := strings.Repeat("\n      - {output: answer, judge: {criteria: [Greets]}}", 9)
	loop := "  - {id: each, call: chat, for_each: [1, 2, 3, 4, 5, 6], max_parallel: 1, on_error: continue, with: {user: \"say {{ item }}\"}}\n"
	tests := map[string]struct {
		limit, flow, checks string
		used                llm.Usage
		asked               int64
	}{
		"judges":              {"tokens: 250", flow, judges, llm.Usage{InputTokens: 90, OutputTokens: 10}, 3},
		"cost of judges":      {"cost: 4", flow, judges, llm.Usage{InputTokens: 90, Cost: 2}, 2},
		"judges not priced":   {"cost: 4", flow, judges, llm.Usage{InputTokens: 90}, 1},
		"usage not told":      {"tokens: 1", flow, judges, llm.Usage{}, 1},
		"steps that continue": {"tokens: 250", flow + loop, "\n      - {run: finished}", llm.Usage{InputTokens: 90, OutputTokens: 10}, 3},
	}
	for name, test := range tests {
		for _, mode := range []result.Mode{result.Live, result.Record} {
			t.Run(name+" "+string(mode), func(t *testing.T) {
				var asked atomic.Int64
				w := newWorld(t, func(string) (llm.Provider, error) { return slowly{costly{test.used}, &asked}, nil })
				w.options.Mode = mode
				r := w.runArchive(t, test.flow+"-- a.test.yaml --\nlimits: {"+test.limit+"}\njudge: {llm: judge}\ncases:\n  - name: one\n    expect:"+test.checks+"\n")
				one := caseOf(t, r, "one")
				if n := asked.Load(); n != test.asked || one.Outcome != result.Error {
					t.Errorf("%d requests, want %d; %s\n%s", n, test.asked, one.Outcome, lines(t, r))
				}
				if found := lines(t, r); !strings.Contains(found, "may use") && !strings.Contains(found, "may cost") && !strings.Contains(found, "is not known") {
					t.Error(found)
				}
			})
		}
	}
}

// Cases side by side do not overrun a limit: each begins only if the running ones leave room for it.
func TestLimitsHoldSideBySide(t *testing.T) {
	for limit, most := range map[string]int64{"cost: 5": 5, "tokens: 500": 5} {
		var asked atomic.Int64
		w := newWorld(t, func(string) (llm.Provider, error) {
			return slowly{costly{llm.Usage{InputTokens: 90, OutputTokens: 10, Cost: 1}}, &asked}, nil
		})
		w.options.Mode, w.options.Parallel = result.Live, 16
		tests := "-- a.yaml --\nname: a\nsteps: [{id: answer, call: chat, with: {user: hello}}]\n-- a.test.yaml --\nlimits: {" + limit + "}\ncases:\n"
		for i := range 40 {
			tests += fmt.Sprintf("  - {name: c%d, expect: [{run: finished}]}\n", i)
		}
		r := w.runArchive(t, tests)
		passed := 0
		for _, outcome := range outcomes(r) {
			if outcome == result.Pass {
				passed++
			}
		}
		if n := asked.Load(); n != most || passed != int(most) {
			t.Errorf("%s: %d requests, %d passed, want %d", limit, n, passed, most)
		}
	}
}

// slowly is a model that takes its time.
type slowly struct {
	costly
	asked *atomic.Int64
}

func (s slowly) Chat(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	s.asked.Add(1)
	time.Sleep(2 * time.Millisecond)
	return s.costly.Chat(ctx, req)
}

// Only real requests count towards limits: a cassette is played however much it has cost, and recording a missing
// take is charged alone.
func TestRecordedAnswersSpendNothing(t *testing.T) {
	var asked atomic.Int64
	open := func(string) (llm.Provider, error) {
		return slowly{costly{llm.Usage{InputTokens: 90, OutputTokens: 10, Cost: 1}}, &asked}, nil
	}
	dir := unpack(t, `
-- a.yaml --
name: a
inputs: {type: object, properties: {n: {type: number}}}
steps: [{id: answer, call: chat, with: {user: "hello {{ inputs.n }}"}}]
-- first.test.yaml --
flow: a.yaml
cases: [{name: a, inputs: {n: 1}, expect: [{run: finished}]}, {name: b, inputs: {n: 2}, expect: [{run: finished}]}]
-- second.test.yaml --
flow: a.yaml
limits: {cost: 2, tokens: 200}
cases:
  - {name: a, inputs: {n: 1}, expect: [{run: finished}]}
  - {name: b, inputs: {n: 2}, expect: [{run: finished}]}
  - {name: c, inputs: {n: 3}, expect: [{run: {cost: 1}}]}
`)
	record := func(file string, mode result.Mode) *result.Run {
		w := newWorld(t, open)
		w.options.Mode, w.options.Parallel = mode, 1
		return w.run(t, w.load(t, dir, filepath.Join(dir, file)))
	}
	record("first.test.yaml", result.Record)
	if err := os.Rename(filepath.Join(dir, "first.test.main.cassette.yaml"), filepath.Join(dir, "second.test.main.cassette.yaml")); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []result.Mode{result.Record, result.Replay} {
		r := record("second.test.yaml", mode)
		for name, outcome := range outcomes(r) {
			if outcome != result.Pass {
				t.Errorf("%s: %s is %s\n%s", mode, name, outcome, lines(t, r))
			}
		}
	}
	if n := asked.Load(); n != 3 {
		t.Errorf("%d requests, not 3", n)
	}
	if r := record("second.test.yaml", result.Live); outcomes(r)["c"] != result.Error {
		t.Errorf("the limit does not hold live\n%s", lines(t, r))
	}
}

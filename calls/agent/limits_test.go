package agent_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/agent"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
)

func TestLimits(t *testing.T) {
	again := uses("more", "weather", `{"city": "a"}`)
	city := func(name string) scripted.Answer { return uses("", "weather", `{"city": "`+name+`"}`) }
	for name, c := range map[string]struct {
		with    string
		answers []scripted.Answer
		reason  string
		text    string
		rounds  int
		ran     int
	}{
		"rounds":             {"max_rounds: 2", []scripted.Answer{city("a"), city("b"), says("so far")}, "max_rounds", "so far", 3, 2},
		"rounds, stubborn":   {"max_rounds: 1", []scripted.Answer{city("a"), again}, "max_rounds", "more", 2, 1},
		"repeated":           {"max_repeats: 2", []scripted.Answer{again, again, again, says("enough")}, "repeated", "enough", 4, 2},
		"repeated, in order": {"max_repeats: 1", []scripted.Answer{uses("", "weather", `{"city":"a","deep":{"a":1,"b":2}}`), uses("", "weather", `{"deep":{"b":2,"a":1},"city":"a"}`), says("enough")}, "repeated", "enough", 3, 1},
		"some are new":       {"max_repeats: 1", []scripted.Answer{city("a"), uses("", "weather", `{"city":"a"}`, "weather", `{"city":"b"}`), says("fine")}, "stop", "fine", 3, 2},
		"tokens":             {"max_tokens: 30", []scripted.Answer{city("a"), again}, "max_tokens", "more", 2, 1},
		"tokens, estimated":  {"max_tokens: 10", []scripted.Answer{{Text: strings.Repeat("word ", 20), ToolCalls: []llm.ToolCall{{ID: "a", Name: "weather", Arguments: `{"city":"a"}`}}}}, "max_tokens", strings.Repeat("word ", 20), 1, 0},
		"cut":                {"", []scripted.Answer{{Text: "hal", FinishReason: "length"}}, "length", "hal", 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{t: t}
			p := scripted.New(c.answers...)
			r := run(t.Context(), t, w, p, "prompt: x\ntools: {calls: [{call: weather}]}\n"+c.with)
			if r.err != nil {
				t.Fatal(r.err)
			}
			if r.FinishReason != c.reason || r.Text != c.text || len(r.Rounds) != c.rounds || len(w.ran) != c.ran || p.Left() != 0 {
				t.Errorf("got %s %q after %d rounds, ran %v, %d answers left", r.FinishReason, r.Text, len(r.Rounds), w.ran, p.Left())
			}
			paired(t, r.Messages)
			if last := p.Requests()[len(p.Requests())-1]; (c.reason == "max_rounds" || c.reason == "repeated") != (string(last.Extra["tool_choice"]) == `"none"`) {
				t.Errorf("tool_choice is %s", last.Extra["tool_choice"])
			}
		})
	}
}

// warner keeps the warnings of a call.
type warner []calls.Warning

func (w *warner) Warn(warning calls.Warning) { *w = append(*w, warning) }

// A step warns of a model that ends without an answer, for whatever reason, and not of one that answers.
func TestSilence(t *testing.T) {
	city := uses("", "weather", `{"city": "a"}`)
	for want, c := range map[string]struct {
		with    string
		answers []scripted.Answer
	}{
		"":                                  {"max_rounds: 1", []scripted.Answer{city, says("done")}},
		"its 1 rounds of tools are used up": {"max_rounds: 1", []scripted.Answer{city, says(" \n")}},
		"its tokens are used up":            {"max_tokens: 1", []scripted.Answer{city}},
		"it used the same tools again":      {"max_repeats: 1", []scripted.Answer{city, city, says("")}},
		"it ended with stop":                {"", []scripted.Answer{says("")}},
	} {
		t.Run(want, func(t *testing.T) {
			var told warner
			r := run(t.Context(), t, &world{t: t}, scripted.New(c.answers...), "prompt: x\ntools: {calls: [{call: weather}]}\n"+c.with, func(e *calls.Env) { e.Warner = &told })
			switch {
			case r.err != nil:
				t.Fatal(r.err)
			case want == "" && len(told)+len(r.Warnings) > 0:
				t.Errorf("warned of %v, %v", told, r.Warnings)
			case want != "" && (len(told) != 1 || told[0].Code != "no-answer" || !strings.HasPrefix(told[0].Text, "the model wrote no answer: "+want)):
				t.Errorf("warned of %v", told)
			case want != "" && (len(r.Warnings) != 1 || r.Warnings[0] != told[0].Text):
				t.Errorf("the output warns of %v", r.Warnings)
			}
		})
	}
}

// A step warns of an answer that the vendor has cut, also if it was asked for after the last round.
func TestCutAnswer(t *testing.T) {
	city := uses("", "weather", `{"city": "a"}`)
	cut := scripted.Answer{Text: "hal", FinishReason: "length"}
	for with, answers := range map[string][]scripted.Answer{"": {cut}, "max_rounds: 1": {city, cut}} {
		var told warner
		r := run(t.Context(), t, &world{t: t}, scripted.New(answers...), "prompt: x\ntools: {calls: [{call: weather}]}\n"+with, func(e *calls.Env) { e.Warner = &told })
		want := "the answer was cut at the limit of tokens: raise extra.max_tokens"
		if r.err != nil || len(told) != 1 || told[0].Code != "cut" || told[0].Text != want || len(r.Warnings) != 1 || r.Warnings[0] != want {
			t.Errorf("%s: warned of %v, the output of %v, %v", with, told, r.Warnings, r.err)
		}
	}
}

// paired checks that every tool call has its answer.
func paired(t *testing.T, messages []*value.Map) {
	t.Helper()
	open := map[string]bool{}
	for _, m := range messages {
		list, _ := m.Get("tool_calls")
		for _, c := range list.List() {
			id, _ := c.Get("id")
			open[id.JSON()] = true
		}
		if id, ok := m.Get("tool_call_id"); ok {
			delete(open, id.JSON())
		}
	}
	if len(open) > 0 {
		t.Errorf("tool calls without an answer: %v", open)
	}
}

func TestManyToolsAtOnce(t *testing.T) {
	w := &world{t: t}
	var many []string
	for i := range 40 {
		many = append(many, "weather", fmt.Sprintf(`{"city": "%d"}`, i))
	}
	r := run(t.Context(), t, w, scripted.New(uses("", many...), says("ok")), weather)
	if len(w.ran) != 32 || !strings.Contains(r.Rounds[0].ToolCalls[32].Result, "may use 32 tools") {
		t.Errorf("ran %d", len(w.ran))
	}
	paired(t, r.Messages)
}

func TestTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, does: func(ctx context.Context) { <-ctx.Done() }}
		answer := uses("wait", "weather", `{"city":"a"}`, "weather", `{"city":"b"}`)
		r := run(t.Context(), t, w, scripted.New(answer), strings.Replace(weather, "{", "{timeout: 5m, ", 1))
		if r.err != nil || r.FinishReason != "timeout" || r.Text != "wait" || len(w.ran) != 1 || r.Rounds[0].ToolCalls[1].Error != "timeout" {
			t.Errorf("in a tool: %+v", r)
		}
		paired(t, r.Messages)
	})
	synctest.Test(t, func(t *testing.T) {
		blocks := scripted.Answer{Before: func(ctx context.Context, _ *llm.Request) error { <-ctx.Done(); return ctx.Err() }}
		r := run(t.Context(), t, &world{t: t}, scripted.New(blocks), "{prompt: x, timeout: 90s}")
		if r.err != nil || r.FinishReason != "timeout" {
			t.Errorf("in the model: %+v", r)
		}
	})
}

// The time may be over before the model is asked for the first time.
func TestNoTime(t *testing.T) {
	dir := desk(t)
	r := run(t.Context(), t, &world{t: t}, scripted.New(), "{prompt: x, workspace: desk, timeout: 1ns}", func(env *calls.Env) { env.Dir = dir })
	if r.err != nil || r.FinishReason != "timeout" || len(r.Messages) != 1 {
		t.Errorf("got %+v", r)
	}
}

func isObject(v value.Value) bool {
	text, _ := v.Str()
	inner, err := value.ParseJSON([]byte(text))
	return err == nil && inner.Kind() == value.Object
}

// Names and ids that a model makes up must not make a provider refuse the conversation.
func TestNamesAndIDs(t *testing.T) {
	answer := uses("", "weather", `{"city": "a"}`, "functions.weather", `{"city": "b"}`, "", "{}", strings.Repeat("x", 70), "{}", "weather", "", "weather", `{"city": `, "weather", "[1]")
	for i := range answer.ToolCalls {
		answer.ToolCalls[i].ID = "same"
	}
	r := run(t.Context(), t, &world{t: t}, scripted.New(answer, says("ok")), weather)
	if r.err != nil {
		t.Fatal(r.err)
	}
	list, _ := r.Messages[1].Get("tool_calls")
	seen := map[string]bool{}
	for i, c := range list.List() {
		id, _ := c.Get("id")
		name, _ := c.At("/function/name")
		arguments, _ := c.At("/function/arguments")
		answers, _ := r.Messages[2+i].Get("tool_call_id")
		text, _ := name.Str()
		if seen[id.JSON()] || id.JSON() != answers.JSON() || !regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`).MatchString(text) || !isObject(arguments) {
			t.Errorf("%d: %s is answered as %s", i, c, answers)
		}
		seen[id.JSON()] = true
	}
	if len(seen) != 7 || r.Rounds[0].ToolCalls[5].Arguments != `{"city": ` || r.Rounds[0].ToolCalls[1].Name != "functions.weather" {
		t.Errorf("got %+v", r.Rounds)
	}
	if got := r.Rounds[0].ToolCalls[1].Result; !strings.Contains(got, `there is no tool \"functions.weather\"`) {
		t.Errorf("got %s", got)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w := &world{t: t, does: func(context.Context) { cancel() }}
	r := run(ctx, t, w, scripted.New(uses("", "weather", `{"city":"a"}`), says("never")), weather)
	if calls.KindOf(r.err) != calls.Canceled {
		t.Errorf("got %v", r.err)
	}
}

func TestWaits(t *testing.T) {
	w := &world{t: t, fail: map[string]error{"a.yaml": calls.Errorf(calls.Missing, "a.yaml: %w", calls.ErrWaiting)}}
	p := scripted.New(uses("", "a", "{}", "weather", `{"city":"x"}`), says("never"))
	r := run(t.Context(), t, w, p, "{prompt: x, tools: {flows: [{path: a.yaml}], calls: [{call: weather}]}}")
	if !errors.Is(r.err, calls.ErrWaiting) || calls.KindOf(r.err) != calls.Missing || p.Left() != 1 || len(w.ran) != 2 { // the other tool of the round ran
		t.Errorf("got %v; ran %v", r.err, w.ran)
	}
}

func TestProviderFails(t *testing.T) {
	failure := &llm.Error{Message: "down"}
	r := run(t.Context(), t, &world{t: t}, scripted.New(uses("", "weather", `{"city":"a"}`), scripted.Answer{Error: failure}), weather)
	if !errors.Is(r.err, failure) {
		t.Errorf("got %v", r.err)
	}
}

func TestAbandoned(t *testing.T) {
	def, env := agent.Definition(), calls.NewEnv()
	env.LLM = scripted.New(scripted.Answer{Deltas: []llm.Delta{{Text: "a"}, {Text: "b"}}})
	call, err := def.New(parse(t, "{prompt: x}"))
	if err != nil {
		t.Fatal(err)
	}
	input, err := call.Init(t.Context(), env.Vars)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for range call.Exec(t.Context(), env, input) {
		n++
		break
	}
	if n != 1 {
		t.Errorf("%d chunks", n)
	}
}

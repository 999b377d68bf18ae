package summary_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/callstest"
	"github.com/callnode/scheduler/calls/summary"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
)

func TestConformance(t *testing.T) { callstest.Run(t, summary.Definition()) }

// run returns the chunks of text.
func run(ctx context.Context, t *testing.T, p llm.Provider, vars *calls.Vars, with string) (texts []string, err error) {
	t.Helper()
	params, err := yaml.ParseValue([]byte(with))
	if err != nil {
		t.Fatal(err)
	}
	def := summary.Definition()
	if problems := def.Info.Params.Check(params); problems != nil {
		t.Fatal(problems)
	}
	call, err := def.New(params)
	if err != nil {
		t.Fatal(err)
	}
	env := calls.NewEnv()
	env.LLM, env.Vars = p, vars
	input, err := call.Init(ctx, vars)
	if err != nil {
		t.Fatal(err)
	}
	for chunk, err := range call.Exec(ctx, env, input) {
		if err != nil {
			return texts, err
		}
		texts = append(texts, chunk.Text)
	}
	return texts, nil
}

// prompted is the text of the i-th request.
func prompted(t *testing.T, p *scripted.Provider, i int) string {
	t.Helper()
	var m struct{ Content string }
	if err := json.Unmarshal(p.Requests()[i].Messages[0], &m); err != nil {
		t.Fatal(err)
	}
	return m.Content
}

func past() calls.FixedUpstream {
	return calls.FixedUpstream{
		Steps: []calls.FinishedStep{
			{ID: "search", Output: value.OfMap(value.Pairs("hits", 3))},
			{ID: "b", Name: "Reply", Output: value.OfMap(value.Pairs("text", "There are three."))},
		},
		SummaryText: "They talked about tea.",
	}
}

func TestStreams(t *testing.T) {
	p := scripted.New(scripted.Answer{Deltas: []llm.Delta{{Text: "<think>hm</think>"}, {Text: "A "}, {Text: "summary."}}})
	texts, err := run(t.Context(), t, p, &calls.Vars{}, "text: long")
	if diff := cmp.Diff([]string{"A ", "summary."}, texts); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

// warner keeps the warnings of a call.
type warner []calls.Warning

func (w *warner) Warn(warning calls.Warning) { *w = append(*w, warning) }

// A summary that the vendor has cut gives a warning.
func TestCutSummary(t *testing.T) {
	for reason, code := range map[string]string{"length": "cut", "content_filter": "filtered", "stop": ""} {
		call, err := summary.Definition().New(value.OfMap(value.Pairs("text", "long")))
		if err != nil {
			t.Fatal(err)
		}
		var told warner
		env := calls.NewEnv()
		env.LLM, env.Vars, env.Warner = scripted.New(scripted.Answer{Text: "A summ", FinishReason: reason}), &calls.Vars{}, &told
		input, err := call.Init(t.Context(), env.Vars)
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range call.Exec(t.Context(), env, input) {
			if err != nil {
				t.Fatal(err)
			}
		}
		if code == "" && len(told) > 0 || code != "" && (len(told) != 1 || told[0].Code != code) {
			t.Errorf("%s: warned of %v", reason, told)
		}
	}
}

func TestSources(t *testing.T) {
	for name, c := range map[string]struct {
		vars      calls.Vars
		with      string
		want, not []string
	}{
		"text": {calls.Vars{}, "{text: It rains. </conversation>, max_words: 7, instructions: No names.}",
			[]string{"<conversation>\nIt rains. <\\/conversation>\n</conversation>", "At most 7 words", "- No names."}, []string{"<before>", "<question>", "left out"}},
		"messages": {calls.Vars{Question: "and now?"}, "messages: [{role: system, content: secret}, {role: user, content: hi}]",
			[]string{"<conversation>\nuser: hi\n</conversation>", "<question>\nand now?"}, []string{"secret"}},
		"steps": {calls.Vars{Question: "how many?", Upstream: past()}, "{}",
			[]string{"user: how many?\nsearch: {\"hits\":3}\nReply: There are three.\n", "<before>\nThey talked about tea.\n</before>"}, nil},
		"Chinese": {calls.Vars{Language: "zh", Upstream: past()}, "{}", []string{"不超过 150 字", "此前的备忘"}, []string{"<question>"}},
		"too long": {calls.Vars{}, "{max_input_tokens: 100, messages: [{role: user, content: " + strings.Repeat("a", 400) + "}, {role: user, content: newest}]}",
			[]string{"The beginning (1 entries) is left out.", "user: newest"}, []string{"aaa"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := scripted.Texts("ok")
			if _, err := run(t.Context(), t, p, &c.vars, c.with); err != nil {
				t.Fatal(err)
			}
			text := prompted(t, p, 0)
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not in\n%s", want, text)
				}
			}
			for _, not := range c.not {
				if strings.Contains(text, not) {
					t.Errorf("%q is in\n%s", not, text)
				}
			}
		})
	}
}

func TestNothingNew(t *testing.T) {
	p := scripted.Texts()
	for _, with := range []string{"{}", "messages: []", "text: ' '"} {
		texts, err := run(t.Context(), t, p, &calls.Vars{Upstream: calls.FixedUpstream{SummaryText: "before"}}, with)
		if diff := cmp.Diff([]string{"before"}, texts); diff != "" || err != nil {
			t.Error(with, err, diff)
		}
	}
}

// A model that says nothing does not make the summary of before go away.
func TestNoAnswer(t *testing.T) {
	for _, answer := range []string{"", " \n", "<think>hm</think>\n", "<think>cut"} {
		texts, err := run(t.Context(), t, scripted.Texts(answer), &calls.Vars{Upstream: calls.FixedUpstream{SummaryText: "before"}}, "text: x")
		if calls.KindOf(err) != calls.Provider || calls.HintOf(err) == "" {
			t.Errorf("%q: got %q, %v", answer, texts, err)
		}
	}
}

func TestFails(t *testing.T) {
	failure := &llm.Error{Message: "down"}
	texts, err := run(t.Context(), t, scripted.New(scripted.Answer{Deltas: []llm.Delta{{Text: "part"}}, Error: failure}), &calls.Vars{}, "text: x")
	if !errors.Is(err, failure) || len(texts) != 1 {
		t.Errorf("got %q, %v", texts, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := run(ctx, t, scripted.Texts(), &calls.Vars{}, "{}"); calls.KindOf(err) != calls.Canceled {
		t.Errorf("got %v", err)
	}
}

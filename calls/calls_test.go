package calls_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/plugins"
)

// repeat is the smallest useful call.
type repeat struct {
	Text  string `json:"text" doc:"What to say."`
	Times int    `json:"times" doc:"How often." default:"2"`
}

type repeated struct {
	Text string `json:"text" doc:"What was said."`
}

func (r repeat) Init(_ context.Context, vars *calls.Vars) (repeat, error) {
	if r.Text == "" {
		return r, calls.Errorf(calls.Missing, "there is nothing to say")
	}
	if r.Text == "ask" {
		r.Text = vars.Question
	}
	return r, nil
}

func (r repeat) Exec(_ context.Context, _ *calls.Env, in repeat) iter.Seq2[calls.Chunk, error] {
	return func(yield func(calls.Chunk, error) bool) {
		for range in.Times {
			if !yield(calls.TextChunk(in.Text), nil) {
				return
			}
		}
	}
}

func (r *repeat) Validate() error {
	switch {
	case r.Times < 0:
		return errors.New("times is negative")
	case r.Times > 100:
		return calls.Errorf(calls.Budget, "that is too often").WithHint("ask for at most %d", 100)
	}
	return nil
}

func object(kv ...any) value.Value { return value.OfMap(value.Pairs(kv...)) }

func TestDefine(t *testing.T) {
	def := calls.Define[repeat, repeat, repeated](calls.Info{Name: "repeat"})
	if required, _ := def.Info.Params.Doc().Get("required"); required.JSON() != `["text"]` {
		t.Errorf("required parameters: %s", required)
	}
	call, err := def.New(object("text", "ask"))
	if err != nil {
		t.Fatal(err)
	}
	if call.Info() != def.Info {
		t.Error("the call has another description than its definition")
	}
	input, err := call.Init(t.Context(), &calls.Vars{Question: "why?"})
	if err != nil || input.JSON() != `{"text":"why?","times":2}` {
		t.Fatalf("the input is %s, %v", input, err)
	}
	var texts []string
	for chunk, err := range call.Exec(t.Context(), calls.NewEnv(), input) {
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, chunk.Text)
	}
	if diff := cmp.Diff([]string{"why?", "why?"}, texts); diff != "" {
		t.Error(diff)
	}
}

func TestDefineErrors(t *testing.T) {
	def := calls.Define[repeat, repeat, repeated](calls.Info{Name: "repeat"})
	for _, test := range []struct {
		params value.Value
		kind   calls.Kind
		want   string
		hint   string
	}{
		{object("text", 7), calls.Invalid, "parameters of repeat: /text: want string, got integer", ""},
		{value.OfInt(7), calls.Invalid, "parameters of repeat: want object, got integer", ""},
		{object("text", "x", "times", -1), calls.Invalid, "times is negative", ""},
		{object("text", "x", "times", 101), calls.Budget, "that is too often", "ask for at most 100"},
	} {
		_, err := def.New(test.params)
		if err == nil || err.Error() != test.want || calls.KindOf(err) != test.kind || calls.HintOf(err) != test.hint {
			t.Errorf("%s: %v (%s, hint %q), want %s", test.params, err, calls.KindOf(err), calls.HintOf(err), test.want)
		}
	}
	call, err := def.New(object("text", ""))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := call.Init(t.Context(), &calls.Vars{}); calls.KindOf(err) != calls.Missing {
		t.Errorf("Init: %v", err)
	}
	for _, err := range call.Exec(t.Context(), calls.NewEnv(), value.OfString("no input of mine")) {
		if calls.KindOf(err) != calls.Internal || !strings.Contains(err.Error(), "decoding the input of repeat") {
			t.Errorf("Exec of a foreign input: %v", err)
		}
	}
}

func TestKindAndHint(t *testing.T) {
	provider := &llm.Error{Message: "busy", Hint: "wait"}
	for _, test := range []struct {
		err  error
		kind calls.Kind
		hint string
	}{
		{errors.New("x"), calls.Internal, ""},
		{calls.Errorf(calls.NotFound, "no %s", "x").WithHint("try %s", "y"), calls.NotFound, "try y"},
		{fmt.Errorf("running: %w", calls.Errorf(calls.Plugin, "gone")), calls.Plugin, ""},
		{calls.Errorf(calls.Invalid, "outer: %w", calls.Errorf(calls.Plugin, "inner").WithHint("inner hint")), calls.Invalid, "inner hint"},
		{fmt.Errorf("chatting: %w", provider), calls.Provider, "wait"},
		{context.DeadlineExceeded, calls.Timeout, ""},
		{fmt.Errorf("x: %w", context.Canceled), calls.Canceled, ""},
		{&llm.Error{Err: context.DeadlineExceeded}, calls.Timeout, ""},
		{calls.Errorf(calls.Provider, "%w", context.Canceled), calls.Provider, ""},
	} {
		if kind, hint := calls.KindOf(test.err), calls.HintOf(test.err); kind != test.kind || hint != test.hint {
			t.Errorf("%v: %s, hint %q, want %s, %q", test.err, kind, hint, test.kind, test.hint)
		}
	}
	if !errors.Is(calls.Errorf(calls.Provider, "x: %w", provider), provider) {
		t.Error("the error below cannot be found")
	}
}

func TestChunks(t *testing.T) {
	collect := func(stream iter.Seq2[calls.Chunk, error]) string {
		var out strings.Builder
		for chunk, err := range stream {
			switch {
			case err != nil:
				fmt.Fprintf(&out, "error(%v)", err)
			case chunk.Data != nil:
				fmt.Fprintf(&out, "data(%s)", chunk.Data)
			default:
				fmt.Fprintf(&out, "text(%s)", chunk.Text)
			}
		}
		return out.String()
	}
	unencodable := make(chan int)
	for _, test := range []struct {
		stream iter.Seq2[calls.Chunk, error]
		want   string
	}{
		{calls.Data(repeated{"x"}), `data({"text":"x"})`},
		{calls.Data(unencodable), `error(encoding the output: a chan int cannot be written as JSON)`},
		{calls.Fail(errors.New("no")), `error(no)`},
		{calls.Do(func() (any, error) { return map[string]int{"n": 1}, nil }), `data({"n":1})`},
		{calls.Do(func() (any, error) { return nil, errors.New("broken") }), `error(broken)`},
	} {
		if got := collect(test.stream); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}

func TestRegistry(t *testing.T) {
	def := calls.Define[repeat, repeat, repeated](calls.Info{Name: "repeat"})
	other := calls.Define[repeat, repeat, repeated](calls.Info{Name: "another"})
	if _, err := calls.NewRegistry(def, def); err == nil || err.Error() != `the call "repeat" is registered twice` {
		t.Errorf("twice: %v", err)
	}
	r, err := calls.NewRegistry(def, other)
	if err != nil {
		t.Fatal(err)
	}
	judge := plugins.ImportanceFunc(func(context.Context, plugins.State, plugins.Item) (plugins.Verdict, error) {
		return plugins.Verdict{Include: true}, nil
	})
	resolve := plugins.ResolverFunc(func(_ context.Context, _ plugins.State, name string) (any, error) { return name, nil })
	for _, err := range []error{r.AddImportance("always", judge), r.AddImportance("a", judge), r.AddResolver(resolve, "now", "city")} {
		if err != nil {
			t.Error(err)
		}
	}
	if err := r.AddImportance("always", judge); err == nil {
		t.Error("an importance function was registered twice")
	}
	if err := r.AddResolver(resolve, "day", "now"); err == nil {
		t.Error("a variable was registered twice")
	}
	for want, got := range map[string][]string{
		"another repeat": r.CallNames(), "a always": r.ImportanceNames(), "city day now": r.VariableNames(),
	} {
		if strings.Join(got, " ") != want || !slices.IsSorted(got) {
			t.Errorf("got %v, want %s", got, want)
		}
	}
	if d, ok := r.Call("repeat"); !ok || d.Info != def.Info {
		t.Error("repeat is not found")
	}
	if f, ok := r.Importance("always"); !ok || f == nil {
		t.Error("always is not found")
	}
	if f, ok := r.Resolver("city"); !ok || f == nil {
		t.Error("city is not found")
	}
	var none *calls.Registry
	_, isCall := none.Call("repeat")
	_, isFunction := none.Importance("always")
	_, isVariable := none.Resolver("city")
	if isCall || isFunction || isVariable || none.CallNames() != nil || none.ImportanceNames() != nil || none.VariableNames() != nil {
		t.Error("a nil registry has something")
	}
}

func TestQuietEnv(t *testing.T) {
	env := calls.NewEnv()
	for _, err := range env.LLM.Chat(t.Context(), &llm.Request{}) {
		if calls.KindOf(err) != calls.Provider || calls.HintOf(err) == "" {
			t.Errorf("without a model: %v", err)
		}
	}
	if turns, err := env.Memory.Recent(t.Context(), calls.Scope{}, 9); turns != nil || err != nil {
		t.Errorf("without a memory: %v, %v", turns, err)
	}
	if found, err := env.Memory.Retrieve(t.Context(), calls.Scope{}, "x", 9); found != nil || err != nil {
		t.Errorf("without a memory: %v, %v", found, err)
	}
	if _, err := env.Flows.RunFlow(t.Context(), "x.yaml", value.Value{}); calls.KindOf(err) != calls.Invalid {
		t.Errorf("without flows: %v", err)
	}
	if _, found := env.Registry.Call("chat"); found {
		t.Error("without a registry: chat was found")
	}
	if _, err := env.Calls.RunCall(t.Context(), "chat", value.Value{}); calls.KindOf(err) != calls.NotFound {
		t.Errorf("without calls: %v", err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://user:pass@example.com/secret", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := env.HTTP.Do(req); calls.KindOf(err) != calls.Invalid || strings.Contains(err.Error(), "pass") {
		t.Errorf("without a network: %v", err)
	}
	if names := env.Registry.ImportanceNames(); names != nil {
		t.Errorf("without functions: %v", names)
	}
	for text, want := range map[string]int{"": 0, "a": 1, "abcd": 1, "abcde": 2} {
		if got := env.Tokens.Count(text); got != want {
			t.Errorf("%q has %d tokens, want %d", text, got, want)
		}
	}
	if env.Clock().IsZero() || env.Rand == nil || env.Log == nil || env.Vars == nil {
		t.Errorf("something is not there: %+v", env)
	}
}

func TestVars(t *testing.T) {
	var alone calls.Vars
	if alone.History() != nil || alone.Summary() != "" || alone.Facts() != nil {
		t.Error("a step without a past remembers something")
	}
	vars := calls.Vars{Upstream: calls.FixedUpstream{Steps: []calls.FinishedStep{{ID: "a"}}, SummaryText: "short", FactList: []string{"f"}}}
	if vars.History()[0].ID != "a" || vars.Summary() != "short" || vars.Facts()[0] != "f" {
		t.Errorf("the past is %v, %q, %v", vars.History(), vars.Summary(), vars.Facts())
	}
}

func TestText(t *testing.T) {
	both, english := calls.Text{En: "a call", Zh: "一个节点"}, calls.Text{En: "a call"}
	for _, test := range []struct {
		text     calls.Text
		language string
		want     string
	}{
		{both, "zh", "一个节点"}, {both, "en", "a call"}, {both, "fr", "a call"}, {both, "", "a call"}, {english, "zh", "a call"},
	} {
		if got := test.text.In(test.language); got != test.want {
			t.Errorf("in %q: %s, want %s", test.language, got, test.want)
		}
	}
}

// The tool of a flow has the same name wherever its path was written.
func TestFlowToolName(t *testing.T) {
	for file, want := range map[string]string{"./sub/place order.yaml": "place_order", `.\sub\order.v2.yaml`: "order_v2", "order": "order", "": ""} {
		if got := calls.FlowToolName(file); got != want {
			t.Errorf("%q: %q, not %q", file, got, want)
		}
	}
}

package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/callstest"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/plugins/host"
	"github.com/callnode/scheduler/plugins/manifest"
)

func TestChecks(t *testing.T) {
	both(t, nil, func(t *testing.T, r *calls.Registry, _ *strings.Builder) {
		f, ok := r.TestCheck("sample.names")
		if _, isImportance := r.Importance("sample.names"); !ok || isImportance {
			t.Fatal("the check is not registered as one")
		}
		verdicts, err := f.Judge(t.Context(), plugins.State{}, []plugins.Item{{Text: "green tea", Data: []byte(`{"with":"tea"}`)}, {Text: "coffee", Data: []byte(`{"with":"tea"}`)}})
		if err != nil || len(verdicts) != 2 || !verdicts[0].Include || verdicts[1].Include || verdicts[1].Reason != "tea" {
			t.Errorf("got %+v, %v", verdicts, err)
		}
	})
}

func TestImportance(t *testing.T) {
	both(t, nil, func(t *testing.T, r *calls.Registry, _ *strings.Builder) {
		f, _ := r.Importance("sample.is_long")
		verdicts, err := f.Judge(t.Context(), plugins.State{}, []plugins.Item{{Text: "short"}, {Text: "long enough"}, {Text: "not \xff UTF-8"}})
		if err != nil || len(verdicts) != 3 || verdicts[0].Include || !verdicts[1].Include || verdicts[1].Reason != "11" || *verdicts[0].Score != 0.5 {
			t.Errorf("got %+v, %v", verdicts, err)
		}
		if verdicts, err := f.Judge(t.Context(), plugins.State{}, nil); verdicts != nil || err != nil {
			t.Errorf("no items: got %v, %v", verdicts, err)
		}
		_, err = f.Judge(t.Context(), plugins.State{}, []plugins.Item{{Name: "panic"}})
		if err == nil || err.Error() != "plugin sample, function is_long: panic: not this one" || calls.KindOf(err) != calls.Plugin {
			t.Errorf("panic: got %v", err)
		}
	})
}

func TestRetrieved(t *testing.T) {
	both(t, nil, func(t *testing.T, r *calls.Registry, _ *strings.Builder) {
		times := 0
		state := plugins.State{Retrieve: func(context.Context) ([]plugins.Recalled, error) {
			times++
			return []plugins.Recalled{{Text: "tea", Score: 0.5}}, nil
		}}
		f, _ := r.Importance("sample.is_known")
		verdicts, err := f.Judge(t.Context(), state, []plugins.Item{{Text: "tea"}, {Text: "milk"}})
		if err != nil || !verdicts[0].Include || verdicts[1].Include {
			t.Errorf("got %+v, %v", verdicts, err)
		}
		other, _ := r.Importance("sample.is_long")
		if _, err := other.Judge(t.Context(), state, make([]plugins.Item, 1)); err != nil || times != 1 {
			t.Errorf("memories were looked for %d times, want once: %v", times, err)
		}
		state.Retrieve = func(context.Context) ([]plugins.Recalled, error) { return nil, errors.New("the store is closed") }
		if _, err := f.Judge(t.Context(), state, make([]plugins.Item, 1)); err == nil || err.Error() != "the store is closed" {
			t.Errorf("the error is %v", err)
		}
	})
}

func TestVariables(t *testing.T) {
	both(t, nil, func(t *testing.T, r *calls.Registry, _ *strings.Builder) {
		f, _ := r.Resolver("profile")
		if g, _ := r.Resolver("mood"); f != g {
			t.Error("the variables of a plugin have several resolvers: they would not be asked in one batch")
		}
		now := time.Date(2026, 3, 5, 9, 7, 0, 0, time.FixedZone("", 8*3600))
		state := plugins.State{User: "u\xff", Now: now, History: []plugins.Turn{{Role: "user", Content: "x", Timestamp: now}}}
		values, err := f.Resolve(t.Context(), state, []string{"profile", "mood"})
		want := `{"at":"2026-03-05T09:07:00+08:00","turns":"1","user":"u` + "\uFFFD" + `"}`
		if err != nil || len(values) != 1 || string(values["profile"]) != want {
			t.Errorf("got %s, %v", values, err)
		}
		_, err = f.Resolve(t.Context(), state, []string{"broken"})
		if err == nil || !strings.Contains(err.Error(), "plugin sample, variable broken: broken: the mood server is down") ||
			calls.KindOf(err) != calls.Provider || calls.HintOf(err) != "start it" {
			t.Errorf("got %v (%s)", err, calls.HintOf(err))
		}
		_, err = f.Resolve(t.Context(), state, []string{"profil"})
		if calls.KindOf(err) != calls.NotFound || calls.HintOf(err) != `did you mean "profile"?` {
			t.Errorf("got %v (%s)", err, calls.HintOf(err))
		}
	})
}

func TestCalls(t *testing.T) {
	both(t, nil, func(t *testing.T, r *calls.Registry, _ *strings.Builder) {
		env := calls.NewEnv()
		env.Vars = &calls.Vars{Language: "zh"}
		for _, c := range []struct {
			name   string
			params *value.Map
			want   string
			kind   calls.Kind
		}{
			{"sample.greet", value.Pairs("name", "Ada"), `{"text":"Hello Ada. zh"}`, ""},
			{"sample.greet", value.Pairs("name", "nobody"), "plugin sample, call greet: there is nobody", calls.Missing},
			{"sample.greet", value.Pairs("nam", "Ada"), "parameters of sample.greet: /nam", calls.Invalid},
			{"sample.count", value.Pairs("name", "x", "times", 5), `{"text":"01234"}`, ""},
			{"sample.count", value.Pairs("name", "trouble"), "plugin sample, call count: no more numbers", calls.Plugin},
			{"sample.ask-model", value.Pairs("name", "x"), "the plugin was granted no services of the host", calls.Plugin},
		} {
			out, err := run(t, r, env, c.name, c.params)
			got := out.JSON()
			if err != nil {
				got = err.Error()
			}
			if !strings.HasPrefix(got, c.want) && !strings.Contains(got, c.want) || err != nil && calls.KindOf(err) != c.kind {
				t.Errorf("%s: got %s\nwant %s", c.name, got, c.want)
			}
		}
		for _, name := range []string{"sample.greet", "sample.count"} {
			def, _ := r.Call(name)
			callstest.Run(t, def)
		}
	})
}

// memory is a store with one text.
type memory struct{ calls.Memory }

func (memory) Retrieve(_ context.Context, scope calls.Scope, query string, limit int) ([]plugins.Recalled, error) {
	return []plugins.Recalled{{Text: fmt.Sprintf("%s of %s, at most %d", query, scope.User, limit), Score: 1}}, nil
}

func TestHostServices(t *testing.T) {
	both(t, []string{"llm", "memory", "log", "vars"}, func(t *testing.T, r *calls.Registry, log *strings.Builder) {
		env := calls.NewEnv()
		env.LLM = scripted.Echo{}
		env.Memory = memory{}
		env.Vars = &calls.Vars{Scope: calls.Scope{User: "u1"}, Question: "q", Inputs: value.OfMap(value.Pairs("a", 1)), Upstream: calls.FixedUpstream{SummaryText: "sum"}}
		out, err := run(t, r, env, "sample.ask-model", value.Pairs("name", "tea"))
		if err != nil || !strings.Contains(out.JSON(), "tea: tea of u1, at most 1") {
			t.Errorf("got %s, %v", out, err)
		}
		if !strings.Contains(log.String(), `level=WARN msg="asking about tea" plugin=sample`) {
			t.Errorf("the log is %s", log)
		}
		for want, err := range map[calls.Kind]error{
			calls.Provider: &llm.Error{Message: "the model is tired"},
			calls.Budget:   calls.Errorf(calls.Budget, "the budget of 3 tokens is used up").WithHint("raise it"),
			calls.Plugin:   calls.Errorf(calls.Internal, "the model panicked"), // the step must not take that for its own
		} {
			env.LLM = failing{err}
			_, got := run(t, r, env, "sample.ask-model", value.Pairs("name", "tea"))
			if got == nil || !strings.Contains(got.Error(), "plugin sample, call ask-model: asking the model: "+err.Error()) ||
				calls.KindOf(got) != want || calls.HintOf(got) != calls.HintOf(err) {
				t.Errorf("got %v (%s), kind %s, want %s", got, calls.HintOf(got), calls.KindOf(got), want)
			}
		}
	})
}

type failing struct{ err error }

func (f failing) Chat(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) { yield(llm.Delta{}, f.err) }
}

// A program sees only the variables of the host that its manifest lists.
func TestEnvironment(t *testing.T) {
	t.Setenv("SECRET_KEY", "abc")
	t.Setenv("PASSED_ON", "yes")
	dir := folder(t, "services: [vars]\nenv: [PASSED_ON, NOT_SET]")
	_, r := open(t, dir, host.Options{})
	env := calls.NewEnv()
	env.Vars = &calls.Vars{Question: "q", Inputs: value.OfMap(value.Pairs("a", 1)), Upstream: calls.FixedUpstream{SummaryText: "sum"}, Run: calls.Run{ID: "r1"}}
	env.Path = "look[2]"
	out, err := run(t, r, env, "sample.environment", nil)
	if err != nil {
		t.Fatal(err)
	}
	var got Environment
	if err := value.Decode(out, &got); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, v := range got.Vars {
		name, _, _ := strings.Cut(v, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	want := []string{
		"PASSED_ON", "PLUGIN_MAX_PORT", "PLUGIN_MIN_PORT", "PLUGIN_PROTOCOL_VERSIONS", "PLUGIN_UNIX_SOCKET_DIR", "PYTHONDONTWRITEBYTECODE",
		"SCHEDULER_PLUGIN", "SCHEDULER_PLUGIN_LIFE", "SCHEDULER_PLUGIN_MARK", "SCHEDULER_PLUGIN_MAX_MESSAGE",
	}
	if !slices.Equal(names, want) {
		t.Errorf("the program sees %v\nwant %v", names, want)
	}
	if real, _ := filepath.EvalSymlinks(dir); got.Dir != dir && got.Dir != real || got.In != "" {
		t.Errorf("the program runs in %s with %q as standard input", got.Dir, got.In)
	}
	if got.Key != "r1/look[2]" {
		t.Errorf("the idempotency key is %q", got.Key)
	}
	for _, part := range []string{`"inputs":{"a":1}`, `"question":"q"`, `"summary":"sum"`} {
		if !strings.Contains(got.Seen.JSON(), part) {
			t.Errorf("the call sees %s, want %s", got.Seen, part)
		}
	}
}

func TestLargeMessages(t *testing.T) {
	_, r := open(t, folder(t, "limits: {max_message_mib: 1}"), host.Options{})
	f, _ := r.Importance("sample.echo")
	_, err := f.Judge(t.Context(), plugins.State{}, []plugins.Item{{Text: strings.Repeat("x", 2<<20)}})
	if err == nil || !strings.Contains(err.Error(), "plugin sample, function echo: the request has 2097") || !strings.Contains(calls.HintOf(err), "limits.max_message_mib") {
		t.Errorf("got %v", err)
	}
	// The answer holds the content of the question, and a little more.
	items := []plugins.Item{{Name: strings.Repeat("x", 1<<20-120)}}
	_, err = f.Judge(t.Context(), plugins.State{}, items)
	if err != nil {
		t.Errorf("just below the limit: %v", err)
	}
	before := pid(t, r)
	many := make([]plugins.Item, 100_000)
	for i := range many {
		many[i].Name = "12345"
	}
	_, err = f.Judge(t.Context(), plugins.State{}, many)
	if err == nil || !strings.Contains(err.Error(), "more than the 1048576 of limits.max_message_mib in plugin.yaml") {
		t.Errorf("a large answer: %v", err)
	}
	if pid(t, r) != before {
		t.Error("the process was started again")
	}
}

// The result of a host service is bounded as well.
func TestLargeVars(t *testing.T) {
	_, r := open(t, folder(t, "services: [vars]\nlimits: {max_message_mib: 1}"), host.Options{})
	env := calls.NewEnv()
	env.Vars = &calls.Vars{Inputs: value.OfMap(value.Pairs("a", strings.Repeat("q", 1<<20)))}
	out, err := run(t, r, env, "sample.environment", nil)
	seen, _ := out.Get("seen")
	if err != nil || !strings.Contains(seen.JSON(), "the host's answer has 1048") || !strings.Contains(seen.JSON(), "more than the 1048576 of limits.max_message_mib in plugin.yaml") {
		t.Errorf("it saw %.200s, %v", seen.JSON(), err)
	}
}

// Whatever an answer is, it comes, or an error says why not; and so do those after it.
func TestAnswersThatCannotBeSent(t *testing.T) {
	_, r := open(t, folder(t, "limits: {max_message_mib: 1, timeout: 3s}"), host.Options{})
	f, _ := r.Importance("sample.is_long")
	_, err := f.Judge(t.Context(), plugins.State{}, []plugins.Item{{Name: "not UTF-8"}})
	if err == nil || err.Error() != "plugin sample, function is_long: a\uFFFDb" || calls.HintOf(err) != "c\uFFFDd" {
		t.Errorf("got %v (%s)", err, calls.HintOf(err))
	}
	for size := 1<<20 - 40; size <= 1<<20; size++ {
		_, err := f.Judge(t.Context(), plugins.State{}, []plugins.Item{{Name: "fill", Text: strconv.Itoa(size)}})
		if err != nil && !strings.Contains(err.Error(), "limits.max_message_mib") {
			t.Fatalf("a reason of %d bytes: %v", size, err)
		}
		if small := size == 1<<20-40; small != (err == nil) && (small || size == 1<<20) {
			t.Errorf("a reason of %d bytes: %v", size, err)
		}
	}
	_ = pid(t, r)
}

func TestAfterClose(t *testing.T) {
	h, r := open(t, folder(t, ""), host.Options{})
	p := pid(t, r)
	for range 2 {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
	if alive(p) {
		t.Error("the process lives on")
	}
	f, _ := r.Importance("sample.echo")
	if _, err := f.Judge(t.Context(), plugins.State{}, make([]plugins.Item, 1)); err == nil || !strings.Contains(err.Error(), "plugins are shut down") {
		t.Errorf("got %v", err)
	}
	if _, err := h.Trust(t.Context(), "sample"); err == nil || err.Error() != "plugin sample: plugins are shut down" {
		t.Errorf("trusting it: %v", err)
	}
}

// A host that is closed while a plugin is being trusted leaves nothing behind, in either order: the folder of
// sockets must be empty at the end.
func TestCloseWhileTrusting(t *testing.T) {
	for range 5 {
		dir := folder(t, "")
		h := openAll(t, host.Options{Plugins: []string{dir}, LockFile: filepath.Join(t.TempDir(), manifest.LockFileName), TempDir: shortDir(t), Reaper: true})
		trusted := make(chan error)
		go func() {
			_, err := h.Trust(t.Context(), "sample")
			trusted <- err
		}()
		time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		<-trusted // it may have come first
	}
}

func TestOffersJSON(t *testing.T) {
	_, r := open(t, folder(t, ""), host.Options{})
	def, _ := r.Call("sample.greet")
	var doc map[string]any
	if err := json.Unmarshal(def.Info.Params.Doc().AppendJSON(nil), &doc); err != nil || doc["additionalProperties"] != false {
		t.Errorf("the parameters are %v, %v", doc, err)
	}
	if def.Info.Summary.Zh != "测试用。" || def.Info.Literal[0] != "name" || !strings.Contains(def.Info.Examples[0].With, "Ada") {
		t.Errorf("got %+v", def.Info)
	}
}
